"""The rows of a manifest or a folder of audio, whatever its layout, under the names of a manifest's fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pytest_audiobench.audio.clip import DataRoot
from pytest_audiobench.datasets.audio_folders import METADATA, class_rows, metadata_of, splits_in
from pytest_audiobench.datasets.columns import FROM_ANSWERS, Columns, mapped
from pytest_audiobench.datasets.table_rows import Row, csv_rows, jsonl_rows
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes

if TYPE_CHECKING:
    from pytest_audiobench.datasets.manifest_formats import Format

_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
ENDINGS = (*_LINES, ".csv", ".tsv")
Place: TypeAlias = int | str
"""The number of a line, or a file's path in its folder."""


def stem(file: Path) -> str:
    """A manifest's name without its ending; a folder's name."""
    endings = (*ENDINGS, ".json", ".json.gz", ".parquet")
    ending = next((ending for ending in endings if file.name.lower().endswith(ending)), "")
    return file.parent.name if file.name == "wav.scp" else file.name[: len(file.name) - len(ending)].rstrip("*-")


class ManifestRows:
    """The rows of ``file`` with their places, read again by each iteration.

    What is wrong with lines is added to ``mistakes``; UsageError is raised for what cannot be read at all.
    """

    def __init__(self, file: Path, name: str, folder: Path | None, columns: Columns, mistakes: Mistakes) -> None:
        self._mistakes = mistakes
        self._is_folder = not file.name.lower().endswith(ENDINGS) and file.is_dir()
        self._within = ""
        listing = metadata_of(file) if self._is_folder else None
        self.root = DataRoot(name, folder or (file if self._is_folder and not listing else file.parent))
        """The folder in which the audio is."""
        self._format: Format | None = None
        if listing:
            (file, self._within), columns = listing, columns.of_audiofolder()
            self.root = DataRoot(name, folder or file.parent)
        elif not _is_own(file):
            from pytest_audiobench.datasets.manifest_formats import format_of

            if other := format_of(file, self.root, lambda inner: self._call_of(inner, columns)):
                file, self._format = other.file, other
                columns = replace(columns, audio=other.audio, answer=other.answer)
        self._of_classes = self._is_folder and not listing and not self._format
        self.root = replace(self.root, listing=file.name)
        self._columns = columns
        self.file = file
        self.fields: Mapping[str, str] = {}
        """The column of each field, from the first row on."""
        choices = columns.keywords.get("choices")
        self.labelled = choices == FROM_ANSWERS or (self._of_classes and choices is None)
        """Whether the answers of all rows are the choices of each."""
        if self._of_classes and columns.named:
            advice = f"a folder for each class has no columns; leave out {', '.join(columns.named)}"
            raise UsageError(f"{file} holds no {' or '.join(METADATA)}, and {advice}")
        if not (self._is_folder or self._format) and not file.exists():
            raise UsageError(f"there is no file or folder {file}; correct the path")
        if not (self._is_folder or self._format or file.name.lower().endswith(ENDINGS)):
            raise UsageError(f"{file} is not a manifest: its name ends with none of {', '.join(ENDINGS)}")

    @property
    def question(self) -> str | None:
        """What is asked where a row has no question."""
        question = self._columns.keywords.get("question")
        is_column = self.fields.get("question") == question
        return question if isinstance(question, str) and not is_column else None

    def at(self, place: Place) -> str:
        """A row's place in words."""
        return f"{self.file}, {self.unit} {place}" if isinstance(place, int) else f"{self.file}/{place}"

    @property
    def unit(self) -> str:
        """What the numbers of places count."""
        return self._format.unit if self._format else "line"

    def __iter__(self) -> Iterator[tuple[Place, Row]]:
        if self._format:
            yield from self._records(self._format)
        elif self._of_classes:
            yield from class_rows(self.file, lambda inner: self._call_of(inner, self._columns))
        elif self._is_folder:
            yield from self._of_split()
        else:
            yield from self._lines()

    @staticmethod
    def _call_of(inner: str, columns: Columns) -> str:
        return columns.call((Path(columns.path) / inner).as_posix())

    def _records(self, listing: Format) -> Iterator[tuple[int, Row]]:
        """Those of another tool's format, whose ids and answers may be numbers."""
        for number, (place, record) in enumerate(listing.rows(self._mistakes.add)):
            if number == 0:
                wrong = Mistakes()
                self._find_fields(self.at(place), list(record), "column", wrong)
                wrong.check()
            row = dict(mapped(record, self.fields))
            for field in ("id", "answer"):
                if type(row.get(field)) in (int, float):
                    row[field] = str(row[field])
            yield place, _with_references(row) if "references" in self.fields else row

    def _of_split(self) -> Iterator[tuple[int, Row]]:
        splits: set[str] = set()
        for line, row in self._lines():
            audio = row.get("audio")
            paths = [path for path in (audio if isinstance(audio, list) else [audio]) if isinstance(path, str)]
            if self._within:
                if any(path.removeprefix("./").startswith(self._within) for path in paths):
                    yield line, row
                continue
            splits = splits.union(*map(splits_in, paths))
            if len(splits) > 1:
                listed = " and ".join(map(repr, sorted(splits)))
                advice = f"name one of its splits: {self._call_of(min(splits), self._columns)}"
                raise UsageError(f"{self.file}, line {line} and before it, lists audio of {listed}; {advice}")
            yield line, row

    def _lines(self) -> Iterator[tuple[int, Row]]:
        if self.file.name.lower().endswith(_LINES):
            rows = self._objects()
        else:
            tabs = self.file.suffix.lower() == ".tsv"
            rows = csv_rows(self.file, self._mistakes.add, self._find_fields, tabs=tabs)
        for line, row in rows:
            yield line, _with_references(row) if "references" in self.fields else row

    def _objects(self) -> Iterator[tuple[int, Row]]:
        """As they are where the first has the names of a manifest; then any other key is a mistake."""
        for number, (line, row) in enumerate(jsonl_rows(self.file, self._mistakes.add)):
            if number == 0 and self._columns.differ(list(row)):
                wrong = Mistakes()
                self._find_fields(f"{self.file}, line {line}", list(row), "key", wrong)
                wrong.check()
            yield line, mapped(row, self.fields) if self.fields else row

    def _find_fields(self, place: str, names: Sequence[str], kind: str, mistakes: Mistakes) -> Mapping[str, str]:
        self.fields = self._columns.fields(place, names, kind, mistakes)
        return self.fields


def _is_own(file: Path) -> bool:
    """Whether it is not another tool's by its name, or by the first of its lines."""
    if not file.name.lower().endswith(_LINES) or not file.is_file():
        return file.suffix.lower() in (".csv", ".tsv")
    return "audio" in next((row for _, row in jsonl_rows(file, lambda _: None)), {})


def _with_references(row: Row) -> Row:
    """``row`` with its references behind its answer."""
    answer, references = row.get("answer"), row.get("references")
    texts = references if isinstance(references, list) else [references]
    answers = [*(answer if isinstance(answer, list) else [answer]), *(text for text in texts if text != answer)]
    others = {name: value for name, value in row.items() if name != "references"}
    return {**others, "answer": [text for text in answers if text is not None] or None}
