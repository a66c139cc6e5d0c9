"""Files of answers that another tool recorded: what a reader is given, the rows that it gives, and which readers are.

A module in ``compat/readers/`` lists its readers as ``READERS`` and is found by itself. Scoring again, comparisons,
baselines and ``replay:`` all take the same rows.
"""

from __future__ import annotations

import csv
import json
import pkgutil
import tomllib
from codecs import getincrementaldecoder
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatch
from functools import cache, cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from pytest_audiobench.compat import readers
from pytest_audiobench.datasets.sample import Field
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.bounded_lines import bounded_lines
from pytest_audiobench.io.mistakes import listed
from pytest_audiobench.models.messages import Finish
from pytest_audiobench.models.replay.recorded_run import records
from pytest_audiobench.records.reading import LONGEST_LINE

K = TypeVar("K")
V = TypeVar("V")

Origin: TypeAlias = Literal["real file", "written by the tool", "imitation"]
"""What a reader was tried with: a published file, one that the tool's own writer wrote here, or one made after its
documentation.
"""

_MOST_BYTES = 256_000_000
"""A file that is one JSON text must be held whole."""
_BLOCK = 1 << 20
_NO_MODELS = ("hyp", "hyps", "hypothesis", "hypotheses", "text", "rec", "output", "predictions", "system")
_JSON_ENDINGS = (".json", ".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """What one model answered to one sample, as another tool wrote it down."""

    id: str
    answer: str | None
    """None where the asking failed, which ``error`` tells."""
    reference: str | tuple[str, ...] | None = None
    """Several where any of them is right; None where the file has none."""
    options: tuple[str, ...] = ()
    question: str = ""
    audio: str = ""
    """The path or name of the recording: answers to one recording are one cluster."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """Fields by which the figures are broken down."""
    metadata: Mapping[str, Field] = field(default_factory=dict)
    """What a scorer needs in addition, such as the clip's seconds."""
    scorers: tuple[str, ...] = ()
    """The scorers of the family that fit, where the user names none; none for all."""
    own: Mapping[str, Any] = field(default_factory=dict)
    """What the tool itself made of the answer: its score, its verdict. What is a metric of ours has its name and unit.
    """
    error: str = ""
    eval: str = ""
    """"" for the file's name."""
    model: str = ""
    """"" for the name of the file's folder."""
    family: str = ""
    """The family of protocols as ``--family`` takes it; "" where only the user can say."""
    epoch: int = 0
    finish: Finish = "unknown"
    note: str = ""
    """What a reader of the figures must know of the file, the same for all rows."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """What the tool itself says of the whole eval, named as in ``own``; the same for all rows."""
    verdicts: Mapping[str, str] = field(default_factory=dict)
    """What a judge said about the answer that the tool had asked, by the name of the judging that asks the same."""
    scorer: str = ""
    """The scorer of the family that follows the tool's own rule; "" where none is known to."""


@dataclass(frozen=True)
class ReadingTerms:
    """What a user says of a file that it does not say itself."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """The columns of a table, by field of :class:`RecordedAnswer`."""
    references: Path | None = None
    """The file of references next to one of hypotheses."""
    reader: str = ""
    """The name of the reader, where several could read the file."""
    family: str = ""
    eval: str = ""
    model: str = ""


NO_TERMS = ReadingTerms()
TERMS_FILE = "answers.toml"
"""What is said of the files of a folder, next to them: the fields of :class:`ReadingTerms` for all of them, and for one
in a table of its name.
"""


def terms_beside(file: Path, said: ReadingTerms = NO_TERMS) -> ReadingTerms:
    """The terms of ``file``: what was ``said``, before what is in ``answers.toml``, its own table first.

    Raises UsageError for a key that means nothing, and for a file that is not TOML.
    """
    place = file.with_name(TERMS_FILE)
    written = _terms_written(place)
    for_all = {name: value for name, value in written.items() if name == "columns" or not isinstance(value, dict)}
    own = written.get(file.name, {})
    names = [member.name for member in fields(ReadingTerms)]
    for name in (*for_all, *own):
        if name not in names:
            raise UsageError(f"{place}: {name!r} means nothing; there are {', '.join(names)}, and tables of files")
    merged: dict[str, Any] = {**for_all, **own}
    merged["columns"] = {**for_all.get("columns", {}), **own.get("columns", {}), **said.columns}
    if "references" in merged:
        merged["references"] = place.parent / str(merged["references"])
    if wrong := next((name for name, value in merged.items() if not isinstance(value, (str, dict, Path))), None):
        raise UsageError(f"{place}: {wrong} must be a text")
    given = {name: getattr(said, name) for name in names if name != "columns" and getattr(said, name)}
    return ReadingTerms(**{**merged, **given})


def _references_named(folder: Path) -> list[str]:
    """The files of references that the ``answers.toml`` of ``folder`` names."""
    written = _terms_written(folder / TERMS_FILE)
    tables = [written, *(value for value in written.values() if isinstance(value, dict))]
    return [str(table["references"]) for table in tables if isinstance(table.get("references"), str)]


def _terms_written(place: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(place.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(f"{place} cannot be read ({error}): write TOML") from None


@dataclass(frozen=True)
class AnswerFile:
    """One file that a reader may know, opened as far as is asked."""

    path: Path
    terms: ReadingTerms = NO_TERMS

    @cached_property
    def first(self) -> Mapping[str, Any]:
        """Its first JSON object: of its lines, of its list, or the whole; empty where it holds none."""
        if self.path.suffix.lower() not in _JSON_ENDINGS:
            return {}
        try:
            return next((row for _, row in records(self.path)), {})
        except UsageError:
            return self.content if isinstance(self.content, dict) else next(iter(self._listed()), {})

    @cached_property
    def content(self) -> Any:
        """The JSON text that it is as a whole; None where it is none. Raises UsageError for more than 256 MB."""
        if self.path.suffix.lower() not in _JSON_ENDINGS:
            return None
        if (size := self.path.stat().st_size) > _MOST_BYTES:
            raise UsageError(
                f"{self.path} is one JSON text of {size / 1e6:.0f} MB, too much to hold: write one object a line"
            )
        try:
            return json.loads(self._text(), strict=False)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def damage(self) -> str:
        """Where the JSON text that it begins as a whole is broken; "" where it is sound, or begins as none."""
        if self.path.suffix.lower() not in _JSON_ENDINGS:
            return ""
        text = self._text().rstrip()
        if not text.lstrip().startswith(("[", "{")):
            return ""
        try:
            json.loads(text, strict=False)
        except json.JSONDecodeError as error:
            if error.pos >= len(text) or error.msg.startswith("Unterminated string"):
                return f"breaks off at line {len(text.splitlines())}: its JSON ends too early"
            return f"is broken at line {error.lineno}, column {error.colno}: {error.msg}"
        except RecursionError:
            return "is nested too deeply to be read"
        return ""

    @cached_property
    def header(self) -> tuple[str, ...]:
        """The names above the columns of a ``.csv`` or ``.tsv``; empty for any other file."""
        delimiter = {".csv": ",", ".tsv": "\t"}.get(self.path.suffix.lower())
        if delimiter is None:
            return ()
        line = next((line for _, line in self.lines() if line.strip()), "")
        return tuple(next(csv.reader([line], delimiter=delimiter), ()))

    def objects(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Its JSON objects with their lines, or with their places from 1 where it is one list.

        Raises UsageError for anything that is not an object.
        """
        if self.path.suffix.lower() == ".json" and isinstance(self.content, list):
            for number, row in enumerate(self.content, 1):
                if not isinstance(row, dict):
                    raise UsageError(f"{self.path}: element {number} is JSON but no object")
                yield number, row
        else:
            yield from records(self.path)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Its lines of text with their numbers, without line ends and byte order mark."""
        for number, line in bounded_lines(self.path, LONGEST_LINE):
            yield number, line.decode("utf-8", "surrogateescape")

    def first_lines(self, count: int) -> Iterator[tuple[int, str]]:
        """The first of its lines."""
        yield from islice(self.lines(), count)

    @cached_property
    def is_binary(self) -> bool:
        """Whether it is not text: audio, an archive, a database."""
        with self.path.open("rb") as file:
            return b"\0" in file.read(4096)

    def references_beside(self, names: Sequence[str]) -> Path | None:
        """The file of references: the one that the user names, else the only one next to it that has such a name.

        Raises UsageError where several have, and where the named one is not there.
        """
        if (named := self.terms.references) is not None:
            if not named.is_file():
                raise UsageError(f"there is no file of references {named}: correct --references")
            return named
        folder = self.path.parent
        near = sorted({place for name in names for place in folder.glob(name) if place.is_file()} - {self.path})
        if len(near) > 1:
            several = ", ".join(place.name for place in near[:5])
            raise UsageError(
                f"{self.path}: its references could be in any of {several}: say which by --references FILE"
            )
        return next(iter(near), None)

    def names_with(self, references: Path | None) -> tuple[str, str]:
        """The eval and the model of this file's hypotheses, which belong to ``references``: it is called after the
        references' folder; the model after the file, or after its folder where the file's name says nothing.
        """
        model = "" if self.path.stem.lower() in _NO_MODELS else self.path.stem
        return "" if references is None else references.resolve().parent.name, model

    def beside(self, name: str) -> Path | None:
        """The file of this name in its folder, where there is one."""
        place = self.path.with_name(name)
        return place if place.is_file() else None

    def _text(self) -> str:
        return self.path.read_bytes().decode("utf-8-sig", "surrogateescape")

    def _listed(self) -> list[Mapping[str, Any]]:
        content = self.content
        return [row for row in content[:1] if isinstance(row, dict)] if isinstance(content, list) else []


@dataclass(frozen=True)
class Reader:
    """How one tool's files of answers are read."""

    name: str
    about: str
    """What it reads, as it is in a sentence: "AudioBench's score file (wer and sample_wer)"."""
    origin: Origin
    fits: Callable[[AnswerFile], bool]
    """By what the file holds, never by its name alone."""
    rows: Callable[[AnswerFile], Iterator[RecordedAnswer]]
    """An eval's rows one after the other. Raises UsageError, with the place, for what cannot be read."""
    endings: tuple[str, ...] = (".jsonl",)
    beside: tuple[str, ...] = ()
    """Patterns of names of further files of the folder that it reads along."""
    general: bool = False
    """Whether it is asked only after the readers of particular tools."""


_NAMED = 5


def with_ids_of(said: Mapping[K, Any], true: Mapping[K, V]) -> dict[K, V]:
    """The references by the ids of the hypotheses, where the two write them in other cases, as sclite takes them."""
    if said.keys() == true.keys():
        return dict(true)
    written = {str(id_).casefold(): id_ for id_ in said}
    if len(written) < len(said) or len({str(id_).casefold() for id_ in true}) < len(true):
        return dict(true)
    return {written.get(str(id_).casefold(), id_): value for id_, value in true.items()}


def ids_lost(file: Path, references: Path, said: Collection[str], true: Collection[str]) -> None:
    """Raises UsageError where hypotheses and references are not of the same ids; it names the first."""
    for ids, others, what in (
        (true, said, f"{file} has no hypothesis"),
        (said, true, f"{references} has no reference"),
    ):
        if lost := [id_ for id_ in ids if id_ not in others]:
            raise UsageError(
                f"{what} of {listed([*map(repr, lost)], _NAMED)} ({len(said):,} hypotheses, {len(true):,} "
                "references): was the file cut?"
            )


def unanswered_note(references: Path, unanswered: int, true: int) -> str:
    """That a file of references holds more than was answered; "" where it does not."""
    if not unanswered:
        return ""
    return f"{unanswered:,} of {true:,} references in {references.name} have no answer: the figures are of the others"


@cache
def all_readers() -> Mapping[str, Reader]:
    """The readers by name, those of particular tools first."""
    modules = sorted(module.name for module in pkgutil.iter_modules(readers.__path__))
    listed: list[Reader] = []
    for module in modules:
        listed += import_module(f"{readers.__name__}.{module}").READERS
    return {reader.name: reader for reader in sorted(listed, key=lambda reader: (reader.general, reader.name))}


def reader_of(file: AnswerFile) -> Reader | None:
    """The reader that knows ``file``, or that the user named; None where none does.

    Raises UsageError where several tools' do, or the named one does not.
    """
    if wanted := file.terms.reader:
        if wanted not in all_readers():
            raise UsageError(f"there is no reader {wanted!r}; there are {', '.join(all_readers())}")
        return all_readers()[wanted]
    fitting = [reader for reader in all_readers().values() if reader.fits(file)]
    particular = [reader for reader in fitting if not reader.general] or fitting
    if len(particular) > 1:
        names = ", ".join(reader.name for reader in particular)
        raise UsageError(f"{file.path} could be read by several readers ({names}): name one with --reader NAME")
    return next(iter(particular), None)


def answers_of(reader: Reader, file: AnswerFile) -> list[RecordedAnswer]:
    """All rows of ``file``, each with its eval and model, which are named after the file where nothing else tells.

    Raises UsageError for an id that comes twice in one eval.
    """
    terms, path = file.terms, file.path
    rows = [
        replace(
            row,
            eval=terms.eval or row.eval or path.stem,
            model=terms.model or row.model or path.resolve().parent.name,
            family=terms.family or row.family,
        )
        for row in _read(reader, file)
    ]
    seen: set[tuple[str, str, int, str]] = set()
    for row in rows:
        if (identity := (row.eval, row.model, row.epoch, row.id)) in seen:
            raise UsageError(
                f"{path} holds {row.id!r} of {row.eval} by {row.model} twice: rows of two runs lie in one file, or "
                "another column has the ids (--columns id=…)"
            )
        seen.add(identity)
    return rows


def _read(reader: Reader, file: AnswerFile) -> Iterator[RecordedAnswer]:
    _check_encoding(file.path)
    if reader.general and (references := file.references_beside(reader.beside)) is not None:
        _check_encoding(references)
    try:
        yield from reader.rows(file)
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{file.path} is not one of {reader.about} ({error!r}): was it edited?") from error


def _check_encoding(path: Path) -> None:
    """Raises UsageError for a text that is not in UTF-8: read as such, its words would be others."""
    if not path.is_file() or AnswerFile(path).is_binary:
        return
    decoder, line = getincrementaldecoder("utf-8")(), 1
    with path.open("rb") as file:
        while True:
            block = file.read(_BLOCK)
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                line += error.object.count(b"\n", 0, error.start)
                raise UsageError(
                    f"{path}, line {line} is not UTF-8 text (the byte {error.object[error.start]:#x}): write the "
                    "file again in UTF-8, as by iconv -f LATIN1 -t UTF-8"
                ) from None
            if not block:
                return
            line += block.count(b"\n")


def endings() -> list[str]:
    """How the names of files of answers end."""
    return sorted({ending for reader in all_readers().values() for ending in reader.endings})


def candidates(files: Sequence[Path]) -> list[Path]:
    """The files with an ending that a reader has, without those that are read along with another."""
    known = [file for file in files if _has_ending(file, endings()) and file.name != TERMS_FILE]
    return [file for file in known if not is_read_along(file, known)]


def is_read_along(file: Path, files: Sequence[Path]) -> bool:
    """Whether the reader of another file of its folder reads it too."""
    if file.name == TERMS_FILE or file.name in _references_named(file.parent):
        return True
    for reader in all_readers().values():
        if _matches(file, reader.beside):
            near = [other for other in files if other != file and other.parent == file.parent]
            if any(_has_ending(other, reader.endings) and not _matches(other, reader.beside) for other in near):
                return True
    return False


def _has_ending(file: Path, endings: Sequence[str]) -> bool:
    return file.name.lower().endswith(tuple(endings))


def _matches(file: Path, patterns: Sequence[str]) -> bool:
    return any(fnmatch(file.name, pattern) for pattern in patterns)
