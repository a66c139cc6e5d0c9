"""How far two scorers of the same answers agree, as a scorer of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.protocols.protocol import Answer, Earlier, Scorer

_RIGHT_FROM = 0.5


def agreement(one: Scorer, other: Scorer) -> Scorer:
    """Whether ``one``, of a judge, and ``other`` take an answer for right: ``judge_agreement`` and ``judge_kappa``.

    An answer that either leaves out, or whose verdict either could not have, is left out. The signature holds the
    digests of both signatures, which stand in full beside their own numbers.
    """

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        found = [_right(scorer, sample, earlier) for scorer in (one, other)]
        return Answer("unparsed") if None in found else Answer("parsed", " ".join(map(str, found)))

    return Scorer(
        name=f"{one.name}-vs-{other.name}",
        signature=f"agreement|v:1|right:from {_RIGHT_FROM}|of:{_digest(one)}+{_digest(other)}",
        parse=parse,
        score=_score,
        metrics=("judge_agreement", "judge_kappa"),
        judge=one.judge,
    )


def _digest(scorer: Scorer) -> str:
    return hashlib.sha256(scorer.signature.encode()).hexdigest()[:12]


def _right(scorer: Scorer, sample: Sample, earlier: Earlier) -> int | None:
    if scorer.judge and earlier[scorer.judge].error is not None:
        return None
    scores = scorer.score(sample, scorer.parse(sample, earlier))
    if scores is None:
        return None
    return int(scores.get("points", scores.get("correct", 0.0)) >= _RIGHT_FROM)


def _score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
    if answer.value is None:
        return None
    first, second = map(int, answer.value.split())
    return {"agree": float(first == second), "first": float(first), "second": float(second), "n": 1.0}
