"""A model as a run holds it: an alias, an identity, and weights only once they are needed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from pytest_audiobench.evaluation.batch_plan import PLAN
from pytest_audiobench.identity import digest
from pytest_audiobench.models.messages import Ask, PlayedAudio, Response
from pytest_audiobench.models.model import Hearing, HearingStatus, Limits, Model, Reply
from pytest_audiobench.records.fields import plain
from pytest_audiobench.records.run import NoiseMeasurement, NoiseRecord

if TYPE_CHECKING:
    from pytest_audiobench.evaluation.answer_store import Store

_SECONDS = ("features_s", "generate_s")


class ModelHandle:
    """One model of a run, loaded for the first answer that the store lacks, after ``make_way`` if it fills a device."""

    def __init__(self, alias: str, model: Model, make_way: Callable[[], None] = lambda: None) -> None:
        self.alias = alias
        self._model = model
        self._make_way = make_way
        self._loaded = False
        self._peak_memory_bytes: int | None = None
        self._hearing: Hearing | None = None

    @property
    def spec(self) -> str:
        return self._model.spec

    @property
    def limits(self) -> Limits:
        return self._model.limits

    @property
    def device(self) -> str:
        return self._model.device

    @property
    def planned(self) -> bool:
        """Whether an answer may depend on the batch it sits in."""
        return self._model.batching == "planned"

    @property
    def listens(self) -> bool:
        return self._model.listens

    @property
    def in_process(self) -> bool:
        """Whether its weights fill a device of this process."""
        return bool(getattr(self._model, "in_process", False))

    def cost_usd(self, usage: Mapping[str, int]) -> float | None:
        """What a request of that usage cost; None where the model has no prices, or the usage tells too little."""
        told: Callable[[Mapping[str, int]], float | None] | None = getattr(self._model, "cost_usd", None)
        return None if told is None else told(usage)

    def can_judge(self, judging: str) -> bool:
        """Whether it can be asked that judging's prompt: a server that only scores by a rubric knows one."""
        known: tuple[str, ...] | None = getattr(self._model, "judgings", None)
        return known is None or judging in known

    @property
    def style(self) -> str:
        """The style in which its answers were asked for, where they are a run's that told; else nothing."""
        return str(getattr(self._model, "style", ""))

    @property
    def is_mere_name(self) -> bool:
        """Whether its identity would be the same with other weights, so that its earlier answers prove nothing."""
        _ = self.fingerprint  # what a server says about itself is known once it was asked
        return bool(getattr(self._model, "is_mere_name", False))

    @property
    def oom_splits(self) -> int:
        return int(getattr(self._model, "oom_splits", 0))

    @property
    def seconds(self) -> Mapping[str, float]:
        """What asking was spent on so far, where the model reports it: ``features_s`` and ``generate_s``."""
        told = getattr(self._model, "seconds", None)
        return {name: told[name] for name in _SECONDS if name in told} if isinstance(told, Mapping) else {}

    @property
    def hearing(self) -> Hearing | None:
        """What loading the model showed of its hearing; None before that, and where it shows nothing."""
        return getattr(self._model, "hearing", None) or self._hearing

    @property
    def peak_memory_bytes(self) -> int | None:
        """The most memory that the model has held since it was loaded here, where it reports it."""
        return getattr(self._model, "peak_memory_bytes", None) if self._loaded else self._peak_memory_bytes

    @cached_property
    def fingerprint(self) -> Mapping[str, str]:
        return {str(name): str(value) for name, value in self._model.fingerprint().items()}

    @cached_property
    def digest(self) -> str:
        """The model's identity: its fingerprint, what it is played, and, where it matters, how its batches are cut."""
        return digest(self.identity)

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """What the digest is made of: ``fingerprint``, ``heard`` (rate and window) and ``batches``."""
        limits = self.limits
        heard = f"{limits.rate_hz} Hz, {limits.max_clip_s} s"
        batches = f"plan {PLAN}, {limits.max_batch} requests, {limits.max_batch_s} s" if self.planned else ""
        return {"fingerprint": self.fingerprint, "heard": heard, "batches": batches}

    @property
    def in_flight(self) -> int:
        """How many batches it may be asked at once."""
        return int(getattr(self._model, "in_flight", 1))

    @property
    def hands_over(self) -> bool:
        """Whether a batch's audio may be let go once it was started."""
        return bool(getattr(self._model, "hands_over", False))

    def begin(self, batch: Sequence[Ask]) -> Reply:
        """Ask the model, which is loaded: elsewhere where it can, else here, so that the reply is there at once."""
        begin: Callable[[Sequence[Ask]], Reply] | None = getattr(self._model, "begin", None)
        if begin is not None:
            return begin(batch)
        reply: Future[list[Response]] = Future()
        try:
            reply.set_result(self._model.ask(batch))
        except Exception as error:
            reply.set_exception(error)
        return reply

    def ready(self) -> Model:
        """The model, loaded."""
        if not self._loaded:
            if self.in_process:
                self._make_way()
            self._model.load()
            self._loaded = True
        return self._model

    def prepare_audio(self, audio: Sequence[PlayedAudio]) -> None:
        """Tell a model that wants to know it of clips that it will be asked about; on any thread."""
        if self._loaded and (prepare := getattr(self._model, "prepare_audio", None)):
            prepare(audio)

    def close(self) -> None:
        if self._loaded:
            # A model that made way for a judge is still to be reported.
            self._peak_memory_bytes, self._hearing = self.peak_memory_bytes, self.hearing
            self._model.close()
            self._loaded = False


_UNKNOWN = Hearing("unproven", "it reports nothing about the audio it is played: run evals/test_listening.py too")
_LOADING = "loading"
_LONGEST = 500
"""Characters of one piece of evidence."""


def stored_hearing(store: Store, handle: ModelHandle) -> Hearing:
    """What is known of the model's hearing by now: by loading it, and by listening evals of this and earlier runs. One
    proof is enough; where a listening eval failed to show it, the evidence says so.
    """
    if handle.hearing is not None:
        store_hearing(store, handle, _LOADING, handle.hearing)
    hearings = list(_hearings(store, handle))
    proofs = [hearing.evidence for hearing in hearings if hearing.status == "proven"]
    doubts = [hearing.evidence for hearing in hearings if hearing.status == "unproven"]
    if proofs:
        return Hearing("proven", "; ".join([proofs[-1], *doubts]))
    return Hearing("unproven", "; ".join(doubts)) if doubts else _UNKNOWN


def store_hearing(store: Store, handle: ModelHandle, by: str, hearing: Hearing) -> None:
    """Remember what ``by`` (loading, or a listening eval's data set) showed of exactly this model (its digest)."""
    name, text = f"hearing:{handle.digest}:{by}", json.dumps([hearing.status, hearing.evidence[:_LONGEST]])
    if dict(store.notes(name)).get(name) != text:
        store.keep_note(name, text)


def stored_noise(store: Store, handle: ModelHandle) -> NoiseRecord | None:
    """The model's noise floor, where determinism evals have measured it: the worst of them, and each."""
    measured = list(_noises(store, handle))
    if not measured:
        return None
    return NoiseRecord(
        same_answers=min(noise.same_answers for noise in measured),
        score_shift=max(noise.score_shift for noise in measured),
        same_outcomes=min((noise.same_outcomes for noise in measured if noise.same_outcomes is not None), default=None),
        measured=measured,
    )


def store_noise(store: Store, handle: ModelHandle, noise: NoiseMeasurement) -> None:
    """Remember how far exactly this model's repetitions differ, by data set, number of samples and conditions."""
    which = digest([noise.dataset, noise.n, sorted(noise.conditions)])
    store.keep_note(f"noise:{handle.digest}:{which}", json.dumps(plain(noise), allow_nan=False))


def _hearings(store: Store, handle: ModelHandle) -> Iterator[Hearing]:
    for _, text in store.notes(f"hearing:{handle.digest}:"):
        note = _json_or_none(text)
        if isinstance(note, list) and len(note) == 2 and note[0] in get_args(HearingStatus):
            yield Hearing(note[0], str(note[1])[:_LONGEST])


def _noises(store: Store, handle: ModelHandle) -> Iterator[NoiseMeasurement]:
    for _, text in store.notes(f"noise:{handle.digest}:"):
        with suppress(msgspec.ValidationError, UnicodeEncodeError, RecursionError):
            yield msgspec.convert(_json_or_none(text), NoiseMeasurement)


def _json_or_none(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
