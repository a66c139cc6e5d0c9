"""Which evals of a suite are one data set under several perturbations."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pytest_audiobench.metrics.metric import Statistics
from pytest_audiobench.records.run import ItemRecord, PerturbationRecord

if TYPE_CHECKING:
    from pytest_audiobench.evaluation.comparable_eval import ComparableEval

CLEAN = "clean"
"""The name of the perturbation that others are compared with."""

ORDER = "order"
"""The family of perturbations that put options in another order."""

LIFT = "lift"
"""What the audio adds over the text alone."""

ASPECTS: Mapping[str, str] = {
    **dict.fromkeys(("whole_clip", "some_part"), "fragments"),
    **dict.fromkeys(("late_less_early", "mid_less_early", "noise_less_silence"), "windows"),
}
"""Those of parts and windows of the clips."""

NEEDS: Mapping[str, str] = {
    LIFT: "text",
    **dict.fromkeys(("order_mean", "order_worst", "order_every", "order_same", "order_bias"), ORDER),
    **ASPECTS,
}
"""Metrics of an eval compared with its perturbations, and the perturbation, or the group, that each needs."""

Identity: TypeAlias = tuple[str, int]
"""A sample's id and the epoch."""


class SampleScore(NamedTuple):
    """One sample as one scorer scored it."""

    identity: Identity
    statistics: Statistics | None
    """None where it has no score."""
    cluster: Hashable


Rows: TypeAlias = Mapping[int, Sequence[SampleScore]]
"""What one scorer made of the samples of each item, by the item's place."""


class Series(NamedTuple):
    """The places of evals that are one data set under several perturbations."""

    name: str
    """Separates it from another series of the data set; empty where there is no other."""
    places: list[int]


def how_to_ask(metric: str) -> str:
    """What must be asked in addition to an eval for ``metric``, and how."""
    name = NEEDS[metric]
    ways = f'perturbations = ["{name}"] in its file or its marker, or --ab-perturbations={name}'
    return f"needs the eval asked under {name} too: {ways}"


def unperturbed(dataset: str, perturbation: PerturbationRecord | None) -> str:
    """The name of the data set that a perturbation was applied to."""
    return dataset if perturbation is None else dataset.removesuffix(f"+{perturbation.name}")


def series(items: Sequence[ItemRecord | ComparableEval]) -> list[Series]:
    """The items that belong together, by their ``eval``, ``dataset`` and ``perturbation``; where a perturbation occurs
    twice, the names of the evals without it separate one series from another.
    """
    by_dataset: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        if item.perturbation is not None:
            by_dataset.setdefault(unperturbed(item.dataset, item.perturbation), []).append(place)
    candidates: list[Series] = []
    for places in by_dataset.values():
        if _is_unique(items, places):
            candidates.append(Series("", places))
            continue
        by_name: dict[str, list[int]] = {}
        for place in places:
            item = items[place]
            # An eval that is asked unchanged, with others, has no perturbation in its name.
            is_named = item.dataset != unperturbed(item.dataset, item.perturbation)
            by_name.setdefault(without_perturbation(item.eval, _name(item)) if is_named else item.eval, []).append(
                place
            )
        candidates.extend(Series(*entry) for entry in by_name.items())
    return [candidate for candidate in candidates if _is_unique(items, candidate.places)]


def _is_unique(items: Sequence[ItemRecord | ComparableEval], places: Sequence[int]) -> bool:
    return len({_name(items[place]) for place in places}) == len(places)


def _name(item: ItemRecord | ComparableEval) -> str:
    return "" if item.perturbation is None else item.perturbation.name


def without_perturbation(eval_: str, perturbation: str) -> str:
    """``clean_speech[a]`` for ``clean_speech[clean-a]``: the last place is that among the parameters."""
    matches = [*re.finditer(rf"(?<![^\W_]){re.escape(perturbation)}(?![^\W_])", eval_)]
    if not matches:
        return eval_
    left, right = eval_[: matches[-1].start()], eval_[matches[-1].end() :]
    if right[:1] in ("-", "_"):
        right = right[1:]
    elif left[-1:] in ("-", "_"):
        left = left[:-1]
    return f"{left}{right}".removesuffix("[]")
