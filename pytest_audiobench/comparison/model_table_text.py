"""A table of models by benchmarks as Markdown, LaTeX (booktabs) or CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pytest_audiobench.comparison.model_table import Cell, ModelTable, TableLine
from pytest_audiobench.comparison.table_cells import LONGEST
from pytest_audiobench.report.formatting import printable
from pytest_audiobench.report.safe_text import csv_text, escaped, table_row

FORMATS = ("markdown", "latex", "csv")
_ARROWS = {"higher": ("↑", r"$\uparrow$"), "lower": ("↓", r"$\downarrow$")}
_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"},
        **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}\allowbreak{}"},
        **{
            "–": "--",
            "—": "---",
            "…": r"\ldots{}",
            "’": "'",
            "×": r"$\times$",
            "↑": r"$\uparrow$",
            "↓": r"$\downarrow$",
        },
    }
)


def latex(text: str) -> str:
    """``text`` as one line of LaTeX that shows it literally."""
    return printable(text).translate(_LATEX)


def _markdown_text(text: str) -> str:
    """As :func:`escaped`, without the backslashes that mean nothing inside a line and hinder who reads the source."""
    return re.sub(r"\\([()+-])", r"\1", escaped(text, LONGEST))


@dataclass
class Footnotes:
    """Reasons by their letter, each once."""

    letters: dict[str, str] = field(default_factory=dict)

    def mark(self, reason: str) -> str:
        """The letter of a reason: a, b, …, z, aa."""
        count = len(self.letters)
        letter = (chr(96 + count // 26) if count >= 26 else "") + chr(97 + count % 26)
        return self.letters.setdefault(reason, letter)


def text(table: ModelTable, format_: str, rows: str, columns: int) -> str:
    """``table`` in one of :data:`FORMATS`; with the ``rows`` "models" or "benchmarks", and in tables of at most so
    many ``columns`` of numbers.
    """
    if format_ == "csv":
        return csv_text(csv_rows(table))
    notes = Footnotes()
    if format_ == "latex":
        return "\n".join(_latex(table, _grid(table, rows, _latex_cell, latex, 1, notes), columns, notes)) + "\n"
    return (
        "\n".join(_markdown(table, _grid(table, rows, _markdown_cell, _markdown_text, 0, notes), columns, notes)) + "\n"
    )


def csv_rows(table: ModelTable) -> list[dict[str, Any]]:
    """A flat mapping for each cell that there is; raw numbers in the metric's unit."""
    return [
        {
            "model": model,
            "source": source,
            "suite": line.plan.suite,
            "eval": line.name,
            "metric": line.kind.name,
            "unit": line.kind.unit,
            "direction": line.kind.direction,
            "value": cell.estimate.value,
            "lower": cell.estimate.lower,
            "upper": cell.estimate.upper,
            "n": cell.estimate.n,
            "best": cell.is_best,
            "not_comparable": cell.mismatch,
            "scorer": line.plan.scorer,
            "signature": line.plan.signature,
        }
        for line in table.lines
        for model, source, cell in zip(table.models, table.sources, line.cells, strict=True)
        if cell is not None
    ]


def remarks(table: ModelTable, notes: Footnotes) -> list[str]:
    """What stands below the table."""
    signatures = {f"{line.plan.scorer}: {line.plan.signature}": None for line in table.lines}
    empty = any(cell is None for line in table.lines for cell in line.cells)
    return [
        table.rule + " A dash: not measured." * empty,
        *(f"{letter}: not comparable with the first of its benchmark: {why}" for why, letter in notes.letters.items()),
        *signatures,
        *table.notes,
    ]


_Grid = list[list[str]]
_Escape = Callable[[str], str]


def _grid(
    table: ModelTable,
    rows: str,
    cell_text: Callable[[TableLine, Cell | None, Footnotes], str],
    safe: _Escape,
    dialect: int,
    notes: Footnotes,
) -> _Grid:
    """Head and rows, the first column their names."""
    scorers = {
        line.plan.name: {each.plan.scorer for each in table.lines if each.name == line.name} for line in table.lines
    }
    names = [
        f"{safe(line.name)}: {safe(line.metric)}{safe(f' by {line.plan.scorer}') * (len(scorers[line.plan.name]) > 1)} "
        f"{_ARROWS[line.kind.direction][dialect]}, n = {line.n:,}"
        for line in table.lines
    ]
    body = [[cell_text(line, cell, notes) for cell in line.cells] for line in table.lines]
    models = [safe(model) for model in table.models]
    if rows == "models":
        return [["", *names], *([model, *cells] for model, cells in zip(models, zip(*body, strict=True), strict=True))]
    return [["", *models], *([name, *cells] for name, cells in zip(names, body, strict=True))]


def _blocks(grid: _Grid, columns: int) -> Iterator[_Grid]:
    for at in range(1, len(grid[0]), columns):
        yield [[row[0], *row[at : at + columns]] for row in grid]


def _markdown_cell(line: TableLine, cell: Cell | None, notes: Footnotes) -> str:
    if cell is None:
        return "–"
    value, interval = cell.value(line.kind.unit), cell.interval(line.kind.unit)
    mark = f"<sup>{notes.mark(cell.mismatch)}</sup>" if cell.mismatch else ""
    shown = (f"**{value}**" if cell.is_best else value) + f" ({interval})" * bool(interval)
    return shown + f", n = {cell.estimate.n:,}" * (cell.estimate.n != line.n) + mark


def _markdown(table: ModelTable, grid: _Grid, columns: int, notes: Footnotes) -> Iterator[str]:
    for block in _blocks(grid, columns):
        widths = [max(3, *(len(cell) for cell in column)) for column in zip(*block, strict=True)]
        head, *rows = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in block)
        yield table_row(head)
        yield table_row([":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])])
        yield from map(table_row, rows)
        yield ""
    # A bar parts cells only within a table.
    yield from ("- " + _markdown_text(note).replace("\\|", "|") for note in remarks(table, notes))


def _latex_cell(line: TableLine, cell: Cell | None, notes: Footnotes) -> str:
    if cell is None:
        return "--"
    value, interval = latex(cell.value(line.kind.unit)), cell.interval(line.kind.unit).replace(" to ", ", ")
    mark = f"\\textsuperscript{{{notes.mark(cell.mismatch)}}}" if cell.mismatch else ""
    shown = f"\\textbf{{{value}}}" if cell.is_best else value
    shown += f" {{\\scriptsize[{latex(interval)}]}}" * bool(interval)
    return shown + f" {{\\scriptsize n = {cell.estimate.n}}}" * (cell.estimate.n != line.n) + mark


def _latex(table: ModelTable, grid: _Grid, columns: int, notes: Footnotes) -> Iterator[str]:
    yield "% needs \\usepackage{booktabs} in the preamble"
    yield "\\begin{table}"
    yield "\\centering\\small"
    for block in _blocks(grid, columns):
        head, *rows = block
        yield f"\\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}"
        yield f"\\toprule\n{' & '.join(_in_lines(cell) for cell in head)} \\\\\n\\midrule"
        yield from (f"{' & '.join(row)} \\\\" for row in rows)
        yield "\\bottomrule\n\\end{tabular}\n\\par\\medskip"
    caption, *others = remarks(table, notes)
    yield f"\\caption{{{latex(caption)}}}"
    yield from (f"\\par\\footnotesize {latex(note)}" for note in others)
    yield "\\end{table}"


def _in_lines(head: str) -> str:
    """The head of a column of LaTeX below each other: name, metric, n."""
    parts = re.split(r"(?<=:) |, (?=n = )", head)
    below = r" \\ ".join(parts)
    return f"\\shortstack[r]{{{below}}}" if len(parts) > 1 else head
