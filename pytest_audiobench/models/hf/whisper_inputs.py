"""Prompts and clips as tensors for models that hear through Whisper's spectrogram. Imports torch.

The tensors are those that a family's own processor makes, for less work: clips are padded together and not one by
one, spectrograms are computed up to the end of the longest clip, and a text that many prompts share is tokenised once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import torch

_TAIL = 1600
"""Samples of silence behind the longest clip: more than the spectrogram's frames reach, so that a clip's features
do not depend on its neighbours and are those of the whole window."""


def tensors(
    processor: Any,
    texts: Sequence[str],
    clips: Sequence[Any],
    tokens_of: Callable[[int], int],
    whole_window: bool = False,
) -> dict[str, torch.Tensor]:
    """The tensors of ``texts``, padded on the left, and of ``clips``, in the order of the texts' audio tokens.

    ``tokens_of`` tells how many tokens so many frames of a clip become. ``whole_window`` is for encoders that take no
    less than the extractor's window.
    """
    features: dict[str, torch.Tensor] = {}
    frames: list[int] = []
    if clips:
        extractor = processor.feature_extractor
        frames = [-(-min(len(clip), extractor.n_samples) // extractor.hop_length) for clip in clips]
        made = _spectrograms(extractor, clips)
        if whole_window:
            # The last frame is silence, and so would be all that follow.
            missing = extractor.n_samples // extractor.hop_length - made.shape[-1]
            made = torch.nn.functional.pad(made, (0, missing), mode="replicate")
        heard = torch.arange(made.shape[-1]) < torch.tensor(frames)[:, None]
        features = {"input_features": made, "feature_attention_mask": heard.to(torch.int32)}
    return {**_tokens(processor, texts, iter([tokens_of(count) for count in frames])), **features}


def _spectrograms(extractor: Any, clips: Sequence[Any]) -> torch.Tensor:
    frame = extractor.hop_length
    longest = min(max(map(len, clips)) + _TAIL, extractor.n_samples)
    length = -(-longest // frame) * frame
    # Filled up here, since the extractor would call np.pad twice for each clip.
    padded = np.zeros((len(clips), length), dtype=np.float32)
    for row, clip in zip(padded, clips, strict=True):
        row[: len(clip)] = clip[:length]
    made = extractor(padded, sampling_rate=extractor.sampling_rate, max_length=length, return_tensors="pt")
    return torch.as_tensor(made["input_features"])


def _tokens(processor: Any, texts: Sequence[str], counts: Iterator[int]) -> dict[str, torch.Tensor]:
    tokenizer = processor.tokenizer
    audio = tokenizer.convert_tokens_to_ids(processor.audio_token)
    distinct = list(dict.fromkeys(texts))
    known = dict(zip(distinct, tokenizer(distinct)["input_ids"], strict=True))
    rows = [list(_expanded(known[text], audio, counts)) for text in texts]
    width = max(map(len, rows))
    tokens = torch.tensor([[tokenizer.pad_token_id] * (width - len(row)) + row for row in rows])
    asked = torch.arange(width) >= width - torch.tensor([len(row) for row in rows])[:, None]
    return {"input_ids": tokens, "attention_mask": asked.long()}


def _expanded(tokens: Sequence[int], audio: int, counts: Iterator[int]) -> Iterator[int]:
    for token in tokens:
        if token == audio:
            yield from repeat(audio, next(counts))
        else:
            yield token
