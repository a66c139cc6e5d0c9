"""The parts of a run: the files that one item leaves at its end, which the run's files are merged from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.errors import FatalError
from pytest_audiobench.evaluation.record import ItemRecord
from pytest_audiobench.identity import digest
from pytest_audiobench.report.atomic_files import replacing, write_text
from pytest_audiobench.report.json_lines import encode_line, write_lines

FOLDER = "parts"
KINDS = ("predictions", "processed", "scored")
COMPARED = "compared"
"""The kind of lines that only a run with a baseline has."""

Rows = Iterable[Mapping[str, Any]]


class Lines(NamedTuple):
    """An item's rows for each of the line files, in one and the same order of samples and epochs.

    ``compared`` holds what a baseline said of the samples in a pair, None where the run has none.
    """

    predictions: Rows = ()
    processed: Rows = ()
    scored: Rows = ()
    compared: Rows | None = None


@dataclass(frozen=True)
class Part:
    """A whole part: the item's record as JSON values, and where its lines lie."""

    stem: str
    item: dict[str, Any]
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
        write_lines(folder / f"{stem(item)}.{COMPARED}.jsonl", lines.compared)
    write_record(folder, item)


@contextmanager
def adding_lines(folder: Path, own: str) -> Iterator[Callable[[Lines], None]]:
    """A function that adds lines to the first three files of the part ``own``; they appear when the block ends well."""
    with ExitStack() as files:
        opened = [files.enter_context(replacing(folder / f"{own}.{kind}.jsonl")) for kind in KINDS]

        def add(lines: Lines) -> None:
            for file, rows in zip(opened, (lines.predictions, lines.processed, lines.scored), strict=True):
                file.writelines(map(encode_line, rows))

        yield add


def write_record(folder: Path, item: ItemRecord) -> None:
    """Write an item's record, which marks its part as whole."""
    write_text(folder / f"{stem(item)}.item.json", json.dumps(item.to_json(), allow_nan=False, sort_keys=True))


def whole_parts(folder: Path) -> list[Part]:
    """The whole parts in ``folder``, by place in the collection. Raises FatalError for a record that is not JSON."""
    parts = []
    for path in sorted(folder.glob("*.item.json")):
        try:
            item = json.loads(path.read_bytes())
        except ValueError as error:
            raise FatalError(f"{path} is not JSON ({error}): remove it and run again, which asks no model") from error
        parts.append(Part(path.name.removesuffix(".item.json"), item, folder))
    return parts


def unfinished(folder: Path) -> list[str]:
    """The stems of items that wrote lines and never their record."""
    begun = {path.name.partition(".")[0] for path in folder.glob("[0-9]*.jsonl")}
    return sorted(begun - {path.name.partition(".")[0] for path in folder.glob("*.item.json")})
