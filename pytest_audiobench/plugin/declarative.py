"""Evals without code: ``*.audiobench.toml`` files, which name or declare data, a protocol and thresholds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes, near
from pytest_audiobench.plugin.declaration_index import Outline, Outlines, appearance, index_of
from pytest_audiobench.plugin.eval_items import DECLARED, STYLE, DeclaredEval
from pytest_audiobench.plugin.options import QUICK

if TYPE_CHECKING:
    from pytest_audiobench.datasets.dataset import Dataset
    from pytest_audiobench.datasets.declaration import Declaration
    from pytest_audiobench.datasets.places import Places
    from pytest_audiobench.protocols.protocol import Protocol

_DEFAULT_PROTOCOL = "multiple_choice"
_TEXT, _TEXTS = "a string", "a list of strings"
_OF_ROWS = {
    **dict.fromkeys(("question", "id", "audio", "answer", "references", "root"), _TEXT),
    "choices": f"{_TEXT} or {_TEXTS}",
}
"""Keys that only a manifest takes."""
_KEYS = {
    "manifest": _TEXT,
    "dataset": _TEXT,
    "protocol": _TEXT,
    "scorers": f"{_TEXT} or {_TEXTS}",
    "judge": f"{_TEXT} or {_TEXTS}",
    "rubric": _TEXT,
    "perturbations": _TEXTS,
    "cluster": _TEXT,
    "groups": _TEXTS,
    **_OF_ROWS,
    "require": _TEXTS,
}
"""The file's own keys that are not tables, and what each takes."""
_TABLES = (
    *("source", "fetch", "data", "sample", "layout", "submission", "parameters", "vocabulary"),
    *("prompts", "published", "unproven", "note", "suites", "averages", "pooled"),
)
_SOURCE, _CLIPS, _LAST = "source", "clips", "last"
_PYTEST = frozenset({"audiobench", "filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"})
"""Markers that mean something, and can be no words to select by."""
_WORDS: pytest.StashKey[set[str]] = pytest.StashKey()
"""The markers that files have registered."""


class DeclaredTask(NamedTuple):
    """A task of a file, or the only one."""

    table: Mapping[str, Any]
    """Its keys, with those that it shares."""
    data: Declaration | None
    lines: int
    """Of its thresholds, those that are regression lines."""
    is_plain: bool
    """Whether all that it names is this package's, so that nothing but the file says whether it is right."""

    @property
    def beside(self) -> tuple[str, ...]:
        """The perturbations that each of its evals is asked under too."""
        if not (named := self.table.get("perturbations")):
            return ()
        from pytest_audiobench.datasets.perturbations.catalogue import is_of_questions

        return tuple(named) if is_of_questions(named) else ()

    @property
    def outline(self) -> Outline:
        named = self.table.get("perturbations", ())
        changes: list[dict[str, str]] = [{}]
        if named and not self.beside:
            from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations

            changes = [{"perturbation": str(each)} for each in named_perturbations(*named)]
        cases = self.data.ids() if self.data else [{}]
        source = self.data.source if self.data else None
        suites = [self.data.suites_of(case) if self.data else () for case in cases]
        return Outline(
            cases=tuple({**case, **change} for case in cases for change in changes),
            title=source.title if source else None,
            words=tuple(source.keywords) if source else (),
            suites=tuple(named for named in suites for _ in changes),
            thresholds=len(self.table.get("require", ())),
            lines=self.lines,
            perturbations=self.beside,
        )


class DeclarativeFile(pytest.Module):
    """Collected as a module with a test function for each task, so that fixtures, models and ``-k`` work as usual."""

    def _getobj(self) -> ModuleType:
        module = ModuleType(self.name)
        for name, outline in self._outlines.items():
            register_words(self.config, (suite for suites in outline.suites for suite in suites))
            marks = [[getattr(pytest.mark, suite) for suite in suites] for suites in outline.suites]
            ways = self._prompt, self._places, self._wants_noise
            test = _test(partial(self._task, name), *ways, outline.cases, marks)
            # What pytest shows as a test's place is the file's, not that of this module.
            test.__code__ = test.__code__.replace(co_filename=str(self.path), co_firstlineno=1)
            test.__doc__ = outline.title
            for word in [QUICK, *register_words(self.config, [self.name, *outline.words])]:
                getattr(pytest.mark, word)(test)
            if outline.perturbations:
                pytest.mark.audiobench(perturbations=outline.perturbations)(test)
            setattr(module, _function(name or self.name), test)
        return module

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        names = {_function(name or self.name): name for name in self._outlines}
        for item in super().collect():
            if isinstance(item, pytest.Function):
                name = names[item.originalname]
                outline = self._outlines[name]
                chosen = item.callspec.params if hasattr(item, "callspec") else {}
                case = chosen.get("case", outline.cases[0])
                item.stash[DECLARED] = DeclaredEval(
                    outline.thresholds,
                    outline.lines,
                    partial(self._data, name),
                    partial(self._manifest, name),
                    partial(self._protocol, name),
                    partial(self._dataset, name),
                    outline.suites[outline.cases.index(case)],
                )
            yield item

    @cached_property
    def _outlines(self) -> Outlines:
        index = index_of(self.config)
        if (known := index.find(self.path)) is not None:
            return known
        seen = appearance(self.path)
        try:
            outlines = {name: task.outline for name, task in self._tasks.items()}
        except UsageError as error:
            raise self.CollectError(str(error)) from None
        if all(task.is_plain for task in self._tasks.values()):
            index.add(self.path, seen, outlines)
        return outlines

    @cached_property
    def _tasks(self) -> Mapping[str, DeclaredTask]:
        return read_declaration(self.path, self.config)

    @cached_property
    def _collected_tasks(self) -> Mapping[str, DeclaredTask]:
        """The file's tasks, read by now. Raises UsageError where they are not what was collected."""
        if {name: task.outline for name, task in self._tasks.items()} != self._outlines:
            raise UsageError(f"{self.path} was changed while its evals were collected; run them again")
        return self._tasks

    def _task(self, name: str) -> DeclaredTask:
        return self._collected_tasks[name]

    def _prompt(self) -> str:
        from pytest_audiobench.plugin.collection import session_of

        return session_of(self.config).options.prompt

    def _wants_noise(self) -> bool:
        from pytest_audiobench.plugin.collection import session_of

        return session_of(self.config).options.noise_floor

    def _places(self) -> Places:
        from pytest_audiobench.plugin.collection import session_of

        return session_of(self.config).places(self.path.parent)

    def _data(self, name: str) -> Declaration | None:
        return self._task(name).data

    def _manifest(self, name: str) -> str | None:
        return self._task(name).table.get("manifest")

    def _dataset(self, name: str, case: Mapping[str, str]) -> Dataset | str:
        return _dataset(self._task(name), case, self._prompt())

    def _protocol(self, name: str) -> Protocol | None:
        scorers: str | Sequence[str] | None = self._task(name).table.get("scorers")
        if scorers == STYLE:
            return None  # those are the model's
        asked = _asked(_in_prompt(self._task(name).table, self._prompt()))
        return asked.with_scorers(*([scorers] if isinstance(scorers, str) else scorers)) if scorers else asked


def register_words(config: pytest.Config, words: Iterable[str]) -> list[str]:
    """Those of ``words`` that are markers now.

    pytest goes through all that are registered whenever it meets a new one, so the files of a folder register their
    names before the first of them is collected.
    """
    markers = [word for word in words if word not in _PYTEST]
    registered = config.stash.setdefault(_WORDS, set())
    for word in markers:
        if word not in registered:
            registered.add(word)
            config.addinivalue_line("markers", f"{word}: of benchmarks about it")
    return markers


def _function(name: str) -> str:
    return f"test_{name}".replace("-", "_")


def _test(
    read: Callable[[], DeclaredTask],
    prompt: Callable[[], str],
    places: Callable[[], Places],
    wants_noise: Callable[[], bool],
    cases: Sequence[Mapping[str, str]],
    marks: Sequence[Sequence[pytest.MarkDecorator]],
) -> Callable[..., None]:
    # The id of the only case that has no parameter is not an id: the item is called by its function alone.
    cases_by_id = [
        pytest.param(case, id="-".join(case.values()) or pytest.HIDDEN_PARAM, marks=suites)
        for case, suites in zip(cases, marks, strict=True)
    ]

    def test_case(evaluate: Any, case: Mapping[str, str]) -> None:
        task = read()
        _demand(evaluate, task)
        table = _in_prompt(task.table, prompt())
        if task.data is not None and _is_absent(task.data, case, places()):
            # It is skipped, whatever its scorers lack on this machine.
            table = {key: value for key, value in table.items() if key not in ("scorers", "judge")}
        data, asked, scorers = _dataset(task, case, prompt()), _asked(table), table.get("scorers")
        if wants_noise() and evaluate.model.listens and not isinstance(data, str) and not data.withheld:
            from pytest_audiobench.studies.determinism import determinism

            determinism(evaluate, data, asked, samples=None, scorers=scorers)
        else:
            evaluate(data, asked, scorers=scorers)

    if list(cases) == [{}]:

        def test(evaluate: Any) -> None:
            test_case(evaluate, {})

        for suite in marks[0]:
            suite(test)
        return test

    with_cases: Callable[[Callable[..., None]], Callable[..., None]] = pytest.mark.parametrize("case", cases_by_id)
    return with_cases(test_case)


def _demand(evaluate: Any, task: DeclaredTask) -> None:
    """Declare the thresholds of the task's table.

    Not in the test itself: code in which a test requires something takes part in the decision whether earlier answers
    count, and what a table requires is known from its outline already.
    """
    if thresholds := task.table.get("require"):
        evaluate.require(*thresholds)


def _asked(table: Mapping[str, Any]) -> Protocol:
    """The protocol in which a task asks, as it comes or with its judges."""
    from pytest_audiobench.protocols.catalogue import protocol

    name, options = _protocol(table)
    asked = protocol(name, **options)
    if judges := table.get("judge"):
        from pytest_audiobench.protocols.judged.task import judged

        rubric = {"rubric": table["rubric"]} if "rubric" in table else {}
        asked = judged(asked, *([judges] if isinstance(judges, str) else judges), **rubric)
    return asked


def _is_absent(declared: Declaration, case: Mapping[str, str], places: Places) -> bool:
    from pytest_audiobench.datasets.declared import check_libraries
    from pytest_audiobench.errors import DataNotFound

    try:
        check_libraries(declared, {name: value for name, value in case.items() if name != "perturbation"}, places)
    except DataNotFound:
        return True
    except UsageError:
        pass  # its eval says why
    return False


def _in_prompt(table: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """``table`` with the options of its published prompt ``name``; as it is for "", and where it has no such prompt."""
    prompt = table.get("prompts", {}).get(name, {})
    return {**table, **{key: value for key, value in prompt.items() if key not in (_SOURCE, _CLIPS)}}


def _dataset(task: DeclaredTask, case: Mapping[str, str], prompt: str) -> Dataset | str:
    from pytest_audiobench.datasets.catalogue import dataset, perturbations
    from pytest_audiobench.datasets.dataset import perturb
    from pytest_audiobench.datasets.declared import declared_dataset, with_last_clips
    from pytest_audiobench.datasets.manifest import manifest

    table, given = task.table, dict(case)
    perturbation = given.pop("perturbation", None)
    if task.data is not None:
        data = declared_dataset(task.data, given)
        if table.get("prompts", {}).get(prompt, {}).get(_CLIPS) == _LAST:
            data = with_last_clips(data)
    elif "dataset" in table:
        data = dataset(table["dataset"])
    else:
        groups = tuple(table["groups"]) if "groups" in table else None
        rows = {key: table[key] for key in _OF_ROWS if key in table}
        data = manifest(table["manifest"], cluster=table.get("cluster"), groups=groups, **rows)
    return data if perturbation is None else perturb(data, *perturbations("named", perturbation))


def _protocol(table: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The family's name and its options: every key that is not the file's own."""
    name = table.get("protocol", _DEFAULT_PROTOCOL)
    own = {*_KEYS, *_TABLES} - ({"rubric"} if name == "judged" else set())
    return name, {key: value for key, value in table.items() if key not in own}


def read_declaration(path: Path, config: pytest.Config | None = None) -> dict[str, DeclaredTask]:
    """The file's tasks by name; "" for a file of one. Raises UsageError with all that is wrong with it."""
    from pytest_audiobench.datasets.declaration import check_averages, check_suites, read_toml, tasks_of

    mistakes = Mistakes()
    tables = tasks_of(path, read_toml(path), mistakes)
    tasks = {name: _checked(path, name, table, config, mistakes) for name, table in tables.items()}
    check_suites(path, declared := {name: task.data for name, task in tasks.items()}, mistakes)
    check_averages(path, declared, mistakes)
    mistakes.check()
    return tasks


def _checked(
    path: Path, name: str, table: Mapping[str, Any], config: pytest.Config | None, mistakes: Mistakes
) -> DeclaredTask:
    """The task, after all that is wrong with it was added."""
    from pytest_audiobench.datasets.declaration import declaration, declaration_of_named
    from pytest_audiobench.protocols.catalogue import OWN_FAMILIES

    place = f"{path}, [[task]] {name!r}" if name else str(path)
    typed = dict(table)
    for key in filter(table.__contains__, _KEYS):
        value = table[key]
        texts, kind = (value, _TEXTS) if isinstance(value, list) else ([value], _TEXT)
        if kind not in _KEYS[key] or not all(isinstance(text, str) for text in texts):
            mistakes.add(f"{place}: {key} must be {_KEYS[key]}, not {value!r}")
            del typed[key]
    named = ("protocol" in table) == ("protocol" in typed)
    likely_keys = _check_protocol(place, typed, config, mistakes) if named else set()
    sources, before = [key for key in ("manifest", "dataset", "data") if key in table], len(mistakes)
    declared = declaration_of_named(path, name, typed, mistakes) if "dataset" in typed else None
    names_no_eval = len(mistakes) > before
    if (len(sources) > 1 and not names_no_eval) or not (sources or likely_keys & {"manifest", "dataset", "data"}):
        mistakes.add(f"{place}: name either a manifest or a dataset, or declare one in [data] and [sample]")
    elif "manifest" not in sources and (keys := [key for key in _OF_ROWS if key in table]):
        mistakes.add(f"{place}: {', '.join(keys)} say how a manifest is read; a dataset has its own")
    if sources == ["data"]:
        declared = declaration(path, name, typed, mistakes)
    is_own = True
    if "dataset" in typed and not names_no_eval:
        benchmark = declared.set_name.partition("/")[0] if declared else typed["dataset"]
        is_own = _check_dataset(place, benchmark, config, mistakes)
    if "data" not in table and declared is None and not names_no_eval:
        for key in filter(table.__contains__, _TABLES):
            mistakes.add(f"{place} has {key!r}, which goes with [data]; leave it out")
    for word in filter(_PYTEST.__contains__, [*declared.source.keywords, *declared.suites] if declared else ()):
        where = "[suites]" if declared and word in declared.suites else "[source]"
        mistakes.add(f"{place}, {where}: {word!r} is a marker of pytest's own; write another word")
    if declared is not None:
        _check_prompts(place, typed, declared.prompts, mistakes)
    for name in typed.get("perturbations", ()):
        from pytest_audiobench.datasets.catalogue import perturbations

        with mistakes.catching(f"{place}: "):
            perturbations("named", name)
    lines, is_plain = 0, is_own and typed.get("protocol", _DEFAULT_PROTOCOL) in OWN_FAMILIES
    for text in typed.get("require", ()):
        from pytest_audiobench.evaluation.scoring import SHARES
        from pytest_audiobench.gate.thresholds import Line, parse_threshold
        from pytest_audiobench.metrics.registry import OWN

        with mistakes.catching(f"{place}: "):
            threshold = parse_threshold(text)
            lines += isinstance(threshold, Line)
            if declared is not None and declared.withheld and (threshold.metric or SHARES[0]) not in SHARES:
                kept = ", ".join(value for values in declared.withheld.values() for value in values)
                why = f"cannot be required of withheld answers ({kept}); require it in audiobench.toml of the others"
                mistakes.add(f"{place}: {text} {why}")
            is_plain = is_plain and threshold.metric in OWN
    return DeclaredTask(table, declared, lines, is_plain)


def _check_prompts(
    place: str, table: Mapping[str, Any], prompts: Mapping[str, Mapping[str, Any]], mistakes: Mistakes
) -> None:
    """Adds what is wrong with published prompts: each is options of the protocol, and where it was read."""
    from pytest_audiobench.protocols.catalogue import FAMILIES, check_options, options_of

    protocol = table.get("protocol", _DEFAULT_PROTOCOL)
    for name, prompt in prompts.items() if protocol in FAMILIES else ():
        where = f"{place}, [prompts.{name}]"
        mistakes.check_keys(where, prompt, [*options_of(protocol), _SOURCE, _CLIPS])
        if prompt.get(_CLIPS, _LAST) != _LAST:
            mistakes.add(f"{where}: clips must be {_LAST!r}, not {prompt[_CLIPS]!r}; without it all are played")
        if not isinstance(prompt.get(_SOURCE), str):
            mistakes.add(f"{where} has no {_SOURCE!r}; write where it was published")
        for key in filter(prompt.__contains__, options_of(protocol)):
            with mistakes.catching(f"{where}: "):
                check_options(protocol, {key: prompt[key]})


def _check_dataset(place: str, name: str, config: pytest.Config | None, mistakes: Mistakes) -> bool:
    """Adds a data set that is not there; whether it is one of this package."""
    from pytest_audiobench.datasets.catalogue import LOADERS, OWN
    from pytest_audiobench.extensions import lookup
    from pytest_audiobench.plugin.hookspecs import call_register_hooks

    if name not in LOADERS and config is not None:
        call_register_hooks(config)
    with mistakes.catching(f"{place}: "):
        lookup(LOADERS, name, "data set")
    return name in OWN


def _check_protocol(place: str, table: Mapping[str, Any], config: pytest.Config | None, mistakes: Mistakes) -> set[str]:
    """Adds what is wrong with the protocol and its options; the keys that unknown ones seem to mean."""
    from pytest_audiobench.extensions import load, suggestion
    from pytest_audiobench.plugin.hookspecs import call_register_hooks
    from pytest_audiobench.protocols.catalogue import FAMILIES, check_options, options_of

    name, options = _protocol(table)
    if name not in FAMILIES:
        load()
    if name not in FAMILIES and config is not None:
        call_register_hooks(config)  # those of the conftest.py files above this file, which are loaded by now
    if name not in FAMILIES:
        mistakes.add(f"{place}: unknown protocol {name[:80]!r}; {suggestion(name, FAMILIES)}")
        # Which options there are depends on the protocol; a key of the file's own can be misspelled all the same.
        likely = {key: value for key, value in options.items() if near(key, [*_KEYS, *_TABLES])}
        return mistakes.check_keys(place, likely, [*_KEYS, *_TABLES])
    allowed = options_of(name)
    keys = f"allowed: {', '.join([*_KEYS, *_TABLES])}, and for {name} {', '.join(allowed)}"
    likely_keys = mistakes.check_keys(place, table, [*_KEYS, *_TABLES, *allowed], keys)
    for key in filter(allowed.__contains__, options):
        with mistakes.catching(f"{place}: "):
            check_options(name, {key: options[key]})
    return likely_keys
