"""What a test must answer for when its body has returned: thresholds, the baseline, and what it declared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.evaluation.evaluate import EvalSpec, Evaluation
from pytest_audiobench.evaluation.lazy_model import ModelHandle
from pytest_audiobench.evaluation.record import ItemRecord, MetricRecord, VerdictRecord
from pytest_audiobench.evaluation.result import Result
from pytest_audiobench.evaluation.scoring import SHARES
from pytest_audiobench.evaluation.selection import Selection
from pytest_audiobench.gate.regression_text import line_text
from pytest_audiobench.gate.thresholds import Line, Threshold
from pytest_audiobench.plugin.declarative import DECLARED_LINES
from pytest_audiobench.plugin.regression_gate import Held
from pytest_audiobench.plugin.session import EvalSession
from pytest_audiobench.plugin.threshold_checks import asking_failed, verdicts_on
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.report.formatting import printable
from pytest_audiobench.report.item_lines import compared_lines


class InconclusiveWarning(pytest.PytestWarning):
    """An eval neither regressed nor is known not to have: it has too few samples to tell."""


class Violation(NamedTuple):
    """What is wrong with an eval; ``instrument`` where nothing is known to be, but it cannot be compared."""

    text: str
    instrument: bool = False


class Requirements:
    """What is declared for one test, in files and in its code (``required``), and what it ``recorded`` itself."""

    def __init__(self, session: EvalSession, item: pytest.Item, eval_: str, handle: ModelHandle) -> None:
        self._session, self._item, self._eval, self._handle = session, item, eval_, handle
        self.recorded: list[MetricRecord] = []
        self.required: list[Threshold | Line] = []
        self._against: Held | None = None
        if session.gate is not None:
            lines = getattr(getattr(item, "function", None), DECLARED_LINES, 0)
            self._against = Held(session.gate, eval_, handle, session.bench.store, lines)

    def ahead(self, eval_: str, control: bool) -> Callable[[Selection, Protocol], None]:
        """What an evaluation is checked for before its first request."""
        if self._against is None:
            return lambda slice_, protocol: None
        return self._against.ahead(eval_, control, self._session.bench.epochs, self._own_lines)

    def refusal(self, item: EvalSpec, dataset: Dataset, protocol: Protocol) -> ItemRecord:
        """The record of an evaluation that was refused by that check."""
        record = ItemRecord.without_result(
            index=item.index, nodeid=item.nodeid, eval=item.eval, suite=item.suite, model=self._handle.alias
        )
        record.dataset, record.protocol = dataset.name, protocol.name
        record.part, record.control = item.part, item.control
        record.regressions = self._against.refused[item.eval] if self._against else []
        return record

    def settle(
        self, evaluations: Sequence[Evaluation], refused: Sequence[ItemRecord]
    ) -> tuple[list[Violation], list[str]]:
        """Put every verdict on record. Returns what is wrong by the numbers, and what else is, which no table shows."""
        taken = self._taken_names(evaluations)
        evaluations[0].result.record.metrics.extend(self.recorded)
        wrong: list[Violation] = []
        judged: set[Threshold] = set()
        results = [evaluation.result for evaluation in evaluations]
        failed = [asking_failed(result, self._session.options.max_errors) for result in results]
        for result, why in zip(results, failed, strict=True):
            verdicts = verdicts_on(result, self._declared(result, judged), self.recorded, why)
            result.record.verdicts = [VerdictRecord(*verdict) for verdict in verdicts]
            bad = [verdict for verdict in verdicts if verdict.status != "pass"]
            wrong += [Violation(f"{v.threshold}: {v.detail}", v.status == "not_comparable") for v in bad]
        regressed, mistaken = self._regressions(evaluations, failed)
        wrong += regressed
        records = [*(one.result.record for one in evaluations), *refused]
        beyond = [*taken, *mistaken, *self._unmet_names(records), *self._controls_only(records)]
        return wrong, beyond

    def _regressions(
        self, evaluations: Sequence[Evaluation], failed: Sequence[str]
    ) -> tuple[list[Violation], list[str]]:
        """What is wrong with the evaluations, held against the baseline, and with the lines; noted without one."""
        if self._against is None:
            notes = [f"not checked: {line.text}, for there is no --ab-baseline" for line in self._own_lines]
            evaluations[0].result.record.warnings += notes
            return [], []
        wrong = []
        found, mistaken = self._against.verdicts(evaluations, self._own_lines, failed)
        for evaluation, regressions in zip(evaluations, found, strict=True):
            record = evaluation.result.record
            record.regressions = regressions
            record.warnings += filter(None, [self._against.note(evaluation, self._own_lines)])
            for one in regressions:
                line = line_text(one, record.scorers[0].name)
                if self._against.wrong(one) or (one.status == "inconclusive" and not self._warned(record.eval, line)):
                    wrong.append(Violation(f"{line}: {one.detail}", one.status == "not_comparable"))
        return wrong, mistaken

    def _warned(self, eval_: str, line: str) -> bool:
        """Warn of what is inconclusive, where that is asked for; whether it is no more than a warning.

        Why it is stands in the run's summary, which pytest prints beneath its warnings.
        """
        if self._session.options.inconclusive == "warn":
            try:
                self._item.warn(InconclusiveWarning(printable(f"{eval_}: {line}: inconclusive against the baseline")))
            except InconclusiveWarning:
                # Who turns warnings into errors (-W error) wants a failure.
                return False
        return True

    def _taken_names(self, evaluations: Sequence[Evaluation]) -> list[str]:
        """Numbers that the test recorded under the name of one that was measured."""
        measured = {metric.name for one in evaluations for metric in one.result.record.metrics} | set(SHARES)
        taken = [metric for metric in self.recorded if metric.name in measured]
        self.recorded = [metric for metric in self.recorded if metric.name not in measured]
        return [f"{metric.name} is measured by the eval: record {metric.value} under another name" for metric in taken]

    def _unmet_names(self, records: Sequence[ItemRecord]) -> list[str]:
        """Rules for an evaluation ``test:name`` that the test did not make."""
        made = [record.eval for record in records]
        rules = self._session.rules.for_test(self._eval, self._handle.alias)
        return [
            f"{rule.place}: {self._eval} made no evaluation that matches {rule.eval!r}; it made {', '.join(made)}"
            for rule in rules
            if not any(rule.covers(one, self._handle.alias) for one in made)
        ]

    def _controls_only(self, records: Sequence[ItemRecord]) -> list[str]:
        """What was declared for controls alone, which no threshold holds but by name, and no regression line at all."""
        rules = self._session.rules.for_test(self._eval, self._handle.alias)
        held_by_none = []
        for rule in rules:
            covered = [record.control for record in records if rule.covers(record.eval, self._handle.alias)]
            if ":" in rule.eval and covered and all(covered):
                why = f"holds nothing: {rule.eval} names a control, which no baseline keeps"
                held_by_none += [f"{rule.place}: {text} {why}" for text in rule.about_drops]
        if not all(record.control for record in records):
            return held_by_none
        plain = [rule for rule in rules if ":" not in rule.eval]
        declared = [one.text for rule in plain for one in rule.require]
        declared += [one.text for rule in plain for one in rule.drops]
        return held_by_none + [
            f"{text} holds nothing: {self._eval} made controls only; make one evaluation without control=True"
            for text in [*declared, *(one.text for one in self.required)]
        ]

    def compared(self, evaluation: Evaluation) -> Iterator[Mapping[str, Any]] | None:
        """The lines of what the baseline holds of each sample in a pair; None without a baseline."""
        if self._against is None:
            return None
        return compared_lines(evaluation.result.record, self._against.pairs(evaluation))

    def _declared(self, result: Result, judged: set[Threshold]) -> list[Threshold]:
        """``judged`` are the thresholds on numbers of the test's own that an earlier result was held to."""
        rules = self._session.rules.for_eval(result.record.eval, self._handle.alias)
        if result.record.control:
            rules = [rule for rule in rules if ":" in rule.eval]
        own = [] if result.record.control else [one for one in self.required if isinstance(one, Threshold)]
        declared = [*(threshold for rule in rules for threshold in rule.require), *own]
        recorded = {metric.name for metric in self.recorded}
        declared = [one for one in declared if one.metric not in recorded or one not in judged]
        judged.update(one for one in declared if one.metric in recorded)
        return declared

    @property
    def _own_lines(self) -> list[Line]:
        return [one for one in self.required if isinstance(one, Line)]
