"""``classification.json``: one label a sample, held to scikit-learn and to BEANS-Next's own numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.bioacoustic import data_set_scores, scoring

_Inputs = Mapping[str, Any]


def _samples(inputs: _Inputs, labels: Collection[str] | None = None) -> list[dict[str, float]]:
    """Each sample's statistics on ``labels``, by default every label that occurs."""
    known = set(labels if labels is not None else (*inputs["y_true"], *inputs["y_pred"]))
    pairs = zip(inputs["y_true"], inputs["y_pred"], strict=True)
    return [
        {**label_statistics(known, [true], [said] if said in known else []), "correct": float(true == said)}
        for true, said in pairs
    ]


def _metric(name: str) -> Callable[[_Inputs, _Inputs], float]:
    return lambda params, inputs: metric_kind(name).estimate(_samples(inputs), None).value


def _f1_of_listed(params: _Inputs, inputs: _Inputs) -> float:
    return metric_kind("macro_f1").estimate(_samples(inputs, params["labels"]), None).value


SCORERS = {
    "accuracy": _metric("accuracy"),
    "balanced_accuracy": _metric("balanced_accuracy"),
    "cohen_kappa": _metric("cohen_kappa"),
    "mcc": _metric("mcc"),
    # scikit-learn's default, every string that occurs being a class, is BEANS-Next's.
    "f1_macro": _metric("beans_macro_f1"),
    "f1_macro_fixed_labels": _f1_of_listed,
    "f1_macro_beans_next": lambda params, inputs: data_set_scores.macro_f1(inputs["y_pred"], inputs["y_true"]),
    "f1_micro": _metric("micro_f1"),
    "f1_weighted": _metric("weighted_f1"),
    "top1_accuracy_beans_next": lambda params, inputs: scoring.top1_accuracy(inputs["y_pred"], inputs["y_true"]),
}

OUT = {
    "mae": "no task here has a number for an answer",
    "r2": "no task here has a number for an answer",
}

DIFFERS: dict[str, str] = {}
