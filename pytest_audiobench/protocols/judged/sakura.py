"""SAKURA's judge: correct or incorrect, behind an explanation."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_audiobench.datasets.sample import LETTERS, Sample, tidy_caseless
from pytest_audiobench.models.messages import Message, Response, Settings
from pytest_audiobench.protocols.judged.verdicts import options, scorers, shown, unread
from pytest_audiobench.protocols.protocol import About, Answer, Example, Judging

NAME = "sakura"
_EXPLANATION, _JUDGEMENT, _END = "Explanation: ", "\nJudgement: ", "\n\n"


def prompt(sample: Sample, answer: str) -> tuple[Message, ...]:
    """A system message, and the criteria with question, options, true option and answer. The words are ours."""
    system = (
        "You are a fair judge of answers to multiple-choice questions. From the question with its options, the true "
        "option and a model's reply you decide whether the reply is correct."
    )
    user = (
        "Decide by these criteria.\n"
        "1. Exactly one option is true. A reply that settles on none of the options, or on more than one, is "
        "incorrect.\n"
        "2. A reply that settles on one option is correct if that is the true one, and incorrect otherwise. Other "
        "words for the same option count: a noun for its adjective, the option's text without its letter.\n"
        "3. Read everything before you decide.\n\n"
        "Examples, for the question: Which animal is heard? (a) dog (b) cat (c) cow (d) pig, with the true option (a) "
        'dog. "A horse neighs." is incorrect, since it settles on no option; "A dog or a cat." is incorrect, since it '
        'settles on two; "It is a cat." is incorrect; "This is the barking of a dog." is correct.\n\n'
        f"Question: {sample.question} {options(sample, ' ', lower=True)}\n"
        f"True option: {_true_option(sample)}\n"
        f"The model's reply: {shown(answer)}\n\n"
        "Answer in exactly this form:\n"
        "Explanation: <why>\n"
        "Judgement: <correct or incorrect>"
    )
    return Message("system", (system,)), Message("user", (user,))


def judgement(text: str) -> bool | None:
    r"""What the published pattern ``Explanation: (.*?)\nJudgement: (.*?)(?:\n\n|$)`` finds, None where it does not.

    Found by two searches in place of the pattern, which takes a time that grows with the square of a hostile text.
    """
    start = text.find(_EXPLANATION)
    found = text.find(_JUDGEMENT, start + len(_EXPLANATION)) if start >= 0 else -1
    if found < 0:
        return None
    said = text[found + len(_JUDGEMENT) :].partition(_END)[0].strip().lower()
    return {"correct": True, "incorrect": False}.get(said)


def parsed(sample: Sample, response: Response) -> Answer:
    verdict = judgement(response.text)
    return unread(response) if verdict is None else Answer("parsed", "correct" if verdict else "incorrect")


def scored(sample: Sample, value: str) -> Mapping[str, float]:
    return {"correct": float(value == "correct")}


def judging() -> Judging:
    """``sakura-judge``, and ``sakura-judge-read``, which leaves out what could not be read."""
    found = scorers(NAME, "sakura-judge", prompt, parsed, scored, _ABOUT, norm="explanation-judgement", published=True)
    return Judging(NAME, prompt, found, Settings(max_new_tokens=1024, top_p="0.9"))


def _true_option(sample: Sample) -> str:
    wanted = tidy_caseless(sample.reference)
    letters = (
        letter for letter, one in zip(LETTERS.lower(), sample.choices, strict=False) if tidy_caseless(one) == wanted
    )
    letter = next(letters, "")
    return f"({letter}) {sample.reference}" if letter else sample.reference


_ABOUT = About(
    rule="A judge (gpt-4o-2024-11-20 as published, temperature 0, top_p 0.9, 1,024 new tokens) is shown question, "
    "options, the true option and the answer; an answer that settles on no option or on several is incorrect. Its "
    "reply is read as Explanation: …, a line break, Judgement: …, up to an empty line or the end; the judgement must "
    "be correct or incorrect, whatever its case. Any other reply stays in the denominator, as not correct.",
    source="ckyang1124/SAKURA, evaluation/llm_judge.py (Yang et al. 2025). The criteria are its; the prompt's "
    "wording is ours, since its text comes without a licence, so a judge may decide otherwise than it did there",
    examples=tuple(
        Example(text, reference="dog", choices=("dog", "cat", "cow", "pig"))
        for text in (
            "Explanation: It names the dog.\nJudgement: correct",
            "Explanation: It names two animals.\nJudgement: Incorrect\n\nAnything else?",
            "Judgement: correct",
            "Explanation: A dog.\nJudgement: **correct**",
        )
    ),
    defects="A reply that cannot be read counts as an incorrect answer of the model's, as with **correct** in bold. "
    "`sakura-judge-read` leaves such answers out. The answer stands unmarked in the prompt, so that one which "
    "addresses the judge may move it.",
)
