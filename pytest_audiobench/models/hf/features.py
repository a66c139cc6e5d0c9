"""Spectrograms of clips, each made once, and encoders that take them at the clips' own length. Imports transformers."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from copy import copy
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from transformers.models.qwen2_audio import modeling_qwen2_audio

MOST_BYTES = 256 << 20
"""What remembered spectrograms may take, of each loaded model; half a minute of audio takes 1.5 MB."""
_TAIL = 1600
"""Samples of silence behind the longest clip: more than the spectrogram's frames reach, so that a clip's features
do not depend on its neighbours and are those of the whole window."""
_ANY_LENGTH = "audiobench_any_length"


class Spectrograms:
    """Spectrograms by extractor, kept by what identifies a clip's samples; what was used longest ago is forgotten.

    A row depends on its clip alone, in any batch. Threads may share it: a clip that two of them want
    at once may be made twice.
    """

    def __init__(self, extractor: Any, most_bytes: int = MOST_BYTES) -> None:
        self._extractor, self._left = weakref.proxy(extractor), most_bytes
        self._rows: OrderedDict[str, torch.Tensor] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, extractor: Any) -> Spectrograms:
        """Those of an extractor, with which they are forgotten."""
        return MEMORIES.setdefault(extractor, cls(extractor))

    def batch(self, clips: Sequence[Any], digests: Sequence[str], whole_window: bool, even: bool) -> torch.Tensor:
        """A row for each clip, filled up with silence to the longest, or to the window.

        ``digests`` tell the clips apart, "" for one that is not to be remembered; ``even``: their length is an even
        number of frames.
        """
        rows = self.rows(clips, digests)
        width = max(row.shape[-1] for row in rows)
        width += even and width % 2
        if whole_window:
            width = self._extractor.n_samples // self._extractor.hop_length
        filled = rows[0].new_empty((len(rows), rows[0].shape[0], width))
        for place, row in zip(filled, rows, strict=True):
            place[:, : row.shape[-1]] = row
            # The last frame is silence, and so would be all that follow.
            place[:, row.shape[-1] :] = row[:, -1:]
        return filled

    def rows(self, clips: Sequence[Any], digests: Sequence[str]) -> list[torch.Tensor]:
        """Each clip's spectrogram, with a little silence behind it where the window is longer."""
        with self._lock:
            known = {digest: self._rows[digest] for digest in digests if digest in self._rows}
            for digest in known:
                self._rows.move_to_end(digest)
        missing = [i for i, digest in enumerate(digests) if digest not in known]
        missing = list({digests[i] or i: i for i in missing}.values())
        made = dict(zip(missing, self._made([clips[i] for i in missing]), strict=True)) if missing else {}
        fresh = {digests[i]: row for i, row in made.items() if digests[i]}
        self._remember(fresh)
        known |= fresh
        return [known[digest] if digest else made[i] for i, digest in enumerate(digests)]

    def _remember(self, rows: dict[str, torch.Tensor]) -> None:
        with self._lock:
            for digest, row in rows.items():
                if digest not in self._rows:
                    self._rows[digest] = row
                    self._left -= row.nbytes
            while self._left < 0:
                self._left += self._rows.popitem(last=False)[1].nbytes

    def _made(self, clips: Sequence[Any]) -> list[torch.Tensor]:
        extractor = self._extractor
        frame = extractor.hop_length
        widths = [-(-min(len(clip) + _TAIL, extractor.n_samples) // frame) for clip in clips]
        # Filled up here, since the extractor would call np.pad twice for each clip.
        padded = np.zeros((len(clips), max(widths) * frame), dtype=np.float32)
        for row, clip in zip(padded, clips, strict=True):
            row[: len(clip)] = clip[: padded.shape[1]]
        features = extractor(
            padded, sampling_rate=extractor.sampling_rate, max_length=padded.shape[1], return_tensors="pt"
        )
        spectrograms = torch.as_tensor(features["input_features"])
        return [spectrogram[:, :width].clone() for spectrogram, width in zip(spectrograms, widths, strict=True)]


MEMORIES: WeakKeyDictionary[Any, Spectrograms] = WeakKeyDictionary()
"""Next to their extractors, which are copied and written as their attributes are."""


def takes_any_length(extractor: Any) -> bool:
    """Whether the encoder behind an extractor was made to take less than the window."""
    return bool(extractor.__dict__.get(_ANY_LENGTH))


def shorten_qwen2_audio(processor: Any, model: Any) -> None:
    """Let Qwen2-Audio's encoder take a batch's longest clip instead of the window, where it is the published one.

    It refuses anything but the window, yet its attention leaves out what is behind a clip, and its convolutions reach
    two frames: frames of silence that nothing looks at are all that is spared.
    """
    towers = [part for part in model.modules() if type(part) is modeling_qwen2_audio.Qwen2AudioEncoder]
    if len(towers) != 1 or type(towers[0].embed_positions) is not torch.nn.Embedding:
        return
    tower: Any = towers[0]
    if tower.embed_positions.weight.is_meta:  # its weights are put in place by another's hooks
        return
    tower.config = copy(tower.config)
    tower.embed_positions = _FirstPositions(tower.embed_positions)

    def fit(tower: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        features: Any = named.get("input_features", arguments[0] if arguments else None)
        tower.config.max_source_positions = tower.embed_positions.count = features.shape[-1] // 2

    tower.register_forward_pre_hook(fit, with_kwargs=True)
    setattr(processor.feature_extractor, _ANY_LENGTH, True)


class _FirstPositions(torch.nn.Module):
    """As many embeddings of positions as an input has."""

    def __init__(self, embedding: torch.nn.Embedding) -> None:
        super().__init__()
        self.all, self.count = embedding, embedding.num_embeddings

    @property
    def weight(self) -> torch.Tensor:
        return self.all.weight[: self.count]
