"""Damage to the files that people write and runs leave, read through the doors of the commands that take them.

Run as a module with a folder and numbers: ``outcomes.jsonl`` in the folder gets a line for each number's file. In a
process of its own, which may hang, run out of memory, or be ended.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import structs

from pytest_audiobench import manifest
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.cli import main as audiobench
from pytest_audiobench.datasets.declared import declared_loader
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import AudiobenchError
from pytest_audiobench.gate.config import read_rules
from pytest_audiobench.plugin.declarative import read_declaration
from pytest_audiobench.records.lines import LINE_FILES, PredictionRow, ProcessedRow, ScoredRow
from pytest_audiobench.records.reading import read_lines, read_run

from .suite_files import lab
from .tally import Tally

NAME = "files"
PROMISE = (
    "A manifest, declaration, table, pack, archive, recipe, baseline, rules or run file that is damaged in any way is "
    "read as it stands or refused in a sentence; a run whose answers, scores or hashes were changed does not verify."
)
LONGEST_S, HANG_S = 10.0, 90.0
"""CPU time for one file; and wall time before the process is ended."""
MOST_BYTES = 1_000_000_000
_ROOT = Path(__file__).parents[2]
_LINES = {"predictions": PredictionRow, "processed": ProcessedRow, "scored": ScoredRow}
_HASHES = ("answers", "audio", "data", "model", "prompts", "protocols", "seeds", "settings")
_HASHES += ("input_hash", "run_hash", "score_hash")
_COVERED = ("index", "eval", "suite", "model", "dataset", "n", "epochs", "metrics", "scorers")
"""What of an item's record a hash or the numbers made again cover."""

_DECLARED = """
protocol = "multiple_choice"
cluster = "speaker"
groups = ["parity"]
require = ["accuracy >= 0.5", "accuracy[parity=odd] >= 0.25"]

[source]
title = "Tones"
licence = "CC0"
domain = "sound"

[data]
rows = "tones.csv"
root = "damaged"

[sample]
id = "{id|stem}"
audio = "{audio}"
question = "Which tone is heard?"
choices = ["{a}", "{b}"]
answer = "{answer}"
metadata = { parity = "{parity}", speaker = "{speaker|capitalize}" }
"""
_RULES = """
[[threshold]]
eval = "tones*"
model = "*"
require = ["accuracy >= 0.55", "accuracy[parity=odd] >= 0.3", "accuracy.drop <= 0.5pp"]
max_drop = "2pp"
"""
_RECIPES = """
mixtures:
  - name: street
    labels: [hum, beep]
    label_levels: {beep: -6}
    pin: {hum: 1.wav}
    pack: home
  - name: yard
    labels: [beep]
    snr_db: 3
"""
_PACK = {
    "id": "home",
    "title": "Home",
    "source": "made",
    "license": "CC0",
    "labels": ["hum", "beep"],
    "clip_resolver": "user-cache",
    "mixture_counts": {"solo": 2, "pair": 1, "triple": 0, "quad": 0},
    "distractor_count": 1,
    "clips_per_label": 1,
}


def run(seeds: Iterable[int]) -> Tally:
    """Reads a damaged file for each seed; the seeds follow each other."""
    tally, started, numbers = Tally(), time.monotonic(), list(seeds)
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        command = [sys.executable, "-m", __name__, folder, str(numbers[0]), str(numbers[-1] + 1)]
        process = subprocess.run(command, capture_output=True, check=False, cwd=_ROOT)
        path = Path(folder, "outcomes.jsonl")
        rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    for row in rows:
        if "outcome" in row:
            kind = row["outcome"].partition(":")[0]
            tally.tried += 1
            tally.notes.append(f"{row['door']} {kind}")
            tally.lost += kind == "silent"
            tally.raw += kind == "raw"
            tally.hangs += kind == "slow"
            if kind not in ("read", "refused"):
                tally.mistakes.append(f"AUDIOBENCH_FAULT={row['seed']}: {row['door']}, {row['how']}: {row['outcome']}")
    if process.returncode:
        place = rows[-1].get("seed") if rows else numbers[0]
        tally.hangs += b"Timeout" in process.stderr
        tally.mistakes.append(f"AUDIOBENCH_FAULT={place}: {process.returncode}: {process.stderr.decode()[-1500:]}")
    elif rows[-1]["peak_bytes"] > MOST_BYTES:
        tally.mistakes.append(f"seeds {numbers[0]} to {numbers[-1]}: {rows[-1]['peak_bytes'] / 1e9:.1f} GB of memory")
    tally.seconds = time.monotonic() - started
    return tally


def make_files(folder: Path) -> None:
    """Real files of every kind in ``folder``: of a run, its baseline, data, a pack and its archives."""
    make_tones = lab().make_tones
    rows = [json.loads(line) for line in make_tones(folder / "data", 6).read_text().splitlines()]
    cells = [
        ",".join([row["id"], row["audio"], *row["choices"][:2], row["choices"][0], row["metadata"]["parity"], "S1"])
        for row in rows
    ]
    (folder / "data" / "tones.csv").write_text("\n".join(["id,audio,a,b,answer,parity,speaker", *cells]) + "\n")
    (folder / "data" / "own.csv").write_text("\n".join(["id,audio,question,answer,parity,speaker,take", *cells]) + "\n")
    (folder / "tones.audiobench.toml").write_text(_DECLARED)
    (folder / "rules").mkdir()
    (folder / "rules" / "audiobench.toml").write_text(_RULES)
    (folder / "recipes.yaml").write_text(_RECIPES)
    (folder / "recipes.json").write_text(
        json.dumps({"mixtures": [{"name": "street", "labels": ["hum", "beep"], "label_levels": {"beep": -6}}]})
    )
    pack = folder / "packs" / "home"
    for label, source in {"hum": "tone0.wav", "beep": "tone1.wav"}.items():
        (pack / label).mkdir(parents=True)
        shutil.copy(folder / "data" / source, pack / label / "1.wav")
    (pack / "pack.json").write_text(json.dumps(_PACK, indent=1))
    with zipfile.ZipFile(folder / "home.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(pack.rglob("*.*")):
            archive.write(file, file.relative_to(pack.parent))
    for end, mode in {"tar": "w", "tar.gz": "w:gz", "tar.bz2": "w:bz2", "tar.xz": "w:xz"}.items():
        with tarfile.open(folder / f"home.{end}", mode) as archive:  # type: ignore[call-overload]
            archive.add(pack, "home")
    (folder / "conftest.py").write_text((Path(__file__).parents[1] / "plugin" / "lab.py").read_text())
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_tones.py").write_text(
        "from pytest_audiobench import manifest, multiple_choice\n\n\n"
        "def test_tones(evaluate):\n    evaluate(manifest('data/tones.jsonl', groups=['parity']), multiple_choice())\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "--ab-model=tone:one", "--ab-store=store", "-pno:cacheprovider"]
    subprocess.run([*command, "test_tones.py"], cwd=folder, check=True, capture_output=True)
    (made,) = (folder / "reports").glob("*/run.json")
    made.parent.rename(folder / "reports" / "run")
    with contextlib.chdir(folder):
        ended, said = _command("baseline", "update", "reports/run", "--text", "--out", "main.json")
    assert ended == 0, said


class _Raw(Exception):
    """A command ended as none does; the message says how."""


def _command(*arguments: str) -> tuple[int, str]:
    """The exit code of ``audiobench`` with ``arguments``, and what it said."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        return audiobench(arguments), said.getvalue()


def _done(*arguments: str) -> bool:
    """Whether the command took the file; where not, what it said is a sentence."""
    code, said = _command(*arguments)
    if code not in (0, 1, 4, 6) or "Traceback" in said:
        raise _Raw(f"exit {code}: {said[-300:]}")
    if code and not re.search(r"audiobench: |wrong: |FAILS: |regressed|not comparable|incomplete", said):
        raise _Raw(f"exit {code} without a sentence: {said[-300:]}")
    return code == 0


def _samples(path: Path, **options: Any) -> bool:
    """Reads a manifest's samples, and plays what they name."""
    for sample in manifest(path, **options).read(Places(path.parent)):
        assert sample.id
        assert isinstance(sample.reference, str)
        for clip in sample.clips:
            decode(clip, 16_000, 1.0)
    return True


def _declared(folder: Path) -> bool:
    path = folder / "tones.audiobench.toml"
    places = Places(folder, {"damaged": folder / "data"})
    for task in read_declaration(path).values():
        if task.data is None:
            continue
        assert task.outline is not None
        for case in task.data.ids():
            for sample in declared_loader(path)(**case).read(places):
                assert sample.id
    return True


def _unpacked(folder: Path, end: str) -> bool:
    before = {path for path in folder.parent.rglob("*") if not path.is_relative_to(folder)}
    done = _done("packs", "--unpack", f"home.{end}", "--to", "shelf", "--most-gb", "0.05")
    if after := {path for path in folder.parent.rglob("*") if not path.is_relative_to(folder)} - before:
        raise _Raw(f"it left the folder: {after}")
    if any(path.is_symlink() for path in (folder / "shelf").rglob("*")):
        raise _Raw("it made a link")
    return done and _done("packs", "home", "--data", "packs=shelf")


def _run_rows(folder: Path) -> list[Any]:
    run = folder / "reports" / "run"
    items = []
    for item in read_run(run / "run.json").items:
        # A hash of another name says nothing of anything.
        hashes = {name: text for name, text in item.hashes.items() if name in _HASHES}
        items.append([*(getattr(item, name) for name in _COVERED), hashes])
    lines = {kind: list(read_lines(run / LINE_FILES[kind], row)) for kind, row in _LINES.items()}
    # Where a file lay is for people; its content has a key.
    lines["predictions"] = [
        structs.replace(row, audio=[structs.replace(clip, source="") for clip in row.audio])
        for row in lines["predictions"]
    ]
    return [items, *lines.values()]


def _verified(folder: Path, whole: list[Any]) -> bool:
    """Whether a run verifies: then nothing of what its hashes cover is otherwise than it was."""
    if not _done("verify", "reports/run"):
        return False
    for name, was, now in zip(("run.json", *LINE_FILES.values()), whole, _run_rows(folder), strict=True):
        if was != now:
            raise _Silent(f"{name} verifies though it is another: {_difference(was, now)}")
    return True


class _Silent(Exception):
    """Other values than were written, and nobody says so."""


def _difference(was: Any, now: Any) -> str:
    pairs = [(a, b) for a, b in zip(was, now, strict=False) if a != b]
    return f"{len(was)} and {len(now)} rows, {str(pairs[:1])[:600]}"


RUN = [f"reports/run/{name}" for name in ("run.json", *LINE_FILES.values())]
DOORS: dict[str, tuple[int, list[str], Callable[[Path, list[Any]], bool]]] = {
    "manifest": (5, ["data/tones.jsonl"], lambda folder, _: _samples(folder / "data" / "tones.jsonl")),
    "table": (4, ["data/own.csv"], lambda folder, _: _samples(folder / "data" / "own.csv", groups=["parity"])),
    "declaration": (5, ["tones.audiobench.toml", "tones.audiobench.toml", "data/tones.csv"], lambda f, _: _declared(f)),
    "rules": (3, ["rules/audiobench.toml"], lambda f, _: bool(read_rules(f / "rules" / "audiobench.toml"))),
    "pack": (3, ["packs/home/pack.json"], lambda folder, _: _done("packs", "home", "--data", "packs=packs")),
    "recipes.yaml": (2, ["recipes.yaml"], lambda folder, _: _mixed("recipes.yaml")),
    "recipes.json": (1, ["recipes.json"], lambda folder, _: _mixed("recipes.json")),
    "zip": (3, ["home.zip"], lambda folder, _: _unpacked(folder, "zip")),
    "tar": (2, ["home.tar"], lambda folder, _: _unpacked(folder, "tar")),
    "tar.gz": (1, ["home.tar.gz"], lambda folder, _: _unpacked(folder, "tar.gz")),
    "tar.bz2": (1, ["home.tar.bz2"], lambda folder, _: _unpacked(folder, "tar.bz2")),
    "tar.xz": (1, ["home.tar.xz"], lambda folder, _: _unpacked(folder, "tar.xz")),
    "baseline": (5, ["main.json"], lambda folder, _: _done("baseline", "show", "main.json")),
    "compare": (4, ["main.json", *RUN], lambda folder, _: _done("compare", "main.json", "reports/run", "--gate")),
    "verify": (5, RUN, _verified),
    "score": (2, RUN[1:2], lambda folder, _: _done("score", "reports/run")),
    "comment": (1, RUN[:1], lambda folder, _: _done("comment", "reports/run")),
}


def _mixed(file: str) -> bool:
    return _done("mix", "preview", "--recipes", file, "--name", "street", "--pack", "home", "--data", "packs=packs")


def damaged(content: bytes, suffix: str, drawn: random.Random) -> tuple[str, bytes]:
    """``content`` of a file of that suffix, damaged as drawn, and the damage's name."""
    changes = [*_OF_BYTES]
    if suffix in (".json", ".jsonl", ".toml", ".csv", ".yaml"):
        changes += [_hostile_text, _hostile_token, _line_twice, _lines_swapped, _line_gone] * 2
    if suffix in (".json", ".jsonl"):
        changes += [_hostile_node] * 12
    if suffix == ".tar":
        changes += [_tar_field] * 6
    if suffix == ".zip":
        changes += [_zip_name] * 3
    names = []
    for _ in range(drawn.choice([1, 1, 1, 2, 3])):
        change = drawn.choice(changes)
        names.append(change.__name__.strip("_"))
        with contextlib.suppress(ValueError, RecursionError):
            content = change(content, drawn) if content else content
    return ", ".join(names), content


def _bits(content: bytes, drawn: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(drawn.choice([1, 1, 2, 16])):
        changed[drawn.randrange(len(changed))] ^= 1 << drawn.randrange(8)
    return bytes(changed)


def _noise(content: bytes, drawn: random.Random) -> bytes:
    start = drawn.randrange(len(content))
    length = drawn.choice([1, 4, 64, 512])
    return content[:start] + drawn.randbytes(length) + content[start + length :]


def _cut(content: bytes, drawn: random.Random) -> bytes:
    return content[: drawn.randrange(len(content))]


def _hole(content: bytes, drawn: random.Random) -> bytes:
    start = drawn.randrange(len(content))
    return content[:start] + content[start + drawn.choice([1, 2, 10, 500]) :]


def _piece_twice(content: bytes, drawn: random.Random) -> bytes:
    start, other = drawn.randrange(len(content)), drawn.randrange(len(content))
    return content[:other] + content[start : start + drawn.choice([1, 10, 300])] + content[other:]


def _number(content: bytes, drawn: random.Random) -> bytes:
    start, width = drawn.randrange(len(content)), drawn.choice([1, 2, 4, 8])
    value = drawn.choice([0, 1, -1, 2**31, 2**31 - 1, 2**63, 0x7FFF]) & ((1 << 8 * width) - 1)
    return content[:start] + value.to_bytes(width, "little") + content[start + width :]


def _other_coding(content: bytes, drawn: random.Random) -> bytes:
    text = content.decode("latin-1")
    return drawn.choice([text.encode("utf-16"), b"\xef\xbb\xbf" + content, text.replace("\n", "\r").encode("latin-1")])


def _foreign(content: bytes, drawn: random.Random) -> bytes:
    deep = drawn.choice([500, 5_000, 100_000])
    return drawn.choice(
        [
            b"",
            b"\n\n",
            b"null",
            b"[]",
            b"{}",
            b'"text"',
            b"[" * deep,
            b'{"a":' * deep + b"1" + b"}" * deep,
            b"a = " + b"[" * deep + b"]" * deep,
            b"a" + b".a" * deep + b" = 1",
            b"- " * deep,
            b"x: &x [*x]",
            b"a: &a [1,1]\nb: &b [*a,*a]\nc: [*b,*b]",
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            b"PK\x03\x04" + content[4:],
            b"\x1f\x8b" + content,
            bytes(len(content)),
            b"x" * 3_000_000,
            b"9" * 6_000,
            drawn.randbytes(2_000),
        ]
    )


_TEXTS = [
    *[
        "",
        " ",
        "\0",
        "\ud800",
        "\u202e",
        "x" * 100_000,
        "é" * 3_000,
        "../../../etc/passwd",
        "/etc/passwd",
        "a\nb",
        "\r",
    ],
    *["{", "{}", "{id", "{id|nothing}", "{__class__}", "%s", "${HOME}", "~/x", "[", "(a+)+$", "*", "**", "?", "NaN"],
    *["-1", "1e999", "9" * 500, "0x10", "1_0", "true", "null", "2026-01-01", "CON", "a/../b", "C:\\x", "\\\\x\\y", ","],
    *['"', "'", ";", "<script>", "\x1b[31m", "\u2028", "İ", "ß", "q" * 300, ".", "..", "a//b", "file:///etc", "@-6"],
]
_VALUES: list[Any] = [
    *[None, True, False, 0, -1, 1, 2, 7, 2**31, 2**53, 2**63, -(2**63), 2**64, 10**400, 0.5, -0.0, 1e308, 1e-320],
    *[float("nan"), float("inf"), float("-inf"), [], {}, [[]], [None], {"": None}, {"a": {"b": []}}, [1] * 2_000],
    *["A", "B", "error", "parsed", "passed", "failed", "letters", "accuracy", "0" * 64, "f" * 64, *_TEXTS],
]


def _hostile_text(content: bytes, drawn: random.Random) -> bytes:
    start = drawn.randrange(len(content))
    return content[:start] + drawn.choice(_TEXTS).encode("utf-8", "surrogatepass") + content[start:]


def _hostile_token(content: bytes, drawn: random.Random) -> bytes:
    """A word, number or sign in place of another of the file's, or of a hostile one."""
    tokens = list(re.finditer(rb"[\w.-]+|[^\w\s]", content))
    if not tokens:
        return content
    place = drawn.choice(tokens)
    text = drawn.choice([drawn.choice(tokens)[0], drawn.choice(_TEXTS).encode("utf-8", "surrogatepass")])
    return content[: place.start()] + text + content[place.end() :]


def _line_twice(content: bytes, drawn: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    lines.insert(drawn.randrange(len(lines) + 1), drawn.choice(lines))
    return b"".join(lines)


def _lines_swapped(content: bytes, drawn: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    first, second = drawn.randrange(len(lines)), drawn.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return b"".join(lines)


def _line_gone(content: bytes, drawn: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    del lines[drawn.randrange(len(lines))]
    return b"".join(lines)


def _nodes(value: Any) -> Iterator[tuple[Any, Any]]:
    """All places in a JSON value, each as what holds it and its name there."""
    for name in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield value, name
        yield from _nodes(value[name])


def _hostile_node(content: bytes, drawn: random.Random) -> bytes:
    """A value of the file gone, renamed, or another: a hostile one, one of elsewhere in the file, or one near it."""
    lines = content.splitlines() if b"\n{" in content else [content]
    number = drawn.randrange(len(lines))
    value = json.loads(lines[number])
    places = list(_nodes(value))
    if not places:
        return content
    holder, name = drawn.choice(places)
    how = drawn.randrange(6)
    if how == 0:
        del holder[name]
    elif how == 1 and isinstance(holder, dict):
        holder[drawn.choice(_TEXTS)] = holder.pop(name)
    elif how == 2:
        other, place = drawn.choice(places)
        holder[name] = json.loads(json.dumps(other[place]))
    elif how == 3 and isinstance(holder[name], (int, float)):
        holder[name] = drawn.choice([holder[name] + 1, -holder[name], holder[name] * 1.0000001, holder[name] / 2])
    elif how == 4 and isinstance(holder[name], str):
        text = holder[name]
        holder[name] = drawn.choice([text + " ", text.upper(), text[:-1], text + text, text.replace("e", "é")])
    else:
        holder[name] = drawn.choice(_VALUES)
    lines[number] = json.dumps(value, ensure_ascii=drawn.random() < 0.5).encode("utf-8", "surrogatepass")
    return b"\n".join(lines) + b"\n"


def _tar_field(content: bytes, drawn: random.Random) -> bytes:
    """A header of an archive with another name, size, kind or link, and its checksum made right."""
    heads = [at for at in range(0, len(content), 512) if content[at + 257 : at + 262] == b"ustar"]
    if not heads:
        return content
    at = drawn.choice(heads)
    head = bytearray(content[at : at + 512])
    start, width, values = drawn.choice(
        [
            (0, 100, [b"../x", b"/tmp/x", b"a/" * 40 + b"x", b"", b".", b"home", b"home/hum", b"\xff\xfe", b"x\ny"]),
            (124, 12, [b"77777777777\0", b"-1", b"", b"\x80" + b"\xff" * 11, b"00000000001\0", b"zz"]),
            (156, 1, [b"1", b"2", b"3", b"6", b"5", b"x", b"g", b"L", b"K", b"S", b"D", b"V", b"\0"]),
            (157, 100, [b"/etc/passwd", b"../../x", b"home/hum/1.wav"]),
            (345, 155, [b"..", b"/", b"a/" * 70]),
        ]
    )
    head[start : start + width] = drawn.choice(values)[:width].ljust(width, b"\0")
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return content[:at] + bytes(head) + content[at + 512 :]


def _zip_name(content: bytes, drawn: random.Random) -> bytes:
    """A name of an archive's member replaced everywhere by another of the same length."""
    name = drawn.choice([b"home/hum/1.wav", b"home/beep/1.wav", b"home/pack.json"])
    other = drawn.choice(
        [b"../../../../x", b"/tmp/abcdefghij", b"home/hum/1.wav", b"C:\\x\\y", b"a/b/c/d/e/f", b"\xff\xfe"]
    )
    return content.replace(name, other[: len(name)].ljust(len(name), b"x"))


_OF_BYTES = [_bits, _bits, _noise, _cut, _hole, _piece_twice, _number, _other_coding, _foreign]


def outcome(whole: Path, work: Path, seed: int, rows: list[Any]) -> tuple[str, str, str]:
    """The door, the damage, and what became of the file that ``seed`` draws: read, refused, or a mistake of ours."""
    drawn = random.Random(f"damaged file {seed}")
    door = drawn.choices(list(DOORS), [weight for weight, *_ in DOORS.values()])[0]
    _, files, read = DOORS[door]
    name = drawn.choice(files)
    content = (whole / name).read_bytes()
    how, changed = damaged(content, Path(name).suffix, drawn)
    (work / name).write_bytes(changed)
    started, result = time.process_time(), ""
    try:
        result = "read" if read(work, rows) else "refused"
    except AudiobenchError as error:
        result = "refused" if str(error).strip() else "raw: an error without words"
    except _Silent as error:
        result = f"silent: {error}"
    except MemoryError:
        result = "raw: MemoryError"
    except BaseException as error:
        result = f"raw: {type(error).__name__}: {str(error)[:500]}"
    finally:
        (work / name).write_bytes(content)
        _clean(work)
    if time.process_time() - started > LONGEST_S:
        result = f"slow: {time.process_time() - started:.0f} s, {result}"
    return door, f"{name} ({how})", result


def _clean(work: Path) -> None:
    shutil.rmtree(work / "shelf", ignore_errors=True)
    (work / "street.wav").unlink(missing_ok=True)


def main(folder: str, first: str, last: str) -> None:
    whole, work = Path(folder, "whole"), Path(folder, "around", "work")
    whole.mkdir()
    make_files(whole)
    shutil.copytree(whole, work)
    os.chdir(work)
    rows = _run_rows(work)
    for door, (_, _, read) in DOORS.items():
        assert read(work, rows), f"{door} refuses a file that is whole"
        _clean(work)
    with Path(folder, "outcomes.jsonl").open("w", buffering=1) as file:
        for seed in range(int(first), int(last)):
            faulthandler.dump_traceback_later(HANG_S, exit=True)
            print(json.dumps({"seed": seed}), file=file)
            door, how, result = outcome(whole, work, seed, rows)
            print(json.dumps({"seed": seed, "door": door, "how": how, "outcome": result}), file=file)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps({"peak_bytes": _peak_bytes()}), file=file)


def _peak_bytes() -> int:
    # On Linux a child's ru_maxrss starts at its parent's, which may have loaded torch; VmHWM is the child's own.
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    main(*sys.argv[1:])
