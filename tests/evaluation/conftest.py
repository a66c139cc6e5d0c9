"""A store and its locks, and those who ask with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_audiobench.evaluation import batches_in_flight
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.evaluation.batch_executor import BatchExecutor, BatchLocks
from pytest_audiobench.evaluation.model_handle import ModelHandle

from .meter import Meter


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store.sqlite", "run") as opened:
        yield opened


@pytest.fixture
def locks(tmp_path: Path) -> Iterator[BatchLocks]:
    with BatchLocks(tmp_path / "claims.lock") as opened:
        yield opened


@pytest.fixture
def executor_of(store: Store, locks: BatchLocks) -> Callable[..., BatchExecutor]:
    """Makes one who asks a model, as each eval of a run does; ``store`` is another one than the test's."""

    def make(
        model: Meter, progress: Callable[[int, int], None] = lambda done, total: None, store: Store = store
    ) -> BatchExecutor:
        return BatchExecutor(ModelHandle("m", model), store, locks, progress)

    return make


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited before each further try: nobody waits in a test."""
    seconds: list[float] = []
    monkeypatch.setattr(batches_in_flight.time, "sleep", seconds.append)
    return seconds
