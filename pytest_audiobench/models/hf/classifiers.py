"""Models that choose one of a question's options: audio classifiers, and CLAP by texts. Imports torch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import listed
from pytest_audiobench.models.hf.engine import Engine, Setup
from pytest_audiobench.models.hf.options import label_map, tidy
from pytest_audiobench.models.hf.transcribers import features_of, masked, side_by_side
from pytest_audiobench.models.messages import SOMETHING_ELSE, Ask, Request, Response, Settings, choice_text
from pytest_audiobench.models.model import Hearing

TEMPLATE = "This is a sound of {}."

_FIRST_OPTION = re.compile(r"\n?\s*\(?A[).]\s")


class LabelClassifier(Engine):
    """A classifier: the option whose label scores highest; to :data:`SOMETHING_ELSE` it gives what the others leave.

    ``labels=hap:happy|neu:neutral`` says what labels mean.
    """

    processor_class = "AutoFeatureExtractor"

    def __init__(self, setup: Setup) -> None:
        self._meant = label_map(setup.options.get("labels", ""))
        super().__init__(setup)

    def prove(self) -> Hearing:
        named = self.model.config.id2label
        if unknown := set(self._meant) - {tidy(name) for name in named.values()}:
            raise UsageError(
                f"labels=… names {sorted(unknown)[0]!r}; {self.setup.folder} has {_name_list(named.values())}"
            )
        self._label_at = {self._meant.get(tidy(name), tidy(name)): int(place) for place, name in named.items()}
        return self.hearing_by("its scores of labels", self._scores)

    def reply(self, batch: Sequence[Ask], settings: Settings) -> list[Response]:
        clips = [self.filled_up(ask.audio[0].samples) for ask in batch]
        answers = [Response()] * len(batch)
        for positions in side_by_side(clips, masked(self.processor)):
            for i, scores in zip(positions, self._scores([clips[i] for i in positions]), strict=True):
                answers[i] = self._choice(batch[i].request, scores)
        return answers

    def _scores(self, clips: Sequence[Any]) -> Any:
        inputs = self.on_device(features_of(self.processor, clips, self.setup.rate_hz))
        return self.model(**inputs).logits.float().softmax(dim=-1)

    def _choice(self, request: Request, scores: Any) -> Response:
        listed = [choice for choice in request.choices if choice != SOMETHING_ELSE]
        for choice in listed:
            if tidy(choice) not in self._label_at:
                return Response(
                    error=f"the classifier has no label for the option {choice!r}; "
                    f"it has {_name_list(self._label_at)}: say which is meant by labels=LABEL:OPTION|…"
                )
        by_choice = {choice: float(scores[self._label_at[tidy(choice)]]) for choice in listed}
        # Of shares that add up to one, the rest is something else's.
        of_rest = 1.0 - sum(by_choice.values())
        return choice_by_score(request, [by_choice.get(choice, of_rest) for choice in request.choices])


class ClapClassifier(Engine):
    """CLAP without training: the option whose text lies nearest to the clip.

    Each option is put into the option ``template`` (:data:`TEMPLATE`). A yes/no question is asked as its own text
    against :data:`SOMETHING_ELSE`, a probe for a sound as its label. A text is encoded alone and once, so that
    no other can change it.
    """

    def __init__(self, setup: Setup) -> None:
        self._template = setup.options.get("template", TEMPLATE)
        self._texts: dict[str, Any] = {}
        super().__init__(setup)

    def prove(self) -> Hearing:
        return self.hearing_by("its encodings", self._sounds)

    def reply(self, batch: Sequence[Ask], settings: Settings) -> list[Response]:
        sounds = self._sounds([self.filled_up(ask.audio[0].samples) for ask in batch])
        return [self._choice(ask.request, sound) for ask, sound in zip(batch, sounds, strict=True)]

    def _sounds(self, clips: Sequence[Any]) -> Any:
        extractor = self.processor.feature_extractor
        inputs = extractor(list(clips), sampling_rate=self.setup.rate_hz, return_tensors="pt")
        # No clip is longer than the window here, yet a fusing extractor calls one of them long, at random.
        inputs["is_longer"] = torch.zeros_like(inputs["is_longer"])
        return _pooled(self.model.get_audio_features(**self.on_device(inputs)))

    def _choice(self, request: Request, sound: Any) -> Response:
        near = torch.stack([self._text(self._template.format(name)) for name in _option_texts(request)]) @ sound
        scale = self.model.logit_scale_a.exp()
        return choice_by_score(request, (near * scale).float().softmax(dim=-1).tolist())

    def _text(self, text: str) -> Any:
        if text not in self._texts:
            inputs = self.processor.tokenizer(text, return_tensors="pt", truncation=True)
            inputs.pop("token_type_ids", None)
            self._texts[text] = _pooled(self.model.get_text_features(**self.on_device(inputs)))[0]
        return self._texts[text]


def _pooled(found: Any) -> Any:
    # transformers 4 gives the tensor itself.
    return getattr(found, "pooler_output", found)


def choice_by_score(request: Request, scores: Sequence[float]) -> Response:
    """The option with the highest score, as listeners without words say it, and that score."""
    best = max(range(len(scores)), key=scores.__getitem__)
    answer = Response.of(choice_text(request.choices, best, request.task))
    return replace(answer, outputs=(replace(answer.outputs[0], score=scores[best]),))


def _option_texts(request: Request) -> list[str]:
    tidied = [tidy(choice) for choice in request.choices]
    if sorted(tidied) != ["no", "yes"]:
        return list(request.choices)
    texts = [part for message in request.messages for part in message.parts if isinstance(part, str)]
    question = _FIRST_OPTION.split(texts[-1], maxsplit=1)[0].strip() if texts else ""
    return [question if choice == "yes" else SOMETHING_ELSE for choice in tidied]


def _name_list(names: Any) -> str:
    return listed(sorted(map(str, names)), 12)
