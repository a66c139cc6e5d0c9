"""The drop of a mean of scores, or of a ratio of sums, by Student's t on the pairs' own differences.

What varies is each pair's difference, so that the difficulty of a sample drops out (Miller 2024, arXiv 2411.00640,
section 4.2). A ratio's are linearised (the delta method), and those of a cluster added up. The standard error is
cluster-robust and corrected for leverage (CR2: Bell and McCaffrey 2002, for an intercept alone). Degrees of freedom
are the least of clusters - 1; of those that unequal clusters leave (Kish's effective number - 1); and of those that the
squares' own spread leaves, 2 C / (kurtosis - 1) (Satterthwaite 1946; Box 1953). In simulations plain t with C - 1
rejects a true null 10 % of the time where one cluster holds a third of the samples, four times too often at small
levels.

Where differences are skewed (an answer in a hundred is newly empty) samples with few of the large ones show both a
small drop and a small error, and t's bound on the side of the long tail is too near: it is moved out by the first term
of the Edgeworth expansion, the third moment over the second times (1 + 2 t²) / 6 (Johnson 1978, "Modified t tests and
confidence intervals for asymmetrical populations"; Hall 1992), and never moved in. Where none of the large ones is
among the samples nothing shows them. So no upper bound is nearer than failures can move the drop of which n samples
show none: a share 1 - level^(1 / n) of all, the "rule of three". A pass must stand against those; a regression need
not stand against all cures that no sample shows. At 0.05 / 20 these could make up for 11 points of a word error rate
over 50 samples, and for 3 over 200, whatever was answered. It stands against those of one answer in 200: a run
that is worse in the others, and with these no worse in all, alarms no more often than an unchanged one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from pytest_audiobench.stats import special
from pytest_audiobench.stats.drops import Drop, Question, no_drop
from pytest_audiobench.stats.intervals import CONFIDENCE, Clusters, Floats, numbered, repeat
from pytest_audiobench.stats.mcnemar import EXACT_DIFFERING, flips_drop

FEWEST = 10
"""Clusters (or samples) below which t on scores that are not all 0 or 1 is not known to hold its level."""
RARE = 0.005
"""The share of all samples whose cures may make up for what the others lose though none of them was drawn."""
_STEPS = 10
_ROUNDING = 1e-12


class Moves(NamedTuple):
    """How much each cluster (or sample, as ``what`` says) moves the drop: ``about`` it, adding up to 0, and in all.

    ``shares`` are the clusters' weights, adding up to 1; ``in_all`` is 0 for a cluster in which nothing differs.
    ``samples`` is the effective number of samples (Kish's, by their own weights).
    """

    about: Floats
    in_all: Floats
    shares: Floats
    what: str
    samples: float


class Unseen(NamedTuple):
    """Failures, or cures, of ``span`` each that are so rare that none is among ``samples``; infinite where none says
    how large they may be, and nothing is claimed of them.
    """

    span: float
    samples: float

    def reach(self, level: float) -> float:
        """How much they move the drop where all samples miss them with a probability of ``level``."""
        return -self.span * math.expm1(math.log(level) / self.samples) if math.isfinite(self.span) else 0.0

    def p(self, excess: float) -> float:
        """The probability that all samples miss those that would make up for ``excess``."""
        if not math.isfinite(self.span):
            return 0.0
        return float(max(0.0, 1.0 - excess / self.span) ** self.samples) if excess > 0.0 else 1.0


class Spread(NamedTuple):
    """``error`` is the standard error, with ``degrees`` of freedom; ``skew`` the third moment over its square.

    ``failures`` and ``cures`` are what may not have been seen on the worse side and on the better one.
    """

    error: float
    skew: float
    degrees: int
    failures: Unseen
    cures: Unseen

    def reach(self, level: float, side: float) -> float:
        """How far the bound at 1 - ``level`` lies from the drop, on its worse ``side`` (1) or its better one (-1)."""
        t = float(special.stdtrit(self.degrees, 1.0 - level))
        tail = max(0.0, side * self.skew) * (1.0 + 2.0 * max(0.0, t) ** 2) / 6.0
        return max(t * self.error + tail, (self.failures if side > 0.0 else self.cures).reach(level))

    def reach_beyond_rare(self, level: float) -> float:
        """How far below the drop the bound lies where cures as rare as :data:`RARE` may be missing."""
        return max(loss + self.reach(level / odds, -1.0) for loss, odds in self._rare() if level < odds)

    def p_beyond_rare(self, excess: float) -> float:
        """The probability that all samples miss the cures of a share, and that the others lose ``excess`` or more by
        chance: of the share up to :data:`RARE` for which it is largest. It inverts :meth:`reach_beyond_rare`.
        """
        return max(odds * self.p(excess - loss) for loss, odds in self._rare())

    def _rare(self) -> list[tuple[float, float]]:
        """What rare cures make up for, and the probability that all samples miss them."""
        samples, span = self.failures.samples, self.failures.span
        # Where all cures are taken into account these are among them; of a score without a range nothing is claimed.
        if math.isfinite(self.cures.span) or not math.isfinite(span):
            return [(0.0, 1.0)]
        shares = [RARE * step / _STEPS for step in range(_STEPS + 1)]
        return [(share * span, (1.0 - share) ** samples) for share in shares]

    def lower(self, value: float, level: float) -> float:
        """The lower bound of the drop: that of t, or one below 0 where rare cures may make up for all of it."""
        beyond = value - self.reach_beyond_rare(level)
        return value - self.reach(level, -1.0) if beyond >= 0.0 else beyond

    def p_above(self, value: float, margin: float) -> float:
        """The p of "the drop is at most the ``margin``, and no more than 0 with rare cures": :meth:`lower` inverted."""
        return max(self.p(value - margin), self.p_beyond_rare(value - min(margin, 0.0)))

    def detectable(self, question: Question) -> float:
        """The drop that is found above the margin with the asked power."""
        of_t = question.margin + self.reach(question.level, -1.0)
        beyond = min(question.margin, 0.0) + self.reach_beyond_rare(question.level)
        return max(of_t, beyond) + float(special.ndtri(question.power)) * self.error

    def p(self, excess: float) -> float:
        """The level at which the lower bound lies ``excess`` below the drop: :meth:`reach` inverted."""
        tail = max(0.0, -self.skew)
        beyond = excess - tail / 6.0
        root = math.sqrt(self.error**2 + 4.0 / 3.0 * tail * max(0.0, beyond))
        beneath = float(special.stdtr(self.degrees, -2.0 * beyond / (self.error + root)))
        return max(beneath, self.cures.p(excess))


def ratio_drop(
    before: Floats,
    after: Floats,
    clusters: Clusters,
    question: Question,
    higher_is_better: bool = True,
    span: float = 1.0,
) -> Drop:
    """The drop of sum(numerators) / sum(denominators); both sides hold these of each sample, shape (n, 2).

    Scores of 0 or 1 of independent samples are compared by McNemar's test (``mcnemar.py``), all others by t. ``span``
    is what a sample can lose by, for the bound where no pair differs; infinite where that is not known.
    """
    if len(before) == 0:
        return no_drop(math.nan, "no pairs")
    with np.errstate(over="ignore"):
        sums = np.array([np.abs(side).sum(axis=0) for side in (before, after)])
    if not np.isfinite(sums).all():
        return no_drop(math.nan, "a value is not finite")
    if min(before[:, 1].min(), after[:, 1].min()) < 0.0:
        return no_drop(math.nan, "a denominator is negative")
    wholes = sums[:, 1].tolist()
    if min(wholes) <= 0.0:
        return no_drop(math.nan, "the denominators add up to nothing")
    sign = 1.0 if higher_is_better else -1.0
    if not (grouped := repeat(clusters)) and _are_answers(before) and _are_answers(after):
        differences = sign * (before[:, 0] - after[:, 0])
        return flips_drop(len(before), int((differences > 0).sum()), int((differences < 0).sum()), question)
    ratios = [float(side[:, 0].sum()) / whole for side, whole in zip((before, after), wholes, strict=True)]
    value = sign * (ratios[0] - ratios[1])
    linearised = [
        (side[:, 0] - ratio * side[:, 1]) / whole
        for side, ratio, whole in zip((before, after), ratios, wholes, strict=True)
    ]
    about = sign * (linearised[0] - linearised[1])
    shares = (before[:, 1] / wholes[0] + after[:, 1] / wholes[1]) / 2.0
    in_all = np.where((before != after).any(axis=1), about + value * shares, 0.0)
    moves = moves_of(about, in_all, shares, clusters if grouped else None)
    return studentised(value, moves, question, span)


def moves_of(about: Floats, in_all: Floats, shares: Floats, clusters: Clusters) -> Moves:
    """The moves of samples, those of a cluster added up."""
    samples = 1.0 / float(shares @ shares)
    if clusters is None:
        return Moves(about, in_all, shares, "samples", samples)
    codes = numbered(clusters, len(about))

    def added(moves: Floats) -> Floats:
        return np.bincount(codes, weights=moves).astype(np.float64)

    # What cancels within a cluster leaves a rounding error, or none, by the order of its samples.
    whole = added(in_all)
    whole[np.abs(whole) <= _ROUNDING * added(np.abs(in_all))] = 0.0
    return Moves(added(about), whole, added(shares), "clusters", samples)


class Resampled(NamedTuple):
    """The standard error of a drop by a bootstrap of so many ``resamples``, which holds from ``fewest`` clusters on.

    ``signed`` where the moves tell the better from the worse.
    """

    error: float
    resamples: int
    fewest: int
    signed: bool = True


def studentised(
    value: float,
    moves: Moves,
    question: Question,
    span: float,
    resampled: Resampled | None = None,
    unseen_cures: bool = False,
) -> Drop:
    """The drop ``value`` by Student's t on ``moves``; or on its standard error by a bootstrap.

    ``span`` is what a sample can lose, and what it can win where ``unseen_cures`` count. No test below the
    least number of clusters at which simulations found the form to hold. Where fewer than 10 clusters differ t knows
    too little of those that might: p and bounds are then the more careful of t's and of McNemar's with clusters for
    pairs, each differing by as much as the most that any does.
    """
    count, of = len(moves.about), f"{len(moves.about)} {moves.what}"
    if count < 2:
        return no_drop(value, f"fewer than 2 {moves.what}")
    if moves.shares.max() > 1.0 - _ROUNDING:
        return no_drop(value, f"one of the {of} weighs as much as all")
    scale = float(np.abs(moves.in_all).max())
    worse, better = (int((sign * moves.in_all > _ROUNDING * scale).sum()) for sign in (1.0, -1.0))
    effective = 1.0 / float(moves.shares @ moves.shares)
    trials = max(2, int(effective + 1e-6))
    if scale == 0.0:
        if not math.isfinite(span):
            return no_drop(value, f"none of {of} differs")
        drop = flips_drop(trials, 0, 0, question, value, span)
        return drop._replace(method=f"none of {of} differs: the bound for none in {trials}")
    fewest = FEWEST if resampled is None else resampled.fewest
    if count < fewest:
        return no_drop(value, f"{of}, below the {fewest} at which it is known to hold")
    levered = moves.about / np.sqrt(1.0 - moves.shares)
    squares = float(levered @ levered)
    error = math.sqrt(squares)
    if not math.isfinite(error * error * error * error):
        return no_drop(value, "its values are too large to be squared")
    if error <= _ROUNDING * scale * count or error * error * error * error == 0.0:
        if value <= question.margin:
            return no_drop(value, f"all {of} differ alike")
        # Where a model that answered all answers nothing, no spread is left for t to go by, and nothing is clearer.
        return flips_drop(trials, trials, 0, question, value, value)._replace(method=f"all {of} differ alike")
    how, skew, resamples = "paired t", float(levered @ (levered * levered)) / squares, math.inf
    if resampled is not None:
        how, resamples = f"paired bootstrap, {resampled.resamples} resamples", resampled.resamples
        skew *= resampled.signed
        # Resamples know nothing of leverage: correct them as the linear moves are corrected.
        error = resampled.error * math.sqrt(squares / float(moves.about @ moves.about))
    degrees = _degrees(levered, effective, resamples)
    failures = Unseen(span, moves.samples)
    cures = failures if unseen_cures else Unseen(math.inf, moves.samples)
    drop = _by_t(value, Spread(error, skew, degrees, failures, cures), question)
    drop = drop._replace(method=f"{how}, {of}, {degrees} degrees of freedom{drop.method}")
    if worse + better >= EXACT_DIFFERING:
        return drop
    trials = max(trials, worse + better)
    few = flips_drop(trials, worse, better, question, value, scale * trials)
    return _more_careful(drop, few)._replace(method=f"{drop.method}, {worse + better} differing")


def _by_t(value: float, spread: Spread, question: Question) -> Drop:
    tail = (1.0 - CONFIDENCE) / 2.0
    bound = spread.reach(question.alpha, 1.0)
    hidden = bound > 0.0 and bound == spread.failures.reach(question.alpha)
    exchanged = spread._replace(skew=-spread.skew)
    return Drop(
        value,
        spread.lower(value, tail),
        max(value + spread.reach(tail, 1.0), -exchanged.lower(-value, tail)),
        value + bound,
        spread.p_above(value, question.margin),
        spread.detectable(question),
        f"; no bound below what {round(spread.failures.samples)} samples may not show" if hidden else "",
        spread.error,
        exchanged.p_above(-value, 0.0),
    )


def _more_careful(drop: Drop, other: Drop) -> Drop:
    upper, bound, p, detectable = (
        None if a is None or b is None else max(a, b) for a, b in zip(drop[2:6], other[2:6], strict=True)
    )
    assert drop.lower is not None
    assert other.lower is not None
    lower = min(drop.lower, other.lower)
    assert drop.p_better is not None
    assert other.p_better is not None
    p_better = max(drop.p_better, other.p_better)
    return drop._replace(lower=lower, upper=upper, bound=bound, p=p, detectable=detectable, p_better=p_better)


def _degrees(levered: Floats, effective: float, resamples: float) -> int:
    count = len(levered)
    squares = levered * levered
    kurtosis = count * float(squares @ squares) / float(squares.sum()) ** 2
    least = min(count - 1.0, effective - 1.0)
    if kurtosis > 1.0:
        least = min(least, 2.0 * count / (kurtosis - 1.0))
    return max(1, int(1.0 / (1.0 / max(least, _ROUNDING) + 1.0 / resamples) + 1e-6))


def _are_answers(side: Floats) -> bool:
    return bool((side[:, 1] == 1.0).all() and np.isin(side[:, 0], (0.0, 1.0)).all())
