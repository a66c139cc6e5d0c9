"""Looks at an eval's regression lines while it is asked, and what they show: it stops once each line is decided.

A look is at the samples of whole windows, in the order of their hashes from the first on. So what it shows follows from
the answers, and not from which came first. A line is decided where the drop is shown to be above its margin
("regressed") or below it ("passes"), each at the line's share of the level over all looks (``stats/looks.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from msgspec import structs

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval, comparable_rows
from pytest_audiobench.evaluation.comparable_samples import ComparableRows, in_columns
from pytest_audiobench.evaluation.scoring import ScoredSample
from pytest_audiobench.evaluation.selection import Selection
from pytest_audiobench.gate.pairing import PairedRows, Pairs
from pytest_audiobench.gate.regression import LineTest
from pytest_audiobench.gate.regression_text import amount
from pytest_audiobench.gate.thresholds import Line, Terms
from pytest_audiobench.metrics.metric import RANGES, MetricKind, span
from pytest_audiobench.records.run import ItemRecord, RegressionRecord, StopVerdict
from pytest_audiobench.stats import looks
from pytest_audiobench.stats.intervals import Floats

_LATE = "it was declared when the eval had been stopped early: declare it before evaluate, or in audiobench.toml"


class Looks:
    """The looks at one eval, which is compared with ``baseline``; ``here`` is the same eval before it is asked."""

    def __init__(
        self,
        baseline: ComparableEval,
        here: ComparableEval,
        lines: Sequence[Line],
        terms: Terms,
        most_errors: int,
        selection: Selection,
    ) -> None:
        """Raises UsageError, which says why, for a line that there are no looks for."""
        self._baseline, self._here = baseline, replace(here, limited=True)
        self._selection, self._most_errors = selection, most_errors
        self._record = ItemRecord(
            index=0, nodeid="", eval="", suite="", model="", cluster=here.cluster, groups=selection.groups
        )
        clustered = selection.clustered or baseline.columns.clusters() is not None
        tests = {line: LineTest.of(here, line, terms) for line in lines}
        self._lines = {line: _LineLooks(test, clustered, baseline.columns) for line, test in tests.items()}
        self.asked = self._errors = 0

    def look(self, rows: Mapping[str, Sequence[ScoredSample]]) -> StopVerdict | None:
        """The verdict with these further ``rows``, by scorer; None while a line is not decided."""
        new = in_columns(comparable_rows(self._record, rows))
        self.asked += len(new)
        self._errors += sum("error" in row.statuses.values() for row in new)
        places = new.places_in(self._baseline.columns)
        before = self._baseline.columns.at(places[places >= 0])
        sides = replace(self._baseline, rows=before), replace(self._here, rows=new)
        seen = self.asked / len(self._selection.samples)
        for line in self._lines.values():
            line.look(line.test.pairs(*sides), seen)
        verdicts = {line.verdict for line in self._lines.values()}
        # An eval whose asking fails is to be compared with nothing.
        if not verdicts or None in verdicts or self._errors > self._most_errors:
            return None
        return "regressed" if "regressed" in verdicts else "passes"

    def record(self, line: Line, terms: Terms, here: ComparableEval) -> RegressionRecord:
        """The record of ``line`` of the stopped eval ``here``: inconclusive where its share is less than at the looks.

        Raises UsageError for a metric or scorer that was not used here.
        """
        if line not in self._lines:
            return LineTest.of(here, line, terms).untested("not_comparable", _LATE)
        return self._lines[line].record(terms, f"{self.asked:,} of {self._selection.size:,} samples")


@dataclass
class _LineLooks:
    """The looks at one line, and what they showed."""

    test: LineTest
    clustered: bool
    baseline: ComparableRows
    verdict: StopVerdict | None = None
    _rows: list[PairedRows] = field(default_factory=list)
    _clusters: list[Hashable] = field(default_factory=list)
    _left_out: Counter[str] = field(default_factory=Counter)
    _examples: dict[str, Sequence[str]] = field(default_factory=dict)
    _parts: list[tuple[Floats, Floats]] = field(default_factory=list)
    _p: float = 1.0
    _bound: float | None = None
    _count: int = 0

    def __post_init__(self) -> None:
        kind = self.test.kind
        if kind.parts is None:
            raise UsageError(f"{kind.name} is neither a mean nor a ratio of sums, and there are no looks at it")
        self._share = self.test.terms.alpha / self.test.terms.lines
        # Chosen before the first look, by what is known then.
        self._bets = not self.clustered and _is_bounded(kind, self._of(self.baseline))

    def _of(self, rows: ComparableRows) -> Floats:
        """Numerators and denominators. Raises UsageError for statistics that are not among the metric's."""
        kind = self.test.kind
        assert kind.parts is not None
        found = rows.statistics(self.test.scorer, kind.name)
        try:
            return np.array([kind.parts(each) for each in found if each is not None], dtype=np.float64).reshape(-1, 2)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise UsageError(f"statistics cannot be read as those of {kind.name} ({error})") from None

    def look(self, pairs: Pairs, seen: float) -> None:
        self._count += 1
        self._rows.append(pairs.rows)
        self._left_out.update(pairs.left_out)
        for reason, ids in pairs.examples.items():
            self._examples.setdefault(reason, ids)
        self._parts.append((self._of(pairs.rows.before), self._of(pairs.rows.after)))
        for before, after in pairs.rows:
            name = after.cluster or before.cluster
            self._clusters.append(("cluster", name) if name else after.sample_id)
        if self.verdict is not None or self.test.unpaired(self._pairs) is not None:
            return
        whole = [np.concatenate(parts) for parts in zip(*self._parts, strict=True)]
        shown = self._shown(whole[0], whole[1], seen)
        if shown.p is not None and shown.p <= self._share:
            self.verdict, self._p = "regressed", shown.p
        elif shown.bound is not None and shown.bound < self.test.margin:
            self.verdict = "passes"
        self._bound = shown.bound

    def _shown(self, before: Floats, after: Floats, seen: float) -> looks.Shown:
        kind, margin = self.test.kind, self.test.margin
        higher, most = kind.direction == "higher", span(kind.unit)
        if not self._bets:
            clusters = self._clusters if len(set(self._clusters)) < len(self._clusters) else None
            return looks.by_test(before, after, clusters, margin, self._share, seen, higher, most)
        if not _is_bounded(kind, before) or not _is_bounded(kind, after):
            return looks.Shown()
        drops = (before[:, 0] - after[:, 0]) * (1.0 if higher else -1.0)
        return looks.by_bets(drops, margin, self._share, most)

    @property
    def _pairs(self) -> Pairs:
        parts = [(rows.before, rows.after) for rows in self._rows]
        return Pairs(PairedRows(*parts), self._left_out, self._examples)

    def record(self, terms: Terms, asked: str) -> RegressionRecord:
        is_worse, test = self.verdict == "regressed", replace(self.test, terms=terms)
        how = "capital process" if self._bets else "tests at the looks' levels"
        method = f"stopped early after {asked}: {how}, {self._count} looks"
        record = test.looked(self._pairs, self._p if is_worse else None, self._bound, method)
        level = f"{terms.alpha:g} / {terms.lines}" if terms.lines > 1 else f"{terms.alpha:g}"
        if (self._p if is_worse else self._share) > terms.alpha / terms.lines:
            # Its test made more evaluations than were counted for it.
            why = f"decided at a larger share of the level than {level}, after {asked}"
            return structs.replace(record, status="inconclusive", detail=why)
        loss, margin = record.drop or 0.0, amount(record, test.margin)
        shown = f"a drop of {'more than' if is_worse else 'less than'} {margin} is shown at {level} over all looks"
        detail = f"{amount(record, abs(loss))} {'worse' if loss >= 0.0 else 'better'} after {asked}: {shown}"
        return structs.replace(record, status="regressed" if is_worse else "pass", detail=detail)


def _is_bounded(kind: MetricKind, parts: Floats) -> bool:
    """Whether these are a mean's, of scores between two ends."""
    least, most = RANGES.get(kind.unit, (-np.inf, np.inf))
    inside = np.isfinite(most - least) and ((parts[:, 0] >= least) & (parts[:, 0] <= most)).all()
    return bool(inside and (parts[:, 1] == 1.0).all())
