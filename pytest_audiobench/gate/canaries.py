"""Canaries: answers of earlier runs that were asked again, held against the noise floor of the model that gave them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_audiobench.records.run import AskingRecord, CanaryRecord, ItemRecord, ModelRecord
from pytest_audiobench.stats import special

LEAST_FLOOR = 0.02
"""The share of texts that may differ where no determinism eval has measured more: servers batch as they please."""
LEVEL = 0.01


def canary_records(items: Sequence[ItemRecord], models: Sequence[ModelRecord]) -> Iterator[CanaryRecord]:
    """What became of the canaries of each of ``models``, over all ``items``."""
    for model in models:
        askings = [asking for item in items for asking in _askings(item, model)]
        asked, differing = (sum(getattr(each, name) for each in askings) for name in ("canaries", "differing"))
        if asked:
            floor = max(LEAST_FLOOR, 1.0 - model.noise.same_answers if model.noise else 0.0)
            allowed = _allowed(asked, floor)
            yield CanaryRecord(model.alias, asked, differing, allowed, floor, _tail(differing, asked, floor))


def _askings(item: ItemRecord, model: ModelRecord) -> Iterator[AskingRecord]:
    if model.role == "subject" and item.model == model.alias:
        yield item.asking
    elif model.alias in item.judges:
        yield item.judges[model.alias]


def _allowed(asked: int, floor: float) -> int:
    """The most that may differ; never all, since a single canary refutes no floor."""
    return min(asked - 1, max(count for count in range(asked + 1) if _tail(count, asked, floor) > LEVEL))


def _tail(differing: int, asked: int, floor: float) -> float:
    """The probability that as many or more differ where each does so with the probability ``floor``."""
    return float(special.bdtrc(differing - 1, asked, min(floor, 1.0))) if differing else 1.0


def refuted(canaries: Sequence[CanaryRecord]) -> Iterator[str]:
    """A sentence for each model whose canaries differ more than its noise explains."""
    for canary in canaries:
        if canary.differing > canary.allowed:
            yield (
                f"the stored answers of {canary.model} are not what it answers now ({canary.differing} of "
                f"{canary.asked} that were asked again differ, and its noise explains {canary.allowed}): "
                "ask again with --ab-refresh"
            )
