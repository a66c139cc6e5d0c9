"""Benchmarks for audio-language models that are ordinary pytest tests.

What a test file needs is imported from here, what an extension needs from ``pytest_audiobench.ext``; every other module
is private. Each name is loaded when it is first used, since pytest imports this package in every run that it is
installed for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_audiobench.datasets.catalogue import dataset as dataset
    from pytest_audiobench.datasets.catalogue import perturbations as perturbations
    from pytest_audiobench.datasets.dataset import Dataset as Dataset
    from pytest_audiobench.datasets.dataset import perturb as perturb
    from pytest_audiobench.datasets.manifest import manifest as manifest
    from pytest_audiobench.datasets.perturbations.perturbation import Perturbation as Perturbation
    from pytest_audiobench.datasets.perturbations.strategies import drawn_perturbations as drawn_perturbations
    from pytest_audiobench.datasets.sample import Sample as Sample
    from pytest_audiobench.evaluation.result import Result as Result
    from pytest_audiobench.metrics.value import Metric as Metric
    from pytest_audiobench.protocols.catalogue import protocol as protocol
    from pytest_audiobench.protocols.judged.task import judged as judged
    from pytest_audiobench.protocols.multiple_choice.task import multiple_choice as multiple_choice
    from pytest_audiobench.protocols.prompt_variants import with_prompt_variants as with_prompt_variants
    from pytest_audiobench.protocols.transcription.task import transcription as transcription
    from pytest_audiobench.report.run_reader import load_run as load_run
    from pytest_audiobench.studies.determinism import determinism as determinism
    from pytest_audiobench.studies.evaluate import Evaluate as Evaluate
    from pytest_audiobench.studies.findings import findings as findings
    from pytest_audiobench.studies.listening import listening as listening

_PLACES = {
    "Dataset": "datasets.dataset:Dataset",
    "Evaluate": "studies.evaluate:Evaluate",
    "Metric": "metrics.value:Metric",
    "Perturbation": "datasets.perturbations.perturbation:Perturbation",
    "Result": "evaluation.result:Result",
    "Sample": "datasets.sample:Sample",
    "dataset": "datasets.catalogue:dataset",
    "determinism": "studies.determinism:determinism",
    "drawn_perturbations": "datasets.perturbations.strategies:drawn_perturbations",
    "findings": "studies.findings:findings",
    "judged": "protocols.judged.task:judged",
    "listening": "studies.listening:listening",
    "load_run": "report.run_reader:load_run",
    "manifest": "datasets.manifest:manifest",
    "multiple_choice": "protocols.multiple_choice.task:multiple_choice",
    "perturb": "datasets.dataset:perturb",
    "perturbations": "datasets.catalogue:perturbations",
    "protocol": "protocols.catalogue:protocol",
    "transcription": "protocols.transcription.task:transcription",
    "with_prompt_variants": "protocols.prompt_variants:with_prompt_variants",
}
"""Where each name lies in this package: what is imported when the name is first used, by nobody before."""


if not TYPE_CHECKING:  # A checker that sees it takes every name for one that is there.

    def __getattr__(name: str) -> Any:
        if name == "__all__":
            return sorted(_PLACES)
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, _, attribute = _PLACES[name].partition(":")
        imported = importlib.import_module(f"pytest_audiobench.{module}")
        return getattr(imported, attribute) if attribute else imported


def __dir__() -> list[str]:
    return sorted(_PLACES)
