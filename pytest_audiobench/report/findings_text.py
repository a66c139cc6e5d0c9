"""Findings as tables for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_audiobench.report import view_model
from pytest_audiobench.report.escapes import escaped
from pytest_audiobench.report.findings_table import FindingsView, findings_view, phrase_text, title
from pytest_audiobench.report.formatting import printable
from pytest_audiobench.report.tabular import bar

Json = Mapping[str, Any]

_LONGEST_NAME = 24


def lines(record: Json) -> Iterator[tuple[str, bool]]:
    """A table for each eval that has findings, what its statuses mean, and what was said most; whether it is a head.

    Uplifts are in points.
    """
    several = len(view_model.aliases(record)) > 1
    for one in findings_view(record):
        yield "", False
        yield printable(title(one, several)), True
        yield from ((text, False) for text in _table(one))
        yield f"  {printable(one.rule)}", False
        if one.phrases:
            yield printable(f"  made up most: {'; '.join(map(phrase_text, one.phrases))}"), False
        yield "", False


def markdown(record: Json) -> Iterator[tuple[str, list[str]]]:
    """The same as Markdown: a title and the lines of each table; what came from outside is escaped."""
    several = len(view_model.aliases(record)) > 1
    for one in findings_view(record):
        head = (escaped(one.by), "Uplift, points", "Interval", "q", "Uplift kept aside", "Interval", "p", "Status")
        rows = [bar(head), bar((":--", "--:", "--:", "--:", "--:", "--:", "--:", ":--"))]
        for row in one.rows:
            first, second = row.discovery, row.holdout
            told = (first.uplift, first.interval, row.q, second.uplift, second.interval, second.p)
            rows.append(bar((escaped(row.part), *map(escaped, told), f"{row.mark} {escaped(row.status)}")))
        rows += ["", f"- {escaped(one.rule, 600)}"]
        rows += [f"- made up: {escaped(phrase_text(phrase))}" for phrase in one.phrases]
        yield title(one, several), rows


def _table(one: FindingsView) -> list[str]:
    head = (one.by, "uplift", "interval", "q", "kept aside", "p", "status")
    rows = [head]
    for row in one.rows:
        name = row.part if len(row.part) <= _LONGEST_NAME else f"{row.part[: _LONGEST_NAME - 1]}…"
        first, second = row.discovery, row.holdout
        rows.append((name, first.uplift, first.interval, row.q, second.uplift, second.p, f"{row.mark} {row.status}"))
    shown = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return [
        "  ".join(
            (
                f"  {row[0].ljust(widths[0])}",
                *(text.rjust(room) for text, room in zip(row[1:-1], widths[1:-1], strict=True)),
                row[-1],
            )
        ).rstrip()
        for row in shown
    ]
