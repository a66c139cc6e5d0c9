"""Benchmarks for audio-language models that are ordinary pytest tests.

What a test file needs is imported from here; each name is loaded when it is first used, since pytest
imports this package in every run that it is installed for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_audiobench.datasets.bundled import bundled as bundled
    from pytest_audiobench.datasets.dataset import Dataset as Dataset
    from pytest_audiobench.datasets.manifest import manifest as manifest
    from pytest_audiobench.datasets.mmar import mmar as mmar
    from pytest_audiobench.datasets.mmau import mmau as mmau
    from pytest_audiobench.datasets.sakura import sakura as sakura
    from pytest_audiobench.datasets.sample import Sample as Sample
    from pytest_audiobench.protocols.bioacoustic import bioacoustic as bioacoustic
    from pytest_audiobench.protocols.bioacoustic_captioning import bioacoustic_captioning as bioacoustic_captioning
    from pytest_audiobench.protocols.bioacoustic_detection import bioacoustic_detection as bioacoustic_detection
    from pytest_audiobench.protocols.captioning import captioning as captioning
    from pytest_audiobench.protocols.embedded import embedded as embedded
    from pytest_audiobench.protocols.multiple_choice import multiple_choice as multiple_choice
    from pytest_audiobench.protocols.transcription import transcription as transcription
    from pytest_audiobench.protocols.translation import translation as translation
    from pytest_audiobench.report.load import load as load
    from pytest_audiobench.studies.determinism import determinism as determinism
    from pytest_audiobench.studies.listening import listening as listening

_HOMES = {
    "Dataset": "datasets.dataset",
    "Sample": "datasets.sample",
    "bioacoustic": "protocols.bioacoustic",
    "bioacoustic_captioning": "protocols.bioacoustic_captioning",
    "bioacoustic_detection": "protocols.bioacoustic_detection",
    "bundled": "datasets.bundled",
    "captioning": "protocols.captioning",
    "determinism": "studies.determinism",
    "embedded": "protocols.embedded",
    "listening": "studies.listening",
    "load": "report.load",
    "manifest": "datasets.manifest",
    "mmar": "datasets.mmar",
    "mmau": "datasets.mmau",
    "multiple_choice": "protocols.multiple_choice",
    "sakura": "datasets.sakura",
    "transcription": "protocols.transcription",
    "translation": "protocols.translation",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
