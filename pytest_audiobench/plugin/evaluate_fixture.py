"""What is behind the ``evaluate`` fixture: one test's evaluations, and the checks when its body has returned."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from unittest import SkipTest

import pytest
from msgspec.structs import replace

from pytest_audiobench.datasets.catalogue import dataset as named_dataset
from pytest_audiobench.datasets.dataset import Dataset, perturb
from pytest_audiobench.datasets.perturbations.interventions import NO_OPTIONS
from pytest_audiobench.errors import (
    AudiobenchError,
    DataNotFound,
    FatalError,
    InfrastructureError,
    NotComparable,
    OtherEncoder,
    UnsuitableData,
    UnsuitableModel,
    UsageError,
    disk_errors,
)
from pytest_audiobench.evaluation.answer_store import repaired
from pytest_audiobench.evaluation.batch_executor import BatchExecutor, Counts
from pytest_audiobench.evaluation.evaluate import (
    EvalSpec,
    Evaluation,
    Keeper,
    Turns,
    evaluate,
    evaluate_in_turns,
    evaluation_in_turns,
    judge_executors,
)
from pytest_audiobench.evaluation.model_handle import ModelHandle, store_hearing, store_noise
from pytest_audiobench.evaluation.perturbation_series import CLEAN
from pytest_audiobench.evaluation.result import Result, as_metric
from pytest_audiobench.evaluation.sample_answers import SampleAnswers
from pytest_audiobench.evaluation.scoring import ScoredSample, score_samples
from pytest_audiobench.evaluation.selection import Selection, select
from pytest_audiobench.gate.failure_table import failure_table, regression_table
from pytest_audiobench.gate.thresholds import Threshold, parse_threshold
from pytest_audiobench.io.strict_json import short_repr
from pytest_audiobench.metrics.value import Metric, number
from pytest_audiobench.models.model import Hearing
from pytest_audiobench.plugin.error_mapping import harmless, test_errors
from pytest_audiobench.plugin.eval_items import STYLE, EvalItem
from pytest_audiobench.plugin.requirements import Requirements, Violation, asking_failure, check_shown
from pytest_audiobench.plugin.run_plan import remember
from pytest_audiobench.plugin.session import EvalSession
from pytest_audiobench.plugin.stash import LOOKED_UP, OTHER_ENCODER, REQUIRED, UNAVAILABLE
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.records.lines import ComparedRow
from pytest_audiobench.records.run import (
    AskingRecord,
    ErrorRecord,
    ItemRecord,
    MetricRecord,
    NoiseMeasurement,
    Outcome,
    ShardRecord,
)
from pytest_audiobench.report.formatting import value_text
from pytest_audiobench.report.item_lines import item_lines
from pytest_audiobench.report.junit import properties
from pytest_audiobench.report.page.sounds import write_excerpts
from pytest_audiobench.report.run_writer import Lines, adding_lines, stem, write_compared, write_part, write_record

if TYPE_CHECKING:
    from pytest_audiobench.datasets.corrections import Corrections
    from pytest_audiobench.evaluation.rerun import RerunVariant
    from pytest_audiobench.evaluation.shards import ShardedEval
    from pytest_audiobench.protocols.reasoned_choice.prompt_styles import StyleName


def _check_kinds(dataset: object, protocol: object) -> None:
    """Raises UsageError for what is no data set or no protocol, with what was probably meant."""
    if not isinstance(dataset, Dataset):
        raise UsageError(f"evaluate takes a data set or its name first, not {short_repr(dataset)}")
    if not isinstance(protocol, Protocol):
        hint = ""
        if isinstance(protocol, str):
            hint = f": write protocol({protocol[:60]!r})"
        elif callable(protocol):
            hint = f": call it, as {getattr(protocol, '__name__', 'protocol')}()"
        raise UsageError(f"evaluate takes a protocol after the data set, not {short_repr(protocol)}{hint}")


@contextmanager
def _lines_on_disk(parts: Path, part: str) -> Iterator[Callable[[Lines], None]]:
    """As :func:`adding_lines`; raises as :func:`disk_errors` where the files cannot be opened, or closed."""
    inside: BaseException | None = None
    try:
        with adding_lines(parts, part) as add:
            try:
                yield add
            except BaseException as error:
                inside = error
                raise
    except OSError as error:
        if error is inside:
            raise
        with disk_errors(parts):
            raise


class Evaluator:
    """One test's evaluations; the test has :class:`pytest_audiobench.Evaluate` in front of it."""

    def __init__(
        self,
        session: EvalSession,
        item: pytest.Item,
        eval_item: EvalItem,
        handle: ModelHandle,
        perturbation: str | None = None,
    ) -> None:
        self._session, self._item, self._eval_item, self._handle = session, item, eval_item, handle
        self._perturbation = perturbation
        """By name, what every data set is perturbed by that is not perturbed yet."""
        self._as_it_is: tuple[Dataset, Protocol, EvalSpec] | None = None
        """The unperturbed eval, where it is asked under perturbations in addition: its own, or what was perturbed."""
        self._results_beside: dict[str, Result] = {}
        """What is compared, by perturbation."""
        self._figures_beside: list[MetricRecord] = []
        """What that says."""
        self._asked_beside = 0
        """How many answers were asked for to compare it with."""
        self._asked_again: dict[str, list[Counts]] = {}
        """How many answers each evaluation was given to its questions asked again."""
        self._evaluations: list[Evaluation] = []
        self._bases: list[tuple[Evaluation, ModelHandle]] = []
        """The evaluations of the model that this one is compared with in the same run."""
        self._sharded: dict[str, ShardedEval] = {}
        """What is noted of each evaluation in a run of several machines, by its name."""
        self._refused: list[ItemRecord] = []
        self._requirements = Requirements(session, item, eval_item.eval, handle)
        self.asked_whole = "it is part of a study" if item.get_closest_marker("study") else ""
        """Why its evaluations are not stopped early; "" where they may be."""
        self.settled_at_end = False
        """Whether the test's body has returned and what it declared was checked."""
        self.of_instrument = False
        """Whether the test fails for nothing but what could not be asked or compared."""
        self._mistakes: list[str] = []
        """What is wrong with the test's declarations, which no table shows."""
        self._unmeasured = ""
        """Why an evaluation measured nothing, where that says nothing of the model: refused, or its process died."""
        self._failed_calls: dict[str, None] = {}
        """Why calls of evaluate failed: a test that continues after one fails anyway."""
        self._why = ""
        """What was required and is not met, in one line."""
        self._late = ""
        """What was called once the test's body had returned, in a sentence."""
        self.setup_outcome: Outcome = "passed"
        """That of the test's fixtures: where they skip or fail its body never runs, whatever they evaluated."""

    @property
    def handle(self) -> ModelHandle:
        """The model that is evaluated."""
        return self._handle

    def note_hearing(self, dataset: Dataset, hearing: Hearing) -> None:
        """Put on record what a listening eval on ``dataset`` showed of the model's hearing."""
        with self._instrument_errors():
            store_hearing(self._session.bench.store, self._handle, dataset.name, hearing)
            self._session.announce(self._handle)

    @property
    def style(self) -> StyleName:
        """How the model reasons: by its spec's ``style``, the replayed run or its name. UsageError for no style."""
        from pytest_audiobench.protocols.reasoned_choice.prompt_styles import model_style, style_named

        with test_errors():
            named, recorded = self._session.style(self._handle.alias), self._handle.style
            return named or (style_named(recorded).name if recorded else model_style(self._handle.spec))

    @property
    def results(self) -> list[Result]:
        """The results so far, in order."""
        return [evaluation.result for evaluation in self._evaluations]

    @property
    def _records(self) -> list[ItemRecord]:
        """The records of what was evaluated, then of what was refused, which measured nothing."""
        return [result.record for result in self.results] + self._refused

    def evaluate(
        self,
        dataset: Dataset | str,
        protocol: Protocol,
        name: str | None,
        samples: int | None,
        control: bool,
        scorers: str | Sequence[str] | None,
    ) -> Result:
        """As :class:`pytest_audiobench.Evaluate` says.

        Raises what :func:`pytest_audiobench.evaluation.evaluate.evaluate` raises.
        """
        with test_errors(), self._failures_noted():
            if isinstance(dataset, str):
                dataset = named_dataset(dataset)
            _check_kinds(dataset, protocol)
            unchanged = dataset, protocol, scorers
            if self._perturbation is not None:
                dataset = self._perturbed(dataset, self._perturbation, alone=name is None)
                self._requirements.perturbed = self._perturbation != CLEAN
                control = control or self._requirements.perturbed
                if dataset.perturbation is not None and self._perturbation == NO_OPTIONS:
                    # Asked in the question's own words, as no prompt for options fits; a judge weighs the free answer.
                    from pytest_audiobench.protocols.judged.task import judged

                    free = judged()
                    judges = [each.name for each in protocol.scorers if each.judge and each.name in free.available]
                    protocol, scorers = free.with_scorers(*judges) if judges else free, None
            protocol = self._with_scorers(dataset, protocol, scorers)
            named, _ = self._session.data_folders
            named.lookups.clear()
            try:
                spec = self._next(name, samples, control or self._requirements.drawn)
                if self._perturbation is not None and dataset is not unchanged[0]:
                    self._as_it_is = unchanged[0], self._with_scorers(*unchanged), spec
                result = self._evaluate(dataset, protocol, spec)
                if self._as_it_is is not None and self._as_it_is[2] is spec:
                    result.beside = self._figure_beside
                if (corrections := self._session.corrections.get(spec.eval)) is not None:
                    self._evaluate_corrected(result, corrections, dataset, protocol, samples)
                return result
            finally:
                self._item.user_properties.extend((LOOKED_UP, name) for name in sorted(named.lookups))

    def _evaluate_corrected(
        self, published: Result, corrections: Corrections, dataset: Dataset, protocol: Protocol, samples: int | None
    ) -> None:
        """Evaluate the data with its corrections in addition to the published data, by the same answers."""
        from pytest_audiobench.datasets.corrections import CORRECTED, corrected

        own = published.record.eval.removeprefix(self._eval_item.eval).removeprefix(":")
        spec = self._next(f"{own}:{CORRECTED}" if own else CORRECTED, samples, control=True)
        result = self._evaluate(corrected(dataset, corrections), protocol, spec)
        before, after = published.record.metrics[0], result.record.metrics[0]
        texts = [value_text(metric.value, metric.unit) for metric in (before, after)]
        result.warn(f"{after.name} {texts[0]} as published (n {before.n}), {texts[1]} corrected (n {after.n})")

    def _with_scorers(self, dataset: Dataset, protocol: Protocol, scorers: str | Sequence[str] | None) -> Protocol:
        if scorers == STYLE:
            from pytest_audiobench.protocols.reasoned_choice.prompt_styles import style_scorers

            scorers = style_scorers(self.style, dataset.name, protocol.options.get("reasoning") is not False)
        if scorers is None:
            return protocol
        return protocol.with_scorers(*([scorers] if isinstance(scorers, str) else scorers))

    def _perturbed(self, dataset: Dataset, name: str, alone: bool) -> Dataset:
        """``dataset`` under the perturbation of that name. An eval that has perturbations of its own, or compares
        evaluations of its own, is asked once and as it is.
        """
        if alone and dataset.perturbation is None:
            from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations

            (perturbation,) = named_perturbations(name)
            # As it is it keeps its name and hashes; it only says that others are compared with it.
            unchanged = dataclasses.replace(dataset, perturbation=perturbation)
            return unchanged if name == CLEAN else perturb(dataset, perturbation)
        if name == CLEAN:
            return dataset
        why = f"is under {dataset.perturbation} itself" if dataset.perturbation else "compares evaluations of its own"
        pytest.skip(f"{self._eval_item.eval} {why}, and is asked unchanged")

    def _measure_robustness(self) -> None:
        """Measure what thresholds name of the eval and its perturbations: what is asked is known to those evals
        then.
        """
        if self._as_it_is is not None and self.results and not self._requirements.perturbed:
            for metric in self._requirements.wanted_figures(self._as_it_is[2].eval):
                self._measure_beside(*self._as_it_is, metric)

    def _figure_beside(self, metric: str) -> MetricRecord | None:
        """``metric`` of the eval and its perturbations, where the test asks for it, whichever of these it runs
        under; None where nothing is asked that it could be measured of.
        """
        with test_errors(), self._failures_noted():
            if self._as_it_is is None or not self._requirements.needed(metric):
                return None
            return self._measure_beside(*self._as_it_is, metric)

    def _measure_beside(self, dataset: Dataset, protocol: Protocol, spec: EvalSpec, metric: str) -> MetricRecord:
        from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations
        from pytest_audiobench.evaluation import robustness

        figures = self._figures_beside
        if not self._requirements.perturbed:
            # On record with the eval as it is alone.
            figures = self._requirements.figures.setdefault(spec.eval, figures)
        if known := next((figure for figure in figures if figure.name == metric), None):
            return known
        if not self._requirements.perturbed:
            own = next(result for result in self.results if result.record.eval == spec.eval)
            self._results_beside.setdefault(CLEAN, own)
        names = CLEAN, *self._requirements.needed(metric)
        for name in names:
            if name not in self._results_beside:
                (perturbation,) = named_perturbations(name)
                control = dataclasses.replace(spec, control=True, ready=check_shown)
                changed = dataset if name == CLEAN else perturb(dataset, perturbation)
                result = evaluate(self._session.bench, self._handle, control, changed, protocol).result
                self._results_beside[name] = result
                self._asked_beside += result.record.asking.asked
        results = {name: self._results_beside[name] for name in names}
        failures = (asking_failure(result, self._session.options.max_errors) for result in results.values())
        figures += robustness.measured(metric, results, next(filter(None, failures), ""))
        return figures[-1]

    @contextmanager
    def _failures_noted(self) -> Iterator[None]:
        try:
            yield
        except (DataNotFound, UnsuitableData, UnsuitableModel, NotComparable, InfrastructureError):
            raise  # on record
        except Exception as error:
            self._failed_calls[str(error) or type(error).__name__] = None
            raise

    def _next(self, name: str | None, samples: int | None, control: bool) -> EvalSpec:
        self._check_open("evaluate")
        if samples is not None and (not isinstance(samples, int) or samples < 1):
            raise UsageError(f"{self._eval_item.eval} wants samples={samples!r}: ask for one or more, or None for all")
        eval_ = f"{self._eval_item.eval}:{name}" if name else self._eval_item.eval
        if any(record.eval == eval_ for record in self._records):
            raise UsageError(f"{eval_} was evaluated already in this test: give each evaluation a name=")
        return EvalSpec(
            index=self._eval_item.number,
            nodeid=self._item.nodeid,
            eval=eval_,
            suite=self._eval_item.suite,
            places=self._session.places(Path(self._item.path).parent),
            samples=samples,
            part=len(self._records) + len(self._bases),
            control=control,
            shard=None if self._requirements.drawn else self._session.shard,
            progress=self._session.progress_of(eval_),
            ready=self._ready(eval_, control, samples),
            looker=self._requirements.looker(
                eval_, control, self.asked_whole or ("its test makes several evaluations" if name else "")
            ),
        )

    def _ready(self, eval_: str, control: bool, samples: int | None) -> Callable[[Selection, Protocol], None]:
        """The check of an evaluation before its first request."""
        check, options = self._requirements.precheck(eval_, control), self._session.options
        if options.shard is None or self._requirements.drawn:
            return check
        from pytest_audiobench.evaluation.shards import ShardedEval

        (_, count), store, session = options.shard, self._session.bench.store, self._session
        sharded = ShardedEval(store, session.shard, count, eval_, self._handle, session.code, options.epochs)
        self._sharded[eval_], sharded.samples = sharded, samples

        def ready(selection: Selection, protocol: Protocol) -> None:
            check(selection, protocol)
            sharded.begin(selection, protocol)

        return ready

    def _evaluate(self, dataset: Dataset, protocol: Protocol, item: EvalSpec) -> Result:
        try:
            with self._whose_answers(item.eval):
                evaluation = self._evaluation(dataset, protocol, item)
            if sharded := self._sharded.get(item.eval):
                sharded.end()
            self._session.announce(self._handle)
            for alias in evaluation.result.record.judges:
                self._session.announce(self._session.judges[alias], "judge")
        except (DataNotFound, UnsuitableData, UnsuitableModel, NotComparable, InfrastructureError) as error:
            skipped = isinstance(error, DataNotFound | UnsuitableData | UnsuitableModel)
            if isinstance(error, DataNotFound):
                self._item.user_properties.append((UNAVAILABLE, error.name or dataset.name))
            if isinstance(error, OtherEncoder):
                self._item.user_properties.append((OTHER_ENCODER, dataset.name))
            if not skipped:
                self._unmeasured = self._unmeasured or harmless(str(error))
            if not isinstance(error, InfrastructureError):
                refusal = self._requirements.refusal(item, dataset, protocol)
                self._refused.append(replace(refusal, outcome="skipped", message=str(error)) if skipped else refusal)
                self._session.place.open()
            raise
        self._evaluations.append(evaluation)
        if evaluation.result.record.perturbation is not None:
            from pytest_audiobench.studies.faithfulness import warn_of_sway

            warn_of_sway(evaluation.result)
        self._item.config.hook.pytest_audiobench_result_ready(item=self._item, result=evaluation.result)
        return evaluation.result

    def _evaluation(self, dataset: Dataset, protocol: Protocol, item: EvalSpec) -> Evaluation:
        with ExitStack() as files:
            if self._session.options.gate is not None and not item.control:
                return self._evaluation_beside(dataset, protocol, item, files)
            return evaluate_in_turns([self._turns(self._handle, dataset, protocol, item, files)])[0]

    def _evaluation_beside(self, dataset: Dataset, protocol: Protocol, item: EvalSpec, files: ExitStack) -> Evaluation:
        """The evaluation, with that of the base: in turns, or one after the other where each fills a device
        of this process. Raises NotComparable where one of the two cannot be asked such an eval.
        """
        session = self._session
        assert session.options.gate is not None
        base = session.handle(session.options.gate[1])
        handles = [base, session.handle(self._handle.alias)]
        in_turns = not any(handle.in_process for handle in handles)
        # As many as are asked at once, so that both meet each burst of a machine's load.
        turn = max(handle.limits.max_batch for handle in handles) if in_turns else 0
        several, unsuitable = [], dict[str, UnsuitableModel]()
        for handle in handles:
            spec = dataclasses.replace(item, turn=turn, part=item.part + (handle is not base))
            if handle is base:
                progress = session.progress_of(f"{item.eval} ({base.alias})")
                spec = dataclasses.replace(spec, progress=progress, ready=lambda selection, protocol: None)
            several.append(self._turns(handle, dataset, protocol, spec, files))
            try:
                next(several[-1])
            except UnsuitableModel as error:
                unsuitable[handle.alias] = error
        if handles[0].digest == handles[1].digest:
            raise UsageError(
                f"{base.alias} and {self._handle.alias} are one model (the same weights, address or command), so that "
                "nothing would be compared"
            )
        if len(unsuitable) == len(handles):
            raise unsuitable[self._handle.alias]
        for alias, why in unsuitable.items():
            raise NotComparable(
                f"{item.eval} is not comparable, and nothing was asked: {alias} cannot be asked it ({why}), and the "
                "other model can; leave it out by -k"
            )
        groups = [several] if in_turns else [[each] for each in several]
        of_base, own = (evaluation for group in groups for evaluation in evaluate_in_turns(group))
        self._bases.append((of_base, base))
        self._requirements.hold(of_base, base)
        session.announce(base)
        return own

    def _turns(
        self, handle: ModelHandle, dataset: Dataset, protocol: Protocol, item: EvalSpec, files: ExitStack
    ) -> Turns:
        """Its lines are written as the answers come: the answers of a long eval do not fit into the memory."""
        record = ItemRecord(
            index=item.index,
            nodeid=item.nodeid,
            eval=item.eval,
            suite=item.suite,
            model=handle.alias,
            part=item.part,
        )

        def keeper(selection: Selection, protocol: Protocol) -> Keeper:
            self._session.place.open()
            parts = self._lines_folder()
            writer = item_lines(record.eval, record.model, selection, protocol)
            add = files.enter_context(_lines_on_disk(parts, stem(record)))

            def keep(answers: Sequence[SampleAnswers], rows: Mapping[str, Sequence[ScoredSample]]) -> None:
                with disk_errors(parts):
                    add(writer.lines(answers, rows))

            return keep

        own = dataclasses.replace(item, keeper=keeper)
        return evaluation_in_turns(self._session.bench, handle, own, dataset, protocol)

    def _lines_folder(self) -> Path:
        """Where its lines are written as the answers come."""
        return self._session.place.parts

    def _whose_answers(self, eval_: str, whole: bool = False) -> AbstractContextManager[None]:
        """Names the shards whose answers to that evaluation are missing; of what one asks as a ``whole``, that one."""
        sharded = self._sharded.get(eval_)
        return sharded.missing_answers(whole) if sharded else nullcontext()

    def _whole(self, evaluation: Evaluation) -> Selection:
        """What all shards take of an evaluation, for batches of which no shard has a part: the one that has the first
        sample asks for all. In the others the test ends.
        """
        sharded = self._sharded[evaluation.result.record.eval]
        if self._session.shard is None:
            return evaluation.selection
        bench, dataset = self._session.bench, evaluation.selection.dataset
        places = self._session.places(Path(self._item.path).parent)
        whole = select(dataset, places, bench.index, self._handle, bench.limit, sharded.samples)
        if (owner := sharded.owner(whole)) != self._session.shard.index:
            pytest.skip(f"asked again by shard {owner} alone")
        return whole.without(dataset.left_out)

    def ask_again(
        self, result: Result, perturbation: RerunVariant, options: Mapping[str, str] | None = None
    ) -> list[list[ScoredSample]]:
        """Ask what ``result`` was made of again, under ``perturbation``, as its headline protocol reads it.

        With ``options`` (such as ``{"dtype": "bfloat16"}``) the model is made again with these options in place of its
        own. Returns one list in hash order for each copy that the perturbation asks; nothing, and a warning that says
        why, where the model is not available with these options. Answers are kept in the store; askings that fail count
        towards ``--ab-max-errors``.
        """
        evaluation = next(evaluation for evaluation in self._evaluations if evaluation.result is result)
        selection = evaluation.selection
        if self._session.options.shard is not None:
            selection = self._whole(evaluation)
        bench, scorer = self._session.bench, evaluation.protocol.scorers[0]
        progress = self._session.progress_of(f"{result.record.eval} ({perturbation.name})")
        clusters = [row.cluster for row in result.headline_rows][: result.n]
        with self._instrument_errors():
            try:
                with self._session.variant(self._handle, options or {}) as handle:
                    asker = BatchExecutor(handle, bench.store, bench.locks, progress, bench.reuse.fresh)
                    judges = judge_executors(bench, evaluation.protocol, self._item.nodeid, progress)
                    with self._whose_answers(result.record.eval, whole=True):
                        copies = perturbation.ask(selection, evaluation.protocol, asker, judges)
                    self._asked_again.setdefault(result.record.eval, []).append(asker.counts)
            except FatalError as error:
                if not options or isinstance(error, InfrastructureError):
                    raise
                result.warn(f"{perturbation.name} was not measured: {error}")
                return []
        failures = [
            ErrorRecord(sample.sample_id, f"{perturbation.name}: {sample.error}")
            for copy in copies
            for sample in copy
            if sample.error is not None
        ]
        asking = replace(result.record.asking, failed_again=result.record.asking.failed_again + len(failures))
        result.amend(asking=asking, errors=[*result.record.errors, *failures[:3]])
        if halved := sum(any("oom_splits" in r.usage for r in each.responses.values()) for c in copies for each in c):
            result.warn(f"{perturbation.name}: {halved} answers came from batches halved because memory ran out")
        if selection is not evaluation.selection:
            own = {selected.sample.id for selected in evaluation.selection.samples}
            copies = [[sample for sample in copy if sample.sample_id in own] for copy in copies]
        return [score_samples(scorer, copy, clusters) for copy in copies]

    def note_noise(self, noise: NoiseMeasurement) -> None:
        """Put the model's noise floor on record: how far its own repetitions differ. What could not be asked is no
        noise.
        """
        if any(asking_failure(result, self._session.options.max_errors) for result in self.results):
            return
        with self._instrument_errors():
            store_noise(self._session.bench.store, self._handle, noise)
            self._session.announce(self._handle)

    def record(
        self, name: str, value: Any, direction: Literal["higher", "lower"], unit: str, group: Mapping[str, str] | None
    ) -> Metric:
        """A number of the test's own, added to the metrics of its evals."""
        with test_errors(), self._failures_noted():
            self._check_open("record a number")
            figure = number(value, name)
        finite = math.isfinite(figure)
        given = value if isinstance(value, Metric) else Metric(figure, name=name, n=1, unit=unit, direction=direction)
        method = given.method or "recorded by the test"
        record = MetricRecord(
            name=name,
            value=figure if finite else None,
            lower=given.lower,
            upper=given.upper,
            n=given.n,
            unit=given.unit,
            direction=given.direction,
            method=method if finite else f"recorded by the test as {figure}, which is not a number",
            group={name: str(value) for name, value in (group or {}).items()},
        )
        self._requirements.recorded.append(record)
        metric = as_metric(record)
        self._item.config.hook.pytest_audiobench_metric_recorded(item=self._item, metric=metric)
        return metric

    def require(self, thresholds: Sequence[str]) -> None:
        """Declare thresholds. Raises UsageError for an unreadable one."""
        with test_errors(), self._failures_noted():
            self._check_open("require")
            required = self._requirements.required
            required += [parse_threshold(text) for text in thresholds]
            count = sum(isinstance(requirement, Threshold) for requirement in required)
            self._item.user_properties.append((REQUIRED, str(count)))

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Run the test's body, check what is declared once it has returned, and write the records either way; a failed
        check fails the test with its table and no traceback. An interrupted test leaves no record.
        """
        if self._session.shard is not None:
            yield from self._settled_unjudged(self._session.shard)
            return
        mistake = ""
        try:
            yield
            with test_errors():
                self._measure_robustness()
        except AudiobenchError as error:
            mistake = str(error)
        except (pytest.skip.Exception, SkipTest) as skip:
            # What was measured before the skip is checked anyway.
            if not self.results and not self._unmeasured:
                raise
            self._conclude("skipped", str(skip))
            raise
        except (Exception, pytest.fail.Exception) as error:
            violations = self._settle()
            expected = isinstance(error, pytest.xfail.Exception)
            refused = bool(self._unmeasured) and (expected or str(error) == self._unmeasured)
            unmeasured = refused or getattr(error, "of_instrument", False)
            # An assertion on a number that cannot be compared says no more than the number does.
            most = self._session.options.max_errors
            unasked = isinstance(error, AssertionError) and any(asking_failure(result, most) for result in self.results)
            # That nothing was evaluated follows from what was raised before it could be.
            begun = bool(self.results or self._failed_calls)
            infrastructure = not begun or all(violation.infrastructure for violation in violations)
            self._close("failed", str(error), (unmeasured or unasked) and infrastructure)
            raise
        if mistake:
            self._settle()
            self._close("failed", mistake)
            # From nothing, or pytest would print our own error as what its failure happened during.
            raise pytest.fail.Exception(harmless(mistake), pytrace=False) from None
        self._conclude("passed", "")

    def _settled_unjudged(self, shard: ShardRecord) -> Iterator[None]:
        """As settled, in a shard: what the body makes of numbers over a part of the samples is set aside, and what
        counts is whether all was asked that it asked for. The test is skipped, since it neither passes nor fails.
        """
        aside: BaseException | None = None
        try:
            yield
            with test_errors():
                self._measure_robustness()
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
            if not self.results and not self._unmeasured and not self._failed_calls:
                raise
            aside = error
        text = f"{shard} was asked, and not judged"
        if self.results and aside is not None and not isinstance(aside, AssertionError | pytest.skip.Exception):
            what = str(aside).partition("\n")[0] or type(aside).__name__
            self.results[0].warn(f"in {shard} the test's body ended by {harmless(what)}")
        self._conclude("skipped", text)
        raise pytest.skip.Exception(text, _use_item_location=True) from None

    def end(self) -> None:
        """Settle what fixtures evaluated for a body that never ran, and fail for what they call after it returned."""
        if not self.settled_at_end and (self.results or self._failed_calls or self._unmeasured):
            self._conclude(self.setup_outcome, "a fixture evaluated, and the test's body did not run")
        if self._late:
            pytest.fail(harmless(self._late), pytrace=False)

    def _conclude(self, outcome: Outcome, message: str) -> None:
        violations = self._settle()
        texts = [violation.text for violation in violations]
        infrastructure = bool(violations) and all(violation.infrastructure for violation in violations)
        self._close("failed" if violations else outcome, "; ".join(texts) or message, infrastructure)
        if violations:
            self._why = harmless("; ".join(texts))
            pytest.fail(harmless("\n".join([*self._tables(), *self._mistakes] or texts)), pytrace=False)

    def describe(self, report: pytest.TestReport) -> None:
        """Give the report one line on why the test failed, and of an assertion of its own the evals' tables."""
        # What was refused before it measured anything has nothing to add to its sentence.
        tables = self._tables() if self.results else []
        crash = getattr(report.longrepr, "reprcrash", None)
        if self._why and crash is not None:
            # Where CI is set pytest's short summary has the whole message, which would be the tables again.
            crash.message = f"{crash.message.partition(chr(10))[0]}: {self._why}"
        if tables and tables[0] not in str(report.longrepr):
            report.sections.append(("audiobench", "\n".join(tables)))

    def _tables(self) -> list[str]:
        """The evals' tables, as they are printed when one fails; no line of them is a command to a CI's runner."""
        tables = []
        for record in self._records:
            parts = [failure_table(record.metrics, record.verdicts, record.scorers)] if record.scorers else []
            parts += [regression_table(record.regressions, record.scorers)] if record.regressions else []
            if parts:
                tables.append(harmless("\n\n".join([f"{record.eval} ({record.model})", *parts])))
        return tables

    def _settle(self) -> list[Violation]:
        self.settled_at_end = True
        for result in self.results:
            # A check asks nothing: what is required was measured before, or the test failed before it could be.
            result.beside = None
        unmeasured = [Violation(self._unmeasured, infrastructure=True)] if self._unmeasured else []
        failed_calls = [Violation(text) for text in self._failed_calls]
        if not self.results:
            nothing = f"{self._eval_item.eval} asked for `evaluate` and evaluated nothing: call it, or skip the test"
            return unmeasured or failed_calls or [Violation(nothing)]
        violations, mistakes = self._requirements.settle(self._evaluations, self._refused)
        mistakes = [*mistakes, *self._unused_corrections()]
        self._mistakes = [*mistakes, *(violation.text for violation in [*failed_calls, *unmeasured])]
        return [*violations, *(Violation(text) for text in mistakes), *failed_calls, *unmeasured]

    def _unused_corrections(self) -> list[str]:
        """Corrections of an evaluation by name that this test never made, in sentences."""
        names = [name for name in self._session.corrections if name.partition(":")[0] == self._eval_item.eval]
        evaluated = {record.eval for record in self._records}
        return [f"--ab-corrections={name}: the test made no such evaluation" for name in names if name not in evaluated]

    @contextmanager
    def _instrument_errors(self) -> Iterator[None]:
        """As test_errors: a disk that is full, or a model's process that died, fails the test as the instrument's."""
        with test_errors():
            try:
                yield
            except InfrastructureError as error:
                self._unmeasured = self._unmeasured or harmless(str(error))
                raise

    def _check_open(self, what: str) -> None:
        if self.settled_at_end:
            self._late = f"{self._eval_item.eval} cannot {what} once its test has returned: do it in the test's body"
            raise UsageError(self._late)

    def _close(self, outcome: Outcome, message: str, infrastructure: bool = False) -> None:
        """Write the items' records; ``infrastructure``: the test fails for nothing but what could not be compared."""
        with test_errors():
            try:
                with disk_errors(self._session.place.folder):
                    for base, handle in self._bases:
                        self._remember(base.result.record, handle, 0)
                        write_compared(self._session.place.parts, base.result.record, ())
                        write_record(self._session.place.parts, base.result.record)
                    for evaluation in self._evaluations:
                        self._write(evaluation.result.record, outcome, message, evaluation)
                    for record in self._refused:
                        own = (record.outcome, record.message) if record.message else (outcome, message)
                        self._write(record, *own, None)
            except InfrastructureError:
                infrastructure = infrastructure or outcome != "failed"
                raise
            finally:
                self.of_instrument = infrastructure

    def _write(self, record: ItemRecord, outcome: Outcome, message: str, evaluation: Evaluation | None) -> None:
        warnings = list(record.warnings)
        if evaluation is not None:
            changes: dict[str, str] = {}
            if (compared := self._requirements.compared(evaluation)) is not None:
                write_compared(self._session.place.parts, record, _noted(compared, changes))
            which = self._session.options.report_audio
            parts, spoken = self._session.place.parts, self._session.bench.store.sounds
            warnings += write_excerpts(parts, evaluation, self._handle, which, changes, spoken)
            if evaluation.selection.dataset.withheld:
                from pytest_audiobench.report.submission_file import write_submission

                places = self._session.places(Path(self._item.path).parent)
                with test_errors():
                    text = write_submission(self._session.place.folder, evaluation, places)
                warnings.append(text.replace(f"{self._item.config.rootpath}{os.sep}", ""))
            again = sum(counts.asked + counts.known for counts in self._asked_again.get(record.eval, ()))
            self._remember(record, self._handle, again)
        for counts in self._asked_again.get(record.eval, ()):
            record = replace(record, asking=_with(record.asking, counts))
        if self._as_it_is is not None and record.eval == self._as_it_is[2].eval:
            record = replace(record, asking=replace(record.asking, asked=record.asking.asked + self._asked_beside))
        record = replace(record, outcome=outcome, message=repaired(message)[0], warnings=warnings)
        if evaluation is None:
            write_part(self._session.place.parts, record, Lines())
        else:
            write_record(self._session.place.parts, record)
        self._item.user_properties.extend(properties(record))

    def _remember(self, record: ItemRecord, handle: ModelHandle, again: int) -> None:
        """Leave a note of what an evaluation took, for the plans of later runs."""
        if not record.limited:
            prompt, sets = self._session.options.prompt, self._session.prompts
            remember(self._session.bench.store, handle, self._eval_item.eval, record, prompt, sets, again)


def _noted(rows: Iterable[ComparedRow], changes: dict[str, str]) -> Iterator[ComparedRow]:
    """The same rows, of which those that are no longer the same are noted by id."""
    for row in rows:
        if row.change != "same":
            changes[row.sample_id] = row.change
        yield row


def _with(asking: AskingRecord, again: Counts) -> AskingRecord:
    """``asking`` with the answers to the same asked again."""
    return replace(
        asking,
        again=asking.again + again.asked,
        reused=asking.reused + again.reused,
        oldest=min(filter(None, (asking.oldest, again.oldest)), default=None),
        newest=max(filter(None, (asking.newest, again.newest)), default=None),
    )
