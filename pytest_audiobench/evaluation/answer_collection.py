"""All answers of one eval: every stage of every sample in every epoch, from the store or from the model."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, groupby, product
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.spool import MOST_IN_MEMORY, LazySequence
from pytest_audiobench.errors import SampleError
from pytest_audiobench.evaluation.answer_sounds import SoundFiles
from pytest_audiobench.evaluation.batch_executor import BatchExecutor
from pytest_audiobench.evaluation.batch_plan import Digests, PlannedRequest, PlannedRequests, planned_request
from pytest_audiobench.evaluation.requests import Requester
from pytest_audiobench.evaluation.sample_answers import NONE, AnswerSpool
from pytest_audiobench.evaluation.sample_answers import SampleAnswers as SampleAnswers
from pytest_audiobench.evaluation.selection import SelectedSample, Selection
from pytest_audiobench.models.messages import Message, Request, Response
from pytest_audiobench.protocols.protocol import WEIGHING, Protocol, Stage

_LOOKS_APART = 20
BatchPlan: TypeAlias = Callable[[Sequence[PlannedRequest]], Sequence[Sequence[int]]]
"""Cuts one stage's requests into batches of its own, as positions, in place of the usual plan."""


def collect_answers(
    selection: Selection,
    protocol: Protocol,
    executor: BatchExecutor,
    epochs: int,
    judges: Mapping[str, BatchExecutor] = MappingProxyType({}),
) -> list[SampleAnswers]:
    """All that :func:`answer_portions` collects."""
    return list(chain.from_iterable(answer_portions(selection, protocol, executor, epochs, judges)))


def answer_portions(
    selection: Selection,
    protocol: Protocol,
    executor: BatchExecutor,
    epochs: int,
    judges: Mapping[str, BatchExecutor] = MappingProxyType({}),
    kept: AnswerSpool | None = None,
    looks: bool = False,
    turn: int = 0,
) -> Iterator[list[SampleAnswers]]:
    """Run every stage in turn, epoch by epoch, in hash order; a sample that failed takes no part in the next stage.

    Where the model itself answers all stages they are run for a portion of the samples after another, in whole
    windows (a few at a time for ``looks``), and ``kept`` has what was answered. Else all samples are one portion, and
    ``judges`` are by alias: rewriters have their turn after all epochs of the stages before them, so that one that
    fills a device is loaded once; judges once everything else is answered, one after the other.

    With a ``turn`` a portion is so many samples, or a window where batches are planned; of samples that judges weigh
    an empty one stands behind each model's stages.
    """
    if any(stage.role != "subject" for stage in protocol.stages):
        runs = [_StageRun(selection.dataset, selection.samples, [epoch]) for epoch in range(epochs)]
        for stages in _turns(protocol):
            for run in runs:
                for stage in stages:
                    run.execute(stage, judges[stage.judge] if stage.judge else executor)
            if turn:
                yield []
        yield [answers for run in runs for answers in run.answers()]
        return
    kept = AnswerSpool(selection.samples) if kept is None else kept
    for epoch in range(epochs):
        repeated = {stage.name: _Repeated(kept, stage.name) for stage in protocol.stages}
        turn_of = 1 if turn and executor.handle.planned else turn
        for samples in sample_portions(selection.samples, looks, turn_of, not executor.handle.planned):
            run = _StageRun(selection.dataset, samples, [epoch])
            for stage in protocol.stages:
                run.execute(stage, executor, repeated=repeated[stage.name])
            answers = run.answers()
            kept.extend(answers)
            yield answers


def sample_portions(
    samples: Sequence[SelectedSample], looks: bool = False, turn: int = 0, cuts_windows: bool = False
) -> Iterator[list[SelectedSample]]:
    """The samples in their order, some thousands or a ``turn`` at a time: whole windows, so that batches are those of
    all, unless a turn ``cuts_windows``. With ``looks`` the first window, and then as many as add a twentieth to what
    came before.
    """
    portion: list[SelectedSample] = []
    most, before = (1 if looks else turn or MOST_IN_MEMORY), 0
    for selected in samples:
        if len(portion) >= most and (selected.window != portion[-1].window or (turn and cuts_windows)):
            yield portion
            before += len(portion)
            most = min(MOST_IN_MEMORY, before // _LOOKS_APART) if looks else most
            portion = []
        portion.append(selected)
    yield portion


class _Repeated:
    """The requests of one stage in the portions before: what is asked again in a later one has their answers."""

    def __init__(self, kept: AnswerSpool, stage: str) -> None:
        self._kept, self._stage = kept, stage
        self._levels: list[tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32]]] = []
        """Beginnings of keys, sorted, and their answers' places; each level at least twice as large as the next."""

    def known(self, keys: Digests) -> dict[int, Response]:
        """The responses to those of ``keys`` that were asked before, by their places here."""
        found: dict[int, Response] = {}
        beginnings = keys.beginnings()
        for level, places in self._levels:
            positions = np.minimum(np.searchsorted(level, beginnings), len(level) - 1)
            for position in np.flatnonzero(level[positions] == beginnings).tolist():
                before = self._kept[int(places[positions[position]])]
                if before.keys.get(self._stage) == keys[position].hex():
                    failed = Response(error=before.error, lasting=before.lasting)
                    found[position] = before.responses.get(self._stage, failed)
        return found

    def add(self, keys: Digests, places: Sequence[int]) -> None:
        """Remember that these were asked, by samples at ``places`` among those that will be kept next."""
        beginnings, at = keys.beginnings(), np.array(places, dtype=np.uint32) + np.uint32(len(self._kept))
        while True:
            order = np.argsort(beginnings, kind="stable")
            beginnings, at = beginnings[order], at[order]
            if not self._levels or len(self._levels[-1][0]) > 2 * len(beginnings):
                break
            further, further_at = self._levels.pop()
            beginnings, at = np.concatenate([further, beginnings]), np.concatenate([further_at, at])
        self._levels.append((beginnings, at))


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
    run = _StageRun(selection.dataset, selection.samples, epochs)
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

    def __init__(self, dataset: Dataset, samples: Sequence[SelectedSample], epochs: Sequence[int]) -> None:
        self._dataset, self._epochs, self._samples = dataset, epochs, samples
        # By position, epoch after epoch, and nothing where there is nothing: a million samples have no room for more.
        self._responses: dict[int, dict[str, Response]] = defaultdict(dict)
        self._verdicts: dict[int, dict[str, Response]] = defaultdict(dict)
        self._rewritten: dict[int, dict[str, Response]] = defaultdict(dict)
        self._keys: dict[int, dict[str, str]] = defaultdict(dict)
        self._messages: dict[int, dict[str, tuple[Message, ...]]] = defaultdict(dict)
        self._errors = [selected.error for selected in self._samples] * len(epochs)
        self._lasting = {i for i, error in enumerate(self._errors) if error is not None}

    def _selected(self, i: int) -> tuple[int, SelectedSample]:
        """The epoch and the sample at a position."""
        epoch, position = divmod(i, len(self._samples))
        return self._epochs[epoch], self._samples[position]

    def execute(
        self,
        stage: Stage,
        executor: BatchExecutor,
        plan: BatchPlan | None = None,
        epoch: int | None = None,
        repeated: _Repeated | None = None,
    ) -> None:
        """Run one stage for all samples that have not failed; in ``epoch`` instead of their own, if it is given.

        What is ``repeated`` of earlier portions is not asked again.
        """
        dataset = self._dataset.unperturbed if stage.unchanged else self._dataset.name
        requesters = {
            each: Requester(executor.handle, stage, dataset, each if epoch is None else epoch) for each in self._epochs
        }

        # A stage sees what the subject and rewriters said: no verdict, which might quote the reference.
        @lru_cache(2 * MOST_IN_MEMORY)  # more than a portion has
        def request_of(i: int) -> Request:
            earlier = {**self._responses.get(i, NONE), **self._rewritten.get(i, NONE)}
            return requesters[self._selected(i)[0]].request(self._played(i, stage, executor.sounds), earlier)

        open_ = self._open(stage)
        if stage.hears:
            open_ = self._audible(stage, open_, executor.sounds)
        if stage.role == "rewriter":
            open_ = self._rewritable(stage, open_, request_of)
        planned = PlannedRequests()
        for i in open_:
            played = self._played(i, stage, executor.sounds)
            planned.append(planned_request(request_of(i), played.durations_s, played.window, executor.handle.limits))
        # Samples come in hash order, so a repeated request belongs to the first window that holds it.
        known = {} if repeated is None else repeated.known(planned.keys)
        unique = [position for position in planned.keys.first_of_each() if position not in known]
        responses = {planned.keys[position].hex(): response for position, response in known.items()}
        asked = planned if len(unique) == len(planned) else PlannedRequests(planned[position] for position in unique)
        if repeated is not None and unique:
            repeated.add(asked.keys, [open_[position] for position in unique])
        batches = plan(asked) if plan else None
        requests = _Requests(request_of, array("I", (open_[position] for position in unique)))
        responses |= executor.execute(requests, asked, batches)
        for i in open_:
            request = request_of(i)
            response = responses[request.key]
            self._keys[i][stage.name], self._messages[i][stage.name] = request.key, request.messages
            if stage.role in WEIGHING:
                self._verdicts[i][stage.name] = response
            elif error := _failure(stage, response):
                self._errors[i] = error
            else:
                (self._rewritten if stage.role == "rewriter" else self._responses)[i][stage.name] = response
            if response.lasting:
                self._lasting.add(i)

    def _open(self, stage: Stage) -> Sequence[int]:
        """The positions of those that can be asked: of the others it is said why not."""
        if not stage.unchanged:
            return array("I", (i for i, error in enumerate(self._errors) if error is None))
        open_ = array("I")
        for i, error in enumerate(self._errors):
            _, selected = self._selected(i)
            # Where only the changed clips cannot be played: an unchanged stage has the batches of any perturbation.
            if error is None or error == selected.error:
                problem = as_played(selected, stage).error
                self._errors[i] = error or problem
                if problem is None:
                    open_.append(i)
                else:
                    self._lasting.add(i)
        return open_

    def _played(self, i: int, stage: Stage, sounds: SoundFiles) -> SelectedSample:
        """The sample as the stage is played it: with its answer's audio, for one that hears that."""
        selected = as_played(self._selected(i)[1], stage)
        if not stage.hears:
            return selected
        sound = self._responses[i][stage.hears].sound
        clip = sounds.clip(sound.digest) if sound else None
        assert sound is not None
        assert clip is not None
        first = 1 if stage.beside_clip else 0
        return selected._replace(
            sample=replace(selected.sample, clips=(*selected.sample.clips[:first], clip)),
            clip_keys=(*(selected.clip_keys or ())[:first], sound.digest),
            durations_s=(*selected.durations_s[:first], sound.seconds),
        )

    def _audible(self, stage: Stage, open_: Sequence[int], sounds: SoundFiles) -> Sequence[int]:
        """Those whose answer can be played: without audio nothing is asked."""
        places = array("I")
        for i in open_:
            answer = self._responses[i][stage.hears]
            if not answer.audio:
                self._verdicts[i][stage.name] = Response.of("")
            elif answer.sound is None:
                self._verdicts[i][stage.name] = Response(
                    error=f"the audio of this answer ({answer.audio[:12]}…) lies beside none of the run's stores: name "
                    "the store of the run that has it with --ab-store FILE, its folder of sounds beside it"
                )
            elif sounds.clip(answer.sound.digest) is None:
                self._verdicts[i][stage.name] = Response(
                    error=f"the file with the audio of this answer ({answer.audio[:12]}…) is damaged: delete it "
                    "from the folder of sounds beside the store, and the answer is asked again"
                )
            elif stage.beside_clip and not self._selected(i)[1].clip_keys:
                self._verdicts[i][stage.name] = Response(error="the sample has no clip to compare the answer with")
            else:
                places.append(i)
        return places

    def _rewritable(self, stage: Stage, open_: Sequence[int], request_of: Callable[[int], Request]) -> Sequence[int]:
        """Those of which a rewriter is asked: not of what is empty, nor of what it cannot be given."""
        places = array("I")
        for i in open_:
            try:
                request = request_of(i)
            except SampleError as error:
                self._errors[i] = f"{stage.name} by {stage.judge}: {error}"
                continue
            if request.messages:
                places.append(i)
            else:
                self._rewritten[i][stage.name] = Response.of("")
        return places

    def answers(self) -> list[SampleAnswers]:
        return [
            SampleAnswers(
                selected=selected,
                epoch=epoch,
                responses=self._responses[i],
                keys=self._keys[i],
                messages=self._messages[i],
                error=self._errors[i],
                verdicts=self._verdicts.get(i, NONE),
                rewritten=self._rewritten.get(i, NONE),
                lasting=i in self._lasting,
            )
            for i, (epoch, selected) in enumerate(product(self._epochs, self._samples))
        ]


class _Requests(LazySequence[Request]):
    """Requests at some positions, made when they are asked for."""

    def __init__(self, request_of: Callable[[int], Request], positions: Sequence[int]) -> None:
        self._request_of, self._positions = request_of, positions

    def __len__(self) -> int:
        return len(self._positions)

    def element(self, place: int) -> Request:
        return self._request_of(self._positions[place])


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
