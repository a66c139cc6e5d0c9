"""What each sample's answer took, of an evaluation that had turns with another model's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pytest_audiobench.evaluation.batch_executor import BatchExecutor
from pytest_audiobench.evaluation.sample_answers import SampleAnswers


class Timing(NamedTuple):
    """One sample in one epoch, over all stages; None for what the model does not tell."""

    turn: int
    """In which turn it was asked, from 0: requests of one turn are near in time."""
    latency_s: float | None
    """From the sending to the whole answer."""
    first_token_s: float | None
    """From the sending to the first token."""
    audio_s: float
    """How long the clips are, as the model heard them."""
    tokens: int
    """Generated ones, as the server counts them; 0 where it does not."""
    share_s: float | None
    """Its share of the seconds of its batch."""


class Timings:
    """Those of the samples whose answers this process was given by the model itself, none from the store."""

    def __init__(self, executor: BatchExecutor) -> None:
        self.turns = 0
        self.by_sample: dict[tuple[str, int], Timing] = {}
        executor.asked = self._asked = set[str]()

    def add(self, answers: Sequence[SampleAnswers]) -> None:
        """Take in what was answered in a turn."""
        for sample in answers:
            if sample.error is None and self._asked.issuperset(sample.keys.values()):
                self.by_sample[sample.sample_id, sample.epoch] = _timing(self.turns, sample)
        self._asked.clear()
        self.turns += 1


def _timing(turn: int, sample: SampleAnswers) -> Timing:
    responses = [*sample.responses.values()]
    played_s = max(0.0, (sample.selected.duration_s or 0.0) - sum(sum(each.truncated_s) for each in responses))
    return Timing(
        turn,
        _sum_or_none([each.latency_s for each in responses]),
        _sum_or_none([each.first_token_s for each in responses]),
        played_s,
        sum(_generated(each.usage) for each in responses),
        _sum_or_none([each.share_s for each in responses]),
    )


def _generated(usage: Mapping[str, int]) -> int:
    return usage.get("completion_tokens", 0)


def _sum_or_none(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None
