"""The layouts of recorded answers: which of them a file is in, by what it holds and never by its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_audiobench.compat.answer_files import (
    NO_TERMS,
    AnswerFile,
    ReadingTerms,
    all_readers,
    candidates,
    endings,
    is_read_along,
    reader_of,
    terms_beside,
)
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import digest, file_digest
from pytest_audiobench.io.mistakes import listed
from pytest_audiobench.records.run import PASSED_OVER, RunRecord
from pytest_audiobench.rescoring.own_run import FILE, RECORD, run_of
from pytest_audiobench.rescoring.recorded_answers import RecordedRow, rows_of

_RUN, _STUDY, _BEANS_NEXT, _THENIROCK = "run", "study", "beans-next", "thenirock"
_OF_LINES = (_RUN, _STUDY, _BEANS_NEXT)
_MODULES: Mapping[str, str] = {
    _RUN: "rescoring.own_run",
    _STUDY: "compat.faithfulness_study.recorded_answers",
    _BEANS_NEXT: "compat.beans_next",
    _THENIROCK: "compat.thenirock_audiobench.recorded_answers",
}
"""The module of each layout that says more than rows of texts, in the order of asking: ``LAYOUT`` describes it,
``fits`` knows its first object, ``read`` gives its rows. By name, since they are built on this part. All other tools'
files have a reader (``compat/answer_files.py``).
"""


class UnknownLayout(UsageError):
    """That no reader knows a file: why, and what was looked for."""

    def __init__(self, why: str) -> None:
        super().__init__(f"{why}; {_looked_for()}")
        self.why = why


_OF_ANYTHING = (".txt", "text")
"""Endings of files that may be about anything: where no reader knows one, it holds no answers."""


_MOST_SENTENCES, _MOST_NAMES = 50, 5


class PassedOver(NamedTuple):
    """A file of a folder whose answers could not be read."""

    file: Path
    why: str
    is_unknown: bool = False
    """Whether no reader knows it."""

    def __str__(self) -> str:
        return f"{self.file}{PASSED_OVER}{self.why}"


def _passed_over(file: Path, error: UsageError) -> PassedOver:
    """``file``, whose path the reason does not repeat."""
    is_unknown = isinstance(error, UnknownLayout)
    why = error.why if isinstance(error, UnknownLayout) else str(error)
    if why.startswith(f"{file} "):
        why = f"it{why.removeprefix(str(file))}"
    elif why.startswith((f"{file}, ", f"{file}: ")):
        why = why.removeprefix(str(file))[2:]
    return PassedOver(file, why, is_unknown)


def sentences_of(passed_over: Sequence[PassedOver]) -> list[str]:
    """A sentence for each of the first reasons, and one of what was looked for where a file is in no known layout."""
    by_reason: dict[str, list[PassedOver]] = {}
    for file in passed_over:
        by_reason.setdefault(file.why, []).append(file)
    sentences, told = [], 0
    for first, *others in islice(by_reason.values(), _MOST_SENTENCES):
        names = listed([other.file.name for other in others], _MOST_NAMES)
        sentences.append(f"{first}; so were {len(others)} more: {names}" if others else str(first))
        told += 1 + len(others)
    if more := len(passed_over) - told:
        sentences.append(f"{more} more files were passed over")
    return [*sentences, *([_looked_for()] if any(file.is_unknown for file in passed_over) else [])]


@dataclass(frozen=True)
class Source:
    """Recorded answers in a known layout.

    ``rows`` reads them again each time, one eval after the other; ``run`` is the record of a run of ours, where its
    answers are next to one; ``files`` are all that is read.
    """

    layout: str
    files: tuple[Path, ...]
    rows: Callable[[], Iterator[RecordedRow]]
    run: RunRecord | None = None
    passed_over: tuple[PassedOver, ...] = ()
    """Files of the folder that look like answers and could not be read."""
    others: tuple[Path, ...] = ()
    """Files of the folder that are of no kind that any reader knows."""
    deeper: tuple[Path, ...] = ()
    """Files in its folders that may hold answers and are not read, since some lie right in it."""

    @property
    def plays_files(self) -> bool:
        """Whether models were played the very files that the answers name, and nothing made of them."""
        return {_STUDY, _THENIROCK}.isdisjoint(self.layout.split("+"))

    @property
    def fingerprint(self) -> dict[str, str]:
        """What distinguishes these answers from any other."""
        answers = digest([[file.name, file_digest(file)] for file in self.files])
        return {"adapter": "recorded/1", "layout": self.layout, "answers": answers}


def source_of(
    target: Path,
    manifests: Path | None = None,
    crashes: str = "error",
    labels: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    task_type: str = "",
    terms: ReadingTerms = NO_TERMS,
    needs_references: bool = True,
) -> Source:
    """The answers at ``target``, a file or a folder of them.

    ``manifests`` is where the study's manifests lie, ``crashes`` what its crashes count as ("error" or "unanswered").
    ``labels`` are label lists by task, ``task_type`` the kind of BEANS-Next's tasks that say none; ``terms`` are what
    the user says of other tools' files, before what ``answers.toml`` next to them says. Without ``needs_references``
    their rows may hold none.

    Of a folder what can be read is; raises UsageError where nothing can, for one file in no known layout, which says
    what was looked for, and for rows whose ids or references were lost.
    """
    if not target.exists():
        raise UsageError(f"there is nothing at {target} to score; name a run's folder or a file of answers")

    def read(file: Path) -> Source:
        own = {"manifests": manifests, "crashes": crashes}
        answers = AnswerFile(file, terms_beside(file, terms))
        return _of_file(answers, own, {"labels": labels, "task_type": task_type}, needs_references)

    if target.is_file():
        return read(target)
    files, others = _files(target)
    return _of_folder(target, files, others, read)


def _of_folder(folder: Path, files: Sequence[Path], others: Sequence[Path], read: Callable[[Path], Source]) -> Source:
    sources: list[Source] = []
    passed_over: list[PassedOver] = []
    for file in files:
        try:
            sources.append(read(file))
        except UsageError as error:
            if len(files) == 1:
                raise
            if isinstance(error, UnknownLayout) and file.name.lower().endswith(_OF_ANYTHING):
                others = [*others, file]
            else:
                passed_over.append(_passed_over(file, error))
    layouts = dict.fromkeys(source.layout for source in sources)
    # One layout's large files are read as they are scored; what may break is looked at before anything is.
    if len(layouts) > 1 or (layouts.keys() - _MODULES.keys() and len(sources) > 1):
        sources = list(_readable(sources, passed_over))
    if not sources:
        raise UsageError("\n".join(sentences_of(passed_over)) or f"{folder} holds no answers to score")
    is_flat = files[0].name != FILE and all(file.parent == folder for file in files)
    deeper = tuple(candidates(sorted(folder.glob("[!.]*/[!.]*")))) if is_flat else ()
    if len(sources) == 1:
        return replace(sources[0], passed_over=tuple(passed_over), others=tuple(others), deeper=deeper)
    return Source(
        "+".join(dict.fromkeys(source.layout for source in sources)),
        tuple(dict.fromkeys(file for source in sources for file in source.files)),
        lambda: chain.from_iterable(source.rows() for source in sources),
        passed_over=tuple(passed_over),
        others=tuple(others),
        deeper=deeper,
    )


def _readable(sources: Sequence[Source], passed_over: list[PassedOver]) -> Iterator[Source]:
    """The sources whose rows can be read and are of no eval that an earlier one has; the others are skipped."""
    first: dict[tuple[str, str], Path] = {}
    for source in sources:
        file = source.files[0]
        try:
            rows = list(source.rows())
        except UsageError as error:
            passed_over.append(_passed_over(file, error))
            continue
        names = dict.fromkeys((row.eval, row.model) for row in rows)
        if (twice := next((name for name in names if name in first), None)) is not None:
            eval_, model = twice
            why = f"it holds answers to {eval_} by {model}, as {first[twice]} does: name one of them in answers.toml"
            passed_over.append(PassedOver(file, why))
            continue
        first.update(dict.fromkeys(names, file))
        yield replace(source, rows=partial(iter, rows))


def _files(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files of ``folder`` that may hold answers, and those of unknown kinds."""
    predictions = folder / FILE
    if predictions.is_file():
        return [predictions], []
    if (folder / "parts").is_dir():
        raise UsageError(f"{folder} is a run that crashed or is still going: the same command run again finishes it")
    inside = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    files = candidates(inside)
    if not files:
        inside = list(_files_within(folder))
        # BEANS-Next leaves a folder for each task of a suite, with its own figures next to the answers.
        of_tasks = [path for path in inside if path.name == FILE]
        tasks = {path.parent for path in of_tasks}
        rest = [path for path in inside if path.parent not in tasks]
        lines = {*_module(_STUDY).files_of_answers(folder)}
        files = sorted([*of_tasks, *candidates([path for path in rest if path.suffix != ".jsonl" or path in lines])])
    if not files:
        raise UsageError(
            f"{folder} holds no answers to score (looked for {FILE}, and for files ending with {', '.join(endings())})"
        )
    return files, [path for path in inside if path not in files and not is_read_along(path, files)]


def _files_within(folder: Path) -> Iterator[Path]:
    """The files of ``folder`` and its folders, in order of their paths: none that is hidden, none of a run of ours, and
    none of the study's manifests.
    """
    for path in sorted(folder.rglob("*")):
        within = path.relative_to(folder)
        if any(part.startswith(".") for part in within.parts) or "manifests" in within.parts[:-1]:
            continue
        if path.is_file() and not path.with_name(RECORD).exists():
            yield path


def holds_answers(place: Path) -> bool:
    """Whether ``place`` is a file or a folder of answers that are not run's of ours."""
    if place.is_dir():
        try:
            files, _ = _files(place)
        except UsageError:
            return False
        return not (place / RECORD).exists() and any(map(holds_answers, files))
    answers = AnswerFile(place, terms_beside(place))
    if place.name == RECORD or str(answers.first.get("schema", "")).startswith("audiobench."):
        return False
    if (layout := _layout(answers)) is not None:
        return layout != _RUN
    # A table of unknown columns has to be described by name.
    return place.name.lower().endswith((".csv", ".tsv", ".jsonl", ".parquet")) or reader_of(answers) is not None


def _layout(answers: AnswerFile) -> str | None:
    return next((name for name in _MODULES if _module(name).fits(answers.first)), None)


def _of_file(
    answers: AnswerFile, of_study: Mapping[str, Any], of_beans_next: Mapping[str, Any], needs_references: bool
) -> Source:
    file, first = answers.path, answers.first
    layout = None if answers.terms.reader else _layout(answers)
    if layout is None:
        if (reader := reader_of(answers)) is None:
            raise _unreadable(answers)
        references = answers.terms.references or (answers.references_beside(reader.beside) if reader.general else None)
        files = tuple(filter(None, (file, references)))
        return Source(reader.name, files, partial(rows_of, reader, answers, needs_references))
    read = partial(_module(layout).read, file)
    if layout == _STUDY:
        read = partial(read, **of_study)
    elif layout == _BEANS_NEXT:
        read = partial(read, **of_beans_next)
    elif layout not in _OF_LINES:
        read = partial(read, first)
    return Source(layout, (file,), read, run_of(file) if layout == _RUN else None)


class KnownReader(NamedTuple):
    """A row of the table of all readers."""

    name: str
    endings: str
    origin: str
    about: str


def known_readers() -> list[KnownReader]:
    """All that can be read, the layouts that say the most first."""
    layouts = [
        KnownReader(name, ".jsonl" if name in _OF_LINES else ".json", "real file", _module(name).LAYOUT)
        for name in _MODULES
    ]
    return [
        *layouts,
        *(
            KnownReader(name, ", ".join(reader.endings), reader.origin, reader.about)
            for name, reader in all_readers().items()
        ),
    ]


def _module(layout: str) -> Any:
    return import_module(f"pytest_audiobench.{_MODULES[layout]}")


def _looked_for() -> str:
    layouts = ", ".join(_module(layout).LAYOUT for layout in _MODULES)
    return (
        f"looked for {layouts}, and the files of {len(all_readers())} readers (audiobench list readers); of a table of "
        "your own name the columns by --columns"
    )


def _unreadable(answers: AnswerFile) -> UsageError:
    """Why no reader knows the file."""
    file = answers.path
    if not file.stat().st_size:
        return UsageError(f"{file} is empty: there is nothing to score")
    if names := [*map(str, answers.first)] or [*answers.header]:
        return UnknownLayout(f"{file} is in no layout that is known: it has {', '.join(sorted(names)[:8])}")
    if answers.content is not None:
        return UnknownLayout(f"{file} is JSON but no object")
    if damage := answers.damage:
        return UsageError(f"{file} {damage}")
    if answers.is_binary:
        return UsageError(f"{file} is not UTF-8 text")
    return UnknownLayout(f"{file} is neither JSON lines nor one JSON object, and no other kind that is known")
