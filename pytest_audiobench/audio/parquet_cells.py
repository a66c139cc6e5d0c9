"""Audio in the cells of Parquet files, read one cell at a time: never more of a file is in memory than that takes.

A cell holds the bytes of an audio file, alone or as ``bytes`` of a struct (the Audio feature of Hugging Face's
datasets: ``struct<bytes: binary, path: string>``), or a waveform: a list of floats, alone or as ``array`` of a struct.
Parquet cannot be entered at a row: the rows of its group that stand before it are skipped, in that column alone, or
the cells of the group are put where they can be entered (:mod:`.cell_spool`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import lru_cache
from io import BytesIO
from pickle import PickleBuffer
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import soundfile

from pytest_audiobench.audio.cell_spool import SPOOL
from pytest_audiobench.audio.clip import CellSource, Samples, waveform_digest
from pytest_audiobench.audio.file_facts import FileFacts
from pytest_audiobench.audio.location import FileKey
from pytest_audiobench.audio.sound_file import HIGHEST_RATE_HZ, LOWEST_RATE_HZ
from pytest_audiobench.errors import AudioError, UsageError, install_command

Kind: TypeAlias = Literal["encoded", "waveform", "other"]

_BUFFER_BYTES = 1 << 16
_BATCH_BYTES = 32 << 20
"""A batch comes to no more even where all its cells refer to one entry of a dictionary, as large as that may be: a few
bytes of such a file would else fill the memory."""
_MOST_CELLS = 64
_MOST_RUNS = 1 << 27
_LARGEST_CELL_BYTES = 1 << 29
BROKEN = (OSError, ValueError, RuntimeError, TypeError, LookupError, MemoryError)
"""What pyarrow raises for a damaged file."""


class Column(NamedTuple):
    """A column of a Parquet file, or a field of its structs."""

    path: tuple[str, ...]
    """Its name in the file, in parts."""
    type: Any
    """pyarrow's."""
    classes: tuple[str, ...] = ()
    """The names that its integers stand for, where Hugging Face's datasets wrote them into the file."""

    @property
    def name(self) -> str:
        """As pyarrow wants it for reading."""
        return ".".join(self.path)

    @property
    def kind(self) -> Kind:
        import pyarrow.types as types

        if types.is_binary(self.type) or types.is_large_binary(self.type):
            return "encoded"
        return "waveform" if is_list(self.type) and types.is_floating(self.type.value_type) else "other"

    def of(self, batch: Any) -> Any:
        """The column's array in a record batch that was read with its name."""
        import pyarrow.compute as compute

        array = batch.column(batch.schema.get_field_index(self.path[0]))
        array = compute.struct_field(array, list(self.path[1:])) if self.path[1:] else array
        return array.dictionary_decode() if hasattr(array, "dictionary_decode") else array

    def chunks(self, file: Any, group: int) -> list[Any]:
        """What the metadata of ``file`` says of the column's parts in a row group. Raises what pyarrow does."""
        paths = [file.schema.column(number).path for number in range(len(file.schema))]
        inside = [number for number, path in enumerate(paths) if f"{path}.".startswith(f"{self.name}.")]
        # Metadata that contradict themselves end the process when they are looked at, and raise when they are read by.
        next(file.iter_batches(1, row_groups=[group], columns=[self.name], use_threads=False), None)
        metadata = file.metadata.row_group(group)
        return [metadata.column(number) for number in inside]


def column_of(schema: Any, name: str) -> Column:
    """The column ``name``; a field of a struct is ``column.field``. UsageError, a predicate, if there is not one."""
    head, _, field = name.partition(".")
    for column in (name, head):
        if (count := schema.names.count(column)) > 1:
            raise UsageError(f"has {count} columns called {column!r}; write it again with names that differ")
    if name in schema.names:
        return Column((name,), schema.field(name).type)
    if head in schema.names and field in (fields := _fields(schema.field(head).type)):
        return Column((head, field), fields[field])
    known = ", ".join(map(repr, schema.names[:20])) or "none"
    raise UsageError(f"has no column {name!r}; it has {known}")


def audio_column(schema: Any, name: str) -> Column:
    """The part of the column ``name`` that holds its audio, whatever that is. Raises UsageError, a predicate."""
    column = column_of(schema, name)
    fields = _fields(column.type)
    inner = next((field for field in ("bytes", "array") if field in fields), None)
    return column if inner is None else Column((*column.path, inner), fields[inner])


def is_list(type_: Any) -> bool:
    """Whether cells are lists, of whichever of pyarrow's types."""
    import pyarrow.types as types

    return bool(types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_))


def _fields(type_: Any) -> Mapping[str, Any]:
    import pyarrow.types as types

    return {field.name: field.type for field in type_} if types.is_struct(type_) else {}


def check_pyarrow() -> None:
    """Raises UsageError where pyarrow is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise UsageError(f"Parquet files need pyarrow: {install_command('parquet')}") from None


def open_parquet(path: str, name: str, dictionary: str | None = None) -> Any:
    """The ``pyarrow.parquet.ParquetFile`` at ``path``, which reads little ahead; ``name`` stands for it in messages.

    Texts in the column ``dictionary`` come as the file has them, each once. Raises AudioError for what is no whole
    Parquet file, UsageError where pyarrow is not installed.
    """
    check_pyarrow()
    import pyarrow.parquet as parquet

    if path.endswith(".arrow"):
        try:
            return _ArrowStream(path)
        except BROKEN as error:
            raise AudioError(f"{name}: not a whole Arrow stream ({reason(error)}); save it again") from None
    try:
        metadata = _metadata(path, FileKey.of(os.stat(path)))
        options = {"metadata": metadata, "pre_buffer": False, "buffer_size": _BUFFER_BYTES}
        return parquet.ParquetFile(path, **options, read_dictionary=[dictionary] if dictionary else None)
    except BROKEN as error:
        raise AudioError(f"{name}: not a whole Parquet file ({reason(error)}); fetch it again") from None


class _ArrowStream(AbstractContextManager["_ArrowStream"]):
    """A file of Arrow's stream format, as Hugging Face's datasets save it, with as much of a ParquetFile's face as is
    used here: each of its batches is a row group. It is mapped into memory, never copied there.
    """

    schema = ()
    """Columns need no bound: what is not packed is no larger than the file."""

    def __init__(self, path: str) -> None:
        self.schema_arrow, self._batches = _batches(path, FileKey.of(os.stat(path)))
        self.metadata, self.num_row_groups = self, len(self._batches)

    def __exit__(self, *_: object) -> None:
        """What is mapped is shared."""

    def close(self) -> None:
        """The same."""

    def row_group(self, number: int) -> Any:
        return self._batches[number]

    def iter_batches(self, size: int, row_groups: Sequence[int], columns: Sequence[str], **_: object) -> Iterator[Any]:
        for group in row_groups:
            batch = self._batches[group].select(list(dict.fromkeys(name.partition(".")[0] for name in columns)))
            yield from (batch.slice(start, size) for start in range(0, len(batch), size))


@lru_cache(maxsize=16)
def _batches(path: str, key: FileKey) -> tuple[Any, list[Any]]:
    """The schema and the batches of a stream. Raises ValueError for a packed one, whose few bytes may be gigabytes."""
    import pyarrow
    import pyarrow.ipc as ipc

    for message in ipc.MessageReader.open_stream(pyarrow.memory_map(path)):
        is_rows = message.type == "record batch"
        if message.type != "schema" and (not is_rows or _is_packed(message.metadata.to_pybytes())):
            raise ValueError("its batches are packed or have dictionaries, as datasets do not save them")
    with ipc.open_stream(pyarrow.memory_map(path)) as stream:
        batches = list(stream)
    _check_names(stream.schema)
    for batch in batches:
        batch.validate(full=True)
    return stream.schema, batches


def _check_names(fields: Any) -> None:
    """Raises UnicodeDecodeError for a name that is not text, which nothing else looks at in time."""
    for field in fields:
        if field.name and field.type.num_fields:
            _check_names(field.type.field(number) for number in range(field.type.num_fields))


def _is_packed(message: bytes) -> bool:
    """Whether a message of a record batch has the field ``compression``, the fourth of its table (Message.fbs)."""

    def field(table: int, number: int) -> int:
        """Where the field's value is, from the table's place; 0 where there is none."""
        begin = table - int.from_bytes(message[table : table + 4], "little", signed=True)
        size = int.from_bytes(message[begin : begin + 2], "little")
        at = begin + 4 + 2 * number
        return int.from_bytes(message[at : at + 2], "little") if 4 + 2 * number < size else 0

    table = int.from_bytes(message[:4], "little")
    header = table + field(table, 2)
    return bool(field(header + int.from_bytes(message[header : header + 4], "little"), 3))


@lru_cache(maxsize=16)
def _metadata(path: str, key: FileKey) -> Any:
    """A file's footer: of a thousand row groups, reading it takes longer than reading a cell."""
    import pyarrow.parquet as parquet

    return parquet.read_metadata(path)


def checked_bytes(chunk: Any) -> int:
    """What a column's part of a row group comes to in memory, as it declares that. Raises ValueError for a bomb."""
    values, size = chunk.num_values, chunk.total_uncompressed_size
    # Encoded runs of one value may be of any length: of sound, and of texts, there are bytes for most values.
    if values < 0 or size < 0 or (values > _MOST_RUNS and size < values // 4):
        raise ValueError(f"{size} bytes that declare {values} values")
    return int(max(size, 4 * values))


def reason(error: BaseException) -> str:
    """The first line of what pyarrow says, without its full stop."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:200]


def read_cell(source: CellSource, path: str, key: FileKey | None = None) -> bytes | Samples:
    """The bytes of the audio file, or the waveform, in a cell; ``key`` is the file's where it is sure to change with
    the file. Raises AudioError; UsageError without pyarrow.
    """
    if key is not None and not path.endswith(".arrow"):  # those can be entered anywhere
        group = key, source.column, source.row_group, source.rate_hz
        cell: bytes | Samples | None = SPOOL.cell(group, source.row, lambda: _cells(source, path))
        if cell is not None:
            return cell
    ((_, content),) = _contents(path, [source])
    if isinstance(content, AudioError):
        raise content
    return bytes(content) if isinstance(content, memoryview) else content


def _cells(source: CellSource, path: str) -> Generator[PickleBuffer | Samples | None, None, None]:
    """The cells of the row group of ``source`` until there is an end of it or something wrong; None for no audio."""
    with suppress(AudioError, *BROKEN):
        for values in _arrays(path, source.column, source.row_group):
            for value in values:
                content = _content(source, value)
                if isinstance(content, memoryview):
                    yield PickleBuffer(content.toreadonly())  # which unpickles as bytes, and is copied once
                else:
                    yield None if isinstance(content, AudioError) else content


def cell_facts(path: str, sources: Sequence[CellSource]) -> Iterator[tuple[CellSource, FileFacts | AudioError]]:
    """What identifies cells of the file at ``path``, and how long they say they sound. Each row group is read once."""
    for source, content in _contents(path, sources):
        if isinstance(content, AudioError):
            yield source, content
        elif isinstance(content, memoryview):
            yield source, FileFacts(hashlib.sha256(content).hexdigest(), _header_duration_s(content))
        else:
            rate_hz = source.rate_hz or 1
            yield source, FileFacts(waveform_digest(content, rate_hz), len(content) / rate_hz)


def _header_duration_s(data: memoryview) -> float | None:
    with suppress(soundfile.SoundFileError, ZeroDivisionError), soundfile.SoundFile(BytesIO(data)) as header:
        return float(header.frames / header.samplerate)
    return None


_Content: TypeAlias = memoryview | Samples | AudioError


def _contents(path: str, sources: Sequence[CellSource]) -> Iterator[tuple[CellSource, _Content]]:
    """Cells of one file in its order, each with what it holds or what is wrong with it."""
    groups: dict[tuple[str, int], dict[int, list[CellSource]]] = {}
    for source in sources:
        groups.setdefault((source.column, source.row_group), {}).setdefault(source.row, []).append(source)
    for (name, group), rows in sorted(groups.items()):
        wanted = sorted(rows)
        position, wrong = 0, "there is no such row"
        try:
            for value in _values(path, name, group, wanted):
                for source in rows[wanted[position]]:
                    yield source, _content(source, value)
                position += 1
        except AudioError as error:
            wrong = str(error)
        except BROKEN as error:
            wrong = f"cannot be read ({reason(error)})"
        for row in wanted[position:]:
            for source in rows[row]:
                yield source, AudioError(f"{source}: {wrong}; fetch the file again")


def _values(path: str, name: str, group: int, wanted: Sequence[int]) -> Iterator[Any]:
    """The scalars of pyarrow in the ``wanted`` rows, ascending, of one column in one row group; fewer where it ends."""
    start, left = 0, iter(wanted)
    row = next(left, None)
    for values in _arrays(path, name, group):
        while row is not None and row < start + len(values):
            yield values[row - start]
            row = next(left, None)
        if row is None:
            return
        start += len(values)


def _arrays(path: str, name: str, group: int) -> Iterator[Any]:
    """One column in one row group, in pyarrow's arrays of few cells."""
    with open_parquet(path, "the file") as file:
        if not 0 <= group < file.metadata.num_row_groups:
            return
        column = _audio_column(file.schema_arrow, name)
        size = sum(checked_bytes(chunk) for chunk in column.chunks(file, group))
        cells = max(1, min(_MOST_CELLS, _BATCH_BYTES // max(1, size)))
        for batch in file.iter_batches(cells, row_groups=[group], columns=[column.name], use_threads=False):
            yield column.of(batch)


def _audio_column(schema: Any, name: str) -> Column:
    try:
        return audio_column(schema, name)
    except UsageError as error:
        raise AudioError(f"the file {error}") from None


def _content(source: CellSource, value: Any) -> _Content:
    if not value.is_valid:
        return AudioError(f"{source}: no audio in it (null); leave the row out, or name the column that has its path")
    buffer = value.as_buffer() if hasattr(value, "as_buffer") else None
    if buffer is not None:
        if not 0 < buffer.size <= _LARGEST_CELL_BYTES:
            return AudioError(f"{source}: {buffer.size} bytes are not a readable audio file; leave it out")
        return memoryview(buffer)
    if not hasattr(value, "values"):
        return AudioError(f"{source}: neither the bytes of an audio file nor a list of floats; name another column")
    if source.rate_hz is None or not LOWEST_RATE_HZ <= source.rate_hz <= HIGHEST_RATE_HZ:
        return AudioError(f"{source}: a waveform at {source.rate_hz} Hz, which is not a rate of sound; correct it")
    if value.values.null_count:
        return AudioError(f"{source}: {value.values.null_count} of its samples are null; repair it or leave it out")
    with np.errstate(over="ignore"):
        return np.array(value.values.to_numpy(zero_copy_only=False), dtype=np.float32)
