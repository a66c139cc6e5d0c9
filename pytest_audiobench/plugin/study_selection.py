"""Studies: evals marked ``study``, too many and too slow to run unless something asks for them by name.

What asks is on the command line, in pytest's cache or in the baseline, so every worker of a run decides alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_audiobench.plugin.eval_items import ITEM, is_part, named_place, wanted_words
from pytest_audiobench.report.formatting import counted

if TYPE_CHECKING:
    from pytest_audiobench.plugin.regression_gate import Gate

MARKER = "study"


class StudySelection:
    """What a run asks for by name: the words of ``-k`` and ``-m``, paths, failures of the last run, a baseline."""

    def __init__(self, config: pytest.Config, gate: Gate | None) -> None:
        self._gate = gate
        self._all = MARKER in wanted_words(config.option.markexpr)
        self._words = [word.lower() for word in wanted_words(config.option.keyword)]
        # pytest keeps none within another's folder, so its own list lacks them.
        self._places = [named_place(config, argument) for argument in config.option.file_or_dir]
        cache = config.cache if config.getoption("lf", False) or config.getoption("failedfirst", False) else None
        self._failed = frozenset(cache.get("cache/lastfailed", {}) if cache else ())

    def left_out(self, items: Sequence[pytest.Item], alias: str) -> list[pytest.Item]:
        """The evals of studies that nothing asks for; ``alias`` is that of the model where there is only one."""
        studies = [item for item in items if ITEM in item.stash and item.get_closest_marker(MARKER)]
        return [] if self._all else [item for item in studies if not self._includes(item, alias)]

    def _includes(self, item: pytest.Item, alias: str) -> bool:
        return (
            item.nodeid in self._failed
            or any(word in name for name in _names(item) for word in self._words)
            or any(item.path.resolve() == place and is_part(item, part) for place, part in self._places)
            or bool(self._gate and self._gate.evaluations_of(item.stash[ITEM].eval, item.stash[ITEM].alias or alias))
        )


def note(items: Sequence[pytest.Item]) -> str:
    """How many evals of studies were not run, of which, and how to ask for them."""
    files = dict.fromkeys(item.path.name.partition(".")[0].removeprefix("test_") for item in items)
    were = "was" if len(items) == 1 else "were"
    evals = counted(len(items), "eval")
    return f"{evals} of studies {were} not run ({', '.join(files)}): ask for them by name, or with -m {MARKER}"


def _names(item: pytest.Item) -> list[str]:
    """What ``-k`` may call a study by: its file, its class, its function, and the words that its mark has."""
    above = [node.name for node in item.listchain() if isinstance(node, pytest.File | pytest.Class)]
    words = [word for mark in item.iter_markers(MARKER) for word in mark.args]
    return [name.lower() for name in (*above, getattr(item, "originalname", None) or item.name, *words)]
