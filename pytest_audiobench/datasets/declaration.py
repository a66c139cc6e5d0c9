"""The data of a ``*.audiobench.toml``, typed: where its rows lie, and what of a row is which part of a sample."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from pytest_audiobench.datasets.catalogue import LOADERS, SUFFIX
from pytest_audiobench.datasets.places import relative_path
from pytest_audiobench.datasets.recordings import ENDINGS
from pytest_audiobench.datasets.row_files import captures_in, landmark
from pytest_audiobench.datasets.transforms import TRANSFORMS, Template, Transform, filled, template, vocabulary
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes, nearest
from pytest_audiobench.io.user_documents import toml_tables
from pytest_audiobench.records import reading
from pytest_audiobench.records.fields import Record

FORMATS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".parquet")

Text: TypeAlias = Annotated[str, Meta(min_length=1)]
Texts: TypeAlias = Text | Annotated[tuple[Text, ...], Meta(min_length=1)]


def texts(written: str | Sequence[str] | None) -> Sequence[str]:
    """The texts of a key that takes one or several."""
    return (written,) if isinstance(written, str) else written or ()


Audio: TypeAlias = Text | Annotated[tuple[Texts, ...], Meta(min_length=1)]
"""A clip's path, or several, each of which may be a list of paths of which the first that is there is the clip."""


_ADDRESS = re.compile(r"(https?|file|ssh|git)://\S+$")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
"""What may are in a test's id, in a data set's name and as a marker."""


class Source(Record, kw_only=True, frozen=True):
    """Who published it, where it is fetched from, and what it is about; what was not seen is left out."""

    title: Text | None = None
    citation: Text | None = None
    repository: Text | None = None
    """Where it is published, as a URL: of git, where it is there."""
    licence: Text | None = None
    gated: bool = False
    """Whether the hub gives it only to accounts that its publisher has admitted."""
    needs: tuple[Text, ...] = ()
    """Other benchmarks, or evals of them, whose data it reads too: ``librispeech[test-clean]``."""
    obtain: Text | None = None
    """How to come by what cannot be fetched: the address, what to sign, where to put the files."""
    task: str | tuple[Text, ...] = ()
    domain: str | tuple[Text, ...] = ()
    language: str | tuple[Text, ...] = ()

    @property
    def keywords(self) -> list[str]:
        """The words that select it in addition to its name: tasks, domains, languages."""
        return [word for words in (self.task, self.domain, self.language) for word in texts(words)]


class Fetch(Record, kw_only=True, frozen=True):
    """One of ``[[fetch]]``: files of a data set of the hub, of a git repository, or behind a URL."""

    hub: Annotated[str, Meta(pattern=r"^[\w.-]+/[\w.-]+$")] | None = None
    """A data set of the Hugging Face Hub, as owner/name."""
    git: Text | None = None
    url: Text | None = None
    revision: Annotated[str, Meta(pattern=r"^[0-9a-f]{40}$")] | None = None
    """The commit of ``hub`` or ``git``; without one that of the first fetch, which is held from then on."""
    files: tuple[Text, ...] = ()
    """Paths or patterns of ``hub`` or ``git``, with parameters in braces; all where there are none."""
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")] | None = None
    """Of what is behind the URL; or ``md5``, where its publisher gives that."""
    md5: Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$")] | None = None
    bytes: Annotated[int, Meta(ge=1)] | None = None
    """The size of all its files, where it was seen."""
    into: Text | None = None
    """The folder below the data set's own."""
    unpack: bool = True
    """Whether archives among the files are unpacked."""
    parameters: dict[str, Texts] = msgspec.field(default_factory=dict)
    """The values of parameters that need it; every eval where there are none."""


class TableFormat(Record, kw_only=True, frozen=True):
    """How the cells of a table are written, where its ending does not say it."""

    delimiter: Annotated[str, Meta(min_length=1, max_length=1)] = "\t"
    quote: Annotated[str, Meta(max_length=1)] = '"'
    """What stands around a cell that holds a delimiter; "" where nothing does."""
    escape: Annotated[str, Meta(min_length=1, max_length=1)] | None = None
    """What stands before a character that means itself."""


class Rows(Record, kw_only=True, frozen=True):
    """Where rows lie, and what of them are columns."""

    rows: Texts
    """A file below the root, or several of which the first that is there is read. One may be a pattern, of shards
    (``data/test-*.parquet``) or with ``{names}``, which are columns then (``{label}/*.wav``)."""
    root: Text | None = None
    """What ``--ab-data`` calls the folder; the file's name unless given."""
    header: tuple[Text, ...] = ()
    """The columns of a CSV or TSV whose first line is a row."""
    list: Text | None = None
    """The array of a JSON object that has the rows, which is read whatever its length."""
    each: Texts | None = None
    """A column that holds a list of objects, or of texts: each is a row, with the columns of the row that it is in.

    Of several columns, the lists of the later ones are gone through within those of the earlier.
    """
    key: Text | None = None
    """The column that ``{key}`` is, where rows are not the members of a JSON object, each under its own."""
    where: dict[str, str | tuple[str, ...]] = msgspec.field(default_factory=dict)
    """The rows to take: those whose column has the value, or one of the values; a list has what is in it."""
    merge: Text | None = None
    """A template: rows of which it is the same text are one row, and columns in which they differ are lists."""
    json: tuple[Text, ...] = ()
    """The columns of texts that are JSON: ``{column.member}`` is a member of an object."""
    lists: dict[str, Text] = msgspec.field(default_factory=dict)
    """The columns of texts that are lists, each with what stands between the parts, or ``python``."""
    throughout: dict[str, str] = msgspec.field(default_factory=dict)
    """The merged rows to take: those of which all rows have the value in the column."""
    matches: dict[str, dict[str, Text]] = msgspec.field(default_factory=dict)
    """By column, new columns: the list of what a regular expression finds in its text, its named groups an object."""
    flags: dict[str, Annotated[tuple[Text, ...], Meta(min_length=1)]] = msgspec.field(default_factory=dict)
    """Columns of the names, among those given, of the columns that have a 1 and not a 0."""
    parts: dict[str, Text] = msgspec.field(default_factory=dict)
    """By column, a regular expression for its whole text, of which the named groups are further columns."""
    line: Text | None = None
    """A regular expression of which the named groups are the columns of a text file's line."""
    skip: Text | None = None
    """One of the lines that are not rows."""
    table: TableFormat | None = None


class Join(Rows, kw_only=True, frozen=True):
    """One of ``[data.join]``: the rows of another table, one for each row of the data; ``{name.column}`` is theirs."""

    on: Text
    """Of a row of the data, the text that ``to`` is of the other table's row."""
    to: Text = "{key}"
    partial: bool = False
    """Whether the other table lacks some: the data's rows that have none in it are left out then."""


class Layout(Rows, kw_only=True, frozen=True):
    """The table ``[data]``."""

    labels: Text | None = None
    """Every sample's choices: the values of ``{column}`` in all rows taken, or the lines of a file."""
    archives: dict[str, Text] = msgspec.field(default_factory=dict)
    """By the folder below the root that each unpacks to."""
    count: Annotated[int, Meta(ge=1)] | Text | None = None
    """How many rows an eval takes, as published: a number, or a template of parameters that is one."""
    rate: Annotated[int, Meta(ge=1)] | Text | None = None
    """Of waveforms in Parquet that do not say it (BEANS-Zero): in Hz, or the column that has it."""
    audio_root: Text | None = None
    """What ``--ab-data`` calls the folder of the audio, where that is another set's."""
    join: dict[str, Join] = msgspec.field(default_factory=dict)


class Mix(Record, kw_only=True, frozen=True):
    """The clips of a sample as one: each times its gain, added."""

    gains: Annotated[tuple[Text, ...], Meta(min_length=2)]
    """A template of a factor for each clip."""
    length: Literal["longest", "shortest"] = "longest"


class Speech(Record, kw_only=True, frozen=True):
    """The table ``[sample.speech]``: the clip is a text as a named voice says it."""

    text: Text
    voice: Text
    """A template of parameters: what espeak-ng calls the voice, and what a folder of ready audio is called."""
    words_per_minute: Annotated[int, Meta(ge=80, le=450)] = 165
    most_seconds: Annotated[float, Meta(gt=0)] | None = None
    """What takes longer is said faster, as far as the voice can."""


class Fields(Record, kw_only=True, frozen=True):
    """The table ``[sample]``: templates, a text of columns each."""

    id: Text
    audio: Audio | None = None
    speech: Speech | None = None
    """In place of ``audio``."""
    question: Text | None = None
    choices: Texts | None = None
    answer: str | None = None
    """"" where there is none, and a judge or its own rule weighs what is said."""
    references: Texts | None = None
    start: Text | None = None
    """Where in the recording the clip begins, in seconds; with ``end``."""
    end: Text | None = None
    first_seconds: Annotated[float, Meta(gt=0)] | Text | None = None
    """How much of each clip is asked about, from its begin on: a number, or a template of parameters that is one."""
    mix: Mix | None = None
    join: Annotated[float, Meta(ge=0, le=60)] | None = None
    """Seconds of silence between the clips of a sample, which are one clip then, one after another."""
    unlisted: Literal["wrong"] | None = None
    """"wrong" keeps questions whose answer is not one of their choices: nothing is right there. Else a mistake."""
    least_choices: Annotated[int, Meta(ge=2)] | None = None
    """Rows that offer fewer are left out, as their publisher does."""
    shuffle: bool = False
    """Whether the choices are in an order that is drawn from the sample's id and each of them."""
    metadata: tuple[Text, ...] | dict[str, Text] = ()
    """By name; a list is of columns, each null where a row has none."""
    optional: tuple[Text, ...] = ()
    """Columns that are metadata of those rows only that have something in them."""

    @property
    def metadata_templates(self) -> Mapping[str, str]:
        if isinstance(self.metadata, dict):
            return self.metadata
        return {column: f"{{{column}?}}" for column in self.metadata}

    @property
    def clips(self) -> Sequence[Texts]:
        """Of each clip its path, or those of which the first that is there is taken."""
        return (self.audio,) if isinstance(self.audio, str) else self.audio or ()

    @property
    def templates(self) -> list[tuple[str, str]]:
        """All of them, each with its table and key."""
        written = [
            (f"[sample], {key}", text)
            for key in _TEMPLATES
            for several in (self.clips if key == "audio" else [getattr(self, key)])
            for text in texts(several)
        ]
        written += [("[sample.mix], gains", gain) for gain in (self.mix.gains if self.mix else ())]
        if self.speech:
            written += [("[sample.speech], text", self.speech.text), ("[sample.speech], voice", self.speech.voice)]
        written += [(f"[sample.metadata], {name}", text) for name, text in self.metadata_templates.items()]
        return [*written, *(("[sample], optional", f"{{{column}?}}") for column in self.optional)]


class OpenParameter(Record, kw_only=True, frozen=True):
    """A parameter with values that are not evals, and can be asked for: ``dataset("common_voice", "de", "test")``."""

    values: Annotated[tuple[Text, ...], Meta(min_length=1)]
    others: Texts
    """A list, or a pattern of regular expressions for the whole value."""

    def __contains__(self, value: str) -> bool:
        if value in self.values or not isinstance(self.others, str):
            return value in (*self.values, *self.others)
        return bool(_NAME.fullmatch(value) and re.fullmatch(self.others, value))

    def __str__(self) -> str:
        """What there is, for a sentence."""
        others = [f"what matches {self.others}"] if isinstance(self.others, str) else self.others
        return ", ".join([*self.values, *others])


Parameter: TypeAlias = Texts | OpenParameter


def values_of(parameter: Parameter) -> Sequence[str]:
    """Those that it stands for where it is left out."""
    return parameter.values if isinstance(parameter, OpenParameter) else texts(parameter)


class Alternative(Record, kw_only=True, frozen=True):
    """One of ``[[layout]]``: the same samples as they are distributed elsewhere."""

    data: Layout
    sample: Fields
    parameters: dict[str, Texts] = msgspec.field(default_factory=dict)
    """The values that are distributed so, where others are not."""


class Withheld(Record, kw_only=True, frozen=True):
    """The table ``[submission]``: what its publisher wants to score answers whose references are not published."""

    parameters: Annotated[dict[str, Texts], Meta(min_length=1)]
    """Further values of parameters: those whose answers are withheld."""
    prediction: Texts
    """The key, or several, that is matched with each row as it was published."""
    format: Literal["json", "jsonl"] = "json"


class Published(Record, kw_only=True, frozen=True):
    """A value that somebody published: one of ``[[published]]``."""

    model: Text
    metric: Text
    value: float
    conditions: Text
    """Which samples, which prompt, which rule."""
    source: Text
    scorer: Text | None = None
    """The scorer that is the publisher's rule; none where the rule is not known."""
    prompt: Text | None = None
    """The one of ``[prompts]`` that was asked, where that is known."""
    decoding: dict[str, str | int | float | bool] = msgspec.field(default_factory=dict)
    """What its source says of how answers were drawn: ``temperature``, ``max_new_tokens``."""
    n: Annotated[int, Meta(ge=1)] | None = None
    """How many samples it is over."""
    parameters: dict[str, Text] = msgspec.field(default_factory=dict)
    """Those of the eval that it is of; none for the whole benchmark."""
    average: Text | None = None
    """Which of ``[averages]`` it is of."""
    perturbation: Text | None = None
    """The perturbation that it was measured under; none for the benchmark as it is."""


class PublishedTable(Record, kw_only=True, frozen=True):
    """What one of ``[[published]]`` holds in place of a model and a value: a row of values for each eval or average."""

    models: Annotated[tuple[Text, ...], Meta(min_length=1)]
    values: Annotated[dict[str, tuple[float, ...]], Meta(min_length=1)]
    """By eval or average, in the order of the models; of a shorter row the last have none."""


class Declaration(Record, kw_only=True, frozen=True):
    """A benchmark's data, or those of one of its tasks."""

    name: Text
    """What its data sets are called, before their parameters."""
    source: Source
    data: Layout
    sample: Fields
    parameters: dict[str, Parameter] = msgspec.field(default_factory=dict)
    """Their values: a list makes an eval of each, a text stands for the only one."""
    cluster: Text | None = None
    groups: tuple[Text, ...] | None = None
    """None is those of few values."""
    vocabulary: dict[str, dict[str, Texts]] = msgspec.field(default_factory=dict)
    """By name, the words of codes: a transform each."""
    note: str = ""
    fetch: tuple[Fetch, ...] = ()
    prompts: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict)
    """Published prompts by name: options of the protocol, and the ``source`` where they were read."""
    published: tuple[Published, ...] = ()
    unproven: str = ""
    """What its proof lacks; "" where published rows, reference cases and a miniature are there."""
    layouts: tuple[Alternative, ...] = ()
    """Read in this order, where nothing of ``data`` is there."""
    submission: Withheld | None = None
    suites: dict[str, Literal[True] | Annotated[tuple[Text, ...], Meta(min_length=1)]] = msgspec.field(
        default_factory=dict
    )
    """By name, some of the file's evals: by their tasks, by values of parameters, or all of them."""
    samples_of: str = ""
    """The declared benchmark, or task of one, whose samples they are; "" where they are its own."""

    @property
    def set_name(self) -> str:
        """What its data sets are called, and what is fetched for them."""
        return self.samples_of or self.name

    averages: dict[str, Annotated[tuple[Text, ...], Meta(min_length=2)]] = msgspec.field(default_factory=dict)
    """By name, the evals or other averages that each is the mean of, as a leaderboard prints it."""
    pooled: bool = True
    """Whether the suite's figures have its samples: not those of a second reading, or of a known defect."""

    @property
    def root(self) -> str:
        return self.data.root or self.set_name.partition("/")[0]

    @property
    def transforms(self) -> Mapping[str, Transform]:
        """Those of all declarations, and the file's own vocabularies."""
        return {**TRANSFORMS, **{name: vocabulary(words) for name, words in self.vocabulary.items()}}

    def filled(self, text: str, case: Mapping[str, str]) -> str:
        """``text`` with the values of a case in place of parameters."""
        return filled(text, case, self.transforms)

    def number(self, written: float | str | None, case: Mapping[str, str]) -> float | None:
        """What ``written`` is for a case. Raises ValueError, as a predicate, for what is no number above 0."""
        if written is None:
            return None
        text = self.filled(str(written), case)
        try:
            number = float(text)
        except ValueError:
            raise ValueError(f"is {text!r}, and no number") from None
        if not 0 < number < math.inf:
            raise ValueError(f"is {text}, and not more than 0")
        return number

    def members(self, case: Mapping[str, str]) -> set[str]:
        """What ``suites`` may call the eval of a case by."""
        return {self.name.partition("/")[2], *case.values(), "-".join(case.values())} - {""}

    def suites_of(self, case: Mapping[str, str]) -> tuple[str, ...]:
        """The suites that have the eval of a case."""
        own = self.members(case)
        return tuple(name for name, named in self.suites.items() if named is True or own.intersection(named))

    def averages_of(self, case: Mapping[str, str]) -> dict[str, int]:
        """The averages that the eval of a case counts in, the outermost first, each with the number of its parts."""
        parts, holders = self.members(case), dict[str, int]()
        while holder := next((name for name, of in self.averages.items() if parts.intersection(of)), None):
            parts, holders = {holder}, {holder: len(self.averages[holder]), **holders}
        return holders

    def is_first_of(self, average: str, case: Mapping[str, str]) -> bool:
        """Whether the eval of a case is the first that an average counts, with which its published values stand."""
        while average in self.averages:
            average = self.averages[average][0]
        return average in self.members(case)

    def template(self, text: str, case: Mapping[str, str]) -> Template:
        return template(self.filled(text, case), self.transforms)

    @property
    def grid(self) -> Mapping[str, Sequence[str]]:
        """The parameters whose values are evals each."""
        return {name: values_of(known) for name, known in self.parameters.items() if not isinstance(known, str)}

    def cases(self, given: Mapping[str, str]) -> list[dict[str, str]]:
        """All parameters, with every value of each that is not ``given``."""
        values = {
            name: (given[name],) if name in given else values_of(known) for name, known in self.parameters.items()
        }
        return [dict(zip(values, case, strict=True)) for case in product(*values.values())]

    @property
    def withheld(self) -> Mapping[str, Sequence[str]]:
        """The values of parameters, in addition to those of ``parameters``, whose answers are withheld."""
        return {name: texts(values) for name, values in self.submission.parameters.items()} if self.submission else {}

    def is_withheld(self, case: Mapping[str, str]) -> bool:
        """Whether the answers of a case are withheld."""
        return any(case.get(name) in values for name, values in self.withheld.items())

    def ids(self) -> list[dict[str, str]]:
        """The evals of the file: their values of the parameters that make their ids; those withheld come last."""
        grid = self.grid
        cases = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        for name, values in self.withheld.items():
            further = {other: values if other == name else grid[other] for other in {**grid, name: ()}}
            cases += [dict(zip(further, case, strict=True)) for case in product(*further.values())]
        return cases

    def of_layouts(self, case: Mapping[str, str]) -> list[Declaration]:
        """The same as each layout has it that a case is distributed in, the file's own first."""
        fitting = (
            layout
            for layout in self.layouts
            if all(case.get(name) in texts(values) for name, values in layout.parameters.items())
        )
        return [self, *(msgspec.structs.replace(self, data=each.data, sample=each.sample) for each in fitting)]

    def files(self, case: Mapping[str, str]) -> Mapping[str, tuple[Declaration, str]]:
        """The files below the root of which the first that is there holds the rows, each with its layout, by what shows
        that it is there.
        """
        layouts = [(each, each.filled(file, case)) for each in self.of_layouts(case) for file in texts(each.data.rows)]
        return {landmark(file): (each, file) for each, file in layouts}


_TABLES: Mapping[str, type[Record]] = {"source": Source, "data": Layout, "sample": Fields}
_PLAIN = (
    *("parameters", "vocabulary", "cluster", "groups", "note", "fetch", "prompts", "published", "unproven"),
    *("suites", "averages", "pooled"),
)
_LAYOUT, _SUBMISSION = "layout", "submission"
_OF_SAMPLES = ("data", "sample", _LAYOUT, _SUBMISSION, "parameters", "vocabulary", "cluster", "groups", "fetch")
"""The keys that say which samples there are."""
_NOT_OF_OTHERS: Mapping[str, Any] = {
    **{"prompts": {}, "published": (), "unproven": "", "suites": {}, "averages": {}, "pooled": True}
}
"""What of a declaration is of its own evals, and not of those that have their samples from it."""
_NAMED_EVAL = re.compile(r"(?P<task>(?P<benchmark>[^/\[]+)(?:/[^/\[]+)?)(?:\[(?P<id>.+)\])?")
_CELLS = ("models", "values")
_TEMPLATES = ("id", "audio", "question", "choices", "answer", "references", "start", "end")
KEYS = (*_TABLES, *_PLAIN, _LAYOUT, _SUBMISSION, "task")
"""Those of a file's keys that are about its data."""


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a file. Raises UsageError where it is not TOML."""
    try:
        return toml_tables(path.read_bytes())
    except ValueError as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error


def tasks_of(path: Path, table: Mapping[str, Any], mistakes: Mistakes) -> dict[str, Mapping[str, Any]]:
    """The file's tasks by name, each with all that it shares with the file; "" for a file of one.

    A task has any key of a file; its tables are added to the file's, and what both have is the task's.
    """
    tasks = table.get("task")
    if tasks is None:
        return {"": table}
    shared = {key: value for key, value in table.items() if key != "task"}
    merged: dict[str, Mapping[str, Any]] = {}
    if not isinstance(tasks, list) or not tasks or not all(isinstance(task, dict) for task in tasks):
        mistakes.add(f"{path}: task must be tables, each under [[task]]")
        return {}
    for number, task in enumerate(tasks, start=1):
        name = task.get("name")
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z]\w*", name):
            mistakes.add(f"{path}, [[task]] number {number} has no name of letters, digits and underscores; name it")
        elif name in merged:
            mistakes.add(f"{path} has two tasks {name!r}; make their names differ")
        else:
            merged[name] = _merged(shared, {key: value for key, value in task.items() if key != "name"})
    return merged


def _merged(table: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = {key for key in over if isinstance(table.get(key), dict) and isinstance(over[key], dict)}
    return {**table, **over, **{key: _merged(table[key], over[key]) for key in both}}


def declaration(path: Path, task: str, table: Mapping[str, Any], mistakes: Mistakes) -> Declaration | None:
    """The data that ``table`` declares for a task of ``path``; None, with all that is wrong, where it is none."""
    if "data" not in table and (named := declaration_of_named(path, task, table, mistakes)):
        return named
    place = f"{path}, [[task]] {task!r}" if task else str(path)
    own = Mistakes()
    tables: dict[str, Any] = {}
    for name, record in _TABLES.items():
        if name == "source" or name in table:
            tables[name] = _table(f"{place}, [{name}]", table.get(name, {}), record, own)
        else:
            own.add(f"{place} has no table [{name}]; add it")
    if not task and "name" in table:
        own.add(f"{place} has the unknown key 'name'; its file's name is its name")
    suite = path.name.removesuffix(SUFFIX)
    values = _values(place, {**table, "published": _published(place, task, table, own)}, Declaration, _PLAIN, own)
    layouts = _layouts(place, table.get(_LAYOUT, []), own)
    submission: Any = None
    if _SUBMISSION in table:
        submission = _table(f"{place}, [{_SUBMISSION}]", table[_SUBMISSION], Withheld, own)
    # What is of a wrong type stands as nothing in the checks of all else.
    source, data, sample = (tables.get(name) for name in _TABLES)
    declared = Declaration(
        name=f"{suite}/{task}" if task else suite,
        source=source or Source(),
        data=data or Layout(rows=()),
        sample=sample or Fields(id="", audio=(), answer=""),
        layouts=tuple(layouts.values()),
        submission=submission,
        **values,
    )
    usable = all((name in table) == (name in values) for name in ("parameters", "vocabulary"))
    usable = _check_parameters(declared, place, own) and _check_vocabularies(declared, place, own) and usable
    if usable:
        _check_layout(declared, place, own)
        _check_parameters_are_used(declared, place, own)
    _check_published(declared, place, own)
    _check_fetches(declared, place, usable, own)
    if sample is not None:
        _check_metadata_names(declared, place, own)
    for where, layout in layouts.items():
        other = msgspec.structs.replace(declared, data=layout.data, sample=layout.sample)
        if usable:
            _check_layout(other, where, own)
            _check_values(declared, where, layout.parameters, own)
        _check_metadata_names(other, where, own)
    with mistakes.catching():
        own.check()
        return declared
    return None


def declaration_of_named(path: Path, task: str, table: Mapping[str, Any], mistakes: Mistakes) -> Declaration | None:
    """The declaration of a task whose ``dataset`` names an eval of another file, of which it has the samples.

    None where it names no declared data set, or all of one that has several evals; and, with what is wrong, where there
    is no such eval, or the task says of samples itself.
    """
    match = _NAMED_EVAL.fullmatch(str(table.get("dataset")))
    file = LOADERS.get(match["benchmark"]) if match else None
    if match is None or not isinstance(file, Path):
        return None
    place = f"{path}, [[task]] {task!r}" if task else str(path)
    own, suite = Mistakes(), path.name.removesuffix(SUFFIX)
    with own.catching(f"{place}: dataset {match[0]!r}"):
        if (named := _named_eval(match, file)) is None:
            return None
        base, case = named
        if written := [key for key in _OF_SAMPLES if key in table]:
            own.add(f"{place} has the samples of {match[0]}, and {', '.join(written)} of its own; leave one out")
        rows = {**table, "published": _published(place, task, table, own)}
        source: Any = _table(f"{place}, [source]", table.get("source", {}), Source, own)
        of_source = {key: getattr(source, key) for key in table.get("source", ())} if source else {}
        declared = msgspec.structs.replace(
            base,
            **{**_NOT_OF_OTHERS, **_values(place, rows, Declaration, [*_NOT_OF_OTHERS, "note"], own)},
            submission=None,
            name=f"{suite}/{task}" if task else suite,
            samples_of=base.set_name,
            source=msgspec.structs.replace(base.source, **of_source),
            data=msgspec.structs.replace(base.data, root=base.root),
            parameters={**base.parameters, **case},
            fetch=tuple(part for part in base.fetch if _is_of(part.parameters, base, case)),
            layouts=tuple(layout for layout in base.layouts if _is_of(layout.parameters, base, case)),
        )
        for word in declared.source.keywords:
            _check_name(f"{place}, [source]", word, own)
        _check_published(declared, place, own)
    with mistakes.catching():
        own.check()
        return declared
    return None


def _named_eval(match: re.Match[str], file: Path) -> tuple[Declaration, dict[str, str]] | None:
    """The data set and the eval of it that a text names; None for all of a benchmark of several evals.

    Raises UsageError, as the end of a sentence, for a name that nothing has.
    """
    tasks = read_declarations(file)
    names = {f"{match['benchmark']}/{task}" if task else match["benchmark"]: task for task in tasks}
    if match["task"] not in names:
        if match["task"] == match["benchmark"] and not match["id"]:
            return None
        raise UsageError(f" is not an eval; {nearest(match['task'], names)}")
    base = tasks[names[match["task"]]]
    cases = base.ids()
    if match["id"]:
        cases = [case for case in cases if "-".join(case.values()) == match["id"]]
        others = [name for name, values in base.parameters.items() if isinstance(values, OpenParameter)]
        if not cases and len(base.grid) == len(others) == 1 and match["id"] in base.parameters[others[0]]:
            cases = [{others[0]: match["id"]}]
    if len(cases) == 1 and not base.is_withheld(cases[0]):
        return base, cases[0]
    if not match["id"] and match["task"] == match["benchmark"]:
        return None
    ids = [f"{match['task']}[{'-'.join(case.values())}]" for case in base.ids() if not base.is_withheld(case)]
    raise UsageError(f" is not a single eval with answers; {nearest(match[0], ids)}")


def _is_of(parameters: Mapping[str, Texts], base: Declaration, case: Mapping[str, str]) -> bool:
    """Whether what is of some values of parameters is of those of an eval."""
    chosen = base.cases(case)[0]
    return all(chosen.get(name) in texts(values) for name, values in parameters.items())


def _check_published(declared: Declaration, place: str, mistakes: Mistakes) -> None:
    for number, value in enumerate(declared.published, start=1):
        where = f"{place}, [[published]] number {number}"
        mistakes.check_keys(f"{where}, parameters", value.parameters, declared.parameters)
        if value.average is not None and value.average not in declared.averages:
            mistakes.add(f"{where}: {value.average!r} is not one of [averages]", value.average, declared.averages)
        if value.perturbation is not None:
            from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations

            with mistakes.catching(f"{where}: "):
                named_perturbations(value.perturbation)
        if value.prompt is not None and value.prompt not in declared.prompts:
            mistakes.add(f"{where}: prompt {value.prompt!r} is not one of [prompts]", value.prompt, declared.prompts)


def _published(place: str, task: str, table: Mapping[str, Any], mistakes: Mistakes) -> object:
    """``[[published]]`` with a row for each of the values that are in tables, but those of other tasks' evals."""
    written, averages = table.get("published", []), _lists(table.get("averages"))
    if not isinstance(written, list) or not all(isinstance(row, Mapping) for row in written):
        return written
    parameters = _lists(table.get("parameters")).items()
    keys: dict[str, dict[str, Any]] = {task: {}}
    keys |= {value: {"parameters": {name: value}} for name, values in parameters for value in values}
    keys |= {name: {"average": name} for name in averages}
    known, rows = [*keys, *(part for parts in averages.values() for part in parts)], []
    for number, row in enumerate(written, start=1):
        where, cells = f"{place}, [[published]] number {number}", {key: row[key] for key in _CELLS if key in row}
        if not cells:
            rows.append(row)
            continue
        values: Any = _table(where, cells, PublishedTable, mistakes)
        shared = {key: value for key, value in row.items() if key not in cells}
        for of, numbers in values.values.items() if values else ():
            if of not in known:
                mistakes.add(f"{where}, values: {of!r} is neither an eval nor an average of the file", of, known)
            if len(numbers) > len(values.models):
                mistakes.add(f"{where}, values: {of} has {len(numbers)} for {len(values.models)} models")
            pairs = zip(values.models, numbers, strict=False) if of in keys else ()
            rows += [{**shared, **keys[of], "model": model, "value": value} for model, value in pairs]
    return rows


def _lists(written: object) -> dict[str, list[str]]:
    """The texts of those members of a table that are lists; whether they should be, is checked elsewhere."""
    table = written if isinstance(written, Mapping) else {}
    return {
        key: [text for text in values if isinstance(text, str)]
        for key, values in table.items()
        if isinstance(values, list)
    }


def _layouts(place: str, tables: object, mistakes: Mistakes) -> dict[str, Alternative]:
    """What ``[[layout]]`` holds, each by its place, without those that are wrong."""
    if not isinstance(tables, list):
        mistakes.add(f"{place}: layout must be tables, each under [[layout]]")
        return {}
    layouts: dict[str, Any] = {}
    for number, table in enumerate(tables, start=1):
        where = f"{place}, [[layout]] number {number}"
        parts: dict[str, Any] = {}
        for name in ("data", "sample"):
            if isinstance(table, Mapping) and name in table:
                parts[name] = _table(f"{where}, [{name}]", table[name], _TABLES[name], mistakes)
        if None not in parts.values() and (layout := _table(where, {**table, **parts}, Alternative, mistakes)):
            layouts[where] = layout
    return layouts


def _check_values(
    declared: Declaration, place: str, parameters: Mapping[str, str | Sequence[str]], mistakes: Mistakes
) -> None:
    """Adds the ``parameters`` that the file does not have, and their values."""
    for name, values in parameters.items():
        if name not in declared.parameters:
            mistakes.add(f"{place}, parameters: {name!r} is not one of the file's", name, declared.parameters)
            continue
        own = declared.parameters[name]
        known = [*values_of(own), *declared.withheld.get(name, ())]
        for value in texts(values):
            if value not in known and not (isinstance(own, OpenParameter) and value in own):
                mistakes.add(f"{place}, parameters: {name} has no value {value!r}", value, known)


def _check_fetches(declared: Declaration, place: str, usable: bool, mistakes: Mistakes) -> None:
    """Adds what is wrong with ``[[fetch]]``, and with the folder that it goes into."""
    if (root := declared.data.root) is not None and ("/" in root or "\\" in root or root.startswith(".")):
        mistakes.add(f"{place}, [data], root: {root!r} is not a folder's name; write one, without a path")
    if declared.fetch and declared.source.obtain:
        mistakes.add(f"{place}: 'obtain' is of what cannot be fetched, and [[fetch]] fetches it; keep one")
    for number, fetch in enumerate(declared.fetch, start=1):
        where = f"{place}, [[fetch]] number {number}"
        if sum(part is not None for part in (fetch.hub, fetch.git, fetch.url)) != 1:
            mistakes.add(f"{where} must have one of 'hub', 'git' and 'url'")
        if fetch.url is None and (fetch.sha256 or fetch.md5):
            mistakes.add(f"{where}: a digest is of what is behind a 'url'; of others 'revision' is the commit")
        if fetch.url is not None and (fetch.revision or fetch.files):
            mistakes.add(f"{where}: 'revision' and 'files' are of 'hub' and 'git', not of a 'url'")
        for address in (fetch.git, fetch.url):
            if address is not None and not _ADDRESS.match(address):
                mistakes.add(f"{where}: {address!r} is not an address; write https://…")
        if usable:
            case = declared.cases({})[0]
            for key, path in (*(("files", file) for file in fetch.files), ("into", fetch.into)):
                try:
                    _ = path and relative_path(declared.filled(path, case))
                except ValueError as error:
                    mistakes.add(f"{where}, {key}, {path!r}: it cannot be used: {error}")
            _check_values(declared, where, fetch.parameters, mistakes)


def _table(place: str, table: object, record: type[Record], mistakes: Mistakes) -> Record | None:
    """``table`` as a ``record``, or None with every mistake in it."""
    if not isinstance(table, Mapping):
        mistakes.add(f"{place} must be a table, not {table!r}")
        return None
    fields = _fields(record)
    likely_keys = mistakes.check_keys(place, table, fields)
    values = _values(place, table, record, list(fields), mistakes)
    complete = values.keys() == table.keys()
    for name, field in fields.items():
        if field.required and name not in table:
            complete = False
            if name not in likely_keys:
                mistakes.add(f"{place} has no {name!r}; add it")
    return record(**values) if complete else None


def _values(
    place: str, table: Mapping[str, Any], record: type[Record], names: Sequence[str], mistakes: Mistakes
) -> dict[str, Any]:
    """The values of those of the record's fields that ``table`` has; what is of another type is a mistake."""
    values: dict[str, Any] = {}
    for name in filter(table.__contains__, names):
        with mistakes.catching(f"{place}: "):
            values[name] = _typed(name, table[name], _fields(record)[name].type)
    return values


@cache
def _fields(record: type[Record]) -> Mapping[str, msgspec.structs.FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(record)}


def _typed(key: str, value: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        says = reading.mistake(str(error), value, kind)
        raise UsageError(f"{key}{says.removeprefix('it') if says.startswith('it ') else f', {says}'}") from None


def _check_parameters(declared: Declaration, place: str, mistakes: Mistakes) -> bool:
    """Adds what is wrong with names that become tests' ids and markers; whether the parameters can be filled in."""
    usable = True
    for name, values in declared.parameters.items():
        if not name.isidentifier():
            mistakes.add(f"{place}, [parameters]: {name!r} is not a name; write letters, digits and underscores")
            usable = False
        if name == "task" and "/" in declared.name:
            mistakes.add(f"{place}, [parameters]: 'task' is what chooses a [[task]]; call the parameter something else")
            usable = False
        for value in values_of(values):
            _check_name(f"{place}, [parameters], {name}", value, mistakes)
        if isinstance(values, OpenParameter) and isinstance(values.others, str):
            try:
                re.compile(values.others)
            except re.error as error:
                mistakes.add(f"{place}, [parameters], {name}: others, {values.others!r}, is not a pattern: {error}")
                usable = False
    for name, further in declared.withheld.items():
        where = f"{place}, [{_SUBMISSION}], parameters"
        if name not in declared.parameters:
            mistakes.add(f"{where}: {name!r} is not one of [parameters]", name, declared.parameters)
            usable = False
        for value in further:
            _check_name(f"{where}, {name}", value, mistakes)
            if name in declared.parameters and value in values_of(declared.parameters[name]):
                mistakes.add(f"{where}: {name} has {value!r} in [parameters], too, whose answers are published")
    for word in declared.source.keywords:
        _check_name(f"{place}, [source]", word, mistakes)
    return usable


def _check_layout(declared: Declaration, place: str, mistakes: Mistakes) -> None:
    """Adds what is wrong with the templates and the files."""
    sample, data = declared.sample, declared.data
    case = declared.cases({})[0]

    def attempt(key: str, check: Callable[[str], object], written: str | Sequence[str] | None) -> None:
        for text in texts(written):
            try:
                check(declared.filled(text, case))
            except ValueError as error:
                mistakes.add(f"{place}, {key}, {text!r}: it {error}")

    is_template = partial(template, transforms=declared.transforms)
    of_column = data.labels and "{" in declared.filled(data.labels, case)
    attempt("[data], labels", is_template if of_column else relative_path, data.labels)
    for key, text in sample.templates:
        attempt(key, is_template, text)
    attempt("[data], rows", partial(_check_rows, data), data.rows)
    _check_lines(data, f"{place}, [data]", mistakes)
    for name, join in data.join.items():
        key = f"[data.join.{name}]"
        if not name.isidentifier():
            mistakes.add(f"{place}, {key}: {name!r} is not a name; write letters, digits and underscores")
        attempt(f"{key}, on", is_template, join.on)
        attempt(f"{key}, to", is_template, join.to)
        attempt(f"{key}, merge", is_template, join.merge)
        attempt(f"{key}, rows", partial(_check_rows, join), join.rows)
        _check_lines(join, f"{place}, {key}", mistakes)
    _check_captures(declared, place, mistakes)
    if sample.mix is not None and len(sample.clips) not in (1, len(sample.mix.gains)):
        mistakes.add(
            f"{place}, [sample.mix] has {len(sample.mix.gains)} gains for {len(sample.clips)} clips of 'audio'"
        )
    if (sample.audio is None) == (sample.speech is None):
        mistakes.add(f"{place}, [sample] must have one of 'audio' and 'speech': what is heard")
    if sample.join is not None and (sample.mix is not None or sample.speech is not None):
        mistakes.add(f"{place}, [sample], join: clips that are mixed or said are one already; leave it out")
    if (sample.start is None) != (sample.end is None):
        mistakes.add(f"{place}, [sample] has only one of 'start' and 'end'; a clip in a recording has both")
    suffixes = {PurePosixPath(file).suffix.lower() for file in texts(data.rows)}
    if data.list is not None and suffixes != {".json"}:
        mistakes.add(f"{place}, [data], list: only a .json file has an array of that name")
    attempt("[data], merge", is_template, data.merge)
    if data.throughout and data.merge is None:
        mistakes.add(f"{place}, [data], throughout: it is of rows that 'merge' makes one; add that, or use 'where'")
    if ".parquet" in suffixes and any(join.partial for join in data.join.values()):
        mistakes.add(f"{place}, [data.join], partial: rows of Parquet are not left out for lack of another table's")
    for folder, archive in data.archives.items():
        attempt("[data], archives", relative_path, (folder, archive))
    if data.audio_root is not None and ".parquet" in suffixes:
        mistakes.add(f"{place}, [data], audio_root: rows of Parquet have their audio in cells or beside them")
    if data.rate is not None and ".parquet" not in suffixes:
        mistakes.add(f"{place}, [data], rate is of waveforms in Parquet files, and its rows are in none; leave it out")
    if sample.answer is None and sample.references is None:
        mistakes.add(f"{place}, [sample] has neither 'answer' nor 'references'; add what is true")
    for key, written in (("[data], count", data.count), ("[sample], first_seconds", sample.first_seconds)):
        for each in declared.cases({}):
            try:
                number = declared.number(written, each)
                if key.endswith("count") and number is not None and not number.is_integer():
                    raise ValueError(f"is {number:g}, and rows are whole")
            except ValueError as error:
                mistakes.add(f"{place}, {key}, {written!r}: it {error}")
    if data.labels is not None and sample.choices is not None:
        mistakes.add(f"{place} has choices in [sample] and labels in [data], which are choices too; keep one")


def _check_parameters_are_used(declared: Declaration, place: str, mistakes: Mistakes) -> None:
    """Adds the parameters that nothing is made of, in any layout: most often one is misspelled."""
    layouts = [(declared.data, declared.sample), *((layout.data, layout.sample) for layout in declared.layouts)]
    used = [text for data, sample in layouts for text in _texts_of_rows(data, sample)]
    for name in declared.parameters:
        if not any(re.search(rf"\{{{name}[|}}]", text) for text in used):
            mistakes.add(f"{place}, [parameters]: nothing is made of {name!r}; write {{{name}}} where it belongs")


def _texts_of_rows(data: Layout, sample: Fields) -> list[str]:
    written = [text for each in (data, *data.join.values()) for text in (*texts(each.rows), *each.where)]
    written += [
        text for each in (data, *data.join.values()) for wanted in each.where.values() for text in texts(wanted)
    ]
    written += [text for join in data.join.values() for text in (join.on, join.to)]
    written += [text for text in (data.labels, data.merge, data.count, sample.first_seconds) if isinstance(text, str)]
    return [*written, *(text for _, text in sample.templates)]


def _check_vocabularies(declared: Declaration, place: str, mistakes: Mistakes) -> bool:
    """Adds vocabularies that nothing can name, and parameters that have no word in theirs; whether there are none."""
    before = len(mistakes)
    for name in declared.vocabulary:
        if not name.isidentifier() or name in TRANSFORMS:
            mistakes.add(f"{place}, [vocabulary]: {name!r} is not a name, or that of a transform; write another")
    layouts = [(declared.data, declared.sample), *((layout.data, layout.sample) for layout in declared.layouts)]
    for case in declared.cases({}) if declared.vocabulary else ():
        for text in sorted({text for data, sample in layouts for text in _texts_of_rows(data, sample)}):
            try:
                declared.filled(text, case)
            except ValueError as error:
                mistakes.add(f"{place}, [vocabulary]: {text!r} has no word for {', '.join(case.values())}: {error}")
    return len(mistakes) == before


def _check_lines(rows: Rows, place: str, mistakes: Mistakes) -> None:
    """Adds what is wrong with how the lines of a text are read, and with the patterns of columns."""
    matches = [pair for column in rows.matches.values() for pair in column.items()]
    for key, pattern in (("line", rows.line), ("skip", rows.skip), *rows.parts.items(), *matches):
        try:
            groups = re.compile(pattern or "").groupindex
        except re.error as error:
            mistakes.add(f"{place}, {key}: {pattern!r} is not a pattern: {error}")
        else:
            if pattern and key != "skip" and not groups:
                mistakes.add(f"{place}, {key}: {pattern!r} has no named group, (?P<name>…), which would be a column")
    if rows.skip is not None and rows.line is None:
        mistakes.add(f"{place}, skip is of lines that [data], line, reads; add that, or leave it out")
    if rows.line is not None and rows.table is not None:
        mistakes.add(f"{place} has both 'line' and 'table', each of which says what a line is; keep one")


def _check_captures(declared: Declaration, place: str, mistakes: Mistakes) -> None:
    """Adds the names in the files' paths that nothing is made of."""
    data, case = declared.data, declared.cases({})[0]
    shown = [data.labels or "", data.merge or "", *(join.on for join in data.join.values())]
    shown += [text for _, text in declared.sample.templates]
    uses = {name for text in shown for name in re.findall(r"\{(\w+)[?|}]", declared.filled(text, case))}
    columns = uses | set(data.where)
    for file in texts(data.rows):
        for name in sorted(captures_in(declared.filled(file, case)) - columns):
            mistakes.add(
                f"{place}, [data], rows, {file!r}: it names {{{name}}}, which is not one of the [parameters], and no "
                "column that a sample is made of; write * for what does not matter"
            )


def _check_metadata_names(declared: Declaration, place: str, mistakes: Mistakes) -> None:
    known = [*declared.sample.metadata_templates, *declared.sample.optional]
    for key, names in (("cluster", [declared.cluster] if declared.cluster else []), ("groups", declared.groups or ())):
        for name in names:
            if name not in known:
                mistakes.add(f"{place}: {key} names {name!r}, which [sample] has not in its metadata", name, known)


def _check_name(place: str, name: str, mistakes: Mistakes) -> None:
    if not _NAME.fullmatch(name):
        mistakes.add(f"{place}: {name!r} is not a name for a test; write letters, digits, hyphens and underscores")


def _check_rows(rows: Rows, file: str) -> None:
    try:
        relative_path(file)
    except ValueError as error:
        raise ValueError(f"cannot be used: {error}") from None
    if unknown := re.search(r"\{(?!\w+\}).*?\}", file):
        raise ValueError(f"names {unknown[0]}, which is not one of the [parameters]")
    suffix = PurePosixPath(file).suffix.lower()
    if isinstance(rows, Join) and suffix in (".parquet", *ENDINGS):
        raise ValueError("is not a table of texts, which alone is joined")
    if rows.line is not None or rows.table is not None:
        if suffix in (".json", ".jsonl", ".ndjson", ".parquet", *ENDINGS):
            raise ValueError(f"is not a text of lines, as {'line' if rows.line is not None else 'table'} has it")
    elif suffix not in (*FORMATS, *ENDINGS):
        raise ValueError(f"ends with none of {', '.join(FORMATS)}, and with none of audio, such as .wav")
    if suffix == ".parquet" and captures_in(file):
        raise ValueError("has a name in it; of shards only * is a pattern")


def check_suites(path: Path, declared: Mapping[str, Declaration | None], mistakes: Mistakes) -> None:
    """Adds what is wrong with ``[suites]``, which is seen when all tasks of a file are known."""
    known = [each for each in declared.values() if each is not None]
    if len(known) < len(declared):
        return
    members = sorted({member for each in known for case in each.ids() for member in each.members(case)})
    for name, named in {name: named for each in known for name, named in each.suites.items()}.items():
        if not name.isidentifier():
            mistakes.add(f"{path}, [suites]: {name!r} is not a name; write letters, digits and underscores")
        for member in () if named is True else named:
            if member not in members:
                mistakes.add(f"{path}, [suites], {name}: no eval of the file is {member!r}", member, members)


def check_averages(path: Path, declared: Mapping[str, Declaration | None], mistakes: Mistakes) -> None:
    """Adds what is wrong with ``[averages]``, which is seen when all tasks of a file are known."""
    known = [each for each in declared.values() if each is not None]
    averages = known[0].averages if len(known) == len(declared) and known else {}
    members = [member for each in known for case in each.ids() for member in each.members(case)] if averages else []
    parts = [part for of in averages.values() for part in of]
    for number, (name, of) in enumerate(averages.items()):
        place = f"{path}, [averages], {name}"
        for part in of:
            if members.count(part) + list(averages)[:number].count(part) != 1:
                mistakes.add(
                    f"{place}: {part!r} must be one eval of the file, or an average before this", part, members
                )
            elif parts.count(part) > 1:
                mistakes.add(f"{place}: {part!r} is in two averages, or twice in one; name it once")
        if name in members:
            mistakes.add(f"{place} is an eval of the file too; call the average something else")


def read_declarations(path: Path) -> dict[str, Declaration]:
    """The data of a file's tasks; of "" for a file of one. Raises UsageError with all that is wrong with them."""
    mistakes = Mistakes()
    tasks = tasks_of(path, read_toml(path), mistakes)
    declared = {task: declaration(path, task, table, mistakes) for task, table in tasks.items()}
    check_suites(path, declared, mistakes)
    check_averages(path, declared, mistakes)
    mistakes.check()
    return {task: data for task, data in declared.items() if data is not None}
