"""What a user asks for, by name: the parts of which data set, for which evals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from pytest_audiobench.datasets.catalogue import LOADERS, SUFFIX
from pytest_audiobench.datasets.declaration import Declaration, Fetch, OpenParameter, read_declarations, texts
from pytest_audiobench.errors import UsageError
from pytest_audiobench.extensions import suggestion
from pytest_audiobench.identity import digest

_EVAL = re.compile(r"(?P<name>.+?)\[(?P<id>.+)\]")


@dataclass
class WantedPart:
    """One of ``[[fetch]]`` with its parameters in place, and the evals that need it."""

    fetch: Fetch
    """One without a place is all of a folder that is handed out otherwise."""
    parameters: dict[str, list[str]]
    needed_by: list[str]

    @property
    def key(self) -> str:
        """A name for it in paths, which is another for other files."""
        fetch = self.fetch
        return digest([fetch.hub, fetch.git, fetch.url, list(fetch.files), fetch.into, fetch.unpack])[:16]


@dataclass
class WantedData:
    """What is to be fetched of the data set whose folder is called ``root``."""

    root: str
    names: list[str] = field(default_factory=list)
    """Of the benchmarks that want it."""
    licences: list[str] = field(default_factory=list)
    obtain: str = ""
    gated: bool = False
    """Whether the hub gives some of it only to accounts that its publisher has admitted."""
    parts: dict[str, WantedPart] = field(default_factory=dict)

    def add(self, declared: Declaration, cases: Iterable[Mapping[str, str]]) -> None:
        """Want also what evals with the parameters ``cases`` need."""
        name, licence = declared.set_name.partition("/")[0], declared.source.licence
        self.names += [] if name in self.names else [name]
        self.licences += [] if licence is None or licence in self.licences else [licence]
        self.obtain = self.obtain or declared.source.obtain or ""
        self.gated = self.gated or declared.source.gated
        for case in cases:
            for fetch in declared.fetch:
                if all(case.get(key) in texts(values) for key, values in fetch.parameters.items()):
                    self._want(fetch, case, declared)

    def _want(self, fetch: Fetch, case: Mapping[str, str], declared: Declaration) -> None:
        filled, name = declared.filled, declared.set_name
        written = [*fetch.files, *filter(None, (fetch.git, fetch.url, fetch.into))]
        # What its paths name, and what it says itself, is all that tells which evals need it.
        keys = [
            key
            for key in case
            if key in fetch.parameters or any(re.search(rf"\{{{key}[|}}]", text) for text in written)
        ]
        own = msgspec.structs.replace(
            fetch,
            files=tuple(filled(file, case) for file in fetch.files),
            **{key: filled(text, case) for key in ("git", "url", "into") if (text := getattr(fetch, key))},
        )
        part = WantedPart(own, {key: [case[key]] for key in keys}, [name])
        there = self.parts.setdefault(part.key, part)
        there.needed_by += [] if name in there.needed_by else [name]
        for key in keys:
            there.parameters[key] += [] if case[key] in there.parameters[key] else [case[key]]


def all_names() -> list[str]:
    """The benchmarks that are declared and can be fetched."""
    files = {name: path for name, path in LOADERS.items() if isinstance(path, Path)}
    return sorted(name for name, path in files.items() if any(d.fetch for d in read_declarations(path).values()))


def wanted_data(
    names: Sequence[str], only: Mapping[str, Sequence[str]], *, with_needs: bool = True
) -> list[WantedData]:
    """What the names ask for, by data set: ``NAME``, ``NAME/TASK``, ``NAME[ID]`` as tests are called, or the path of a
    file. ``only`` narrows it to evals with these values of parameters. Unless it is without them, what those benchmarks
    say that they need of others is asked for too.

    Raises UsageError for what is not there.
    """
    by_root: dict[str, WantedData] = {}
    for name in names:
        for declared, cases in _evals(name, only):
            for each, its_cases in [(declared, cases), *(needs_of(declared) if with_needs else ())]:
                by_root.setdefault(each.root, WantedData(each.root)).add(each, its_cases)
    return list(by_root.values())


def needs_of(declared: Declaration) -> list[tuple[Declaration, list[dict[str, str]]]]:
    """The data of other benchmarks that one reads, with the parameters of the evals that it is of."""
    return [data for need in declared.source.needs for data in _evals(need, {})]


def _evals(name: str, only: Mapping[str, Sequence[str]]) -> list[tuple[Declaration, list[dict[str, str]]]]:
    match = _EVAL.fullmatch(name)
    benchmark, id_ = (match["name"], match["id"]) if match else (name, "")
    tasks, evals = _tasks(benchmark), []
    _check_parameters(name, tasks, only)
    for declared in tasks:
        given = [case for case in declared.ids() if not id_ or "-".join(case.values()) == id_]
        for key, values in only.items():
            given = _narrowed(given, key, values) if key in declared.parameters else []
        if cases := [case for each in given for case in declared.cases(each)]:
            evals.append((declared, cases))
    if not evals:
        ids = ["-".join(case.values()) for declared in tasks for case in declared.ids() if case]
        raise UsageError(f"{name[:100]}: {benchmark} has no such eval; {suggestion(id_, ids)}")
    return evals


def _narrowed(ids: Sequence[Mapping[str, str]], key: str, values: Sequence[str]) -> list[dict[str, str]]:
    """Those evals whose parameter has one of the values, also a value that can be asked for and is not an eval."""
    fitting = [dict(case) for case in ids if case.get(key) in values]
    others = [{name: value for name, value in case.items() if name != key} for case in ids]
    unique = {tuple(sorted(case.items())): case for case in others}.values()
    known = {case[key] for case in fitting}
    return [*fitting, *({**case, key: value} for case in unique for value in values if value not in known)]


def _check_parameters(name: str, tasks: Sequence[Declaration], only: Mapping[str, Sequence[str]]) -> None:
    for key, values in only.items():
        known = {parameter for declared in tasks for parameter in declared.parameters}
        if key not in known:
            there = suggestion(key, sorted(known)) if known else "it has no parameter"
            raise UsageError(f"--only {key}=…: {name} has no parameter of that name; {there}")
        for value in values:
            kinds = [declared.parameters[key] for declared in tasks if key in declared.parameters]
            allowed = [*kinds, *(declared.withheld.get(key, ()) for declared in tasks)]
            if not any(value in (kind if isinstance(kind, OpenParameter) else texts(kind)) for kind in allowed):
                named = (str(kind) if isinstance(kind, OpenParameter) else ", ".join(texts(kind)) for kind in kinds)
                there = ", ".join(dict.fromkeys(named))
                raise UsageError(f"--only {key}={value[:60]}: {name} has no such value; it has {there}")


def _tasks(benchmark: str) -> list[Declaration]:
    """The data of a benchmark's tasks, or of the one that is named."""
    if benchmark.endswith(SUFFIX):
        path = Path(benchmark).expanduser()
        if not path.is_file():
            raise UsageError(f"there is no file {path}; correct the path")
        return list(read_declarations(path).values())
    name, _, task = benchmark.partition("/")
    files = {name: path for name, path in LOADERS.items() if isinstance(path, Path)}
    if name not in files:
        raise UsageError(f"no benchmark is called {name[:80]!r}; {suggestion(name, files)}")
    tasks = read_declarations(files[name])
    if task and task not in tasks:
        raise UsageError(f"{name} has no task {task[:80]!r}; {suggestion(task, tasks)}")
    return [tasks[task]] if task else list(tasks.values())
