"""Failures in addition to the score: the classes of failed answers of an eval, and its score without each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pytest_audiobench.evaluation.scoring import SHARES, WITHOUT
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.value import difference_text
from pytest_audiobench.protocols.answer_failures import FAILURES
from pytest_audiobench.records.run import ItemRecord, MetricRecord
from pytest_audiobench.report.formatting import interval_text, value_text

_IN_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "wrong_task": "of the wrong task",
        "wrong_script": "in the wrong script",
        "loop": "in a loop",
        "example_copied": "with the example copied",
        "out_of_range": "out of range",
    }
)
"""How answers of a class are called behind their number, where its name alone is not English there."""
MOST_METRICS = 3
"""Of the headline's metrics, so many are given without each class."""


@dataclass(frozen=True)
class ScoreWithout:
    """A metric over all answers, and over those outside a class of failures."""

    metric: str
    value: str
    without: str
    interval: str
    difference: str
    by: float | None
    """The value without less that with the class."""
    n: int
    """Answers outside the class."""


@dataclass(frozen=True)
class FailureClass:
    """The answers of an eval that failed in one way, as the headline scorer saw them (epochs added up)."""

    name: str
    about: str
    answers: int
    share: str
    moved: tuple[ScoreWithout, ...]

    @property
    def counted(self) -> str:
        """``2 in a loop``."""
        return f"{self.answers} {_IN_WORDS.get(self.name, self.name)}"


def is_without(group: Mapping[str, str]) -> bool:
    """Whether a number's group leaves a class of failures out, and is not metadata that samples share."""
    return len(group) == 1 and group.get(WITHOUT) in FAILURES


def failure_classes(item: ItemRecord) -> tuple[FailureClass, ...]:
    """The classes that the item's answers fall into, in the order of ``FAILURES``; empty where none failed."""
    if not item.scorers:
        return ()
    headline = item.scorers[0].name
    metrics = [metric for metric in item.metrics if metric.scorer == headline]
    overall = {metric.name: metric for metric in metrics if not metric.group}
    scores = [metric for name, metric in overall.items() if name not in SHARES][:MOST_METRICS]
    without = {(metric.name, metric.group[WITHOUT]): metric for metric in metrics if is_without(metric.group)}
    classes = []
    for name in FAILURES:
        share = overall.get(name)
        if share is not None and share.value:
            moved = [_score_without(score, without[key]) for score in scores if (key := (score.name, name)) in without]
            answers = round(share.value * share.n)
            about = metric_kind(name).about
            classes.append(FailureClass(name, about, answers, value_text(share.value, share.unit), tuple(moved)))
    return tuple(classes)


def failure_sentence(classes: tuple[FailureClass, ...]) -> str:
    """``wer 10.3 %; 2.7 % without 50 of the wrong task; also 2 in a loop``: the class that moves the first metric most.

    Counts alone where there is no value to move.
    """
    if not classes:
        return ""

    def weight(failure: FailureClass) -> tuple[float, int]:
        by = failure.moved[0].by if failure.moved else None
        return -1.0 if by is None else abs(by), failure.answers

    worst = max(classes, key=weight)
    others = ", ".join(failure.counted for failure in classes if failure is not worst)
    also = f"; also {others}" if others else ""
    if not worst.moved or worst.moved[0].value == value_text(None, ""):
        return f"{worst.counted}{also}"
    score = worst.moved[0]
    if score.without == value_text(None, ""):
        return f"{score.metric} {score.value}: {worst.counted}, and no other answers{also}"
    return f"{score.metric} {score.value}; {score.without} without {worst.counted}{also}"


def _score_without(score: MetricRecord, without: MetricRecord) -> ScoreWithout:
    by = None if score.value is None or without.value is None else without.value - score.value
    return ScoreWithout(
        metric=score.name,
        value=value_text(score.value, score.unit),
        without=value_text(without.value, without.unit),
        interval=interval_text(without, without.unit),
        difference="" if by is None else difference_text(by, score.unit),
        by=by,
        n=without.n,
    )
