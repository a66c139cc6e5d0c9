"""Tiny data sets of noise, and a model in this process that says what a test wants, asked as a run asks it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.evaluation.batch_executor import BatchLocks
from pytest_audiobench.evaluation.evaluate import EvalSpec, Evaluation, RunContext, evaluate
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.models.messages import Ask, Request, Response
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.protocol import Protocol

RATE_HZ = 16_000
HERE = Places(Path())
ANIMALS = ("dog", "cat", "hen")


def clip(name: str, seconds: float = 0.05) -> Clip:
    """Noise that depends on ``name`` alone."""
    noise = np.random.default_rng(zlib.crc32(name.encode())).uniform(-0.5, 0.5, int(seconds * RATE_HZ))
    return Clip(ArraySource.of(noise, RATE_HZ, name))


def sample(name: str, **changes: Any) -> Sample:
    """A question about an animal, whose answer is A."""
    values = {"clips": (clip(name),), "question": "Which animal is it?", "choices": ANIMALS, "reference": "dog"}
    return Sample(**{"id": name, **values, **changes})


def samples(count: int, **changes: Any) -> list[Sample]:
    return [sample(f"s{number}", **changes) for number in range(count)]


def dataset(own: Sequence[Sample], name: str = "animals", **changes: Any) -> Dataset:
    return Dataset(name, lambda places: own, **changes)


class Speaker:
    """A model that says ``says`` to every request, or what that makes of one; ``batches`` holds what it was asked."""

    def __init__(
        self,
        says: str | Callable[[Request], str | Response] = "A",
        *,
        name: str = "speaker",
        batching: str = "opaque",
        listens: bool = True,
        limits: Limits = Limits(),  # noqa: B008
    ) -> None:
        self.spec, self.device, self.limits, self.batching, self.listens = (
            f"tiny:{name}",
            "cpu",
            limits,
            batching,
            listens,
        )
        self._says, self._name = says, name
        self.batches: list[list[Request]] = []

    @property
    def requests(self) -> list[Request]:
        return [request for batch in self.batches for request in batch]

    def fingerprint(self) -> Mapping[str, str]:
        return {"name": self._name}

    def load(self) -> None:
        """There is nothing to load."""

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        self.batches.append([ask.request for ask in batch])
        said = [self._says if isinstance(self._says, str) else self._says(ask.request) for ask in batch]
        return [Response.of(text) if isinstance(text, str) else text for text in said]

    def close(self) -> None:
        """There is nothing to free."""


def handle(model: Speaker, alias: str = "model") -> ModelHandle:
    return ModelHandle(alias, model)  # type: ignore[arg-type]


@contextmanager
def bench(folder: Path, **changes: Any) -> Iterator[RunContext]:
    """What the evals of a run share, with the store in ``folder``."""
    with (
        Store(folder / "store.sqlite", "run") as store,
        BatchLocks(folder / "locks") as locks,
        AudioIndex(None) as index,
    ):
        yield RunContext("run", store, locks, index, **changes)


def evaluated(
    folder: Path,
    own: Sequence[Sample] | Dataset,
    protocol: Protocol | None = None,
    model: Speaker | ModelHandle | None = None,
    item: Mapping[str, Any] = {},
    judges: Mapping[str, Speaker] = {},
    **changes: Any,
) -> Evaluation:
    """One eval, asked with the answers that ``folder`` holds; ``changes`` are the bench's, ``item`` the item's."""
    data = own if isinstance(own, Dataset) else dataset(own)
    holder = model if isinstance(model, ModelHandle) else handle(model or Speaker())
    place = EvalSpec(**{"index": 0, "nodeid": "t.py::test", "eval": "t", "suite": "t", "places": HERE, **item})
    with bench(folder, judges={alias: handle(judge, alias) for alias, judge in judges.items()}, **changes) as own_bench:
        return evaluate(own_bench, holder, place, data, protocol or multiple_choice())


def answered(own: Sample, text: str | None = "A", epoch: int = 0, **changes: Any) -> SampleAnswers:
    """A sample as it was answered, or as its asking failed for None, without any asking."""
    responses = {} if text is None else {"answer": Response.of(text)}
    error = "timed out" if text is None else None
    return SampleAnswers(SelectedSample(own, 0, (), (), None), epoch, responses, {}, {}, error)._replace(**changes)
