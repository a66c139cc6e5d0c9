"""The judges of SALMONN's spoken question answering and of the slot filling of its reproduction."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import Message, Response, Settings
from pytest_audiobench.protocols.judged import yes_no
from pytest_audiobench.protocols.judged.verdicts import listed, scorers, shown, unread
from pytest_audiobench.protocols.protocol import Answer, Judging

SQQA, SLOT = "sqqa", "slot"
_READ = 20_000
_VERDICT = re.compile(r"""["']Correct["']\s{0,20}:\s{0,20}(True|False)\b""", re.I)


def sqqa() -> Judging:
    """``sqqa-judge`` and ``sqqa-judge-kept``."""
    found = scorers(SQQA, "sqqa-judge", _sqqa_prompt, _sqqa_parsed, _scored, norm="correct-true-false")
    return Judging(SQQA, _sqqa_prompt, found, Settings(max_new_tokens=512))


def slot() -> Judging:
    """``slot-judge`` and ``slot-judge-kept``."""
    found = scorers(SLOT, "slot-judge", _slot_prompt, yes_no.parsed, yes_no.scored, norm="first-word-yes-no")
    return Judging(SLOT, _slot_prompt, found, Settings(max_new_tokens=16))


def correct(text: str) -> bool | None:
    """The verdict of a reply that holds the entry "Correct" once, or several times alike; else None."""
    found = {match.lower() for match in _VERDICT.findall(text[:_READ])}
    return found == {"true"} if len(found) == 1 else None


def _sqqa_prompt(sample: Sample, answer: str) -> tuple[Message, ...]:
    text = (
        "You are given a question, its standard answer and an answer to be checked. Judge by the standard answer "
        "whether the answer is correct; where several standard answers are listed, agreeing with one of them is "
        "enough. Give a short reason.\n\n"
        f"Question: {sample.metadata.get('transcript') or sample.question}\n"
        f"Standard answer: {listed(sample.truths)}\n"
        f"Answer to be checked: {shown(answer)}\n\n"
        'Reply with a Python dictionary and nothing else: {"Correct": True or False, "Reason": "why"}'
    )
    return (Message("user", (text,)),)


def _slot_prompt(sample: Sample, answer: str) -> tuple[Message, ...]:
    system = (
        "You compare a slot value that a model heard in speech with the true one. Be neither kind nor harsh. Reply Yes "
        "if the model's value says what the true one says, No if it does not, and not a word more."
    )
    user = (
        f"The slot: {sample.metadata.get('slot') or sample.question}\n"
        f"The true value: {listed(sample.truths)}\n"
        f"The model's value: {shown(answer)}\n\n"
        "Does the model's value say what the true one says? Yes or No:"
    )
    return Message("system", (system,)), Message("user", (user,))


def _sqqa_parsed(sample: Sample, response: Response) -> Answer:
    verdict = correct(response.text)
    return unread(response) if verdict is None else Answer("parsed", "true" if verdict else "false")


def _scored(sample: Sample, value: str) -> Mapping[str, float]:
    return {"correct": float(value == "true")}
