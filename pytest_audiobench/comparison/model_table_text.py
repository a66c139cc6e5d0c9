"""A table of models by benchmarks as Markdown, LaTeX (booktabs) or CSV."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pytest_audiobench.comparison.model_table import Cell, ModelTable, TableLine
from pytest_audiobench.comparison.table_cells import LONGEST
from pytest_audiobench.report.formatting import printable
from pytest_audiobench.report.safe_text import csv_text, escaped, table_row
from pytest_audiobench.report.verdict import LOW_PARSE_RATE

_SIGNS = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        # At a row's begin they would be arguments of the line break before.
        **{character: f"{{{character}}}" for character in "[*"},
        **{"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"},
        **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}\allowbreak{}"},
        **{
            "†": r"$\dagger$",
            "–": "--",
            "—": "---",
            "…": r"\ldots{}",
            "’": "'",
            "×": r"$\times$",
            "\N{MINUS SIGN}": "$-$",
        },
    }
)


def latex(text: str) -> str:
    """``text`` as one line of LaTeX that shows it literally."""
    return printable(text).translate(_SIGNS)


def _markdown_text(text: str) -> str:
    """As :func:`escaped`, without the backslashes that mean nothing inside a line and hinder who reads the source."""
    return re.sub(r"\\([()+-])", r"\1", escaped(text, LONGEST))


_LOW = "†"
"""Stands behind a score of which few answers were parsed."""


@dataclass
class Footnotes:
    """Reasons by their letter, each once."""

    letters: dict[str, str] = field(default_factory=dict)

    def mark(self, reason: str) -> str:
        """The letter of a reason: a, b, …, z, aa."""
        count = len(self.letters)
        letter = (chr(96 + count // 26) if count >= 26 else "") + chr(97 + count % 26)
        return self.letters.setdefault(reason, letter)


class _Dialect(NamedTuple):
    """How a format writes a text as it is, a best value, an interval, another n, a footnote's letter, and nothing."""

    safe: Callable[[str], str]
    best: str
    interval: str
    n: str
    mark: str
    nothing: str
    arrows: Mapping[str, str]


_MARKDOWN = _Dialect(
    _markdown_text, "**{}**", " ({})", ", n = {:,}", "<sup>{}</sup>", "–", {"higher": "↑", "lower": "↓"}
)
_LATEX = _Dialect(
    latex,
    *(r"\textbf{{{}}}", r" {{\scriptsize({})}}", r" {{\scriptsize n = {:,}}}", r"\textsuperscript{{{}}}", "--"),
    {"higher": r"$\uparrow$", "lower": r"$\downarrow$"},
)


def text(table: ModelTable, format_: str, rows: str, columns: int) -> str:
    """``table`` as markdown, latex or csv; with the ``rows`` "models", "benchmarks" or "changes" (benchmarks with
    the change from the first model), and in tables of at most so many ``columns`` of numbers.
    """
    if format_ == "csv":
        return csv_text(csv_rows(table))
    notes, dialect = Footnotes(), _LATEX if format_ == "latex" else _MARKDOWN
    grid = _grid(table, dialect, notes) if rows != "changes" else _change_grid(table, dialect, notes)
    if rows == "models":
        grid = [list(column) for column in zip(*grid, strict=True)]
    if rows == "changes":
        # The change means nothing apart from the values that it is of.
        columns = len(grid[0])
    blocks = [[[row[0], *row[at : at + columns]] for row in grid] for at in range(1, len(grid[0]), columns)]
    write = _latex if format_ == "latex" else _markdown
    said = remarks(table, notes)
    if rows == "changes":
        said.insert(
            1, "Change: from the first model that has the benchmark, on the samples of both, with its 95 % interval."
        )
    return "\n".join(write(blocks, said)) + "\n"


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
            "parse_rate": cell.parse_rate,
            **dict(zip(("change", "change_lower", "change_upper"), cell.change_values, strict=True)),
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
    low = any(cell.is_hardly_parsed for line in table.lines for cell in line.cells if cell)
    return [
        table.rule + " A dash: not measured." * empty,
        *[f"{_LOW}: fewer than {100 * LOW_PARSE_RATE:g} % of the answers could be parsed; the score says little"] * low,
        *(f"{letter}: not comparable with the first of its benchmark: {why}" for why, letter in notes.letters.items()),
        *signatures,
        *table.notes,
    ]


def _grid(table: ModelTable, dialect: _Dialect, notes: Footnotes) -> list[list[str]]:
    """Head and rows, those of the benchmarks; the first column are their names."""
    grid = [["", *map(dialect.safe, table.models)]]
    for line, metric in zip(table.lines, _metrics(table, dialect), strict=True):
        head = f"{dialect.safe(line.name)}: {metric}, n = {line.n:,}"
        grid.append([head, *(_cell_text(line, cell, dialect, notes) for cell in line.cells)])
    return grid


def _change_grid(table: ModelTable, dialect: _Dialect, notes: Footnotes) -> list[list[str]]:
    """A row for each benchmark: metric, n, the models' values, each further one with its change from the first."""
    first, *others = map(dialect.safe, table.models)
    grid = [["benchmark", "metric", "n", first, *(head for name in others for head in (name, f"change to {name}"))]]
    for line, metric in zip(table.lines, _metrics(table, dialect), strict=True):
        row = [dialect.safe(line.name), metric, f"{line.n:,}"]
        for at, cell in enumerate(line.cells):
            row.append(_cell_text(line, cell, dialect, notes))
            if at:
                change, interval = map(dialect.safe, cell.change if cell else ("", ""))
                row.append(change + dialect.interval.format(interval) * bool(interval) or dialect.nothing)
        grid.append(row)
    return grid


def _metrics(table: ModelTable, dialect: _Dialect) -> Iterator[str]:
    """Each line's metric and which way is better, with its scorer where another's has the same name."""
    names = Counter((line.name, line.metric) for line in table.lines)
    for line in table.lines:
        by = f" by {line.plan.scorer}" * (names[line.name, line.metric] > 1)
        yield f"{dialect.safe(line.metric + by)} {dialect.arrows[line.kind.direction]}"


def _cell_text(line: TableLine, cell: Cell | None, dialect: _Dialect, notes: Footnotes) -> str:
    if cell is None:
        return dialect.nothing
    value, interval, n = cell.value(line.kind.unit), cell.interval(line.kind.unit), cell.estimate.n
    shown = (dialect.best if cell.is_best else "{}").format(value)
    shown += dialect.interval.format(interval) * bool(interval)
    return (
        shown
        + dialect.n.format(n) * (n != line.n)
        + dialect.mark.format(dialect.safe(_LOW)) * cell.is_hardly_parsed
        + (dialect.mark.format(notes.mark(cell.mismatch)) if cell.mismatch else "")
    )


_Blocks = Sequence[Sequence[Sequence[str]]]


def _markdown(blocks: _Blocks, notes: Sequence[str]) -> Iterator[str]:
    for block in blocks:
        widths = [max(3, *map(len, column)) for column in zip(*block, strict=True)]
        head, *rows = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in block)
        yield table_row(head)
        yield table_row([":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])])
        yield from map(table_row, rows)
        yield ""
    # A bar parts cells only within a table.
    yield from ("- " + _markdown_text(note).replace("\\|", "|") for note in notes)


def _latex(blocks: _Blocks, notes: Sequence[str]) -> Iterator[str]:
    yield "% needs \\usepackage{booktabs,graphicx} in the preamble\n\\begin{table}\n\\centering\\small"
    yield f"\\caption{{{latex(notes[0])}}}\n\\setlength{{\\tabcolsep}}{{4pt}}"
    for head, *rows in blocks:
        yield f"\\sbox0{{\\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}"
        yield f"\\toprule\n{' & '.join(map(_below_each_other, head))} \\\\\n\\midrule"
        yield from (f"{' & '.join(row)} \\\\" for row in rows)
        yield "\\bottomrule\n\\end{tabular}}"
        # Of its own size where it fits, else of the text's width.
        yield "\\ifdim\\wd0>\\linewidth\\resizebox{\\linewidth}{!}{\\usebox0}\\else\\usebox0\\fi\n\\par\\medskip"
    if notes[1:]:
        yield "\\parbox{\\linewidth}{\\footnotesize\\raggedright"
        yield " \\\\\n".join(latex(note) for note in notes[1:]) + "}"
    yield "\\end{table}"


def _below_each_other(head: str) -> str:
    """The head of a column of LaTeX: name, metric, n."""
    parts = re.split(r"(?<=:) |, (?=n = )", head)
    below = r" \\ ".join(parts)
    return f"\\shortstack[r]{{{below}}}" if len(parts) > 1 else head
