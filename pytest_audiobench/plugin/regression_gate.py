"""The regression gate of a run: which lines hold for which eval, and how the run's alpha is shared among them.

The number of lines of a run, m, is known alike in every process once the evals are collected, whatever the number of
workers: each evaluation that the baseline holds of a selected test counts for the lines that are declared for it (the
headline's, and those of the rules that match it), at least one. What it does not hold is never tested, and takes no
share. An evaluation is called ``test`` or ``test:name``, so that a name that only the body knows is one of the
baseline's, or nothing is compared with it. ``-k``, ``--lf`` and their like change m; the record says it.

What a test adds to that when it runs, by ``evaluate.require`` in its code or by evaluations of which nothing was known,
divides the test's own part of alpha only: k lines were counted for it, it makes l, and each is tested at
alpha × k / (m × l). The parts add up to alpha, so the chance that any unchanged eval of the run is called regressed is
at most alpha (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_audiobench.comparison.baseline_sources import Baseline, source_text
from pytest_audiobench.errors import NotComparable, OtherEncoder, UsageError
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.evaluation.comparable_eval import (
    NEVER_COMPARED,
    ComparableEval,
    comparable_ahead,
    comparable_eval,
    comparable_rows,
    other_encoders,
)
from pytest_audiobench.evaluation.comparable_samples import in_columns
from pytest_audiobench.evaluation.evaluate import Evaluation, Look
from pytest_audiobench.evaluation.model_handle import ModelHandle, stored_noise
from pytest_audiobench.evaluation.scoring import WITHOUT, ScoredSample
from pytest_audiobench.evaluation.selection import Selection
from pytest_audiobench.gate.config import Rules
from pytest_audiobench.gate.early_stop import Looks
from pytest_audiobench.gate.pairing import Pairs, pair_samples
from pytest_audiobench.gate.regression import failed_line, mismatch, not_comparable, regression_of
from pytest_audiobench.gate.sight import Sight, sight_of
from pytest_audiobench.gate.threshold_syntax import point, read_margin
from pytest_audiobench.gate.thresholds import MARGIN, NO_MARGIN, Line, Terms
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.plugin.options import Options
from pytest_audiobench.plugin.run_folder import Expected
from pytest_audiobench.protocols.answer_failures import FAILURES
from pytest_audiobench.protocols.catalogue import takes_encoder
from pytest_audiobench.protocols.protocol import ALL, Protocol, encoder_of
from pytest_audiobench.records.run import RegressionRecord, StopVerdict


class Gate:
    """The baseline that all evals of a process are compared with."""

    def __init__(self, baseline: Baseline, options: Options, rules: Rules, encoder: str = "") -> None:
        self.baseline, self._options, self._rules, self._encoder = baseline, options, rules, encoder
        self.lines = 1
        """m, set once the evals are collected."""
        self.policy = options.inconclusive
        """What an inconclusive line does to its test: pass, warn or fail."""
        self.most_errors = options.max_errors
        self._margin = options.max_drop or MARGIN

    def declared(self, eval_: str, alias: str, in_code: int = 0) -> int:
        """How many lines a selected test is known to have, at least one for each evaluation that the baseline holds;
        0 where it holds none. ``in_code`` are those that are known to be in its code.
        """
        names = self.evaluations_of(eval_, alias)
        if names and self.baseline.recorded is None:
            sides = [self.baseline.of(alias).sides[name] for name in names]
            lines = (self.lines_of(side.eval, alias, _headline(side), ()) for side in sides)
            return sum(max(1, len(of_side) + in_code) for of_side in lines)
        if not names and not self.baseline.is_asked:
            return 0
        rules = self._rules.for_test(eval_, alias)
        plain = [rule.max_drop for rule in rules if ":" not in rule.eval and rule.max_drop is not None]
        of_parts = [rule.max_drop for rule in rules if ":" in rule.eval and rule.max_drop is not None]
        headline = any(margin != NO_MARGIN for margin in [(plain or [self._margin])[-1], *of_parts])
        return max(1, sum(len(rule.drops) for rule in rules) + headline + in_code)

    def share(self, evals: Iterable[Expected]) -> None:
        """Count the lines among which alpha is shared: those of the evals that there is something to compare with."""
        self.lines = max(1, sum(eval_.lines for eval_ in evals))

    def unknown(self, evals: Iterable[Expected]) -> list[str]:
        """What is said before a run of which the baseline knows the smaller part; nothing else."""
        names = {eval_.eval: bool(eval_.in_baseline) for eval_ in evals if not eval_.beside}
        lacking = len(names) - sum(names.values())
        if self.baseline.is_asked or 2 * lacking <= len(names):
            return []
        where = source_text(self.baseline.source)
        return [f"{lacking} of {len(names)} selected evals are not in {where}: they are measured, not compared"]

    def terms(self, counted: int, actual: int) -> Terms:
        """The terms of a test's ``actual`` lines, where ``counted`` were known when the evals were collected."""
        lines = -(-self.lines * max(counted, actual) // counted)
        options = self._options
        # Half for the looks, half for the test of what is asked to its end: both together are at most alpha.
        alpha = options.alpha / 2.0 if options.early_stop else options.alpha
        return Terms(alpha, lines, options.max_unmatched, options.within_noise == "inconclusive")

    def lines_of(self, eval_: str, alias: str, headline: str, in_code: Sequence[Line]) -> list[Line]:
        """The lines of an evaluation; one declared on its ``headline`` replaces the run's margin, not a rule's."""
        rules = self._rules.for_eval(eval_, alias)
        declared = [*(line for rule in rules for line in rule.drops), *in_code]
        margins = [rule.max_drop for rule in rules if rule.max_drop is not None]
        margin = margins[-1] if margins else self._margin
        replaced = any(line.metric == headline and not line.group for line in declared)
        if margin != NO_MARGIN and (margins or not (replaced or self.has_no_points(headline))):
            declared.insert(0, Line(headline, (), margin))
        return list(dict.fromkeys(declared))

    def has_no_points(self, headline: str) -> bool:
        """Whether the run's margin is in points, and the metric's scale has none."""
        return self._margin != NO_MARGIN and read_margin(self._margin)[1] and point(metric_kind(headline)) is None

    def evaluations_of(self, eval_: str, alias: str) -> list[str]:
        """The baseline's evaluations by the test ``eval_``."""
        if (recorded := self.baseline.recorded) is not None:
            return [eval_] if recorded.covers(eval_, self.baseline.of(alias).head.model.alias) else []
        return [name for name in self.baseline.of(alias).sides if name.partition(":")[0] == eval_]

    def sights(self, evals: Iterable[tuple[str, str]]) -> list[Sight]:
        """What the headlines of the tests by the models will be able to show, from the baseline's own samples."""
        terms, found = self.terms(1, 1), list[Sight | None]()
        for eval_, alias in dict.fromkeys(evals):
            for name in self.evaluations_of(eval_, alias):
                side = self.baseline.of(alias).sides[name]
                headline = _headline(side)
                lines = [line for line in self.lines_of(name, alias, headline, ()) if line.metric == headline]
                found += [sight_of(side, line, terms, self._options.limit) for line in lines if not line.group][:1]
        return [sight for sight in found if sight is not None]

    def coverage(
        self,
        selected: Iterable[str],
        collected: Iterable[str],
        aliases: Iterable[str],
        deselecting: bool,
        leaves_out: Callable[[str], bool],
    ) -> tuple[list[str], list[str]]:
        """Notes on what the baseline holds and the user left out, and what it holds that is missing, a sentence each.

        An eval that was ``collected`` is left out where the command line is ``deselecting`` evals, another one where it
        ``leaves_out`` its name: all else is renamed, removed or in none of the paths. ``aliases`` are the run's models.
        Raises UsageError where the baseline holds no selected eval, and where one of them is by another encoder than
        the run's.
        """
        if self.baseline.is_asked:
            return [], []
        if self.baseline.recorded is not None:
            return self._recorded_coverage(sorted(set(selected)), list(aliases))
        baseline, chosen, all_ = source_text(self.baseline.source), set(selected), set(collected)
        tests = {eval_: eval_.partition(":")[0] for model in self.baseline.models.values() for eval_ in model.sides}
        if not chosen & set(tests.values()):
            raise UsageError(
                f"{baseline} holds none of the {len(chosen)} selected evals "
                f"({_some(sorted(chosen))}): it holds {_some(list(tests)) or 'none'}"
            )
        self._check_encoders(chosen)
        unselected = [eval_ for eval_, test in tests.items() if test not in chosen]
        gone = {e for e in unselected if not (deselecting if tests[e] in all_ else leaves_out(e))}
        notes = [f"{baseline} is not whole: {reason}" for reason in self._gaps]
        missing = [
            f"{eval_}, which {baseline} holds, was not collected: renamed, removed, or in none of the paths; renew the "
            "baseline, or leave the eval out by -k or --deselect"
            for eval_ in unselected
            if eval_ in gone
        ]
        if self.baseline.only is None:
            missing += [
                f"the model {alias}, which {baseline} holds, is not run: add it, or name one for all by "
                f"{self.baseline.place}#ALIAS"
                for alias in self.baseline.models.keys() - set(aliases)
            ]
        if rest := [eval_ for eval_ in unselected if eval_ not in gone]:
            evals, were = ("eval", "was") if len(rest) == 1 else ("evals", "were")
            cut = f"{len(rest)} {evals} of {baseline} {were} not selected"
            if ALL in self._options.required:
                missing.append(f"{cut}, which --ab-require=all asks for: {', '.join(rest)}")
            else:
                notes.append(f"{cut}: {_some(rest)}")
        return notes, missing

    def _recorded_coverage(self, selected: Sequence[str], aliases: Sequence[str]) -> tuple[list[str], list[str]]:
        """The same of recorded answers, whose evals are those of their names, or any."""
        baseline = source_text(self.baseline.source)
        if not any(self.evaluations_of(eval_, alias) for eval_ in selected for alias in aliases):
            raise UsageError(f"{baseline} answers none of the {len(selected)} selected evals ({_some(selected)})")
        return [], [f"{baseline} is not whole: {reason}" for reason in self._gaps]

    def _check_encoders(self, tests: Collection[str]) -> None:
        if not self._encoder:
            return
        from pytest_audiobench.protocols.text_encoders import encoder

        here = encoder(self._encoder).identity
        for side in (side for contents in self.baseline.models.values() for side in contents.sides.values()):
            if side.eval.partition(":")[0] in tests and takes_encoder(side.protocol):
                for name, signature in side.scorers.items():
                    if encoder_of(signature) not in ("", here):
                        baseline = source_text(self.baseline.source)
                        before = encoder_of(signature)
                        raise UsageError(
                            f"{side.eval}: the encoder of {name} is {before} in {baseline} and {here} here, and "
                            f"{NEVER_COMPARED}"
                        )

    @property
    def _gaps(self) -> Iterable[str]:
        heads = [contents.head for contents in self.baseline.models.values()]
        limited = (
            f"it took at most {head.limit} samples of each eval, and what it did not take is compared with nothing"
            for head in heads
            if head.limit is not None
        )
        return dict.fromkeys([*limited, *(reason for head in heads for reason in head.missing)])


class BaselineComparison:
    """One test's evaluations by one model, compared with the baseline."""

    def __init__(self, gate: Gate, eval_: str, handle: ModelHandle, store: Store, in_code: int) -> None:
        self._gate, self._handle, self._store = gate, handle, store
        self._counted = max(1, gate.declared(eval_, handle.alias, in_code))
        self._sides: dict[str, ComparableEval] = {}
        self._recorded: dict[str, ComparableEval] = {}
        self._bases: dict[str, Evaluation] = {}
        """By eval: the base's in this run."""
        self._failures: dict[str, str] = {}
        """By eval: why too much of asking the base failed."""
        self.refused: dict[str, list[RegressionRecord]] = {}
        """By eval: the verdicts on what was not asked, since the baseline is of another task."""
        self._looks: dict[str, Looks] = {}
        self._asked_whole: dict[str, str] = {}
        """By eval: why it was not to be stopped early."""

    def precheck(
        self, eval_: str, control: bool, epochs: int, in_code: Sequence[Line]
    ) -> Callable[[Selection, Protocol], None]:
        """The check before the first request: raises NotComparable where the baseline is of another task."""

        def check(slice_: Selection, protocol: Protocol) -> None:
            is_recorded = self._gate.baseline.recorded is not None
            if control or (self._baseline(eval_) is None and not is_recorded):
                return
            here = comparable_ahead(eval_, self._handle, slice_, protocol, epochs)
            self._read(here, slice_, protocol)
            if (baseline := self._baseline(eval_)) is None:
                return
            lines = self._gate.lines_of(eval_, self._handle.alias, protocol.scorers[0].metrics[0], in_code)
            terms = self._gate.terms(self._counted, len(lines))
            # What requests took is known of no baseline; all else is compared with it.
            verdicts = [not_comparable(baseline, here, line, terms) for line in lines if not line.is_speed]
            if refusals := [verdict for verdict in verdicts if verdict is not None]:
                self.refused[eval_] = refusals
                encoders = [other_encoders(baseline.scorers.get(name, ""), here.scorers[name]) for name in here.scorers]
                raise (OtherEncoder if any(encoders) else NotComparable)(
                    f"{eval_} is not comparable with {source_text(baseline.source)}, and nothing was asked: "
                    f"{refusals[0].detail}; to renew it, run without --ab-baseline and make that run the baseline"
                )

        return check

    def looker(
        self, eval_: str, in_code: Sequence[Line], whole: str, fails_only: bool
    ) -> Callable[[Selection, Protocol], Look | None]:
        """What makes the looks at an evaluation; none where ``whole`` says why it is not to be stopped early. With
        ``fails_only`` a regression alone stops it.
        """

        def looker(slice_: Selection, protocol: Protocol) -> Look | None:
            lines = self._gate.lines_of(eval_, self._handle.alias, protocol.scorers[0].metrics[0], in_code)
            if (baseline := self._baseline(eval_)) is None or not lines:
                return None
            why = whole or _taken_together(slice_, protocol)
            if not why:
                here = comparable_ahead(eval_, self._handle, slice_, protocol, 1)
                terms = self._gate.terms(self._counted, len(lines))
                try:
                    looks = Looks(baseline, here, lines, terms, self._gate.most_errors, slice_)
                except UsageError as error:
                    why = str(error)
            if why:
                self._asked_whole[eval_] = why
                return None
            self._looks[eval_] = looks

            def look(rows: Mapping[str, Sequence[ScoredSample]]) -> StopVerdict | None:
                verdict = looks.look(rows)
                return None if fails_only and verdict == "passes" else verdict

            return look

        return looker

    def hold(self, base: Evaluation, handle: ModelHandle, failure: str) -> None:
        """Compare what is evaluated from here on with what ``base`` came to in this run, unless asking it failed."""
        side = _side_of(base, handle, self._store)
        self._recorded[side.eval], self._bases[side.eval] = side, base
        if failure:
            self._failures[side.eval] = f"of {handle.alias}, with which it is compared, {failure}"

    def _read(self, here: ComparableEval, slice_: Selection, protocol: Protocol) -> None:
        """Read recorded answers as the eval will read its own."""
        if (recorded := self._gate.baseline.recorded) is not None:
            model = self._gate.baseline.of(self._handle.alias).head.model.alias
            if (side := recorded.side(here, slice_, protocol, model)) is not None:
                self._recorded[here.eval] = side

    def _baseline(self, eval_: str) -> ComparableEval | None:
        return self._recorded.get(eval_) or self._gate.baseline.side(eval_, self._handle.alias)

    def verdicts(
        self, evaluations: Sequence[Evaluation], in_code: Sequence[Line], failures: Sequence[str]
    ) -> tuple[list[list[RegressionRecord]], list[str]]:
        """Each evaluation's; ``failures`` say of each why too much of its asking failed, or nothing.

        Behind them, in a sentence each, lines that an evaluation cannot have: they have no verdict.
        """
        lines_of_each = [self._lines(evaluation, in_code) for evaluation in evaluations]
        known = [self._baseline(evaluation.result.record.eval) is not None for evaluation in evaluations]
        tested = sum(len(lines) for lines, is_known in zip(lines_of_each, known, strict=True) if is_known)
        terms = self._gate.terms(self._counted, tested)
        verdicts: list[list[RegressionRecord]] = []
        mistakes: dict[str, None] = {}
        for evaluation, lines, failure in zip(evaluations, lines_of_each, failures, strict=True):
            verdicts.append([])
            for line in lines:
                try:
                    why = failure or self._failures.get(evaluation.result.record.eval, "")
                    verdicts[-1].append(self._verdict(evaluation, line, terms, why))
                except UsageError as error:
                    mistakes[str(error)] = None
        return verdicts, list(mistakes)

    def fails(self, record: RegressionRecord) -> bool:
        """Whether a verdict fails its test."""
        allowed = ("pass",) if self._gate.policy == "fail" else ("pass", "inconclusive")
        return record.status not in allowed

    def notes(self, evaluation: Evaluation, in_code: Sequence[Line]) -> list[str]:
        """Why an evaluation was not to be stopped early, and why it has no line for its headline."""
        whole = self._asked_whole.get(evaluation.result.record.eval)
        return [f"not stopped early: {whole}"] * bool(whole) + list(filter(None, [self._unlined(evaluation, in_code)]))

    def _unlined(self, evaluation: Evaluation, in_code: Sequence[Line]) -> str:
        """Why an evaluation has no line for its headline, where its scale has no points; else nothing."""
        record = evaluation.result.record
        headline = record.metrics[0].name
        if record.control or not self._gate.has_no_points(headline):
            return ""
        if any(line.metric == headline for line in self._lines(evaluation, in_code)):
            return ""
        return (
            f"{headline} is in {metric_kind(headline).unit or 'its own unit'}, which has no points of a hundred: "
            "it is not compared with the baseline until a margin in that unit is declared, such as "
            f"{headline}.drop <= 0.5"
        )

    def pairs(self, evaluation: Evaluation) -> Pairs | None:
        """The pairs with the baseline as the headline read them; None where it has none of this task."""
        here = self._side(evaluation)
        baseline = self._baseline(here.eval)
        if baseline is None or mismatch(baseline, here, here.headline) is not None:
            return None
        return pair_samples(baseline, here, here.headline)

    def _lines(self, evaluation: Evaluation, in_code: Sequence[Line]) -> list[Line]:
        record = evaluation.result.record
        return [] if record.control else self._gate.lines_of(record.eval, record.model, record.metrics[0].name, in_code)

    def _verdict(self, evaluation: Evaluation, line: Line, terms: Terms, failure: str) -> RegressionRecord:
        here = self._side(evaluation)
        if line.is_speed:
            from pytest_audiobench.gate.speed import speed_regression

            _check_group(here, line)
            base = self._bases.get(here.eval)
            timings = (base.timings if base else None, evaluation.timings)
            return speed_regression(self._baseline(here.eval), here, timings, line, terms, failure)
        if failure:
            return failed_line(here, line, terms, failure)
        _check_group(here, line)
        if evaluation.result.record.stopped:
            return self._looks[here.eval].record(line, terms, here)
        return regression_of(self._baseline(here.eval), here, line, terms)

    def _side(self, evaluation: Evaluation) -> ComparableEval:
        eval_ = evaluation.result.record.eval
        if eval_ not in self._sides:
            self._sides[eval_] = _side_of(evaluation, self._handle, self._store)
        return self._sides[eval_]


def _headline(side: ComparableEval) -> str:
    return next(iter(side.metrics.get(side.headline, ())), "")


def _side_of(evaluation: Evaluation, handle: ModelHandle, store: Store) -> ComparableEval:
    record = evaluation.result.record
    side = comparable_eval(record, in_columns(comparable_rows(record, evaluation.rows)), spec=handle.spec)
    return replace(side, noise=stored_noise(store, handle))


def _taken_together(selection: Selection, protocol: Protocol) -> str:
    """Why an evaluation is asked whole, where what is made of its answers is made of all of them at once."""
    if any(stage.role != "subject" for stage in protocol.stages):
        return "judges and rewriters have their turn once everything is answered"
    if together := next((scorer.name for scorer in protocol.scorers if scorer.together), ""):
        return f"{together} reads all answers at once"
    if selection.dataset.withheld:
        return "its publisher takes answers to all of it"
    return "it is a point of a curve over perturbations" if selection.dataset.perturbation is not None else ""


def _check_group(here: ComparableEval, line: Line) -> None:
    """Raises UsageError for a group that none of the eval's samples is in, whatever the baseline holds."""
    wanted = {field: value for field, value in line.group if field != "scorer"}
    if (without := wanted.pop(WITHOUT, None)) not in (None, *FAILURES):
        raise UsageError(f"{line.text} leaves out {without!r}, which is not one of {', '.join(FAILURES)}")
    if len(here.columns.of_group(wanted)):
        return
    groups = here.columns.groups()
    fields = "; ".join(f"{field}: {_some(list(values))}" for field, values in groups.items())
    raise UsageError(
        f"{line.text} has no effect: no sample of {here.eval} is in this group; its numbers are reported by "
        f"{fields or 'no group'} (groups= chooses the fields)"
    )


def _some(names: Sequence[str]) -> str:
    return f"{', '.join(names[:5])}{', …' if len(names) > 5 else ''}"
