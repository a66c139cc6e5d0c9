"""What always answering the most common label would score, by every scorer of the answers that it is next to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_audiobench.evaluation.scoring import scored_rows, scores_from_rows
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.formatting import value_text
from pytest_audiobench.rescoring.recorded_answers import RecordedRow
from pytest_audiobench.rescoring.recorded_rows import sample_answers

_NOTHING = "None"
"""The answer where no label is true most often."""


@dataclass(frozen=True)
class Majority:
    """The most common label, or set of labels, and what answering it to everything scores, by metric and scorer."""

    answer: str
    values: Mapping[tuple[str, str], float | None]

    def as_json(self) -> dict[str, Any]:
        """The same as rows."""
        rows = [{"metric": name, "scorer": scorer, "value": value} for (name, scorer), value in self.values.items()]
        return {"answer": self.answer, "values": rows}


class ConstantAnswers:
    """The questions of one eval, to be answered alike by its most common label.

    Only where an answer is one of options that all samples share does it mean anything.
    """

    def __init__(self, protocol: Protocol) -> None:
        scorers = tuple(scorer for scorer in protocol.scorers if not scorer.judge)
        stages = tuple(stage for stage in protocol.stages if stage.role == "subject")
        self._protocol = replace(protocol, scorers=scorers, stages=stages)
        self._fits = protocol.expects == "option" and len(stages) == 1 and bool(scorers)
        self._lists_labels = not protocol.options.keys().isdisjoint({"labels", "label_source"})
        self._options: frozenset[str] | None = None
        self._rows: list[RecordedRow] = []

    def add(self, rows: Sequence[RecordedRow]) -> None:
        """Remember the samples of ``rows``' first epoch, without what was answered."""
        for row in rows if self._fits else ():
            options = frozenset(row.sample.choices)
            if self._options is None:
                self._options = options
            if options != self._options or not (options or self._lists_labels):
                self._fits, self._rows = False, []
                return
            if row.epoch == 0 and row.error is None:
                sample = replace(row.sample, clips=(), question="", metadata={})
                self._rows.append(RecordedRow(sample, {}, row.eval, row.dataset, row.model))

    def majority(self) -> Majority | None:
        """What the best of the candidates scores by the headline; None where references are not shared labels."""
        # Withheld references are empty.
        if not self._fits or not any(truth.strip() for row in self._rows for truth in row.sample.truths):
            return None
        headline = (self._protocol.scorers[0].metrics[0], self._protocol.scorers[0].name)
        majorities = [Majority(answer, self._values(answer)) for answer in self._candidates()]
        return max(majorities, key=lambda majority: majority.values.get(headline) or 0.0)

    def _candidates(self) -> Iterator[str]:
        """The most common truth as a whole, and, where one is a list, the most common label."""
        samples = [row.sample for row in self._rows]
        whole = _commonest(", ".join(sample.truths) for sample in samples)
        yield whole
        if any(len(sample.references) > 1 for sample in samples):
            single = _commonest(label for sample in samples for label in sample.truths)
            if single != whole:
                yield single

    def _values(self, answer: str) -> dict[tuple[str, str], float | None]:
        response = {self._protocol.answering.name: Response.of(answer, "stop")}
        answered = [sample_answers(replace(row, responses=response)) for row in self._rows]
        clusters = [row.sample.id for row in self._rows]
        rows = scored_rows(self._protocol, answered, clusters)
        sheet = scores_from_rows(self._protocol.scorers, rows, (), False, 1)
        return {
            (metric.name, metric.scorer): metric.value
            for metric in sheet.metrics
            if metric.scorer is not None and not metric.group
        }


def _commonest(labels: Iterator[str]) -> str:
    """The label that comes most often, the first of equals in the alphabet."""
    counts = Counter(label.strip() for label in labels)
    return min(counts, key=lambda label: (-counts[label], label)) or _NOTHING


def below_majority(record: ItemRecord, majority: Majority) -> Iterator[str]:
    """A sentence where the headline lies below what always answering one label scores."""
    for metric in [metric for metric in record.metrics[:1] if metric.direction == "higher"]:
        constant = majority.values.get((metric.name, metric.scorer or ""))
        if constant is not None and metric.value is not None and metric.value < constant:
            value, most = (value_text(number, metric.unit) for number in (metric.value, constant))
            yield f"{metric.name} by {metric.scorer}: {value} lies below always answering {majority.answer!r}, {most}"
