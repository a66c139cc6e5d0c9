"""What the prompts of all judges share: the answer put into them, and what becomes of a verdict that cannot be read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

from pytest_audiobench.datasets.sample import LETTERS, Sample
from pytest_audiobench.models.messages import Message, Response
from pytest_audiobench.protocols.protocol import About, Answer, Earlier, Scorer, Status

Prompt: TypeAlias = Callable[[Sample, str], tuple[Message, ...]]
Parse: TypeAlias = Callable[[Sample, Response], Answer]
Score: TypeAlias = Callable[[Sample, str], Mapping[str, float]]

LONGEST_ANSWER, _HEAD = 20_000, 16_000
"""Characters of an answer that a judge is shown: of a longer one its first 16,000 and its last 4,000."""
_EXAMPLE = Sample("sample", (), "QUESTION", ("FIRST", "SECOND"), "REFERENCE")
_NO_VERDICT = Response()


def shown(text: str) -> str:
    """The answer as a judge is shown it: whole, or its beginning and end with a note of what is left out."""
    if len(text) <= LONGEST_ANSWER:
        return text
    tail = LONGEST_ANSWER - _HEAD
    return f"{text[:_HEAD]}\n[… {len(text) - LONGEST_ANSWER} characters left out …]\n{text[-tail:]}"


def marked(text: str) -> str:
    """The answer between marks that it cannot forge, since they are named by its own digest."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"<answer-{digest}>\n{shown(text)}\n</answer-{digest}>"


def listed(texts: tuple[str, ...]) -> str:
    """One text as it is; several on lines of their own."""
    return texts[0] if len(texts) == 1 else "".join(f"\n- {text}" for text in texts)


def options(sample: Sample, between: str = "\n", lower: bool = False) -> str:
    """The sample's options by letter, such as ``(A) cat``, beyond the alphabet by dashes; nothing without any."""
    if len(sample.choices) > len(LETTERS):
        return between.join(f"- {choice}" for choice in sample.choices)
    letters = LETTERS.lower() if lower else LETTERS
    return between.join(f"({letter}) {choice}" for letter, choice in zip(letters, sample.choices, strict=False))


def said(text: str) -> str:
    """A judge's reply without what it thought aloud, up to the last ``</think>``."""
    return text.rpartition("</think>")[2]


def unread(response: Response) -> Answer:
    """A verdict that could not be read: empty, cut off, or simply not of the form that was asked for."""
    status: Status = "unparsed"
    if not response.text.strip():
        status = "empty"
    elif response.finish == "length":
        status = "truncated"
    return Answer(status)


def prompt_digest(prompt: Prompt) -> str:
    """The first 8 hex digits of the digest of all that ``prompt`` says of its own."""
    messages = prompt(_EXAMPLE, "ANSWER")
    return hashlib.sha256(json.dumps(messages, ensure_ascii=False).encode()).hexdigest()[:8]


def scorers(
    judging: str,
    name: str,
    prompt: Prompt,
    parse: Parse,
    score: Score,
    about: About,
    *,
    metric: str = "accuracy",
    norm: str,
    other: str = "",
    published: bool = False,
) -> tuple[Scorer, Scorer]:
    """Two scorers of one judge's verdicts: ``name`` and ``other`` (by default ``name-kept``).

    One leaves out answers whose verdict cannot be read, the other keeps them as wrong, and is shown beside it. The
    first leaves out, or, where a ``published`` rule keeps them, the second. ``norm`` names the parser in the signature.
    """
    other = other or (f"{name}-read" if published else f"{name}-kept")
    leaving, keeping = (other, name) if published else (name, other)
    nothing = {"points": 0.0} if metric == "judge_score" else {"correct": 0.0}

    def read(sample: Sample, earlier: Earlier) -> Answer:
        return parse(sample, earlier.get(judging, _NO_VERDICT))

    def left_out(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        return None if answer.value is None else score(sample, answer.value)

    def kept(sample: Sample, answer: Answer) -> Mapping[str, float]:
        return nothing if answer.value is None else score(sample, answer.value)

    signature = f"judge:{name}|v:1|prompt:{prompt_digest(prompt)}|parse:{norm}|unread:"
    leaves = about if leaving == name else about._replace(rule=f"{about.rule} {_LEAVES}", defects="")
    keeps = about if keeping == name else about._replace(rule=f"{about.rule} {_KEEPS}", defects="")
    found = (
        Scorer(leaving, f"{signature}left-out", read, left_out, (metric,), leaves, beside=(keeping,), judge=judging),
        Scorer(keeping, f"{signature}wrong", read, kept, (metric,), keeps, judge=judging),
    )
    return found[::-1] if published else found


_LEAVES = "In this scorer an answer whose verdict cannot be read is left out, and counted."
_KEEPS = "In this scorer an answer whose verdict cannot be read counts as wrong."
