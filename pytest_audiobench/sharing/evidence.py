"""The checks of a payload against its evidence: the counts, and every value computed again."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import convert

from pytest_audiobench.comparison.comparison_lines import estimate, pooled
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.comparable_samples import statistics_of
from pytest_audiobench.evaluation.scoring import STATUSES
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.metrics.estimates import not_of_samples, value_of
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.records.fields import plain
from pytest_audiobench.records.run import CoverageRecord, ScorerRecord
from pytest_audiobench.records.submission import Payload, SubmittedFigure, SubmittedItem, SubmittedModel
from pytest_audiobench.report.run_writer import runtime

_OTHERWISE = "the headline's interval or n is another than stated"


def same_evals(payload: Payload, evidence: Contents) -> tuple[bool, str]:
    """Whether the evidence is of the same model, evals, hashes, and counts of answers as the payload says; and what to
    say.
    """
    items = {item.eval: item for item in payload.items}
    wrong = list(_wrong_heads(payload, evidence))
    if items.keys() != evidence.sides.keys() or len(items) != len(payload.items):
        wrong.append("the evals")
    else:
        for name, item in items.items():
            wrong += _wrong_item(payload, item, evidence.sides[name])
    if wrong:
        return False, f"it is of something else than the payload: {', '.join(wrong[:5])}"
    rows = sum(len(side.rows) for side in evidence.sides.values())
    return True, f"{rows} rows of {payload.n} samples, of the model and evals that the payload names"


def _wrong_heads(payload: Payload, evidence: Contents) -> Iterator[str]:
    """What of the whole suite is another in the evidence, or not what the evals come to."""
    head, items = evidence.head, payload.items
    model = convert(head.model, SubmittedModel, from_attributes=True)
    if model != payload.model or plain(head.hashes) != plain(payload.hashes):
        yield "the model or the hashes"
    stated = (payload.limit, payload.epochs, list(payload.missing))
    if stated != (head.limit, head.epochs, list(head.missing)):
        yield "limit, epochs or what is missing"
    if (payload.limited, payload.n) != (any(item.limited for item in items), sum(item.n for item in items)):
        yield "n or limited, which are not those of its evals"
    summed: dict[tuple[str, str], CoverageRecord] = {}
    for scorer in (entry for item in items for entry in item.scorers):
        key = scorer.name, scorer.signature
        summed[key] = summed[key] + scorer.coverage if key in summed else scorer.coverage
    coverages = {(entry.name, entry.signature): entry.coverage for entry in payload.scorers}
    if coverages != summed or len(coverages) != len(payload.scorers):
        yield "the suite's counts of answers, which are not those of its evals"


def _wrong_item(payload: Payload, item: SubmittedItem, side: ComparableEval) -> Iterator[str]:
    name = item.eval
    fields = (side.dataset, side.protocol, side.hashes, side.limited, side.epochs)
    same = fields == (item.dataset, item.protocol, item.hashes, item.limited, item.epochs)
    same = same and side.suite == payload.suite and side.hashes.get("model") == payload.model.digest
    same = same and [side.headline] == [scorer.name for scorer in item.scorers[:1]]
    if not same:
        yield f"{name}: its data set, hashes, model, suite, epochs or first scorer"
    samples = {row.sample_id for row in side.rows}
    if (item.n, item.n * item.epochs) != (len(samples), len(side.rows)):
        yield f"{name}: {item.n} samples"
    yield from (f"{name}: the counts of {scorer.name}" for scorer in item.scorers if not _counted(scorer, side))


def _counted(scorer: ScorerRecord, side: ComparableEval) -> bool:
    if (name := scorer.name) not in side.scorers:
        # Of a large suite only the first scorer is evidence.
        return True
    counts: Counter[str] = Counter(row.statuses[name] for row in side.rows)
    skipped = sum(row.scores[name] is None and row.statuses[name] != "error" for row in side.rows)
    answered = {status: counts[status] for status in STATUSES}
    coverage = CoverageRecord(n=len(side.rows), **answered, errors=counts["error"], skipped=skipped)
    return side.scorers[name] == scorer.signature and scorer.coverage == coverage


def same_numbers(payload: Payload, evidence: Contents) -> tuple[bool, str]:
    """Whether each value, and the headline's interval, is what the samples' statistics give; and what to say."""
    wrong, right, unknown = [], 0, set()
    owners = [(payload.suite, payload.metrics, payload.items)]
    owners += [(item.eval, item.metrics, [item]) for item in payload.items]
    for owner, metrics, items in owners:
        for metric in metrics:
            read = evals_read_by(items, evidence, metric.scorer, metric.signature)
            kind = metric_kind(metric.metric) if is_known(metric.metric) else None
            if read is None or kind is None or kind.estimate is not_of_samples:
                unknown.add(f"{metric.metric} by {metric.scorer}")
            elif (recomputed := _value(metric, read)) is None or not _equal(metric.value, recomputed):
                given = "no number" if recomputed is None or math.isnan(recomputed) else f"{recomputed:.6g}"
                wrong.append(f"{metric.metric} of {owner} is said to be {metric.value}, and its samples give {given}")
            elif (metric.unit, metric.direction) != (kind.unit, kind.direction):
                wrong.append(f"{metric.metric} of {owner} is said to be in another unit or direction than it is")
            else:
                right += 1
    if payload.headline != next(iter(payload.metrics), None):
        wrong.append("the headline is not the first of the metrics")
    if wrong:
        return False, "; ".join(wrong[:3])
    interval = _headline(payload, evidence)
    if interval.startswith(_OTHERWISE):
        if not (versions := other_versions(payload)):
            return False, interval
        interval = f"the headline's interval is as stated, by other versions: {versions}"
    rest = [f"{len(unknown)} others are not recomputed: {', '.join(sorted(unknown)[:5])}"] if unknown else []
    return True, "; ".join([f"{right} values are what the samples' statistics give", *filter(None, [interval]), *rest])


def other_versions(payload: Payload) -> str:
    """By which other versions a run was made, whose draws and intervals may be others; empty for these here."""
    here, there = runtime().packages, payload.runtime.packages
    odd = [name for name in ("pytest-audiobench", "numpy") if there.get(name) != here.get(name)]
    return ", ".join(f"{name} {there.get(name, 'unknown')} there, {here.get(name, 'none')} here" for name in odd)


def _headline(payload: Payload, evidence: Contents) -> str:
    """What is to be said of the interval and the n of the headline; empty where they cannot be made again."""
    figure = payload.headline
    if figure is None or not is_known(figure.metric) or metric_kind(figure.metric).estimate is not_of_samples:
        return ""
    if not (read := evals_read_by(payload.items, evidence, figure.scorer, figure.signature)):
        return ""
    side = pooled(read, figure.scorer) if len(read) > 1 else read[0]
    try:
        recomputed = estimate(side, metric_kind(figure.metric), figure.scorer, {})
    except (UsageError, ArithmeticError, LookupError, TypeError, ValueError):
        return f"{_OTHERWISE}: its samples give none"
    is_same = _equal(figure.lower, recomputed.lower) and _equal(figure.upper, recomputed.upper)
    if figure.n != recomputed.n or not is_same:
        return f"{_OTHERWISE}: its samples give {recomputed.lower} to {recomputed.upper} over n = {recomputed.n}"
    return "the headline's interval too"


def evals_read_by(
    items: Sequence[SubmittedItem], evidence: Contents, scorer: str, signature: str
) -> list[ComparableEval] | None:
    """The evals of a payload's ``items`` that were read so; None where the evidence lacks the statistics of one.

    Of a large suite only each eval's first scorer is evidence.
    """
    names = [
        item.eval
        for item in items
        if any((entry.name, entry.signature) == (scorer, signature) for entry in item.scorers)
    ]
    sides = [evidence.sides[name] for name in names if name in evidence.sides]
    if len(sides) < len(names) or not all(side.scorers.get(scorer) == signature for side in sides):
        return None
    return sides


def _value(figure: SubmittedFigure, sides: Sequence[ComparableEval]) -> float | None:
    """The metric over the samples of the sides; None where their statistics are not among it."""
    scorer, kind = figure.scorer, metric_kind(figure.metric)
    statistics = [statistics_of(row, scorer, kind.name) for side in sides for row in side.rows]
    try:
        return value_of(kind, [sums for sums in statistics if sums is not None])
    except (UsageError, ArithmeticError, LookupError, TypeError, ValueError):
        return None


def _equal(stated: float | None, recomputed: float | None) -> bool:
    if stated is None or recomputed is None:
        return stated is recomputed or (recomputed is not None and math.isnan(recomputed))
    return math.isclose(stated, recomputed, rel_tol=1e-9, abs_tol=1e-12)
