"""What a file of recorded answers says about itself, compared with what scorers make of the same answers.

A file's figure is what its tool printed of the whole eval or, where it printed none, the mean of what it says of each
answer. A scorer gives it where both are the same number, or where its number rounds to the digits that are printed; of
several, the one that agrees about every answer comes first, then the tool's own rule, then the order of scorers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_audiobench.evaluation.scoring import ScoredSample
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.rescoring.recorded_answers import RecordedRow

_OF_ROWS: Mapping[str, str] = MappingProxyType(
    {
        "accuracy": "accuracy",
        "is_correct": "accuracy",
        "wer": "wer_mean",
        "cer": "cer_mean",
        "judge_score": "judge_score",
    }
)
"""The metric that is the mean of what a row may say of its answer."""
_CLOSEST = 5
_NOISE = 1e-9
"""By how much a sum of the same numbers in another order may be another one, in relation to it."""
_COARSEST_DIGIT = 0.01
"""The coarsest digit that is taken for a rounded one: 0.5 is not a figure that 0.54 would be printed as."""


class _Candidate(NamedTuple):
    scorer: str
    value: float
    other_rows: int
    """How many answers it scores otherwise than the file; 0 where the file says nothing of single ones."""


class OwnFigures:
    """The figures of one eval's file, gathered from its rows as they come."""

    def __init__(self, first: RecordedRow) -> None:
        self._rule = first.scorer
        figures = {name: _number(value) for name, value in first.figures.items() if value is not None}
        self._printed = {name: value for name, value in figures.items() if math.isfinite(value)}
        self._no_numbers = [name for name in figures if name not in self._printed]
        self._of_rows: dict[str, list[float]] = {}
        self._rows = 0
        self._other_rows: dict[str, int] = {}

    def add(self, rows: Sequence[RecordedRow], scored: Mapping[str, Sequence[ScoredSample]]) -> None:
        """Take in what rows say of their answers, and how each scorer scored them.

        A row whose asking failed says nothing that a scorer could give.
        """
        for place, row in enumerate(rows):
            if row.error is not None:
                continue
            self._rows += 1
            scores = row.stored.get("scores")
            own = {**(scores if isinstance(scores, Mapping) else {}), **row.stored}
            values = {metric: _number(own[name]) for name, metric in _OF_ROWS.items() if own.get(name) is not None}
            for metric, value in values.items():
                self._of_rows.setdefault(metric, []).extend([value] if math.isfinite(value) else [])
            if "accuracy" in values:
                for scorer, samples in scored.items():
                    statistics = samples[place].scores
                    same = statistics is not None and statistics.get("correct") == values["accuracy"]
                    self._other_rows[scorer] = self._other_rows.get(scorer, 0) + (not same)

    def findings(self, record: ItemRecord) -> Iterator[str]:
        """Sentences of which scorer of ``record`` gives each figure, or how far off the closest are."""
        means = {
            metric: math.fsum(values) / self._rows
            for metric, values in self._of_rows.items()
            if len(values) == self._rows
        }
        given: dict[str, list[str]] = {}
        missed: list[str] = []
        for metric, figure in (self._printed or means).items():
            candidates = self._candidates(record, metric)
            if not candidates:
                missed.append(f"{metric} {figure!r} was not checked: no scorer that was used gives it")
                continue
            if equal := _equal(candidates, figure):
                given.setdefault(self._verdict(equal, figure, len(candidates)), []).append(f"{metric} {figure!r}")
            else:
                missed += _misses(candidates, metric, figure)
        whose = "the file's own" if self._printed or self._no_numbers else "its rows' own mean"
        of_file = f"{record.eval} · {record.model}: {whose}"
        yield from (f"{of_file} {', '.join(figures)}: {verdict}" for verdict, figures in given.items())
        yield from (line if line.startswith("`") else f"{of_file} {line}" for line in missed)
        for name in self._no_numbers:
            yield f"{of_file} {name} is not a number, and was not checked"
        for metric, values in ({} if self._printed else self._of_rows).items():
            if len(values) < self._rows:
                without = self._rows - len(values)
                yield f"{of_file} {metric} was not checked: {without:,} of {self._rows:,} rows have no number there"

    def _candidates(self, record: ItemRecord, metric: str) -> list[_Candidate]:
        each = (row for row in record.metrics if row.name == metric and not row.group)
        return [
            _Candidate(row.scorer, row.value, self._other_rows.get(row.scorer, 0) if metric == "accuracy" else 0)
            for row in each
            if row.scorer is not None and row.value is not None
        ]

    def _verdict(self, equal: Sequence[_Candidate], figure: float, tried: int) -> str:
        first = min(equal, key=lambda candidate: (candidate.other_rows, candidate.scorer != self._rule))
        said = f"equal by `{first.scorer}`"
        if not _is_same(first.value, figure):
            said += ", to its last digit"
        if first.other_rows:
            said += f", though {first.other_rows} of its rows differ"
        elif self._other_rows:
            said += ", and so is every row"
        return f"{said} ({len(equal)} of {tried} scorers give it)"


def _equal(candidates: Sequence[_Candidate], figure: float) -> list[_Candidate]:
    """Those that give the figure; those that only round to it, where none does."""
    exact = [candidate for candidate in candidates if _is_same(candidate.value, figure)]
    reach = _half_a_digit(figure)
    return exact or [candidate for candidate in candidates if abs(candidate.value - figure) <= reach]


def _misses(candidates: Sequence[_Candidate], metric: str, figure: float) -> Iterator[str]:
    yield f"{metric} {figure!r} comes out by none of {len(candidates)} scorers; the closest:"
    for candidate in sorted(candidates, key=lambda candidate: abs(candidate.value - figure))[:_CLOSEST]:
        yield f"`{candidate.scorer}` gives {candidate.value:.6g}, off by {candidate.value - figure:+.3g}"


def _is_same(value: float, figure: float) -> bool:
    return math.isclose(value, figure, rel_tol=_NOISE, abs_tol=_NOISE)


def _half_a_digit(figure: float) -> float:
    """Half of the last digit that the shortest decimal of ``figure`` has; 0 where it is no sign of rounding."""
    written = repr(figure)
    digit = 10.0 ** -len(written.partition(".")[2])
    return digit / 2.0 + _NOISE if digit <= _COARSEST_DIGIT and "e" not in written else 0.0


def _number(value: Any) -> float:
    """NaN for what is no number; a table's cells are texts."""
    try:
        return float(value) if isinstance(value, (int, float, str)) else math.nan
    except (ValueError, OverflowError):
        return math.nan
