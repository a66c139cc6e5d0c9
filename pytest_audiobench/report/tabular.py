"""Rows of numbers as programs read them: CSV that a spreadsheet and pandas open, JSON without NaN."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_audiobench.report.escapes import csv_cell


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """A head and a line for each row; ``columns`` are the first row's unless given. Texts are made safe."""
    found = list(rows)
    names = columns or list(found[0] if found else ())
    out = io.StringIO()
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in found)
    return out.getvalue()


def json_text(value: Any) -> str:
    """``value`` in ASCII. Raises ValueError for NaN and infinities, which are no JSON."""
    return json.dumps(value, indent=1, allow_nan=False) + "\n"


def bar(cells: Iterable[str]) -> str:
    """A row of a Markdown table, of cells that are escaped."""
    return f"| {' | '.join(cells)} |"
