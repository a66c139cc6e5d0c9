"""A user's own data set: a JSONL, CSV or TSV manifest next to its audio, or a folder of audio.

========  ============================================  =====================================
field     JSONL                                         CSV, TSV
========  ============================================  =====================================
id        text, unique; the audio's path where absent   the same
audio     a path next to the manifest, or a list of      several paths are separated by ``;``
          them
question  text; absent where the manifest or the        the same
          protocol has one for all
choices   a list of texts; absent for an open question  separated by ``|``; empty for none
answer    one of the choices, or its letter; for an     the same
          open question the true text
metadata  an object of texts, numbers, booleans, null   every further column, as text
========  ============================================  =====================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, cast

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.datasets.columns import Columns
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.manifest_rows import ManifestRows, Place, stem
from pytest_audiobench.datasets.places import CONTROL, Places, relative_path
from pytest_audiobench.datasets.sample import Field, Sample
from pytest_audiobench.datasets.spool import IdDigests, spooled
from pytest_audiobench.datasets.table_rows import FIELDS, Row
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes

_LETTER = re.compile(r"\(?([A-Za-z])\)?[.:]?")
_PLAIN_FIELDS = frozenset({str, int, bool, type(None)})
_TEXT = frozenset({str})
_LARGEST = 2**53 - 1
_MOST_CHOICES = 1_000


def manifest(
    path: str | Path,
    *,
    name: str | None = None,
    cluster: str | None = None,
    groups: tuple[str, ...] | None = None,
    question: str | None = None,
    data: str | None = None,
    id: str | None = None,
    audio: str | None = None,
    answer: str | None = None,
    choices: str | Sequence[str] | None = None,
    references: str | None = None,
    root: str | None = None,
) -> Dataset:
    """The data set that the manifest at ``path`` lists; a relative path is read from the test file's folder, or with
    ``data`` from the folder of that name (``--ab-data=NAME=FOLDER``), without which an eval is skipped.

    ``path`` may be a folder: one with ``metadata.csv`` or ``metadata.jsonl`` is read as Hugging Face's audiofolder, any
    other has a folder of audio files for each answer, unless it is another tool's: Kaldi's and ESPnet's folders, a
    data set saved to disk by Hugging Face's ``datasets``, Parquet, and the manifests of NeMo and Lhotse are read as
    they are. ``root`` is the folder where the paths of audio begin, if not the manifest's own.

    ``id``, ``audio``, ``answer`` and ``references`` (further true texts) name the columns where they are called
    otherwise, and every column next to them is metadata then; ids are the audio's paths where there are none.
    ``choices`` is a column too, or a list for all rows, or ``"from answers"``: the different answers of all, sorted.
    ``name`` is the manifest's file name without its suffix unless given; ``question`` is asked where a row has none,
    or is the column that holds it, and where neither has one the protocol asks in words of its own, or refuses the
    sample; ``cluster`` and ``groups`` name metadata fields. Nothing is read until an eval runs; then UsageError names
    the file, the line and the id of all that is wrong, the first ten in words.
    """
    file = Path(path)
    dataset_name = name or stem(file) or data or "manifest"
    group_fields = None if groups is None else tuple(groups)
    keywords = {"id": id, "audio": audio, "answer": answer, "references": references, "choices": choices}
    others = {"question": question, "cluster": cluster, "groups": group_fields, "name": name, "data": data}
    others["root"] = root
    columns = Columns(str(path), {**keywords, **others})

    def read(places: Places) -> Sequence[Sample]:
        folder = places.here if data is None else places.find(data, str(file)).folder
        audio = None if root is None else (folder / Path(root).expanduser()).resolve()
        place = (folder / file.expanduser()).resolve()
        return _read(partial(ManifestRows, place, dataset_name, audio, columns), cluster, group_fields or (), columns)

    return Dataset(dataset_name, read, cluster, group_fields)


_Open: TypeAlias = Callable[[Mistakes], ManifestRows]


def _read(rows: _Open, cluster: str | None, groups: tuple[str, ...], columns: Columns) -> Sequence[Sample]:
    reading = _Reading(rows, cluster, columns)
    samples = spooled(reading.samples())
    if repeated := reading.ids.repeated():
        # Where each id stands is looked up when some are known to repeat: of a million that would fill the memory.
        reading = _Reading(rows, cluster, columns, repeated)
        samples = spooled(reading.samples())
    reading.mistakes.check()
    file = reading.rows.file
    if not samples:
        raise UsageError(f"{file} lists no sample; write one on each line")
    for group in groups:
        if group not in reading.fields:
            names = f"it has {', '.join(sorted(reading.fields)) or 'none'}"
            sentence = f"{file} has no metadata field {group!r} to group by"
            reading.mistakes.add(sentence, group, reading.fields, names)
    reading.mistakes.check()
    return _labelled(file, samples, reading.answers) if reading.rows.labelled else samples


class _Reading:
    """One pass through the rows of a manifest: its samples, what is known of all of them, and all mistakes."""

    def __init__(
        self, rows: _Open, cluster: str | None, columns: Columns, repeated: frozenset[bytes] = frozenset()
    ) -> None:
        self.mistakes = Mistakes()
        self.rows = rows(self.mistakes)
        self.ids = IdDigests()
        self.fields: set[str] = set()
        self.answers: dict[str, str] = {}
        """Where they are the choices: each with the id of the first sample that has it."""
        self._root, self._cluster = self.rows.root, cluster
        self._given = () if self.rows.labelled else _given_choices(columns)
        self._places: dict[bytes, Place | None] = dict.fromkeys(repeated)

    def samples(self) -> Iterator[Sample]:
        """Those before the first mistake."""
        with self.mistakes.catching():
            for place, row in self.rows:
                sample, id_ = self._sample(place, row)
                if id_:
                    self._check_unique(id_, place, row)
                if sample is not None and not self.mistakes:
                    self.fields.update(sample.metadata)
                    if self.rows.labelled:
                        for truth in sample.truths:
                            self.answers.setdefault(truth, sample.id)
                    yield sample

    def _sample(self, place: Place, row: Row) -> tuple[Sample | None, str]:
        """The sample of a row, or its mistakes; and its id, "" where it has none."""
        try:
            line = place if isinstance(place, int) and self.rows.unit == "line" else 0
            sample = _sample(row, self._root, self.rows.question, self._cluster, self._given, line)
            return sample, sample.id
        except RowError:
            written = row.get("id")
            note = f" (id {written[:80]!r})" if isinstance(written, str) else ""
            where = self.rows.at(place) + note
            _add_mistakes(self.mistakes, where, row, self._root, self._cluster, self._given, self.rows.fields)
            return None, written.strip() if isinstance(written, str) else ""

    def _check_unique(self, id_: str, place: Place, row: Row) -> None:
        digest = self.ids.add(id_)
        if digest in self._places:
            earlier, self._places[digest] = self._places[digest], self._places[digest] or place
            if earlier is not None:
                of_paths = "its ids are the paths of its audio: give each row an id, or remove one"
                advice = "make ids unique" if "id" in row else of_paths
                places = f"on {self.rows.unit} {earlier} and on {self.rows.unit} {place}"
                self.mistakes.add(f"{self.rows.file} has the id {id_[:80]!r} {places}; {advice}")


def _given_choices(columns: Columns) -> tuple[str, ...] | None:
    """Those that the caller gave for all rows."""
    choices = columns.keywords.get("choices")
    if choices is None or isinstance(choices, str):
        return None
    try:
        return _choices(list(choices))
    except RowError as error:
        raise UsageError(f"{columns.call()} {error}") from None


def _labelled(file: Path, samples: Sequence[Sample], answers: Mapping[str, str]) -> Sequence[Sample]:
    """``samples`` with the ``answers`` of all as the choices of each."""
    if "" in answers:
        fault = f"{file} has an empty answer (id {answers[''][:80]!r}), which cannot be a choice"
        raise UsageError(f"{fault}: write it, or leave the row out")
    if not 2 <= len(answers) <= _MOST_CHOICES:
        few = f"the one answer {min(answers)[:80]!r}" if len(answers) == 1 else f"{len(answers):,} different answers"
        raise UsageError(f"{file} has {few}, and the choices are its answers: 2 to {_MOST_CHOICES:,}; give choices=[…]")
    choices = tuple(sorted(answers))
    return spooled(replace(sample, choices=choices) for sample in samples)


class RowError(Exception):
    """What is wrong with a row, each a predicate: "has no answer; …"."""


def _add_mistakes(
    mistakes: Mistakes,
    place: str,
    row: Row,
    root: DataRoot,
    cluster: str | None,
    given: tuple[str, ...] | None,
    columns: Mapping[str, str],
) -> None:
    """All that is wrong with a ``row`` of which no sample can be made."""
    likely_keys = mistakes.check_keys(place, row, FIELDS, "put it into its metadata, or correct its name")
    choices: tuple[str, ...] = ()

    def read_choices() -> None:
        nonlocal choices
        choices = _choices_of(row, given)

    readers: dict[str, Callable[[], object]] = {
        "choices": read_choices,
        "answer": lambda: _references(row, choices),
        "id": lambda: _id(row, ()),
        "audio": lambda: _clips(row, root),
        "question": lambda: _question(row, None),
        "metadata": lambda: _metadata(row.get("metadata"), cluster),
    }
    for field, read in readers.items():
        column = columns.get(field, field)
        note = "" if column == field else f" (its {field} is in {column!r})"
        if field not in likely_keys:
            try:
                read()
            except RowError as error:
                for predicate in error.args:
                    mistakes.add(f"{place} {predicate}{note}")


def _sample(
    row: Row, root: DataRoot, question: str | None, cluster: str | None, given: tuple[str, ...] | None, line: int
) -> Sample:
    """The sample that ``row`` describes; ``question`` is in where it has none. Raises RowError."""
    if not row.keys() <= FIELDS:
        raise RowError("has a key that manifests do not have")
    choices = _choices_of(row, given)
    references = _references(row, choices)
    clips = _clips(row, root, line)
    return Sample(
        id=_id(row, clips),
        clips=clips,
        question=_question(row, question),
        choices=choices,
        reference=references[0],
        metadata=_metadata(row.get("metadata"), cluster),
        references=references if len(references) > 1 else (),
    )


def _id(row: Row, clips: tuple[Clip, ...]) -> str:
    if "id" not in row:
        return ";".join(clip.source.path for clip in clips if isinstance(clip.source, FileSource))
    written = _text(row, "id").strip()
    if not written:
        raise RowError("has an empty id; name each sample")
    if CONTROL.search(written):
        raise RowError(f"has a control character in its id {written[:80]!r}; remove it")
    return written


def _clips(row: Row, root: DataRoot, line: int = 0) -> tuple[Clip, ...]:
    written = row.get("audio")
    if written is None or written == []:
        raise RowError("has no audio; give the path of a file beside the manifest")
    if isinstance(written, Clip):
        return (written,)
    try:
        if isinstance(written, str):
            return (Clip(FileSource(root, relative_path(written), line)),)
        if isinstance(written, list) and _only_texts(written):
            return tuple([Clip(FileSource(root, relative_path(path), line)) for path in written])
    except ValueError as error:
        raise RowError(f"has an audio path that cannot be used: {error}") from None
    raise RowError(f"has {_kind(written)} as its audio; write a path, or a list of paths")


def _question(row: Row, default: str | None) -> str:
    written = row.get("question")
    if written is None or (isinstance(written, str) and not written.strip()):
        return default or ""
    return _text(row, "question")


def _choices_of(row: Row, given: tuple[str, ...] | None) -> tuple[str, ...]:
    """Those that were ``given`` for all rows, else the row's own."""
    own = _choices(row.get("choices"))
    if own and given is not None:
        raise RowError("has choices of its own, and choices= gives those of all rows; leave one of them out")
    return own if given is None else given


def _choices(written: object) -> tuple[str, ...]:
    if written is None:
        return ()
    if not isinstance(written, list) or not _only_texts(written):
        raise RowError(f"has {_kind(written)} as its choices; write a list of texts")
    choices = tuple(map(str.strip, written))
    if "" in choices:
        raise RowError("has an empty choice; remove it")
    if len(set(choices)) < len(choices):
        twice = next(choice for choice in choices if choices.count(choice) > 1)
        raise RowError(f"has the choice {twice[:80]!r} twice, so its letter would be ambiguous; make choices differ")
    return choices


def _references(row: Row, choices: tuple[str, ...]) -> tuple[str, ...]:
    written = row.get("answer")
    if not isinstance(written, list):
        return (_reference(_text(row, "answer"), choices),)
    if not written or not _only_texts(written):
        raise RowError("has a list as its answer that is empty or holds something other than texts; write texts")
    answers: list[str] = []
    wrong: list[str] = []
    for text in written:
        try:
            answers.append(_reference(text, choices))
        except RowError as error:
            wrong += error.args
    if wrong:
        raise RowError(*wrong)
    return tuple(answers)


def _reference(text: str, choices: tuple[str, ...]) -> str:
    answer = text.strip()
    if not choices or answer in choices:
        return answer
    letter = _LETTER.fullmatch(answer)
    if letter and (place := ord(letter[1].upper()) - ord("A")) < len(choices):
        return choices[place]
    options = ", ".join(repr(choice[:80]) for choice in choices[:10])
    raise RowError(f"has the answer {answer[:80]!r}, which is not one of its choices: {options}; correct either")


def _metadata(written: object, cluster: str | None) -> Mapping[str, Field]:
    if written is not None and not isinstance(written, dict):
        raise RowError(f"has {_kind(written)} as its metadata; write an object")
    fields: Mapping[str, object] = written or {}
    wrong = [mistake for name, value in fields.items() if (mistake := _field_mistake(name[:80], value))]
    if cluster is not None and cluster not in fields:
        wrong.append(f"has no {cluster!r}, which is the cluster; add it to its metadata, in CSV as a column")
    if wrong:
        raise RowError(*wrong)
    return cast("Mapping[str, Field]", fields)


def _field_mistake(name: str, value: object) -> str:
    if type(value) is float:
        if math.isfinite(value):
            return ""
        return f"has {value} in its metadata {name!r}, which is not a number; write null"
    if type(value) not in _PLAIN_FIELDS:
        return f"has {_kind(value)} in its metadata {name!r}; write a text, number, boolean or null"
    if type(value) is int and abs(value) > _LARGEST:
        return f"has an integer above 2^53 in its metadata {name!r}; write it as text"
    return ""


def _text(row: Row, field: str) -> str:
    written = row.get(field)
    if isinstance(written, str):
        return written
    if written is None:
        raise RowError(f"has no {field}; add it")
    raise RowError(f"has {_kind(written)} as its {field}; write it as text, in quotes")


def _only_texts(written: list[object]) -> bool:
    return _TEXT.issuperset(map(type, written))


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null")
