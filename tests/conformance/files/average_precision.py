"""``average_precision.json``: several labels a sample and their scores, held to scikit-learn and to BEANS-Next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pytest_audiobench.metrics.definitions import ranking
from pytest_audiobench.metrics.label_statistics import label_statistics, set_scores
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.bioacoustic import data_set_scores, scoring
from pytest_audiobench.stats.intervals import Floats

_Inputs = Mapping[str, Any]


def _ranked(value: Callable[[Floats, Floats], float]) -> Callable[[_Inputs, _Inputs], float]:
    return lambda params, inputs: value(
        np.array(inputs["y_true"], dtype=float), np.array(inputs["y_score"], dtype=float)
    )


def _sets(params: _Inputs, inputs: _Inputs) -> list[tuple[set[str], set[str]]]:
    """True and said labels of each sample; those beyond the classes are dropped."""
    classes = set(params["classes"])
    pairs = zip(inputs["targets"], inputs["predictions"], strict=True)
    return [(classes.intersection(true), classes.intersection(said)) for true, said in pairs]


def _map_of_answers(params: _Inputs, inputs: _Inputs) -> float:
    pairs = _sets(params, inputs)
    if not pairs:
        raise ValueError("no samples")
    truth, said = (
        np.array([[float(label in one[side]) for label in params["classes"]] for one in pairs]) for side in (0, 1)
    )
    return ranking.average_precision_all_labels(truth, said)


def _metric(name: str) -> Callable[[_Inputs, _Inputs], float]:
    return lambda params, inputs: (
        metric_kind(name)
        .estimate([label_statistics(params["classes"], true, said) for true, said in _sets(params, inputs)], None)
        .value
    )


def _f1_of_samples(params: _Inputs, inputs: _Inputs) -> float:
    pairs = _sets(params, inputs)
    if not pairs:
        raise ValueError("no samples")
    return float(np.mean([set_scores(len(true & said), len(said), len(true)).f1 for true, said in pairs]))


def _beans_next(average: str) -> Callable[[_Inputs, _Inputs], float]:
    return lambda params, inputs: scoring.average_precision(inputs["y_score"], inputs["y_true"], average)  # type: ignore[arg-type]


SCORERS = {
    "ap_macro": _ranked(ranking.average_precision_all_labels),
    "ap_macro_beans_next": _beans_next("macro"),
    "ap_micro": _ranked(ranking.micro_average_precision),
    "ap_micro_beans_next": _beans_next("micro"),
    "dataset_map_beans_next": lambda _, inputs: data_set_scores.dataset_map(inputs["predictions"], inputs["targets"]),
    "dataset_map_sklearn": _map_of_answers,
    "multilabel_f1_macro": _metric("macro_f1"),
    "multilabel_f1_micro": _metric("micro_f1"),
    "multilabel_f1_samples": _f1_of_samples,
    "roc_auc_macro": _ranked(ranking.macro_roc_auc),
}

OUT: dict[str, str] = {}

DIFFERS = {
    **{
        f"average_precision/multilabel_f1_macro-{number}": "a listed label that is true of no sample is no part of "
        "ours, so that right answers score 1; scikit-learn counts it as 0"
        for number in ("000", "002", "008")
    },
    "average_precision/multilabel_f1_macro-003": "no label is true: ours has no value, where scikit-learn says 0",
    "average_precision/multilabel_f1_micro-003": "no label is true and none was said: ours has no value, where "
    "scikit-learn's zero_division=0 says 0",
}
