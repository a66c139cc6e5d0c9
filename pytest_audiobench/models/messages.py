"""Requests to a model, and its responses."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Literal, NamedTuple, TypeAlias, get_args

from pytest_audiobench.audio.clip import Clip
from pytest_audiobench.audio.clip import PlayedAudio as PlayedAudio

Finish: TypeAlias = Literal["stop", "length", "refusal", "unknown"]
_FINISHES: tuple[Finish, ...] = get_args(Finish)

Task: TypeAlias = Literal["choice", "transcription", "events", "open"]
"""What is asked, for listeners that are not language models: an option, the words spoken, a list of events, else."""
TASKS: tuple[Task, ...] = get_args(Task)


def known_finish(finish: str | None) -> Finish:
    """``finish``; "unknown" for a server's own word, which a run's files have no place for."""
    return next((known for known in _FINISHES if known == finish), "unknown")


SOMETHING_ELSE = "something else"
"""Offered in addition to the name of a sound, to listeners that choose among texts: that it is not heard."""


def choice_text(choices: Sequence[str], position: int, task: str = "choice") -> str:
    """The text of the choice at ``position``, as a listener that is not a language model gives it.

    The letter of its place, beyond Z its text; of a sound and :data:`SOMETHING_ELSE` yes or no, since no options are
    listed in such a question. Where the task is "open" it is the text, since nothing has a letter there.
    """
    if SOMETHING_ELSE in choices:
        return "no" if choices[position] == SOMETHING_ELSE else "yes"
    if task == "open":
        return choices[position]
    return ascii_uppercase[position] if position < len(ascii_uppercase) else choices[position]


class AudioSlot(NamedTuple):
    """The place of the request's clip number ``clip`` within a message."""

    clip: int


class Message(NamedTuple):
    """One turn: text parts and audio slots in order."""

    role: Literal["system", "user", "assistant"]
    """Whose turn it is."""
    parts: tuple[str | AudioSlot, ...]
    """Texts, and the places of clips among them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to generate. Decimals are strings, so that the settings can be hashed."""

    max_new_tokens: int = 256
    """The most tokens of an answer."""
    temperature: str = "0"
    """"0" decodes greedily."""
    top_p: str = "1"
    """The share of probability that is sampled from, from "0" to "1"."""
    speech: bool = False
    """Whether the answer is to be spoken too, by a model that can (``Limits.speaks``)."""


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model."""

    key: str
    """Its identity: messages, clips' keys, settings, model, epoch."""
    dataset: str
    """The data set's name."""
    sample_id: str
    """The sample's."""
    stage: str
    """The name of the protocol's stage."""
    task: Task
    """This and ``choices`` repeat what the messages say, for listeners that are not language models."""
    messages: tuple[Message, ...]
    """The conversation, in turns."""
    clips: tuple[Clip, ...]
    """Those that the slots of the messages number, from 0."""
    choices: tuple[str, ...] = ()
    """The texts of the options; nothing where none are listed."""
    settings: Settings = Settings()
    """How to generate."""
    epoch: int = 0
    """Which repetition of the question it is, from 0."""


class Ask(NamedTuple):
    """A request with its audio, one element of a batch."""

    request: Request
    """The question."""
    audio: tuple[PlayedAudio, ...]
    """The request's clips as the model is to be played them, in their order; nothing for one that does not listen."""


class Part(NamedTuple):
    """A piece of an output: text, or audio by digest."""

    kind: Literal["text", "audio"]
    """What it is."""
    value: str
    """The text, or the digest."""


class Sound(NamedTuple):
    """The audio of an answer: a file's bytes, and what was measured of them once they were decoded."""

    digest: str
    """SHA-256 of the bytes; that of the part of kind "audio" that stands for it."""
    seconds: float = 0.0
    """How long it lasts."""
    rate_hz: int = 0
    """Its own."""
    silence: float = 0.0
    """The share of it in which nothing is heard."""
    clipping: float = 0.0
    """The share of its samples at full scale or beyond."""
    data: bytes = b""
    """A whole file: WAV, FLAC, MP3 or Ogg. Empty once the store has it."""


@dataclass(frozen=True, slots=True)
class Output:
    """One generated answer."""

    parts: tuple[Part, ...]
    """In order."""
    finish: Finish = "stop"
    """"length" when the limit of tokens cut it."""
    score: float | None = None
    """The model's own score of it, where it reports one."""

    @property
    def text(self) -> str:
        """Its texts in a row."""
        if len(self.parts) == 1 and self.parts[0].kind == "text":
            return self.parts[0].value
        return "".join(part.value for part in self.parts if part.kind == "text")


@dataclass(frozen=True, slots=True)
class Response:
    """A model's answer to one request, or the error that this one sample met."""

    outputs: tuple[Output, ...] = ()
    """What was generated; the first is read."""
    usage: Mapping[str, int] = field(default_factory=dict)
    """Tokens by kind, as servers count them, such as "prompt_tokens"."""
    latency_s: float | None = None
    """Seconds from sending this request to its whole answer, where the model reports it."""
    truncated_s: tuple[float, ...] = ()
    """How much of each clip's end the model's window cut off; empty when nothing was."""
    error: str | None = None
    """Why this one sample could not be answered, in a sentence; None where it was."""
    first_token_s: float | None = None
    """Seconds from sending this request to the first token, where the model reports it."""
    share_s: float | None = None
    """The batch's seconds over its answers, set when asking: shares add up, latencies of a batch do not."""
    lasting: bool = False
    """Whether its error stays until somebody acts: audio cannot be read, a budget is spent, the model's code raised."""
    sounds: tuple[Sound, ...] = ()
    """What the outputs' parts of kind "audio" stand for."""
    first_audio_s: float | None = None
    """Seconds from sending this request to the first audio of the answer, where the model reports it."""

    @property
    def text(self) -> str:
        """The first output's text; empty when there is none."""
        return self.outputs[0].text if self.outputs else ""

    @property
    def audio(self) -> str:
        """The digest of the first output's audio; "" where it has none."""
        parts = self.outputs[0].parts if self.outputs else ()
        return next((part.value for part in parts if part.kind == "audio"), "")

    @property
    def sound(self) -> Sound | None:
        """The first output's audio; None where it has none, or where that is not available."""
        return next((sound for sound in self.sounds if sound.digest == self.audio), None)

    @property
    def finish(self) -> Finish:
        """Why the first output ended; "unknown" when there is none."""
        return self.outputs[0].finish if self.outputs else "unknown"

    @classmethod
    def of(cls, text: str, finish: Finish = "stop") -> Response:
        """The answer ``text``; ``finish`` is "length" where the limit of tokens cut it."""
        return cls(outputs=(Output((Part("text", text),), finish),))

    @classmethod
    def spoken(cls, text: str, data: bytes, finish: Finish = "stop") -> Response:
        """The answer ``text`` with the bytes of an audio file that says it; without a text, where ``text`` is ""."""
        sound = Sound(hashlib.sha256(data).hexdigest(), data=data)
        words = (Part("text", text),) if text else ()
        return cls(outputs=(Output((*words, Part("audio", sound.digest)), finish),), sounds=(sound,))
