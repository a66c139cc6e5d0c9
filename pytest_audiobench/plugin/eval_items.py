"""The evals among the collected items, and their names: our own, not node ids."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from pytest_audiobench.datasets.dataset import Dataset
    from pytest_audiobench.datasets.declaration import Declaration
    from pytest_audiobench.protocols.protocol import Protocol

MARKER = "audiobench"
STYLE = "style"
"""In place of scorers' names: those that belong to the model's style and the data set."""
_FIXTURE = "_audiobench_evaluator"
_MODEL = "_audiobench_model"
PERTURBATION = "_audiobench_perturbation"
"""The fixture by which an eval is asked under perturbations in addition."""


class EvalItem(NamedTuple):
    """A collected eval: its place among all, its name without the model."""

    number: int
    nodeid: str
    eval: str
    suite: str
    alias: str | None
    """The model's alias; None where the run has one model."""


class DeclaredEval(NamedTuple):
    """What a declarative file says of an eval."""

    thresholds: int = 0
    """Regression lines among them."""
    lines: int = 0
    data: Callable[[], Declaration | None] = lambda: None
    """Reads what it declares of the data, too. Raises UsageError where the file is wrong by now."""
    manifest: Callable[[], str | None] = lambda: None
    """Reads which manifest it names, as it is written."""
    protocol: Callable[[], Protocol | None] = lambda: None
    """Makes the protocol in which it asks; None where the model's style chooses its scorers."""
    dataset: Callable[[Mapping[str, str]], Dataset | str | None] = lambda case: None
    """Makes the data set, or reads its name, of these parameters' values."""
    suites: tuple[str, ...] = ()
    """The named suites that have it."""


ITEM: pytest.StashKey[EvalItem] = pytest.StashKey()
"""On an item: the eval that it is."""

DECLARED: pytest.StashKey[DeclaredEval] = pytest.StashKey()
"""On an item of a declarative file."""


def is_eval(item: pytest.Item) -> bool:
    """Whether the item uses this plugin's ``evaluate`` (another plugin's fixture of that name does not count)."""
    return _FIXTURE in getattr(item, "fixturenames", ())


def is_beside(item: pytest.Item) -> bool:
    """Whether ``item`` asks an eval under a perturbation in addition to itself."""
    callspec = getattr(item, "callspec", None)
    # Its name, which importing the perturbations for would make every collection slow.
    return callspec is not None and callspec.params.get(PERTURBATION, "clean") != "clean"


def marked(node: pytest.Collector | pytest.Item, key: str) -> Any:
    """What the closest marker that says it says of ``key``; None where none does."""
    return next((mark.kwargs[key] for mark in node.iter_markers(MARKER) if key in mark.kwargs), None)


def name_evals(items: Sequence[pytest.Item]) -> list[EvalItem]:
    """Stash a name on every eval of ``items``. Raises pytest.UsageError when two would share a name and a model."""
    evals: dict[tuple[str, str | None], EvalItem] = {}
    for number, item in enumerate(item for item in items if is_eval(item)):
        eval_item = _eval_item(number, item)
        if (twin := evals.setdefault((eval_item.eval, eval_item.alias), eval_item)) is not eval_item:
            raise pytest.UsageError(
                f"two evals are named {twin.eval!r}: {twin.nodeid} and {eval_item.nodeid}; rename one test or its file"
            )
        item.stash[ITEM] = eval_item
    return list(evals.values())


def _eval_item(number: int, item: pytest.Item) -> EvalItem:
    callspec = getattr(item, "callspec", None)
    alias = callspec.params.get(_MODEL) if callspec else None
    parameters = callspec.id if callspec else ""
    if alias is not None:
        parameters = parameters.removesuffix(str(alias)).removesuffix("-")
    declared = marked(item, "suite")
    suite = str(declared) if declared else _short(item.path.name.split(".")[0])
    test = getattr(item, "originalname", None) or item.name
    path = [part for part in (getattr(item.getparent(pytest.Class), "name", None), test) if part]
    name = "/".join(_short(part) for part in path)
    full = suite if name == suite else f"{suite}/{name}"
    return EvalItem(number, item.nodeid, f"{full}[{parameters}]" if parameters else full, suite, alias)


def named_evals(items: Sequence[pytest.Item], names: Iterable[str]) -> list[str]:
    """The evals of ``items`` that ``names`` stand for: those of a named suite or of a file, or one by its own name, in
    which ``_`` may replace all signs between words (``beans_zero_call_type`` for ``beans_zero/call_type``).

    Raises UsageError with every name that nothing has.
    """
    from pytest_audiobench.io.mistakes import Mistakes

    evals: dict[str, dict[str, None]] = {}
    for item in items:
        if own := item.stash.get(ITEM, None):
            plain = re.sub(r"[^a-z0-9]+", "_", own.eval.lower()).strip("_")
            for name in (own.suite, own.eval, plain, *item.stash.get(DECLARED, DeclaredEval()).suites):
                evals.setdefault(name, {})[own.eval] = None
    mistakes = Mistakes()
    chosen: dict[str, None] = {}
    for name in names:
        if name not in evals:
            mistakes.add(f"no suite and no eval is called {name[:80]!r}", name, sorted(evals))
        chosen |= evals.get(name, {})
    mistakes.check()
    return list(chosen)


def named_place(config: pytest.Config, argument: str) -> tuple[Path, str]:
    """The path that an argument of the command line names, a package's being its folder, and what in that file."""
    where, _, part = argument.partition("::")
    module = None
    if config.option.pyargs and not Path(where).exists():
        with suppress(ImportError, ValueError):
            module = find_spec(where)
    place = Path(config.invocation_params.dir, (module and module.origin) or where).resolve()
    return (place.parent if place.name == "__init__.py" else place), part


def is_part(item: pytest.Item, name: str) -> bool:
    """Whether the item is what ``name`` says of its file: all of it for "", a class, a test, or a case of one."""
    own = item.nodeid.partition("::")[2]
    return name in ("", own) or own.startswith((f"{name}::", f"{name}["))


def _short(name: str) -> str:
    return name.removeprefix("test_").removeprefix("Test") or name


_TOKEN = re.compile(r"[()]|[^\s()]+")


def wanted_words(expression: str) -> list[str]:
    """The words of a ``-k`` or ``-m`` expression that are not negated. What is wrong with it is pytest's to say."""
    words, negated, outer = [], False, [False]
    for token in _TOKEN.findall(expression):
        if token == "not":
            negated = not negated
            continue
        if token == "(":
            outer.append(outer[-1] ^ negated)
        elif token == ")":
            outer = outer[:-1] or [False]
        elif token not in ("and", "or") and not outer[-1] ^ negated:
            words.append(token)
        negated = False
    return words
