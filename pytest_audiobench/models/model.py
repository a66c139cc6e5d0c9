"""The interface of every kind of model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from pytest_audiobench.errors import install_command
from pytest_audiobench.models.messages import TASKS, Ask, Response


@dataclass(frozen=True, slots=True)
class Limits:
    """Constants of an adapter: how much one batch holds, and what one clip may be."""

    max_batch: int = 32
    """The most requests of one batch."""
    max_batch_s: float = 600.0
    """The most seconds of one batch: of audio; where batches are planned as the front end fills it up, each clip to the
    longest, with 100 characters of a prompt's text as one second."""
    rate_hz: int = 16_000
    """The rate at which clips are played."""
    max_clip_s: float | None = None
    """The window beyond which a clip is cut, and the cut counted; None for no window."""
    max_clips: int = 1
    """How many clips one request may hold."""
    min_clips: int = 0
    """How many clips one request must hold: 1 for a model that cannot be asked without audio."""
    pads_to_s: float | None = None
    """The length to which the front end fills every clip up; None where it fills up to the longest of a batch."""
    tasks: tuple[str, ...] = TASKS
    """Those that the model can do: evals of others are skipped."""
    speaks: bool = False
    """Whether it can answer in speech: evals of spoken answers are skipped where it cannot."""
    chunked_tasks: tuple[str, ...] = ()
    """Tasks for which clips are not cut: the adapter takes them whole and asks piece by piece."""

    def window_s(self, task: str) -> float | None:
        """The length beyond which a clip is cut before it is played for ``task``; None for no limit."""
        return None if task in self.chunked_tasks else self.max_clip_s


HearingStatus: TypeAlias = Literal["proven", "unproven"]


class Hearing(NamedTuple):
    """Whether it is known that audio reaches the model, and by what: found once the model is loaded or first asked.

    A model that is known *not* to hear is not a status: loading it raises FatalError.
    """

    status: HearingStatus
    """"proven" where it was shown, else "unproven"."""
    evidence: str
    """What showed it or why nothing did, in a few words."""


class Reply(Protocol):
    """The responses to a batch that was started, as a :class:`concurrent.futures.Future` has them."""

    def result(self) -> list[Response]:
        """Wait for them. Raises as ``ask``."""

    def add_done_callback(self, fn: Callable[[Any], object], /) -> None:
        """Have ``fn`` called once they are there, on any thread, or at once if they are."""

    def cancel(self) -> bool:
        """Cancel the asking: their answers are not needed."""


class Model(Protocol):
    """A handle on a model: cheap to make, no weights until :meth:`load`.

    ``batching`` is "planned" where an answer may depend on its batch (in-process generation), "opaque"
    where it may not be known or planned. ``listens`` is False for models that are played no audio
    (chance, replay): nothing is decoded for them.

    A model may also have, each looked for by name: ``in_process`` (True where its weights fill a device: with workers
    it is then loaded once for each device and shared), ``hearing`` (a :class:`Hearing`, or None before it is known),
    ``digest_of`` (set by the run: hashes a file and remembers it), ``budget`` (set by the run: what may still be
    spent), ``part_store`` (set by the run: opens the store, where a pipeline keeps what its parts answer),
    ``asked_anew`` (set by the run: whether answers of earlier runs do not count),
    ``served_by`` (set by the run, where it starts the model's server: the digest of its command), ``endpoint``
    (where it is asked, if its fingerprint is available without asking), ``judgings`` (the names of the judgings whose
    prompts it can be asked, of a model that is nothing but a judge), ``is_mere_name`` (True where the
    fingerprint would be the same for other weights: under a gate its answers of earlier runs do not count),
    ``begin`` (a function: as ``ask``, but it returns a :class:`Reply` at once, for up to ``in_flight`` batches at a
    time), ``hands_over`` (True where nothing of a batch is needed once it was started: its audio is let go),
    ``oom_splits`` (batches halved because memory ran out so far), ``peak_memory_bytes``, ``seconds`` (a mapping of
    ``features_s`` and ``generate_s``: what asking was spent on so far), ``prepare_audio`` (a function of
    :class:`PlayedAudio`, called ahead of asking on the threads that decode), ``missing_parts`` (a function: what asking
    lacks, such as a library or a key, with the remedy, or ""; called before anything is asked).
    """

    spec: str
    """As the run names it, such as "hf:checkpoints/step-9"."""
    batching: Literal["planned", "opaque"]
    limits: Limits
    """Read before anything is loaded."""
    listens: bool
    device: str
    """Where it runs, such as "cuda:0", "cpu" or a URL."""

    def fingerprint(self) -> Mapping[str, str]:
        """Digests and names that distinguish this model from any other: weights, tokenizer, dtype, front end.

        Raises UsageError when the model cannot be what the spec says (a missing folder, no safetensors).
        """

    def load(self) -> None:
        """Make ready to be asked; called once, before the first batch, and never when all answers are known."""

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        """One response for each element, in order. May raise TransientError or FatalError for the whole batch."""

    def close(self) -> None:
        """Free memory and devices."""


def awaited(reply: Reply) -> list[Response]:
    """The responses; who is interrupted meanwhile calls them off."""
    try:
        return reply.result()
    except BaseException:
        reply.cancel()
        raise


def missing_library(extras: Mapping[str, str]) -> str:
    """The first of the libraries that is not installed, with how to install the extra that brings it; "" for none."""
    for library, extra in extras.items():
        if find_spec(library) is None:
            return f"{library} is not installed: {install_command(extra)}"
    return ""
