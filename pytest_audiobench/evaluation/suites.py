"""Pooled figures over a suite's evals: published benchmark figures are over all questions, not means of parts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from typing import Protocol

from msgspec.structs import replace

from pytest_audiobench.evaluation.perturbation_series import Identity, SampleScore, unperturbed
from pytest_audiobench.evaluation.score_columns import ColumnRows, Kind, ScoreColumns
from pytest_audiobench.evaluation.scoring import SHARES, WITHOUT, metric_record, statistics_for
from pytest_audiobench.evaluation.wording_figures import WordedScore, wording_figures
from pytest_audiobench.identity import digest
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.protocols.answer_failures import FAILURES
from pytest_audiobench.records.lines import ScoredRow
from pytest_audiobench.records.run import (
    AspectRecord,
    CoverageRecord,
    CurveRecord,
    ItemRecord,
    MetricRecord,
    PerturbationsRecord,
    PooledHashes,
    ScorerRecord,
    SuiteRecord,
)

HASHES = PooledHashes.__struct_fields__


class Hashed(Protocol):
    """An item's record, or what stands for one."""

    @property
    def hashes(self) -> Mapping[str, str]: ...


def is_pooled(item: ItemRecord) -> bool:
    """Whether an item is of its suite: also a perturbed control, which is in the figures over perturbations alone."""
    return item.outcome != "skipped" and item.pooled and not (item.control and item.perturbation is None)


class Pool:
    """The rows of one suite × model, by scorer, in columns."""

    def __init__(self, name: str, model: str) -> None:
        self.name, self.model = name, model
        self.items: list[ItemRecord] = []
        self._columns: dict[tuple[str, str], ScoreColumns] = {}
        self._scores: dict[tuple[str, str], dict[int, list[SampleScore]]] = {}
        """Of items with a perturbation, whose samples are compared with the same ones under others."""
        self._identities: dict[Identity, Identity] = {}

    def add(self, item: ItemRecord, scored: Iterable[ScoredRow]) -> None:
        """Add an item's record and its rows of scored_predictions.jsonl."""
        number, perturbation = len(self.items), item.perturbation
        self.items.append(item)
        columns = {r.name: self._columns.setdefault((r.name, r.signature), ScoreColumns()) for r in item.scorers}
        scores = {
            r.name: self._scores.setdefault((r.name, r.signature), {}).setdefault(number, []) for r in item.scorers
        }
        dataset = unperturbed(item.dataset, perturbation)
        for line in scored:
            if line.scorer not in columns:
                continue
            # A cluster that the data set names holds across the suite: one clip asked in two evals is one clip.
            # An id of a sample is unique in its own data set only, which is the same one under every perturbation.
            of_sample = line.cluster is None or line.cluster == line.sample_id
            own: Hashable = (dataset, line.sample_id) if of_sample else line.cluster
            failed = line.status == "error"
            kind = Kind(
                "errors" if failed else line.status,
                not failed and line.scores is None,
                tuple(line.failures),
                tuple(line.failures),
            )
            statistics = None if failed else line.scores
            columns[line.scorer].add(kind, statistics, own, tuple(line.groups.items()), number, None)
            if perturbation is not None:
                identity = (line.sample_id, line.epoch)
                identity = self._identities.setdefault(identity, identity)
                scores[line.scorer].append(SampleScore(identity, statistics, own))

    def record(self) -> SuiteRecord:
        """The pooled record."""
        curves, perturbations, aspects = self._perturbation_figures()
        # What only read controls, as a judge of free answers, is not a scorer of the suite.
        scorers = dict.fromkeys((scorer.name, scorer.signature) for item in self._own for scorer in item.scorers)
        metrics = [metric for scorer in scorers for metric in self._metrics(*scorer)]
        worded = wording_figures([metric for metric in metrics if WITHOUT not in metric.group], self._worded)
        return SuiteRecord(
            name=self.name,
            model=self.model,
            n=sum(item.n for item in self._own),
            evals=len(self._own),
            limited=any(item.limited for item in self._own),
            scorers=[ScorerRecord(*scorer, self._coverage(*scorer)) for scorer in scorers],
            metrics=[*metrics, *worded],
            hashes=pooled_hashes(self._own),
            curves=curves,
            perturbations=perturbations,
            aspects=aspects,
        )

    def _worded(self, scorer: str, signature: str, group: Mapping[str, str]) -> list[WordedScore]:
        rows = self._rows(scorer, signature).of_group(group)
        parsed = rows.of_each_kind(lambda kind: kind.status == "parsed")
        return list(map(WordedScore, rows.scores(), rows.clusters(), parsed))

    def _rows(self, scorer: str, signature: str) -> ColumnRows:
        """Without those of controls."""
        own = [number for number, item in enumerate(self.items) if not item.control]
        rows = self._columns[scorer, signature].rows
        return rows if len(own) == len(self.items) else rows.of_parts(*own)

    @property
    def _own(self) -> list[ItemRecord]:
        """Without controls."""
        return [item for item in self.items if not item.control]

    def _perturbation_figures(self) -> tuple[list[CurveRecord], list[PerturbationsRecord], list[AspectRecord]]:
        if not any(item.perturbation for item in self.items):
            return [], [], []
        # Most suites have no perturbation, and need none of this arithmetic.
        from pytest_audiobench.evaluation.aspects import aspects
        from pytest_audiobench.evaluation.curves import figures

        scores = {
            scorer: {item: rows for item, rows in by_item.items() if rows} for scorer, by_item in self._scores.items()
        }
        return *figures(self.items, scores), list(aspects(self.items, scores))

    def _coverage(self, name: str, signature: str) -> CoverageRecord:
        scorers = (scorer for item in self._own for scorer in item.scorers)
        return reduce(add, (each.coverage for each in scorers if (each.name, each.signature) == (name, signature)))

    def _metrics(self, scorer: str, signature: str) -> Iterator[MetricRecord]:
        rows = self._rows(scorer, signature)
        epochs = max(item.epochs for item in self._own)
        # A metric that a conftest.py of the workers registered is not known to the process that pools.
        names = [name for name in self._names(scorer, signature) if is_known(name) and metric_kind(name).poolable]
        for name in names:
            yield _pooled_metric(name, (scorer, signature), rows, epochs)
        for group, members in (*_without_failures(rows), *_rows_by_group(rows)):
            for name in names:
                if name not in SHARES:
                    yield _pooled_metric(name, (scorer, signature), members, epochs, group)
        for name in names:
            if name not in SHARES:
                yield from self._averages(name, (scorer, signature))

    def _averages(self, name: str, scorer: tuple[str, str]) -> Iterator[MetricRecord]:
        """The suite's declared averages of a metric, the innermost first: each over all of its parts, or not at all."""
        parts: dict[tuple[str, ...], list[MetricRecord]] = {}
        counts: dict[str, int] = {}
        # A record on disk has them in the order of their names: what more evals count in is further out.
        members = Counter(average for item in self._own for average in item.averages)
        for item in self._own:
            for metric in item.metrics if item.averages else ():
                if (metric.name, metric.scorer, metric.signature, metric.group) == (name, *scorer, {}):
                    outermost_first = sorted(item.averages, key=lambda average: -members[average])
                    parts.setdefault(tuple(outermost_first), []).append(metric)
                    counts |= item.averages
        for depth in range(max(map(len, parts), default=0), 0, -1):
            for path in [path for path in parts if len(path) == depth]:
                if len(parts[path]) == counts[path[-1]] and None not in [part.value for part in parts[path]]:
                    yield (mean := _mean(parts[path], path[-1]))
                    parts.setdefault(path[:-1], []).append(mean)

    def _names(self, scorer: str, signature: str) -> list[str]:
        """The metrics that all items have which were read so: what only some measured is not a figure of the suite."""
        read_by = (scorer, signature)
        measured = [
            {m.name: None for m in item.metrics if (m.scorer, m.signature, m.group) == (*read_by, {})}
            for item in self._own
            if any((r.name, r.signature) == read_by for r in item.scorers)
        ]
        names = dict.fromkeys(name for names_ in measured for name in names_)
        return [name for name in names if all(name in names_ for names_ in measured)]


def pooled_hashes(items: Sequence[Hashed]) -> PooledHashes:
    """For each kind of hash, the digest over the items' sorted ones; None when there is none or one is missing."""
    by_kind = {kind: sorted(item.hashes.get(kind, "") for item in items) for kind in HASHES}
    return PooledHashes(**{kind: digest(hashes) if hashes and hashes[0] else None for kind, hashes in by_kind.items()})


def _rows_by_group(rows: ColumnRows) -> Iterator[tuple[dict[str, str], ColumnRows]]:
    for name, values in rows.values().items():
        if len(values) > 1:
            yield from (({name: value}, rows.of_group({name: value})) for value in values)


def _without_failures(rows: ColumnRows) -> Iterator[tuple[dict[str, str], ColumnRows]]:
    for failure in FAILURES:
        others = rows.without(failure)
        if len(others) < len(rows):
            yield {WITHOUT: failure}, others


def _mean(parts: Sequence[MetricRecord], name: str) -> MetricRecord:
    """The mean of ``parts``, each counted once whatever its samples, with an interval from theirs."""
    values = [float(part.value or 0) for part in parts]
    mean, ends = math.fsum(values) / len(parts), []
    for end in ([part.lower for part in parts], [part.upper for part in parts]):
        far = math.hypot(*(value - each for value, each in zip(values, end, strict=True) if each is not None)) / len(
            parts
        )
        ends.append(None if None in end else far)
    return replace(
        parts[0],
        value=mean,
        lower=None if ends[0] is None else mean - ends[0],
        upper=None if ends[1] is None else mean + ends[1],
        n=sum(part.n for part in parts),
        method=f"mean of {len(parts)} parts; MOVER of their intervals, as if none shared a clip",
        group={"average": name},
    )


def _pooled_metric(
    name: str, scorer: tuple[str, str], rows: ColumnRows, epochs: int, group: Mapping[str, str] | None = None
) -> MetricRecord:
    kind = metric_kind(name)
    statistics, scored = statistics_for(name, rows)
    estimate = kind.estimate(statistics, scored.clusters() if scored.repeat else None)
    method = f"{estimate.method}; pooled over the suite's evals"
    method += f" and {epochs} epochs, a sample's being one cluster" if epochs > 1 else ""
    if left_out := len(rows) - len(scored):
        method += f"; {left_out} left out, not asked or skipped by the protocol"
    return metric_record(kind, estimate._replace(method=method), *scorer, group)
