"""What the prompts of all judges share: the answer put into them, and what becomes of a verdict that cannot be read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from pytest_audiobench.datasets.sample import LETTERS, Sample
from pytest_audiobench.models.messages import Message, Response, Settings
from pytest_audiobench.protocols.protocol import Answer, Earlier, Judging, Scorer, Status

Prompt: TypeAlias = Callable[[Sample, str], tuple[Message, ...]]
Role: TypeAlias = Literal["judge", "extractor"]
Parse: TypeAlias = Callable[[Sample, Response], Answer]
Score: TypeAlias = Callable[[Sample, str], Mapping[str, float]]

LONGEST_ANSWER, _HEAD = 20_000, 16_000
"""Characters of an answer that a judge is shown: of a longer one its first 16,000 and its last 4,000."""
_EXAMPLE = Sample("sample", (), "QUESTION", ("FIRST", "SECOND"), "REFERENCE")
_NO_VERDICT = Response()


def shortened(text: str) -> str:
    """The answer as a judge is shown it: whole, or its beginning and end with a note of what is left out."""
    if len(text) <= LONGEST_ANSWER:
        return text
    tail = LONGEST_ANSWER - _HEAD
    return f"{text[:_HEAD]}\n[… {len(text) - LONGEST_ANSWER} characters left out …]\n{text[-tail:]}"


def marked(text: str) -> str:
    """The answer between marks that it cannot forge, since they are named by its own digest."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"<answer-{digest}>\n{shortened(text)}\n</answer-{digest}>"


def text_list(texts: tuple[str, ...]) -> str:
    """One text as it is; several on lines of their own."""
    return texts[0] if len(texts) == 1 else "".join(f"\n- {text}" for text in texts)


def option_list(sample: Sample, between: str = "\n", lower: bool = False) -> str:
    """The sample's options by letter, such as ``(A) cat``, beyond the alphabet by dashes; nothing without any."""
    if len(sample.choices) > len(LETTERS):
        return between.join(f"- {choice}" for choice in sample.choices)
    letters = LETTERS.lower() if lower else LETTERS
    return between.join(f"({letter}) {choice}" for letter, choice in zip(letters, sample.choices, strict=False))


def without_thoughts(text: str) -> str:
    """A judge's reply without what it thought aloud, up to the last ``</think>``."""
    return text.rpartition("</think>")[2]


def unreadable(response: Response) -> Answer:
    """A verdict that could not be read: empty, cut off, or simply not of the form that was asked for."""
    status: Status = "unparsed"
    if not response.text.strip():
        status = "empty"
    elif response.finish == "length":
        status = "truncated"
    return Answer(status)


def prompt_digest(prompt: Prompt) -> str:
    """The first 8 hex digits of the digest of all that ``prompt`` says of its own."""
    return hashlib.sha256(json.dumps(prompt(_EXAMPLE, "ANSWER"), ensure_ascii=False).encode()).hexdigest()[:8]


def verdict_scorers(
    judging: str,
    name: str,
    prompt: Prompt,
    parse: Parse,
    score: Score,
    *,
    metric: str = "accuracy",
    further: tuple[str, ...] = (),
    norm: str,
    other: str = "",
    published: bool = False,
) -> tuple[Scorer, Scorer]:
    """Two scorers of one judge's verdicts: ``name`` and ``other`` (by default ``name-kept``).

    One leaves out answers whose verdict cannot be read, the other keeps them as wrong, and is shown with it. The
    first leaves out, or, where a ``published`` rule keeps them, the second. ``norm`` names the parser in the signature;
    ``further`` metrics are means of the statistics of their names.
    """
    other = other or (f"{name}-read" if published else f"{name}-kept")
    leaving, keeping = (other, name) if published else (name, other)
    nothing = dict.fromkeys(("points" if metric == "judge_score" else "correct", *further), 0.0)
    metrics = (metric, *further)

    def read(sample: Sample, earlier: Earlier) -> Answer:
        return parse(sample, earlier.get(judging, _NO_VERDICT))

    def score_where_read(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        return None if answer.value is None else score(sample, answer.value)

    def score_all(sample: Sample, answer: Answer) -> Mapping[str, float]:
        return nothing if answer.value is None else score(sample, answer.value)

    signature = f"judge:{name}|v:1|prompt:{prompt_digest(prompt)}|parse:{norm}|unread:"
    scorers = (
        Scorer(leaving, f"{signature}left-out", read, score_where_read, metrics, companions=(keeping,), judge=judging),
        Scorer(keeping, f"{signature}wrong", read, score_all, metrics, judge=judging),
    )
    return scorers[::-1] if published else scorers


def worded(read: Callable[[str], bool | None], right: str, wrong: str) -> tuple[Parse, Score]:
    """The reading of verdicts that ``read`` finds, recorded as one of two words: statistics for ``accuracy``."""

    def parse(sample: Sample, response: Response) -> Answer:
        verdict = read(response.text)
        return unreadable(response) if verdict is None else Answer("parsed", right if verdict else wrong)

    return parse, lambda sample, value: {"correct": float(value == right)}


def rated(read: Callable[[str], float | None], most: float, least: float = 0.0) -> tuple[Parse, Score]:
    """The reading of numbers from ``least`` to ``most`` that ``read`` finds: statistics for ``judge_score``."""

    def parse(sample: Sample, response: Response) -> Answer:
        if (rating := read(response.text)) is None:
            return unreadable(response)
        return Answer("parsed", repr(rating)) if least <= rating <= most else Answer("out_of_range")

    return parse, lambda sample, value: {"points": float(value) / most}


def judging_of(
    name: str,
    prompt: Prompt,
    reading: tuple[Parse, Score],
    settings: Settings,
    scorer: str = "",
    role: Role = "judge",
    **keywords: Any,
) -> Judging:
    """A judging with two :func:`verdict_scorers`, whose ``keywords`` these are, called ``scorer`` or else ``name``."""
    scorers = verdict_scorers(name, scorer or name, prompt, *reading, **keywords)
    return Judging(name, prompt, scorers, settings, role)


_RIGHT_FROM = 0.5


def agreement(first: Scorer, second: Scorer) -> Scorer:
    """Whether ``first``, of a judge, and ``second`` take an answer for right: ``judge_agreement`` and ``judge_kappa``.

    An answer that either leaves out, or whose verdict either could not have, is left out. The signature holds the
    digests of both signatures, which are in full with their own numbers.
    """

    def parse(sample: Sample, earlier: Earlier) -> Answer:
        verdicts = [_is_right(scorer, sample, earlier) for scorer in (first, second)]
        return Answer("unparsed") if None in verdicts else Answer("parsed", " ".join(map(str, verdicts)))

    return Scorer(
        name=f"{first.name}-vs-{second.name}",
        signature=f"agreement|v:1|right:from {_RIGHT_FROM}|of:{_signature_digest(first)}+{_signature_digest(second)}",
        parse=parse,
        score=_agreement_statistics,
        metrics=("judge_agreement", "judge_kappa"),
        judge=first.judge,
        further_judges=first.further_judges,
    )


def _signature_digest(scorer: Scorer) -> str:
    return hashlib.sha256(scorer.signature.encode()).hexdigest()[:12]


def _is_right(scorer: Scorer, sample: Sample, earlier: Earlier) -> int | None:
    if scorer.judge and earlier[scorer.judge].error is not None:
        return None
    scores = scorer.score(sample, scorer.parse(sample, earlier))
    return None if scores is None else int(scores.get("points", scores.get("correct", 0.0)) >= _RIGHT_FROM)


def _agreement_statistics(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
    if answer.value is None:
        return None
    first, second = map(int, answer.value.split())
    return {"agree": float(first == second), "first": float(first), "second": float(second), "n": 1.0}
