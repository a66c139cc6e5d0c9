"""All answers of one eval: every stage of every sample in every epoch, asked for or found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from pytest_audiobench.errors import SampleError
from pytest_audiobench.evaluation.batch_executor import BatchExecutor
from pytest_audiobench.evaluation.batching import Planned, duration_bucket, sample_hash
from pytest_audiobench.evaluation.requests import Requester
from pytest_audiobench.evaluation.selection import SelectedSample, Selection
from pytest_audiobench.models.messages import Message, Request, Response
from pytest_audiobench.protocols.protocol import WEIGHING, Earlier, Protocol, Stage

_NONE: Mapping[str, Response] = MappingProxyType({})


class SampleAnswers(NamedTuple):
    """One sample in one epoch: its responses by stage, the keys and messages they were asked with, or its error.

    ``verdicts`` are what judges and extractors said of the answer, by stage; one that could not be had carries its
    error, and is no error of the sample's. ``rewritten`` are the texts of rewriters, without which the sample's later
    stages could not be asked.
    """

    taken: SelectedSample
    epoch: int
    responses: Mapping[str, Response]
    keys: Mapping[str, str]
    messages: Mapping[str, tuple[Message, ...]]
    error: str | None
    verdicts: Mapping[str, Response] = _NONE
    rewritten: Mapping[str, Response] = _NONE

    @property
    def sample_id(self) -> str:
        return self.taken.sample.id

    @property
    def told(self) -> Earlier:
        """What scorers read: the responses, the rewriters' texts and the verdicts, by stage."""
        if self.verdicts or self.rewritten:
            return {**self.responses, **self.rewritten, **self.verdicts}
        return self.responses

    def failure(self, judge: str) -> str | None:
        """Why there is nothing to read for a scorer of ``judge``'s verdicts ("" for one of the answers)."""
        verdict = self.verdicts.get(judge) if judge else None
        return self.error if verdict is None else verdict.error


Arrange: TypeAlias = Callable[[Sequence[Planned]], Sequence[Sequence[int]]]
"""Cuts one ask set's requests into batches of its own, as positions, in place of the plan."""


def collect_answers(
    slice_: Selection,
    protocol: Protocol,
    asker: BatchExecutor,
    epochs: int,
    judges: Mapping[str, BatchExecutor] = MappingProxyType({}),
) -> list[SampleAnswers]:
    """Ask every stage in turn, epoch by epoch, in hash order; a sample that failed is not asked in the next stage.

    ``judges`` are asked by their aliases: rewriters in their turn, after all epochs of the stages before them, so that
    one that fills a device is loaded once; judges once everything else is answered, one after the other.
    """
    sets = [_AskSet(slice_, [epoch]) for epoch in range(epochs)]
    for stages in _turns(protocol):
        for one in sets:
            for stage in stages:
                one.ask(stage, judges[stage.judge] if stage.judge else asker)
    for stage in _weighing(protocol):
        for one in sets:
            one.ask(stage, judges[stage.judge])
    return [answered for one in sets for answered in one.answered()]


def ask_set(
    slice_: Selection,
    protocol: Protocol,
    asker: BatchExecutor,
    epochs: Sequence[int],
    arrange: Arrange | None = None,
    judges: Mapping[str, BatchExecutor] = MappingProxyType({}),
) -> list[SampleAnswers]:
    """Ask every stage of the slice in each of ``epochs``, the epochs of a stage together in one ask set.

    Returns the samples in hash order, epoch by epoch. ``judges`` are asked as in epoch 0: of an answer that was
    judged or rewritten there they say what they said.
    """
    one = _AskSet(slice_, epochs)
    for stages in _turns(protocol):
        for stage in stages:
            if stage.judge:
                one.ask(stage, judges[stage.judge], epoch=0)
            else:
                one.ask(stage, asker, arrange)
    for stage in _weighing(protocol):
        one.ask(stage, judges[stage.judge], epoch=0)
    return one.answered()


def _turns(protocol: Protocol) -> Iterator[list[Stage]]:
    """The stages that make the answer, in order, those in a row that one model is asked together."""
    answering = [stage for stage in protocol.stages if stage.role not in WEIGHING]
    for _, stages in groupby(answering, key=lambda stage: stage.judge):
        yield list(stages)


def _weighing(protocol: Protocol) -> list[Stage]:
    return [stage for stage in protocol.stages if stage.role in WEIGHING]


class _AskSet:
    """A slice in some epochs, and what has been said of it so far."""

    def __init__(self, slice_: Selection, epochs: Sequence[int]) -> None:
        self._dataset, self._epochs = slice_.dataset, epochs
        self._asked = [(epoch, taken) for epoch in epochs for taken in slice_.taken]
        self._responses: list[dict[str, Response]] = [{} for _ in self._asked]
        self._verdicts: list[dict[str, Response]] = [{} for _ in self._asked]
        self._rewritten: list[dict[str, Response]] = [{} for _ in self._asked]
        self._keys: list[dict[str, str]] = [{} for _ in self._asked]
        self._messages: list[dict[str, tuple[Message, ...]]] = [{} for _ in self._asked]
        self._errors = [taken.error for _, taken in self._asked]

    def ask(self, stage: Stage, asker: BatchExecutor, arrange: Arrange | None = None, epoch: int | None = None) -> None:
        """Ask one stage of all samples that have not failed; in ``epoch`` instead of their own, if it is given."""
        dataset = self._dataset.unperturbed if stage.unchanged else self._dataset.name
        requesters = {
            own: Requester(asker.handle, stage, dataset, own if epoch is None else epoch) for own in self._epochs
        }
        asked = [(own, as_played(taken, stage)) for own, taken in self._asked]
        open_ = [i for i, error in enumerate(self._errors) if error is None or self._is_unplayed(i, stage)]
        for i in open_:
            self._errors[i] = self._errors[i] or asked[i][1].error
        open_ = [i for i in open_ if asked[i][1].error is None]

        # A stage sees what the subject and rewriters said: no verdict, which might quote the reference.
        def request_of(i: int) -> Request:
            return requesters[asked[i][0]].request(asked[i][1], self._earlier(i))

        if stage.role == "rewriter":
            open_, made = self._to_rewrite(stage, open_, request_of)
        else:
            made = [request_of(i) for i in open_]
        for i, request in zip(open_, made, strict=True):
            self._keys[i][stage.name], self._messages[i][stage.name] = request.key, request.messages
        # Samples come in hash order, so a repeated request belongs to the first window that holds it.
        first: dict[str, tuple[Request, SelectedSample]] = {}
        for i, request in zip(open_, made, strict=True):
            first.setdefault(request.key, (request, asked[i][1]))
        unique = list(first.values())
        planned = _planned(unique)
        cut = arrange(planned) if arrange else None
        got = asker.responses([request for request, _ in unique], planned, cut)
        for i, request in zip(open_, made, strict=True):
            response = got[request.key]
            if stage.role in WEIGHING:
                self._verdicts[i][stage.name] = response
            elif error := _failure(stage, response):
                self._errors[i] = error
            elif stage.role == "rewriter":
                self._rewritten[i][stage.name] = response
            else:
                self._responses[i][stage.name] = response

    def _earlier(self, i: int) -> Earlier:
        return {**self._responses[i], **self._rewritten[i]} if self._rewritten[i] else self._responses[i]

    def _to_rewrite(
        self, stage: Stage, open_: Sequence[int], request_of: Callable[[int], Request]
    ) -> tuple[list[int], list[Request]]:
        """What a rewriter is asked: not what is empty, nor what it cannot be given."""
        places, made = [], []
        for i in open_:
            try:
                request = request_of(i)
            except SampleError as error:
                self._errors[i] = f"{stage.name} by {stage.judge}: {error}"
                continue
            if request.messages:
                places.append(i)
                made.append(request)
            else:
                self._rewritten[i][stage.name] = Response.of("")
        return places, made

    def _is_unplayed(self, i: int, stage: Stage) -> bool:
        """Whether only the changed clips cannot be played: an unchanged stage then has the batches of any perturbation."""
        own = self._asked[i][1].error
        return stage.unchanged and own is not None and self._errors[i] == own

    def answered(self) -> list[SampleAnswers]:
        each = zip(
            *(self._asked, self._responses, self._keys, self._messages, self._errors, self._verdicts, self._rewritten),
            strict=True,
        )
        return [
            SampleAnswers(taken, epoch, responses, keys, messages, error, verdicts or _NONE, rewritten or _NONE)
            for (epoch, taken), responses, keys, messages, error, verdicts, rewritten in each
        ]


def _failure(stage: Stage, response: Response) -> str:
    """Why a stage's response is none; of a rewriter also why its text is."""
    if stage.role != "rewriter":
        return response.error or ""
    from pytest_audiobench.protocols.reasoned_choice.changes import unusable

    why = response.error or unusable(response)
    return f"{stage.name} by {stage.judge}: {why}" if why else ""


def as_played(taken: SelectedSample, stage: Stage) -> SelectedSample:
    """The sample as a stage is played it: as it was before its perturbation, for a stage that is ``unchanged``."""
    return taken.unchanged if stage.unchanged and taken.unchanged is not None else taken


def _planned(unique: Sequence[tuple[Request, SelectedSample]]) -> list[Planned]:
    found = []
    for request, taken in unique:
        # Who is played nothing is asked in batches that no seconds of audio cut.
        duration_s = taken.duration_s if request.clips else 0.0
        found.append(
            Planned(
                key=bytes.fromhex(request.key),
                bucket=duration_bucket(duration_s),
                window=taken.window,
                duration_s=duration_s or 0.0,
                hashed=sample_hash(taken.sample.id),
            )
        )
    return found
