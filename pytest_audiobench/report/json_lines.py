"""JSON lines: compact, keys sorted, UTF-8, one object a line; written fast and read back with bounds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_audiobench.errors import FatalError
from pytest_audiobench.report.atomic_files import write_chunks

LONGEST_LINE = 64 * 2**20
"""Bytes. A longer line is no row of ours: answers are bounded where they enter the store."""

Row = dict[str, Any]

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")).encode
_encode_ascii = json.JSONEncoder(allow_nan=False, sort_keys=True, separators=(",", ":")).encode
_raw_decode = json.JSONDecoder().raw_decode


def encode_line(row: Mapping[str, Any]) -> bytes:
    """``row`` as one line with its end. Raises ValueError for NaN or infinity, TypeError for what JSON has not."""
    text = _encode(row)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        # Answers are repaired at the store's door, but a manifest's question may hold a lone surrogate:
        # written as an escape it reads back unchanged, and no row is lost for it.
        return _encode_ascii(row).encode() + b"\n"


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Make ``path`` hold ``rows``, whole or not at all."""
    write_chunks(path, map(encode_line, rows))


def read_lines(path: Path) -> Iterator[Row]:
    """The rows of ``path``, one at a time.

    Raises FatalError, with the line's number, for a line that is longer than 64 MB or is no JSON object.
    """
    with path.open("rb") as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise FatalError(f"{path}: line {number} is longer than 64 MB, so this is no file of a run; remove it")
            try:
                yield _decode(line)
            except ValueError as error:
                raise FatalError(f"{path}: line {number} is no row ({error}): the file was cut or edited") from error


def _decode(line: bytes) -> Row:
    # raw_decode does what json.loads does without guessing the encoding: a third less time for a short row.
    text = line.decode().strip()
    row, end = _raw_decode(text)
    if end != len(text) or not isinstance(row, dict):
        raise ValueError("it is not one JSON object")
    return row
