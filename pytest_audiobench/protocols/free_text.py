"""What tasks with a free text for an answer share: how they ask, and how the text is taken."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Literal

from pytest_audiobench.datasets.sample import PLACEHOLDER, Sample
from pytest_audiobench.errors import SampleError, UsageError
from pytest_audiobench.models.messages import AudioSlot, Message, Response, Settings
from pytest_audiobench.protocols.answer_failures import Expects
from pytest_audiobench.protocols.protocol import Answer, Earlier, Protocol, Scorer, Stage

_NO_ANSWER = Response()


def free_stage(
    words: Callable[[Sample], str],
    system: str | None,
    max_new_tokens: int,
    task: Literal["choice", "transcription", "events", "open"] = "open",
) -> Stage:
    """One request: what ``words`` makes of the sample, with its clips where that has places for them, else before."""

    def render(sample: Sample, earlier: Earlier) -> tuple[Message, ...]:
        user = Message("user", with_slots(words(sample), len(sample.clips)))
        return (user,) if system is None else (Message("system", (system,)), user)

    return Stage("answer", render, task=task, settings=Settings(max_new_tokens=max_new_tokens))


def with_slots(text: str, clips: int) -> tuple[str | AudioSlot, ...]:
    """``text`` with the clips where its placeholders stand, else behind all clips.

    A space behind a placeholder that opens the text only sets it apart. Raises SampleError where there are
    placeholders, but not one for each clip.
    """
    first, *others = text.split(PLACEHOLDER)
    if not others:
        return (*map(AudioSlot, range(clips)), *([text] if text else []))
    if len(others) != clips:
        raise SampleError(f"the question has places for {len(others)} clips, and the sample has {clips}")
    parts: list[str | AudioSlot] = [first]
    for clip, other in enumerate(others):
        opening = not any(isinstance(part, str) and part.strip() for part in parts)
        parts += [AudioSlot(clip), other.removeprefix(" ") if opening else other]
    return tuple(part for part in parts if part != "")


def question_of(sample: Sample) -> str:
    """The sample's own question, for what has no words of its own to ask in. Raises UsageError where it has none."""
    if sample.question.strip():
        return sample.question
    raise UsageError(
        f"sample {sample.id!r} has no question, and the protocol asks in the sample's words: add one to the data set "
        "(a file that declares it: 'question' in its [sample]; a manifest: question=… for all rows)"
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


def family_protocol(
    name: str,
    stages: Sequence[Stage],
    family_scorers: Iterable[Scorer],
    scorers: Sequence[str | Scorer],
    expects: Expects = "open",
    default: str = "",
) -> Protocol:
    """The protocol of a family, read by ``scorers``: names of the family's, and scorers of the user's.

    Without any it is read by the ``default``, else by the first of the family's.
    """
    available = MappingProxyType({scorer.name: scorer for scorer in family_scorers})
    protocol = Protocol(name, tuple(stages), (available[default or next(iter(available))],), available, expects)
    user_scorers = {scorer.name: scorer for scorer in scorers if isinstance(scorer, Scorer)}
    names = [scorer.name if isinstance(scorer, Scorer) else scorer for scorer in scorers]
    offered = replace(protocol, available=MappingProxyType({**protocol.available, **user_scorers}))
    return offered.with_scorers(*names) if names else offered


def template_pieces(template: str, known: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of literal text and the placeholder behind it ("" at the end); ``{{`` and ``}}`` are braces.

    Raises UsageError for a template that cannot be read, and for a placeholder that is not ``known``.
    """
    try:
        pieces = list(string.Formatter().parse(template))
    except ValueError as error:
        raise UsageError(f"the prompt {template!r} cannot be read ({error}); write a brace as {{{{ or }}}}") from None
    for _, name, specification, conversion in pieces:
        if name is not None and (name not in known or specification or conversion):
            *others, last = (f"{{{placeholder}}}" for placeholder in known)
            are = f"known are {', '.join(others)} and {last}" if others else f"known is {last}"
            written = name + (f"!{conversion}" if conversion else "") + (f":{specification}" if specification else "")
            raise UsageError(f"the prompt {template!r} has the unknown placeholder {{{written}}}; {are}")
    return [(literal, name or "") for literal, name, _, _ in pieces]


def filled_template(template: Sequence[tuple[str, str]], values: Mapping[str, str]) -> str:
    """The text of a parsed template with each placeholder's value."""
    return "".join(literal + (values[name] if name else "") for literal, name in template)


_END = "</s>"


def read_ended_text(sample: Sample, earlier: Earlier) -> Answer:
    """The whole text without an end token that was written out, as recorded answers have it.

    "truncated" where the limit of tokens came before the end; what was said until then is the answer all the same.
    """
    response = answer_of(earlier)
    text = response.text.strip()
    if text.endswith(_END):
        answer_text = text.removesuffix(_END).strip()
        return Answer("parsed", answer_text) if answer_text else Answer("empty")
    if response.finish == "length":
        return Answer("truncated", text or None)
    answer = read_text(sample, earlier)
    return answer._replace(value=answer.value.strip()) if answer.value else answer
