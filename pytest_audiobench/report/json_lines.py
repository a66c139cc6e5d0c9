"""Rows of line files as they are written: compact, keys sorted, UTF-8, one object a line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from pytest_audiobench.records.fields import Record, builtin, plain
from pytest_audiobench.records.lines import ScoredRow
from pytest_audiobench.report.atomic_files import write_chunks

_encode = msgspec.json.Encoder(order="sorted", enc_hook=builtin).encode
_encode_ascii = json.JSONEncoder(allow_nan=False, sort_keys=True, separators=(",", ":")).encode


def encode_line(row: Record) -> bytes:
    """``row`` as one line with its end. Raises ValueError for a statistic that is not a number, TypeError for what JSON
    has not.
    """
    if isinstance(row, ScoredRow) and row.scores is not None:
        row = _with_numbers(row, row.scores)
    try:
        return _encode(row) + b"\n"
    except UnicodeEncodeError:
        # Answers are repaired at the store's door, but a manifest's question may hold a lone surrogate:
        # written as an escape it reads back unchanged, and no row is lost for it.
        return _encode_ascii(plain(row)).encode() + b"\n"


def write_lines(path: Path, rows: Iterable[Record]) -> None:
    """Make ``path`` hold ``rows``, whole or not at all."""
    write_chunks(path, map(encode_line, rows))


def _with_numbers(row: ScoredRow, statistics: Mapping[str, float]) -> ScoredRow:
    for name, value in statistics.items():
        # JSON has no such numbers, and a null in their place would be taken for an edited file.
        if not math.isfinite(value):
            raise ValueError(f"{row.scorer} gives {name} = {value} for {row.sample_id!r}, which is not a number")
    if bool not in map(type, statistics.values()):
        return row
    # A scorer may say whether an answer is right as it compares them; true is not a number of JSON.
    return replace(row, scores={name: float(value) for name, value in statistics.items()})
