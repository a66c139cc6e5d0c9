"""Answers of earlier runs by a model whose identity is a mere name: whether they count, and from when on.

Under a gate (thresholds, or a baseline) they do not: behind the name may be other weights by now. What a run that did
not end had been answered counts for the next one at the same commit. ``--ab-reuse`` counts them all and has some asked
again.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.evaluation.batch_executor import CANARIES
from pytest_audiobench.plugin.options import Options, read_options
from pytest_audiobench.plugin.run_folder import Expected, RunFolder
from pytest_audiobench.plugin.session import EvalSession
from pytest_audiobench.records.run import ShardRecord

_REQUIRING = {"require", "require_audio"}
_GIT_TIMEOUT_S = 10.0


def decide(session: EvalSession, expected: Sequence[Expected], selected: Iterable[pytest.Item]) -> None:
    """Set what this run makes of earlier answers, now that it is known what it requires."""
    declared = any(eval_.thresholds for eval_ in expected) or any(map(_requires, selected))
    if not session.options.baseline and session.options.gate is None and not declared:
        return
    session.reuse.fresh = not session.options.reuse
    if session.options.reuse and not session.options.is_merged:
        session.reuse.canaries = _canaries(session.place.run, expected)


def _requires(item: pytest.Item) -> bool:
    """Whether a test's own code declares thresholds, as far as it can be seen before it runs."""
    code = getattr(inspect.unwrap(getattr(item, "function", None) or _requires), "__code__", None)
    return code is not None and not _REQUIRING.isdisjoint(code.co_names)


def _canaries(run: str, expected: Sequence[Expected]) -> dict[str, int]:
    """How many answers of each test are asked again: some sixty for each model, of as many tests as can be."""
    drawn: dict[str, int] = {}
    for alias in {eval_.alias for eval_ in expected}:
        tests = [eval_.nodeid for eval_ in expected if eval_.alias == alias]
        tests.sort(key=lambda nodeid: hashlib.sha256(f"{run} {nodeid}".encode()).digest())
        drawn.update((nodeid, math.ceil(CANARIES / len(tests))) for nodeid in tests[:CANARIES])
    return drawn


def commit_of(root: Path) -> str:
    """The commit that is checked out at ``root``; nothing where git cannot say."""
    git = ["git", "-C", str(root), "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        done = subprocess.run(git, stdin=subprocess.DEVNULL, capture_output=True, timeout=_GIT_TIMEOUT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("ascii", "replace").strip()


def end_run(config: pytest.Config, place: RunFolder) -> None:
    """Note in the store that the run came to its end, so that none resumes it: a later one asks for itself."""
    store = read_options(config).stores[0]
    if store.exists():
        with Store(store, place.run, started=place.started, state=lambda: commit_of(config.rootpath)) as answers:
            answers.end_run()


def end_shard(options: Options, place: RunFolder, shard: ShardRecord) -> None:
    """Note in the store that a shard was asked all that it collected."""
    from pytest_audiobench.evaluation.shards import note_end

    with Store(options.stores[0], place.run) as answers:
        note_end(answers, shard)
