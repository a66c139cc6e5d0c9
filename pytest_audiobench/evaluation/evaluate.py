"""One eval from data to numbers: samples selected, answers collected, scored, estimated, recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from pytest_audiobench.audio.cell_spool import SPOOL
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.audio.signals import SILENT_CLIP
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.spool import MOST_IN_MEMORY, spooled
from pytest_audiobench.errors import UnsuitableModel, UsageError
from pytest_audiobench.evaluation import speed
from pytest_audiobench.evaluation.answer_alarms import RepeatedAnswers, UnreadableAnswers, wants_answers
from pytest_audiobench.evaluation.answer_collection import answer_portions
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.evaluation.batch_executor import BatchExecutor, BatchLocks, Progress, Reuse
from pytest_audiobench.evaluation.garbage_collection import collector_paused
from pytest_audiobench.evaluation.hashes import ABSENT, ItemDigest
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.requests import settings_payload
from pytest_audiobench.evaluation.result import Result
from pytest_audiobench.evaluation.sample_answers import AnswerSpool, SampleAnswers
from pytest_audiobench.evaluation.score_columns import ScoreColumns
from pytest_audiobench.evaluation.scoring import EvalScores, ScoredSample, ScoreSheet, are_unreadable
from pytest_audiobench.evaluation.selection import Selection, select
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.value import value_text
from pytest_audiobench.protocols.protocol import ALL, Protocol, Scorer
from pytest_audiobench.records.run import (
    AskingRecord,
    CoverageRecord,
    ErrorRecord,
    ItemRecord,
    PerturbationRecord,
    ShardRecord,
    StageRecord,
    StopVerdict,
)

if TYPE_CHECKING:
    from pytest_audiobench.evaluation.human_labels import HumanLabels
    from pytest_audiobench.evaluation.timings import Timings
    from pytest_audiobench.protocols.prompt_sets import PromptSet
_ERRORS_NAMED = 20
_CANARIES_NAMED = 3


@dataclass(frozen=True)
class RunContext:
    """What all evals of a run share on this machine."""

    run: str
    store: Store
    locks: BatchLocks
    index: AudioIndex
    limit: int | None = None
    epochs: int = 1
    scorers: tuple[str, ...] = ()
    prompts: Sequence[PromptSet] = ()
    encoder: str = ""
    judges: Mapping[str, ModelHandle] = field(default_factory=dict)
    human_labels: HumanLabels | None = None
    reuse: Reuse = field(default_factory=Reuse)

    def executor(self, handle: ModelHandle, test: str, progress: Progress) -> BatchExecutor:
        """What asks a model, or a judge, for a test."""
        canaries = self.reuse.draw(test, handle.alias)
        return BatchExecutor(handle, self.store, self.locks, progress, self.reuse.fresh, canaries)


Keeper: TypeAlias = Callable[[Sequence[SampleAnswers], Mapping[str, Sequence[ScoredSample]]], None]
"""Is given the answers of some samples, in their order, and what each scorer made of them."""


Look: TypeAlias = Callable[[Mapping[str, Sequence[ScoredSample]]], "StopVerdict | None"]
"""Is given what each scorer made of the samples since the look before; says whether the eval is decided."""


@dataclass(frozen=True)
class EvalSpec:
    """One eval × model as the run names it."""

    index: int
    """Its place in the collection."""
    nodeid: str
    eval: str
    suite: str
    places: Places
    samples: int | None = None
    """How many it wants; None for all."""
    part: int = 0
    control: bool = False
    shard: ShardRecord | None = None
    """Whose windows alone are asked; None for all."""
    progress: Callable[[int, int, str], None] = field(default=lambda done, total, figure: None)
    """Is told how many answers are there, of how many, and of a long eval what they come to so far."""
    ready: Callable[[Selection, Protocol], None] = field(default=lambda selection, protocol: None)
    """Called with what is to be asked, before the first request; may raise to prevent it."""
    keeper: Callable[[Selection, Protocol], Keeper] | None = None
    """Called then; what it gives is given the answers as they come."""
    looker: Callable[[Selection, Protocol], Look | None] = field(default=lambda selection, protocol: None)
    """Called then; by what it gives the eval may be stopped early. None: it is asked to its end."""
    turn: int = 0
    """How many samples are asked before another model has its turn; 0 where there is none."""


@dataclass(frozen=True)
class Evaluation:
    """A finished eval: the result for the test, and the rows that the report's files are written from."""

    result: Result
    selection: Selection
    protocol: Protocol
    answers: Sequence[SampleAnswers]
    rows: Mapping[str, Sequence[ScoredSample]]
    columns: Mapping[str, ScoreColumns]
    """The same rows by scorer, without what was asked and said."""
    lasting: int
    """Samples × epochs whose asking failed until a user acts."""
    timings: Timings | None = None
    """What was timed of it; None where no other model was asked in turns with it."""


Turns: TypeAlias = "Generator[None, None, Evaluation]"
"""An evaluation that stops before its first request, and after each turn."""


def evaluate(
    context: RunContext, handle: ModelHandle, spec: EvalSpec, dataset: Dataset, protocol: Protocol
) -> Evaluation:
    """Evaluate a model on a data set slice by a protocol.

    Raises DataNotFound when the data set is absent, UnsuitableModel when the model is of another kind, UsageError for a
    mistake in either, FatalError when the model cannot be asked at all. A single sample's failure is recorded.
    """
    return evaluate_in_turns([evaluation_in_turns(context, handle, spec, dataset, protocol)])[0]


@collector_paused()
def evaluate_in_turns(several: Sequence[Turns]) -> list[Evaluation]:
    """The evaluations of ``several``, a turn of each after one of the others: who begins a round was last in the one
    before, so that what drifts meets all alike. Raises as :func:`evaluate`, for the first that does.
    """
    finished: dict[int, Evaluation] = {}
    order = list(range(len(several)))
    while len(finished) < len(several):
        for place in order:
            if place not in finished:
                try:
                    next(several[place])
                except StopIteration as end:
                    finished[place] = end.value
        order.reverse()
    return [finished[place] for place in sorted(finished)]


def evaluation_in_turns(
    context: RunContext, handle: ModelHandle, spec: EvalSpec, dataset: Dataset, protocol: Protocol
) -> Turns:
    """What :func:`evaluate` does, in turns."""
    protocol, cautions = _configured_protocol(protocol, context, dataset.name)
    if dataset.withheld:
        protocol = protocol.without_references()
    _check_feasible(handle, dataset, protocol)
    selection = select(dataset, spec.places, context.index, handle, context.limit, spec.samples, spec.shard)
    # After the data: where that is absent, nothing else is needed.
    check_scorers(protocol)
    protocol = protocol.fitting(selected.sample for selected in selection.samples)
    labels = None
    # People labelled answers to the eval as it is, not those to what a control or a perturbation makes of it.
    if context.human_labels is not None and not spec.control:
        ids = {selected.sample.id for selected in selection.samples}
        labels = context.human_labels.of((spec.eval, spec.suite), handle.alias, ids)
        protocol = protocol if labels is None else labels.beside(protocol)
    spec.ready(selection, protocol)
    keep = None if spec.keeper is None else spec.keeper(selection, protocol)
    look = spec.looker(selection, protocol)
    in_portions = look is not None or bool(spec.turn)
    progress = _RunningScore(spec.progress, len(selection.samples), protocol.scorers[0], in_portions)
    executor = context.executor(handle, spec.nodeid, progress)
    judges = judge_executors(context, protocol, spec.nodeid, progress)
    spool = AnswerSpool(selection.samples)
    answers: Sequence[SampleAnswers] = spool
    timings = None
    if spec.turn:
        from pytest_audiobench.evaluation.timings import Timings

        timings = Timings(executor)
    yield
    portions = answer_portions(
        selection, protocol, executor, context.epochs, judges, spool, look is not None, spec.turn
    )
    # What a scorer makes of all answers at once is known when all are there.
    if dataset.left_out or any(scorer.together for scorer in protocol.scorers):
        whole: list[SampleAnswers] = []
        for portion in portions:
            whole += [sample for sample in portion if sample.sample_id not in dataset.left_out]
            if timings is not None:
                timings.add(portion)
                yield
        answers, portions = whole, iter([whole])
        if dataset.left_out:
            selection = selection.without(dataset.left_out)
    sheet = ScoreSheet(protocol, selection, context.epochs)
    digest, tally, stopped = ItemDigest(protocol), _Tally(handle.listens, dataset.perturbation is not None), None
    repeated = RepeatedAnswers(protocol)
    for portion in portions:
        if timings is not None and answers is spool:
            timings.add(portion)
            yield
            if not portion:
                continue
        rows = sheet.add(portion)
        digest.add(portion)
        tally.add(portion)
        progress.add(rows[protocol.scorers[0].name])
        repeated.add(rows[protocol.scorers[0].name])
        if keep is not None:
            keep(portion, rows)
        if look is not None and tally.n < len(selection.samples) and (stopped := look(rows)) is not None:
            selection = replaced(selection, samples=spooled(islice(selection.samples, tally.n)))
            break
    if len(spool) < tally.n:
        answers = portion  # of an eval that is asked whole
    SPOOL.forget()  # the next eval's clips want the room
    for each in (executor, *judges.values()):
        context.reuse.spend(spec.nodeid, each.handle.alias, each.counts.canaries + each.counts.failed_again)
    failed_canaries = [failure for each in (executor, *judges.values()) for failure in each.failed_canaries]
    scores = sheet.scores(answers)
    perturbation = None
    if change := dataset.perturbation:
        perturbation = PerturbationRecord(change.name, change.family, change.dose, change.unit, change.harder)
    # A replay or a guess is not a model at work: how fast it is would only be misread.
    taken = tally.speed.sums(executor.time, handle.peak_memory_bytes) if handle.listens else {}
    record = ItemRecord(
        index=spec.index,
        nodeid=spec.nodeid,
        eval=spec.eval,
        suite=spec.suite,
        model=handle.alias,
        dataset=dataset.name,
        protocol=protocol.name,
        n=len(selection.samples),
        epochs=context.epochs,
        limited=selection.limited,
        size=selection.size if selection.limited else None,
        stopped=stopped,
        published=[row for row in dataset.published if (row.perturbation is None) == dataset.is_as_published],
        averages=dataset.averages,
        pooled=dataset.pooled,
        scorers=scores.scorers,
        metrics=scores.metrics,
        hashes=digest.hashes(
            dataset.name,
            handle.digest,
            context.epochs,
            {alias: judge.handle.digest for alias, judge in judges.items()},
        ),
        taken=taken,
        speed=speed.figures(taken),
        asking=AskingRecord(
            **vars(executor.counts), truncated_clips=tally.truncated, not_applicable=tally.not_applicable
        ),
        errors=[*tally.errors.records, *(ErrorRecord(*failure) for failure in failed_canaries[:_CANARIES_NAMED])],
        judges={
            alias: AskingRecord(**vars(judge.counts), errors=tally.failed_verdicts[alias])
            for alias, judge in judges.items()
        },
        options=dict(protocol.options),
        groups=list(selection.groups),
        cluster=dataset.cluster,
        part=spec.part,
        control=spec.control,
        agreement=scores.agreement,
        perturbation=perturbation,
        stages=[
            StageRecord(stage.name, stage.role, stage.task, settings_payload(stage), stage.judge, stage.version)
            for stage in protocol.stages
        ],
    )
    warnings = [*_warnings(record, selection, protocol, tally), *cautions, *_unreadable_verdicts(scores, protocol)]
    if labels is not None:
        warnings += labels.notes(scores.metrics, scores.rows, protocol.scorers)
    coverage = scores.scorers[0].coverage
    # A judge that is not understood is not a finding about what is asked in addition, as a model's own answers may be.
    is_weighed = not spec.control or bool(protocol.scorers[0].judge)
    if is_weighed and are_unreadable(coverage.parsed, coverage.n - coverage.errors):
        unreadable = UnreadableAnswers(protocol, scores.rows[protocol.scorers[0].name])
        warnings += unreadable.alarm() if wants_answers(perturbation) else []
    # What does not listen, such as a baseline that always says the same, is no finding.
    if handle.listens and not spec.control and wants_answers(perturbation):
        warnings += repeated.alarm()
    result = Result(replace(record, warnings=warnings), scores, protocol.scorers)
    return Evaluation(result, selection, protocol, answers, scores.rows, scores.columns, tally.lasting, timings)


class _RunningScore:
    """How far an eval has come: of one in portions in all, and what its headline comes to so far."""

    def __init__(
        self, report: Callable[[int, int, str], None], samples: int, scorer: Scorer, in_portions: bool
    ) -> None:
        self._in_portions = in_portions or samples > MOST_IN_MEMORY
        self._report, self._samples, self._kind = report, samples, metric_kind(scorer.metrics[0])
        self._added, self._top, self._whole, self._figure = 0, 0.0, 0.0, ""

    def __call__(self, done: int, total: int) -> None:
        before = self._added % max(1, self._samples)
        self._report(before + done, self._samples if self._in_portions else total, self._figure)

    def add(self, rows: Sequence[ScoredSample]) -> None:
        """Take in the headline's rows of a portion."""
        self._added += len(rows)
        if self._kind.parts is None or len(rows) >= self._samples:
            return
        for row in rows:
            if row.scores is not None:
                top, whole = self._kind.parts(row.scores)
                self._top, self._whole = self._top + top, self._whole + whole
        if self._whole:
            value = value_text(self._top / self._whole)
            self._figure = f", {self._kind.name} {value} of {self._added} so far"


class _Tally:
    """What is counted of answers as they come."""

    def __init__(self, listens: bool, is_perturbed: bool) -> None:
        self.n = self.truncated = self.lasting = self._silent = 0
        self.longest_cut_s = 0.0
        self.failed_verdicts: Counter[str] = Counter()
        self.speed, self.errors = speed.Taken(), FirstErrors()
        self._listens, self._is_perturbed = listens, is_perturbed

    @property
    def not_applicable(self) -> int:
        """Samples without which the perturbation measures the others; 0 where it is defined for none."""
        return self._silent if self._silent < self.n else 0

    def add(self, answers: Sequence[SampleAnswers]) -> None:
        self.n += len(answers)
        for sample in answers:
            is_silent = self._is_perturbed and sample.lasting and SILENT_CLIP in (sample.error or "")
            self._silent += is_silent
            self.lasting += sample.lasting and not is_silent
            cuts_s = [max(each.truncated_s) for each in sample.responses.values() if each.truncated_s]
            if cuts_s:
                self.truncated += 1
                self.longest_cut_s = max(self.longest_cut_s, *cuts_s)
            if sample.verdicts:
                self.failed_verdicts.update(stage.partition("@")[2] for stage, _ in failed_verdicts(sample))
        self.errors.add(answers)
        if self._listens:
            self.speed.add(answers)


def _configured_protocol(protocol: Protocol, context: RunContext, data: str) -> tuple[Protocol, Sequence[str]]:
    """``protocol`` with the run's wordings, scorers and judges, and what a reader must know of these."""
    if context.encoder:
        from pytest_audiobench.protocols.prompt_variants import with_other_encoder

        protocol = with_other_encoder(protocol, context.encoder)
    if context.prompts:
        from pytest_audiobench.protocols.prompt_variants import with_chosen_prompts

        protocol = with_chosen_prompts(protocol, context.prompts, data)
    if context.judges and not protocol.judgings:
        protocol = _with_named_judgings(protocol, context.scorers)
    protocol = with_named_scorers(protocol, context.scorers)
    cautions: Sequence[str] = ()
    if protocol.judgings or any(stage.role != "subject" for stage in protocol.stages):
        from pytest_audiobench.evaluation.judging import with_judges, with_rewriters

        protocol, cautions = with_judges(with_rewriters(protocol, context.judges), context.judges)
    return protocol, cautions


def _with_named_judgings(protocol: Protocol, names: Sequence[str]) -> Protocol:
    """``protocol``, of which judges can be asked, where a scorer of their verdicts is named that it has not itself."""
    from pytest_audiobench.protocols.judged.task import judged, shipped

    of_judges = {scorer.name for judging in shipped() for scorer in judging.scorers}
    wanted = of_judges.intersection(names) and not of_judges & protocol.available.keys()
    return judged(protocol) if wanted else protocol


def with_named_scorers(protocol: Protocol, names: Sequence[str]) -> Protocol:
    """``protocol``, read by those of the scorers that it has; other names belong to other evals' protocols."""
    if any(name not in protocol.available and name != ALL for name in names):
        protocol = protocol.extended()
    scorers = [name for name in names if name in protocol.available or name == ALL]
    return protocol.with_scorers(*scorers) if scorers else protocol


def _check_feasible(handle: ModelHandle, dataset: Dataset, protocol: Protocol) -> None:
    for stage in protocol.stages:
        if stage.role == "subject" and stage.task not in handle.limits.tasks:
            can = " and ".join(handle.limits.tasks)
            only = f"{handle.spec} can do {can} and nothing else"
            raise UnsuitableModel(f"{only}, and {dataset.name} asks it for {stage.task}")
        if stage.settings.speech and not handle.limits.speaks:
            raise UnsuitableModel(
                f"{handle.spec} answers in text alone, and {dataset.name} is to be answered in speech: name a model "
                "that speaks, such as openai:NAME,voice=alloy or baseline:echo"
            )


def check_scorers(protocol: Protocol) -> None:
    """Raises UsageError for a scorer whose libraries are not installed."""
    # What a score needs is looked for before the model is asked, or hours of answers would end in a missing library.
    for scorer in protocol.scorers:
        if lacking := scorer.missing_parts():
            raise UsageError(f"the scorer {scorer.name} cannot be used here: {lacking}")


class FirstErrors:
    """The first samples whose asking failed, and why; behind them those whose verdicts could not be had."""

    def __init__(self) -> None:
        self._asking: list[ErrorRecord] = []
        self._judging: list[ErrorRecord] = []

    def add(self, answers: Iterable[SampleAnswers]) -> None:
        for sample in answers:
            if sample.error is not None and len(self._asking) < _ERRORS_NAMED:
                self._asking.append(ErrorRecord(sample.sample_id, str(sample.error)))
            if sample.verdicts and len(self._judging) < _ERRORS_NAMED:
                failed = failed_verdicts(sample)
                self._judging += [ErrorRecord(sample.sample_id, f"{stage}: {error}") for stage, error in failed]

    @property
    def records(self) -> list[ErrorRecord]:
        return [*self._asking, *self._judging][:_ERRORS_NAMED]


def _unreadable_verdicts(scores: EvalScores, protocol: Protocol) -> list[str]:
    """What a judge said that was not a verdict, once for each judging of each judge, as its first scorer reads it.

    Behind that come those of its agreement with others, whose coverage is that of answers which both could read.
    """
    coverages: dict[str, CoverageRecord] = {}
    for scorer, record in zip(protocol.scorers, scores.scorers, strict=True):
        if scorer.judge:
            coverages.setdefault(scorer.judge, record.coverage)
    # Of an answer without audio nothing is heard, and who listens is not asked.
    unasked = {stage.name for stage in protocol.stages if stage.hears}
    judged = [
        (judge, each.n - each.errors - (each.empty if judge in unasked else 0), each.parsed)
        for judge, each in coverages.items()
    ]
    return [f"{n - parsed} of {n} verdicts of {judge} could not be read" for judge, n, parsed in judged if parsed < n]


def failed_verdicts(sample: SampleAnswers) -> list[tuple[str, str]]:
    """The stages whose verdict on an answer could not be had, each with its error."""
    return [(stage, verdict.error) for stage, verdict in sample.verdicts.items() if verdict.error is not None]


def judge_executors(context: RunContext, protocol: Protocol, test: str, progress: Progress) -> dict[str, BatchExecutor]:
    """The judges that a protocol names, ready to be asked."""
    aliases = dict.fromkeys(stage.judge for stage in protocol.stages if stage.judge)
    return {alias: context.executor(context.judges[alias], test, progress) for alias in aliases}


def _warnings(record: ItemRecord, selection: Selection, protocol: Protocol, tally: _Tally) -> list[str]:
    warnings = [*selection.notes, *protocol.notes]
    if record.stopped is not None:
        warnings.append(f"{record.stop_text}; its numbers are never comparable with another run's")
    elif record.limited and selection.shard is None:
        limit = f"limited to {record.n} of {selection.size} samples"
        warnings.append(f"{limit}: its numbers are never comparable with a full run's")
    if record.asking.not_applicable and record.perturbation:
        samples = f"{record.asking.not_applicable} of {tally.n} samples"
        warnings.append(f"{record.perturbation.name} is not applicable to {samples}: it is {SILENT_CLIP}")
    truncated = record.asking.truncated_clips
    if truncated:
        share = f"{truncated} of {tally.n} samples"
        warnings.append(f"{share} were cut to the model's window (up to {tally.longest_cut_s:.1f} s lost)")
    for count, text in (
        (record.asking.noise, "answers differed when asked again"),
        (record.asking.damaged, "stored answers were damaged and not used"),
        (record.asking.repaired, "texts had invalid characters or were cut"),
        (record.asking.oom_splits, "batches were split because memory ran out"),
    ):
        if count:
            warnings.append(f"{count} {text}")
    if record.hashes["audio"] == ABSENT and record.n:
        warnings.append("the audio is not on this machine: the answers are scored without a clip's identity")
    return warnings
