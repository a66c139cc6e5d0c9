"""All answers of one eval: every stage of every sample in every epoch, from the store or from the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from pytest_audiobench.errors import SampleError
from pytest_audiobench.evaluation.batch_executor import BatchExecutor
from pytest_audiobench.evaluation.batch_plan import PlannedRequest, duration_bucket, sample_hash
from pytest_audiobench.evaluation.requests import Requester
from pytest_audiobench.evaluation.selection import SelectedSample, Selection
from pytest_audiobench.models.messages import Message, Request, Response
from pytest_audiobench.protocols.protocol import WEIGHING, Earlier, Protocol, Stage

_NONE: Mapping[str, Response] = MappingProxyType({})


class SampleAnswers(NamedTuple):
    """The answers to one sample in one epoch, by stage."""

    selected: SelectedSample
    epoch: int
    responses: Mapping[str, Response]
    keys: Mapping[str, str]
    """The requests' keys."""
    messages: Mapping[str, tuple[Message, ...]]
    error: str | None
    """Why the sample could not be asked to its end."""
    verdicts: Mapping[str, Response] = _NONE
    """What judges and extractors said of the answer; one that could not be had carries its own error."""
    rewritten: Mapping[str, Response] = _NONE
    """The texts of rewriters, without which the later stages could not be asked."""

    @property
    def sample_id(self) -> str:
        return self.selected.sample.id

    @property
    def all_responses(self) -> Earlier:
        """What scorers read: the responses, the rewriters' texts and the verdicts."""
        if self.verdicts or self.rewritten:
            return {**self.responses, **self.rewritten, **self.verdicts}
        return self.responses

    def failure(self, judge: str) -> str | None:
        """Why there is nothing to read for a scorer of ``judge``'s verdicts ("" for one of the answers)."""
        verdict = self.verdicts.get(judge) if judge else None
        return self.error if verdict is None else verdict.error


BatchPlan: TypeAlias = Callable[[Sequence[PlannedRequest]], Sequence[Sequence[int]]]
"""Cuts one stage's requests into batches of its own, as positions, in place of the usual plan."""


def collect_answers(
    selection: Selection,
    protocol: Protocol,
    executor: BatchExecutor,
    epochs: int,
    judges: Mapping[str, BatchExecutor] = MappingProxyType({}),
) -> list[SampleAnswers]:
    """Run every stage in turn, epoch by epoch, in hash order; a sample that failed takes no part in the next stage.

    ``judges`` are by alias: rewriters have their turn after all epochs of the stages before them, so that one that
    fills a device is loaded once; judges once everything else is answered, one after the other.
    """
    runs = [_StageRun(selection, [epoch]) for epoch in range(epochs)]
    for stages in _turns(protocol):
        for run in runs:
            for stage in stages:
                run.execute(stage, judges[stage.judge] if stage.judge else executor)
    return [answers for run in runs for answers in run.answers()]


def collect_rerun_answers(
    selection: Selection,
    protocol: Protocol,
    executor: BatchExecutor,
    epochs: Sequence[int],
    plan: BatchPlan | None = None,
    judges: Mapping[str, BatchExecutor] = MappingProxyType({}),
) -> list[SampleAnswers]:
    """Run every stage in each of ``epochs``, all epochs of a stage in the same batches; the samples in hash order,
    epoch by epoch. ``judges`` are asked as in epoch 0: of an answer that was judged there they say what they said.
    """
    run = _StageRun(selection, epochs)
    for stages in _turns(protocol):
        for stage in stages:
            if stage.judge:
                run.execute(stage, judges[stage.judge], epoch=0)
            else:
                run.execute(stage, executor, plan)
    return run.answers()


def _turns(protocol: Protocol) -> Iterator[list[Stage]]:
    """The stages that make the answer, in order, those in a row that one model answers together; then each judge's."""
    answering = [stage for stage in protocol.stages if stage.role not in WEIGHING]
    for _, stages in groupby(answering, key=lambda stage: stage.judge):
        yield list(stages)
    yield from ([stage] for stage in protocol.stages if stage.role in WEIGHING)


class _StageRun:
    """A selection in some epochs, and the responses of the stages that have run."""

    def __init__(self, selection: Selection, epochs: Sequence[int]) -> None:
        self._dataset, self._epochs = selection.dataset, epochs
        self._samples = [(epoch, selected) for epoch in epochs for selected in selection.samples]
        self._responses: list[dict[str, Response]] = [{} for _ in self._samples]
        self._verdicts: list[dict[str, Response]] = [{} for _ in self._samples]
        self._rewritten: list[dict[str, Response]] = [{} for _ in self._samples]
        self._keys: list[dict[str, str]] = [{} for _ in self._samples]
        self._messages: list[dict[str, tuple[Message, ...]]] = [{} for _ in self._samples]
        self._errors = [selected.error for _, selected in self._samples]

    def execute(
        self, stage: Stage, executor: BatchExecutor, plan: BatchPlan | None = None, epoch: int | None = None
    ) -> None:
        """Run one stage for all samples that have not failed; in ``epoch`` instead of their own, if it is given."""
        dataset = self._dataset.unperturbed if stage.unchanged else self._dataset.name
        requesters = {
            each: Requester(executor.handle, stage, dataset, each if epoch is None else epoch) for each in self._epochs
        }
        samples = [(each, as_played(selected, stage)) for each, selected in self._samples]
        open_ = [i for i, error in enumerate(self._errors) if error is None or self._is_unplayed(i, stage)]
        for i in open_:
            self._errors[i] = self._errors[i] or samples[i][1].error
        open_ = [i for i in open_ if samples[i][1].error is None]

        # A stage sees what the subject and rewriters said: no verdict, which might quote the reference.
        def request_of(i: int) -> Request:
            each, selected = samples[i]
            return requesters[each].request(selected, {**self._responses[i], **self._rewritten[i]})

        if stage.role == "rewriter":
            open_, requests = self._rewriter_requests(stage, open_, request_of)
        else:
            requests = [request_of(i) for i in open_]
        # Samples come in hash order, so a repeated request belongs to the first window that holds it.
        first: dict[str, tuple[Request, SelectedSample]] = {}
        for i, request in zip(open_, requests, strict=True):
            self._keys[i][stage.name], self._messages[i][stage.name] = request.key, request.messages
            first.setdefault(request.key, (request, samples[i][1]))
        unique = list(first.values())
        planned = [_planned_request(*entry) for entry in unique]
        batches = plan(planned) if plan else None
        responses = executor.execute([request for request, _ in unique], planned, batches)
        for i, request in zip(open_, requests, strict=True):
            response = responses[request.key]
            if stage.role in WEIGHING:
                self._verdicts[i][stage.name] = response
            elif error := _failure(stage, response):
                self._errors[i] = error
            else:
                (self._rewritten if stage.role == "rewriter" else self._responses)[i][stage.name] = response

    def _rewriter_requests(
        self, stage: Stage, open_: Sequence[int], request_of: Callable[[int], Request]
    ) -> tuple[list[int], list[Request]]:
        """A rewriter's requests with their places: none for what is empty, nor for what it cannot be given."""
        places, requests = [], []
        for i in open_:
            try:
                request = request_of(i)
            except SampleError as error:
                self._errors[i] = f"{stage.name} by {stage.judge}: {error}"
                continue
            if request.messages:
                places.append(i)
                requests.append(request)
            else:
                self._rewritten[i][stage.name] = Response.of("")
        return places, requests

    def _is_unplayed(self, i: int, stage: Stage) -> bool:
        """Whether only the changed clips cannot be played: an unchanged stage has the batches of any perturbation."""
        error = self._samples[i][1].error
        return stage.unchanged and error is not None and self._errors[i] == error

    def answers(self) -> list[SampleAnswers]:
        return [
            SampleAnswers(
                selected=selected,
                epoch=epoch,
                responses=self._responses[i],
                keys=self._keys[i],
                messages=self._messages[i],
                error=self._errors[i],
                verdicts=self._verdicts[i] or _NONE,
                rewritten=self._rewritten[i] or _NONE,
            )
            for i, (epoch, selected) in enumerate(self._samples)
        ]


def _failure(stage: Stage, response: Response) -> str:
    """Why a stage's response is none; of a rewriter also why its text is."""
    if stage.role != "rewriter":
        return response.error or ""
    from pytest_audiobench.protocols.reasoned_choice.reasoning_changes import unusable

    why = response.error or unusable(response)
    return f"{stage.name} by {stage.judge}: {why}" if why else ""


def as_played(selected: SelectedSample, stage: Stage) -> SelectedSample:
    """The sample as a stage is played it: as it was before its perturbation, for a stage that is ``unchanged``."""
    return selected.unchanged if stage.unchanged and selected.unchanged is not None else selected


def _planned_request(request: Request, selected: SelectedSample) -> PlannedRequest:
    # Who is played nothing has batches that no seconds of audio cut.
    duration_s = selected.duration_s if request.clips else 0.0
    return PlannedRequest(
        key=bytes.fromhex(request.key),
        bucket=duration_bucket(duration_s),
        window=selected.window,
        duration_s=duration_s or 0.0,
        id_hash=sample_hash(selected.sample.id),
    )
