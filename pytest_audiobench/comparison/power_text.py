"""What ``audiobench power`` prints: a row for each eval, as a table of at most 80 columns, Markdown, CSV or JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pytest_audiobench.comparison.table_cells import WIDTH, wrapped
from pytest_audiobench.gate.power import Asked, Power, plain
from pytest_audiobench.metrics.units import FRACTIONS
from pytest_audiobench.metrics.value import value_text
from pytest_audiobench.report.formatting import printable
from pytest_audiobench.report.safe_text import csv_text, escaped, json_text, table_row

_HEAD = ("eval", "n", "clusters", "flips", "sees", "needed")


def text(found: Sequence[Power], asked: Asked, notes: Sequence[str], format_: str) -> str:
    """The rows in one of the formats table, markdown, csv and json; programs get no notes."""
    if format_ == "json":
        return json_text([plain(one) for one in found])
    if format_ == "csv":
        return csv_text(map(plain, found))
    lines = _markdown(found, asked, notes) if format_ == "markdown" else _table(found, asked, notes)
    return "\n".join(lines) + "\n"


def _table(found: Sequence[Power], asked: Asked, notes: Sequence[str]) -> Iterator[str]:
    yield from wrapped(_question(asked), "")
    yield ""
    rows = [_HEAD, *(tuple(map(printable, _cells(one, len({each.model for each in found}) > 1))) for one in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    beside = sum(widths[1:]) + 2 * (len(_HEAD) - 1)
    for row in rows:
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        if widths[0] + beside <= WIDTH:
            yield f"{row[0].ljust(widths[0])}  {numbers}"
        else:
            # Names stand on lines of their own where both do not fit.
            yield row[0] if len(row[0]) <= WIDTH else f"{row[0][: WIDTH - 1]}…"
            yield f"  {numbers}"
    yield ""
    for note in _notes(found, asked, notes):
        yield from wrapped(note)


def _markdown(found: Sequence[Power], asked: Asked, notes: Sequence[str]) -> Iterator[str]:
    yield from (escaped(_question(asked)), "", table_row(_HEAD), "| :-- | --: | --: | --: | --: | --: |")
    for one in found:
        yield table_row(map(escaped, _cells(one, len({each.model for each in found}) > 1)))
    yield ""
    yield from (f"- {escaped(note)}" for note in _notes(found, asked, notes))


def _question(asked: Asked) -> str:
    level = f"{asked.alpha:g} / {asked.lines}" if asked.lines > 1 else f"{asked.alpha:g}"
    return (
        f"How many samples a drop of {asked.drop} needs to be called a regression: margin {asked.margin}, "
        f"level {level}, power {asked.power:g}"
    )


def _cells(one: Power, several: bool) -> tuple[str, ...]:
    name = f"{one.eval} {one.metric}" + (f" · {one.model}" if several else "")
    return (
        name,
        f"{one.n:,}",
        "–" if one.clusters is None else f"{one.clusters:,}",
        "–" if one.flips is None else f"{100.0 * one.flips:.1f} %",
        _amount(one, one.detectable),
        "–" if one.needed is None else f"{one.needed:,}",
    )


def _notes(found: Sequence[Power], asked: Asked, notes: Sequence[str]) -> Iterator[str]:
    yield (
        "sees: the smallest drop that is called a regression at the present n, "
        f"{100.0 * asked.power:g} times in 100; needed: samples for {asked.drop}"
    )
    sources = dict.fromkeys(one.flips_from for one in found if one.flips is not None)
    for source in sources:
        yield f"flips (samples whose score changes for no reason): {_FROM.get(source, source)}"
    said: dict[str, list[str]] = {}
    for one in found:
        if one.note:
            said.setdefault(one.note, []).append(one.eval)
    for note, evals in said.items():
        yield f"{evals[0] if len(evals) == 1 else f'{len(evals)} evals'}: {note}"
    if unpaired := [one for one in found if one.unpaired is not None and one.unpaired > (one.needed or math.inf)]:
        yield f"{unpaired[0].eval} would need {unpaired[0].unpaired:,} on each side, were they not the same samples"
    yield from notes


_FROM = {"assumed": "assumed; --flips sets them, --against counts them in another run", "given": "as given by --flips"}


def _amount(one: Power, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{100.0 * value:.1f} points" if one.unit in FRACTIONS else f"{value_text(value)} {one.unit}".rstrip()
