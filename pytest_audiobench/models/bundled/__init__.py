"""Models that come with the package: a trained listener, two that speak, and four that hear nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from pytest_audiobench.audio.events import AudioEvent, EventType, events_text
from pytest_audiobench.audio.wav import wav_bytes
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import digest, seed
from pytest_audiobench.io.mistakes import nearest
from pytest_audiobench.models.bundled.trained import normalised, read_description
from pytest_audiobench.models.messages import Ask, Request, Response, choice_text
from pytest_audiobench.models.model import Limits, Model, missing_library
from pytest_audiobench.models.spec import check_options

if TYPE_CHECKING:
    from pytest_audiobench.audio.espeak import Voice

_WORDS_A_MINUTE = 150
_SECONDS = re.compile(r"(\d+(?:\.\d+)?) seconds")
"""How long a clip is, as prompts for its events say it."""


def baseline(target: str, options: Mapping[str, str]) -> Model:
    """The baseline named ``target``. Raises UsageError for another name and for any option."""
    check_options("baseline", options, ())
    if target == "listener":
        from pytest_audiobench.models.bundled.listener import Listener

        return Listener()
    if target in _OTHERS:
        return _OTHERS[target]()
    raise UsageError(f"there is no baseline {target[:60]!r}; {nearest(target, sorted(('listener', *_OTHERS)))}")


class Echo:
    """Repeats its input, where speech is requested; its text is the listener's."""

    spec = "baseline:echo"
    batching: Literal["planned", "opaque"] = "opaque"
    listens = True
    device = "cpu"

    def __init__(self) -> None:
        from pytest_audiobench.models.bundled.listener import Listener

        self._listener = Listener()
        self.limits = replace(Listener.limits, speaks=True)

    def fingerprint(self) -> Mapping[str, str]:
        return {**self._listener.fingerprint(), "speaker": f"{self.spec.partition(':')[2]}/1"}

    def load(self) -> None:
        self._listener.load()

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        """One response for each element. Raises as the listener."""
        return [
            response
            if response.error or not ask.request.settings.speech
            else Response.spoken(response.text, self._speech(ask, response.text))
            for ask, response in zip(batch, self._listener.ask(batch), strict=True)
        ]

    def close(self) -> None:
        self._listener.close()

    def _speech(self, ask: Ask, text: str) -> bytes:
        (clip,) = ask.audio
        return bytes(wav_bytes(clip.samples, clip.rate_hz))


class Reader(Echo):
    """The listener, whose answer is read out by espeak-ng: a cascade. Nothing is said of an empty one."""

    spec = "baseline:reader"

    def fingerprint(self) -> Mapping[str, str]:
        return {**super().fingerprint(), "voice": " ".join(map(str, self._voice))}

    def missing_parts(self) -> str:
        """What asking lacks, with the remedy; "" for nothing."""
        return missing_library({"espeakng_loader": "tts"})

    @cached_property
    def _voice(self) -> Voice:
        from pytest_audiobench.audio.espeak import voice

        return voice("en-us", _WORDS_A_MINUTE)

    def _speech(self, ask: Ask, text: str) -> bytes:
        from pytest_audiobench.audio.espeak import RATE_HZ
        from pytest_audiobench.audio.utterances import pcm_of

        pcm = pcm_of(self._voice, text) if text.strip() else np.zeros(RATE_HZ // 2, dtype=np.int16)
        return bytes(wav_bytes(pcm.astype(np.float32) / np.float32(32768), RATE_HZ))


class _Blind:
    """A model that takes an option by its question alone, and transcribes nothing."""

    batching: Literal["planned", "opaque"] = "opaque"
    limits = Limits(max_batch=1024, max_batch_s=1e9, max_clips=64)
    listens = False
    device = "cpu"

    def load(self) -> None:
        """Nothing to load."""

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        return [self._answer(ask.request) for ask in batch]

    def close(self) -> None:
        """Nothing to free."""

    def _answer(self, request: Request) -> Response:
        choices = request.choices
        return Response.of(choice_text(choices, self._choice(request), request.task) if choices else "")

    def _choice(self, request: Request) -> int:
        raise NotImplementedError


class Chance(_Blind):
    """The floor under every other model: an option with equal probability, by a seed made from what is asked."""

    spec = "baseline:chance"

    def fingerprint(self) -> Mapping[str, str]:
        return {"baseline": "chance/1"}

    def _choice(self, request: Request) -> int:
        return seed("chance", request.key) % len(request.choices)


class Majority(_Blind):
    """What the prior alone is worth: the option that answers most questions of the bundled training split."""

    spec = "baseline:majority"

    def fingerprint(self) -> Mapping[str, str]:
        return {"baseline": "majority/1", "counts": digest(self._counts)}

    def _choice(self, request: Request) -> int:
        """The first among equals."""
        counts = [self._counts.get(normalised(option), 0) for option in request.choices]
        return counts.index(max(counts))

    @cached_property
    def _counts(self) -> dict[str, int]:
        counts: dict[str, int] = read_description()["answers"]
        return counts


class Bed(_Blind):
    """The floor under those who list the events of a scene: one piece of music from beginning to end."""

    spec = "baseline:bed"
    _events: tuple[tuple[EventType, dict[str, str]], ...] = (("music", {"description": "background music"}),)

    def fingerprint(self) -> Mapping[str, str]:
        return {"baseline": f"{self.spec.partition(':')[2]}/1"}

    def _answer(self, request: Request) -> Response:
        said = _SECONDS.search(
            " ".join(part for _, parts in request.messages for part in parts if isinstance(part, str))
        )
        if request.task != "events" or said is None:
            return Response.of("")
        return Response.of(
            events_text([AudioEvent(type_, 0.0, float(said[1]), **words) for type_, words in self._events])
        )


class Types(Bed):
    """A floor that claims everything: one event of each type from beginning to end."""

    spec = "baseline:types"
    _events = (
        *Bed._events,
        ("sound_event", {"description": "a sound"}),
        ("speech", {"speaker_id": "speaker_1", "language": "en", "emotion": "neutral"}),
        ("vocal_burst", {"speaker_id": "speaker_1", "vocal_burst": "a breath"}),
    )


_OTHERS: Mapping[str, Callable[[], Model]] = {
    **{"bed": Bed, "chance": Chance, "majority": Majority, "types": Types},
    **{"echo": Echo, "reader": Reader},
}
