"""Two sides of one eval put together sample by sample, and what is in no pair, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pytest_audiobench.datasets.spool import LazySequence
from pytest_audiobench.evaluation.comparable_samples import ComparableRows, ComparableSample, joined

if TYPE_CHECKING:
    from pytest_audiobench.evaluation.comparable_eval import ComparableEval
    from pytest_audiobench.evaluation.score_columns import Numbers

ONLY_HERE, ONLY_IN_BASELINE, AUDIO, PROMPT, TRUTH = "only_here", "only_in_baseline", "audio", "prompt", "truth"
ERRORS, SKIPPED = "errors", "skipped"
_REASONS = (ONLY_HERE, AUDIO, PROMPT, TRUTH, ERRORS, SKIPPED)
"""What keeps a sample of this run out of the pairs; the first counts."""
_NAMED = 5
"""Sample ids that are listed for each reason."""


class PairedRows(LazySequence["tuple[ComparableSample, ComparableSample]"]):
    """The baseline's rows ``before`` and this run's ``after``, place by place: of one part, or of several in turn."""

    def __init__(self, *parts: tuple[ComparableRows, ComparableRows]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(len(after) for _, after in self._parts)

    @cached_property
    def before(self) -> ComparableRows:
        return joined([before for before, _ in self._parts])

    @cached_property
    def after(self) -> ComparableRows:
        return joined([after for _, after in self._parts])

    def element(self, place: int) -> tuple[ComparableSample, ComparableSample]:
        return self.before.element(place), self.after.element(place)


@dataclass(frozen=True)
class Pairs:
    """``rows`` holds (baseline's row, this run's row) in this run's order. ``left_out`` counts the others by reason,
    ``examples`` names some; ``not_run`` counts samples that a limited run did not take, which is not a mismatch.
    """

    rows: PairedRows
    left_out: Mapping[str, int]
    examples: Mapping[str, Sequence[str]]
    not_run: int = 0

    @property
    def mismatched(self) -> float:
        """The share of the samples that should be in a pair and are in none; what a scorer leaves out should not."""
        lost = sum(count for reason, count in self.left_out.items() if reason != SKIPPED)
        return lost / (lost + len(self.rows)) if lost else 0.0


def pair_samples(baseline: ComparableEval, here: ComparableEval, scorer: str, scored: bool = True) -> Pairs:
    """The pairs of ``baseline`` and ``here`` by sample id and epoch, as ``scorer`` read them.

    ``scored`` leaves out what the scorer gives no score in either run; a share of all samples needs those too.
    Audio and prompts are compared where both runs know them. Where this run was limited, what it did not take is
    ``not_run``; where the baseline was, what only this run has is left out of the pairs and not counted.
    """
    before, after = baseline.columns, here.columns
    places = after.places_in(before)
    both = np.flatnonzero(places >= 0)
    paired = PairedRows((before.at(places[both]), after.at(both)))
    reasons = np.zeros(len(after), np.int8)
    reasons[both] = _reasons(paired, scorer, scored)
    out: dict[str, Numbers] = {}
    found, firsts = np.unique(reasons, return_index=True)
    for number in found[np.argsort(firsts)].tolist():
        if number < len(_REASONS) and not (_REASONS[number] == ONLY_HERE and baseline.limited):
            out[_REASONS[number]] = np.flatnonzero(reasons == number)
    counts = {reason: len(own) for reason, own in out.items()}
    examples = {reason: _names(after, own) for reason, own in out.items()}
    alone = np.ones(len(before), bool)
    alone[places[both]] = False
    missing = np.flatnonzero(alone)
    if not here.limited and len(missing):
        counts[ONLY_IN_BASELINE], examples[ONLY_IN_BASELINE] = len(missing), _names(before, missing)
    kept = reasons[both] == len(_REASONS)
    rows = PairedRows((paired.before.where(kept), paired.after.where(kept)))
    return Pairs(rows, counts, examples, len(missing) if here.limited else 0)


def _names(rows: ComparableRows, places: Numbers) -> list[str]:
    return [rows[place].sample_id for place in places[:_NAMED].tolist()]


def _reasons(paired: PairedRows, scorer: str, scored: bool) -> Numbers:
    """Of each pair the number of the first reason that it is none; of those that have no reason, that of none."""
    before, after = paired.before, paired.after
    differing = []
    for name in (AUDIO, PROMPT, TRUTH):
        was, now = before.digests(name), after.digests(name)
        differing.append((was != now) & (was != 0) & (now != 0))
    failed, bare = (
        [side.of_kinds(lambda kind: kind.status(scorer) == "error") for side in (before, after)],
        [~side.has_scores(scorer) for side in (before, after)],
    )
    skipped = (bare[0] | bare[1]) & scored
    tests = [*differing, failed[0] | failed[1], skipped]
    return np.select(tests, range(1, len(_REASONS)), len(_REASONS))
