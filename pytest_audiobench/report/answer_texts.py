"""What a scorer made of one answer, in words: what it read, the sample's own score, and the label it was.

The statistics behind a number are for sums and not for readers: none of their names stands in a report.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from pytest_audiobench.datasets.sample import tidy_caseless
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.label_statistics import OTHER as SAID_OTHER
from pytest_audiobench.metrics.label_statistics import SAID, label_statistics
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.records.lines import BaselineAnswer
from pytest_audiobench.report.formatting import value_text

BEYOND = "a label beyond the list"


def value_words(value: str | None) -> str | None:
    """What was read, where that is a list or an object, as ``dog, cat`` or ``labels: dog, cat``; a text as it is."""
    if value is None or value[:1] not in ("[", "{"):
        return value
    try:
        parsed = json.loads(value)
    except ValueError:
        return value
    # A transcript may begin with a bracket: only what a scorer wrote itself is in just this form.
    is_ours = value in (json.dumps(parsed), json.dumps(parsed, ensure_ascii=False))
    return _words(parsed) if is_ours else value


def _words(value: Any) -> str:
    if isinstance(value, dict):
        parts = ((name.replace("_", " "), _words(entry)) for name, entry in value.items())
        return "; ".join(f"{name}: {text}" for name, text in parts if text)
    if isinstance(value, list):
        return (" | " if any(isinstance(entry, dict) for entry in value) else ", ").join(map(_words, value))
    return "" if value is None else str(value)


@lru_cache(maxsize=4_096)
def score_text(metric: str, scores: tuple[tuple[str, float], ...]) -> str:
    """``wer 25.0 %``: a sample's own score; empty where it has none, or only says again that the answer is right."""
    statistics = dict(scores)
    score = _own_score(metric, statistics)
    if math.isnan(score) or score == statistics.get("correct"):
        return ""
    return f"{metric} {value_text(score, metric_kind(metric).unit)}"


def _own_score(metric: str, statistics: Mapping[str, float]) -> float:
    kind = metric_kind(metric) if is_known(metric) else None
    if kind is None:
        return math.nan
    try:
        if kind.parts is not None:
            top, whole = kind.parts(statistics)
            return top / whole if whole > 0 else math.nan
        return math.nan if kind.sample_score is None else kind.sample_score(statistics)
    except (KeyError, ArithmeticError, ValueError, UsageError):
        return math.nan  # statistics come from files that anyone may have edited


def labels_before(before: BaselineAnswer, choices: Sequence[str]) -> list[str | None] | None:
    """The labels of ``choices`` that the baseline's statistics tell, None for one beyond them.

    None where the statistics tell of no label, or of another list.
    """
    scores = before.scores
    if not scores or "label_list" not in scores:
        return None
    listed = {tidy_caseless(choice): choice for choice in reversed(choices)}
    if scores["label_list"] != label_statistics(listed, (), ())["label_list"]:
        return None
    return [_label(name, listed) for name, count in scores.items() if name.startswith(SAID) and count]


def _label(statistic: str, listed: Mapping[str, str]) -> str | None:
    place = statistic.removeprefix(SAID)
    if statistic == SAID_OTHER or not place.isdecimal() or int(place) >= len(listed):
        return None
    return listed[sorted(listed)[int(place)]]


def answer_label(before: BaselineAnswer, choices: Sequence[str], references: Sequence[str]) -> str:
    """What the baseline's answer was read as, where it keeps no texts and its statistics tell; else empty."""
    labels = labels_before(before, choices)
    if labels:
        return ", ".join(label or BEYOND for label in labels)
    distinct = [text for text in dict.fromkeys(references) if text]
    is_right = before.scores is not None and before.scores.get("correct", 0.0) >= 1.0
    return distinct[0] if choices and len(distinct) == 1 and is_right else ""
