"""What ``audiobench power`` prints: a row for each eval, as a table of at most 80 columns, Markdown, CSV or JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pytest_audiobench.gate.power import OWN_ERROR, Power, PowerQuery, plain
from pytest_audiobench.gate.regression_text import level_text
from pytest_audiobench.metrics.metric import FRACTIONS
from pytest_audiobench.metrics.value import value_text
from pytest_audiobench.report.formatting import WIDTH, eval_name, printable, wrapped
from pytest_audiobench.report.safe_text import csv_text, escaped, json_text, table_row

_HEAD = ("eval", "n", "clusters", "flips", "MDE", "needed")


def text(rows: Sequence[Power], question: PowerQuery, notes: Sequence[str], format_: str) -> str:
    """The rows in one of the formats table, markdown, csv and json; programs get no notes."""
    if format_ == "json":
        return json_text([plain(row) for row in rows])
    if format_ == "csv":
        return csv_text(map(plain, rows))
    lines = _markdown_lines(rows, question, notes) if format_ == "markdown" else _table(rows, question, notes)
    return "\n".join(lines) + "\n"


def _table(powers: Sequence[Power], question: PowerQuery, notes: Sequence[str]) -> Iterator[str]:
    yield from wrapped(_question(question), "")
    yield ""
    rows = [_HEAD, *(tuple(map(printable, cells)) for cells in _rows(powers))]
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
    for note in _notes(powers, question, notes):
        yield from wrapped(note)


def _markdown_lines(powers: Sequence[Power], question: PowerQuery, notes: Sequence[str]) -> Iterator[str]:
    yield from (escaped(_question(question)), "", table_row(_HEAD), "| :-- | --: | --: | --: | --: | --: |")
    yield from (table_row(map(escaped, cells)) for cells in _rows(powers))
    yield ""
    yield from (f"- {escaped(note)}" for note in _notes(powers, question, notes))


def _question(question: PowerQuery) -> str:
    return (
        f"How many samples a drop of {question.drop} needs to be called a regression: margin {question.margin}, "
        f"level {level_text(question.alpha, question.lines)}, power {question.power:g}"
    )


def _rows(powers: Sequence[Power]) -> list[tuple[str, ...]]:
    several = len({power.model for power in powers}) > 1
    return [_cells(power, several) for power in powers]


def _cells(power: Power, several: bool) -> tuple[str, ...]:
    value, amount = power.detectable, "–"
    if value is not None:
        plain_text = f"{value_text(value)} {power.unit}".rstrip()
        amount = f"{100.0 * value:.1f} pp" if power.unit in FRACTIONS else plain_text
    return (
        eval_name(f"{power.eval} {power.metric}", power.model, several),
        f"{power.n:,}",
        "–" if power.clusters is None else f"{power.clusters:,}",
        "–" if power.flips is None else f"{100.0 * power.flips:.1f} %",
        amount,
        "–" if power.needed is None else f"{power.needed:,}",
    )


def _notes(powers: Sequence[Power], question: PowerQuery, notes: Sequence[str]) -> Iterator[str]:
    yield (
        "MDE: the minimum detectable effect, the smallest drop called a regression at the present n, "
        f"{100.0 * question.power:g} times in 100; needed: samples for {question.drop}"
    )
    sources = dict.fromkeys(power.flips_from for power in powers if power.flips is not None)
    for source in sources:
        yield f"flips (samples whose score changes by chance from run to run): {_FROM.get(source, source)}"
    if any(power.flips_from == OWN_ERROR for power in powers):
        yield f"without flips: {OWN_ERROR}"
    said: dict[str, list[str]] = {}
    for power in powers:
        if power.note:
            said.setdefault(power.note, []).append(power.eval)
    for note, evals in said.items():
        yield f"{evals[0] if len(evals) == 1 else f'{len(evals)} evals'}: {note}"
    if unpaired := [
        power for power in powers if power.unpaired is not None and power.unpaired > (power.needed or math.inf)
    ]:
        yield f"{unpaired[0].eval} would need {unpaired[0].unpaired:,} on each side, were they not the same samples"
    yield from notes


_FROM = {"assumed": "assumed; --flips sets them, --against counts them in another run", "given": "as given by --flips"}
