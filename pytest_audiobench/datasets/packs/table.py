"""Published tables of labelled clips: a CSV file with a column of file names and one of labels.

ESC-50 (``meta/esc50.csv``: filename, category; ``audio/``), UrbanSound8K (``metadata/UrbanSound8K.csv``:
slice_file_name, fold, class; ``audio/fold1/``), SAKURA (``metadata.csv``: file, attribute_label; ``audio/``), and
tables of one's own that use these names.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from pytest_audiobench.datasets.packs.labels import slug
from pytest_audiobench.datasets.paths import relative_path
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.bounded_lines import bounded_lines

FILES = ("filename", "slice_file_name", "file", "path", "audio")
LABELS = ("category", "class", "attribute_label", "label", "sound")

_FOLDERS = ("", "meta", "metadata")
_LONGEST_LINE_BYTES = 100_000


def table_in(folder: Path) -> Path | None:
    """The CSV file of ``folder`` (or of its ``meta`` or ``metadata``) that lists labelled clips; None without one.

    Raises UsageError where there are two.
    """
    for name in _FOLDERS:
        tables = [path for path in sorted((folder / name).glob("*.csv")) if path.is_file() and _columns(path)]
        if len(tables) > 1:
            raise UsageError(f"{tables[0]} and {tables[1].name} both list labelled clips; keep one of them in the pack")
        if tables:
            return tables[0]
    return None


def labelled_rows(table: Path, root: Path) -> Iterator[tuple[str, str]]:
    """Each row's label and its clip's path inside ``root``, which is looked for beside the table and in ``audio``.

    Raises UsageError, with the line, for a row without either, and for a path that leaves the folder.
    """
    columns = _columns(table)
    if columns is None:
        raise UsageError(f"{table} lists no labelled clips; it needs a column filename and a column category")
    file_column, label_column = columns
    beside = table.parent.relative_to(root).as_posix()
    folders = [folder for folder in dict.fromkeys((beside, "audio", ".")) if (root / folder).is_dir()]
    for number, row in _rows(table):
        label = slug(row.get(label_column) or "")
        if not label:
            raise UsageError(f"{table}, line {number} has no {label_column}; say what is heard")
        try:
            name = relative_path((row.get(file_column) or "").strip())
        except ValueError as error:
            raise UsageError(f"{table}, line {number}: {error}") from None
        if (fold := row.get("fold", "")).isdecimal() and (root / f"audio/fold{fold}").is_dir():
            yield label, f"audio/fold{fold}/{name}"
            continue
        held = next((folder for folder in folders if (root / folder / name).is_file()), folders[0])
        yield label, relative_path(f"{held}/{name}")


def _columns(table: Path) -> tuple[str, str] | None:
    header = next(_cells(table), (0, []))[1]
    file = next((name for name in FILES if name in header), None)
    label = next((name for name in LABELS if name in header), None)
    return (file, label) if file and label else None


def _rows(table: Path) -> Iterator[tuple[int, dict[str, str]]]:
    cells = _cells(table)
    _, header = next(cells)
    for number, row in cells:
        if len(row) != len(header):
            raise UsageError(f"{table}, line {number} has {len(row)} cells under a header of {len(header)}; correct it")
        yield number, dict(zip(header, row, strict=True))


def _cells(table: Path) -> Iterator[tuple[int, list[str]]]:
    last = 0

    def texts() -> Iterator[str]:
        nonlocal last
        for number, line in bounded_lines(table, _LONGEST_LINE_BYTES):
            last = number
            try:
                yield line.decode("utf-8") + "\n"
            except UnicodeDecodeError:
                raise UsageError(f"{table}, line {number} is not UTF-8; save the file as UTF-8") from None

    try:
        for row in csv.reader(texts(), strict=True):
            if row:
                yield last, row
    except csv.Error as error:
        raise UsageError(f"{table}, line {last} is not CSV ({error}); correct its quotes") from None
