"""One eval from data to numbers: take the samples, gather the answers, read, score, estimate, record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.datasets.dataset import Dataset, Places
from pytest_audiobench.errors import CannotDo, UsageError
from pytest_audiobench.evaluation import speed
from pytest_audiobench.evaluation.batch_executor import BatchExecutor, Progress
from pytest_audiobench.evaluation.batch_locks import BatchLocks
from pytest_audiobench.evaluation.garbage_collection import collector_paused
from pytest_audiobench.evaluation.hashes import ABSENT, item_hashes
from pytest_audiobench.evaluation.judging import with_judges, with_rewriters
from pytest_audiobench.evaluation.lazy_model import ModelHandle
from pytest_audiobench.evaluation.record import ItemRecord, PerturbationRecord, StageRecord
from pytest_audiobench.evaluation.requests import settings_payload
from pytest_audiobench.evaluation.result import Result
from pytest_audiobench.evaluation.scores import EvalScores, score_answers
from pytest_audiobench.evaluation.scoring import ScoredSample
from pytest_audiobench.evaluation.selection import Selection, clusters, select
from pytest_audiobench.evaluation.stage_execution import SampleAnswers, collect_answers
from pytest_audiobench.evaluation.store import Store
from pytest_audiobench.protocols.protocol import ALL, Protocol

if TYPE_CHECKING:
    from pytest_audiobench.protocols.prompt_sets import PromptSet

_ERRORS_NAMED = 20


@dataclass(frozen=True)
class RunContext:
    """What all evals of a run share on this machine."""

    run: str
    store: Store
    claims: BatchLocks
    index: AudioIndex
    limit: int | None = None
    epochs: int = 1
    scorers: tuple[str, ...] = ()
    prompts: PromptSet | None = None
    judges: Mapping[str, ModelHandle] = field(default_factory=dict)


@dataclass(frozen=True)
class EvalSpec:
    """One eval × model as the run names it; ``index`` is its place in the collection.

    ``samples`` is how many it wants, None for all. ``ready`` is called with what is to be asked, before the first
    request, and may raise to prevent it.
    """

    index: int
    nodeid: str
    eval: str
    suite: str
    places: Places
    samples: int | None = None
    part: int = 0
    control: bool = False
    progress: Callable[[int, int], None] = field(default=lambda done, total: None)
    ready: Callable[[Selection, Protocol], None] = field(default=lambda slice_, protocol: None)


@dataclass(frozen=True)
class Evaluation:
    """A finished eval: the result for the test, and the rows that the report's files are written from."""

    result: Result
    slice: Selection
    protocol: Protocol
    answered: Sequence[SampleAnswers]
    rows: Mapping[str, Sequence[ScoredSample]]


def evaluate(
    bench: RunContext, handle: ModelHandle, item: EvalSpec, dataset: Dataset, protocol: Protocol
) -> Evaluation:
    """Evaluate a model on a data set slice by a protocol.

    Raises NotHere when the data set is absent, CannotDo when the model is of another kind, UsageError for a mistake
    in either, FatalError when the model cannot be asked at all. A single sample's failure is recorded in the result.
    """
    with collector_paused():
        return _evaluated(bench, handle, item, dataset, protocol)


def _evaluated(
    bench: RunContext, handle: ModelHandle, item: EvalSpec, dataset: Dataset, protocol: Protocol
) -> Evaluation:
    if bench.prompts is not None:
        from pytest_audiobench.protocols.prompt_variants import with_other_prompts

        protocol = with_other_prompts(protocol, bench.prompts)
    chosen = [name for name in bench.scorers if name in protocol.available or name == ALL]
    if chosen:
        protocol = protocol.with_scorers(*chosen)
    if len(chosen) < len(bench.scorers):
        _check_names(bench.scorers, protocol)
    protocol, cautions = with_judges(with_rewriters(protocol, bench.judges), bench.judges)
    _check_tasks(handle, dataset, protocol)
    _check_parts(protocol)
    slice_ = select(dataset, item.places, bench.index, handle, bench.limit, item.samples)
    protocol = protocol.fitting([one.sample for one in slice_.taken])
    item.ready(slice_, protocol)
    asker = BatchExecutor(handle, bench.store, bench.claims, item.progress)
    judges = judges_of(bench, protocol, item.progress)
    answered = collect_answers(slice_, protocol, asker, bench.epochs, judges)
    sheet = score_answers(protocol, answered, clusters(slice_), slice_.groups, bench.epochs)
    record = ItemRecord(
        index=item.index,
        nodeid=item.nodeid,
        eval=item.eval,
        suite=item.suite,
        model=handle.alias,
        dataset=dataset.name,
        protocol=protocol.name,
        n=len(slice_.taken),
        epochs=bench.epochs,
        limited=slice_.limited,
        scorers=sheet.scorers,
        metrics=sheet.metrics,
        hashes=item_hashes(
            slice_,
            protocol,
            handle.digest,
            bench.epochs,
            answered,
            {alias: one.handle.digest for alias, one in judges.items()},
        ),
        asking=dict(vars(asker.counts)) | {"truncated_clips": _cut(answered)},
        errors=errors_named(answered),
        judges=_judges(judges, answered),
        options=dict(protocol.options),
        groups=list(slice_.groups),
        cluster=dataset.cluster,
        part=item.part,
        control=item.control,
        agreement=sheet.agreement,
        perturbation=_perturbation(dataset),
        stages=[
            StageRecord(one.name, one.role, one.task, settings_payload(one), one.judge, one.version)
            for one in protocol.stages
        ],
    )
    # A replay or a guess is no model at work: how fast it is would only be misread.
    record.taken = speed.sums(answered, asker.time, handle.peak_memory_bytes) if handle.listens else {}
    record.speed = speed.figures(record.taken)
    record.warnings = [*_warnings(record, slice_, protocol, answered), *cautions, *_unread(sheet, protocol)]
    result = Result(record, sheet.rows, protocol.scorers, sheet.clustered)
    return Evaluation(result, slice_, protocol, answered, sheet.rows)


def _perturbation(dataset: Dataset) -> PerturbationRecord | None:
    one = dataset.perturbation
    return None if one is None else PerturbationRecord(one.name, one.family, one.dose, one.unit, one.harder)


def _check_names(names: Sequence[str], protocol: Protocol) -> None:
    """Names that belong to other evals' protocols are fine; one that belongs to none is a mistake."""
    from pytest_audiobench.protocols.catalogue import scorer_names

    known = {*protocol.available, *scorer_names()}
    unknown = [name for name in names if name not in known and name != ALL]
    if unknown:
        raise UsageError(f"no scorer is called {unknown[0]!r}; there are {', '.join(sorted(known))}")


def _check_tasks(handle: ModelHandle, dataset: Dataset, protocol: Protocol) -> None:
    for stage in protocol.stages:
        if stage.role == "subject" and stage.task not in handle.limits.tasks:
            can = " and ".join(handle.limits.tasks)
            raise CannotDo(f"{handle.spec} can do {can} and nothing else, and {dataset.name} asks it for {stage.task}")


def _check_parts(protocol: Protocol) -> None:
    """What a score needs is asked for before the model is, or hours of answers would end in a missing library."""
    for scorer in protocol.scorers:
        if lacking := scorer.missing_parts():
            raise UsageError(f"the scorer {scorer.name} cannot be used here: {lacking}")


def _cut(answered: Sequence[SampleAnswers]) -> int:
    return sum(any(response.truncated_s for response in one.responses.values()) for one in answered)


def errors_named(answered: Iterable[SampleAnswers]) -> list[dict[str, str]]:
    """The first samples whose asking failed, and why; behind them those whose verdicts could not be had."""
    kept = list(answered)
    failed = [(one, str(one.error)) for one in kept if one.error is not None]
    failed += [(one, f"{stage}: {error}") for one in kept for stage, error in unjudged(one)]
    return [{"sample_id": one.sample_id, "message": message} for one, message in failed[:_ERRORS_NAMED]]


def _unread(sheet: EvalScores, protocol: Protocol) -> list[str]:
    """What a judge said that was no verdict, once for each judging of each judge."""
    found: dict[str, str] = {}
    for scorer, record in zip(protocol.scorers, sheet.scorers, strict=True):
        asked = record.coverage["n"] - record.coverage["errors"]
        unread = asked - record.coverage["parsed"]
        if scorer.judge and unread:
            found.setdefault(scorer.judge, f"{unread} of {asked} verdicts of {scorer.judge} could not be read")
    return list(found.values())


def unjudged(one: SampleAnswers) -> list[tuple[str, str]]:
    """The stages whose verdict on an answer could not be had, each with its error."""
    return [(stage, verdict.error) for stage, verdict in one.verdicts.items() if verdict.error is not None]


def judges_of(bench: RunContext, protocol: Protocol, progress: Progress) -> dict[str, BatchExecutor]:
    """The judges that a protocol names, ready to be asked."""
    aliases = dict.fromkeys(stage.judge for stage in protocol.stages if stage.judge)
    return {alias: BatchExecutor(bench.judges[alias], bench.store, bench.claims, progress) for alias in aliases}


def _judges(judges: Mapping[str, BatchExecutor], answered: Sequence[SampleAnswers]) -> dict[str, dict[str, int]]:
    """For each judge how asking it went; ``errors`` counts the verdicts that could not be had."""
    failed = Counter(stage.partition("@")[2] for one in answered for stage, _ in unjudged(one))
    return {alias: dict(vars(asker.counts)) | {"errors": failed[alias]} for alias, asker in judges.items()}


def _warnings(
    record: ItemRecord, slice_: Selection, protocol: Protocol, answered: Sequence[SampleAnswers]
) -> list[str]:
    found = [*slice_.notes, *protocol.notes]
    if record.limited:
        taken = f"limited to {record.n} of {slice_.size} samples"
        found.append(f"{taken}: its numbers are never comparable with a full run's")
    cut = record.asking["truncated_clips"]
    if cut:
        longest = max(lost for one in answered for r in one.responses.values() for lost in r.truncated_s)
        of = f"{cut} of {len(answered)} samples"
        found.append(f"{of} were cut to the model's window (up to {longest:.1f} s lost)")
    for name, what in (
        ("noise", "answers differed when asked again"),
        ("repaired", "texts held invalid characters or were cut"),
        ("oom_splits", "batches were split for want of memory"),
    ):
        if record.asking[name]:
            found.append(f"{record.asking[name]} {what}")
    if record.hashes["audio"] == ABSENT:
        found.append("the audio is not on this machine: the answers are scored without a clip's identity")
    return found
