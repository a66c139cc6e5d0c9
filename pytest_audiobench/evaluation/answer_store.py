"""The store: every answer that was paid for, in one SQLite file. It is the log of asking.

One transaction a batch; the first write wins, and the asker reads back what the store holds. A key
that is asked again (``refresh``, or a batch in which one sample had failed) and answered differently
is counted as noise: both texts are kept. Failures lie apart and never become answers.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TypeAlias

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.network_disk import network_file_system
from pytest_audiobench.models.messages import Output, Part, Response, known_finish

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
    created REAL NOT NULL
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
    created REAL NOT NULL
);
"""
_CHUNK = 500
_PATIENCE_S = 60.0

_Row: TypeAlias = tuple[bytes, str, str, str, float]
_PARTS = ("text", "audio")
_encode = json.JSONEncoder(separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


class Written(NamedTuple):
    """What became of a batch: the responses that the store holds, how many differed, how many texts were repaired."""

    responses: dict[bytes, Response]
    noise: int
    repaired: int


class Store:
    """Answers by key. One connection, used by one thread of one process; any number of processes at once."""

    def __init__(self, path: Path, run: str, refresh: bool = False, extras: Sequence[Path] = ()) -> None:
        """Open or make the store at ``path``; ``extras`` are further stores that are only read.

        With ``refresh`` only the answers that ``run`` itself has asked for count as known.
        Raises UsageError for a network file system, a file that is no store, or one of another version.
        """
        kind = network_file_system(path)
        if kind:
            raise UsageError(
                f"the store {path} lies on a network file system ({kind}), where it could be damaged: "
                "write it to a local disk with --ab-store and merge later"
            )
        self._run, self._refresh = run, refresh
        self._connection = _open(path)
        self._extras = [_open_read_only(extra) for extra in extras]

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, Response]:
        """The known responses among ``keys``."""
        run = self._run if self._refresh else None
        responses = dict(_select(self._connection, keys, run))
        if run is None:
            for extra in self._extras:
                missing = [key for key in keys if key not in responses]
                responses.update(_select(extra, missing, None))
        return responses

    def failures(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Messages of the permanent failures among ``keys``: asking again would fail again."""
        messages: dict[bytes, str] = {}
        refreshed = " AND run = ?" if self._refresh else ""
        for chunk in _chunks(keys):
            marks = ",".join("?" * len(chunk))
            messages.update(
                self._connection.execute(
                    f"SELECT key, message FROM failure WHERE permanent AND key IN ({marks}){refreshed}",
                    [*chunk, self._run] if self._refresh else chunk,
                )
            )
        return messages

    def put_batch(
        self, answers: Mapping[bytes, tuple[Response, Mapping[str, object]]], failures: Mapping[bytes, tuple[str, bool]]
    ) -> Written:
        """Write one batch in one transaction: responses with their detail, and failures (message, permanent)."""
        now, repairs = time.time(), 0
        rows: list[_Row] = []
        valid: dict[bytes, Response] = {}
        for key, (response, detail) in answers.items():
            valid[key], changes = _valid_response(response)
            repairs += changes
            rows.append((key, *_columns(valid[key], detail), self._run, now))
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            known, noise = self._write(rows)
            self._connection.executemany(
                "INSERT INTO failure (key, message, permanent, run, created) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE SET message = excluded.message, permanent = excluded.permanent, "
                "run = excluded.run, created = excluded.created",
                [(key, message, permanent, self._run, now) for key, (message, permanent) in failures.items()],
            )
        return Written(valid | dict(_select(self._connection, known, None)), noise, repairs)

    def _write(self, rows: Sequence[_Row]) -> tuple[list[bytes], int]:
        """The keys that were answered before, and how many of them differently."""
        known = {
            key: (outputs, run)
            for chunk in _chunks([row[0] for row in rows])
            for key, outputs, run in self._connection.execute(
                f"SELECT key, outputs, run FROM answer WHERE key IN ({','.join('?' * len(chunk))})", chunk
            )
        }
        statement = "INSERT INTO answer (key, outputs, detail, run, created) VALUES (?, ?, ?, ?, ?)"
        self._connection.executemany(statement, [row for row in rows if row[0] not in known])
        noise = 0
        for key, outputs, detail, run, now in (row for row in rows if row[0] in known):
            before = known[key]
            replaced = self._refresh and before[1] != run
            if before[0] != outputs:
                noise += 1
                loser = before if replaced else (outputs, run)
                statement = "INSERT INTO noise (key, outputs, run, created) VALUES (?, ?, ?, ?)"
                self._connection.execute(statement, (key, *loser, now))
            if replaced:
                statement = "UPDATE answer SET outputs = ?, detail = ?, run = ?, created = ? WHERE key = ?"
                self._connection.execute(statement, (outputs, detail, run, now, key))
        return list(known), noise

    def notes(self, prefix: str) -> list[tuple[str, str]]:
        """The notes (texts up to 64 KiB by name) whose names begin so; ours win over the extra stores'."""
        notes: dict[str, str] = {}
        wanted = "SELECT name, value FROM meta WHERE substr(name, 1, ?) = ? AND length(value) <= 65536 ORDER BY rowid"
        for connection in (*self._extras, self._connection):
            notes.update(connection.execute(wanted, (len(prefix), prefix)))
        return list(notes.items())

    def keep_note(self, name: str, text: str) -> None:
        """Keep a short text beside the answers; the last one of a name wins."""
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, text))

    def close(self) -> None:
        for connection in (self._connection, *self._extras):
            connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _open(path: Path) -> sqlite3.Connection:
    give_up = time.monotonic() + _PATIENCE_S
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = _connect(path)
            break
        except (sqlite3.DatabaseError, OSError) as error:
            # SQLite does not wait for a lock while another process turns the write-ahead log on.
            if "locked" in str(error) and time.monotonic() < give_up:
                time.sleep(0.05)
                continue
            raise UsageError(
                f"{path} cannot be used as a store ({error}): move it away or choose another with --ab-store"
            ) from error
    _check_versions(connection, path)
    return connection


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN IMMEDIATE")
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        versions = [("schema", SCHEMA_VERSION), ("keys", KEY_SCHEME)]
        connection.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", versions)
        connection.execute("COMMIT")
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def _open_read_only(path: Path) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        _check_versions(connection, path)
    except sqlite3.DatabaseError as error:
        raise UsageError(f"{path} cannot be read as a store ({error}): leave it out of --ab-store") from error
    return connection


def _check_versions(connection: sqlite3.Connection, path: Path) -> None:
    versions = dict(connection.execute("SELECT name, value FROM meta"))
    if (versions.get("schema"), versions.get("keys")) != (SCHEMA_VERSION, KEY_SCHEME):
        raise UsageError(
            f"{path} is a store of version {versions.get('schema')}/{versions.get('keys')}, this release writes "
            f"{SCHEMA_VERSION}/{KEY_SCHEME}: choose another file with --ab-store"
        )


def _select(connection: sqlite3.Connection, keys: Sequence[bytes], run: str | None) -> Iterator[tuple[bytes, Response]]:
    also = " AND run = ?" if run else ""
    for chunk in _chunks(keys):
        marks = ",".join("?" * len(chunk))
        values: list[object] = [*chunk, run] if run else list(chunk)
        for key, outputs, detail in connection.execute(
            f"SELECT key, outputs, detail FROM answer WHERE key IN ({marks}){also}", values
        ):
            yield key, _response(outputs, detail)


def _chunks(keys: Sequence[bytes]) -> Iterable[Sequence[bytes]]:
    return (keys[start : start + _CHUNK] for start in range(0, len(keys), _CHUNK))


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
    )
    return valid, changes


def _float_or_none(value: float | None) -> float | None:
    return None if value is None else float(value)


def _columns(response: Response, detail: Mapping[str, object]) -> tuple[str, str]:
    outputs = [
        [output.parts, output.finish] if output.score is None else [output.parts, output.finish, output.score]
        for output in response.outputs
    ]
    about = {
        **detail,
        "usage": response.usage,
        "latency_s": response.latency_s,
        "truncated_s": response.truncated_s,
        "first_token_s": response.first_token_s,
        "share_s": response.share_s,
    }
    return _encode(outputs), _encode(about)


def _response(outputs: str, detail: str) -> Response:
    about = _decode(detail)
    return Response(
        outputs=_short_outputs(outputs) if len(outputs) < _SHORT else _outputs(outputs),
        usage=about["usage"],
        latency_s=about["latency_s"],
        truncated_s=tuple(about["truncated_s"]),
        first_token_s=about.get("first_token_s"),
        share_s=about.get("share_s"),
    )


def _outputs(written: str) -> tuple[Output, ...]:
    return tuple(
        Output(tuple(Part(kind, text) for kind, text in parts), known_finish(finish), score[0] if score else None)
        for parts, finish, *score in _decode(written)
    )


_SHORT = 100
# A short answer, such as a letter, is many samples' answer.
_short_outputs = lru_cache(maxsize=1024)(_outputs)


LONGEST_TEXT = 4 * 2**20
"""Characters kept of one output; an answer beyond it is no answer but a runaway."""

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
