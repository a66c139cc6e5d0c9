"""What a named scorer makes of a reference case: read, scored and estimated as a run does it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from pytest_audiobench.conformance.cases import Json, ReferenceCase
from pytest_audiobench.conformance.declarations import Declaration, Undeclared, filled
from pytest_audiobench.conformance.samples import SHAPES, AnsweredSample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.scoring import SHARES, ScoredSample, estimate_metric, scored_rows
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.io.strict_json import short_repr
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols import catalogue
from pytest_audiobench.protocols.protocol import Protocol, Scorer


class ScoredCase(NamedTuple):
    """The value of a case, and over how many answers."""

    value: Json
    answers: int


def score_case(case: ReferenceCase, declaration: Declaration, names: Mapping[str, str]) -> ScoredCase:
    """The case's value by its scorer. Raises UsageError for inputs that the scorer refuses, Undeclared without one."""
    if case.metric:
        path, options = (
            filled(declaration.scorer, names),
            {
                name: filled(value, names) if isinstance(value, str) else value
                for name, value in declaration.options.items()
            },
        )
    else:
        path, options = str(case.params["scorer"]), dict(case.params["options"])
    protocol = protocol_of(path, json.dumps(options, sort_keys=True))
    scorer = protocol.scorers[0]
    answered = list(SHAPES[declaration.inputs](case))
    answers = [_answers(one, scorer) for one in answered]
    rows = _Rows(scorer, scored_rows(protocol, answers, range(len(answers)))[scorer.name])
    if not case.metric:
        if case.params["metric"] not in (*scorer.metrics, *SHARES):
            raise Undeclared(f"{path} has no metric {short_repr(case.params['metric'])}")
        return ScoredCase(rows.value(str(case.params["metric"])), len(answers))
    if isinstance(declaration.value, str):
        return ScoredCase(rows.value(filled(declaration.value, names)), len(answers))
    value: dict[str, Json] = {}
    for name, wanted in declaration.value.items():
        if case.raises or _is_expected(name, case.expected):
            _put(value, name.split("."), rows.value(filled(wanted, names)))
    return ScoredCase(value, len(answers))


@lru_cache(maxsize=256)
def protocol_of(path: str, options: str) -> Protocol:
    """The protocol of ``FAMILY/SCORER`` with this scorer alone. Raises Undeclared for what the registry has not."""
    family, _, scorer = path.partition("/")
    try:
        catalogue.check_options(family, given := json.loads(options))
        protocol = catalogue.family(family, **given)
        if scorer not in protocol.available:
            raise Undeclared(f"no scorer is called {short_repr(path)}")
        return protocol.with_scorers(scorer)
    except UsageError as error:
        raise Undeclared(str(error)) from None


def _answers(answered: AnsweredSample, scorer: Scorer) -> SampleAnswers:
    selected = SelectedSample(answered.sample, 0, (), (), None)
    verdicts = {stage or scorer.judge: verdict for stage, verdict in answered.verdicts.items()}
    return SampleAnswers(selected, 0, answered.responses, {}, {}, None, verdicts)


def _is_expected(name: str, expected: Json) -> bool:
    for part in name.split("."):
        if not isinstance(expected, dict) or part not in expected:
            return False
        expected = expected[part]
    return True


def _put(value: dict[str, Json], path: Sequence[str], part: Json) -> None:
    for name in path[:-1]:
        value = value.setdefault(name, {})
    value[path[-1]] = part


_SCALED = re.compile(r"(?:(\d+) ([*-]) )?(?:(each|sum|ratio|share|mean|read|words)\b ?)?(.*)")


class _Rows:
    """A case's answers as its scorer saw them."""

    def __init__(self, scorer: Scorer, rows: Sequence[ScoredSample]) -> None:
        self._scorer, self._rows = scorer, rows
        self._statistics = [row.scores for row in rows if row.scores is not None]

    def value(self, wanted: str) -> Json:
        """What a declaration asks for (``declarations.Value``)."""
        match = _SCALED.fullmatch(wanted)
        assert match is not None
        number, sign, kind, rest = match.groups()
        value: Json = _KINDS[kind or ""](self, rest)
        if number is None:
            return value
        scaled: Callable[[float], float] = (lambda x: float(number) * x) if sign == "*" else lambda x: float(number) - x
        return [scaled(each) for each in value] if isinstance(value, list) else scaled(value)

    def estimate(self, metric: str) -> float:
        value = estimate_metric(metric, self._scorer, self._rows, False).value
        return math.nan if value is None else value

    def each(self, metric: str) -> list[float]:
        kind = metric_kind(metric)
        return [math.nan if row.scores is None else value_of(kind, [row.scores]) for row in self._rows]

    def sum(self, terms: str) -> float:
        """Of statistics over all answers; a number before one counts it as often."""
        total = 0.0
        for sign, factor, name in re.findall(r"([+-]?) ?(?:(\d+) )?(\w+)", terms):
            count = math.fsum(sample.get(name, 0.0) for sample in self._statistics)
            total += (-1.0 if sign == "-" else 1.0) * float(factor or 1) * count
        return total

    def ratio(self, terms: str) -> float:
        above, _, below = terms.partition(" / ")
        divisor = self.sum(below)
        return self.sum(above) / divisor if divisor else math.nan

    def share(self, terms: str) -> float:
        """The same, 0 where nothing was counted."""
        return self.ratio(terms) if self.sum(terms.partition(" / ")[2]) or not self._statistics else 0.0

    def mean(self, metrics: str) -> float:
        """Of the metrics that have a value."""
        values = [value for metric in metrics.split(" + ") if not math.isnan(value := self.estimate(metric))]
        return math.fsum(values) / len(values) if values else math.nan

    def read(self, _: str) -> str:
        (row,) = self._rows
        return row.answer.value or "" if row.answer is not None and row.answer.status == "parsed" else ""

    def words(self, _: str) -> str:
        (row,) = self._rows
        if self._scorer.words is None or row.answer is None:
            raise UsageError(f"the scorer {self._scorer.name} aligns no words")
        words = self._scorer.words(row.answers.selected.sample.reference, row.answer.value or "")[1]
        return words if isinstance(words, str) else " ".join(words)


_KINDS: Mapping[str, Callable[[_Rows, str], Json]] = {
    "": _Rows.estimate,
    "each": _Rows.each,
    "sum": _Rows.sum,
    "ratio": _Rows.ratio,
    "share": _Rows.share,
    "mean": _Rows.mean,
    "read": _Rows.read,
    "words": _Rows.words,
}
