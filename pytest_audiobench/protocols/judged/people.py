"""A judge's verdicts compared with what people said of the same answers, as its own scorer."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.definitions.human_labels import statistics_of
from pytest_audiobench.protocols.protocol import Answer, Earlier, Scorer

SIGNATURE = "people|"
"""Begins the signature of every scorer by human labels."""
AGAINST = "-vs-people"
"""Ends its name, behind that of the judge's scorer."""
_DIGITS = 12


class PeoplesVerdict(NamedTuple):
    """What people said about one answer, from 0 to 1: the label that counts, and each one's where there are several."""

    label: float | None
    """None where as many say yes as no."""
    each: Sequence[float] = ()


LabelOf: TypeAlias = Callable[[str, str], PeoplesVerdict | None]
"""Of a sample's id and its answer's text; None without a label."""


def measures_points(scorer: Scorer) -> bool:
    """Whether what a scorer gives an answer is a figure from 0 to 1, which a label can be compared with."""
    return bool(scorer.judge) and scorer.metrics[:1] in (("accuracy",), ("judge_score",))


def against_people(
    scorer: Scorer, answer: str, label_of: LabelOf, chosen: float, about: str, metrics: tuple[str, ...]
) -> Scorer:
    """``scorer``, of a judge of the stage ``answer``, compared with people; ``about`` identifies the labels.

    An answer whose verdict cannot be read is left out, whatever ``scorer`` makes of it.
    """

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        verdict = scorer.parse(sample, earlier)
        scores = scorer.score(sample, verdict)
        if verdict.status != "parsed" or scores is None:
            return Answer("unparsed")
        said = label_of(sample.id, earlier[answer].text)
        figures = [scores.get("points", scores.get("correct", 0.0))]
        if said is not None:
            figures += [math.nan if said.label is None else said.label, *said.each]
        return Answer("parsed", " ".join(map(repr, map(float, figures))))

    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        if answer.value is None:
            return None
        figure, *labels = map(float, answer.value.split())
        label = labels[0] if labels and not math.isnan(labels[0]) else None
        return statistics_of(figure, chosen, labels[1:], label)

    of = hashlib.sha256(scorer.signature.encode()).hexdigest()[:_DIGITS]
    return Scorer(
        name=f"{scorer.name}{AGAINST}",
        signature=f"{SIGNATURE}v:1|{about}|of:{of}",
        parse=parse,
        score=score,
        metrics=metrics,
        judge=scorer.judge,
        further_judges=scorer.further_judges,
    )
