"""The rows of the page's first table: those of the terminal, with what only samples tell of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.metric import SHARE, MetricKind
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.metrics.value import difference_text
from pytest_audiobench.records.run import ItemRecord, RunRecord
from pytest_audiobench.report import formatting
from pytest_audiobench.report.joined_samples import Joined
from pytest_audiobench.report.suite_rows import SuiteRow, SuiteRows
from pytest_audiobench.report.verdict import is_alarm

if TYPE_CHECKING:
    from pytest_audiobench.report.changed_answers import Flips, Owner
    from pytest_audiobench.report.changes import Change

GUESSED = frozenset({"accuracy", "balanced_accuracy"})
"""Metrics that come to 1/k where one of k options is guessed."""
_MOST_OPEN = 16
"""Rows up to which the evals of every suite stand below it; else as many that failed do, and the others are folded."""


@dataclass
class _Sums:
    """Of one eval's samples, as far as they are counted."""

    kind: MetricKind | None
    answers: int = 0
    guessed: float = 0.0
    has_options: bool = True
    pairs: int = 0
    before: tuple[float, float] = (0.0, 0.0)
    now: tuple[float, float] = (0.0, 0.0)


class ResultRows:
    """Makes the rows of a run, once all of its samples were watched."""

    def __init__(self, run: RunRecord, lines: Sequence[Change]) -> None:
        self._run, self._rows = run, SuiteRows(run)
        self._lines = {
            (line.eval, line.model, line.metric, line.scorer): line for line in reversed(lines) if not line.group
        }
        self._sums = {(item.eval, item.model): _Sums(_kind(item)) for item in run.items if item.metrics}
        self.flips: dict[Owner, Flips] = {}

    def watch(self, samples: Iterable[Joined]) -> Iterator[Joined]:
        """``samples`` as they are, each counted before it is passed on."""
        for sample in samples:
            first = sample.predictions[0]
            if sums := self._sums.get((first.eval, first.model)):
                _count(sums, sample)
            if sample.compared is not None:
                self._count_flip(sample)
            yield sample

    def rows(self) -> list[dict[str, Any]]:
        """A row for each number, as results.js draws it."""
        suites = [(self._rows.of_suite(key), places) for key, places in self._rows.members.items()]
        is_short = sum(len(rows) + len(places) for rows, places in suites) <= _MOST_OPEN
        found = []
        for rows, places in suites:
            found += [self._row(row, places) for row in rows]
            members = [self._rows.of_eval(place) for place in places] if len(places) > 1 else []
            # Those that failed come first, as far as there is room; the others are folded.
            members.sort(key=lambda own: not is_short and own[0].tone != "bad")
            for number, own in enumerate(members):
                is_folded = not is_short and (own[0].tone != "bad" or number >= _MOST_OPEN)
                found += [{**self._row(row), "member": True, "isFolded": is_folded} for row in own]
        return found

    def _row(self, row: SuiteRow, places: Sequence[int] = ()) -> dict[str, Any]:
        places = () if row.sign is None or row.under else places or row.evals
        alarms = sum(any(map(is_alarm, self._run.items[place].warnings)) for place in places)
        return {
            **{
                name: getattr(row, name)
                for name in ("name", "suite", "model", "sign", "metric", "of", "spread", "n", "under")
            },
            **{"parseRate": row.parse_rate, "eval": row.evals[0] if row.evals else -1, "alarms": alarms},
            "evals": len(places),
            "scorer": row.figure.scorer if row.figure else "",
            "figure": row.figure,
            "chance": self._chance(row),
            "before": self._before(row),
            "parsedBefore": self._parsed_before(row),
        }

    def _of(self, row: SuiteRow) -> list[_Sums]:
        items = [self._run.items[place] for place in row.evals]
        return [self._sums[key] for item in items if (key := (item.eval, item.model)) in self._sums]

    def _chance(self, row: SuiteRow) -> float | None:
        """What guessing comes to, in percent: over all samples, as what is pooled is."""
        every = self._of(row)
        if row.metric not in GUESSED or not every or not all(sums.has_options and sums.answers for sums in every):
            return None
        levels = {round(sums.guessed / sums.answers, 9) for sums in every}
        if len(levels) > 1 and (row.metric != "accuracy" or row.of):
            return None
        return round(100 * sum(sums.guessed for sums in every) / sum(sums.answers for sums in every), 2)

    def _before(self, row: SuiteRow) -> dict[str, Any] | None:
        """The baseline's value and the change from it: those of the regression line, else what the pairs come to."""
        item = self._run.items[row.evals[0]] if len(row.evals) == 1 else None
        if item and row.figure and (line := self._lines.get((item.eval, item.model, row.metric, row.figure.scorer))):
            about = f"{line.change} ({line.interval or 'no interval'}), {line.pairs} pairs"
            return {"value": line.before, "at": line.before_at, "change": line.change, "about": about}
        every = [sums for sums in self._of(row) if sums.pairs and sums.kind and sums.kind.name == row.metric]
        if row.figure is None or row.of not in ("", "clean") or not every:
            return None
        (before, before_of), (now, now_of) = (
            (sum(top for top, _ in parts), sum(whole for _, whole in parts))
            for parts in ([sums.before for sums in every], [sums.now for sums in every])
        )
        kind = every[0].kind
        if kind is None or before_of <= 0 or now_of <= 0:
            return None
        value, change = before / before_of, now / now_of - before / before_of
        pairs = f"on {sum(sums.pairs for sums in every)} pairs of {formatting.counted(len(every), 'eval')}; no test"
        return {
            "value": formatting.value_text(value, kind.unit),
            "at": formatting.axis_value(value, kind.unit),
            "change": difference_text(change, kind.unit),
            "about": pairs,
        }

    def _count_flip(self, sample: Joined) -> None:
        from pytest_audiobench.report.changed_answers import count_flip

        count_flip(self.flips, sample)

    def _parsed_before(self, row: SuiteRow) -> str:
        """The baseline's parse rate, where it is another on the pairs than now."""
        items = (self._run.items[place] for place in row.evals)
        every = [self.flips[key] for item in items if (key := (item.eval, item.model)) in self.flips]
        before = sum(flips.before["parsed"] for flips in every)
        if before == sum(flips.now["parsed"] for flips in every):
            return ""
        return formatting.value_text(before / sum(flips.pairs for flips in every), SHARE)


def _kind(item: ItemRecord) -> MetricKind | None:
    name = item.metrics[0].name
    return metric_kind(name) if is_known(name) else None


def _count(sums: _Sums, sample: Joined) -> None:
    first = sample.predictions[0]
    sums.answers += 1
    # Where several options are true, or the true one is none of them, guessing comes to something else.
    if first.reference in first.choices and not first.references:
        sums.guessed += 1 / len(first.choices)
    else:
        sums.has_options = False
    before = sample.compared.before.scores if sample.compared else None
    now = sample.scored[0].scores if sample.scored else None
    if before is None or now is None or sums.kind is None or sums.kind.parts is None:
        return
    try:
        (top, whole), (top_now, whole_now) = sums.kind.parts(before), sums.kind.parts(now)
    except (KeyError, ArithmeticError, ValueError, UsageError):
        return  # statistics come from files that anyone may have edited
    sums.before = sums.before[0] + top, sums.before[1] + whole
    sums.now = sums.now[0] + top_now, sums.now[1] + whole_now
    sums.pairs += 1
