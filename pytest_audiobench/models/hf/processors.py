"""Processors and prompts of families whose own will not do here. Imports transformers."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import torch
import transformers as untyped_transformers

from pytest_audiobench.errors import FatalError, install_command
from pytest_audiobench.models.hf.features import Spectrograms, takes_any_length
from pytest_audiobench.models.hf.generation import by_processor

transformers: Any = untyped_transformers  # parts of it are typed and parts are not


class AudioOnlyProcessor:
    """Stands in for the processors of Qwen's omni models, whose video part needs torchvision.

    Text and audio become the tensors that the real one makes of them; the window is not filled up to its five
    minutes, which the model would skip anyway. ``tokens_of`` tells a clip's audio tokens from its frames.
    """

    def __init__(self, folder: Path, trust: bool, tokens_of: Callable[[int], int]) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=trust
        )
        self.feature_extractor = transformers.WhisperFeatureExtractor.from_pretrained(folder, local_files_only=True)
        self.audio_token = self.tokenizer.audio_token
        self._tokens_of = tokens_of
        if self.tokenizer.chat_template is None and (template := folder / "chat_template.json").is_file():
            self.tokenizer.chat_template = json.loads(template.read_text(encoding="utf-8"))["chat_template"]

    def apply_chat_template(self, turns: Any, **options: Any) -> str:
        return str(self.tokenizer.apply_chat_template(turns, **options))

    def __call__(self, text: Sequence[str], audio: Sequence[Any] = (), **options: Any) -> dict[str, Any]:
        digests = options.get("digests", [""] * len(audio))
        return tensors(self, text, audio, digests, self._tokens_of)


def qwen2_audio_inputs(processor: Any, prompts: Sequence[Any], rate_hz: int) -> Any:
    """What Qwen2-Audio's own processor makes, bit for bit, without its work on the silence behind the clips, and up to
    the longest clip only where the encoder was made to take that.

    A front end that is not the published one is asked itself.
    """
    if not _is_published(processor):
        return by_processor(processor, prompts, rate_hz)
    whole_window = not takes_any_length(processor.feature_extractor)
    return tensors(processor, *_contents(prompts), _quarter, whole_window)


def spectrograms_ahead(processor: Any, clips: Sequence[Any], digests: Sequence[str]) -> None:
    """Make the clips' spectrograms, so that tensors of prompts find them."""
    if isinstance(processor, AudioOnlyProcessor) or _is_published(processor):
        Spectrograms.of(processor.feature_extractor).rows(clips, digests)


def _is_published(processor: Any) -> bool:
    """Whether a front end is Qwen2-Audio's published one."""
    extractor = processor.feature_extractor
    return (
        type(processor) is transformers.Qwen2AudioProcessor
        and type(extractor) is transformers.WhisperFeatureExtractor
        and (extractor.padding_side, extractor.padding_value, extractor.dither) == ("right", 0.0, 0.0)
    )


def audio_only_inputs(processor: AudioOnlyProcessor, prompts: Sequence[Any], rate_hz: int) -> Any:
    """What :class:`AudioOnlyProcessor` makes, of each clip once."""
    texts, clips, digests = _contents(prompts)
    return processor(texts, clips, digests=digests)


def _contents(prompts: Sequence[Any]) -> tuple[list[str], list[Any], list[str]]:
    """The prompts' texts, and their clips and these clips' digests, in order."""
    clips = [clip for prompt in prompts for clip in prompt.audio]
    return [prompt.text for prompt in prompts], clips, [digest for prompt in prompts for digest in prompt.digests]


def _quarter(frames: int) -> int:
    return ((frames - 1) // 2 + 1 - 2) // 2 + 1


def qwen25_omni(folder: Path, trust: bool) -> AudioOnlyProcessor:
    return AudioOnlyProcessor(folder, trust, _quarter)


def qwen3_omni(folder: Path, trust: bool) -> AudioOnlyProcessor:
    """Thirteen tokens for each whole second, and those of the rest by three halvings."""

    def tokens_of(frames: int) -> int:
        halved = (frames % 100 - 1) // 2 + 1
        return ((halved - 1) // 2 + 1 - 1) // 2 + 1 + frames // 100 * 13

    return AudioOnlyProcessor(folder, trust, tokens_of)


def voxtral(folder: Path, trust: bool) -> Any:
    """Voxtral's processor, whose tokenizer is mistral_common's. Raises FatalError where that is not installed."""
    try:
        import mistral_common  # noqa: F401
    except ImportError:
        raise FatalError(f"Voxtral's tokenizer needs mistral-common: {install_command('voxtral')}") from None
    return transformers.AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=trust)


def no_text(processor: Any, turns: Any) -> str:
    """Voxtral's prompt never is text: its tokenizer encodes the conversation at once."""
    return ""


def voxtral_inputs(processor: Any, prompts: Sequence[Any], rate_hz: int) -> Any:
    """Clips travel as float32 WAV in base64, which mistral_common decodes without loss."""
    conversations = []
    for prompt in prompts:
        clips = iter(prompt.audio)
        conversations.append(
            [
                {"role": turn["role"], "content": [_with_sound(part, clips, rate_hz) for part in turn["content"]]}
                for turn in prompt.turns
            ]
        )
    return processor.apply_chat_template(conversations)


def padded_as_it_likes(processor: Any, prompts: Sequence[Any], rate_hz: int) -> Any:
    """For processors that pad audio to their own window unless the call says how to pad texts."""
    audio = [clip for prompt in prompts for clip in prompt.audio]
    played = {"audio": audio, "sampling_rate": rate_hz} if audio else {}
    return processor(text=[prompt.text for prompt in prompts], **played)


def flat(processor: Any, turns: Sequence[Any]) -> str:
    """For templates that take a turn's content as one text, with the audio token in it (Granite Speech)."""
    token = str(processor.audio_token)
    joined = [{**turn, "content": "".join(part.get("text", token) for part in turn["content"])} for turn in turns]
    return str(processor.tokenizer.apply_chat_template(joined, tokenize=False, add_generation_prompt=True))


def _with_sound(part: dict[str, Any], clips: Any, rate_hz: int) -> dict[str, Any]:
    if part["type"] != "audio":
        return part
    wav = io.BytesIO()
    soundfile.write(wav, np.asarray(next(clips), dtype=np.float32), rate_hz, format="WAV", subtype="FLOAT")
    return {"type": "audio", "base64": base64.b64encode(wav.getvalue()).decode()}


def tensors(
    processor: Any,
    texts: Sequence[str],
    clips: Sequence[Any],
    digests: Sequence[str],
    tokens_of: Callable[[int], int],
    whole_window: bool = False,
) -> dict[str, torch.Tensor]:
    """The tensors of ``texts``, padded on the tokenizer's side, and of ``clips``, in the order of the audio tokens.

    ``digests`` are the clips', "" for one that is not to be remembered. ``tokens_of`` tells how many tokens so many
    frames of a clip become. ``whole_window`` is for encoders that take no less than the extractor's window.
    """
    features: dict[str, torch.Tensor] = {}
    frames: list[int] = []
    if clips:
        extractor = processor.feature_extractor
        frames = [-(-min(len(clip), extractor.n_samples) // extractor.hop_length) for clip in clips]
        spectrograms = Spectrograms.of(extractor).batch(clips, digests, whole_window, takes_any_length(extractor))
        mask = torch.arange(spectrograms.shape[-1]) < torch.tensor(frames)[:, None]
        features = {"input_features": spectrograms, "feature_attention_mask": mask.to(torch.int32)}
    return {**_tokens(processor, texts, iter([tokens_of(count) for count in frames])), **features}


def _tokens(processor: Any, texts: Sequence[str], counts: Iterator[int]) -> dict[str, torch.Tensor]:
    tokenizer = processor.tokenizer
    audio = tokenizer.convert_tokens_to_ids(processor.audio_token)
    distinct = list(dict.fromkeys(texts))
    known = dict(zip(distinct, tokenizer(distinct)["input_ids"], strict=True))
    rows = [list(_with_audio_repeated(known[text], audio, counts)) for text in texts]
    width = max(map(len, rows))
    pads = [[tokenizer.pad_token_id] * (width - len(row)) for row in rows]
    lengths, places = torch.tensor([len(row) for row in rows])[:, None], torch.arange(width)
    if tokenizer.padding_side == "right":
        tokens, mask = [row + pad for row, pad in zip(rows, pads, strict=True)], places < lengths
    else:
        tokens, mask = [pad + row for row, pad in zip(rows, pads, strict=True)], places >= width - lengths
    return {"input_ids": torch.tensor(tokens), "attention_mask": mask.long()}


def _with_audio_repeated(tokens: Sequence[int], audio: int, counts: Iterator[int]) -> Iterator[int]:
    for token in tokens:
        if token == audio:
            yield from repeat(audio, next(counts))
        else:
            yield token
