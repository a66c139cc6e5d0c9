"""The store: every answer that was paid for, in one SQLite file. It is the log of asking.

One transaction a batch; the first write wins, and the asker reads back what the store holds. A key
that is asked again (``refresh`` or ``fresh``, or a batch in which one sample had failed) and answered differently
is counted as noise: both texts are kept. Failures lie apart and never become answers. Every row carries a digest:
one that does not fit is not an answer, is counted as damaged, and gives way to what is asked in its place.
"""

from __future__ import annotations

import json
import math
import sqlite3
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, suppress
from dataclasses import replace
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

import msgspec

from pytest_audiobench.errors import InfrastructureError, UsageError, disk_errors
from pytest_audiobench.evaluation.answer_sounds import SoundFiles
from pytest_audiobench.io.network_disk import network_file_system
from pytest_audiobench.models.messages import Output, Part, Response, Sound, known_finish

SCHEMA_VERSION = "1"
KEY_SCHEME = "1"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS answer (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    outputs TEXT NOT NULL,
    detail TEXT NOT NULL,
    run TEXT NOT NULL,
    created REAL NOT NULL,
    digest BLOB
);
CREATE TABLE IF NOT EXISTS noise (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL, outputs TEXT NOT NULL, run TEXT NOT NULL, created REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS failure (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    message TEXT NOT NULL,
    permanent INTEGER NOT NULL,
    run TEXT NOT NULL,
    created REAL NOT NULL,
    digest BLOB
);
"""
_CHUNK = 500
_BEGUN = "begun:"
"""Begins the name of the note on a run that has begun and not ended: since when, and at which state of the project."""
RESUMED_S = 86_400.0
"""For so long after its last answer a run that did not end can be resumed."""
_PATIENCE_S = 60.0
_COLUMNS = {"answer": ("outputs", "detail"), "failure": ("message", "permanent")}
"""The tables of rows with a digest, and what each says of a key."""
# As blobs, since SQLite gives no text that is not UTF-8, nor says which row it was.
_VALUES = {
    table: f"key, CAST({first} AS BLOB), CAST({second} AS BLOB), CAST(run AS BLOB), CAST(created AS REAL)"
    for table, (first, second) in _COLUMNS.items()
}
_READ = {table: f"SELECT {values}, CAST(digest AS BLOB) FROM {table} WHERE " for table, values in _VALUES.items()}
_INSERT_NOISE = "INSERT INTO noise (key, outputs, run, created) VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), ?)"
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_TOOBIG}
"""What SQLite says of a file whose pages contradict each other; all else is the disk's, or another process's."""
_DISK = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}

_FAILURES = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises: also for its own messages, which quote what is damaged."""

_Row: TypeAlias = tuple[bytes, bytes, bytes, bytes, float]
_PARTS = ("text", "audio")
_encode = json.JSONEncoder(separators=(",", ":")).encode


class StoredAnswer(NamedTuple):
    """A response that the store holds."""

    response: Response
    earlier: float | None
    """When another run asked for it, in seconds since 1970; None for one that this run asked for."""


class Written(NamedTuple):
    """What became of a batch: the responses that the store holds, how many differed, how many texts were repaired."""

    responses: dict[bytes, Response]
    noise: int
    repaired: int


class _File(NamedTuple):
    """An open store."""

    path: Path
    connection: sqlite3.Connection


class Store(AbstractContextManager["Store"]):
    """Answers by key. One connection, used by one thread of one process; any number of processes at once.

    Reading and writing raise InfrastructureError for a disk that is full or fails, a lock that is not given back, and
    a file that is damaged so far that it cannot be fixed.
    """

    def __init__(
        self,
        path: Path,
        run: str,
        refresh: bool = False,
        extras: Sequence[Path] = (),
        started: float = -math.inf,
        state: Callable[[], str] = str,
        merged: bool = False,
    ) -> None:
        """Open or make the store at ``path``; ``extras`` are further stores that are only read.

        With ``refresh`` only the answers that ``run`` itself has asked for, since it ``started``, count as known; where
        answers must be ``fresh`` also those of runs at the same ``state`` of the project that did not end.
        A ``merged`` store answers for models that may not be asked: what failed stays so, whatever it failed by.
        Raises UsageError for a network file system, a file that is not a store, or one of another version.
        """
        kind = network_file_system(path)
        if kind:
            raise UsageError(
                f"the store {path} lies on a network file system ({kind}), where it could be damaged: "
                "give one on a local disk by --ab-store FILE; audiobench merge puts stores of several machines together"
            )
        self.run, self.merged = run, merged
        self._refresh, self._started, self._state = refresh, started, state
        self.damaged: set[bytes] = set()
        """The keys of rows that were met and do not fit their digests: they count as not there."""
        self.sounds = SoundFiles([path, *extras])
        """The audio of the answers, in files next to the stores."""
        self._checked = False
        self._own = _open(path)
        self._connection = self._own.connection
        self._extras = [_open_read_only(extra, extra) for extra in extras]

    def find(self, keys: Sequence[bytes], fresh: bool = False) -> dict[bytes, StoredAnswer]:
        """What is known of ``keys``; with ``fresh`` answers of this run alone, and of those that it resumes."""
        runs = self._counted(fresh)
        answers = self._answers(self._own, keys, runs)
        for extra in self._extras if runs is None else ():
            answers.update(self._answers(extra, [key for key in keys if key not in answers]))
        return answers

    def times(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """When the answers to ``keys`` were written, by whatever run."""
        return {key: created for key, *_, created in self._rows(self._own, "answer", keys)}

    def failures(self, keys: Sequence[bytes], fresh: bool = False) -> dict[bytes, str]:
        """Messages of the permanent failures among ``keys``: asking again would fail again."""
        return self._failures(keys, fresh, b"1")

    def passed_failures(self, keys: Sequence[bytes], fresh: bool = False) -> dict[bytes, str]:
        """Of a merged store, messages of the other failures among ``keys``, which are not asked again."""
        return self._failures(keys, fresh, b"0") if self.merged else {}

    def _failures(self, keys: Sequence[bytes], fresh: bool, permanent: bytes) -> dict[bytes, str]:
        rows = self._rows(self._own, "failure", keys, self._counted(fresh))
        return {key: text.decode(errors="replace") for key, text, stays, *_ in rows if stays == permanent}

    def _counted(self, fresh: bool) -> Mapping[bytes, float] | None:
        """The runs whose rows count, each from when on; None for all."""
        return self._resumed if fresh or self._refresh else None

    @cached_property
    def _resumed(self) -> Mapping[bytes, float]:
        """This run, which is noted as begun, and the runs that it resumes; under a refresh no other than itself."""
        state, runs = self._state(), dict[str, float]()
        for run, (since, at) in self._begun().items():
            if at == state and (run == self.run or not self._refresh) and self._is_recent(run):
                runs[run] = since
        if self.run not in runs:
            runs[self.run] = self._started
            self.keep_note(f"{_BEGUN}{self.run}", json.dumps([self._started, state]))
        return {run.encode(): since for run, since in runs.items()}

    def _begun(self) -> dict[str, tuple[float, str]]:
        begun = {}
        for name, text in self._notes([self._own], _BEGUN).items():
            with suppress(msgspec.MsgspecError):
                begun[name.removeprefix(_BEGUN)] = msgspec.json.decode(text, type=tuple[float, str])
        return begun

    def _is_recent(self, run: str) -> bool:
        query = "SELECT CAST(created AS REAL) FROM answer WHERE run = ? ORDER BY id DESC LIMIT 1"
        try:
            last = self._connection.execute(query, (run,)).fetchone()
        except _FAILURES as error:
            if not _is_damage(error):
                raise _trouble(self._own.path, error) from error
            return False
        return last is not None and last[0] is not None and self._started - last[0] <= RESUMED_S

    def end_run(self) -> None:
        """Take the notes away that this run, and those that it resumed, have begun: no later run resumes them."""
        try:
            names = [(f"{_BEGUN}{run.decode()}",) for run in self._resumed]
            self._connection.executemany("DELETE FROM meta WHERE name = ?", names)
        except _FAILURES as error:
            raise _trouble(self._own.path, error) from error

    def _answers(
        self, file: _File, keys: Sequence[bytes], runs: Mapping[bytes, float] | None = None
    ) -> dict[bytes, StoredAnswer]:
        run, started = self.run.encode(), self._started
        answers = {}
        for key, outputs, detail, by, created in self._rows(file, "answer", keys, runs):
            response = _response(outputs, detail)
            if response.sounds and not self.sounds.has(response.sounds):
                self.damaged.add(key)
            else:
                answers[key] = StoredAnswer(response, None if by == run and created >= started else created)
        return answers

    def _rows(
        self, file: _File, table: str, keys: Sequence[bytes], runs: Mapping[bytes, float] | None = None
    ) -> Iterator[_Row]:
        """The rows of ``keys`` as they were written; of ``runs``, where they are given, alone."""
        for chunk in (keys[start : start + _CHUNK] for start in range(0, len(keys), _CHUNK)):
            try:
                rows = file.connection.execute(f"{_READ[table]}key IN ({','.join('?' * len(chunk))})", chunk).fetchall()
            except _FAILURES as error:
                if not _is_damage(error):
                    raise _trouble(file.path, error) from error
                if len(chunk) == 1:
                    self.damaged.add(chunk[0])
                else:
                    for key in chunk:
                        yield from self._rows(file, table, [key], runs)
                continue
            for key, first, second, by, created, written in rows:
                if runs is not None and not _is_of(runs, by, created):
                    continue
                if _is_sound((key, first, second, by, created, written)):
                    yield key, first, second, by, created
                else:
                    self.damaged.add(key)

    def put_batch(
        self,
        answers: Mapping[bytes, tuple[Response, Mapping[str, object]]],
        failures: Mapping[bytes, tuple[str, bool]],
        fresh: bool = False,
    ) -> Written:
        """Write one batch in one transaction: responses with their detail, and failures (message, permanent).

        With ``fresh`` they take the places of answers that were not found for their age.
        """
        runs = self._counted(fresh)
        run, now, repairs = self.run.encode(), time.time(), 0
        rows: list[_Row] = []
        valid: dict[bytes, Response] = {}
        for key, (response, detail) in answers.items():
            valid[key], changes = _valid_response(response)
            if response.sounds:
                # Before the row that names them: an answer is there whole or not at all.
                valid[key] = replace(valid[key], sounds=self.sounds.keep(response.sounds))
            repairs += changes
            rows.append((key, *_columns(valid[key], detail), run, now))
        failed = [(key, text.encode(), b"%d" % permanent, run, now) for key, (text, permanent) in failures.items()]
        try:
            self._check_pages({*answers, *failures})
            known, noise = self._write_batch(rows, failed, runs)
        except _FAILURES as error:
            if not _is_damage(error):
                raise _trouble(self._own.path, error) from error
            try:
                _rebuild(self._connection)
                known, noise = self._write_batch(rows, failed, runs)
            except _FAILURES as again:
                raise _trouble(self._own.path, again) from again
        self.damaged.difference_update(valid, failures)
        stands = {key: answer.response for key, answer in self._answers(self._own, known).items()}
        return Written(valid | stands, noise, repairs)

    def _check_pages(self, keys: set[bytes]) -> None:
        """Before a damaged row gives way: in a damaged table its pages may be those of another row, too."""
        if not self._checked and not self.damaged.isdisjoint(keys):
            self._checked = True
            for table in _COLUMNS:
                if self._connection.execute(f"PRAGMA integrity_check({table})").fetchone() != ("ok",):
                    _rebuild(self._connection)
                    break

    def _write_batch(
        self, rows: Sequence[_Row], failed: Sequence[_Row], runs: Mapping[bytes, float] | None
    ) -> tuple[list[bytes], int]:
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            known, noise = self._write(rows, runs)
            self._insert("failure", failed)
        return known, noise

    def _insert(self, table: str, rows: Iterable[_Row]) -> None:
        first, second = _COLUMNS[table]
        # In place of whatever had the key: a damaged row, or an earlier failure.
        self._connection.executemany(
            f"INSERT OR REPLACE INTO {table} (key, {first}, {second}, run, created, digest) "
            "VALUES (?, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT), ?, ?)",
            ((*row, _digest(*row)) for row in rows),
        )

    def _write(self, rows: Sequence[_Row], runs: Mapping[bytes, float] | None = None) -> tuple[list[bytes], int]:
        """The keys that were answered before, and how many of them differently."""
        known = {row[0]: row for row in self._rows(self._own, "answer", [row[0] for row in rows])}
        noise, inserted = 0, []
        for row in rows:
            key, outputs, _, run, now = row
            before = known.get(key)
            replaced = runs is not None and before is not None and not _is_of(runs, *before[3:])
            if before is not None and before[1] != outputs:
                noise += 1
                loser = (before[1], before[3]) if replaced else (outputs, run)
                self._connection.execute(_INSERT_NOISE, (key, *loser, now))
            if before is None or replaced:
                inserted.append(row)
        self._insert("answer", inserted)
        return list(known), noise

    def absorb(self, path: Path, at: Path | None = None) -> int:
        """Take over what another store holds, in whatever order stores come: of two answers to one request the later
        one, of two notes of one name that whose text is the greater. Returns how many of its rows are damaged, which
        are left. ``at`` is where the store lay that ``path`` is a copy of, its sounds next to it. Raises UsageError for
        what is no store.
        """
        at = at or path
        file, damaged = _open_read_only(path, at), 0
        with closing(file.connection):
            for table in _COLUMNS:
                try:
                    rows = file.connection.execute(f"{_READ[table]} 1 ORDER BY id")
                    while portion := rows.fetchmany(_CHUNK):
                        sound = [row[:5] for row in portion if _is_sound(row)]
                        damaged += len(portion) - len(sound)
                        for row in sound if table == "answer" else ():
                            if b'"sounds"' in row[2]:
                                self.sounds.take_over(_decoded(_DETAIL, row[2]).sounds, at)
                        self._absorb(table, sound)
                except _FAILURES as error:
                    raise _trouble(at, error) from error
            own = self._notes([self._own], "")
            for name, text in self._notes([file], "").items():
                if name not in ("schema", "keys") and text > own.get(name, ""):
                    self.keep_note(name, text)
        return damaged

    def _absorb(self, table: str, rows: Sequence[_Row]) -> None:
        known = {row[0]: row for row in self._rows(self._own, table, [row[0] for row in rows])}
        later = [row for row in rows if row[0] not in known or row[4] > known[row[0]][4]]
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._insert(table, later)
            for row in rows if table == "answer" else ():
                other = known.get(row[0])
                if other is not None and other[1] != row[1]:
                    _, outputs, _, run, created = min(row, other, key=lambda each: each[4])
                    self._connection.execute(_INSERT_NOISE, (row[0], outputs, run, created))

    def notes(self, prefix: str) -> list[tuple[str, str]]:
        """The notes (texts up to 64 KiB by name) whose names begin so; ours win over the extra stores'."""
        return list(self._notes((*self._extras, self._own), prefix).items())

    def _notes(self, files: Iterable[_File], prefix: str) -> dict[str, str]:
        notes: dict[str, str] = {}
        query = (
            "SELECT CAST(name AS BLOB), CAST(value AS BLOB) FROM meta "
            "WHERE name >= ? AND name < CAST(? AS TEXT) AND length(value) <= ? ORDER BY rowid"
        )
        # By the index, since every eval leaves a note and looks for some: no text of UTF-8 holds the byte 255.
        wanted = prefix, prefix.encode() + b"\xff", 65536 + 33
        for file in files:
            try:
                rows = file.connection.execute(query, wanted).fetchall()
            except _FAILURES as error:
                if not _is_damage(error):
                    raise _trouble(file.path, error) from error
                continue
            for name, value in rows:
                text, _, written = value.rpartition(b"\n")
                if len(text) <= 65536 and written == _note_digest(name, text):
                    with suppress(UnicodeDecodeError):
                        notes[name.decode()] = text.decode()
        return notes

    def keep_note(self, name: str, text: str) -> None:
        """Keep a short text next to the answers; the last one of a name wins."""
        value = f"{text}\n{_note_digest(name.encode(), text.encode()).decode()}"
        try:
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
        except _FAILURES as error:
            raise _trouble(self._own.path, error) from error

    def close(self) -> None:
        for file in (self._own, *self._extras):
            file.connection.close()

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_sound(row: tuple[bytes, bytes, bytes, bytes, float, bytes | None]) -> bool:
    """Whether a row is as it was written."""
    key, first, second, by, created, written = row
    return bool(written) and written == _digest(key, first, second, by, created)


def _is_of(runs: Mapping[bytes, float], by: bytes, created: float | None) -> bool:
    """Whether a row was written by one of ``runs`` since it began: a run of last week may have had the same name."""
    since = runs.get(by)
    return since is not None and created is not None and created >= since


def _open(path: Path) -> _File:
    give_up = time.monotonic() + _PATIENCE_S
    while True:
        try:
            with disk_errors(path.parent):
                path.parent.mkdir(parents=True, exist_ok=True)
            return _File(path, _connect(path))
        except _FAILURES as error:
            # SQLite does not wait for a lock while another process turns the write-ahead log on.
            if "locked" in str(error) and time.monotonic() < give_up:
                time.sleep(0.05)
                continue
            if _code(error) in _DISK:
                raise _trouble(path, error) from error
            raise UsageError(
                f"{path} cannot be used as a store ({message(error)}): move it away or give another --ab-store FILE"
            ) from error


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False)
    connection.create_function("row_digest", 5, _digest)
    try:
        # Before anything is written: it may be somebody else's.
        if connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            _check_versions(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            _make_tables(connection)
        _check_versions(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_tables(connection: sqlite3.Connection) -> None:
    for statement in _SCHEMA.split(";"):
        connection.execute(statement)
    versions = [("schema", SCHEMA_VERSION), ("keys", KEY_SCHEME)]
    connection.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", versions)


def _rebuild(connection: sqlite3.Connection) -> None:
    """Make the tables again of the rows that can be read; the damaged tables stay in the file under other names."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        ((size,),) = connection.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        moved = {table: f"damaged_{table}_{time.time_ns()}" for table in ("meta", "answer", "noise", "failure")}
        for table, damaged in moved.items():
            connection.execute(f"ALTER TABLE {table} RENAME TO {damaged}")
        _make_tables(connection)
        for table, damaged in moved.items():
            sound = f" AND digest = row_digest({_VALUES[table]})" if table in _VALUES else ""
            last = size // 64
            with suppress(*_FAILURES):
                last = min(connection.execute(f"SELECT max(rowid) FROM {damaged}").fetchone()[0] or 0, size // 16)
            for number in range(1, last + 1):
                try:
                    copy = f"INSERT OR IGNORE INTO {table} SELECT * FROM {damaged} WHERE rowid = ?{sound}"
                    connection.execute(copy, (number,))
                except _FAILURES as error:
                    if not _is_damage(error):
                        raise


def _open_read_only(path: Path, at: Path) -> _File:
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        try:
            _check_versions(connection, at)
        except BaseException:
            connection.close()
            raise
    except _FAILURES as error:
        raise UsageError(f"{at} cannot be read as a store ({message(error)}): leave it out of --ab-store") from error
    return _File(path, connection)


def _check_versions(connection: sqlite3.Connection, path: Path) -> None:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'answer'").fetchone():
        raise UsageError(f"{path} is a database of something else: choose another file with --ab-store FILE")
    rows = connection.execute("SELECT name, CAST(value AS BLOB) FROM meta WHERE name IN ('schema', 'keys')")
    versions = {name: (value or b"").decode(errors="replace") for name, value in rows}
    if (versions.get("schema"), versions.get("keys")) != (SCHEMA_VERSION, KEY_SCHEME):
        raise UsageError(
            f"{path} is a store of version {versions.get('schema')}/{versions.get('keys')}, this release writes "
            f"{SCHEMA_VERSION}/{KEY_SCHEME}: choose another file with --ab-store FILE"
        )
    for read in _READ.values():
        connection.execute(f"{read} 0")


def _code(error: Exception) -> int:
    undecodable = isinstance(error, UnicodeDecodeError)
    return sqlite3.SQLITE_CORRUPT if undecodable else int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _is_damage(error: Exception) -> bool:
    return _code(error) in _DAMAGE


def _trouble(path: Path, error: Exception) -> InfrastructureError:
    if _is_damage(error):
        todo = f"save what can be read with `sqlite3 {path} .recover | sqlite3 NEW` and continue with --ab-store=NEW"
    else:
        todo = "make room there, or end what holds it, and run again, which asks only what is missing"
    return InfrastructureError(f"the store {path} cannot be read or written ({message(error)}): {todo}")


_TIME = struct.Struct("<d")


def _digest(key: bytes, first: bytes, second: bytes, run: bytes, created: float) -> bytes:
    """What distinguishes a row from any other; empty for one that lacks something."""
    try:
        return sha256(b"\0".join((key, first, second, run, _TIME.pack(created)))).digest()[:16]
    except (TypeError, struct.error):
        return b""


def _note_digest(name: bytes, text: bytes) -> bytes:
    return sha256(name + b"\0" + text).hexdigest()[:32].encode()


def _valid_response(response: Response) -> tuple[Response, int]:
    """``response`` as the store will give it back, and how many of its texts had to be repaired."""
    changes, outputs = 0, []
    for output in response.outputs:
        parts = []
        for kind, value in output.parts:
            if kind not in _PARTS:
                raise UsageError(
                    f"a model's output has a part of the kind {kind!r}: make it one of {', '.join(_PARTS)}"
                )
            text, changed = repaired(str(value))
            changes += changed
            parts.append(Part(kind, text))
        finish = known_finish(output.finish)
        outputs.append(Output(tuple(parts), finish, None if output.score is None else float(output.score)))
    usage = {str(name): int(count) for name, count in response.usage.items()}
    valid = Response(
        outputs=tuple(outputs),
        usage=usage,
        latency_s=_float_or_none(response.latency_s),
        truncated_s=tuple(map(float, response.truncated_s)),
        first_token_s=_float_or_none(response.first_token_s),
        share_s=_float_or_none(response.share_s),
        first_audio_s=_float_or_none(response.first_audio_s),
    )
    return valid, changes


def _float_or_none(value: float | None) -> float | None:
    return None if value is None else float(value)


def _columns(response: Response, detail: Mapping[str, object]) -> tuple[bytes, bytes]:
    outputs = [
        [output.parts, output.finish] if output.score is None else [output.parts, output.finish, output.score]
        for output in response.outputs
    ]
    fields = {name: getattr(response, name) for name in _Detail.__struct_fields__}
    fields["sounds"] = [sound[:-1] for sound in response.sounds]
    about = {**detail, **{name: value for name, value in fields.items() if value or name not in _OF_SPEECH}}
    return _encode(outputs).encode(), _encode(about).encode()


class _Detail(msgspec.Struct):
    """What is read back of the column ``detail``."""

    usage: dict[str, int]
    latency_s: float | None
    truncated_s: tuple[float, ...]
    first_token_s: float | None = None
    share_s: float | None = None
    sounds: tuple[Sound, ...] = ()
    first_audio_s: float | None = None


_OF_SPEECH = ("sounds", "first_audio_s")
"""What is written of spoken answers alone."""


class _Output(msgspec.Struct, array_like=True):
    """An element of the column ``outputs``."""

    parts: tuple[Part, ...]
    finish: str
    score: float | None = None


_DETAIL: msgspec.json.Decoder[_Detail] = msgspec.json.Decoder(_Detail)
_OUTPUTS: msgspec.json.Decoder[list[_Output]] = msgspec.json.Decoder(list[_Output])
_T = TypeVar("_T")


def _decoded(decoder: msgspec.json.Decoder[_T], written: bytes) -> _T:
    try:
        return decoder.decode(written)
    except msgspec.DecodeError:
        # A model's score may be no number, which Python's own JSON writes and reads.
        read: _T = msgspec.convert(json.loads(written), decoder.type)
        return read


def _response(outputs: bytes, detail: bytes) -> Response:
    read = _short_outputs if len(outputs) < _SHORT else _outputs
    return Response(outputs=read(outputs), **msgspec.structs.asdict(_decoded(_DETAIL, detail)))


def _outputs(written: bytes) -> tuple[Output, ...]:
    outputs = _decoded(_OUTPUTS, written)
    return tuple(Output(output.parts, known_finish(output.finish), output.score) for output in outputs)


_SHORT = 100
# A short answer, such as a letter, is many samples' answer.
_short_outputs = lru_cache(maxsize=1024)(_outputs)


LONGEST_TEXT = 4 * 2**20
"""Characters kept of one output; an answer beyond it is not an answer but a runaway."""

LONGEST_MESSAGE = 2000
"""Characters kept of an error's message."""


def message(error: object) -> str:
    """An error's message as one line of valid text of bounded length."""
    return repaired(" ".join(str(error).split())[:LONGEST_MESSAGE])[0]


def repaired(text: str) -> tuple[str, bool]:
    """``text`` as valid Unicode of bounded length (a lone surrogate is U+FFFD), and whether it had to be changed."""
    changed = False
    if len(text) > LONGEST_TEXT:
        text, changed = text[:LONGEST_TEXT], True
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), True
    return text, changed
