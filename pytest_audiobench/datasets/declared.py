"""The data sets that ``*.audiobench.toml`` files declare: one reader for all layouts."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import Parameter, Signature
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_audiobench.audio.clip import Clip, DataRoot, Edit, FileSource
from pytest_audiobench.datasets.dataset import Dataset, Submission
from pytest_audiobench.datasets.declaration import Declaration, OpenParameter, read_declarations, texts, values_of
from pytest_audiobench.datasets.fetch_records import check_complete, fetch_name
from pytest_audiobench.datasets.places import Places, holds
from pytest_audiobench.datasets.published_layouts import Entry
from pytest_audiobench.datasets.row_files import RowFile, row_files
from pytest_audiobench.datasets.row_readers import (
    KEY,
    entries,
    joined_tables,
    joined_text,
    joined_texts,
    unfolded,
    value_of,
    wanted_values,
)
from pytest_audiobench.datasets.sample import UNLISTED, Field, Sample, listed_letter, with_last_clip
from pytest_audiobench.datasets.spool import spooled
from pytest_audiobench.datasets.table_rows import texts as lines_of_text
from pytest_audiobench.datasets.transforms import Hole, Template, filled, filled_list, template
from pytest_audiobench.errors import DataNotFound, UsageError
from pytest_audiobench.identity import digest
from pytest_audiobench.io.mistakes import Mistakes
from pytest_audiobench.records.run import PublishedRecord

if TYPE_CHECKING:
    from pytest_audiobench.datasets.parquet_rows import RowPlace

_TASK = "task"


def declared_loader(path: Path) -> Callable[..., Dataset]:
    """What makes the data sets of a file. It takes the file's parameters, and before them the task where it has some.

    A parameter that is left out takes all its values. Raises UsageError with all that is wrong with the file.
    """
    tasks: Mapping[str, Declaration] = read_declarations(path)
    suite = path.name.partition(".")[0]

    def load(*arguments: Any, **options: Any) -> Dataset:
        given = dict(signature.bind(*arguments, **options).arguments)
        task = "" if "" in tasks else given.pop(_TASK)
        if task not in tasks:
            raise UsageError(f"{suite} has no task {task!r}; it has {', '.join(tasks)}")
        return declared_dataset(tasks[task], {name: value for name, value in given.items() if value is not None})

    named = {name: value for declared in tasks.values() for name, value in declared.parameters.items()}
    defaults = {name: value if isinstance(value, str) and "" in tasks else None for name, value in named.items()}
    kind = Parameter.POSITIONAL_OR_KEYWORD
    first = [] if "" in tasks else [Parameter(_TASK, kind)]
    signature = Signature([*first, *(Parameter(name, kind, default=value) for name, value in defaults.items())])
    load.__signature__ = signature  # type: ignore[attr-defined]
    return load


def declared_dataset(declared: Declaration, given: Mapping[str, str]) -> Dataset:
    """The data set with the parameters ``given``. Raises UsageError for what it does not have."""
    for name, value in given.items():
        if name not in declared.parameters:
            raise UsageError(
                f"{declared.name} has no {name}; it has {', '.join(declared.parameters) or 'no parameter'}"
            )
        known, kept = declared.parameters[name], declared.withheld.get(name, ())
        if value not in kept and value not in (known if isinstance(known, OpenParameter) else texts(known)):
            listed = [str(known)] if isinstance(known, OpenParameter) else texts(known)
            raise UsageError(f"{declared.name} has no {name} {value!r}; it has {', '.join([*listed, *kept])}")
    constants = {name: value for name, value in declared.parameters.items() if isinstance(value, str)}
    chosen = {**constants, **given}
    parts = [declared.set_name, *(chosen[name] for name in declared.parameters if name in chosen)]
    cases = declared.cases(given)
    wanted, submission = declared.submission, None
    if withheld := wanted is not None and all(map(declared.is_withheld, cases)):
        rows = partial(_published_rows, declared, cases)
        submission = Submission(rows, tuple(texts(wanted.prediction)), wanted.format)
    return Dataset(
        "/".join(parts),
        partial(_read, declared, cases),
        declared.cluster,
        declared.groups,
        declared.note,
        withheld=withheld,
        published=_published(declared, chosen, cases),
        averages=declared.averages_of(chosen) if cases == [chosen] else {},
        submission=submission,
        pooled=declared.pooled,
    )


def with_last_clips(dataset: Dataset) -> Dataset:
    """The same questions with the last clip of each alone, as a prompt with ``clips = "last"`` asks."""

    def read(places: Places) -> Sequence[Sample]:
        return spooled(map(with_last_clip, dataset.read(places)))

    return replace(dataset, read=read)


def _published(
    declared: Declaration, chosen: Mapping[str, str], cases: Sequence[Mapping[str, str]]
) -> tuple[PublishedRecord, ...]:
    """The published values of the very samples that are chosen."""
    return tuple(
        PublishedRecord(**{name: getattr(row, name) for name in PublishedRecord.__struct_fields__})
        for row in declared.published
        # Without parameters it is of the whole benchmark, and of no part of it.
        if (
            row.average is None
            and (cases == declared.cases({}) if not row.parameters else declared.grid.keys() <= row.parameters.keys())
            and all(chosen.get(name) == value for name, value in row.parameters.items())
        )
        or (row.average is not None and declared.is_first_of(row.average, chosen))
    )


def _read(declared: Declaration, cases: Sequence[Mapping[str, str]], places: Places) -> Sequence[Sample]:
    mistakes = Mistakes()
    parts = [_samples(declared, case, places, mistakes) for case in cases]
    samples = parts[0] if len(parts) == 1 else spooled(chain.from_iterable(parts))
    samples = spooled(samples) if isinstance(samples, Iterator) else samples
    mistakes.check()
    return samples


def _samples(
    declared: Declaration, case: Mapping[str, str], places: Places, mistakes: Mistakes
) -> Sequence[Sample] | Iterator[Sample]:
    """Those of one case; what is wrong with its rows is added to ``mistakes`` when they are made."""
    layout, root, file = _there(declared, case, places)
    in_memory = layout.data.merge or layout.data.each or layout.sample.speech
    if file.endswith(".parquet") and not in_memory:
        return _parquet_samples(layout, case, root, file, places)
    return _row_samples(layout, case, root, file, places, mistakes)


def _row_samples(
    declared: Declaration, case: Mapping[str, str], root: DataRoot, pattern: str, places: Places, mistakes: Mistakes
) -> Iterator[Sample]:
    other = declared.data.audio_root
    with mistakes.catching():
        files = _shards(root, pattern) if pattern.endswith(".parquet") else row_files(root.folder, pattern)
        make, count, rows = _Maker(declared, case, places.find(other, ".") if other else root), 0, 0
        others = joined_tables(declared, case, places, root, make.templates)
        taken = partial(entries, declared, declared.data, case, root, files, others)
        make.choose_among(_labels(declared, case, root, taken))
        lines: list[tuple[Sample, str]] = []
        for entry in taken():
            rows += 1
            with mistakes.catching():
                if (sample := make(entry)) is None:
                    continue
                count += 1
                if declared.sample.speech is None:
                    yield sample
                else:
                    lines.append((sample, make.words(entry)))
        if declared.sample.speech is not None and not mistakes:
            from pytest_audiobench.datasets.voices import spoken

            voice = declared.filled(declared.sample.speech.voice, case)
            yield from spoken(lines, voice, root, places, declared.sample.speech)
        if not count and not mistakes:
            mistakes.add(_no_row(declared, root.folder / pattern))
        elif not mistakes:
            _check_count(declared, case, rows, root.folder / pattern)


def _shards(root: DataRoot, pattern: str) -> list[RowFile]:
    """The files of a Parquet pattern. Raises UsageError where some are missing by what the others are called."""
    from pytest_audiobench.datasets.parquet_rows import parquet_files

    return [RowFile(file.path, {}) for file in parquet_files(root, pattern)]


def _there(declared: Declaration, case: Mapping[str, str], places: Places) -> tuple[Declaration, DataRoot, str]:
    """The layout that is on this machine, its folder, and the file of its rows. Raises DataNotFound for none."""
    files = declared.files(case)
    root = places.find(declared.root, *files, remedy=_remedy(declared, case))
    check_complete(root.folder, declared.root, declared.set_name, case)
    layout, file = next(files[mark] for mark in files if holds(root.folder, mark))
    for folder, archive in layout.data.archives.items():
        packed, unpacked = root.folder / declared.filled(archive, case), declared.filled(folder, case)
        if packed.is_file() and not (root.folder / unpacked).exists():
            command = f"tar -xf {shlex.quote(str(packed))} -C {shlex.quote(str(root.folder))}"
            if packed.suffix == ".zip":
                command = f"python -m zipfile -e {shlex.quote(str(packed))} {shlex.quote(str(root.folder))}"
            raise DataNotFound(
                f"the audio of {declared.root} is still packed in {packed.name}, and {root.folder} has no "
                f"{unpacked}; unpack it: {command}"
            )
    return layout, root, file


def is_there(declared: Declaration, given: Mapping[str, str], places: Places) -> bool:
    """Whether the rows of all cases of ``given`` are on this machine."""
    try:
        for case in declared.cases(given):
            _there(declared, case, places)
    except DataNotFound:
        return False
    return True


def _remedy(declared: Declaration, case: Mapping[str, str]) -> str:
    """How to come by what is not there, as the begin of a sentence; "" where that is not known."""
    if declared.fetch:
        chosen = [f" --only {name}={value}" for name, value in case.items() if value not in _default(declared, name)]
        return f"run audiobench fetch {fetch_name(declared.set_name)}{''.join(chosen)}, or "
    return f"{declared.source.obtain}; then " if declared.source.obtain else ""


def _default(declared: Declaration, name: str) -> Sequence[str]:
    """The values of a parameter that are fetched unless others are asked for."""
    return (*values_of(declared.parameters[name]), *declared.withheld.get(name, ()))


def check_libraries(declared: Declaration, given: Mapping[str, str], places: Places) -> None:
    """Raises UsageError where the rows on this machine cannot be read for lack of a library, DataNotFound for none."""
    for case in declared.cases(given):
        if _there(declared, case, places)[2].endswith(".parquet"):
            from pytest_audiobench.audio.parquet_cells import check_pyarrow

            check_pyarrow()


def rows_bytes(declared: Declaration, given: Mapping[str, str], places: Places) -> int:
    """How much must be read for the rows alone; of Parquet next to nothing. Raises DataNotFound for no rows."""
    total = 0
    for case in declared.cases(given):
        _, root, file = _there(declared, case, places)
        if not file.endswith(".parquet"):
            total += sum((root.folder / row_file.name).stat().st_size for row_file in row_files(root.folder, file))
    return total


def _published_rows(
    declared: Declaration, cases: Sequence[Mapping[str, str]], places: Places
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows that are taken, as they were published except for audio in them, by their samples' ids."""
    for case in cases:
        layout, root, file = _there(declared, case, places)
        id_ = layout.template(layout.sample.id, case)
        others = joined_tables(layout, case, places, root, [id_])
        if file.endswith(".parquet"):
            from pytest_audiobench.datasets.parquet_rows import parquet_files, parquet_rows, plain_columns, row_numbers

            files = parquet_files(root, file)
            number_of = row_numbers(files)
            for place, row in parquet_rows(files, plain_columns(files), wanted_values(layout, layout.data, case)):
                entry = unfolded(layout.data, Entry(str(place), row), str(number_of(place)), others)
                yield joined_text(id_, entry, ()), row
        else:
            for entry in entries(layout, layout.data, case, root, row_files(root.folder, file), others):
                yield joined_text(id_, entry, ()), entry.published


def _no_row(declared: Declaration, path: Path) -> str:
    return f"{path} has no row that {declared.name} takes; correct [data], where, or fetch it again"


def _check_count(declared: Declaration, case: Mapping[str, str], rows: int, path: Path) -> None:
    """Raises UsageError for another number of rows than was published: no part of a set is scored as if whole."""
    expected = declared.number(declared.data.count, case)
    if expected is not None and rows != expected:
        name = "/".join([declared.name, *case.values()])
        raise UsageError(f"{path} has {rows:,} rows of {name}, which has {expected:,.0f}; fetch it again")


def _parquet_samples(
    declared: Declaration, case: Mapping[str, str], root: DataRoot, pattern: str, places: Places
) -> Sequence[Sample]:
    """Samples of the rows of shards, made when they are asked for; audio in a column's cells waits there."""
    from pytest_audiobench.datasets.parquet_rows import (
        ParquetSamples,
        column_names,
        distinct_values,
        parquet_files,
        parquet_rows,
        row_numbers,
    )

    files, data = parquet_files(root, pattern), declared.data
    where = wanted_values(declared, data, case)
    column = declared.template(data.labels or "", case)
    if column.holes and not column.is_hole:
        raise UsageError(
            f"{declared.name}: the labels of Parquet rows are those of one column; write labels = '{{column}}'"
        )
    make = _Maker(declared, case, root)
    others = joined_tables(declared, case, places, root, make.templates)
    if column.holes:
        name = column.holes[0].column
        values = [Entry(f"{declared.name}'s {name}", {name: value}) for value in distinct_values(files, name, where)]
        words = {joined_text(column, value, ()) for value in values}
        make.choose_among(_in_order(words))
    else:
        make.choose_among(_labels(declared, case, root, list))
    present = column_names(files)
    holes = {hole.column: hole.optional for hole in make.holes if hole.column.partition(".")[0] not in data.join}
    holes |= {hole.column: False for other in others for hole in other.on.holes}
    if data.key:
        holes[data.key] = False
    texts_of_json = {
        name: path[0]
        for name in holes
        if (path := name.split("."))[0] in data.json or (len(path) > 1 and path[1].isdecimal())
    }
    columns = {texts_of_json.get(name, name) for name, may_lack in holes.items() if not may_lack or name in present}
    parts = {name for pattern in data.parts.values() for name in re.compile(pattern).groupindex}
    columns = columns.union(texts_of_json.values(), *data.flags.values(), data.parts)
    columns -= {KEY, *data.flags, *parts}

    number_of = row_numbers(files) if KEY in holes and not data.key else None

    def entry_of(place: RowPlace, row: Mapping[str, Any]) -> Entry:
        return unfolded(data, Entry(str(place), row), str(number_of(place)) if number_of else None, others)

    def sample(place: RowPlace, row: Mapping[str, Any]) -> Sample:
        entry = entry_of(place, row)
        if (made := make(entry)) is None:
            raise entry.wrong("has no answer")
        return made

    audio = dict.fromkeys((column for column in make.audio_columns if column not in parts), data.rate)
    samples: Sequence[Sample] = ParquetSamples(files, columns, sample, where, audio)
    if samples:
        _check_count(declared, case, len(samples), root.folder / pattern)
    if declared.sample.least_choices:
        # Which rows are left out is known when each was read.
        rows = parquet_rows(files, columns, where, audio)
        samples = spooled(made for place, row in rows if (made := make(entry_of(place, row))))
    if not samples:
        raise UsageError(_no_row(declared, root.folder / pattern))
    return samples


def _labels(
    declared: Declaration, case: Mapping[str, str], root: DataRoot, rows: Callable[[], Iterable[Entry]]
) -> tuple[str, ...] | None:
    """The choices of all samples: the different values of a column, sorted, or the lines of a file."""
    if declared.data.labels is None:
        return None
    column = declared.template(declared.data.labels, case)
    if column.holes:
        return _in_order({label for entry in rows() for label in _listed([column], entry, ())})
    labels = root.folder / declared.filled(declared.data.labels, case)
    if not labels.is_file():
        raise UsageError(f"{labels} is not there, which has the labels of {declared.name}; fetch it again")
    return tuple(line.strip() for _, line in lines_of_text(labels) if line.strip())


def _in_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Different labels, sorted, and as numbers where all of them are: 2 before 10."""
    words = sorted(labels)
    return tuple(sorted(words, key=int) if all(map(str.isdecimal, words)) else words)


class _Maker:
    """Samples of entries, by templates that are read once."""

    def __init__(self, declared: Declaration, case: Mapping[str, str], root: DataRoot) -> None:
        transforms = declared.transforms

        def templates(written: str | Sequence[str] | None) -> list[Template]:
            filled_texts = (one for text in texts(written) for one in filled_list(text, case, transforms))
            return [template(text, transforms) for text in filled_texts]

        def one(written: str | None) -> Template | None:
            return next(iter(templates(written)), None)

        fields = declared.sample
        self._root = root
        self._labels: tuple[str, ...] | None = None
        self._withheld = declared.is_withheld(case)
        self._unlisted, self._least_choices = fields.unlisted, fields.least_choices or 0
        (self._id,) = templates(fields.id)
        self._question, self._answer = one(fields.question), None if self._withheld else one(fields.answer)
        self._audio, self._choices = [templates(paths) for paths in fields.clips], templates(fields.choices)
        self._start, self._end = one(fields.start), one(fields.end)
        self._first_s = declared.number(fields.first_seconds, case)
        self._gains = templates(fields.mix.gains if fields.mix else ())
        self._words, self._join_s = one(fields.speech.text if fields.speech else None), fields.join
        self._length, self._shuffle = fields.mix.length if fields.mix else "longest", fields.shuffle
        self._optional = {column: template(f"{{{column}?}}") for column in fields.optional}
        self._references = [] if self._withheld else templates(fields.references)
        self._metadata = {
            name: template(filled(text, case, transforms), transforms)
            for name, text in fields.metadata_templates.items()
        }

    def choose_among(self, labels: tuple[str, ...] | None) -> None:
        """Make ``labels`` every sample's choices; None for its own."""
        self._labels = labels

    @property
    def _of_fields(self) -> Iterator[Template]:
        single = (self._id, self._question, self._answer, self._start, self._end, self._words)
        yield from (each for each in single if each is not None)
        yield from (*self._choices, *self._references, *self._gains)
        yield from (*self._metadata.values(), *self._optional.values())

    @property
    def templates(self) -> list[Template]:
        """All of them."""
        return [*self._of_fields, *chain.from_iterable(self._audio)]

    @property
    def holes(self) -> Iterator[Hole]:
        """The columns of a row that a sample is made of, but for those of audio."""
        audio = (each for paths in self._audio for each in paths if not each.is_hole)
        return (hole for each in chain(self._of_fields, audio) for hole in each.holes)

    @property
    def audio_columns(self) -> list[str]:
        """The columns that hold audio, or paths of it, and nothing else."""
        whole = (paths[0] for paths in self._audio if len(paths) == 1 and paths[0].is_hole)
        return [one.holes[0].column for one in whole if not one.holes[0].steps]

    def _clips(self, entry: Entry, choices: Sequence[str]) -> Iterator[Clip]:
        for one, *others in self._audio:
            if one.is_hole and (made := entry.made_clips(one.holes[0].column)):
                yield from made
                continue
            clips = [entry.clip(self._root, path) for path in _listed([one, *others], entry, choices)]
            if others and not clips:
                raise entry.wrong("has no audio in any of the columns that may name it")
            yield from [next(filter(_is_there, clips), clips[0])] if others else clips

    def _may_lack(self, entry: Entry) -> bool:
        """Whether each of the references is a column that is there, and may have nothing in it."""
        holes = [hole for reference in self._references for hole in reference.holes]
        return all(hole.optional and entry.has_name(hole.column) for hole in holes)

    def _part(self, entry: Entry, choices: Sequence[str]) -> tuple[Edit, ...]:
        """What cuts the sample's part out of its recording."""
        from pytest_audiobench.audio.edits import trim

        first = () if self._first_s is None else (trim(0, self._first_s),)
        if self._start is None or self._end is None:
            return first
        start_s, end_s = (_number(one, "seconds", entry, choices) for one in (self._start, self._end))
        if not 0 <= start_s < end_s:
            raise entry.wrong(f"lasts from {start_s:g} s to {end_s:g} s")
        return (trim(start_s, end_s), *first)

    def words(self, entry: Entry) -> str:
        """What is said of a row, where its clip is said."""
        assert self._words is not None
        words = joined_texts(self._words, entry, ())
        return words if isinstance(words, str) else " ".join(words)

    def _mixed(self, clips: tuple[Clip, ...], entry: Entry, choices: Sequence[str]) -> tuple[Clip, ...]:
        from pytest_audiobench.audio.combining import joined, summed

        if self._join_s is not None:
            return (joined(clips, self._join_s),) if len(clips) > 1 else clips
        if not self._gains:
            return clips
        gains = [_number(gain, "times", entry, choices) for gain in self._gains]
        if len(gains) != len(clips):
            raise entry.wrong(f"has {len(clips)} clips, which are mixed by {len(gains)} gains,")
        return (summed(clips, gains, length=self._length),)

    def __call__(self, entry: Entry) -> Sample | None:
        """The sample; None for a row of whose answer a transform makes nothing."""
        if self._least_choices and any(each.is_hole and _is_empty(each, entry) for each in self._choices):
            return None
        choices = _listed(self._choices, entry, ()) if self._labels is None else self._labels
        if len(choices) < self._least_choices:
            return None
        id_ = joined_text(self._id, entry, choices)
        if self._shuffle:
            # By nothing but the sample and the option: the same everywhere, and no place is favoured.
            choices = tuple(sorted(choices, key=lambda choice: digest(["choices", 1, id_, choice])))
        hole = self._answer.holes[0] if self._answer and self._answer.is_hole else None
        if hole and hole.optional and not entry.has_name(hole.column):
            raise entry.lacks(hole.column)
        if hole and hole.steps and entry.has(hole.column) and value_of(hole, entry, choices) is None:
            return None
        references = _listed(self._references, entry, choices)
        if not (references or self._answer or self._withheld or self._may_lack(entry)):
            raise entry.wrong("has no reference")
        part = self._part(entry, choices)
        clips = tuple(clip.edited(*part) if part else clip for clip in self._clips(entry, choices))
        optional = {name: _field(field, entry, choices) for name, field in self._optional.items()}
        reference = joined_text(self._answer, entry, choices) if self._answer else next(iter(references), "")
        is_unlisted = self._unlisted and choices and not self._withheld and listed_letter(choices, reference) is None
        return Sample(
            id=id_,
            clips=self._mixed(clips, entry, choices),
            question=joined_text(self._question, entry, choices) if self._question else "",
            choices=choices,
            reference=reference,
            metadata={
                **{name: _field(field, entry, choices) for name, field in self._metadata.items()},
                **{name: value for name, value in optional.items() if value not in (None, "")},
            },
            references=references if len(references) > 1 else (),
            doubt=UNLISTED if is_unlisted else "",
        )


def _is_empty(written: Template, entry: Entry) -> bool:
    """Whether the column that a template is holds an empty list or nothing."""
    column = written.holes[0].column
    return entry.has_name(column) and entry.raw(column) in (None, "", [])


def _is_there(clip: Clip) -> bool:
    return isinstance(clip.source, FileSource) and clip.source.location.is_file()


def _number(written: Template, unit: str, entry: Entry, choices: Sequence[str]) -> float:
    value = _field(written, entry, choices)
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise entry.wrong(f"has {value!r} where a number of {unit} should be")
    return number


def _listed(templates: Sequence[Template], entry: Entry, choices: Sequence[str]) -> tuple[str, ...]:
    """The texts of several templates; one that has one column may hold a list of them, and one alone none."""
    values = [
        value_of(one.holes[0], entry, choices) if one.is_hole else joined_texts(one, entry, choices)
        for one in templates
    ]
    return tuple(
        text for value in values if value is not None for text in (value if isinstance(value, tuple) else (str(value),))
    )


def _field(written: Template, entry: Entry, choices: Sequence[str]) -> Field:
    value = value_of(written.holes[0], entry, choices) if written.is_hole else joined_text(written, entry, choices)
    if isinstance(value, tuple):
        raise entry.wrong(f"has a list in {written.holes[0].column!r}")
    return value
