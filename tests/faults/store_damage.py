"""Damage to whole stores, drawn from a seed: bits, cuts, pages, rows, write-ahead logs, and files of other kinds."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from pathlib import Path

from pytest_audiobench.errors import InfrastructureError, UsageError
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.models.messages import Output, Part, Response
from tests.evaluation.meter import known_responses

from .tally import Tally

NAME = "stores"
PROMISE = "A store that is damaged in any way gives back what was written, or is refused in a sentence, with its path."

KEYS = [f"{number:032d}".encode() for number in range(60)]
FAILED = {f"failed {number}".encode(): (f"no codec number {number}", number % 2 == 0) for number in range(8)}
NOTES = {f"hearing:model:{number}": f'["proven", "it heard {number} tones"]' for number in range(4)}
NOTES["hearing:later"] = '["unproven", "it was asked when the store was damaged"]'


def response(number: int) -> Response:
    """Short answers, such as letters, among sentences, long texts over several pages, audio and scores."""
    texts = ["ABCD"[number % 4], f"The answer number {number} is a sentence.", f"number {number} " * 900, ""]
    parts = (Part("text", texts[number // 4 % 4]), Part("audio", f"{number:064x}"))[: 1 + number % 5 // 4]
    output = Output(parts, "length" if number % 7 == 0 else "stop", 0.25 if number % 3 == 0 else None)
    return Response((output,), {"prompt_tokens": 100 + number}, 0.5 * number, (1.5,) if number % 6 == 0 else ())


ANSWERS = {key: response(number) for number, key in enumerate(KEYS)}


def make_store(folder: Path) -> None:
    """A store in ``folder`` whose second half is still in its write-ahead log."""
    path = folder / "store.sqlite"
    with Store(path, "20260101-000000-abcd") as store:
        half = dict(list(ANSWERS.items())[:30])
        store.put_batch({key: (answer, {"audio": [{"pcm": "ab" * 32}]}) for key, answer in half.items()}, FAILED)
    with Store(path, "20260102-000000-abcd") as store:
        rest = dict(list(ANSWERS.items())[30:])
        store.put_batch({key: (answer, {"audio": []}) for key, answer in rest.items()}, {})
        store.put_batch({KEYS[0]: (Response.of("noise"), {})}, {})
        for name, text in NOTES.items():
            if name != "hearing:later":
                store.keep_note(name, text)
        copies = {file: file.read_bytes() for file in (path, path.with_name("store.sqlite-wal"))}
    for file, content in copies.items():
        file.write_bytes(content)


def damage(path: Path, seed: int) -> str:
    """Damage the store at ``path`` as ``seed`` says, and say how."""
    drawn = random.Random(f"damaged store {seed}")
    if drawn.random() < 0.5:
        # Into the file itself, where the later half of the rows is otherwise read from its log.
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    kind = drawn.choice(_KINDS)
    kind(path, drawn)
    return kind.__name__.strip("_")


def wrong(store: Store) -> str:
    """What the store gives back otherwise than it was written; nothing where it does not."""
    for key, response in known_responses(store, [*ANSWERS, b"stray"]).items():
        if response != ANSWERS.get(key):
            return f"the answer to {key!r}"
    for key, message in store.failures([*FAILED, *ANSWERS, b"stray"]).items():
        if FAILED.get(key) != (message, True):
            return f"the failure of {key!r}"
    for name, text in store.notes("hearing:"):
        if NOTES.get(name) != text:
            return f"the note {name!r}"
    return ""


def ask(path: Path) -> str:
    """What is wrong in the store at ``path`` before and after its missing answers are asked again."""
    with Store(path, "later") as store:
        if mistake := wrong(store):
            return mistake
        stored = known_responses(store, list(ANSWERS))
        missing = {key: (response, {}) for key, response in ANSWERS.items() if key not in stored}
        responses = store.put_batch(missing, {}).responses
        store.keep_note("hearing:later", NOTES["hearing:later"])
        return "an answer that was asked again" if any(responses[key] != ANSWERS[key] for key in missing) else ""


def outcome(path: Path) -> str:
    """What became of a damaged store: refused in a sentence, or whole again when its missing answers were asked."""
    try:
        # A row may go when its neighbour is fixed, and is asked again like any other.
        if mistake := ask(path) or ask(path):
            return f"silent: {mistake}"
        with Store(path, "last") as store:
            return wrong(store) or (
                "fixed" if known_responses(store, list(ANSWERS)) == ANSWERS else "silent: a lost answer"
            )
    except (UsageError, InfrastructureError) as error:
        return "refused" if str(path) in str(error) and "\n" not in str(error) else f"no sentence: {error}"
    except Exception as error:
        return f"raw: {type(error).__name__}: {error}"


def run(seeds: Iterable[int]) -> Tally:
    """Damages a store for each seed, and asks again for what it lost."""
    tally, started = Tally(), time.monotonic()
    memory = Path("/dev/shm")
    # In memory where there is one: SQLite waits for a disk some ten times for each store.
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
        whole, copy = Path(name, "whole"), Path(name, "copy")
        whole.mkdir()
        make_store(whole)
        for seed in seeds:
            shutil.copytree(whole, copy)
            how = damage(copy / "store.sqlite", seed)
            result = outcome(copy / "store.sqlite")
            shutil.rmtree(copy)
            tally.tried += 1
            tally.notes.append(result.partition(":")[0])
            tally.lost += result.startswith("silent")
            tally.raw += result.startswith(("raw", "no sentence"))
            if result not in ("fixed", "refused"):
                tally.mistakes.append(f"AUDIOBENCH_FAULT={seed}: {how}: {result}")
    tally.seconds = time.monotonic() - started
    return tally


def _bytes(
    change: Callable[[bytearray, random.Random], None], log: bool = False
) -> Callable[[Path, random.Random], None]:
    def changed(path: Path, drawn: random.Random) -> None:
        file = path.with_name(path.name + "-wal")
        file = file if file.exists() and file.stat().st_size and (log or drawn.random() < 0.3) else path
        content = bytearray(file.read_bytes())
        change(content, drawn)
        file.write_bytes(content)

    changed.__name__ = change.__name__
    return changed


def _bits(content: bytearray, drawn: random.Random) -> None:
    for _ in range(drawn.choice([1, 1, 1, 2, 8])):
        content[drawn.randrange(len(content))] ^= 1 << drawn.randrange(8)


def _bits_of_the_first_page(content: bytearray, drawn: random.Random) -> None:
    content[drawn.randrange(min(4096, len(content)))] ^= 1 << drawn.randrange(8)


def _cut(content: bytearray, drawn: random.Random) -> None:
    del content[drawn.randrange(len(content)) :]


def _hole(content: bytearray, drawn: random.Random) -> None:
    start = drawn.randrange(0, len(content), 512)
    end = min(len(content), start + drawn.choice([512, 4096, 20_000]))
    content[start:end] = bytes(end - start)


def _noise(content: bytearray, drawn: random.Random) -> None:
    start = drawn.randrange(len(content))
    end = min(len(content), start + drawn.choice([1, 4, 64, 4096]))
    content[start:end] = drawn.randbytes(end - start)


def _swapped_pages(content: bytearray, drawn: random.Random) -> None:
    first, second = (4096 * drawn.randrange(len(content) // 4096 or 1) for _ in range(2))
    content[first : first + 4096], content[second : second + 4096] = (
        content[second : second + 4096],
        content[first : first + 4096],
    )


def _repeated_page(content: bytearray, drawn: random.Random) -> None:
    first, second = (4096 * drawn.randrange(len(content) // 4096 or 1) for _ in range(2))
    content[first : first + 4096] = content[second : second + 4096]


def _tail(content: bytearray, drawn: random.Random) -> None:
    content.extend(drawn.randbytes(drawn.randrange(1, 10_000)))


def _foreign_log(path: Path, drawn: random.Random) -> None:
    end = drawn.choice(["-wal", "-shm", "-journal"])
    path.with_name(path.name + end).write_bytes(drawn.randbytes(drawn.randrange(40_000)))


def _other_file(path: Path, drawn: random.Random) -> None:
    contents = [b"", b"\0" * 8192, b'{"answers": []}', b"SQLite format 3\0", b"SQLite format 3\0" + bytes(5000)]
    path.write_bytes(drawn.choice([*contents, drawn.randbytes(drawn.randrange(1, 20_000))]))


def _edited_rows(path: Path, drawn: random.Random) -> None:
    _edit(path, drawn, _EDITS)


def _edited_tables(path: Path, drawn: random.Random) -> None:
    _edit(path, drawn, _TABLE_EDITS)


def _edit(path: Path, drawn: random.Random, edits: list[str]) -> None:
    key, other = drawn.sample(KEYS, 2)
    values = {"key": key, "other": other, "failed": drawn.choice(list(FAILED)), "at": drawn.randrange(1, 60)}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        # SQLite itself refuses some edits, as it should.
        with suppress(sqlite3.DatabaseError):
            connection.execute(drawn.choice(edits), values)


_EDITS = [
    "UPDATE answer SET outputs = replace(outputs, 'A', 'B')",
    "UPDATE answer SET outputs = replace(outputs, 'stop', 'svop') WHERE key = :key",
    "UPDATE answer SET outputs = substr(outputs, 1, :at) WHERE key = :key",
    "UPDATE answer SET detail = substr(detail, 1, :at) WHERE key = :key",
    "UPDATE answer SET detail = '{}', digest = digest WHERE key = :key",
    "UPDATE answer SET detail = json_remove(detail, '$.usage') WHERE key = :key",
    "UPDATE answer SET detail = json_set(detail, '$.surprise', 1) WHERE key = :key",
    "UPDATE answer SET detail = json_set(detail, '$.usage.prompt_tokens', 'many') WHERE key = :key",
    "UPDATE answer SET outputs = CAST(x'5b5bff5d5d' AS TEXT) WHERE key = :key",
    "UPDATE answer SET outputs = 7, detail = 8.5 WHERE key = :key",
    "UPDATE answer SET outputs = x'00ff00ff' WHERE key = :key",
    "UPDATE answer SET outputs = '[]', digest = NULL WHERE key = :key",
    "UPDATE answer SET digest = 'text' WHERE key = :key",
    "UPDATE answer SET digest = CAST(x'ffff' AS TEXT) WHERE key = :key",
    "UPDATE answer SET run = CAST(x'ff' AS TEXT), created = 'yesterday' WHERE key = :key",
    "UPDATE answer SET created = created + 1e9 WHERE key = :key",
    "UPDATE answer SET outputs = (SELECT outputs FROM answer WHERE key = :other) WHERE key = :key",
    "UPDATE answer SET outputs = (SELECT outputs FROM answer WHERE key = :other), "
    "detail = (SELECT detail FROM answer WHERE key = :other), "
    "digest = (SELECT digest FROM answer WHERE key = :other) WHERE key = :key",
    "UPDATE answer SET key = CAST(key AS TEXT) WHERE key = :key",
    "UPDATE answer SET key = x'00' WHERE key = :key",
    "UPDATE answer SET id = 9223372036854775807 WHERE key = :key",
    "DELETE FROM answer WHERE key = :key",
    "INSERT OR REPLACE INTO answer (key, outputs, detail, run, created) "
    'VALUES (:key, \'[[[["text","X"]],"stop"]]\', \'{"usage":{},"latency_s":null,"truncated_s":[]}\', \'old\', 1.0)',
    "UPDATE failure SET permanent = 1",
    "UPDATE failure SET permanent = 'yes'",
    "UPDATE failure SET message = 'no such thing' WHERE key = :failed",
    "UPDATE failure SET message = CAST(x'ff' AS TEXT) WHERE key = :failed",
    "UPDATE failure SET key = :key WHERE key = :failed",
    "UPDATE meta SET value = replace(value, 'proven', 'unproven')",
    "UPDATE meta SET value = CAST(x'ff' AS TEXT) WHERE name LIKE 'hearing:model:1'",
    "UPDATE meta SET value = 7 WHERE name LIKE 'hearing:model:2'",
]
_TABLE_EDITS = [
    "UPDATE meta SET value = '99' WHERE name = 'schema'",
    "UPDATE meta SET value = CAST(x'ff' AS TEXT) WHERE name = 'keys'",
    "DELETE FROM meta",
    "DROP TABLE meta",
    "DROP TABLE answer",
    "DROP TABLE noise",
    "DROP TABLE failure",
    "ALTER TABLE answer RENAME TO answers",
    "ALTER TABLE answer DROP COLUMN digest",
    "ALTER TABLE answer DROP COLUMN detail",
    "ALTER TABLE failure DROP COLUMN digest",
    "ALTER TABLE noise RENAME COLUMN outputs TO said",
    "ALTER TABLE answer ADD COLUMN surprise TEXT NOT NULL DEFAULT 'x'",
    "CREATE TRIGGER surprise AFTER INSERT ON answer BEGIN UPDATE answer SET outputs = '[]'; END",
    "UPDATE sqlite_master SET sql = 'CREATE TABLE answer (key)' WHERE name = 'answer'",
    "UPDATE sqlite_master SET sql = 'nonsense' WHERE name = 'failure'",
    "UPDATE sqlite_master SET rootpage = :at",
    "DELETE FROM sqlite_master WHERE type = 'index'",
    "PRAGMA user_version = 7",
]
_KINDS = [
    *[_bytes(_bits)] * 8,
    *[_bytes(_noise)] * 3,
    *[_edited_rows] * 6,
    *[_bytes(change) for change in (_cut, _hole, _swapped_pages, _repeated_page, _tail, _bits_of_the_first_page)],
    _bytes(_bits, log=True),
    _bytes(_cut, log=True),
    _foreign_log,
    _other_file,
    _edited_tables,
]
