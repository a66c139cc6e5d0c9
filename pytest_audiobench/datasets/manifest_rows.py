"""The rows of a manifest or a folder of audio, whatever its layout, under the names of a manifest's fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from pytest_audiobench.datasets.audio_folders import METADATA, class_rows, metadata_of, splits_in
from pytest_audiobench.datasets.columns import FROM_ANSWERS, Columns, mapped
from pytest_audiobench.datasets.table_rows import Row, csv_rows, jsonl_rows
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes

ENDINGS = (".jsonl", ".ndjson", ".csv", ".tsv")
Place: TypeAlias = int | str
"""The number of a line, or a file's path in its folder."""


class ManifestRows:
    """The rows of ``file`` with their places, read anew by each iteration.

    What is wrong with lines is added to ``mistakes``; UsageError is raised for what cannot be read at all.
    """

    def __init__(self, file: Path, columns: Columns, mistakes: Mistakes) -> None:
        self._mistakes = mistakes
        self._is_folder = file.suffix.lower() not in ENDINGS and file.is_dir()
        self._within = ""
        listing = metadata_of(file) if self._is_folder else None
        if listing:
            (file, self._within), columns = listing, columns.of_audiofolder()
        self._of_classes = self._is_folder and not listing
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
        if not self._is_folder and not file.exists():
            raise UsageError(f"there is no file or folder {file}; correct the path")
        if not self._is_folder and file.suffix.lower() not in ENDINGS:
            raise UsageError(f"{file} is no manifest: its name ends with none of {', '.join(ENDINGS)}")

    @property
    def root(self) -> Path:
        """The folder in which the audio is."""
        return self.file if self._of_classes else self.file.parent

    @property
    def question(self) -> str | None:
        """What is asked where a row has no question."""
        question = self._columns.keywords.get("question")
        is_column = self.fields.get("question") == question
        return question if isinstance(question, str) and not is_column else None

    def at(self, place: Place) -> str:
        """A row's place in words."""
        return f"{self.file}, line {place}" if isinstance(place, int) else f"{self.file}/{place}"

    def __iter__(self) -> Iterator[tuple[Place, Row]]:
        if self._of_classes:
            yield from class_rows(self.file, self._call_of)
        elif self._is_folder:
            yield from self._of_split()
        else:
            yield from self._lines()

    def _call_of(self, inner: str) -> str:
        return self._columns.call((Path(self._columns.path) / inner).as_posix())

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
                advice = f"name one of its splits: {self._call_of(min(splits))}"
                raise UsageError(f"{self.file}, line {line} and before it, lists audio of {listed}; {advice}")
            yield line, row

    def _lines(self) -> Iterator[tuple[int, Row]]:
        suffix = self.file.suffix.lower()
        if suffix in {".jsonl", ".ndjson"}:
            rows = self._objects()
        else:
            rows = csv_rows(self.file, self._mistakes.add, self._find_fields, tabs=suffix == ".tsv")
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


def _with_references(row: Row) -> Row:
    """``row`` with its references behind its answer."""
    answer, references = row.get("answer"), row.get("references")
    texts = references if isinstance(references, list) else [references]
    answers = [*(answer if isinstance(answer, list) else [answer]), *(text for text in texts if text != answer)]
    others = {name: value for name, value in row.items() if name != "references"}
    return {**others, "answer": [text for text in answers if text is not None] or None}
