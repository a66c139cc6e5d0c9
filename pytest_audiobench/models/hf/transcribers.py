"""Models that do nothing but transcribe: Whisper, and encoders with a CTC head. Imports torch and transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_audiobench.errors import FatalError
from pytest_audiobench.models.hf.checkpoint import first_line
from pytest_audiobench.models.hf.engine import Engine
from pytest_audiobench.models.hf.generation import how
from pytest_audiobench.models.messages import Ask, Finish, Output, Part, Response, Settings
from pytest_audiobench.models.model import Hearing

_START_TOKENS = 4
"""Before its first word Whisper's decoder is given start, language, task and "no timestamps"."""


class WhisperTranscriber(Engine):
    """Whisper, for clips within its window. The option ``language`` spares it guessing the language of each clip."""

    def prove(self) -> Hearing:
        try:
            what, one = "its scores of the first word", Settings(max_new_tokens=1)
            return self.hearing_by(what, lambda clips: self._generate(clips, one, output_logits=True).logits[0])
        except ValueError as error:
            wanted = f" with language={language}" if (language := self.setup.options.get("language")) else ""
            raise FatalError(f"{self.setup.folder} cannot transcribe{wanted}: {first_line(error)}") from error

    def reply(self, batch: Sequence[Ask], settings: Settings) -> list[Response]:
        tokens = self._generate([self.filled_up(ask.audio[0].samples) for ask in batch], settings).sequences
        return [self._response(row) for row in tokens.tolist()]

    def _generate(self, clips: Sequence[Any], settings: Settings, **wanted: bool) -> Any:
        features = self.processor.feature_extractor(
            list(clips), sampling_rate=self.setup.rate_hz, return_attention_mask=True, return_tensors="pt"
        )
        room = self.model.config.max_target_positions - _START_TOKENS
        decoding = how(settings, self.setup.options)
        decoding["max_new_tokens"] = min(decoding["max_new_tokens"], room)
        if settings.temperature != "0":
            raise FatalError(f"{self.setup.folder} is a Whisper, which is asked greedily: leave the temperature at 0")
        for sampling in ("temperature", "top_p", "top_k"):
            decoding.pop(sampling)
        language = self.setup.options.get("language")
        if getattr(self.model.generation_config, "is_multilingual", False):
            decoding |= {"task": "transcribe", "language": language}
        elif language is not None:
            raise ValueError("it is not a multilingual checkpoint; leave the language out")
        # One plain call: the many-segment way would hide whether a text ended or was cut.
        return self.model.generate(
            **self.on_device(features),
            **decoding,
            **self.steps(decoding["max_new_tokens"] + _START_TOKENS),
            **wanted,
            return_timestamps=False,
            return_dict_in_generate=True,
            force_unique_generate_call=True,
        )

    def _response(self, row: list[int]) -> Response:
        config = self.model.generation_config
        before = row[: _START_TOKENS + 1]
        given = before.index(config.no_timestamps_token_id) + 1 if config.no_timestamps_token_id in before else 1
        answer_tokens = row[given:]
        ends = {config.eos_token_id} if isinstance(config.eos_token_id, int) else set(config.eos_token_id or ())
        stop = next((i for i, token in enumerate(answer_tokens) if token in ends), None)
        text = self.processor.tokenizer.decode(answer_tokens[:stop], skip_special_tokens=True).strip()
        finish: Finish = "length" if stop is None else "stop"
        usage = {"completion_tokens": len(answer_tokens) if stop is None else stop + 1}
        return Response(outputs=(Output((Part("text", text),), finish),), usage=usage)


class CtcTranscriber(Engine):
    """An encoder with a CTC head: the best token of each frame, repetitions and blanks taken out."""

    def prove(self) -> Hearing:
        return self.hearing_by("its scores of letters", lambda clips: self._scores(clips)[0].flatten(1))

    def reply(self, batch: Sequence[Ask], settings: Settings) -> list[Response]:
        clips = [self.filled_up(ask.audio[0].samples) for ask in batch]
        texts = [""] * len(clips)
        for positions in side_by_side(clips, masked(self.processor.feature_extractor)):
            for i, text in zip(positions, self._texts([clips[i] for i in positions]), strict=True):
                texts[i] = text
        return [Response.of(text) for text in texts]

    def _scores(self, clips: Sequence[Any]) -> tuple[Any, dict[str, Any]]:
        inputs = self.on_device(features_of(self.processor.feature_extractor, clips, self.setup.rate_hz))
        return self.model(**inputs).logits, inputs

    def _texts(self, clips: Sequence[Any]) -> list[str]:
        scores, inputs = self._scores(clips)
        best = scores.argmax(dim=-1)
        lengths = [best.shape[1]] * len(clips)
        if "attention_mask" in inputs:
            # Frames beyond a clip's own length are padding, whose tokens would stand behind its words.
            lengths = self.model._get_feat_extract_output_lengths(inputs["attention_mask"].sum(dim=-1)).tolist()
        decode = self.processor.tokenizer.decode
        return [
            str(decode(row[:n], skip_special_tokens=True)).strip()
            for row, n in zip(best.tolist(), lengths, strict=True)
        ]


def masked(extractor: Any) -> bool:
    """Whether an encoder gets the end of a clip. Others would hear a neighbour's padding as silence."""
    return bool(getattr(extractor, "return_attention_mask", False))


def features_of(extractor: Any, clips: Sequence[Any], rate_hz: int) -> Any:
    """The tensors of a batch of clips, padded to the longest, or to the window where the extractor has one."""
    options: dict[str, Any] = {"return_attention_mask": True} if masked(extractor) else {}
    if not hasattr(extractor, "n_samples"):
        options["padding"] = True
    return extractor(list(clips), sampling_rate=rate_hz, return_tensors="pt", **options)


def side_by_side(clips: Sequence[Any], padded: bool) -> list[list[int]]:
    """Positions of clips that may be asked in one call: all, or where padding is heard those of one length."""
    if padded:
        return [list(range(len(clips)))]
    calls: dict[int, list[int]] = {}
    for i, clip in enumerate(clips):
        calls.setdefault(len(clip), []).append(i)
    return list(calls.values())
