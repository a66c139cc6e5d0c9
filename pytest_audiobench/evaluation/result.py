"""What ``evaluate`` returns: numbers to assert on, with what they were measured under, and the samples behind."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import asdict, replace

from pytest_audiobench.errors import UsageError, install_command
from pytest_audiobench.evaluation.perturbation_series import NEEDS, how_to_ask
from pytest_audiobench.evaluation.scoring import (
    SHARES,
    WITHOUT,
    EvalScores,
    ScoredSample,
    coverage_counts,
    estimate_metric,
)
from pytest_audiobench.metrics.definitions.agreement import WORDING_FIGURES
from pytest_audiobench.metrics.definitions.human_labels import METRICS as BY_PEOPLE
from pytest_audiobench.metrics.definitions.words import trimmed_names
from pytest_audiobench.metrics.metric import POINTS
from pytest_audiobench.metrics.metric_drops import drop_of
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.value import Metric
from pytest_audiobench.protocols.answer_failures import FAILURES
from pytest_audiobench.protocols.protocol import WITHHELD, Scorer, first_wording_stages
from pytest_audiobench.records.run import CoverageRecord, ItemRecord, MetricRecord
from pytest_audiobench.stats.drops import Question

_KEY = re.compile(r"(?P<name>[a-z][\w-]*)(\[(?P<group>[^\]]*)\])?")


class Result:
    """The outcome of one eval.

    ``result["accuracy"]`` is the headline scorer's; ``result["accuracy[hop=multi]"]`` a group's, for any
    metadata field; ``result["accuracy[scorer=mmau-string]"]`` another scorer's view of the same answers;
    ``result["wer[without=loop]"]`` the score without the answers of one class of failures. Where the eval is asked
    under perturbations too, ``result["lift"]`` or ``result["order_worst"]`` is what it comes to with them.
    """

    def __init__(self, record: ItemRecord, scores: EvalScores, scorers: Sequence[Scorer]) -> None:
        self.record = record
        self._rows, self._columns, self._scorers = scores.rows, scores.columns, scorers
        self._clustered = scores.clustered
        self.beside: Callable[[str], MetricRecord | None] | None = None
        """Measures a metric of the eval and its perturbations, such as the lift; None where it is not asked."""

    def amend(self, **changes: Any) -> None:
        """Put on record what came after the numbers: findings, verdicts, warnings, the outcome."""
        self.record = replace(self.record, **changes)

    def warn(self, text: str) -> None:
        """Put a warning on record, which the report shows with the eval."""
        self.amend(warnings=[*self.record.warnings, text])

    @property
    def input_hash(self) -> str:
        """What was asked of which data; the same for every model."""
        return self.record.hashes["input_hash"]

    @property
    def run_hash(self) -> str:
        """That and what was answered; how answers are scored is not part of it."""
        return self.record.hashes["run_hash"]

    @property
    def n(self) -> int:
        """Samples taken (each counted once, whatever the number of epochs)."""
        return self.record.n

    @property
    def errors(self) -> int:
        """Samples × epochs whose asking failed."""
        return self.record.scorers[0].coverage.errors

    def __getitem__(self, key: str) -> Metric:
        """The metric by key. Raises KeyError, naming what there is, for an unknown metric, field, value or protocol."""
        match = _KEY.fullmatch(key.strip())
        if not match:
            raise KeyError(f"{key!r} is not a metric key: write accuracy or accuracy[hop=multi]")
        pairs = [part.partition("=") for part in (match["group"] or "").split(",") if part.strip()]
        metric = self.find(match["name"], {field.strip(): value.strip() for field, _, value in pairs})
        if metric is None and not self.n:  # a shard that has none of the samples
            return Metric(math.nan, name=match["name"], n=0)
        if metric is None and match["name"] in NEEDS:
            raise KeyError(f"{self.record.eval} has no {key!r}: it {how_to_ask(match['name'])}")
        if metric is None:
            raise KeyError(f"{self.record.eval} has no {key!r}; it has {', '.join(self.keys())}")
        return metric

    def keys(self) -> list[str]:
        """The keys of all recorded metrics."""
        return [metric_key(metric, self._scorers[0].name) for metric in self.record.metrics]

    def find(self, name: str, group: Mapping[str, str]) -> Metric | None:
        """The metric ``name`` over the samples whose metadata match ``group``, or None when there are none."""
        wanted = dict(group)
        headline = self._scorers[0].name
        if name in BY_PEOPLE and "scorer" not in wanted:
            # Of several judges the one that is meant must be named.
            judged = [each.name for each in self._scorers if name in each.metrics]
            headline = judged[0] if len(judged) == 1 else headline
        scorer = next((r for r in self._scorers if r.name == wanted.get("scorer", headline)), None)
        wanted.pop("scorer", None)
        unscored = [metric for metric in (*self.record.speed, *self.record.metrics) if metric.scorer is None]
        recorded = [metric for metric in unscored if metric.name == name and dict(metric.group) == dict(group)]
        if recorded:
            return as_metric(recorded[-1])
        if name in NEEDS and not group and self.beside is not None and (figure := self.beside(name)):
            return as_metric(figure)
        if scorer is None:
            return None
        if name in WORDING_FIGURES:
            spreads = [metric for metric in self.record.metrics if (metric.name, metric.scorer) == (name, scorer.name)]
            return next((as_metric(metric) for metric in spreads if dict(metric.group) == wanted), None)
        if name not in (*scorer.metrics, *SHARES, *trimmed_names(scorer.metrics)):
            return None
        without = wanted.pop(WITHOUT, None)
        if without is not None and without not in FAILURES:
            return None
        rows = self._columns[scorer.name].rows
        if wanted.keys() <= set(self.record.groups):
            rows = rows.of_group(wanted) if wanted else rows
        else:
            rows = rows.at([_matches(row, wanted) for row in self._rows[scorer.name]])
        rows = rows if without is None else rows.without(without)
        if not len(rows):
            return None
        group = wanted if without is None else {**wanted, WITHOUT: without}
        return as_metric(estimate_metric(name, scorer, rows, self._clustered, group), coverage_counts(rows))

    def gain_over(self, other: Result, metric: str | None = None) -> Metric:
        """How much better this result is than ``other`` on the samples that both asked; 0.1 is 10 pp better.

        ``metric`` is the headline's first metric unless given. Pairs are by sample id and epoch; a sample whose asking
        failed in either is left out of both. Raises UsageError for a metric that cannot be compared sample by
        sample, and for results that have no sample in common.
        """
        name = metric or self.headline_metric
        kind = metric_kind(name)
        if kind.parts is None:
            raise UsageError(f"{name} is not a ratio of sums over samples, so two results have no paired difference")
        others = {row.identity: row.scores for row in other.headline_rows if row.scores is not None}
        pairs = [
            (row.scores, others[row.identity], row.cluster)
            for row in self.headline_rows
            if row.scores is not None and row.identity in others
        ]
        if not pairs:
            raise UsageError(f"{self.record.eval} and {other.record.eval} have no scored sample in common")
        ours, theirs, clusters = zip(*pairs, strict=True)
        # What is gained over the other is what would be dropped from here to there.
        drop = drop_of(kind, ours, theirs, clusters if self._clustered else None, Question(0.0))
        return Metric(
            drop.value, name=name, lower=drop.lower, upper=drop.upper, n=len(pairs), unit=POINTS, method=drop.method
        )

    @property
    def headline_metric(self) -> str:
        """The first metric of the headline scorer."""
        return self._scorers[0].metrics[0]

    def estimate_of(self, rows: Sequence[ScoredSample]) -> float:
        """The headline metric over ``rows``; NaN where it is not a number."""
        value = estimate_metric(self.headline_metric, self._scorers[0], rows, False).value
        return float("nan") if value is None else value

    @property
    def headline_rows(self) -> Sequence[ScoredSample]:
        """Every sample and epoch as the headline scorer saw it."""
        return self._rows[self._scorers[0].name]

    def rows_for(self, metric: str) -> Sequence[ScoredSample]:
        """Every sample and epoch as the first scorer with ``metric`` saw it; nothing where none has it."""
        scorer = next((each.name for each in self._scorers if metric in each.metrics), None)
        return () if scorer is None else self._rows[scorer]

    def samples(self) -> Iterator[dict[str, Any]]:
        """One row per sample and epoch, as the headline scorer saw it: id, question, answer, value, scores."""
        for row in self.headline_rows:
            sample = row.answers.selected.sample
            last = first_wording_stages(row.answers.responses)[-1:]
            yield {
                "sample_id": sample.id,
                "epoch": row.answers.epoch,
                "question": sample.question,
                "choices": list(sample.choices),
                "reference": sample.reference,
                "references": list(sample.references),
                "text": row.answers.responses[last[0]].text if last else None,
                "status": "error" if row.answer is None else row.answer.status,
                "value": None if row.answer is None else row.answer.value,
                "error": row.answers.error,
                **({} if row.scores is None else dict(row.scores)),
                **dict(sample.metadata),
            }

    def frame(self) -> Any:
        """The samples as a pandas data frame. Raises UsageError when pandas is not installed."""
        try:
            import pandas
        except ImportError as error:
            raise UsageError(f"frames need pandas: {install_command('frames')}") from error
        return pandas.DataFrame(list(self.samples()))

    def confusion(self) -> Any:
        """The confusion matrix by the headline scorer as a pandas frame: a row a true label, a column an answer."""
        from pytest_audiobench.evaluation.confusion import LabelledAnswer, confusion
        from pytest_audiobench.protocols.protocol import gives_letters

        if self._scorers[0].signature.endswith(WITHHELD):
            raise UsageError(f"{self.record.eval} has no true labels: its publisher withholds the answers")
        samples = (
            LabelledAnswer(
                row.answers.sample_id,
                row.answers.selected.sample.choices,
                row.answers.selected.sample.reference,
                row.answers.selected.sample.references,
                None if row.answer is None else row.answer.value,
                row.answers.error,
            )
            for row in self.headline_rows
        )
        return confusion(samples, gives_letters(self._scorers[0].signature))

    def _repr_html_(self) -> str:
        from pytest_audiobench.evaluation.notebook import HEADS, item_rows, table

        return table(self.record.eval, HEADS, list(item_rows(self.record)))

    def __repr__(self) -> str:
        return f"<Result of {self.record.eval}: {', '.join(repr(self[name]) for name in self._scorers[0].metrics)}>"


def metric_key(metric: MetricRecord, headline: str) -> str:
    """How a metric is asked for: ``accuracy``, ``accuracy[hop=multi]``, ``accuracy[scorer=mmau-string]``."""
    inside = dict(metric.group)
    if metric.scorer not in (None, headline):
        inside = {"scorer": str(metric.scorer), **inside}
    return metric.name + (f"[{','.join(f'{k}={v}' for k, v in inside.items())}]" if inside else "")


def as_metric(record: MetricRecord, coverage: CoverageRecord | None = None) -> Metric:
    """A recorded number as the float that tests assert on."""
    return Metric(
        float("nan") if record.value is None else record.value,
        name=record.name,
        lower=record.lower,
        upper=record.upper,
        n=record.n,
        unit=record.unit,
        direction=record.direction,
        coverage=None if coverage is None else asdict(coverage),
        signature=record.signature or "",
        method=record.method,
    )


def _matches(row: ScoredSample, wanted: Mapping[str, str]) -> bool:
    metadata = row.answers.selected.sample.metadata
    return all(field in metadata and str(metadata[field]) == value for field, value in wanted.items())
