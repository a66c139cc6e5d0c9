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
    from pytest_audiobench.protocols.judged import judged as judged
    from pytest_audiobench.protocols.multiple_choice import multiple_choice as multiple_choice
    from pytest_audiobench.protocols.transcription import transcription as transcription
    from pytest_audiobench.report.load import load as load
    from pytest_audiobench.studies.determinism import determinism as determinism
    from pytest_audiobench.studies.listening import listening as listening

_HOMES = {
    "Dataset": "datasets.dataset",
    "Sample": "datasets.sample",
    "bundled": "datasets.bundled",
    "determinism": "studies.determinism",
    "judged": "protocols.judged",
    "listening": "studies.listening",
    "load": "report.load",
    "manifest": "datasets.manifest",
    "mmar": "datasets.mmar",
    "mmau": "datasets.mmau",
    "multiple_choice": "protocols.multiple_choice",
    "sakura": "datasets.sakura",
    "transcription": "protocols.transcription",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
