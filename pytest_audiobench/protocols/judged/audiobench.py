"""AudioBench's judge: a rating from 0 to 5, the last word of its reply."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import Message, Response, Settings
from pytest_audiobench.protocols.judged.verdicts import listed, scorers, shown, unread
from pytest_audiobench.protocols.protocol import Answer, Earlier, Judging, Scorer

NAME = "audiobench"
MOST = 5.0


def rating(text: str) -> float | None:
    """The last word of a judge's reply as a number; None where it is none, as for a reply without words.

    NaN and infinities, which the published line takes for numbers, are none.
    """
    try:
        found = float(text.split()[-1])
    except (ValueError, IndexError):
        return None
    return found if math.isfinite(found) else None


def prompt(sample: Sample, answer: str) -> tuple[Message, ...]:
    """Reference, answer, question, and what each rating from 0 to 5 stands for. The words are ours."""
    text = (
        f"[Reference]\n{listed(sample.truths)}\n\n"
        f"[Answer]\n{shown(answer)}\n\n"
        f"[Question]\n{sample.question}\n\n"
        "[Task]\nRate how well the answer agrees with the reference in content, accuracy and relevance. Be strict "
        "about details.\n"
        "0: wrong, or nothing to do with the reference.\n"
        "1: hardly any agreement; mostly misunderstood or irrelevant.\n"
        "2: the subject is right, much of what is said of it is not.\n"
        "3: agrees on the whole, but lacks detail or is inexact in places.\n"
        "4: mostly accurate and relevant; could be clearer or more detailed.\n"
        "5: accurate, detailed, in full agreement.\n\n"
        "Answer in this form, the rating last:\n"
        "Explanation: (a short comparison of answer and reference)\n"
        "Rating: (a whole number)"
    )
    return (Message("user", (text,)),)


def parsed(sample: Sample, response: Response) -> Answer:
    found = rating(response.text)
    if found is None:
        return unread(response)
    return Answer("parsed", repr(found)) if 0.0 <= found <= MOST else Answer("out_of_range")


def scored(sample: Sample, value: str) -> Mapping[str, float]:
    return {"points": float(value) / MOST}


def judging() -> Judging:
    """``audiobench-judge`` and ``audiobench-judge-kept``, ours, and ``audiobench-judge-published``."""
    own = scorers(NAME, "audiobench-judge", prompt, parsed, scored, metric="judge_score", norm="last-word-0-5")
    return Judging(NAME, prompt, (*own, _published(own[0])), Settings(max_new_tokens=512))


def _published(own: Scorer) -> Scorer:
    def read(sample: Sample, earlier: Earlier) -> Answer:
        response = earlier.get(NAME, Response())
        found = rating(response.text)
        return unread(response) if found is None else Answer("parsed", repr(found))

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        return {"points": 0.0 if answer.value is None else float(answer.value) / MOST}

    signature = own.signature.replace("judge:audiobench-judge|", "judge:audiobench-judge-published|")
    signature = signature.replace("last-word-0-5", "last-word").replace("left-out", "0")
    return Scorer("audiobench-judge-published", signature, read, score, own.metrics, judge=NAME)
