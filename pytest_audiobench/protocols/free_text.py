"""What tasks with a free text for an answer share: how they ask, and how the text is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import AudioSlot, Message, Response, Settings
from pytest_audiobench.protocols.protocol import Answer, Earlier, Protocol, Scorer, Stage

_NO_ANSWER = Response()


def free_stage(
    words: Callable[[Sample], str],
    system: str | None,
    max_new_tokens: int,
    task: Literal["transcription", "open"] = "open",
) -> Stage:
    """One request: the sample's clips, and behind them what ``words`` makes of the sample."""

    def render(sample: Sample, earlier: Earlier) -> tuple[Message, ...]:
        slots = tuple(AudioSlot(number) for number in range(len(sample.clips)))
        user = Message("user", (*slots, words(sample)))
        return (user,) if system is None else (Message("system", (system,)), user)

    return Stage("answer", render, task=task, settings=Settings(max_new_tokens=max_new_tokens))


def question_of(sample: Sample) -> str:
    """The sample's own question, for what has no words of its own to ask in. Raises UsageError where it has none."""
    if sample.question.strip():
        return sample.question
    raise UsageError(
        f"sample {sample.id!r} has no question, and the protocol asks in the sample's words: add one to the data set, "
        "or give its manifest a question=… for all rows"
    )


def answer_of(earlier: Earlier) -> Response:
    """What the subject answered; nothing where it was not asked."""
    return earlier.get("answer", _NO_ANSWER)


def read_text(sample: Sample, earlier: Earlier) -> Answer:
    """The whole text is the answer, also where the limit of tokens cut it ("truncated") or it declines ("refused")."""
    response = answer_of(earlier)
    if not response.text.strip():
        return Answer("empty")
    if response.finish == "refusal":
        return Answer("refused", response.text)
    return Answer("truncated" if response.finish == "length" else "parsed", response.text)


def choose(asked: Protocol, scorers: Sequence[str | Scorer]) -> Protocol:
    """``asked``, read by ``scorers``: names of its own, and scorers that a user has made; as it comes without any."""
    own = {one.name: one for one in scorers if isinstance(one, Scorer)}
    names = [one.name if isinstance(one, Scorer) else one for one in scorers]
    offered = replace(asked, available=MappingProxyType({**asked.available, **own}))
    return offered.with_scorers(*names) if names else offered
