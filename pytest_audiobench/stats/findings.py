"""Does one part of the samples fail more often than all others, and does that hold up on samples kept aside?

Clusters (a recording with all that was cut from it) are split, part by part, into a discovery and a holdout. In the
discovery each part is held against all others by a permutation test, adjusted over the parts by Benjamini and
Hochberg; what passes must show its uplift again on the holdout, whose clusters the discovery never saw. A part without
an uplift passes the first step at most with probability ``DISCOVERY``, since no p above that is ever accepted, and then
the second at most with the holdout's level, whatever the other parts do. That level is therefore
``ALPHA`` / (``DISCOVERY`` × parts), and any false validation among all parts has at most the probability ``ALPHA``.

The permutation test deals the parts' names anew to whole clusters; it is one-sided, for a higher rate, and counts half
of what is equal to what was found (the mid-p value, Lancaster 1961): the plain test of a few yes or no answers
rejects half as often as it may. For clusters of several clips its levels are approximate, since no test holds exactly
whatever the recordings of a part are like (``uplift_p``). ``benchmarks/findings.py`` measures what both steps hold.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.identity import seed as seed_of
from pytest_audiobench.stats.bootstrap import CELLS
from pytest_audiobench.stats.intervals import CONFIDENCE, Floats, Interval, none
from pytest_audiobench.stats.multiple_testing import benjamini_hochberg

Status: TypeAlias = Literal["validated", "candidate", "rejected", "untested"]

STATUSES: tuple[Status, ...] = ("validated", "candidate", "rejected", "untested")
"""In the order in which findings are listed."""

ALPHA = 0.05
"""The probability of any false "validated" among all parts."""
DISCOVERY = 0.10
"""The false discovery rate up to which a part is put to the holdout."""
LAXEST = 0.20
"""What the holdout's level never exceeds, however few parts there are."""
HOLDOUT = 0.40
"""The holdout's share of each part's clusters: of 180 clips of three parts with an uplift of 0.30 it validates most."""
FEWEST = 5
"""Clusters of a part, and of all others, on each side: the clearest outcome of 5 against 5 has p = 1 / 504, which
passes among 20 parts (0.10 / 20); that of 4 against 4 has 1 / 140, which does not."""
RESAMPLES = 2_000
PERMUTATIONS = 9_999
SALT = "findings holdout"


class Unit(NamedTuple):
    """A cluster: which part it belongs to, how many of its clips there are, and on how many the model failed."""

    cluster: str
    part: str
    hits: int
    clips: int


class Side(NamedTuple):
    """One part against all others in one half of the clusters; rates are NaN where there are no clips."""

    own: Sequence[Unit]
    others: Sequence[Unit]

    @property
    def rates(self) -> tuple[float, float]:
        return _rate(self.own), _rate(self.others)

    @property
    def uplift(self) -> float:
        """The part's rate less that of all others; NaN where either has no clips."""
        own, others = self.rates
        return own - others

    @property
    def lacking(self) -> str:
        """Why it cannot be tested; nothing where it can."""
        few = [f"{len(units)} {what}" for units, what in ((self.own, "of it"), (self.others, "of all others"))]
        return " and ".join(few) if min(len(self.own), len(self.others)) < FEWEST else ""


class Finding(NamedTuple):
    """What was found of one part; ``p`` is the discovery's, ``q`` the same adjusted over the parts."""

    part: str
    status: Status
    why: str
    discovery: Side
    holdout: Side
    p: float | None
    q: float | None
    p_holdout: float | None


def holdout_of(units: Sequence[Unit], seed: str) -> frozenset[str]:
    """The clusters kept aside: of each part the first ``HOLDOUT`` of them (rounded) in the order of their draws.

    A cluster's draw is ``identity.seed(SALT, 1, seed, cluster)``, from SHA-256: it depends on nothing else.
    """
    parts: dict[str, set[str]] = {}
    for unit in units:
        parts.setdefault(unit.part, set()).add(unit.cluster)
    aside: set[str] = set()
    for clusters in parts.values():
        drawn = sorted(clusters, key=lambda name: (seed_of(SALT, 1, seed, name), name))
        aside.update(drawn[: math.floor(HOLDOUT * len(drawn) + 0.5)])
    return frozenset(aside)


def sides_of(units: Sequence[Unit], seed: str) -> Mapping[str, tuple[Side, Side]]:
    """Discovery and holdout of each part, by its name, in the order of the names.

    Clusters without clips (no asking succeeded) are split with the others, so that they move none, and left out then.
    """
    aside = holdout_of(units, seed)
    halves = [[one for one in units if one.clips and (one.cluster in aside) is kept] for kept in (False, True)]
    found = {}
    for part in sorted({one.part for one in units}):
        first, second = (
            Side([one for one in half if one.part == part], [one for one in half if one.part != part])
            for half in halves
        )
        found[part] = (first, second)
    return found


def holdout_level(parts: int) -> float:
    """The level of the holdout's test among so many ``parts`` that are tested (module docstring)."""
    return min(LAXEST, ALPHA / (DISCOVERY * max(parts, 1)))


def weigh(units: Sequence[Unit], seed: str) -> list[Finding]:
    """What is found of each part: validated first, then by size of the uplift in the discovery.

    Parts with too few clusters are "untested" and count for no correction: that depends on no answer.
    """
    sides = sides_of(units, seed)
    lacking = {part: _lacking(*both) for part, both in sides.items()}
    tested = [part for part, why in lacking.items() if not why]
    p = {part: [uplift_p(side.own, side.others) for side in sides[part]] for part in tested}
    q = dict(zip(tested, benjamini_hochberg([p[part][0] for part in tested]).tolist(), strict=True))
    level = holdout_level(len(tested))
    found = []
    for part, (discovery, holdout) in sides.items():
        if lacking[part]:
            found.append(Finding(part, "untested", lacking[part], discovery, holdout, None, None, None))
            continue
        status, why = _judged(discovery, holdout, q[part], p[part][1], level)
        found.append(Finding(part, status, why, discovery, holdout, p[part][0], q[part], p[part][1]))
    return sorted(found, key=lambda one: (STATUSES.index(one.status), -_or_zero(one.discovery.uplift), one.part))


def uplift_p(own: Sequence[Unit], others: Sequence[Unit]) -> float:
    """The mid-p value of "the part's rate is no higher than the others'", over all ways to deal clusters to the part.

    Exact where clusters of one size have two outcomes, as single clips do. Else the uplift over its standard error is
    compared (Janssen 1997: recordings of one part may be more alike than those of another), in 9,999 permutations
    whose seed comes from the counts; and p is no less than the share of the interval's resamples without an uplift,
    since the few recordings of a part may have left out what they seldom do.
    """
    kinds = Counter((one.hits, one.clips) for one in (*own, *others))
    outcomes = sorted(kinds)
    counts = [kinds[one] for one in outcomes]
    if len({Fraction(*one) for one in outcomes}) == 1:
        return 0.5
    if len(outcomes) == 2 and outcomes[0][1] == outcomes[1][1]:
        return _hypergeometric(sum(one.hits == outcomes[1][0] for one in own), len(own), counts[1], sum(counts))
    generator = np.random.default_rng(seed_of("uplift resamples", 1, len(own), *map(str, outcomes), *counts))
    least, most_of_others = _reaching(sorted(own), generator)[0], _reaching(sorted(others), generator)[1]
    return max(_dealt_p(own, others), float((least <= most_of_others).mean()))


def _dealt_p(own: Sequence[Unit], others: Sequence[Unit]) -> float:
    kinds = Counter((one.hits, one.clips) for one in (*own, *others))
    outcomes, owned = sorted(kinds), Counter((one.hits, one.clips) for one in own)
    counts = [kinds[one] for one in outcomes]
    generator = np.random.default_rng(seed_of("uplift", 2, len(own), *map(str, outcomes), *counts))
    tallies, values = np.array(counts), np.array(outcomes, dtype=np.float64)
    seen = _studentized(np.array([[owned[one] for one in outcomes]]), tallies, values)[0]
    beyond = ties = 0
    for portion in _portions(PERMUTATIONS, len(outcomes)):
        dealt = generator.multivariate_hypergeometric(counts, len(own), size=portion)
        drawn = _studentized(dealt, tallies, values)
        # The same clusters summed in another order: floats that differ by rounding are one.
        equal = np.isclose(drawn, seen, rtol=1e-9, atol=1e-12)
        beyond, ties = beyond + int(((drawn > seen) & ~equal).sum()), ties + int(equal.sum())
    return (beyond + (ties + 1) / 2.0) / (PERMUTATIONS + 1)


def _studentized(dealt: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], outcomes: Floats) -> Floats:
    """Of each deal (rows of how many clusters of each outcome are the part's): the uplift over its standard error.

    Infinite where neither group varies and they differ. The variances are those of ratios of sums (linearised).
    """
    hits, clips = outcomes.T
    squares = np.stack([hits * hits, hits * clips, clips * clips], axis=1)

    def group(given: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        size, whole = given.sum(axis=1), given @ clips
        rates = (given @ hits) / whole
        both, cross, own = (given @ squares).T
        spread = both - 2.0 * rates * cross + rates**2 * own
        spread[spread < 1e-9 * own] = 0.0
        return rates, spread / whole**2 * size / np.maximum(size - 1, 1)

    (rates, variance), (others, variance_of_others) = group(dealt), group(counts - dealt)
    uplift, error = rates - others, np.sqrt(variance + variance_of_others)
    uplift[np.abs(uplift) < 1e-12] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(uplift == 0.0, 0.0, uplift / error)


def uplift_interval(own: Sequence[Unit], others: Sequence[Unit], seed: str, confidence: float = CONFIDENCE) -> Interval:
    """The interval for the part's rate less the others', by 2,000 resamples of clusters.

    The Bayesian bootstrap (Rubin 1981) of either group with one more cluster of average size, the worst there can be
    for the bound (``stats.intervals`` says why): a group that is all right or all wrong is no certainty.
    """
    if not own or not others:
        return none("no clips")
    generator = np.random.default_rng(seed_of("uplift interval", 1, seed))
    tail = 100.0 * (1.0 - confidence) / 2.0
    (least, most), (least_of_others, most_of_others) = (_reaching(units, generator) for units in (own, others))
    lower = float(np.percentile(least - most_of_others, tail))
    upper = float(np.percentile(most - least_of_others, 100.0 - tail))
    what = f"{len(own)} and {len(others)} clusters, {RESAMPLES} resamples"
    return Interval(lower, upper, f"Bayesian bootstrap {100 * confidence:g} %, {what}")


def _reaching(units: Sequence[Unit], generator: np.random.Generator) -> tuple[Floats, Floats]:
    """The rate over resamples with one more cluster without a failure, and with one of nothing else."""
    hits, clips = (np.array([getattr(one, name) for one in units], dtype=np.float64) for name in ("hits", "clips"))
    size = float(clips @ clips) / float(clips.sum())
    found = []
    for portion in _portions(RESAMPLES, len(units)):
        weights = generator.standard_exponential((portion, len(units) + 1))
        further = weights[:, -1] * size
        tops, wholes = weights[:, :-1] @ hits, weights[:, :-1] @ clips + further
        found.append((tops / wholes, (tops + further) / wholes))
    least, most = (np.concatenate(ends) for ends in zip(*found, strict=True))
    return least, most


def _portions(draws: int, width: int) -> Iterator[int]:
    """``draws`` in portions of at most ``CELLS`` numbers, which bounds the memory."""
    at_once = max(1, CELLS // (width + 1))
    for start in range(0, draws, at_once):
        yield min(at_once, draws - start)


def _judged(discovery: Side, holdout: Side, q: float, p: float, level: float) -> tuple[Status, str]:
    first = f"discovery {discovery.uplift:+.3f}, q {q:.4f}"
    if q > DISCOVERY or discovery.uplift <= 0.0:
        wanted = "no higher rate" if discovery.uplift <= 0.0 else f"above {DISCOVERY:g}"
        return "rejected", f"{first}: {wanted}"
    second = f"{first}; holdout {holdout.uplift:+.3f}, p {p:.4f}"
    if holdout.uplift <= 0.0:
        return "rejected", f"{second}: the holdout shows no higher rate"
    if p > level:
        return "candidate", f"{second}: the same direction, but above {level:.4g}"
    return "validated", f"{second}: replicated at {level:.4g}"


def _lacking(discovery: Side, holdout: Side) -> str:
    sides = (("discovery", discovery), ("holdout", holdout))
    few = "; ".join(f"the {name} has {side.lacking}" for name, side in sides if side.lacking)
    return f"too few clusters, {FEWEST} needed: {few}" if few else ""


# Simulations and many parts of one size ask the same of it again and again.
@lru_cache(maxsize=65_536)
def _hypergeometric(seen: int, drawn: int, marked: int, total: int) -> float:
    """P(X > seen) + P(X = seen) / 2 for the marked among ``drawn`` of ``total``, of which ``marked`` are."""

    def ways(count: int, of: int) -> float:
        return math.lgamma(of + 1) - math.lgamma(count + 1) - math.lgamma(of - count + 1)

    def exactly(count: int) -> float:
        return math.exp(ways(count, marked) + ways(drawn - count, total - marked) - ways(drawn, total))

    beyond = math.fsum(map(exactly, range(seen + 1, min(drawn, marked) + 1)))
    return min(1.0, beyond + exactly(seen) / 2.0)


def _rate(units: Sequence[Unit]) -> float:
    clips = sum(one.clips for one in units)
    return sum(one.hits for one in units) / clips if clips else math.nan


def _or_zero(value: float) -> float:
    return 0.0 if math.isnan(value) else value
