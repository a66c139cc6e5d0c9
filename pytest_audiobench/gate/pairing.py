"""Two sides of one eval put together sample by sample, and what is in no pair, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_audiobench.evaluation.comparable_eval import ComparableEval, ComparableSample

ONLY_HERE, ONLY_IN_BASELINE, AUDIO, PROMPT, TRUTH = "only_here", "only_in_baseline", "audio", "prompt", "truth"
ERRORS, SKIPPED = "errors", "skipped"
_NAMED = 5
"""Sample ids that are listed for each reason."""


@dataclass(frozen=True)
class Pairs:
    """``rows`` holds (baseline's row, this run's row) in this run's order. ``left_out`` counts the others by reason,
    ``examples`` names some; ``not_run`` counts samples that a limited run did not take, which is no mismatch.
    """

    rows: Sequence[tuple[ComparableSample, ComparableSample]]
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

    ``scored`` leaves out what the scorer gives no score on either side; a share of all samples needs those too.
    Audio and prompts are compared where both sides know them. Where this run was limited, what it did not take is
    ``not_run``; where the baseline was, what only this run has is left out of the pairs and not counted.
    """
    before = {row.identity: row for row in baseline.rows}
    rows: list[tuple[ComparableSample, ComparableSample]] = []
    out: dict[str, list[str]] = {}
    for row in here.rows:
        other = before.pop(row.identity, None)
        reason = _differs(other, row, scorer)
        if reason == SKIPPED and not scored:
            reason = None
        if reason is None and other is not None:
            rows.append((other, row))
        elif not (reason == ONLY_HERE and baseline.limited):
            out.setdefault(str(reason), []).append(row.sample_id)
    if not here.limited and before:
        out[ONLY_IN_BASELINE] = [sample_id for sample_id, _ in before]
    return Pairs(
        rows,
        {reason: len(ids) for reason, ids in out.items()},
        {reason: ids[:_NAMED] for reason, ids in out.items()},
        len(before) if here.limited else 0,
    )


def _differs(before: ComparableSample | None, after: ComparableSample, scorer: str) -> str | None:
    if before is None:
        return ONLY_HERE
    for reason in (AUDIO, PROMPT, TRUTH):
        digests = getattr(before, reason), getattr(after, reason)
        if None not in digests and len(set(digests)) > 1:
            return reason
    if "error" in (before.statuses.get(scorer), after.statuses.get(scorer)):
        return ERRORS
    return SKIPPED if before.scores.get(scorer) is None or after.scores.get(scorer) is None else None
