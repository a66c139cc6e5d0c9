"""Whether as many samples as power says see a drop as often as it says, by the gate's own test."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.comparable_samples import ComparableSample
from pytest_audiobench.gate.power import PowerQuery, power_of
from pytest_audiobench.metrics.metric_drops import drop_of
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.stats.drops import Question

TIMES = 500
FLIPS = 0.02


def side(statistics):
    rows = [
        ComparableSample(f"s{at}", 0, None, None, None, {}, {"basic": "parsed"}, {"basic": own})
        for at, own in enumerate(statistics)
    ]
    return ComparableEval(
        source="main",
        eval="words",
        suite="words",
        model="m",
        spec="s",
        dataset="d",
        protocol="transcription",
        epochs=1,
        limited=False,
        cluster=None,
        scorers={"basic": "asr"},
        metrics={"basic": ["wer"]},
        hashes={},
        rows=rows,
    )


def counts(wrong, words):
    return [{"S": one, "D": 0.0, "I": 0.0, "N": of} for one, of in zip(wrong.tolist(), words.tolist(), strict=True)]


@pytest.mark.parametrize(("points", "lines"), [(10, 1), (20, 1), (10, 7)])
def test_an_error_rate_drop_is_seen_as_often_as_promised_by_as_many_samples_as_it_needs(points, lines):
    random = np.random.default_rng(5)
    words = random.integers(3, 12, 70).astype(float)
    wrong = np.where(random.random(70) < 0.2, np.floor(words / 2.0), 0.0)
    asked = PowerQuery(f"{points}pp", "1pp", lines=lines, flips=FLIPS)
    needed = power_of(side(counts(wrong, words)), None, asked).needed
    question = Question(0.01, asked.alpha, asked.alpha / lines)
    seen = 0
    for _ in range(TIMES):
        drawn = random.integers(0, 70, needed)
        before, length = wrong[drawn], words[drawn]
        after = before.copy()
        flipped = np.flatnonzero(random.random(needed) < FLIPS)
        other = random.integers(0, 70, len(flipped))
        after[flipped] = wrong[other] / words[other] * length[flipped]
        lost = random.random(needed) < points / 100.0 / (1.0 - after.sum() / length.sum())
        after[lost] = length[lost]
        found = drop_of(metric_kind("wer"), counts(before, length), counts(after, length), None, question)
        seen += found.p is not None and found.p <= question.level
    assert seen / TIMES > asked.power - 2.0 * (asked.power * (1.0 - asked.power) / TIMES) ** 0.5
