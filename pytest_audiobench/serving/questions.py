"""A question as it arrives over HTTP, whatever the shape: checked, but with its audio still encoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, NamedTuple, TypeAlias

from pytest_audiobench.errors import SampleError
from pytest_audiobench.identity import digest_of_trusted
from pytest_audiobench.models.messages import TASKS, Ask, AudioSlot, Message, PlayedAudio, Request, Settings, Task

PayloadType: TypeAlias = Literal["base64_wav", "file_path", "file_url"]

Tasks: TypeAlias = Sequence[str]
"""What a model can do, by its limits."""

_MOST_TOKENS = 65_536
_MOST_CHOICES = 10_000


class Sound(NamedTuple):
    """One clip as it arrived: base64 text, a path, a URL, or a file's bytes."""

    kind: PayloadType | Literal["bytes"]
    data: str | bytes


@dataclass(frozen=True, slots=True)
class Question:
    """One question; ``longest_s`` is where its clips are to be cut, None where it does not say."""

    sample_id: str
    messages: tuple[Message, ...]
    sounds: tuple[Sound, ...]
    settings: Settings
    task: Task
    choices: tuple[str, ...]
    seed: int
    longest_s: float | None

    def ask(self, audio: Sequence[PlayedAudio]) -> Ask:
        """The question as a model is asked it, with its audio decoded. Its key covers all that may change an answer."""
        turns = [[m.role, [list(p) if isinstance(p, AudioSlot) else p for p in m.parts]] for m in self.messages]
        settings: list[object] = [self.settings.max_new_tokens, self.settings.temperature, self.settings.top_p]
        settings += ["speech"] if self.settings.speech else []
        content = [self.sample_id, turns, [h.pcm_digest for h in audio], settings, self.task, self.choices, self.seed]
        request = Request(
            key=digest_of_trusted(content),
            dataset="served",
            sample_id=self.sample_id,
            stage="answer",
            task=self.task,
            messages=self.messages,
            clips=(),
            choices=self.choices,
            settings=self.settings,
        )
        return Ask(request, tuple(audio))


def question(
    sample_id: str, messages: Sequence[Message], sounds: Sequence[Sound], config: Mapping[str, Any], tasks: Tasks
) -> Question:
    """A question whose settings come from ``config``: max_tokens, temperature, top_p, seed, max_length_seconds, task
    and choices; None and an absent key mean the default, other keys are not ours.

    Raises SampleError for a value of the wrong type or beyond its range, for a task that is not among ``tasks``, those
    that the model can do, and for a choice without choices.
    """
    choices = _choices(config.get("choices"))
    task = _task(config.get("task"), bool(choices), tasks)
    if task == "choice" and not choices:
        raise SampleError("task is choice and there are no choices; give the options as a list of texts in choices")
    default = Settings()
    settings = Settings(
        max_new_tokens=int(_number(config, "max_tokens", default.max_new_tokens, 1, _MOST_TOKENS, whole=True)),
        temperature=_decimal(_number(config, "temperature", 0, 0, 100)),
        top_p=_decimal(_number(config, "top_p", 1, 0, 1)),
    )
    longest_s = _number(config, "max_length_seconds", 0, 0.001, 1e6) if config.get("max_length_seconds") else None
    seed = int(_number(config, "seed", 0, -(2**53), 2**53, whole=True))
    return Question(sample_id, tuple(messages), tuple(sounds), settings, task, choices, seed, longest_s)


def text(value: Any, name: str) -> str:
    """``value``, a text that can be written as UTF-8. Raises SampleError."""
    if not isinstance(value, str):
        raise SampleError(f"{name} is {kind(value)}, not a text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SampleError(f"{name} holds half of a surrogate pair, which is not text") from None
    return value


def kind(value: Any) -> str:
    """What JSON calls the type of ``value``, for messages."""
    kinds = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list"}
    return kinds.get(type(value), "an object")


def _task(name: Any, has_choices: bool, tasks: Tasks) -> Task:
    """The task of that name; else choice where there are choices, open where the model does that, or what it does."""
    wanted = name or ("choice" if has_choices else "open" if "open" in tasks else tasks[0])
    task = next((task for task in TASKS if task == wanted), None)
    if task is None:
        raise SampleError(f"task is {str(wanted)[:40]!r}; it may be {', '.join(TASKS)}")
    if task not in tasks:
        raise SampleError(f"the model can do {' and '.join(tasks)} and nothing else, and is asked for {task}")
    return task


def _choices(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > _MOST_CHOICES:
        raise SampleError(f"choices is {kind(value)}; it is a list of up to {_MOST_CHOICES} texts")
    return tuple(text(choice, f"choices[{i}]") for i, choice in enumerate(value))


def _number(
    config: Mapping[str, Any], name: str, default: float, least: float, most: float, whole: bool = False
) -> float:
    if (value := config.get(name)) is None:
        return default
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not least <= value <= most or not isfinite(value) or (whole and value != int(value)):
        raise SampleError(
            f"{name} is {str(value)[:40]!r}; it is {'a whole' if whole else 'a'} number from {least:g} to {most:g}"
        )
    return float(value)


def _decimal(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
