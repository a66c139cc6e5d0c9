"""Whose voice a segment is: the speaker encoder of Resemblyzer (GE2E), and segments put together by its cosines.

The weights lie in a folder that ``fixtures/fetch_weights.py`` writes. Levels, frames and windows are as published with
them. Torch and transformers are imported when they are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.audio.clip import Samples
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import file_digest
from pytest_audiobench.models.model import missing_library

if TYPE_CHECKING:
    from pytest_audiobench.models.pipeline.segmenters import Spans

WEIGHTS, SETTINGS = "model.safetensors", "config.json"
VERSION = "voices/1"

_ALIKE = 0.75
"""Segments of a mean cosine from here on are one voice's: the best on scenes of other seeds than those with figures."""

_RATE_HZ, _FRAME, _HOP = 16_000, 400, 160
_WINDOW, _STEP = 160, 77
"""Frames of an encoded window and between the beginnings of two: 1.3 windows a second."""
_LEAST_SHARE = 0.75
"""Of the last window that must be sound."""
_LEVEL = 10.0 ** (-30.0 / 20.0)
"""What softer segments are brought to."""

_Vector: TypeAlias = npt.NDArray[np.float32]


class Voices:
    """Tells the voices of a clip's segments apart."""

    def __init__(self, folder: Path) -> None:
        """Raises UsageError for a folder without weights."""
        for name in (WEIGHTS, SETTINGS):
            if not (folder / name).is_file():
                raise UsageError(f"voices: {folder} has no {name}; fixtures/fetch_weights.py writes such a folder")
        self._folder = folder

    @property
    def missing(self) -> str:
        """The library that is not installed and that it needs; "" for none."""
        return missing_library({"torch": "hf", "transformers": "hf"})

    def fingerprint(self) -> Mapping[str, str]:
        return {"voices": VERSION, **{name: file_digest(self._folder / name) for name in (WEIGHTS, SETTINGS)}}

    def labelled(self, samples: Samples, spans: Spans) -> Spans:
        """The spans, each with the label of its voice, numbered in the order of their beginnings."""
        ordered = sorted(spans)
        vectors = [self.vector(samples[round(start * _RATE_HZ) : round(end * _RATE_HZ)]) for start, end, _ in ordered]
        numbers = clusters(vectors)
        return [(start, end, f"speaker_{number + 1}") for (start, end, _), number in zip(ordered, numbers, strict=True)]

    def vector(self, samples: Samples) -> _Vector:
        """Of length 1: the mean of what windows of 1.6 s are encoded as."""
        import torch

        level = float(np.sqrt(np.mean(np.square(samples, dtype=np.float64)))) if len(samples) else 0.0
        wave = samples * (max(level, _LEVEL) / level) if level else samples
        count = len(wave) // _HOP + 1
        starts = list(range(0, max(1, count - _WINDOW + _STEP + 1), _STEP))
        if len(starts) > 1 and (len(wave) / _HOP - starts[-1]) / _WINDOW < _LEAST_SHARE:
            starts.pop()
        padded = np.pad(wave, (0, max(0, (starts[-1] + _WINDOW) * _HOP - len(wave)))).astype(np.float32)
        network, filters = self._network
        with torch.inference_mode():
            window = torch.hann_window(_FRAME)
            spectrum = torch.stft(
                torch.from_numpy(padded), _FRAME, _HOP, window=window, pad_mode="constant", return_complex=True
            )
            mel = spectrum.abs().square().T @ filters
            _, (states, _) = network["lstm"](torch.stack([mel[start : start + _WINDOW] for start in starts]))
            encoded = torch.nn.functional.normalize(network["linear"](states[-1]).relu(), dim=1)
            mean: _Vector = torch.nn.functional.normalize(encoded.mean(dim=0), dim=0).numpy()
        return mean

    @cached_property
    def _network(self) -> tuple[Any, Any]:
        """The layers, and the filters of its mel bands."""
        from safetensors.torch import load_file
        from torch import from_numpy, nn
        from transformers.audio_utils import mel_filter_bank

        settings = json.loads((self._folder / SETTINGS).read_text("utf-8"))
        bands, width = settings["bands"], settings["width"]
        lstm, linear = nn.LSTM(bands, width, settings["layers"], batch_first=True), nn.Linear(width, width)
        network = nn.ModuleDict({"lstm": lstm, "linear": linear}).eval()
        network.load_state_dict(load_file(self._folder / WEIGHTS))
        filters = mel_filter_bank(_FRAME // 2 + 1, bands, 0, _RATE_HZ / 2, _RATE_HZ, norm="slaney", mel_scale="slaney")
        return network, from_numpy(filters).float()


def clusters(vectors: Sequence[_Vector], alike: float = _ALIKE) -> list[int]:
    """Which voice each vector is of: the two clusters of the highest mean cosine are joined while it is ``alike``."""
    groups = [[i] for i in range(len(vectors))]
    cosines = np.array([[float(a @ b) for b in vectors] for a in vectors])
    while len(groups) > 1:
        cosine, i, j = max(
            (float(cosines[np.ix_(groups[i], groups[j])].mean()), -i, -j) for j in range(len(groups)) for i in range(j)
        )
        if cosine < alike:
            break
        groups[-i] += groups.pop(-j)
    numbers = {i: number for number, group in enumerate(sorted(groups, key=min)) for i in group}
    return [numbers[i] for i in range(len(vectors))]
