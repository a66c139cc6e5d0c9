"""The requirements of one test, checked when its body has returned: thresholds, the baseline, what it declared."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.evaluate import EvalSpec, Evaluation, Look, failed_verdicts
from pytest_audiobench.evaluation.model_handle import ModelHandle, stored_noise
from pytest_audiobench.evaluation.perturbation_series import LIFT, NEEDS, ORDER, how_to_ask, without_perturbation
from pytest_audiobench.evaluation.result import Result, as_metric
from pytest_audiobench.evaluation.scoring import SHARES
from pytest_audiobench.evaluation.selection import Selection
from pytest_audiobench.gate.regression_text import line_text
from pytest_audiobench.gate.thresholds import Line, MetricLookup, Threshold, Verdict, check_threshold, parse_threshold
from pytest_audiobench.metrics.definitions.human_labels import KAPPA
from pytest_audiobench.metrics.value import Metric, value_text
from pytest_audiobench.plugin.eval_items import DECLARED, PERTURBATION, DeclaredEval
from pytest_audiobench.plugin.options import perturbations_of
from pytest_audiobench.plugin.session import EvalSession
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.records.lines import ComparedRow
from pytest_audiobench.records.run import ItemRecord, MetricRecord, VerdictRecord
from pytest_audiobench.report.formatting import printable
from pytest_audiobench.report.item_lines import compared_lines

if TYPE_CHECKING:
    from pytest_audiobench.gate.config import Rule
    from pytest_audiobench.plugin.regression_gate import BaselineComparison


class InconclusiveWarning(pytest.PytestWarning):
    """An eval neither regressed nor is known not to have: it has too few samples to tell."""


class Violation(NamedTuple):
    """A requirement that an eval does not meet."""

    text: str
    infrastructure: bool = False
    """Whether it says nothing of the model: the eval could not be compared."""


class Requirements:
    """What is declared for one test."""

    def __init__(self, session: EvalSession, item: pytest.Item, eval_: str, handle: ModelHandle) -> None:
        self._session, self._item, self._eval, self._handle = session, item, eval_, handle
        self.recorded: list[MetricRecord] = []
        """The numbers that the test recorded itself."""
        self.required: list[Threshold | Line] = []
        """What its code declares, in addition to the files."""
        self.drawn = False
        """Whether its evaluations are draws: controls that thresholds apply to all the same."""
        self.perturbed = False
        """Whether its evaluations are controls by ``--ab-perturbations``: what is required is of the eval as it is."""
        self.figures: dict[str, list[MetricRecord]] = {}
        """What was measured of an eval compared with its perturbations, by its name."""
        self._beside = perturbations_of(session.config, item)
        """The perturbations and groups that the eval is asked under too."""
        self._baseline: BaselineComparison | None = None
        if session.gate is not None:
            from pytest_audiobench.plugin.regression_gate import BaselineComparison

            lines = item.stash.get(DECLARED, DeclaredEval()).lines
            self._baseline = BaselineComparison(session.gate, eval_, handle, session.bench.store, lines)

    def precheck(self, eval_: str, control: bool) -> Callable[[Selection, Protocol], None]:
        """The check of an evaluation before its first request."""
        compared = None
        if self._baseline is not None:
            compared = self._baseline.precheck(eval_, control, self._session.bench.epochs, self._lines_in_code)

        def check(slice_: Selection, protocol: Protocol) -> None:
            if slice_.dataset.withheld:
                self._check_measured(eval_, control)
            self._check_asked(eval_, control)
            check_shown(slice_, protocol)
            if compared is not None:
                compared(slice_, protocol)

        return check

    def looker(self, eval_: str, control: bool, whole: str) -> Callable[[Selection, Protocol], Look | None]:
        """What makes the looks at an evaluation, by which it may be stopped early; ``whole`` says why it may not be."""
        if self._baseline is None or control or not self._session.options.early_stop:
            return lambda selection, protocol: None
        whole = whole or ("it is compared with itself asked otherwise" if self._beside else "")
        fails_only = bool(self._thresholds(eval_, control, set()))
        return self._baseline.looker(eval_, self._lines_in_code, whole, fails_only)

    def _check_measured(self, eval_: str, control: bool) -> None:
        """Raises UsageError for a requirement on what is not measured of an eval whose references are withheld."""
        rules = self._session.rules.for_eval(eval_, self._handle.alias)
        lines = [line for rule in rules for line in rule.drops] + self._lines_in_code
        wanted = [(each.text, each.metric) for each in self._thresholds(eval_, control, set())]
        wanted += [(line.text, line.metric or SHARES[0]) for line in lines]
        if strange := [text for text, metric in wanted if metric not in SHARES]:
            raise UsageError(
                f"{', '.join(strange)} cannot be required of {eval_}, and nothing was asked: its publisher withholds "
                f"the answers, so that nothing is right or wrong; require {SHARES[0]} of it"
            )

    def _check_asked(self, eval_: str, control: bool) -> None:
        """Raises UsageError for a requirement on what is only measured of an eval that is asked otherwise too."""
        is_own = DECLARED not in self._item.stash  # whose code may record a lift of its own
        for each in self._thresholds(eval_, control, set()) if ":" not in eval_ else ():
            if each.metric in NEEDS and not self.needed(each.metric) and not (is_own and each.metric == LIFT):
                raise UsageError(f"{each.text} of {eval_} {how_to_ask(each.metric)}; nothing was asked")

    def needed(self, metric: str) -> tuple[str, ...]:
        """The perturbations that are asked in addition to the eval and that ``metric`` is measured of."""
        if not self._beside:
            return ()
        from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations

        asked, group = dict.fromkeys(named_perturbations(*self._beside)), named_perturbations(NEEDS[metric])
        # Of a group, such as the orders, further ones may be named one by one.
        families = {each.family for each in group} if len(group) > 1 else set()
        return tuple(str(each) for each in asked if each in group or each.family in families)

    def wanted_figures(self, eval_: str) -> list[str]:
        """The metrics of an eval compared with its perturbations that are required of it, and can be measured."""
        named = dict.fromkeys(each.metric for each in self._thresholds(eval_, False, set()))
        recorded = {metric.name for metric in self.recorded}
        return [name for name in named if name in NEEDS and name not in recorded and self.needed(name)]

    def refusal(self, item: EvalSpec, dataset: Dataset, protocol: Protocol) -> ItemRecord:
        """The record of an evaluation that measured nothing: refused by that check, or skipped."""
        return ItemRecord(
            index=item.index,
            nodeid=item.nodeid,
            eval=item.eval,
            suite=item.suite,
            model=self._handle.alias,
            dataset=dataset.name,
            protocol=protocol.name,
            part=item.part,
            control=item.control,
            regressions=self._baseline.refused.get(item.eval, []) if self._baseline else [],
        )

    def settle(
        self, evaluations: Sequence[Evaluation], refused: Sequence[ItemRecord]
    ) -> tuple[list[Violation], list[str]]:
        """Put every verdict on record. Returns what is wrong by the numbers, and what else is, which no table shows."""
        duplicates = self._duplicate_names(evaluations)
        first = evaluations[0].result
        first.amend(metrics=[*first.record.metrics, *self.recorded])
        for evaluation in evaluations:
            record = evaluation.result.record
            evaluation.result.amend(metrics=[*record.metrics, *self.figures.get(record.eval, ())])
        violations: list[Violation] = []
        checked: set[Threshold] = set()
        results = [evaluation.result for evaluation in evaluations]
        failures = [asking_failure(result, self._session.options.max_errors) for result in results]
        for evaluation, result, failure in zip(evaluations, results, failures, strict=True):
            declared = self._thresholds(result.record.eval, result.record.control, checked)
            declared += self._bounds_of_agreement(result.record)
            declared = declared if self._session.shard is None else []
            stopped = result.record.stop_text if declared and not failure else ""
            failure = f"the eval was {stopped}, and a threshold is of all its samples" if stopped else failure
            verdicts = verdicts_on(result, declared, self.recorded, failure)
            result.amend(verdicts=[VerdictRecord(*verdict) for verdict in verdicts])
            if declared and not failure:
                from pytest_audiobench.gate.noise_floor import nearness

                noise = stored_noise(self._session.bench.store, self._handle)
                for pair in zip(declared, verdicts, strict=True):
                    if warning := nearness(*pair, result.record.dataset, noise):
                        result.warn(warning)
            violations += [
                Violation(f"{verdict.threshold}: {verdict.detail}", self._of_instrument(evaluation, verdict.status))
                for verdict in verdicts
                if verdict.status != "pass"
            ]
        if self._session.shard is not None:
            return violations, []
        violations += [
            Violation(f"{threshold.text}: {record.eval} was skipped: {record.message}")
            for record in refused
            if record.outcome == "skipped" and not record.control
            for threshold in self._thresholds(record.eval, record.control, set())
        ]
        regressions, mistakes = self._regressions(evaluations, failures)
        mistakes += self._outdated(results)
        records = [*(result.record for result in results), *refused]
        mistakes += [*self._unmatched_rules(records), *self._rules_for_controls(results[0], records)]
        return [*violations, *regressions], [*duplicates, *mistakes]

    def _outdated(self, results: Sequence[Result]) -> list[str]:
        """What is required, by code that could not be seen to, of answers that say nothing of the model of now."""
        reuse, texts = self._session.reuse, [requirement.text for requirement in self.required]
        days = [result.record.asking.oldest for result in results if result.record.asking.oldest]
        if not texts or not days or reuse.fresh or self._session.options.reuse or not self._handle.is_mere_name:
            return []
        return [
            f"{', '.join(texts)} cannot be checked on answers from {min(days)} on, since other weights may be behind "
            f"the name of {self._handle.alias} by now: ask again with --ab-refresh, or count them with --ab-reuse"
        ]

    def broken(self, results: Sequence[Result]) -> Iterator[str]:
        """What was measured where ``results`` do not meet a declared threshold, and the bound; records nothing."""
        for result in results:
            for threshold in self._thresholds(result.record.eval, result.record.control, set()):
                verdict = check_threshold(threshold, _finder(result, self.recorded), result.keys())
                if verdict.status != "pass":
                    measured = f"is {value_text(verdict.value)}, the bound is {value_text(threshold.limit)}"
                    yield verdict.detail if verdict.value is None else f"{threshold.subject} {measured}"

    def _regressions(
        self, evaluations: Sequence[Evaluation], failures: Sequence[str]
    ) -> tuple[list[Violation], list[str]]:
        """What is wrong with the evaluations, compared with the baseline, and with the lines; noted without one."""
        if self._baseline is None:
            for declared in self._lines_in_code:
                evaluations[0].result.warn(f"not checked: {declared.text}, for there is no --ab-baseline or --ab-gate")
            return [], []
        violations = []
        verdicts, mistakes = self._baseline.verdicts(evaluations, self._lines_in_code, failures)
        for evaluation, regressions in zip(evaluations, verdicts, strict=True):
            record = evaluation.result.record
            warnings = [*record.warnings, *self._baseline.notes(evaluation, self._lines_in_code)]
            evaluation.result.amend(regressions=regressions, warnings=warnings)
            for regression in regressions:
                line = line_text(regression, record.scorers[0].name)
                # Of all that the baseline does not know the run's summary speaks once.
                inconclusive = regression.status == "inconclusive" and not regression.is_unknown
                if self._baseline.fails(regression) or (inconclusive and not self._warned(record.eval, line)):
                    of_instrument = self._of_instrument(evaluation, regression.status)
                    violations.append(Violation(f"{line}: {regression.detail}", of_instrument))
        return violations, mistakes

    def _of_instrument(self, evaluation: Evaluation, status: str) -> bool:
        """Whether a status says nothing of the model, and may be another when what failed is asked again."""
        fails_again = evaluation.lasting > self._session.options.max_errors or evaluation.result.record.stopped
        return status in ("not_comparable", "incomplete") and not fails_again

    def _warned(self, eval_: str, line: str) -> bool:
        """Warn of what is inconclusive, if that is asked for; whether that is no more than a warning."""
        if self._session.options.inconclusive == "warn":
            try:
                self._item.warn(InconclusiveWarning(printable(f"{eval_}: {line}: inconclusive against the baseline")))
            except InconclusiveWarning:
                # Who turns warnings into errors (-W error) wants a failure.
                return False
        return True

    def _duplicate_names(self, evaluations: Sequence[Evaluation]) -> list[str]:
        records = [evaluation.result.record for evaluation in evaluations]
        measured = {metric.name for record in records for metric in record.metrics} | set(SHARES)
        duplicates = [metric for metric in self.recorded if metric.name in measured]
        self.recorded = [metric for metric in self.recorded if metric.name not in measured]
        why = "is measured by the eval: record"
        return [f"{metric.name} {why} {metric.value} under another name" for metric in duplicates]

    def _unmatched_rules(self, records: Sequence[ItemRecord]) -> list[str]:
        evals = [record.eval for record in records]
        return [
            f"{rule.place}: {self._eval} made no evaluation that matches {rule.eval!r}; it made {', '.join(evals)}"
            for rule in self._session.rules.for_test(self._eval, self._handle.alias)
            if not any(rule.covers(eval_, self._handle.alias) for eval_ in evals)
        ]

    def _rules_for_controls(self, first: Result, records: Sequence[ItemRecord]) -> list[str]:
        """What was declared for controls alone: thresholds cover them by name only, regression lines not at all."""
        rules = self._session.rules.for_test(self._eval, self._handle.alias)
        if self.drawn:
            lines = [line for rule in rules for line in rule.drops] + self._lines_in_code
            why = "draws are not compared with a baseline"
            for line in lines if self._baseline is not None else ():
                first.warn(f"not checked: {line.text}: {why}")
            return []
        without_effect = []
        for rule in rules:
            covered = [record.control for record in records if rule.covers(record.eval, self._handle.alias)]
            if (":" in rule.eval or self._names_perturbation(rule)) and covered and all(covered):
                why = f"has no effect: {rule.eval} names a control, which no baseline keeps"
                without_effect += [f"{rule.place}: {text} {why}" for text in rule.about_drops]
        if self.perturbed or not all(record.control for record in records):
            return without_effect
        plain = [rule for rule in rules if ":" not in rule.eval]
        declared = [threshold.text for rule in plain for threshold in rule.require]
        declared += [line.text for rule in plain for line in rule.drops]
        return without_effect + [
            f"{text} has no effect: {self._eval} made controls only; make one evaluation without control=True"
            for text in [*declared, *(requirement.text for requirement in self.required)]
        ]

    def compared(self, evaluation: Evaluation) -> Iterator[ComparedRow] | None:
        """The lines of what the baseline holds of each sample in a pair; None without a baseline."""
        if self._baseline is None:
            return None
        return compared_lines(evaluation.result.record, self._baseline.pairs(evaluation))

    def hold(self, base: Evaluation, handle: ModelHandle) -> None:
        """Compare the evaluation with that of another model, the ``base``, which was asked the same in this run."""
        assert self._baseline is not None
        self._baseline.hold(base, handle, asking_failure(base.result, self._session.options.max_errors))

    def _bounds_of_agreement(self, record: ItemRecord) -> list[Threshold]:
        """What ``--ab-human-kappa`` requires of each judge whose verdicts people labelled."""
        bound = self._session.options.human_kappa
        names = [scorer.name for scorer in record.scorers if KAPPA in _measured_by(record, scorer.name)]
        texts = [f"{KAPPA}[scorer={name}] >= {bound:g}" for name in names] if bound is not None else []
        return [each for text in texts if isinstance(each := parse_threshold(text), Threshold)]

    def _thresholds(self, eval_: str, control: bool, checked: set[Threshold]) -> list[Threshold]:
        """``checked`` are the thresholds on numbers of the test's own that an earlier result was checked for."""
        rules = self._session.rules.for_eval(eval_, self._handle.alias)
        control = control and not self.drawn
        # A control is covered only by a rule that names it.
        named = [rule for rule in rules if not control or ":" in rule.eval or self._names_perturbation(rule)]
        declared = [threshold for rule in named for threshold in rule.require]
        if not control:
            # What is known of one eval and its perturbations is required of that one, and of others that are named.
            own = {metric.name for metric in self.figures.get(eval_, ())}
            others = {metric.name for figures in self.figures.values() for metric in figures} - own
            declared += [each for each in self.required if isinstance(each, Threshold) and each.metric not in others]
        recorded = {metric.name for metric in self.recorded}
        declared = [threshold for threshold in declared if threshold.metric not in recorded or threshold not in checked]
        checked.update(threshold for threshold in declared if threshold.metric in recorded)
        return declared

    def _names_perturbation(self, rule: Rule) -> bool:
        """Whether ``rule`` is of the eval under its perturbation, and not of the eval as it is too."""
        if not self.perturbed:
            return False
        plain = without_perturbation(self._eval, self._item.callspec.params[PERTURBATION])  # type: ignore[attr-defined]
        return not rule.covers(plain, self._handle.alias)

    @property
    def _lines_in_code(self) -> list[Line]:
        return [line for line in self.required if isinstance(line, Line)]


def _measured_by(record: ItemRecord, scorer: str) -> set[str]:
    return {metric.name for metric in record.metrics if metric.scorer == scorer}


def check_shown(slice_: Selection, protocol: Protocol) -> None:
    """Raises UsageError for options in another order of which a model would be shown nothing else."""
    change = slice_.dataset.perturbation
    sample = next((each.sample for each in slice_.samples if len(each.sample.choices) > 1), None)
    if change is None or change.family != ORDER or sample is None:
        return
    turned = dataclasses.replace(sample, choices=(*sample.choices[1:], sample.choices[0]))
    if all(stage.messages(sample, {}) == stage.messages(turned, {}) for stage in protocol.openings):
        raise UsageError(
            f"{change} changes nothing of what a model is shown of {slice_.dataset.unperturbed}: its options stand in "
            "the question's own words, or nowhere; leave the eval out by -k, or the order"
        )


def asking_failure(result: Result, allowed: int) -> str:
    """Why a result cannot be compared with anything: more samples failed than are ``allowed``. Else nothing."""
    record = result.record
    # A verdict that could not be had is an error of the headline too where that is a judge's.
    unjudged = sum(bool(failed_verdicts(row.answers)) for row in result.headline_rows) if record.judges else 0
    own = sum(row.answers.error is not None for row in result.headline_rows) if unjudged else result.errors
    repeated = {
        "when asked again": sum(asking.failed_again for asking in (record.asking, *record.judges.values())),
        "when judged": unjudged,
    }
    # A perturbation that is not defined for some clips leaves these out, and the record counts them.
    own -= record.asking.not_applicable
    failed, asked = own + sum(repeated.values()), result.n * record.epochs
    if failed <= allowed and (result.errors < asked or not asked):
        return ""
    further = "".join(f", and {count} more {when}," for when, count in repeated.items() if count)
    # With no sample left nothing is measured, however many may fail.
    allow = f", or allow them with --ab-max-errors={failed}" if result.errors < asked else ""
    return (
        f"{own} of {asked} samples{further} could not be asked "
        f"({record.errors[0].sample_id}: {record.errors[0].message}); fix them{allow}"
    )


def verdicts_on(
    result: Result, declared: Sequence[Threshold], recorded: Sequence[MetricRecord], failed: str
) -> list[Verdict]:
    """The verdicts; where too much of the asking ``failed``, each says so."""
    if failed:
        texts = [threshold.text for threshold in declared] or ["every sample asked"]
        return [Verdict("incomplete", text, None, failed) for text in texts]
    return [check_threshold(threshold, _finder(result, recorded), result.keys()) for threshold in declared]


def _finder(result: Result, recorded: Sequence[MetricRecord]) -> MetricLookup:
    """A result's numbers, and those that the test recorded with all its results."""
    by_name = {(metric.name, *sorted(metric.group.items())): as_metric(metric) for metric in recorded}

    def find(name: str, group: Mapping[str, str]) -> Metric | None:
        metric = by_name.get((name, *sorted(group.items())))
        return result.find(name, group) if metric is None else metric

    return find
