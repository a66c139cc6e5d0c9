"""Scorers side by side: one set of answers, each scorer's number, and how far they lie apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

from msgspec import structs

from pytest_audiobench.evaluation.scoring import SHARES
from pytest_audiobench.evaluation.wording_figures import wording_number
from pytest_audiobench.metrics.value import PERCENT_UNITS, difference_text
from pytest_audiobench.records.run import CoverageRecord, ItemRecord, MetricRecord, ScorerRecord, SuiteRecord
from pytest_audiobench.report import formatting

MANY = 3
"""Where an eval was read by more scorers than this, or in several wordings, their own table shows them."""

_LONGEST = 28
"""Characters of a wording that stand behind its row."""

HEAD = ("scorer", "value", "interval", "n", "skipped", "unparsed")

Key: TypeAlias = tuple[str, str]
"""A scorer's name and signature."""


class SuitePart(NamedTuple):
    """What scorers of the same answers made of a suite."""

    scorers: Sequence[ScorerRecord]
    metrics: Sequence[MetricRecord]
    options: Mapping[str, Any]
    """What all its evals were asked with."""


Owner: TypeAlias = ItemRecord | SuiteRecord | SuitePart
Marks = Mapping[str, str]
"""By scorer, what is to be said behind its row."""


@dataclass(frozen=True)
class ScorerRow:
    """What one scorer made of the answers. Values are in the metric's own unit (shares are fractions of one)."""

    scorer: str
    signature: str
    value: float | None
    lower: float | None
    upper: float | None
    n: int
    skipped: int
    unparsed: int
    """Answers that it could not read, of all."""
    failed: int
    why: str
    value_text: str
    interval_text: str
    wording: str = ""
    """The words of the one wording that it is of."""


@dataclass(frozen=True)
class ScorerTable:
    """A metric over the same answers by each scorer that yields it, in the eval's order."""

    metric: str
    unit: str
    direction: str
    rows: tuple[ScorerRow, ...]
    spread: float | None
    """The largest value minus the smallest: in pp for shares and error rates, else in the metric's own unit; None
    for fewer than two numbers."""
    spread_text: str


@dataclass(frozen=True)
class ScorerComparison:
    """A metric by several scorers."""

    table: ScorerTable
    """Its rows the best first."""
    reference: ScorerRow
    """That of the first scorer which yields the metric: differences are to it."""
    headline: str
    leading: bool
    """Whether this is the first metric of a scorer among the main figures."""
    folds: bool
    """Whether some of the scorers are not among the main figures."""
    sentence: str

    def difference(self, row: ScorerRow) -> str:
        """How far ``row`` lies from the reference; empty for the reference itself, and where a number is missing."""
        if row is self.reference or row.value is None or self.reference.value is None:
            return ""
        return difference_text(row.value - self.reference.value, self.table.unit)

    def is_headline(self, row: ScorerRow) -> bool:
        return row is self.reference and row.scorer == self.headline


def scorer_tables(owner: Owner) -> list[ScorerTable]:
    """The tables of an item's (or a suite's) record: one for each metric, groups left out."""
    coverages = {_key(scorer): scorer.coverage for scorer in owner.scorers}
    by_metric: dict[str, list[MetricRecord]] = {}
    for metric in owner.metrics:
        if _is_score(metric):
            by_metric.setdefault(metric.name, []).append(metric)
    wordings = {} if isinstance(owner, SuiteRecord) else owner.options.get("wordings")
    texts = wordings if isinstance(wordings, list) else []
    return [_table(name, metrics, coverages, texts) for name, metrics in by_metric.items()]


def scorer_comparisons(owner: Owner) -> tuple[ScorerComparison, ...]:
    """Those of an item, or of a suite's part: one for each metric that two scorers or more yield.

    What none of them has a number for has none.
    """
    tables = [
        table
        for table in scorer_tables(owner)
        if len(table.rows) > 1 and any(row.value is not None for row in table.rows)
    ]
    if not tables:
        return ()
    metrics, main = _metrics_by_scorer(owner), main_scorers(owner)
    leading = {name for key in main for name in metrics[key][:1]}
    return tuple(
        ScorerComparison(
            table=replace(table, rows=tuple(_best_first(table))),
            reference=table.rows[0],
            headline=owner.scorers[0].name,
            leading=table.metric in leading,
            folds=len(main) < len(metrics),
            sentence=_sentence(table),
        )
        for table in tables
    )


def by_answers(suite: SuiteRecord, items: Sequence[ItemRecord]) -> list[SuitePart]:
    """A suite's record in parts, each of scorers that read the same answers; ``items`` are those that it pools.

    An eval read by letters and one read by words have pooled numbers, but these are no two views of one thing.
    """
    readers: dict[Key, list[int]] = {}
    for number, item in enumerate(items):
        for scorer in item.scorers:
            readers.setdefault(_key(scorer), []).append(number)
    scopes: dict[tuple[int, ...], list[ScorerRecord]] = {}
    for scorer in suite.scorers:
        scopes.setdefault(tuple(readers.get(_key(scorer), ())), []).append(scorer)
    parts = []
    for scorers in scopes.values():
        keys = set(map(_key, scorers))
        members = [items[number].options for number in readers.get(_key(scorers[0]), ())]
        options = members[0] if members and all(each == members[0] for each in members) else {}
        parts.append(SuitePart(scorers, [metric for metric in suite.metrics if _scorer_of(metric) in keys], options))
    return parts


def main_scorers(owner: Owner) -> set[Key]:
    """The scorers of an item, or of a suite's part, that stand among the main figures, by name and signature.

    All, or where there are many, the first to yield a metric, what judges said, and with a headline that skips
    answers, the first that keeps all. The others stand side by side only.
    """
    metrics = _metrics_by_scorer(owner)
    if not has_many_scorers(owner):
        return set(metrics)
    main: set[Key] = set()
    seen: set[str] = set()
    for key, names in metrics.items():
        if not main or not seen.issuperset(names) or of_judge(key[1]):
            main.add(key)
        seen.update(names)
    skipping = {_key(scorer) for scorer in owner.scorers if scorer.coverage.skipped}
    headline = _key(owner.scorers[0])
    if headline in skipping:
        complete = [key for key in metrics if key not in skipping and set(metrics[key]) & set(metrics[headline])]
        main.update(complete[:1])
    return main


def has_many_scorers(owner: Owner) -> bool:
    """Whether an item or a suite was read by so many rules that their own table shows them."""
    signatures = [scorer.signature for scorer in owner.scorers]
    return sum(not of_judge(signature) for signature in signatures) > MANY or any(map(wording_number, signatures))


def of_judge(signature: str) -> bool:
    """Whether a scorer is of what a judge said, or of how far one agrees: no further rule for the same answers."""
    return signature.startswith(("judge:", "agreement|", "people|")) or "|judge:" in signature


def scale(unit: str) -> float:
    """By what a value of this unit is multiplied to be read: 100 for those that are read as percentages."""
    return 100.0 if unit in PERCENT_UNITS else 1.0


def table_title(owner: str, table: ScorerTable) -> str:
    """Whose answers they are, the metric, and how far the scorers lie apart."""
    count = len(table.rows)
    spread = f", spread {table.spread_text}" if table.spread_text else ""
    return formatting.printable(f"{owner}: {table.metric} by {count} scorer{'' if count == 1 else 's'}{spread}")


def table_lines(table: ScorerTable, marks: Marks | None = None, majority: Marks | None = None) -> list[str]:
    """A line for each scorer below a head, in columns; ``majority`` is what a constant answer scores by each."""
    rows = [
        (*_with_majority(_cells(row), majority, row.scorer), _remark(row, (marks or {}).get(row.scorer, "")))
        for row in table.rows
    ]
    head = _with_majority(HEAD, majority)
    return formatting.aligned([(*head, ""), *rows], left=(0, len(head) - 1, len(head)))


def table_markdown(table: ScorerTable, marks: Marks | None = None, majority: Marks | None = None) -> list[str]:
    """The same as a Markdown table, with everything that came from outside escaped."""
    from pytest_audiobench.report.safe_text import escaped, table_row

    head = _with_majority(HEAD, majority)
    lines = [table_row(head), f"| :-- |{' --: |' * (len(head) - 2)} :-- |"]
    for row in table.rows:
        mark = _remark(row, (marks or {}).get(row.scorer, ""))
        name, *numbers = map(escaped, _with_majority(_cells(row), majority, row.scorer))
        lines.append(table_row((f"{name} **{escaped(mark)}**" if mark else name, *numbers)))
    return lines


def _remark(row: ScorerRow, mark: str) -> str:
    """What stands behind a row: its mark, and how its wording begins."""
    words = formatting.printable(" ".join(row.wording.split()))
    quoted = f'"{words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1].rstrip()}…"}"' if words else ""
    return " ".join(filter(None, (mark, quoted)))


def _with_majority(cells: tuple[str, ...], majority: Marks | None, scorer: str = "") -> tuple[str, ...]:
    """``cells`` with the column ``majority`` behind the interval, where there is one; without a scorer its head."""
    if not majority:
        return cells
    return (*cells[:3], majority.get(scorer, "") if scorer else "majority", *cells[3:])


def _key(scorer: ScorerRecord) -> Key:
    return scorer.name, scorer.signature


def _scorer_of(metric: MetricRecord) -> Key:
    return metric.scorer or "", metric.signature or ""


def _is_score(metric: MetricRecord) -> bool:
    return metric.scorer is not None and not metric.group and metric.name not in SHARES


def _metrics_by_scorer(owner: Owner) -> dict[Key, list[str]]:
    names: dict[Key, list[str]] = {_key(scorer): [] for scorer in owner.scorers}
    for metric in owner.metrics:
        if _is_score(metric):
            names[_scorer_of(metric)].append(metric.name)
    return names


def _table(
    name: str, metrics: Sequence[MetricRecord], coverages: Mapping[Key, CoverageRecord], wordings: Sequence[object]
) -> ScorerTable:
    unit = metrics[0].unit
    rows = tuple(_row(metric, coverages[_scorer_of(metric)], wordings) for metric in metrics)
    values = [row.value for row in rows if row.value is not None]
    spread = scale(unit) * (max(values) - min(values)) if len(values) > 1 else None
    text = ""
    if spread is not None and unit not in PERCENT_UNITS:
        text = f"{spread:.4g} {unit}".rstrip()
    elif spread is not None:
        text = "under 0.1 pp" if 0.0 < spread < 0.05 else f"{spread:.1f} pp"
    return ScorerTable(name, unit, metrics[0].direction, rows, spread, text)


def _row(metric: MetricRecord, coverage: CoverageRecord, wordings: Sequence[object]) -> ScorerRow:
    scorer, signature = _scorer_of(metric)
    number = wording_number(signature)
    return ScorerRow(
        scorer=scorer,
        signature=signature,
        value=metric.value,
        lower=metric.lower,
        upper=metric.upper,
        n=metric.n,
        skipped=coverage.skipped,
        unparsed=coverage.n - coverage.parsed - coverage.errors,
        failed=coverage.errors,
        why=formatting.unparsed_text(structs.replace(coverage, skipped=0)),
        value_text=formatting.value_text(metric.value, metric.unit),
        interval_text=formatting.interval_text(metric, metric.unit),
        wording=str(wordings[number - 1]) if 0 < number <= len(wordings) else "",
    )


def _best_first(table: ScorerTable) -> list[ScorerRow]:
    sign = -1.0 if table.direction == "higher" else 1.0
    return sorted(table.rows, key=lambda row: (row.value is None, sign * (row.value or 0.0)))


def _sentence(table: ScorerTable) -> str:
    subject = f"{table.metric} by {len(table.rows)} scorers"
    measured = [row for row in table.rows if row.value is not None]
    if table.spread is None:
        return f"{subject}: {measured[0].value_text} ({measured[0].scorer}), no value by the others"
    if not table.spread:
        return f"{subject}: {measured[0].value_text} by each"
    # Among equals the earliest is named, which the headline is.
    low = min(measured, key=lambda row: row.value or 0.0)
    high = max(measured, key=lambda row: row.value or 0.0)
    return f"{subject}: {_end(low)} to {_end(high)}, spread {table.spread_text}"


def _end(row: ScorerRow) -> str:
    return f"{row.value_text} ({row.scorer}{f', {row.skipped} skipped' if row.skipped else ''})"


def _cells(row: ScorerRow) -> tuple[str, ...]:
    unparsed = row.why if row.unparsed or row.failed else "0"
    return row.scorer, row.value_text, row.interval_text, str(row.n), str(row.skipped), unparsed
