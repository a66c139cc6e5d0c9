"""The ``evaluate`` fixture's object: one test's evaluations, what it recorded, and what it must still answer for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.errors import InstrumentGone, NotComparable, UsageError
from pytest_audiobench.evaluation.batch_executor import BatchExecutor
from pytest_audiobench.evaluation.evaluate import EvalSpec, Evaluation, evaluate, judges_of
from pytest_audiobench.evaluation.lazy_model import ModelHandle
from pytest_audiobench.evaluation.model_notes import keep_hearing, keep_noise
from pytest_audiobench.evaluation.record import ItemRecord, MetricRecord, Outcome
from pytest_audiobench.evaluation.rerun import RerunVariant
from pytest_audiobench.evaluation.result import Result, as_metric
from pytest_audiobench.evaluation.scoring import ScoredSample, score
from pytest_audiobench.gate.thresholds import parse_threshold
from pytest_audiobench.metrics.sanitise import number
from pytest_audiobench.metrics.value import Metric
from pytest_audiobench.models.model import Hearing
from pytest_audiobench.plugin.error_mapping import harmless, test_errors
from pytest_audiobench.plugin.eval_items import EvalItem
from pytest_audiobench.plugin.model_announcement import present_judges, present_model
from pytest_audiobench.plugin.requirements import Requirements, Violation
from pytest_audiobench.plugin.session import EvalSession
from pytest_audiobench.plugin.stash import INSTRUMENT, REQUIRED
from pytest_audiobench.plugin.threshold_checks import asking_failed
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.report.item_lines import lines_of
from pytest_audiobench.report.junit import properties
from pytest_audiobench.report.page.excerpts import write_excerpts
from pytest_audiobench.report.run_parts import Lines, write_part

if TYPE_CHECKING:
    from pytest_audiobench.protocols.reasoned_choice.styles import StyleName


class Evaluator:
    """``evaluate(dataset, protocol)`` asks the model and returns the :class:`Result`.

    A test may evaluate several times when it names each: ``evaluate(…, name="noisy")``. Thresholds that are
    declared for the eval are checked when the test's body returns, whether or not it asserts anything.
    """

    def __init__(self, session: EvalSession, item: pytest.Item, named: EvalItem, handle: ModelHandle) -> None:
        self._session, self._item, self._named, self._handle = session, item, named, handle
        self._evaluations: list[Evaluation] = []
        self._refused: list[ItemRecord] = []
        self._duties = Requirements(session, item, named.eval, handle)
        self._settled = False
        self.beyond_tables: list[str] = []
        self.unmeasured = ""
        """Why an evaluation measured nothing, where that says nothing of the model: refused, or its process died."""

    @property
    def model(self) -> ModelHandle:
        """The model that is evaluated: its alias, device, limits, whether it listens."""
        return self._handle

    def note_hearing(self, dataset: Dataset, hearing: Hearing) -> None:
        """Put on record what a listening eval on ``dataset`` showed of the model's hearing."""
        keep_hearing(self._session.bench.store, self._handle, dataset.name, hearing)
        self._present()

    @property
    def style(self) -> StyleName:
        """How the model is asked to reason: as ``--ab-style`` says, or the run that is replayed, else as its name does.

        Raises UsageError for a style that there is not.
        """
        from pytest_audiobench.protocols.reasoned_choice.styles import model_style, style_named

        with test_errors():
            recorded = self._handle.style
            return self._session.style or (style_named(recorded).name if recorded else model_style(self._handle.spec))

    @property
    def results(self) -> list[Result]:
        """The results so far, in order."""
        return [evaluation.result for evaluation in self._evaluations]

    @property
    def records(self) -> list[ItemRecord]:
        """The records of what was evaluated, then of what was refused, which measured nothing."""
        return [result.record for result in self.results] + self._refused

    def __call__(
        self,
        dataset: Dataset | str,
        protocol: Protocol,
        *,
        name: str | None = None,
        samples: int | None = None,
        control: bool = False,
        scorers: str | Sequence[str] | None = None,
    ) -> Result:
        """Evaluate the model on ``dataset`` by ``protocol``.

        With ``samples`` only the first so many are taken, in the order of their ids' hashes (and up to the end of a
        window where batches are planned): the same on every machine, and their answers are shared with evals of the
        whole. A ``control`` only serves a comparison: no threshold holds it unless one names it
        (``eval = "test:name"``), and it is not pooled with its suite.
        ``scorers`` are the scorers to use in place of the protocol's own, by name, the first as the headline;
        "all" takes every one that this machine has the parts for, and the record warns of the others.
        ``--ab-scorer`` goes before them.
        Raises UsageError for a second evaluation without a name of its own, and whatever
        :func:`pytest_audiobench.evaluation.evaluate.evaluate` raises.
        """
        with test_errors():
            found = self._registered(dataset) if isinstance(dataset, str) else dataset
            if scorers is not None:
                protocol = protocol.with_scorers(*([scorers] if isinstance(scorers, str) else scorers))
            return self._evaluate(found, protocol, self._next(name, samples, control))

    def _next(self, name: str | None, samples: int | None, control: bool) -> EvalSpec:
        self._check_open("evaluate")
        if samples is not None and samples < 1:
            raise UsageError(f"{self._named.eval} wants samples={samples}: ask for one or more, or None for all")
        eval_ = f"{self._named.eval}:{name}" if name else self._named.eval
        if any(record.eval == eval_ for record in self.records):
            raise UsageError(f"{eval_} was evaluated already in this test: give each evaluation a name=")
        return EvalSpec(
            index=self._named.number,
            nodeid=self._item.nodeid,
            eval=eval_,
            suite=self._named.suite,
            places=self._session.places(Path(self._item.path).parent),
            samples=samples,
            part=len(self.records),
            control=control,
            progress=self._session.progress.of(eval_),
            ready=self._duties.ahead(eval_, control),
        )

    def _evaluate(self, dataset: Dataset, protocol: Protocol, item: EvalSpec) -> Result:
        try:
            evaluation = evaluate(self._session.bench, self._handle, item, dataset, protocol)
        except (NotComparable, InstrumentGone) as error:
            self.unmeasured = self.unmeasured or harmless(str(error))
            if isinstance(error, NotComparable):
                self._refused.append(self._duties.refusal(item, dataset, protocol))
                self._session.place.open()
            raise
        self._present()
        present_judges(self._session.place, (self._session.judges[one] for one in evaluation.result.record.judges))
        self._evaluations.append(evaluation)
        self._item.config.hook.pytest_audiobench_result_ready(item=self._item, result=evaluation.result)
        return evaluation.result

    def ask_again(
        self, result: Result, perturbation: RerunVariant, options: Mapping[str, str] | None = None
    ) -> list[list[ScoredSample]]:
        """Ask what ``result`` was made of again, under ``perturbation``, as its headline protocol reads it.

        With ``options`` (such as ``{"dtype": "bfloat16"}``) the model is made anew with these options in place of its
        own. Returns one list in hash order for each copy that the perturbation asks. Answers are kept in the store;
        askings that fail count towards ``--ab-max-errors``.
        """
        evaluation = next(one for one in self._evaluations if one.result is result)
        bench, scorer = self._session.bench, evaluation.protocol.scorers[0]
        progress = self._session.progress.of(f"{result.record.eval} ({perturbation.name})")
        clusters = [row.cluster for row in result.headline_rows][: result.n]
        with test_errors(), self._session.variant(self._handle, options or {}) as handle:
            asker = BatchExecutor(handle, bench.store, bench.claims, progress)
            judges = judges_of(bench, evaluation.protocol, progress)
            copies = perturbation.ask(evaluation.slice, evaluation.protocol, asker, judges)
        failed = [one for answered in copies for one in answered if one.error is not None]
        asking, errors = result.record.asking, result.record.errors
        asking["failed_again"] = asking.get("failed_again", 0) + len(failed)
        errors += [{"sample_id": one.sample_id, "message": f"{perturbation.name}: {one.error}"} for one in failed[:3]]
        return [score(scorer, answered, clusters) for answered in copies]

    def note_noise(self, noise: Mapping[str, Any]) -> None:
        """Put the model's noise floor on record: how far its own repetitions differ."""
        keep_noise(self._session.bench.store, self._handle, noise)
        self._present()

    def record(
        self,
        name: str,
        value: Any,
        *,
        direction: Literal["higher", "lower"] = "higher",
        unit: str = "",
        group: Mapping[str, str] | None = None,
    ) -> Metric:
        """Record a number of the test's own beside the eval's metrics; thresholds may name it once it is registered.

        ``group`` says for which part it holds, such as ``{"perturbation": "batch-3"}``.

        A :class:`Metric` (such as ``heard.gain_over(silent)``) keeps its own interval, n, unit, direction and method.
        Raises UsageError for a value that is no number. NaN and infinity are kept as "no number", on
        which every threshold fails.
        """
        with test_errors():
            self._check_open("record a number")
            found = number(value, name)
        finite = found == found and abs(found) != float("inf")
        given = value if isinstance(value, Metric) else Metric(found, name=name, n=1, unit=unit, direction=direction)
        method = given.method or "recorded by the test"
        record = MetricRecord(
            name=name,
            value=found if finite else None,
            lower=given.lower,
            upper=given.upper,
            n=given.n,
            unit=given.unit,
            direction=given.direction,
            method=method if finite else f"recorded by the test as {found}, which is no number",
            group=dict(group or {}),
        )
        self._duties.recorded.append(record)
        metric = as_metric(record, {})
        self._item.config.hook.pytest_audiobench_metric_recorded(item=self._item, metric=metric)
        return metric

    def require(self, *thresholds: str) -> None:
        """Declare thresholds in code, such as ``"accuracy[hop=multi] >= 0.3"``; checked like those of audiobench.toml.

        Raises UsageError for a threshold that cannot be read.
        """
        with test_errors():
            self._check_open("require")
            self._duties.required += [parse_threshold(text) for text in thresholds]
            self._item.user_properties.append((REQUIRED, str(len(self._duties.required))))

    def settle(self) -> list[Violation]:
        """Check everything declared for this eval; what is wrong with it. Called when the body has returned."""
        self._settled = True
        unmeasured = [Violation(self.unmeasured, instrument=True)] if self.unmeasured else []
        if not self.results:
            nothing = f"{self._named.eval} asked for `evaluate` and evaluated nothing: call it, or skip the test"
            return unmeasured or [Violation(nothing)]
        wrong, beyond = self._duties.settle(self._evaluations, self._refused)
        self.beyond_tables = [*beyond, *(one.text for one in unmeasured)]
        return [*wrong, *(Violation(text) for text in beyond), *unmeasured]

    @property
    def unasked(self) -> bool:
        """Whether too much of the asking failed for a result to say anything of the model."""
        return any(asking_failed(result, self._session.options.max_errors) for result in self.results)

    def _check_open(self, what: str) -> None:
        if self._settled:
            raise UsageError(f"{self._named.eval} cannot {what} once its test has returned: do it in the test's body")

    def close(self, outcome: Outcome, message: str, instrument: bool = False) -> None:
        """Write the items' records: from then on they count as finished.

        ``instrument`` says that the test fails for nothing but what could not be compared.
        """
        for evaluation in self._evaluations:
            lines = lines_of(evaluation)._replace(compared=self._duties.compared(evaluation))
            self._write(evaluation.result.record, outcome, message, lines, evaluation)
        for record in self._refused:
            self._write(record, outcome, message, Lines(), None)
        if instrument:
            self._item.user_properties.append((INSTRUMENT, "failed"))

    def _write(
        self, record: ItemRecord, outcome: Outcome, message: str, lines: Lines, evaluation: Evaluation | None
    ) -> None:
        record.outcome, record.message = outcome, message
        compared = None if lines.compared is None else list(lines.compared)
        if evaluation is not None:
            changes = {row["sample_id"]: row["change"] for row in compared or () if row["change"] != "same"}
            which = self._session.options.report_audio
            record.warnings += write_excerpts(self._session.place.parts, evaluation, self._handle, which, changes)
        write_part(self._session.place.parts, record, lines._replace(compared=compared))
        self._item.user_properties.extend(properties(record))

    def _present(self) -> None:
        present_model(self._session.place, self._session.bench.store, self._handle)

    def _registered(self, name: str) -> Dataset:
        datasets = self._session.registration.datasets
        if name not in datasets:
            raise UsageError(
                f"no data set is registered as {name!r}; there are {', '.join(sorted(datasets)) or 'none'}"
            )
        return datasets[name]
