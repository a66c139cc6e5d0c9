"""The top findings of every contender with the same findings of all others: new, gone, persisting, worse, better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_audiobench.comparison.contenders import Contender
from pytest_audiobench.comparison.table_cells import signed_cells, table_lines
from pytest_audiobench.metrics.metric import POINTS
from pytest_audiobench.records.reading import read_run
from pytest_audiobench.records.run import FindingRecord, FindingsRecord
from pytest_audiobench.report.findings_tables import p_text
from pytest_audiobench.report.formatting import wrapped
from pytest_audiobench.report.run_writer import RECORD
from pytest_audiobench.report.safe_text import escaped, table_row

SUPPORTED = ("validated", "candidate")
"""The statuses that a top finding can have."""

_HEAD = ("top findings", "uplift", "interval", "q", "status", "than {}")
_ABOUT = (
    "top findings: the rate of a domain less that of all others, in pp, with its interval and q (by Benjamini and "
    "Hochberg, over the domains of an eval) on the discovery half of each run's own samples. than {}: new and gone say "
    "whether it is shown in one and not in the other, worse and better that the intervals do not meet, persisting that "
    "they do; what is gone is not proven to be away. No verdict rests on these"
)


@dataclass(frozen=True)
class FindingLine:
    """A finding that is the top one of some contender, as every contender has it."""

    eval: str
    metric: str
    by: str
    part: str
    top_of: Sequence[str]
    """Letters."""
    findings: Sequence[FindingRecord | None]
    """By contender; None where it has no such part, or no findings."""
    changes: Sequence[str]
    """Against the first contender; empty for it."""


def finding_lines(contenders: Sequence[Contender]) -> list[FindingLine]:
    """The top findings of all contenders in the evals that the first shares with another; baselines have none."""
    records = [_findings(contender) for contender in contenders]
    lines = []
    for eval_ in records[0]:
        sides = [record.get(eval_) for record in records]
        tops: dict[str, list[str]] = {}
        for contender, side in zip(contenders, sides, strict=True):
            if side is not None and side.top_finding is not None:
                tops.setdefault(side.top_finding, []).append(contender.letter)
        if sum(side is not None for side in sides) > 1:
            lines += [_line(eval_, id_, letters, sides) for id_, letters in tops.items()]
    return lines


def change(first: FindingRecord | None, other: FindingRecord | None) -> str:
    """What became of a finding: new, gone, persisting, worse, better, absent, or not comparable where one is untested.

    Worse and better are claimed where the intervals of both do not meet.
    """
    if first is None or other is None or "untested" in (first.status, other.status):
        return "not comparable"
    was, is_now = first.status in SUPPORTED, other.status in SUPPORTED
    if was != is_now:
        return "new" if is_now else "gone"
    if not was:
        return "absent"
    bounds = (first.ci_lower, first.ci_upper, other.ci_lower, other.ci_upper)
    if None not in bounds:
        lower, upper, other_lower, other_upper = (bound or 0.0 for bound in bounds)
        if other_lower > upper:
            return "worse"
        if other_upper < lower:
            return "better"
    return "persisting"


def finding_rows(contenders: Sequence[Contender], lines: Sequence[FindingLine]) -> list[dict[str, Any]]:
    """One flat mapping for each finding and contender; effects and bounds are shares."""
    return [
        {
            "eval": line.eval,
            "metric": line.metric,
            "by": line.by,
            "part": line.part,
            "contender": contender.letter,
            "top": contender.letter in line.top_of,
            "status": finding and finding.status,
            "effect_size": finding and finding.effect_size,
            "ci_lower": finding and finding.ci_lower,
            "ci_upper": finding and finding.ci_upper,
            "p_value": finding and finding.p_value,
            "adjusted_p_value": finding and finding.adjusted_p_value,
            "change": change_ or None,
        }
        for line in lines
        for contender, finding, change_ in zip(contenders, line.findings, line.changes, strict=True)
    ]


def finding_table(contenders: Sequence[Contender], lines: Sequence[FindingLine]) -> Iterator[str]:
    """Nothing where no contender has a top finding."""
    if lines:
        yield from wrapped(_ABOUT.format(contenders[0].letter))
        blocks = [
            (_title(line), [(f"  {cells[0]}", *cells[1:]) for cells in _cells(contenders, line)]) for line in lines
        ]
        yield from table_lines(_head(contenders), (2,), blocks)
        yield ""


def finding_cells(contenders: Sequence[Contender], lines: Sequence[FindingLine]) -> list[tuple[str, ...]]:
    """The rows of a table, behind its head; each finding's name stands in its first row."""
    head = (_HEAD[0], "", *_head(contenders)[1:])
    rows = [(_title(line) * (at == 0), *cells) for line in lines for at, cells in enumerate(_cells(contenders, line))]
    return [head, *rows] if rows else []


def finding_markdown(contenders: Sequence[Contender], lines: Sequence[FindingLine]) -> Iterator[str]:
    """The same as a table of Markdown."""
    if lines:
        yield f"- {escaped(_ABOUT.format(contenders[0].letter), len(_ABOUT))}"
        yield ""
        head, *rows = finding_cells(contenders, lines)
        yield table_row(map(escaped, head))
        yield table_row((":--", ":--", "--:", "--:", "--:", ":--", ":--"))
        yield from (table_row(map(escaped, cells)) for cells in rows)
        yield ""


def _findings(contender: Contender) -> Mapping[str, FindingsRecord]:
    if contender.folder is None:
        return {}
    return {
        item.eval: item.findings
        for item in read_run(contender.folder / RECORD).items
        if item.findings is not None and item.model == contender.model and item.eval in contender.sides
    }


def _line(eval_: str, id_: str, top_of: Sequence[str], sides: Sequence[FindingsRecord | None]) -> FindingLine:
    findings = [
        next((finding for finding in side.findings if finding.id == id_), None) if side is not None else None
        for side in sides
    ]
    known = next(finding for finding in findings if finding is not None)
    (by, part), *_ = known.slice.items()
    changes = ["", *(change(findings[0], other) for other in findings[1:])]
    return FindingLine(eval_, known.metric, by, part, top_of, findings, changes)


def _head(contenders: Sequence[Contender]) -> tuple[str, ...]:
    return tuple(cell.format(contenders[0].letter) for cell in _HEAD)


def _title(line: FindingLine) -> str:
    return f"{line.eval} {line.metric} of {line.by} {line.part} (top of {', '.join(line.top_of)})"


def _cells(contenders: Sequence[Contender], line: FindingLine) -> Iterator[tuple[str, ...]]:
    for contender, finding, change_ in zip(contenders, line.findings, line.changes, strict=True):
        if finding is None:
            yield contender.letter, "–", "", "–", "–", change_
        else:
            uplift = signed_cells(finding.effect_size, finding.ci_lower, finding.ci_upper, POINTS)
            yield contender.letter, *uplift, p_text(finding.adjusted_p_value), finding.status, change_
