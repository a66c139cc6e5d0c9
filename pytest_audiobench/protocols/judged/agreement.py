"""How far two readings of the same answers agree, as a reading of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.protocols.protocol import About, Answer, Earlier, Reading

_RIGHT_FROM = 0.5


def agreement(one: Reading, other: Reading) -> Reading:
    """Whether ``one``, of a judge, and ``other`` take an answer for right: ``judge_agreement`` and ``judge_kappa``.

    An answer that either leaves out, or whose verdict either could not have, is left out. The signature holds the
    digests of both signatures, which stand in full beside their own numbers.
    """

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        found = [_right(reading, sample, earlier) for reading in (one, other)]
        return Answer("unparsed") if None in found else Answer("parsed", " ".join(map(str, found)))

    return Reading(
        name=f"{one.name}-vs-{other.name}",
        signature=f"agreement|v:1|right:from {_RIGHT_FROM}|of:{_digest(one)}+{_digest(other)}",
        parse=parse,
        score=_score,
        metrics=("judge_agreement", "judge_kappa"),
        judge=one.judge,
        about=About("Both right or both wrong, points counting as right from 0.5 on.", "ours"),
    )


def _digest(reading: Reading) -> str:
    return hashlib.sha256(reading.signature.encode()).hexdigest()[:12]


def _right(reading: Reading, sample: Sample, earlier: Earlier) -> int | None:
    if reading.judge and earlier[reading.judge].error is not None:
        return None
    scores = reading.score(sample, reading.parse(sample, earlier))
    if scores is None:
        return None
    return int(scores.get("points", scores.get("correct", 0.0)) >= _RIGHT_FROM)


def _score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
    if answer.value is None:
        return None
    first, second = map(int, answer.value.split())
    return {"agree": float(first == second), "first": float(first), "second": float(second), "n": 1.0}
