"""A real listener in numpy: trained on the bundled training split, without torch.

It answers questions of choice whose options it was trained on (digits, delivery, language, sounds and how
many of them, whether one of them is there, whether anyone speaks), transcribes the bundled vocabulary, and says of
all else that it cannot tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pytest_audiobench.models.baseline.features import RATE_HZ, VERSION, Array, features
from pytest_audiobench.models.baseline.letters import UNKNOWN, chosen
from pytest_audiobench.models.baseline.sphinx import Sphinx
from pytest_audiobench.models.baseline.trained import Trained, listener_folder
from pytest_audiobench.models.hf.checkpoint import sha256_of
from pytest_audiobench.models.messages import SOMETHING_ELSE, Ask, Message, PlayedAudio, Response
from pytest_audiobench.models.model import Limits

LONGEST_S = 30.0
"""Longer clips are cut, and the cut is counted; the listener was trained on clips of up to three seconds."""


class Listener:
    """``baseline:listener``, the model that a run asks by default."""

    spec = "baseline:listener"
    batching: Literal["planned", "opaque"] = "opaque"
    limits = Limits(max_batch=64, max_batch_s=600.0, rate_hz=RATE_HZ, max_clip_s=LONGEST_S, max_clips=1)
    listens = True
    device = "cpu"

    def __init__(self) -> None:
        self._trained: Trained | None = None
        self._sphinx = Sphinx()

    def fingerprint(self) -> Mapping[str, str]:
        folder = listener_folder()
        return {
            "baseline": "listener/2",
            "features": VERSION,
            "weights": sha256_of(folder / "listener.safetensors"),
            "description": sha256_of(folder / "listener.json"),
            **self._sphinx.fingerprint(),
        }

    def load(self) -> None:
        """Read the weights; the recogniser is loaded by the first request for a transcript."""
        self._trained = Trained.read()

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        """One response for each element. Raises FatalError for a transcript without pocketsphinx."""
        trained = self._trained or Trained.read()
        # A clip that is asked about several times, one sound after the other, is analysed once.
        heard: dict[str, Array] = {}
        return [self._answer(ask, trained, heard) for ask in batch]

    def close(self) -> None:
        self._trained = None
        self._sphinx.close()

    def _answer(self, ask: Ask, trained: Trained, heard: dict[str, Array]) -> Response:
        if len(ask.audio) > 1:
            return Response(error=f"{ask.request.sample_id} plays {len(ask.audio)} clips, and {self.spec} takes one")
        if not ask.audio:
            return Response.of(UNKNOWN)
        if ask.request.task == "transcription":
            return Response.of(self._sphinx.transcript(ask.audio[0].samples))
        choices = ask.request.choices
        if len(choices) == 2 and choices[1] == SOMETHING_ELSE:
            return _probed(choices, trained, _features_of(ask.audio[0], heard))
        head = trained.head_for(choices, _text_of(ask.request.messages))
        if head is None:
            return Response.of(UNKNOWN)
        return chosen(choices, trained.choose(head, choices, _features_of(ask.audio[0], heard)))


def _features_of(clip: PlayedAudio, heard: dict[str, Array]) -> Array:
    if clip.pcm_digest not in heard:
        heard[clip.pcm_digest] = features(clip.samples)
    return heard[clip.pcm_digest]


def _probed(choices: Sequence[str], trained: Trained, vector: Array) -> Response:
    """Whether the first of ``choices`` is heard, or something else; unknown for a sound that it was not trained on."""
    if not trained.knows(choices[0]):
        return Response.of(UNKNOWN)
    return chosen(choices, 0 if trained.hears(choices[0], vector) else 1)


def _text_of(messages: Sequence[Message]) -> str:
    return " ".join(part for message in messages for part in message.parts if isinstance(part, str))
