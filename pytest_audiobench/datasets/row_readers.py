"""The rows of a declaration's files: a reader for each format, and the columns that are made of others."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import methodcaller
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pytest_audiobench.audio.clip import DataRoot, FileSource
from pytest_audiobench.datasets.declaration import Declaration, Rows, TableFormat, texts
from pytest_audiobench.datasets.places import Places, holds
from pytest_audiobench.datasets.published_layouts import Entry, elements, read_json, tsv_entries
from pytest_audiobench.datasets.recordings import ENDINGS
from pytest_audiobench.datasets.row_files import RowFile, landmark, row_files
from pytest_audiobench.datasets.sample import Field
from pytest_audiobench.datasets.table_rows import jsonl_rows
from pytest_audiobench.datasets.table_rows import texts as lines_of_text
from pytest_audiobench.datasets.transforms import Hole, Template
from pytest_audiobench.errors import UsageError

FOLDER, KEY = "folder", "key"
JSON = "json"
"""The one transform of what a column holds, be it a list or an object; all others are of texts."""


def entries(
    declared: Declaration,
    rows: Rows,
    case: Mapping[str, str],
    root: DataRoot,
    files: Sequence[RowFile],
    others: Sequence[JoinedTable] = (),
) -> Iterator[Entry]:
    """The rows of ``files`` that are taken, each with the columns of those of ``others`` that belong to it."""
    taken = _taken(declared, rows, case, root, files, others)
    if rows.merge is None:
        return taken
    merged = _merged(declared.template(rows.merge, case), taken)
    return (row for row in merged if all(str(row.raw(name)) == value for name, value in rows.throughout.items()))


def _merged(same: Template, rows: Iterable[Entry]) -> Iterator[Entry]:
    """One row for those of which ``same`` is the same text, where the first of them stands."""
    together: dict[str, list[Entry]] = {}
    for row in rows:
        together.setdefault(joined_text(same, row, ()), []).append(row)
    for first, *others in together.values():
        first.merge(others)
        yield first


def _taken(
    declared: Declaration,
    rows: Rows,
    case: Mapping[str, str],
    root: DataRoot,
    files: Sequence[RowFile],
    others: Sequence[JoinedTable],
) -> Iterator[Entry]:
    wanted = {column: frozenset(values) for column, values in wanted_values(declared, rows, case).items()}
    joined = {column for column in wanted if column.partition(".")[0] in {other.name for other in others}}
    first = 0
    for file in files:
        path = root.folder / file.name
        around = {FOLDER: PurePosixPath(file.name).parent.as_posix(), **file.columns}
        is_empty = True
        read = _parquet_entries(root, file.name, rows, first) if _is_parquet(file) else _read(path, file.name, rows)
        for key, row in read:
            is_empty = False
            first += 1
            for entry in _inner(row, rows):
                unfolded(rows, entry, key, (), around)
                # A row that is not taken need not be in another table.
                if not all(_is_one_of(entry, column, wanted[column]) for column in wanted.keys() - joined):
                    continue
                if not all(other.is_whole or other.has(entry) for other in others):
                    continue
                for other in others:
                    other.complete(entry)
                if all(_is_one_of(entry, column, wanted[column]) for column in joined):
                    yield entry
        # Among many files an empty one would be left out unseen.
        if is_empty:
            raise UsageError(f"{path} has no row; fetch it again")


def _inner(row: Entry, rows: Rows) -> Iterator[Entry]:
    """The rows inside a row: those of the list in ``each``, in them those of the next; without any the row alone."""
    for column, patterns in rows.matches.items():
        for new, pattern in patterns.items():
            row.match(column, new, pattern)
    inside = iter([row])
    for column in texts(rows.each):
        inside = chain.from_iterable(map(methodcaller("within", column), inside))
    return inside


def unfolded(
    rows: Rows,
    entry: Entry,
    key: str | None = None,
    others: Sequence[JoinedTable] = (),
    around: Mapping[str, str] | None = None,
) -> Entry:
    """``entry`` with the columns that are made of its own, its ``{key}``, and those of other tables' rows."""
    for column in rows.json:
        entry.unfold(column)
    for column, separator in rows.lists.items():
        entry.split(column, separator)
    for column, names in rows.flags.items():
        entry.gather(column, names)
    for column, pattern in rows.parts.items():
        entry.capture(column, pattern)
    if rows.key and entry.has(rows.key):
        key = entry.text(rows.key)
    if key is not None:
        entry.set_default({KEY: key})
    if around:
        entry.set_default(around)
    for other in others:
        other.complete(entry)
    return entry


def wanted_values(declared: Declaration, rows: Rows, case: Mapping[str, str]) -> dict[str, list[str]]:
    """The values of which a row's columns must have one, for it to be taken."""
    return {
        declared.filled(column, case): [declared.filled(value, case) for value in texts(values)]
        for column, values in rows.where.items()
    }


def _is_one_of(entry: Entry, column: str, values: frozenset[str]) -> bool:
    """Whether what is in the column, or one of what is in its list, is one of ``values``.

    Raises UsageError where there is no such column: the row would be left out unseen, be it of another layout.
    """
    if not entry.has(column):
        if not entry.has_name(column):
            raise entry.lacks(column)
        return False
    value = entry.field(column)
    return not values.isdisjoint(value if isinstance(value, tuple) else (str(value),))


# Other tables


class JoinedTable(NamedTuple):
    """The rows of another table by what tells them apart, in memory with the columns that are used."""

    name: str
    on: Template
    rows: Mapping[str, Mapping[str, Any]]
    path: Path
    is_whole: bool
    """Whether it must have a row for each of the data's."""

    def has(self, entry: Entry) -> bool:
        """Whether a row belongs to the entry."""
        return joined_text(self.on, entry, ()) in self.rows

    def complete(self, entry: Entry) -> None:
        """Give the entry the columns of its row. Raises UsageError where there is none."""
        key = joined_text(self.on, entry, ())
        if key not in self.rows:
            raise UsageError(
                f"{entry.where} belongs to {key[:200]!r}, which {self.path} does not have; fetch both again"
            )
        entry.set_default(self.rows[key])


def joined_tables(
    declared: Declaration, case: Mapping[str, str], places: Places, root: DataRoot, templates: Iterable[Template]
) -> list[JoinedTable]:
    """The tables of ``[data.join]``, with the columns that ``templates``, ``where`` and joins after them name."""
    joins = declared.data.join
    used = {hole.column for template in templates for hole in template.holes} | {*declared.data.where}
    written = [declared.data.labels, declared.data.merge, *(join.on for join in joins.values())]
    used |= {hole.column for text in written if text for hole in declared.template(text, case).holes}
    tables = []
    for name, join in joins.items():
        patterns = [declared.filled(file, case) for file in texts(join.rows)]
        place = places.find(join.root, *map(landmark, patterns)) if join.root else root
        pattern = next((file for file in patterns if holds(place.folder, landmark(file))), patterns[0])
        columns = {column.removeprefix(f"{name}."): column for column in used if column.startswith(f"{name}.")}
        to = declared.template(join.to, case)
        rows: dict[str, Mapping[str, Any]] = {}
        for entry in entries(declared, join, case, place, row_files(place.folder, pattern)):
            key = joined_text(to, entry, ())
            row = {column: entry.raw(own) for own, column in columns.items() if entry.has_name(own)}
            if rows.setdefault(key, row) != row:
                raise entry.wrong(f"is {key[:200]!r} as an earlier row is, with other values,")
        path = place.folder / pattern
        tables.append(JoinedTable(name, declared.template(join.on, case), rows, path, not join.partial))
    return tables


# Formats


def _read(path: Path, name: str, rows: Rows) -> Iterator[tuple[str, Entry]]:
    """The rows of a file, each with what ``{key}`` is of it."""
    if rows.line is not None:
        return _line_entries(path, re.compile(rows.line), re.compile(rows.skip) if rows.skip is not None else None)
    if rows.table is not None:
        return _table_entries(path, rows, rows.table)
    suffix = path.suffix.lower()
    if suffix in ENDINGS:
        return iter([(name, Entry(str(path), {}))])
    return _READERS[suffix](path, rows)


def _is_parquet(file: RowFile) -> bool:
    return file.name.endswith(".parquet")


def _parquet_entries(root: DataRoot, name: str, rows: Rows, first: int) -> Iterator[tuple[str, Entry]]:
    """A shard's rows, numbered from ``first`` on; audio in cells waits there."""
    from pytest_audiobench.datasets.parquet_rows import audio_columns, parquet_rows, plain_columns

    files = (FileSource(root, name),)
    audio = dict.fromkeys(audio_columns(files), getattr(rows, "rate", None))
    for number, (place, row) in enumerate(parquet_rows(files, plain_columns(files), None, audio), start=first):
        yield str(number), Entry(str(place), row)


def _json_entries(file: Path, data: Rows) -> Iterator[tuple[str, Entry]]:
    if data.list is not None:
        rows = enumerate(elements(file, data.list), start=1)
        return ((str(number), Entry(f"{file}, {data.list} {number}", row)) for number, row in rows)
    content = read_json(file)
    if not isinstance(content, dict | list):
        raise UsageError(f"{file} is neither a list nor an object of rows; fetch it again")
    pairs = content.items() if isinstance(content, dict) else ((str(i), row) for i, row in enumerate(content))
    called = f"{file}, row " if isinstance(content, list) else f"{file}, "
    return ((key, Entry(called + (key if isinstance(content, list) else repr(key)), row)) for key, row in pairs)


def _jsonl_entries(file: Path, _: Rows) -> Iterator[tuple[str, Entry]]:
    return ((str(number), Entry(f"{file}, line {number}", row)) for number, row in jsonl_rows(file))


def _csv_entries(file: Path, data: Rows, **style: Any) -> Iterator[tuple[str, Entry]]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines, fieldnames=data.header or None, strict=True, **style)
            for row in rows:
                entry = Entry(f"{file}, line {rows.line_num}", row)
                if None in row:
                    raise entry.wrong(f"has more than its {len(rows.fieldnames or ())} cells")
                if None in row.values():
                    raise entry.wrong(f"has fewer than its {len(rows.fieldnames or ())} cells")
                yield str(rows.line_num), entry
    except (OSError, ValueError, csv.Error) as error:
        raise UsageError(f"{file} cannot be read ({error}); fetch it again") from None


def _table_entries(file: Path, data: Rows, table: TableFormat) -> Iterator[tuple[str, Entry]]:
    quotes = {"quotechar": table.quote} if table.quote else {"quoting": csv.QUOTE_NONE}
    return _csv_entries(file, data, delimiter=table.delimiter, escapechar=table.escape, **quotes)


def _line_entries(file: Path, line: re.Pattern[str], skip: re.Pattern[str] | None) -> Iterator[tuple[str, Entry]]:
    """Lines of which the groups of ``line`` are the columns; blank ones are skipped, as are those of ``skip``."""
    for number, text in lines_of_text(file):
        if not text.strip() or (skip is not None and skip.fullmatch(text)):
            continue
        where = f"{file}, line {number}"
        if (match := line.fullmatch(text)) is None:
            raise Entry(where, {}).wrong(f"is {text[:200]!r}, and not {line.pattern!r}")
        groups = match.groupdict()
        yield groups.get(KEY) or str(number), Entry(where, groups)


def _text_entries(file: Path, _: Rows) -> Iterator[tuple[str, Entry]]:
    """Kaldi's: a line is a key, white space, and words; one that ends behind its key is cut off."""
    for number, line in lines_of_text(file):
        key, *words = line.split(maxsplit=1)[:2] or ("",)
        if key:
            yield key, Entry(f"{file}, line {number}", {"text": words[0]} if words else {})


_READERS: Mapping[str, Callable[[Path, Rows], Iterator[tuple[str, Entry]]]] = {
    ".json": _json_entries,
    ".jsonl": _jsonl_entries,
    ".ndjson": _jsonl_entries,
    ".csv": _csv_entries,
    ".tsv": lambda file, data: (
        (str(number), entry) for number, entry in enumerate(tsv_entries(file, data.header), start=1)
    ),
    ".txt": _text_entries,
}


# Templates


def joined_text(written: Template, entry: Entry, choices: Sequence[str]) -> str:
    """The text that a row makes of a template. Raises UsageError where a column holds a list."""
    joined = written.literals[0]
    for hole, literal in zip(written.holes, written.literals[1:], strict=True):
        value = value_of(hole, entry, choices)
        if isinstance(value, tuple):
            raise entry.wrong(f"has a list in {hole.column!r}")
        joined += f"{'' if value is None else value}{literal}"
    return joined.strip()


def joined_texts(written: Template, entry: Entry, choices: Sequence[str]) -> str | tuple[str, ...]:
    """:func:`joined_text`, or where its one column holds a list, the text of each: ``test/{audio_paths}``."""
    value = value_of(written.holes[0], entry, choices) if len(written.holes) == 1 else None
    if not isinstance(value, tuple):
        return joined_text(written, entry, choices)
    return tuple(f"{written.literals[0]}{text}{written.literals[1]}".strip() for text in value)


def value_of(hole: Hole, entry: Entry, choices: Sequence[str]) -> Field | tuple[str, ...]:
    """What a row has for a hole, after its transforms."""
    if hole.optional and entry.raw(hole.column) == []:
        return None
    if not entry.has(hole.column):
        if hole.optional:
            return None
        raise entry.lacks(hole.column)
    if hole.transform == JSON:
        return json.dumps(entry.raw(hole.column), ensure_ascii=False, sort_keys=True)
    value = entry.field(hole.column)
    if not hole.steps:
        return value
    if isinstance(value, tuple):
        each = [_transformed(hole, text, entry, choices) for text in value]
        if not all(isinstance(text, str) for text in each):
            raise entry.wrong(f"has a list in {hole.column!r}, and {hole.transform} makes no text of a text")
        return tuple(map(str, each))
    return _transformed(hole, str(value), entry, choices)


def _transformed(hole: Hole, text: str, entry: Entry, choices: Sequence[str]) -> str | tuple[str, ...] | None:
    try:
        return hole.apply(text, choices)
    except ValueError as error:
        raise entry.wrong(f"has {text[:200]!r} in {hole.column!r}, which is no {hole.transform}: {error}") from None
