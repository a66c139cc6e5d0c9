"""One metric of an eval compared with a baseline's: by how much it dropped, and whether that is a regression.

Verdicts, by formula:

- pass: the one-sided upper bound of the drop (at 1 - alpha) is below the margin,
- regressed: the test of "the drop is at most the margin" gives p <= alpha / lines,
- inconclusive: neither; or, where the run asks for it, regressed by no more than the noise floor of the baseline's
  model on the same data, measured over as many samples or more,
- not comparable: the two sides do not match, or their asking failed, past the limit.

A pass that is better by more than chance is shown as improved: the test of "it is no better", adjusted over all lines
of the run, gives q <= alpha. It is a pass in all else, and makes up for no regression.

Where exactly the same model gave exactly the same answers there is nothing to test: it has not changed, and passes.

Only "regressed" needs the correction over many lines: a pass is a bound's, and a bound on each line errs in each alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from msgspec import structs

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import (
    NEVER_COMPARED,
    ComparableEval,
    other_encoders,
    same_answers,
)
from pytest_audiobench.evaluation.comparable_samples import ComparableRows
from pytest_audiobench.evaluation.scoring import SHARES, WITHOUT, finite
from pytest_audiobench.gate.noise_floor import excusing_floor, floor_text, is_within, noise_floor
from pytest_audiobench.gate.pairing import ERRORS, Pairs, pair_samples
from pytest_audiobench.gate.regression_text import RUNAWAYS, noise_text, pairs_text, sentence
from pytest_audiobench.gate.threshold_syntax import margin_of
from pytest_audiobench.gate.thresholds import Line as Line
from pytest_audiobench.gate.thresholds import Terms as Terms
from pytest_audiobench.metrics.definitions.words import trimmed, trimmed_names
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.metric import MetricKind, Statistics
from pytest_audiobench.metrics.metric_drops import drop_of, moved
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.records.run import NOT_IN_BASELINE, NoiseMeasurement, RegressionRecord, RegressionStatus
from pytest_audiobench.stats.drops import Drop, Question, no_drop


def regression_of(baseline: ComparableEval | None, here: ComparableEval, line: Line, terms: Terms) -> RegressionRecord:
    """What became of ``line`` for ``here``; without a ``baseline`` it is inconclusive, and says so.

    Raises UsageError for a metric or scorer that was not used here, and for a margin that the metric cannot have.
    """
    test = LineTest.of(here, line, terms)
    if baseline is None:
        return test.untested("inconclusive", f"{NOT_IN_BASELINE}{here.eval}: it is measured, not compared")
    if (reason := mismatch(baseline, here, test.scorer)) is not None:
        return test.untested("not_comparable", reason)
    pairs = test.pairs(baseline, here)
    if (reason := test.unpaired(pairs)) is not None:
        return test.untested("not_comparable", reason, pairs)
    if same_answers(here, baseline):
        return test.unchanged(pairs)
    floor = noise_floor(test.kind.name, here.dataset, baseline.noise, here.noise)
    # Noise that came with the change is a part of it, and is no excuse for it.
    is_headline = terms.excuses_noise and test.scorer == here.headline
    excuse = excusing_floor(test.kind.name, here.dataset, len(pairs.rows), baseline.noise) if is_headline else None
    return test.decided(pairs, noise_text(baseline.noise, here.noise), floor, excuse)


def not_comparable(baseline: ComparableEval, here: ComparableEval, line: Line, terms: Terms) -> RegressionRecord | None:
    """What is certain of ``line`` before anything is asked: None, or the verdict that the sides do not match.

    ``here`` needs no answers (``comparable_ahead`` in ``evaluation/comparable_eval.py``), and so says nothing of
    groups: for a line on one only the tasks are compared. Raises as :func:`regression_of` does.
    """
    test = LineTest.of(here, line, terms)
    reason, pairs = mismatch(baseline, here, test.scorer), None
    if reason is None and not test.group:
        pairs = test.pairs(baseline, here)
        reason = test.unpaired(pairs)
    return None if reason is None else test.untested("not_comparable", reason, pairs)


def failed_line(here: ComparableEval, line: Line, terms: Terms, why: str) -> RegressionRecord:
    """The record of a line for which too much of the asking failed, in the words of ``why``. Raises the same."""
    return LineTest.of(here, line, terms).untested("not_comparable", why)


@dataclass(frozen=True)
class LineTest:
    """A line resolved for one eval: the metric's kind, the scorer, the group and the margin in the metric's unit."""

    kind: MetricKind
    scorer: str
    group: Mapping[str, str]
    margin: float
    terms: Terms

    @classmethod
    def of(cls, here: ComparableEval, line: Line, terms: Terms) -> LineTest:
        group = dict(line.group)
        scorer = group.pop("scorer", here.headline)
        if scorer not in here.scorers:
            raise UsageError(f"{here.eval} has no scorer {scorer!r}; it has {', '.join(here.scorers)}")
        names = here.metrics.get(scorer, ())
        name = line.metric or names[0]
        if name not in (*names, *SHARES, *trimmed_names(names)):
            raise UsageError(f"{here.eval} does not measure {name} by {scorer}; it measures {', '.join(names)}")
        if name == ERRORS:
            raise UsageError(
                f"{here.eval}: errors are the instrument's, and no pair holds a sample that could not be asked: limit "
                "them by --ab-max-errors N, and compare another metric with the baseline"
            )
        kind = metric_kind(name)
        return cls(kind, scorer, group, margin_of(line.margin, kind), terms)

    def pairs(self, baseline: ComparableEval, here: ComparableEval) -> Pairs:
        """The pairs of the group. What the scorer leaves out of its score still counts in the shares of answers."""
        return pair_samples(
            *_rows_of_group(baseline, here, self.group), self.scorer, scored=self.kind.name not in SHARES
        )

    def untested(self, status: RegressionStatus, why: str, pairs: Pairs | None = None) -> RegressionRecord:
        """The record of a line that no test was made for."""
        return self._record(status, pairs, no_drop(math.nan, why), (None, None), why)

    def unpaired(self, pairs: Pairs) -> str | None:
        """Why too few samples are in a pair, where they are."""
        most = self.terms.most_unmatched
        if pairs.mismatched > most:
            share = f"{100.0 * pairs.mismatched:.1f} % of the samples are in no pair, more than the allowed"
            return f"{share} {100.0 * most:g} %: {pairs_text(pairs)}"
        if pairs.rows:
            return None
        if pairs.left_out:
            return f"no sample has a score in both runs{_group_clause(self.group)}: {pairs_text(pairs)}"
        return f"the two runs have no sample in common{_group_clause(self.group)}"

    def unchanged(self, pairs: Pairs) -> RegressionRecord:
        """The record of a line on answers that are the baseline's own."""
        value = value_of(self.kind, self._statistics(pairs.rows.after))
        why = "the same model gave the same answers: it has not changed"
        no_change = Drop(0.0, None, None, 0.0, None, None, "identity")
        names = pairs.rows.after.clusters(pairs.rows.before)
        return self._record("pass", pairs, no_change, (value, value), why, clusters=names)

    def decided(
        self,
        pairs: Pairs,
        noise: str = "",
        floor: NoiseMeasurement | None = None,
        excuse: NoiseMeasurement | None = None,
    ) -> RegressionRecord:
        """The verdict; a drop within the ``floor`` is said to be, and a regression within the ``excuse`` is none."""
        before, after = self._statistics(pairs.rows.before), self._statistics(pairs.rows.after)
        try:
            first = value_of(self.kind, before)
        except (UsageError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            # A baseline that was edited by hand may hold statistics that are not among this metric's.
            why = f"the baseline's statistics cannot be read as those of {self.kind.name} ({error})"
            return self.untested("not_comparable", why, pairs)
        names = pairs.rows.after.clusters(pairs.rows.before)
        level = self.terms.alpha / self.terms.lines
        drop = drop_of(self.kind, before, after, names, Question(self.margin, self.terms.alpha, level))
        values = (first, value_of(self.kind, after))
        if drop.p is not None and drop.p <= level:
            status: RegressionStatus = "regressed"
        elif drop.bound is not None and drop.bound < self.margin:
            status = "pass"
        else:
            status = "inconclusive"
        record = self._record(status, pairs, drop, values, "", self._moves(before, after), names)
        detail = sentence(record) + noise
        if status == "inconclusive" and (name := trimmed(self.kind.name, before) or trimmed(self.kind.name, after)):
            detail += f"{RUNAWAYS}{name}"
        if status != "pass" and is_within(record.drop, floor):
            assert floor is not None
            excused = status == "regressed" and is_within(record.drop, excuse)
            detail += f"; {floor_text(floor)}{', so that it is inconclusive' * excused}"
            status = "inconclusive" if excused else status
        return structs.replace(record, status=status, detail=detail)

    def looked(self, pairs: Pairs, p: float | None, bound: float | None, method: str) -> RegressionRecord:
        """The record of a line that looks decided, without the verdict."""
        before, after = self._statistics(pairs.rows.before), self._statistics(pairs.rows.after)
        values = value_of(self.kind, before), value_of(self.kind, after)
        value = (values[0] - values[1]) * (1.0 if self.kind.direction == "higher" else -1.0)
        drop = no_drop(value, "")._replace(p=p, bound=bound, method=method)
        names = pairs.rows.after.clusters(pairs.rows.before)
        return self._record("inconclusive", pairs, drop, values, "", self._moves(before, after), names)

    def _moves(self, before: Sequence[Statistics], after: Sequence[Statistics]) -> tuple[int, int]:
        """How many samples' own scores became worse, and better."""
        moves = Counter(moved(self.kind, *pair) for pair in zip(before, after, strict=True))
        return moves[1], moves[-1]

    def _statistics(self, rows: ComparableRows) -> list[Statistics]:
        # In a pair each has some.
        return cast(list[Statistics], rows.statistics(self.scorer, self.kind.name))

    def _record(
        self,
        status: RegressionStatus,
        pairs: Pairs | None,
        drop: Drop,
        values: tuple[float | None, float | None],
        why: str,
        moves: tuple[int, int] = (0, 0),
        clusters: Sequence[Hashable] | None = None,
    ) -> RegressionRecord:
        return RegressionRecord(
            status=status,
            metric=self.kind.name,
            scorer=self.scorer,
            group=self.group,
            unit=self.kind.unit,
            direction=self.kind.direction,
            baseline=finite(values[0]),
            value=finite(values[1]),
            drop=finite(drop.value),
            margin=self.margin,
            alpha=self.terms.alpha,
            lines=self.terms.lines,
            lower=finite(drop.lower),
            upper=finite(drop.upper),
            bound=finite(drop.bound),
            p=finite(drop.p),
            detectable=finite(drop.detectable),
            pairs=len(pairs.rows) if pairs else 0,
            clusters=len(set(clusters)) if clusters is not None else None,
            worse=moves[0],
            better=moves[1],
            p_better=drop.p_better,
            # What holds of a line alone; the run's other lines can only make it less.
            q_better=None if drop.p_better is None else min(1.0, drop.p_better * self.terms.lines),
            left_out=pairs.left_out if pairs else {},
            examples=pairs.examples if pairs else {},
            method=drop.method,
            detail=why,
        )


def mismatch(baseline: ComparableEval, here: ComparableEval, scorer: str) -> str | None:
    """Why two sides of one eval cannot be compared whatever their samples are."""
    for what, before, now in (
        ("the data set", baseline.dataset, here.dataset),
        ("the number of epochs", baseline.epochs, here.epochs),
    ):
        if before != now:
            return f"{what} is {before} in the baseline and {now} here"
    if scorer not in baseline.scorers:
        return f"the baseline has no scorer {scorer}: it has {', '.join(baseline.scorers)}"
    if encoders := other_encoders(baseline.scorers[scorer], here.scorers[scorer]):
        return f"the encoder of {scorer} is {encoders[0]} in the baseline and {encoders[1]} here, and {NEVER_COMPARED}"
    if baseline.scorers[scorer] != here.scorers[scorer]:
        return f"the scorer is {baseline.scorers[scorer]} in the baseline and {here.scorers[scorer]} here"
    if baseline.hashes.get("settings") != here.hashes.get("settings"):
        return "it is asked with other settings or in other stages than in the baseline (the hash of settings differs)"
    return None


def _rows_of_group(
    baseline: ComparableEval, here: ComparableEval, group: Mapping[str, str]
) -> tuple[ComparableEval, ComparableEval]:
    """Both sides' rows of ``group``; a class of failures is left out of both where either side shows it."""
    if not group:
        return baseline, here
    wanted = dict(group)
    without = wanted.pop(WITHOUT, None)
    sides = (baseline.columns, here.columns)
    failing = [rows.where(rows.of_kinds(lambda kind: without in kind.failures)).identities for rows in sides]
    excluded = np.concatenate(failing)
    first, second = (
        replace(side, rows=rows.where(rows.of_kinds(lambda kind: kind.is_in(wanted)) & ~np.isin(own, excluded)))
        for side, rows in zip((baseline, here), sides, strict=True)
        for own in [rows.identities]
    )
    return first, second


def _group_clause(group: Mapping[str, str]) -> str:
    return f" where {', '.join(f'{field} is {value}' for field, value in group.items())}" if group else ""
