"""Texts for a terminal of 80 columns."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 80


def wrapped(text: str, indent: int = 0, further: int | None = None) -> str:
    """``text`` in lines that begin at the column ``indent``, those after the first at ``further`` where it is given."""
    after = indent if further is None else further
    text = " ".join(text.split())
    begin, rest = " " * indent, " " * after
    return textwrap.fill(
        text, WIDTH, initial_indent=begin, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def say(text: str) -> None:
    """Write a message to the standard error: in lines of a terminal's width, and as it is into a file or a pipe."""
    try:
        width = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        width = 0
    for line in text.splitlines():
        # What is broken can neither be copied, as a command or a path, nor searched for.
        if len(line) > width > 20:
            line = textwrap.fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        print(line, file=sys.stderr)


def labelled(rows: Iterable[tuple[str, str]], indent: int = 2) -> list[str]:
    """Pairs of a word and what it is, below each other; those without a text are left out."""
    pairs = [(label, text) for label, text in rows if text]
    column = indent + max((len(label) for label, _ in pairs), default=0) + 2
    lines = []
    for label, text in pairs:
        whole = wrapped(text, column)
        lines.append(f"{' ' * indent}{label}".ljust(column) + whole[column:])
    return lines


def cut(text: str, width: int) -> str:
    """``text`` on one line of at most ``width`` characters."""
    return textwrap.shorten(text, width, placeholder=" …")


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Rows of cells below each other, the columns ``right`` at their ends; the last is cut at a terminal's width."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    left = WIDTH - sum(widths[:-1]) - 2 * (len(widths) - 1)
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row[:-1], widths, strict=False))
        ]
        # A file or a pipe has no width, and what is cut cannot be searched for.
        last = cut(row[-1], max(left, 20)) if sys.stdout.isatty() else " ".join(row[-1].split())
        lines.append("  ".join([*cells, last]).rstrip())
    return lines
