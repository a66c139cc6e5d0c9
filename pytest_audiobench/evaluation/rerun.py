"""The same slice asked again in other batches: whether a model's answers depend on the company they are asked in.

Each condition asks in epochs of its own, so that the store never answers for the model; the audio, the messages and the
settings are those of the first asking.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from pytest_audiobench.evaluation.answer_collection import SampleAnswers, collect_rerun_answers
from pytest_audiobench.evaluation.batch_executor import BatchExecutor
from pytest_audiobench.evaluation.batch_plan import PlannedRequest, planned_batches
from pytest_audiobench.evaluation.selection import Selection
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.protocol import Protocol

_EPOCHS = 1_000_000
"""Conditions' epochs begin here, far from those of ``--ab-epochs``; ``_EACH`` are kept for each condition."""
_EACH = 100
_OPTIONS = {"dtype": 4, "attn": 5, "padding": 6}
_AT_ONCE = 100

Cut = Callable[[Sequence[PlannedRequest], Limits], Sequence[Sequence[int]]]


@dataclass(frozen=True)
class RerunVariant:
    """A way to ask again. ``number`` names its epochs, ``copies`` how often each question is asked at once."""

    name: str
    number: int
    cut: Cut | None = None
    copies: int = 1

    def ask(
        self,
        selection: Selection,
        protocol: Protocol,
        executor: BatchExecutor,
        judges: Mapping[str, BatchExecutor] = MappingProxyType({}),
    ) -> list[list[SampleAnswers]]:
        """The slice's answers, one list in hash order for each copy, judged where the protocol has judges."""
        first = _EPOCHS + _EACH * self.number
        epochs = list(range(first, first + self.copies))
        cut, limits = self.cut, executor.handle.limits
        plan = None if cut is None else lambda planned: cut(planned, limits)
        answers = collect_rerun_answers(selection, protocol, executor, epochs, plan, judges)
        size = len(selection.samples)
        return [answers[start : start + size] for start in range(0, len(answers), size)]


def rerun() -> RerunVariant:
    """Exactly as planned, a second time: what even the same batches do not answer alike."""
    return RerunVariant("again", 1)


def batches_of(size: int) -> RerunVariant:
    """In hash order, ``size`` at a time (1 to 50), whatever their lengths."""
    return RerunVariant(f"batch-{size}", 10 + size, lambda planned, limits: _chunks(range(len(planned)), size))


def reversed_order() -> RerunVariant:
    """The planned batches from last to first, each turned round."""
    return RerunVariant("reversed", 2, lambda *plan: [batch[::-1] for batch in planned_batches(*plan)[::-1]])


def of_option(option: str, value: str) -> RerunVariant:
    """As planned, for the model with another value of an option of its spec: ``dtype``, ``attn`` and ``padding`` make
    another model of it, whose answers have other keys anyway; ``batch`` and ``concurrency`` (1 to 100) of a server do
    not.
    """
    number = _OPTIONS[option] if option in _OPTIONS else _AT_ONCE + int(value)
    return RerunVariant(f"{option}-{value}", number)


def repeated(copies: int) -> RerunVariant:
    """Each question ``copies`` times in a batch of nothing else (2 to 100)."""
    return RerunVariant(f"repeated-{copies}", 3, lambda planned, limits: _copies_together(planned), copies)


def _chunks(positions: Sequence[int], size: int) -> list[list[int]]:
    return [list(positions[start : start + size]) for start in range(0, len(positions), size)]


def _copies_together(planned: Sequence[PlannedRequest]) -> list[list[int]]:
    """The copies of a question together: as many as are still asked, since one may have failed at an earlier stage."""
    copies: dict[bytes, list[int]] = {}
    for position, request in enumerate(planned):
        copies.setdefault(request.id_hash, []).append(position)
    return list(copies.values())
