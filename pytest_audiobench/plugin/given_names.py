"""Names that the user gave, held against all that there is before anything is asked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pytest_audiobench import extensions
from pytest_audiobench.datasets.catalogue import LOADERS, folder_names
from pytest_audiobench.io.mistakes import Mistakes, near
from pytest_audiobench.plugin.eval_items import DECLARED, ITEM
from pytest_audiobench.plugin.session import EvalSession
from pytest_audiobench.protocols.protocol import ALL


def check_names(shared: EvalSession, items: Sequence[pytest.Item], all_evals: Callable[[], Sequence[str]]) -> None:
    """Raises UsageError for scorers, data sets and requirements that nothing here is called; ``items`` are all that
    were collected, and ``all_evals`` lists those of the whole benchmark.
    """
    options, mistakes = shared.options, Mistakes()
    _ = shared.registration
    _check_scorers(shared, items, mistakes)
    _check_data(shared, items, mistakes)
    evals = {item.stash[ITEM].eval for item in items if ITEM in item.stash}
    for name in shared.corrections:
        if name.partition(":")[0] not in evals:
            mistakes.add(f"--ab-corrections={name}: no eval that was collected is called so", name, sorted(evals))
    if names := [name for name in options.required if name != ALL]:
        known = {item.stash[ITEM].suite for item in items if ITEM in item.stash} | {*LOADERS} | _roots(items)
        if not known.issuperset(names):
            extensions.load()
            known.update(LOADERS)
            known.update(eval_.partition("/")[0].partition("[")[0] for eval_ in all_evals())
        for name in names:
            if name not in known and not _is_written(name, shared.config, items):
                sentence = f"--ab-require={name[:60]}: no data set, benchmark or suite is called so"
                mistakes.add(sentence, name, sorted(known))
    mistakes.check()


def _check_scorers(shared: EvalSession, items: Sequence[pytest.Item], mistakes: Mistakes) -> None:
    if not (names := [name for name in shared.options.scorers if name != ALL]):
        return
    from pytest_audiobench.protocols.catalogue import scorer_names

    known = scorer_names()
    if not known.issuperset(names):
        extensions.load()
        known = scorer_names()
    for name in names:
        if name not in known and not _is_written(name, shared.config, items):
            every = f"audiobench list scorers has all {len(known)}"
            mistakes.add(f"--ab-scorer={name[:60]}: no scorer is called {name[:60]!r}", name, sorted(known), every)


def _check_data(shared: EvalSession, items: Sequence[pytest.Item], mistakes: Mistakes) -> None:
    folders, _ = shared.data_folders
    known = folder_names() if folders else set()
    if folders.keys() - known:
        extensions.load()
        known = folder_names() | _roots(items)
    for name in sorted(folders.keys() - known):
        if _is_written(name, shared.config, items):
            continue
        if near(name, known):
            mistakes.add(f"--ab-data={name}={folders[name]}: no data set is called {name!r}", name, sorted(known))
        # A test may put a name together; whether one does is seen when the run has ended.
        shared.unknown_data.append(name)


def _roots(items: Sequence[pytest.Item]) -> set[str]:
    """What the folders are called of the data that the files without code declare."""
    return {data.root for item in items if DECLARED in item.stash and (data := item.stash[DECLARED].data())}


def _is_written(name: str, config: pytest.Config, items: Sequence[pytest.Item]) -> bool:
    """Whether the name is in quotes in the user's code: of the evals, and of what it imported from below the root.
    There it may be that of a scorer or a data set which only a test makes.
    """
    loaded = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
    own = {Path(file) for file in loaded if file and Path(file).is_relative_to(config.rootpath)}
    files = {item.path for item in items} | {file for file in own if "site-packages" not in file.parts}
    quoted = [f"{quote}{name}{quote}".encode() for quote in "\"'"]
    return any(text in body for file in files if file.is_file() for body in [file.read_bytes()] for text in quoted)
