"""What cannot be right, or is worth a second look, in published figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from pytest_audiobench.published_figures.registry import Published

_SHARES = ("accuracy", "string_match", "following_rate")
"""Metrics that count right answers; error rates and graded scores are not counts of samples."""
_SCALES = {"percent": 100.0, "fraction": 1.0}
_MUCH = 0.1
"""A share of the samples that no rule leaves out without deciding the figure."""


class Finding(NamedTuple):
    """A rule that figures break, and in a sentence how."""

    rule: str
    values: tuple[Published, ...]
    says: str


def lint(values: Sequence[Published]) -> list[Finding]:
    """All findings on ``values``: impossible fractions, copied values, wrong differences, rules that leave much out,
    columns that disagree, and what cannot be repeated.
    """
    return [
        *_impossible(values),
        *_copied_values(values),
        *_deltas(values),
        *_partial(values),
        *_soundscapes(values),
        *_drawn_prompts(values),
    ]


def is_possible(value: float, n: int, decimals: int, scale: float = 100.0) -> bool:
    """Whether some k of ``n`` is ``value`` when scale × k / n is rounded to ``decimals``, whichever way halves go."""
    half = 0.5 * 10.0**-decimals * (1 + 1e-6) + 1e-9
    nearest = value * n / scale
    return any(abs(scale * k / n - value) <= half for k in (math.floor(nearest), math.ceil(nearest)) if 0 <= k <= n)


def _impossible(values: Sequence[Published]) -> Iterator[Finding]:
    for value in values:
        is_share = value.metric.startswith(_SHARES) and not value.metric.endswith("_delta")
        if (
            not is_share
            or value.dataset[:3] == "avg"
            or value.n is None
            or value.decimals is None
            or value.unit not in _SCALES
        ):
            continue
        scale = _SCALES[value.unit]
        if not is_possible(value.value, value.n, value.decimals, scale):
            k = value.value * value.n / scale
            near = ", ".join(f"{scale * at / value.n:.{value.decimals}f}" for at in (math.floor(k), math.ceil(k)))
            says = (
                f"{value.name}: {value.text} is not a count of {value.n} samples, the nearest being {near}: "
                "a mean of parts, another number of samples, or an error"
            )
            yield Finding("impossible fraction", (value,), says)


def _copied_values(values: Sequence[Published]) -> Iterator[Finding]:
    """One model's values in one table that are equal though their data differ. Coarse tables repeat by chance."""
    fine = [
        value
        for value in values
        if _percent_decimals(value) >= 2 and value.value not in (0.0, _SCALES.get(value.unit, 1.0))
    ]
    table = sorted(fine, key=lambda value: (*_table(value), value.value))
    for _, group in groupby(table, key=lambda value: (*_table(value), f"{value.value:.{value.decimals}f}")):
        equal = tuple(group)
        if len({value.dataset for value in equal}) > 1:
            sets = " and ".join(value.dataset for value in equal)
            says = f"{equal[0].name}: {equal[0].text} stands for {sets} alike; one may be copied from the other"
            yield Finding("copied value", equal, says)


def _deltas(values: Sequence[Published]) -> Iterator[Finding]:
    sides = {(value.benchmark, value.model, value.dataset, value.metric, value.conditions): value for value in values}
    for value in values:
        if value.delta_of is None:
            continue
        metric = value.metric.removesuffix("_delta")
        parts = [sides.get((value.benchmark, value.model, value.dataset, metric, side)) for side in value.delta_of]
        if parts[0] is None or parts[1] is None:
            continue
        difference = parts[0].value - parts[1].value
        decimals = value.decimals or 0
        # Each of three figures is rounded by half a last digit at most.
        if abs(difference - value.value) > 1.5 * 10.0**-decimals + 1e-9:
            says = (
                f"{value.name}: the difference is given as {value.value:.{decimals}f}, and "
                f"{parts[0].value:.{decimals}f} - {parts[1].value:.{decimals}f} is {difference:.{decimals}f}"
            )
            yield Finding("wrong difference", (value, parts[0], parts[1]), says)


def _partial(values: Sequence[Published]) -> Iterator[Finding]:
    """Of each figure of a model and a data set, the rule that leaves out most, and what is there with all."""

    def left_out(value: Published) -> float:
        return (value.skipped or 0) / ((value.n or 0) + (value.skipped or 0) or 1)

    for _, group in groupby(sorted(values, key=_measured), key=_measured):
        figures = list(group)
        most = max(figures, key=left_out)
        if left_out(most) > _MUCH:
            n, skipped = most.n or 0, most.skipped or 0
            whole = next((value.text for value in figures if value.skipped == 0), "")
            says = f"{most.name}: {most.text} is of {n:,} samples of {n + skipped:,}, the rest being left out"
            yield Finding("much is left out", (most,), says + (f"; {whole} with all" if whole else ""))


def _measured(value: Published) -> tuple[str, ...]:
    return value.benchmark, value.model, value.dataset, value.metric


def _soundscapes(values: Sequence[Published]) -> Iterator[Finding]:
    """What the columns of a table of described scenes say of one another."""
    scenes = [value for value in values if value.metric in ("reward", "f1", "recall", "halluc")]
    for _, group in groupby(sorted(scenes, key=_data), key=_data):
        systems: dict[str, dict[str, Published]] = {}
        for value in group:
            systems.setdefault(value.model, {})[value.metric] = value
        ranked = [system for system in systems.values() if {"reward", "f1"} <= system.keys()]
        pairs = [(a, b) for a in ranked for b in ranked if a["reward"].value > b["reward"].value]
        swapped = [(ahead, behind) for ahead, behind in pairs if ahead["f1"].value < behind["f1"].value]
        if swapped:
            ahead, behind = max(swapped, key=lambda pair: pair[1]["f1"].value - pair[0]["f1"].value)
            says = (
                f"{ahead['f1'].benchmark}: {len(swapped)} of {len(pairs)} pairs of systems are in another order by "
                f"f1 than by reward, {ahead['f1'].model} and {behind['f1'].model} furthest ({ahead['reward'].text} and "
                f"{behind['reward'].text} against {ahead['f1'].text} and {behind['f1'].text}): rank by both"
            )
            yield Finding("ranks disagree", (ahead["reward"], behind["reward"], ahead["f1"], behind["f1"]), says)
        inventing = [(a, b) for a, b in swapped if "halluc" in a and "halluc" in b]
        inventing = [(a, b) for a, b in inventing if a["halluc"].value > b["halluc"].value]
        if inventing:
            ahead, behind = max(inventing, key=lambda pair: pair[0]["halluc"].value - pair[1]["halluc"].value)
            says = (
                f"{ahead['f1'].benchmark}: {ahead['f1'].model} is before {behind['f1'].model} by reward though it "
                f"invents {ahead['halluc'].text} of its events, not {behind['halluc'].text}: reward never charges an "
                f"invented event, so that it grows with the number of guesses ({len(inventing)} such pairs)"
            )
            yield Finding("invented events are free", (ahead["reward"], behind["reward"]), says)
        above = [system for system in ranked if "recall" in system and system["recall"].value > system["reward"].value]
        if above:
            most = max(above, key=lambda system: system["recall"].value - system["reward"].value)
            says = (
                f"{most['f1'].benchmark}: the recall of {len(above)} systems lies above their reward "
                f"({most['f1'].model}: {most['recall'].text} and {most['reward'].text}), which it cannot over the same "
                "events, each with its best guess: one is a mean over clips, the other over events"
            )
            yield Finding("recall above reward", (most["recall"], most["reward"]), says)


def _drawn_prompts(values: Sequence[Published]) -> Iterator[Finding]:
    drawn = sorted((value for value in values if value.is_drawn), key=lambda value: (value.benchmark, value.source))
    for (benchmark, _), group in groupby(drawn, key=lambda value: (value.benchmark, value.source)):
        figures = tuple(group)
        says = (
            f"{benchmark}: {len(figures)} figures on {len({value.dataset for value in figures})} data sets are of "
            "prompts that were drawn for each sample from a list, by no seed: none can be repeated to "
            "the last digit (--ab-prompts=audiobench-draw draws from the same lists by a digest of the sample's id)"
        )
        yield Finding("prompts drawn unseeded", figures, says)


def _data(value: Published) -> tuple[str, ...]:
    return value.benchmark, value.source, value.dataset, value.conditions


def _percent_decimals(value: Published) -> int:
    """How finely a share was printed, as decimals of a percentage."""
    if value.decimals is None or value.unit not in _SCALES:
        return 0
    return value.decimals - (2 if value.unit == "fraction" else 0)


def _table(value: Published) -> tuple[str, ...]:
    return value.benchmark, value.source, value.metric, value.unit, value.conditions, value.model
