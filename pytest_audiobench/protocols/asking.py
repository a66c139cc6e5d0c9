"""One question with one answer in words: how it is put, and what came back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import AudioSlot, Message, Response, Settings
from pytest_audiobench.protocols.protocol import Answer, Earlier, Stage

_NO_ANSWER = Response()


def one_question(
    words: Callable[[Sample], str],
    max_new_tokens: int,
    system: str | None = None,
    task: Literal["transcription", "open"] = "open",
) -> Stage:
    """The stage "answer": the sample's clips, then ``words`` of the sample, after ``system`` if there is one."""

    def render(sample: Sample, earlier: Earlier) -> tuple[Message, ...]:
        slots = tuple(AudioSlot(number) for number in range(len(sample.clips)))
        user = Message("user", (*slots, words(sample)))
        return (user,) if system is None else (Message("system", (system,)), user)

    return Stage("answer", render, task=task, settings=Settings(max_new_tokens=max_new_tokens))


def answered(earlier: Earlier) -> Response:
    """What the subject said; a response without outputs where it was not asked."""
    return earlier.get("answer", _NO_ANSWER)


def as_text(sample: Sample, earlier: Earlier) -> Answer:
    """The answer as it is; "truncated" when the limit of tokens cut it, and then its words still count."""
    response = answered(earlier)
    if not response.text.strip():
        return Answer("empty")
    return Answer("truncated" if response.finish == "length" else "parsed", response.text)
