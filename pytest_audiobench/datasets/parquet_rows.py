"""The rows of Parquet files, a row group at a time: values as JSON has them, audio as clips that wait in their cells.

A published set lies in one file or in shards (``data/test-00000-of-00002.parquet``). Only the columns that are asked
for are read, and of audio not even those: a clip knows its file, row group and row, and is read when it is played.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from itertools import accumulate, islice, pairwise
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from pytest_audiobench.audio.clip import CellSource, Clip, DataRoot, FileSource
from pytest_audiobench.audio.location import Locator
from pytest_audiobench.audio.parquet_cells import (
    BROKEN,
    Column,
    audio_column,
    checked_bytes,
    column_of,
    is_list,
    open_parquet,
    reason,
)
from pytest_audiobench.datasets.places import relative_path
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import AudioError, UsageError
from pytest_audiobench.io.mistakes import Mistakes, nearest

Row: TypeAlias = dict[str, Any]

_Clips: TypeAlias = Clip | tuple[Clip, ...] | None

Where: TypeAlias = Mapping[str, Any]
"""Values that columns must have: one, or a list of those that are allowed; None for null."""

Rates: TypeAlias = Mapping[str, int | str | None]
"""The columns of audio, each with the rate of its waveforms in Hz, the column that has it, or None where the cells are
audio files or the file says it (``array`` next to ``sampling_rate``, or the ``sampling_rate`` of the Audio feature)."""

LONGEST_CELL_BYTES = 10_000_000
"""Of a text, as of a line of JSON."""
_BATCH_ROWS = 1024
_BATCH_BYTES = 64 << 20
_MOST_ROWS = 1 << 27
_MOST_GROUP_BYTES = 1 << 30
_SHARD = re.compile(r"(.*-)(\d{5})(-of-)(\d{5})(\.parquet)")


class RowPlace(NamedTuple):
    """Where a row stands: its file, its row group, and its number within that, both from 0 on."""

    file: FileSource
    row_group: int
    row: int

    def __str__(self) -> str:
        return f"{self.file.location}, row group {self.row_group}, row {self.row}"


def parquet_files(root: DataRoot, pattern: str) -> tuple[FileSource, ...]:
    """The files in ``root`` that ``pattern`` names (``test_mini.parquet``, ``data/test-*.parquet``), in their order.

    Raises UsageError where there is none, or where shards are missing by what the others are called.
    """
    try:
        pattern = relative_path(pattern)
    except ValueError as error:
        raise UsageError(f"the files of rows {pattern!r} cannot be used: {error}") from None
    paths = sorted(path.relative_to(root.folder).as_posix() for path in root.folder.glob(pattern))
    if not paths:
        raise UsageError(f"{root.folder} holds no {pattern}; fetch it, or correct the pattern")
    present, mistakes = set(paths), Mistakes()
    for path in paths:
        if (shard := _SHARD.fullmatch(path)) and shard[2] == min(_numbers(shard, present)):
            missing = [number for number in range(int(shard[4])) if f"{number:05d}" not in _numbers(shard, present)]
            if missing:
                name = f"{shard[1]}{missing[0]:05d}{shard[3]}{shard[4]}{shard[5]}"
                mistakes.add(f"{root.folder} lacks {name}: {len(missing)} of {int(shard[4])} shards; fetch them")
    mistakes.check()
    return tuple(FileSource(root, path) for path in paths)


def _numbers(shard: re.Match[str], present: Collection[str]) -> set[str]:
    begin, end = shard[1], f"{shard[3]}{shard[4]}{shard[5]}"
    return {path[len(begin) : -len(end)] for path in present if path.startswith(begin) and path.endswith(end)}


def parquet_rows(
    files: Sequence[FileSource], columns: Collection[str], where: Where | None = None, audio: Rates | None = None
) -> Iterator[tuple[RowPlace, Row]]:
    """The rows in which every column of ``where`` has its value, each with its place; in the order of the files.

    A row has ``columns`` as JSON would have them, labels of Hugging Face's ClassLabel by their names, and in each
    column of ``audio`` a clip, several of a list of paths, or None for no path. A field of a struct is a column
    ``column.field``. Raises UsageError, with the file, row group and row where it is one row's,
    for what is missing, damaged or nothing that JSON has; and where pyarrow is not installed.
    """
    for file in files:
        with _Shard(file) as shard:
            plan = shard.plan(columns, where or {}, audio or {})
            for group in range(shard.groups):
                yield from shard.rows(group, plan)


class ParquetSamples(Sequence[Sample]):
    """A sample for each row that ``parquet_rows`` gives, made of it by ``make`` whenever it is asked for.

    Nothing of the files is in memory but how many rows of each row group ``where`` lets through. Several samples are
    best asked for at once: each row group is then read once.
    """

    def __init__(
        self,
        files: Sequence[FileSource],
        columns: Collection[str],
        make: Callable[[RowPlace, Row], Sample],
        where: Where | None = None,
        audio: Rates | None = None,
    ) -> None:
        self._files, self._make = files, make
        self._columns, self._where, self._audio = columns, where or {}, audio or {}

    @cached_property
    def _counts(self) -> list[tuple[FileSource, list[int]]]:
        counts = []
        for file in self._files:
            with _Shard(file) as shard:
                plan = shard.plan((), self._where, {})
                counts.append((file, [shard.count(group, plan) for group in range(shard.groups)]))
        return counts

    def __len__(self) -> int:
        return sum(sum(groups) for _, groups in self._counts)

    def __iter__(self) -> Iterator[Sample]:
        rows = parquet_rows(self._files, self._columns, self._where, self._audio)
        return (self._make(place, row) for place, row in rows)

    @overload
    def __getitem__(self, position: int) -> Sample: ...
    @overload
    def __getitem__(self, position: slice) -> list[Sample]: ...
    def __getitem__(self, position: int | slice) -> Sample | list[Sample]:
        if isinstance(position, slice):
            return self.at(range(*position.indices(len(self))))
        return self.at([range(len(self))[position]])[0]

    def at(self, positions: Sequence[int]) -> list[Sample]:
        """The samples at ``positions``, in that order."""
        wanted, start = sorted(set(positions)), 0
        samples: dict[int, Sample] = {}
        for file, groups in self._counts:
            bounds = list(accumulate(groups, initial=start))
            start = bounds[-1]
            if not _between(wanted, bounds[0], start):
                continue
            with _Shard(file) as shard:
                plan = shard.plan(self._columns, self._where, self._audio)
                for group, (first, end) in enumerate(pairwise(bounds)):
                    if inside := _between(wanted, first, end):
                        rows = shard.rows(group, plan, [position - first for position in inside])
                        made = (self._make(place, row) for place, row in rows)
                        samples.update(zip(inside, made, strict=True))
        return [samples[position] for position in positions]


def _between(positions: Sequence[int], first: int, end: int) -> Sequence[int]:
    """Those of ascending ``positions`` in [first, end)."""
    return positions[bisect_left(positions, first) : bisect_left(positions, end)]


def audio_columns(files: Sequence[FileSource]) -> list[str]:
    """The columns of the first of ``files`` that hold audio themselves, as bytes or as waveforms."""
    with _Shard(files[0]) as shard:
        return shard.audio_columns


def column_names(files: Sequence[FileSource]) -> frozenset[str]:
    """The columns of the first of ``files``."""
    with _Shard(files[0]) as shard:
        return frozenset(shard.column_names)


def plain_columns(files: Sequence[FileSource]) -> list[str]:
    """The columns of the first of ``files`` that JSON has a form for and that are not audio."""
    with _Shard(files[0]) as shard:
        return shard.plain_columns


def distinct_values(files: Sequence[FileSource], column: str, where: Where | None = None) -> list[Any]:
    """The values of ``column`` in those rows, sorted, without null. Raises UsageError, also for lists and structs."""
    values: set[Any] = set()
    for file in files:
        with _Shard(file) as shard:
            plan = shard.plan([column], where or {}, {})
            if is_list(type_ := plan.columns[column].type) or type_.num_fields:
                raise UsageError(f"{file.location} has {type_} in {column!r}, whose values cannot be distinguished")
            for group in range(shard.groups):
                values.update(shard.values(group, plan, column))
    return sorted(values - {None})


def row_numbers(files: Sequence[FileSource]) -> Callable[[RowPlace], int]:
    """What gives a row's number among those of all ``files``, however they are divided; from 0 on."""
    first_rows, total = {}, 0
    for file in files:
        with _Shard(file) as shard:
            for group in range(shard.groups):
                first_rows[file.path, group] = total
                total += shard.declared_rows(group)
    return lambda place: first_rows[place.file.path, place.row_group] + place.row


class _Plan(NamedTuple):
    """What is read of a file."""

    columns: Mapping[str, Column]
    where: Mapping[str, tuple[Column, Any]]
    clips: Mapping[str, Callable[[RowPlace, Row], _Clips]]
    """How the clip of a column is made of a row's place and its other values."""
    helpers: Collection[str]
    """Columns that clips need in addition to the requested ones."""


class _Shard(AbstractContextManager["_Shard"]):
    """One file of rows, open."""

    def __init__(self, file: FileSource) -> None:
        self._file = file
        try:
            self._path = Locator().find(file).path
            self._parquet = open_parquet(self._path, str(file.location))
        except AudioError as error:
            raise UsageError(str(error)) from None
        self.groups: int = self._parquet.metadata.num_row_groups

    def __exit__(self, *_: object) -> None:
        self._parquet.close()

    # Columns

    def plan(self, names: Collection[str], where: Where, audio: Rates) -> _Plan:
        """Raises UsageError, with all that is wrong."""
        mistakes, schema, place = Mistakes(), self._schema(), f"{self._file.location} "
        columns: dict[str, Column] = {}
        filters: dict[str, tuple[Column, Any]] = {}
        clips: dict[str, Callable[[RowPlace, Row], _Clips]] = {}
        for name in names:
            with mistakes.catching(place):
                columns[name] = _value_column(schema, name)
        for name, allowed in where.items():
            with mistakes.catching(place):
                filters[name] = _filter(_value_column(schema, name), name, allowed)
        helpers: list[str] = []
        for name, rate in audio.items():
            with mistakes.catching(place):
                clips[name], needed = self._clip_maker(schema, name, rate)
                if needed is not None and needed not in columns:
                    columns[needed] = _value_column(schema, needed)
                    helpers.append(needed)
        mistakes.check()
        return _Plan(columns, filters, clips, helpers)

    @property
    def column_names(self) -> list[str]:
        return list(self._schema().names)

    @property
    def audio_columns(self) -> list[str]:
        schema = self._schema()
        return [name for name in schema.names if audio_column(schema, name).kind != "other"]

    @property
    def plain_columns(self) -> list[str]:
        schema = self._schema()
        return [
            name
            for name in schema.names
            if _is_json(schema.field(name).type) and audio_column(schema, name).kind == "other"
        ]

    def _schema(self) -> Any:
        try:
            return self._parquet.schema_arrow
        except BROKEN as error:
            raise self._broken(error) from None

    def _clip_maker(
        self, schema: Any, name: str, rate: int | str | None
    ) -> tuple[Callable[[RowPlace, Row], _Clips], str | None]:
        """How the clips of the column ``name`` are made, and the column that is read for it."""
        column = audio_column(schema, name)
        if column.kind == "encoded":
            return partial(_encoded_clip, name), None
        if column.kind == "waveform":
            if rate is None:
                rate = _rate_of(schema, name, column)
            return (partial(_waveform_clip, name, rate), rate if isinstance(rate, str) else None)
        if _is_text(column.type) or (is_list(column.type) and _is_text(column.type.value_type)):
            return partial(_path_clips, name, self._file.root), name
        raise UsageError(f"has {column.type} in {name!r}, which is not audio: no bytes, no list of floats, no path")

    # Rows

    def count(self, group: int, plan: _Plan) -> int:
        """How many rows of a group there are."""
        return int(self._chosen(group, plan).sum()) if plan.where else self.declared_rows(group)

    def rows(self, group: int, plan: _Plan, ordinals: Sequence[int] | None = None) -> Iterator[tuple[RowPlace, Row]]:
        """Those of one row group; of them the ``ordinals``, ascending, where such are given."""
        chosen, start = self._chosen(group, plan), 0
        if ordinals is not None:
            rows = np.flatnonzero(chosen)[ordinals]
            chosen[:] = False
            chosen[rows] = True
        if not chosen.any():
            return
        for batch in self._batches(group, list(plan.columns.values())):
            inside = np.flatnonzero(chosen[start : start + len(batch)])
            values = [
                self._plain_values(column, name, batch, inside, group, start) for name, column in plan.columns.items()
            ]
            cells = zip(*values, strict=True) if values else ((),) * len(inside)
            for number, row_values in zip(inside.tolist(), cells, strict=True):
                place, row = (
                    RowPlace(self._file, group, start + number),
                    dict(zip(plan.columns, row_values, strict=True)),
                )
                for name, clip in plan.clips.items():
                    row[name] = clip(place, row)
                for name in plan.helpers:
                    if name not in plan.clips:
                        del row[name]
                yield place, row
            start += len(batch)

    def values(self, group: int, plan: _Plan, name: str) -> set[Any]:
        """Those of one column in the rows of a group, each once."""
        chosen, start, column = self._chosen(group, plan), 0, plan.columns[name]
        distinct: set[Any] = set()
        for batch in self._batches(group, [column]) if chosen.any() else ():
            inside = np.flatnonzero(chosen[start : start + len(batch)])
            each = column.of(batch).take(_indices(inside)).unique()
            distinct.update(self._class_names(self._python(each, name, group, start), column, name, group))
            start += len(batch)
        return distinct

    def _chosen(self, group: int, plan: _Plan) -> npt.NDArray[np.bool_]:
        """Which rows of a group ``where`` lets through: nothing but its columns is read for that."""
        import pyarrow.compute as compute

        chosen, start = np.ones(self.declared_rows(group), dtype=bool), 0
        for batch in self._batches(group, [column for column, _ in plan.where.values()]) if plan.where else ():
            for column, allowed in plan.where.values():
                passes = compute.is_in(column.of(batch), value_set=allowed)
                chosen[start : start + len(batch)] &= passes.to_numpy(zero_copy_only=False)
            start += len(batch)
        return chosen

    def declared_rows(self, group: int) -> int:
        """How many rows of a group its file says there are."""
        count: int = self._parquet.metadata.row_group(group).num_rows
        if not 0 <= count <= _MOST_ROWS:
            raise self._broken(ValueError(f"{count} rows declared"), group)
        return count

    def _batches(self, group: int, columns: Sequence[Column]) -> Iterator[Any]:
        names = [column.name for column in columns]
        metadata = self._parquet.metadata.row_group(group)
        if not names:
            yield range(metadata.num_rows)
            return
        count = 0
        try:
            size = self._batch_rows(group, columns)
            for batch in self._parquet.iter_batches(size, row_groups=[group], columns=names, use_threads=False):
                count += len(batch)
                if count <= metadata.num_rows:
                    yield batch
            if count != metadata.num_rows:
                raise ValueError(f"{metadata.num_rows} rows declared, {count} there")
        except BROKEN as error:
            raise self._broken(error, group) from None

    def _batch_rows(self, group: int, columns: Sequence[Column]) -> int:
        """So few that they fit, even where each refers to the longest entry of its column's dictionary."""
        count, longest = max(1, self.declared_rows(group)), 1
        for column in columns:
            for chunk in column.chunks(self._parquet, group):
                size, in_a_row = checked_bytes(chunk), -(-chunk.num_values // count)
                if size > _MOST_GROUP_BYTES:
                    raise ValueError(f"{size} bytes of {column.name!r} declared, more than is read at once")
                if not chunk.has_dictionary_page:
                    size //= count
                elif size > _BATCH_BYTES // _BATCH_ROWS:
                    size = self._longest_entry(group, chunk.path_in_schema) * in_a_row
                longest = max(longest, size)
        return max(1, min(_BATCH_ROWS, _BATCH_BYTES // longest))

    def _longest_entry(self, group: int, path: str) -> int:
        """Bytes of the longest text in a dictionary, which is read by itself, each entry once."""
        with open_parquet(self._path, str(self._file.location), dictionary=path) as parquet:
            batches = parquet.iter_batches(1, row_groups=[group], columns=[path], use_threads=False)
            return max((_longest(batch.column(0)) for batch in islice(batches, 1)), default=1)

    # Values

    def _plain_values(
        self, column: Column, name: str, batch: Any, inside: npt.NDArray[np.intp], group: int, start: int
    ) -> list[Any]:
        array = column.of(batch)
        if len(inside) < len(array):
            array = array.take(_indices(inside))
        values = self._python(array, name, group, start)
        if _is_text(column.type):
            wrong = next((i for i, value in enumerate(values) if value and len(value) > LONGEST_CELL_BYTES), None)
            problem = f"more than {LONGEST_CELL_BYTES} characters"
        else:
            checked = column.type.num_fields or is_list(column.type) or _is_float(column.type)
            wrong = next((i for i, value in enumerate(values) if not _is_finite(value)), None) if checked else None
            problem = "a number that is not finite, which JSON does not have,"
        if wrong is not None:
            place = RowPlace(self._file, group, start + int(inside[wrong]))
            raise UsageError(f"{place} has {problem} in {name!r}; correct or leave out the row")
        return self._class_names(values, column, name, group)

    def _class_names(self, values: list[Any], column: Column, name: str, group: int) -> list[Any]:
        """``values`` with the names of labels; -1 is what datasets write where there is none."""
        if not column.classes:
            return values
        names = dict(enumerate(column.classes)) | {-1: None, None: None}
        try:
            return [[names[label] for label in value] if isinstance(value, list) else names[value] for value in values]
        except KeyError as error:
            raise UsageError(
                f"{self._file.location}, row group {group} has {error} in {name!r}, which has the labels 0 to "
                f"{len(column.classes) - 1}; fetch it again"
            ) from None

    def _python(self, array: Any, name: str, group: int, start: int) -> list[Any]:
        try:
            return list(array.to_pylist())
        except UnicodeDecodeError:
            row = start + next((i for i in range(len(array)) if not _is_utf8(array[i])), 0)
            raise UsageError(
                f"{RowPlace(self._file, group, row)} has bytes in {name!r} that are not UTF-8; write the file again"
            ) from None
        except BROKEN as error:
            raise self._broken(error, group) from None

    def _broken(self, error: BaseException, group: int | None = None) -> UsageError:
        where = "" if group is None else f", row group {group}"
        return UsageError(f"{self._file.location}{where} cannot be read as Parquet ({reason(error)}); fetch it again")


def _value_column(schema: Any, name: str) -> Column:
    """Raises UsageError, a predicate, for a column that is not there, and for what JSON does not have."""
    column = column_of(schema, name)
    if not _is_json(column.type):
        raise UsageError(f"has {column.type} in {name!r}, which JSON does not have; leave the column out")
    return column._replace(classes=_classes(schema, column))


def _is_json(type_: Any) -> bool:
    import pyarrow.types as types

    if types.is_dictionary(type_) or is_list(type_):
        return _is_json(type_.value_type)
    if types.is_struct(type_):
        names = [field.name for field in type_]
        return len(set(names)) == len(names) and all(_is_json(field.type) for field in type_)
    plain = types.is_null(type_) or types.is_boolean(type_) or types.is_integer(type_) or _is_float(type_)
    return bool(plain or _is_text(type_))


def _is_text(type_: Any) -> bool:
    import pyarrow.types as types

    if types.is_dictionary(type_):
        return _is_text(type_.value_type)
    return bool(types.is_string(type_) or types.is_large_string(type_))


def _is_float(type_: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_float32(type_) or types.is_float64(type_))


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list | dict):
        return all(map(_is_finite, value.values() if isinstance(value, dict) else value))
    return True


def _is_utf8(scalar: Any) -> bool:
    try:
        scalar.as_py()
    except UnicodeDecodeError:
        return False
    return True


def _longest(array: Any) -> int:
    """Bytes of the longest entry in the dictionaries of an array of any depth; 8 where there is none."""
    import pyarrow.compute as compute
    import pyarrow.types as types

    if types.is_dictionary(array.type):
        return int(compute.max(compute.binary_length(array.dictionary)).as_py() or 1)
    if types.is_struct(array.type):
        return max(map(_longest, array.flatten()), default=1)
    return _longest(array.values) if is_list(array.type) else 8


def _filter(column: Column, name: str, allowed: Any) -> tuple[Column, Any]:
    import pyarrow

    type_ = column.type.value_type if hasattr(column.type, "value_type") else column.type
    values = list(allowed) if isinstance(allowed, list | tuple | set | frozenset) else [allowed]
    if column.classes:
        numbers = {label: number for number, label in enumerate(column.classes)}
        if unknown := [value for value in values if isinstance(value, str) and value not in numbers]:
            raise UsageError(f"has no label {unknown[0][:80]!r} in {name!r}; {nearest(unknown[0], numbers)}")
        values = [numbers.get(value, value) for value in values]
    if type_.num_fields or is_list(column.type):
        raise UsageError(f"has {column.type} in {name!r}, which where cannot compare; take another column")
    kinds = {bool: "bool", int: "int", float: "float", str: "str"}
    try:
        wanted = pyarrow.array(values, type=type_)
        if wanted.to_pylist() == values and not any(
            isinstance(value, bool) != (str(type_) == "bool") for value in values if value is not None
        ):
            return column, wanted
    except BROKEN:
        pass
    given = " or ".join(sorted({kinds.get(type(value), "null") for value in values}))
    raise UsageError(f"has {type_} in {name!r}, and where compares it with {given}; write values of that type")


def _indices(rows: npt.NDArray[np.intp]) -> Any:
    import pyarrow

    return pyarrow.array(rows)


def _rate_of(schema: Any, name: str, column: Column) -> int | str:
    """What the file says of the rate: next to the waveform, or in what Hugging Face's datasets wrote of the feature."""
    beside = f"{name}.sampling_rate"
    if column.path[-1] == "array":
        try:
            column_of(schema, beside)
            return beside
        except UsageError:
            pass
    rate = _feature(schema, name).get("sampling_rate")
    if type(rate) is int:
        return rate
    raise UsageError(f"has waveforms in {name!r} without a rate; give it in Hz, or name the column that has it")


def _feature(schema: Any, name: str) -> Mapping[str, Any]:
    """What Hugging Face's datasets wrote of a column, or of the items of its lists, into the file."""
    try:
        feature = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"][name]
    except (LookupError, TypeError, ValueError, RecursionError):
        return {}
    inner = feature.get("feature", feature) if isinstance(feature, dict) else feature
    inner = inner[0] if isinstance(inner, list) and inner else inner
    return inner if isinstance(inner, dict) else {}


def _classes(schema: Any, column: Column) -> tuple[str, ...]:
    import pyarrow.types as types

    type_ = column.type.value_type if is_list(column.type) else column.type
    feature = _feature(schema, column.name)
    names = feature.get("names")
    if feature.get("_type") != "ClassLabel" or not types.is_integer(type_) or not isinstance(names, list):
        return ()
    return tuple(map(str, names))


def _encoded_clip(name: str, place: RowPlace, row: Row) -> Clip:
    return Clip(CellSource(place.file, name, place.row_group, place.row))


def _waveform_clip(name: str, rate: int | str, place: RowPlace, row: Row) -> Clip:
    rate_hz = row[rate] if isinstance(rate, str) else rate
    if isinstance(rate_hz, float) and rate_hz.is_integer():
        rate_hz = int(rate_hz)
    if type(rate_hz) is not int or rate_hz <= 0:
        raise UsageError(f"{place} has {rate_hz!r} in {rate!r}, which is not a rate in Hz; correct it")
    return Clip(CellSource(place.file, name, place.row_group, place.row, rate_hz))


def _path_clips(name: str, root: DataRoot, place: RowPlace, row: Row) -> _Clips:
    written = row[name]
    if written is None:
        return None
    paths = written if isinstance(written, list) else [written]
    if not paths or None in paths:
        raise UsageError(
            f"{place} has {'a null' if paths else 'no path'} in the list {name!r}; correct or leave it out"
        )
    try:
        clips = tuple(Clip(FileSource(root, relative_path(path))) for path in paths)
    except ValueError as error:
        raise UsageError(f"{place} has an audio path in {name!r} that cannot be used: {error}") from None
    return clips if isinstance(written, list) else clips[0]
