"""What each sample's answer took, of an evaluation that had turns with another model's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_audiobench.evaluation.batch_executor import BatchExecutor
from pytest_audiobench.evaluation.sample_answers import SampleAnswers


class Timing(NamedTuple):
    """One sample in one epoch, over all stages; None for what the model does not report."""

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
    cost_usd: float | None
    """By the prices that the model's spec gives."""


class Timings:
    """Those of the samples whose answers this process was given by the model itself, none from the store."""

    def __init__(self, executor: BatchExecutor) -> None:
        self._executor = executor
        self.sizes: list[int] = []
        """How many samples each turn had that were asked to their end."""
        self.by_sample: dict[tuple[str, int], Timing] = {}
        executor.asked = self._asked = set[str]()

    def add(self, answers: Sequence[SampleAnswers]) -> None:
        """Take in what was answered in a turn."""
        answered = [sample for sample in answers if sample.error is None]
        for sample in answered:
            if self._asked.issuperset(sample.keys.values()):
                self.by_sample[sample.sample_id, sample.epoch] = self._timing(sample)
        self._asked.clear()
        self.sizes.append(len(answered))

    def _timing(self, sample: SampleAnswers) -> Timing:
        responses = [*sample.responses.values()]
        played_s = max(0.0, (sample.selected.duration_s or 0.0) - sum(sum(each.truncated_s) for each in responses))
        return Timing(
            len(self.sizes),
            _sum_or_none([each.latency_s for each in responses]),
            _sum_or_none([each.first_token_s for each in responses]),
            played_s,
            sum(each.usage.get("completion_tokens", 0) for each in responses),
            _sum_or_none([each.share_s for each in responses]),
            _sum_or_none([self._executor.handle.cost_usd(each.usage) for each in responses]),
        )


def _sum_or_none(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None
