"""An audit as a table of 80 columns, as Markdown, CSV or JSON, and as the files that corrections are written in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from pytest_audiobench.comparison.data_audit import Audit, Suspect
from pytest_audiobench.report.formatting import counted, printable, wrapped
from pytest_audiobench.report.safe_text import csv_text, escaped, json_text, table_row

_HEAD = ("id", "check", "reference", "models said", "strength")
_WIDTHS = (17, 11, 14, 20, 8)
"""With two spaces before and between them, 80 columns."""
COLUMNS = ("eval", "id", "reason", "reference", "published", "models", "strength")


def text(audit: Audit, format_: str, most: int) -> str:
    """``audit`` as table, markdown, csv or json; the first two hold ``most`` suspects of each eval and check."""
    if format_ == "json":
        return json_text(_as_json(audit))
    if format_ == "csv":
        return csv_text(correction_rows(audit), COLUMNS)
    return "\n".join(_markdown_lines(audit, most) if format_ == "markdown" else _table(audit, most)) + "\n"


def correction_rows(audit: Audit) -> list[dict[str, Any]]:
    """A row for each suspect item, as ``--ab-corrections`` takes it: without a reference, so that it is left out.

    What several checks say of an item is one reason. ``published``, ``models`` and ``strength`` are for who listens.
    """
    by_item: dict[tuple[str, str], list[Suspect]] = {}
    for suspect in audit.suspects:
        by_item.setdefault((suspect.eval, suspect.id), []).append(suspect)
    return [
        {
            "eval": eval_,
            "id": id_,
            "reason": "; ".join(suspect.reason for suspect in suspects),
            "reference": "",
            "published": suspects[0].reference,
            "models": suspects[0].answers,
            "strength": round(max(suspect.strength for suspect in suspects), 3),
        }
        for (eval_, id_), suspects in by_item.items()
    ]


def correction_lines(audit: Audit) -> str:
    """The rows as JSON Lines, in which ids are what they are in the data."""
    return "".join(json.dumps(row) + "\n" for row in correction_rows(audit))


def _as_json(audit: Audit) -> dict[str, Any]:
    return {
        "runs": list(audit.sides),
        "checks": [vars(check) for check in audit.checks],
        "suspects": [suspect._asdict() for suspect in audit.suspects],
        "notes": list(audit.notes),
    }


def headline(audit: Audit) -> str:
    """How many items are suspect, of how many runs."""
    if not any(check.items for check in audit.checks):
        return "nothing could be compared: no check had what it needs"
    return f"{counted(len(audit.items), 'suspect item')} by {counted(len(audit.sides), 'set')} of answers"


def _table(audit: Audit, most: int) -> Iterator[str]:
    yield from wrapped(f"{headline(audit)}; no score is changed by this")
    for side in audit.sides:
        yield from wrapped(f"  {side}", "    ")
    for eval_, checks in groupby(audit.checks, lambda check: check.eval):
        yield ""
        yield from wrapped(eval_)
        for check in checks:
            yield from wrapped(f"  {check.name:<12} {check.summary}", " " * 15)
        shown, rest = _shown(audit, eval_, most)
        if shown:
            yield _line(_HEAD)
        for suspect in shown:
            yield _line(_cells(suspect))
            if suspect.check == "duplicates":
                yield from wrapped(f"    {suspect.reason}", "      ")
        if rest:
            yield f"  {rest} more: --most {most + rest}, or --out FOLDER, which holds all"
    for note in audit.notes:
        yield from wrapped(f"note: {note}")


def _shown(audit: Audit, eval_: str, most: int) -> tuple[list[Suspect], int]:
    """The first suspects of each check, and how many more there are of the check that has most."""
    suspects = [suspect for suspect in audit.suspects if suspect.eval == eval_]
    groups = [list(group) for _, group in groupby(suspects, lambda suspect: suspect.check)]
    return [each for group in groups for each in group[:most]], max(0, *(len(group) - most for group in groups), 0)


def _cells(suspect: Suspect) -> tuple[str, ...]:
    return suspect.id, suspect.check, suspect.reference, suspect.answers, f"{suspect.strength:.2f}"


def _line(cells: tuple[str, ...]) -> str:
    texts = [_cut(printable(cell), width) for cell, width in zip(cells, _WIDTHS, strict=True)]
    left = [cell.ljust(width) for cell, width in zip(texts[:-1], _WIDTHS, strict=False)]
    return "  ".join(["", *left, texts[-1].rjust(_WIDTHS[-1])])


def _cut(cell: str, width: int) -> str:
    return cell if len(cell) <= width else f"{cell[: width - 1]}…"


def _markdown_lines(audit: Audit, most: int) -> Iterator[str]:
    yield f"{escaped(headline(audit))}\n"
    yield table_row(("eval", "check", "items", "result"))
    yield table_row(("---",) * 4)
    for check in audit.checks:
        yield table_row((escaped(check.eval), check.name, str(check.items), escaped(check.summary)))
    evals = [check.eval for check in audit.checks]
    shown = [suspect for eval_ in dict.fromkeys(evals) for suspect in _shown(audit, eval_, most)[0]]
    if shown:
        yield ""
        yield table_row(("eval", "id", "reason", "reference", "models said", "strength"))
        yield table_row(("---",) * 6)
    for suspect in shown:
        cells = (suspect.eval, suspect.id, suspect.reason, suspect.reference, suspect.answers)
        yield table_row((*map(escaped, cells), f"{suspect.strength:.2f}"))
    for note in audit.notes:
        yield f"\nnote: {escaped(note)}"
