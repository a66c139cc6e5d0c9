"""What ``audiobench power`` prints: a row for each eval, as a table of at most 80 columns, Markdown, CSV or JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pytest_audiobench.gate.power import ASSUMED, MEASURED, OWN_ERROR, Power, PowerQuery, plain
from pytest_audiobench.gate.regression_text import level_text
from pytest_audiobench.metrics.metric import FRACTIONS
from pytest_audiobench.metrics.value import value_text
from pytest_audiobench.report.formatting import WIDTH, eval_name, printable, wrapped
from pytest_audiobench.report.safe_text import csv_text, escaped, json_text, table_row

_HEAD = ("eval", "n", "clusters", "flips", "MDE")


def text(rows: Sequence[Power], question: PowerQuery, drops: Sequence[str], notes: Sequence[str], format_: str) -> str:
    """The rows, of each eval one for each of ``drops``, in one of the formats table, markdown, csv and json.

    In the first two they are columns of its one row. Programs get no notes.
    """
    if format_ == "json":
        return json_text([plain(row) for row in rows])
    if format_ == "csv":
        return csv_text(map(plain, rows))
    question_text = _question(question, drops)
    head = (*_HEAD, *(drops if len(drops) > 1 else ["needed"]))
    several = len({power.model for power in rows}) > 1
    evals = zip(*[iter(rows)] * len(drops), strict=True)
    cells = [_cells(of_eval, several) for of_eval in evals]
    said = [*_notes(rows, question, drops), *notes]
    lines = _markdown_lines if format_ == "markdown" else _table
    return "\n".join(lines(question_text, head, cells, said)) + "\n"


def _table(
    question: str, head: tuple[str, ...], evals: Sequence[tuple[str, ...]], notes: Sequence[str]
) -> Iterator[str]:
    yield from wrapped(question, "")
    yield ""
    rows = [head, *(tuple(map(printable, cells)) for cells in evals)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    beside = sum(widths[1:]) + 2 * (len(head) - 1)
    for row in rows:
        numbers = "  ".join(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        if widths[0] + beside <= WIDTH:
            yield f"{row[0].ljust(widths[0])}  {numbers}"
        else:
            # Names stand on lines of their own where both do not fit.
            yield row[0] if len(row[0]) <= WIDTH else f"{row[0][: WIDTH - 1]}…"
            yield f"  {numbers}"
    yield ""
    for note in notes:
        yield from wrapped(note)


def _markdown_lines(
    question: str, head: tuple[str, ...], evals: Sequence[tuple[str, ...]], notes: Sequence[str]
) -> Iterator[str]:
    yield from (escaped(question), "", table_row(head), table_row([":--", *["--:"] * (len(head) - 1)]))
    yield from (table_row(map(escaped, cells)) for cells in evals)
    yield ""
    yield from (f"- {escaped(note)}" for note in notes)


def _question(question: PowerQuery, drops: Sequence[str]) -> str:
    asked = f"How many samples a drop of {drops[0]} needs to be called a regression"
    if len(drops) > 1:
        asked = "The smallest drop that each eval can show (MDE), and the samples that usual drops need"
    return (
        f"{asked}: margin {question.margin}, "
        f"level {level_text(question.alpha, question.lines)}, power {question.power:g}"
    )


def _cells(powers: Sequence[Power], several: bool) -> tuple[str, ...]:
    power = powers[0]
    value, amount = power.detectable, "–"
    if value is not None:
        plain_text = f"{value_text(value)} {power.unit}".rstrip()
        amount = f"{100.0 * value:.1f} pp" if power.unit in FRACTIONS else plain_text
    return (
        eval_name(f"{power.eval} {power.metric}", power.model, several),
        f"{power.n:,}",
        "–" if power.clusters is None else f"{power.clusters:,}",
        "–" if power.flips is None else f"{100.0 * power.flips:.1f} %{' assumed' * (power.flips_from == ASSUMED)}",
        amount,
        *("–" if one.needed is None else f"{one.needed:,}" for one in powers),
    )


def _notes(powers: Sequence[Power], question: PowerQuery, drops: Sequence[str]) -> Iterator[str]:
    needed = f"needed: samples for {drops[0]}" if len(drops) == 1 else f"{', '.join(drops)}: samples for such a drop"
    yield (
        "MDE: the minimum detectable effect, the smallest drop called a regression at the present n and these flips, "
        f"{100.0 * question.power:g} times in 100; {needed}"
    )
    sources = dict.fromkeys(power.flips_from for power in powers if power.flips is not None)
    for source in sources:
        yield f"flips (samples that become worse, and as many that become better): {_FROM.get(source, source)}"
    if any(power.flips_from == OWN_ERROR for power in powers):
        yield f"without flips it is {OWN_ERROR}"
    said: dict[str, dict[str, None]] = {}
    for power in powers:
        if power.note:
            said.setdefault(power.note, {})[power.eval] = None
    for note, evals in said.items():
        yield f"{next(iter(evals)) if len(evals) == 1 else f'{len(evals)} evals'}: {note}"
    if len(drops) == 1 and (
        unpaired := [
            power for power in powers if power.unpaired is not None and power.unpaired > (power.needed or math.inf)
        ]
    ):
        yield f"{unpaired[0].eval} would need {unpaired[0].unpaired:,} on each side, were they not the same samples"


_FROM = {
    MEASURED: f"{MEASURED}; a drop adds flips of its own, so that an MDE may be larger here than in the comparison",
    ASSUMED: "assumed; --flips sets them, --against RUN counts them between this run and another",
    "given": "as given by --flips",
}
