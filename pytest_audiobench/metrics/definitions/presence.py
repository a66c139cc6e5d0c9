"""Numbers of yes/no probes, as functions of four sums: hits, present probes, false alarms, distractors.

A present probe asks for a sound that is there, a distractor for one that is not. ``sums`` has the shape (r, 4) of r
samples or resamples; every function gives r values. Sensitivity and bias are those of signal detection theory for a
yes/no task (Stanislaw and Todorov 1999), of corrected rates, so that rates of 0 and 1 have finite values: of N probes
a rate r becomes (r + 1/N) / (1 + 2/N). With as many distractors as present probes that is the log-linear correction
(0.5 added to the counts and 1 to the probes, Hautus 1995). With other numbers that one pulls the two rates unequally:
who says nothing would have a d′ of 0.27 over 20 present probes and 40 distractors, and one of -0.26 over 80 and 40.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from pytest_audiobench.metrics.estimates import columns, nothing, quotient, ratio_kinds, summed_kind
from pytest_audiobench.metrics.metric import POINTS, SHARE, Clusters, Estimate, MetricKind, Statistics, Summed
from pytest_audiobench.stats import special
from pytest_audiobench.stats.bootstrap import FEWEST_OF_LABEL, Ends, Resampling, Statistic, Sums
from pytest_audiobench.stats.intervals import Floats, none

NAMES = ("hits", "present", "alarms", "absent")
CLIFF = ("solo_hits", "solo_present", "quad_hits", "quad_present")


def f1(sums: Floats) -> Floats:
    """2 hits / (answers of yes + present probes); NaN where nothing is present and no answer is yes."""
    hits, present, alarms, _ = sums.T
    return quotient(2.0 * hits, hits + alarms + present)


def d_prime(sums: Floats) -> Floats:
    """z(hit rate) - z(false alarm rate), corrected; NaN without present probes or without distractors."""
    hits, alarms = _deviates(sums)
    return hits - alarms


def criterion(sums: Floats) -> Floats:
    """-(z(hit rate) + z(false alarm rate)) / 2, corrected: below 0 for who says yes too readily; NaN as above."""
    hits, alarms = _deviates(sums)
    return np.asarray(-0.5 * (hits + alarms) + 0.0)  # no minus zero, which prints as a bias


def cliff(sums: Floats) -> Floats:
    """Recall among four sounds less recall of one alone; NaN where either was not asked. ``sums`` as in ``CLIFF``."""
    solo_hits, solo, quad_hits, quad = sums.T
    return quotient(quad_hits, quad) - quotient(solo_hits, solo)


def _deviates(sums: Floats) -> tuple[Floats, Floats]:
    hits, present, alarms, absent = sums.T
    both = (present > 0.0) & (absent > 0.0)
    per_probe = quotient(np.ones_like(present), present + absent)
    corrected = []
    for top, whole in ((hits, present), (alarms, absent)):
        # By the rarer answer, so that rates as far from 0 as from 1 are opposite to the last bit.
        rare = (quotient(np.minimum(top, whole - top), whole) + per_probe) / (1.0 + 2.0 * per_probe)
        # No number for what no rate can be, as sums from an edited file can make it.
        deviates = special.ndtri(np.where((rare > 0.0) & (rare < 1.0), rare, np.nan))
        corrected.append(np.where(both, np.where(2.0 * top > whole, -deviates, deviates), np.nan))
    return corrected[0], corrected[1]


def _better(mean_sample: Floats) -> Ends:
    """One more average sample, all of whose probes are answered wrongly, or all rightly."""
    _, present, _, absent = mean_sample
    return Ends(np.array([[0.0, present, absent, absent]]), np.array([[present, present, 0.0, absent]]))


def _stricter(mean_sample: Floats) -> Ends:
    """One more average sample, all of whose probes are answered yes, or all no."""
    _, present, _, absent = mean_sample
    return Ends(np.array([[present, present, absent, absent]]), np.array([[0.0, present, 0.0, absent]]))


def _steeper(mean_sample: Floats) -> Ends:
    """One more average sample that is heard alone and not among four, or the other way round."""
    _, solo, _, quad = mean_sample
    return Ends(np.array([[solo, solo, 0.0, quad]]), np.array([[0.0, solo, quad, quad]]))


def _estimator_of_sums(
    metric: str,
    names: Sequence[str],
    value: Statistic,
    ends: Callable[[Floats], Ends],
    needs: Sequence[tuple[int, str]],
) -> Summed:
    """A function of sums that has an interval where enough samples or clusters have what ``needs`` names."""

    def lacking(resampling: Resampling) -> str | None:
        assert isinstance(resampling.distinct, np.ndarray)
        for place, what in needs:
            if (count := int(resampling.counts[resampling.distinct[:, place] > 0.0].sum())) < FEWEST_OF_LABEL:
                return f"{count} {resampling.what} with {what}, {FEWEST_OF_LABEL} needed"
        return None

    def summed(statistics: Sequence[Statistics]) -> Sums | str:
        units = columns(statistics, metric, *names)
        for place, what in needs:
            if not units[:, place].sum() > 0.0:
                return f"there are no {what}"
        return Sums(units, value, ends, lacking)

    return summed


_BOTH = ((1, "present probes"), (3, "distractors"))
_SOLO_AND_QUAD = ((1, "present probes of the condition solo"), (3, "present probes of the condition quad"))


def _count_understood(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    if not statistics:
        return nothing()
    hits, present = columns(statistics, "components_understood", "hits", "present").sum(axis=0).tolist()
    return Estimate(
        hits if math.isfinite(hits) else math.nan,
        None,
        None,
        len(statistics),
        none(f"a count, of {present:g} components present: recall has the interval").method,
    )


def _right(sample: Statistics) -> float:
    return sample["hits"] + (sample["absent"] - sample["alarms"])


_PROBES = "A probe that is not answered is no yes: a miss where the sound is there, no false alarm where it is not."
_DETECTION = (
    "Of N probes a rate r counts as (r + 1/N) / (1 + 2/N): the log-linear correction (Hautus 1995; Stanislaw and "
    "Todorov 1999) where present probes and distractors are as many, and the same pull on both rates where they are "
    "not. So there is a largest value that N probes can show, and near it the interval is one of the corrected value: "
    "a true one beyond it lies outside. NaN without present probes or without distractors."
)

KINDS = (
    *ratio_kinds(
        {
            ("recall", "higher", SHARE, ("hits",), ("present",), "no probe asks for a sound that is there"): (
                f"Present probes answered yes over all present probes. {_PROBES} NaN where none is present "
                "(published: 0)."
            ),
            ("precision", "higher", SHARE, ("hits",), ("hits", "alarms"), "no probe was answered yes"): (
                "Present probes answered yes over all probes answered yes. NaN where none was (published: 0)."
            ),
            ("fpr", "lower", SHARE, ("alarms",), ("absent",), "no probe asks for a sound that is not there"): (
                f"False alarms: distractors answered yes over all distractors. {_PROBES} NaN without distractors "
                "(published: 0)."
            ),
        }
    ),
    summed_kind(
        "f1",
        "higher",
        SHARE,
        _estimator_of_sums("f1", NAMES, f1, _better, _BOTH[:1]),
        "2 hits / (answers of yes + present probes), all probes pooled. NaN where no probe asks for a sound that is "
        "there.",
        _right,
    ),
    summed_kind(
        "d_prime",
        "higher",
        "d′",
        _estimator_of_sums("d_prime", NAMES, d_prime, _better, _BOTH),
        "Sensitivity, z(hit rate) - z(false alarm rate): 0 for who cannot tell a sound that is there from one that is "
        f"not, however readily yes is said. {_DETECTION}",
        _right,
    ),
    summed_kind(
        "criterion",
        "higher",
        "z",
        _estimator_of_sums("criterion", NAMES, criterion, _stricter, _BOTH),
        "Bias, -(z(hit rate) + z(false alarm rate)) / 2: 0 for none, below 0 for a yes-sayer, above 0 for one who says "
        f"no too readily. Called better when higher, so that a baseline holds a model from becoming a yes-sayer. "
        f"{_DETECTION}",
        lambda sample: -(sample["hits"] + sample["alarms"]),
    ),
    replace(
        summed_kind(
            "solo_quad_cliff",
            "higher",
            POINTS,
            _estimator_of_sums("solo_quad_cliff", CLIFF, cliff, _steeper, _SOLO_AND_QUAD),
            "Recall where four sounds are mixed (condition quad) less recall of one alone (solo), over all samples "
            "pooled. NaN where either was not asked.",
            lambda sample: sample["quad_hits"] - sample["solo_hits"],
        ),
        across=True,
    ),
    MetricKind(
        "components_understood",
        "higher",
        "components",
        _count_understood,
        about="How many present probes were answered yes: hits. A count, which grows with the set; recall is its "
        "share. 0 where none was.",
    ),
)
