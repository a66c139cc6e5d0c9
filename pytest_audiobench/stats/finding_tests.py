"""Does one part of the samples fail more often than all others, and does that hold up on samples held out?

Clusters (a recording with all that was cut from it) are split, part by part, into a discovery and a holdout. In the
discovery each part is compared with all others by a permutation test, adjusted over the parts by Benjamini and
Hochberg; what passes must show its uplift again on the holdout, whose clusters the discovery never saw. A part without
an uplift passes the first step at most with probability ``DISCOVERY``, since no p above that is ever accepted, and then
the second at most with the holdout's level, whatever the other parts do. That level is therefore
``ALPHA`` / (``DISCOVERY`` × parts), and any false validation among all parts has at most the probability ``ALPHA``.

The permutation test deals the parts' names again to whole clusters; it is one-sided, for a higher rate, and counts half
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

Status: TypeAlias = Literal["validated", "candidate", "rejected", "untested"]

STATUSES: tuple[Status, ...] = ("validated", "candidate", "rejected", "untested")
"""In the order in which findings are listed."""

ALPHA = 0.05
"""The probability of any false "validated" among all parts."""
DISCOVERY = 0.10
"""The false discovery rate up to which a part is tested on the holdout."""
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

    members: Sequence[Unit]
    others: Sequence[Unit]

    @property
    def rates(self) -> tuple[float, float]:
        return _rate(self.members), _rate(self.others)

    @property
    def uplift(self) -> float:
        """The part's rate less that of all others; NaN where either has no clips."""
        rate, rate_of_others = self.rates
        return rate - rate_of_others

    @property
    def lacking(self) -> str:
        """Why it cannot be tested; nothing where it can."""
        few = [f"{len(units)} {what}" for units, what in ((self.members, "of it"), (self.others, "of all others"))]
        return " and ".join(few) if min(len(self.members), len(self.others)) < FEWEST else ""


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
    """The clusters held out: of each part the first ``HOLDOUT`` of them (rounded) in the order of their draws.

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
    halves = [
        [unit for unit in units if unit.clips and (unit.cluster in aside) is is_aside] for is_aside in (False, True)
    ]
    sides = {}
    for part in sorted({unit.part for unit in units}):
        first, second = (
            Side([unit for unit in half if unit.part == part], [unit for unit in half if unit.part != part])
            for half in halves
        )
        sides[part] = (first, second)
    return sides


def holdout_level(parts: int) -> float:
    """The level of the holdout's test among so many ``parts`` that are tested (module docstring)."""
    return min(LAXEST, ALPHA / (DISCOVERY * max(parts, 1)))


def weigh(units: Sequence[Unit], seed: str) -> list[Finding]:
    """What is found of each part: validated first, then by size of the uplift in the discovery.

    Parts with too few clusters are "untested" and count for no correction: that depends on no answer.
    """
    from scipy.stats import false_discovery_control  # costs 0.3 s, which a run without findings need not pay

    sides = sides_of(units, seed)
    lacking = {part: _lacking(*both) for part, both in sides.items()}
    tested = [part for part, why in lacking.items() if not why]
    p = {part: [uplift_p(side.members, side.others) for side in sides[part]] for part in tested}
    q = dict(zip(tested, false_discovery_control([p[part][0] for part in tested]).tolist(), strict=True))
    level = holdout_level(len(tested))
    findings = []
    for part, (discovery, holdout) in sides.items():
        if lacking[part]:
            findings.append(Finding(part, "untested", lacking[part], discovery, holdout, None, None, None))
            continue
        status, why = _judged(discovery, holdout, q[part], p[part][1], level)
        findings.append(Finding(part, status, why, discovery, holdout, p[part][0], q[part], p[part][1]))
    return sorted(
        findings,
        key=lambda finding: (STATUSES.index(finding.status), -np.nan_to_num(finding.discovery.uplift), finding.part),
    )


def uplift_p(members: Sequence[Unit], others: Sequence[Unit]) -> float:
    """The mid-p value of "the part's rate is no higher than the others'", over all ways to deal clusters to the part.

    Exact where clusters of one size have two outcomes, as single clips do. Else the uplift over its standard error is
    compared (Janssen 1997: recordings of one part may be more alike than those of another), in 9,999 permutations
    whose seed comes from the counts; and p is no less than the share of the interval's resamples without an uplift,
    since the few recordings of a part may have left out what they seldom do.
    """
    kinds = Counter((unit.hits, unit.clips) for unit in (*members, *others))
    outcomes = sorted(kinds)
    counts = [kinds[outcome] for outcome in outcomes]
    if len({Fraction(*outcome) for outcome in outcomes}) == 1:
        return 0.5
    if len(outcomes) == 2 and outcomes[0][1] == outcomes[1][1]:
        return _hypergeometric(
            sum(unit.hits == outcomes[1][0] for unit in members), len(members), counts[1], sum(counts)
        )
    generator = np.random.default_rng(seed_of("uplift resamples", 1, len(members), *map(str, outcomes), *counts))
    least, most_of_others = _reaching(sorted(members), generator)[0], _reaching(sorted(others), generator)[1]
    return max(_dealt_p(members, others), float((least <= most_of_others).mean()))


def _dealt_p(members: Sequence[Unit], others: Sequence[Unit]) -> float:
    kinds = Counter((unit.hits, unit.clips) for unit in (*members, *others))
    outcomes, owned = sorted(kinds), Counter((unit.hits, unit.clips) for unit in members)
    counts = [kinds[outcome] for outcome in outcomes]
    generator = np.random.default_rng(seed_of("uplift", 2, len(members), *map(str, outcomes), *counts))
    tallies, values = np.array(counts), np.array(outcomes, dtype=np.float64)
    seen = _studentized(np.array([[owned[outcome] for outcome in outcomes]]), tallies, values)[0]
    beyond = ties = 0
    for portion in _portions(PERMUTATIONS, len(outcomes)):
        dealt = generator.multivariate_hypergeometric(counts, len(members), size=portion)
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

    def group(dealt: npt.NDArray[np.int64]) -> tuple[Floats, Floats]:
        size, whole = dealt.sum(axis=1), dealt @ clips
        rates = (dealt @ hits) / whole
        both, cross, clips_squared = (dealt @ squares).T
        spread = both - 2.0 * rates * cross + rates**2 * clips_squared
        spread[spread < 1e-9 * clips_squared] = 0.0
        return rates, spread / whole**2 * size / np.maximum(size - 1, 1)

    (rates, variance), (others, variance_of_others) = group(dealt), group(counts - dealt)
    uplift, error = rates - others, np.sqrt(variance + variance_of_others)
    uplift[np.abs(uplift) < 1e-12] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(uplift == 0.0, 0.0, uplift / error)


def uplift_interval(members: Sequence[Unit], others: Sequence[Unit], seed: str) -> Interval:
    """The interval for the part's rate minus the others', by 2,000 resamples of clusters.

    The Bayesian bootstrap (Rubin 1981) of either group with one more cluster of average size, the worst there can be
    for the bound (``stats.intervals`` says why): a group that is all right or all wrong is not certainty.
    """
    if not members or not others:
        return none("no clips")
    generator = np.random.default_rng(seed_of("uplift interval", 1, seed))
    tail = 100.0 * (1.0 - CONFIDENCE) / 2.0
    (least, most), (least_of_others, most_of_others) = (_reaching(units, generator) for units in (members, others))
    lower = float(np.percentile(least - most_of_others, tail))
    upper = float(np.percentile(most - least_of_others, 100.0 - tail))
    what = f"{len(members)} and {len(others)} clusters, {RESAMPLES} resamples"
    return Interval(lower, upper, f"Bayesian bootstrap {100 * CONFIDENCE:g} %, {what}")


def _reaching(units: Sequence[Unit], generator: np.random.Generator) -> tuple[Floats, Floats]:
    """The rate over resamples with one more cluster without a failure, and with one of nothing else."""
    hits, clips = (np.array([getattr(unit, name) for unit in units], dtype=np.float64) for name in ("hits", "clips"))
    size = float(clips @ clips) / float(clips.sum())
    rates_reached = []
    for portion in _portions(RESAMPLES, len(units)):
        weights = generator.standard_exponential((portion, len(units) + 1))
        further = weights[:, -1] * size
        tops, wholes = weights[:, :-1] @ hits, weights[:, :-1] @ clips + further
        rates_reached.append((tops / wholes, (tops + further) / wholes))
    least, most = (np.concatenate(ends) for ends in zip(*rates_reached, strict=True))
    return least, most


def _portions(draws: int, width: int) -> Iterator[int]:
    """``draws`` in portions of at most ``CELLS`` numbers, which bounds the memory."""
    at_once = max(1, CELLS // (width + 1))
    yield from (min(at_once, draws - start) for start in range(0, draws, at_once))


def _judged(discovery: Side, holdout: Side, q: float, p: float, level: float) -> tuple[Status, str]:
    first = f"discovery {discovery.uplift:+.3f}, q {q:.4f}"
    if q > DISCOVERY or discovery.uplift <= 0.0:
        reason = "no higher rate" if discovery.uplift <= 0.0 else f"above {DISCOVERY:g}"
        return "rejected", f"{first}: {reason}"
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
    from scipy.stats import hypergeom

    among = hypergeom(total, marked, drawn)
    return float(among.sf(seen) + among.pmf(seen) / 2.0)


def _rate(units: Sequence[Unit]) -> float:
    clips = sum(unit.clips for unit in units)
    return sum(unit.hits for unit in units) / clips if clips else math.nan
