"""Is it one and the same speaker? Trials that are answered yes or no, or with a similarity."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.classification import agreement
from pytest_audiobench.protocols.classification.mentions import labels_of
from pytest_audiobench.protocols.classification.truth import statistics_of
from pytest_audiobench.protocols.free_text import answer_of, choose, free_stage
from pytest_audiobench.protocols.protocol import About, Answer, Earlier, Example, Protocol, Scorer, remembered
from pytest_audiobench.protocols.spoken_questions.completeness import ended

INSTRUCTION = "Do you only hear the same person talking? Answer yes or no."
PROMPTS: Mapping[str, str] = MappingProxyType(
    {
        "default": INSTRUCTION,
        "similarity": "How likely is it that only one person is talking? Answer with a number from 0 to 1.",
    }
)

_LABELS = labels_of(("no", "yes"))
_SAME = frozenset(("yes", "same", "target", "true", "1"))
_DIFFERENT = frozenset(("no", "different", "nontarget", "false", "0"))
_COUNTED = r"(?:speakers?|persons?|people|voices?|clips?|recordings?|audios?|utterances?|segments?)"
_NUMBER = re.compile(
    rf"\b{_COUNTED}\s(?:no\.?\s)?\d{{1,3}}\b(?!\.\d)|(?<![\w.,/-])\d{{1,3}}\s(?:\w{{1,12}}\s)?{_COUNTED}\b"
    r"|(?<![\w.,/-])(?P<number>\d{1,3}(?:\.\d{1,12})?|\.\d{1,12}|0,\d{1,12})"
    r"(?:\s?(?P<percent>%|percent\b)|\s?(?:/|out\sof)\s?(?P<whole>\d{1,3})\b)?(?![\w/]|[.,]\d)",
    re.I,
)
"""A number from 0 to 1 or a part of a whole; "speaker 2" and "2 speakers" are found first, and are none."""


@remembered
def verification(
    *scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 32
) -> Protocol:
    """Ask whether one speaker is heard, in the sample's own question's words or else in ``prompt``'s.

    The scorers are ``same-speaker`` (the default; ours, with a third value), ``similarity`` (ours, for scored trials:
    equal error rate and detection cost) and ``salmonn-sv``. A sample's reference is "yes", "same" or "target", or else
    "no", "different" or "nontarget". ``prompt`` may be the name of one in ``PROMPTS``. Raises UsageError for an unknown
    scorer.
    """
    instruction = PROMPTS.get(prompt, prompt)
    stage = free_stage(lambda sample: sample.question or instruction, system, max_new_tokens)
    available = MappingProxyType({scorer.name: scorer for scorer in _READINGS})
    return choose(
        Protocol("verification", (stage,), (available["same-speaker"],), available, expects="option"), scorers
    )


def _is_same(sample: Sample) -> bool:
    truth = tidy_caseless(sample.reference)
    if truth not in _SAME | _DIFFERENT:
        raise UsageError(
            f"sample {sample.id!r}: the reference of a trial is yes, same or target, or no, different or nontarget, "
            f"and not {sample.reference!r}; correct the data set"
        )
    return truth in _SAME


def _parse(sample: Sample, earlier: Earlier) -> Answer:
    response = answer_of(earlier)
    return agreement.read(response.text, response.finish, sample.choices)


def _score(sample: Sample, answer: Answer) -> Mapping[str, float]:
    true = "yes" if _is_same(sample) else "no"
    return statistics_of(_LABELS, [true], [answer.value] if answer.value is not None else [])


def _parse_salmonn(sample: Sample, earlier: Earlier) -> Answer:
    answer = ended(sample, earlier)
    return answer._replace(value="yes" if (answer.value or "").lower() == "yes" else "no")


def _parse_similarity(sample: Sample, earlier: Earlier) -> Answer:
    response = answer_of(earlier)
    text = response.text
    if not text.strip():
        return Answer("empty")
    own = response.outputs[0].score
    if own is not None:
        said = agreement.read(text, response.finish)
        return said._replace(value=repr(own if said.value == "yes" else -own)) if said.value else said
    found = next((found for found in _NUMBER.finditer(text[:4_000]) if found["number"]), None)
    if found is None:
        return Answer("refused" if agreement.read(text, response.finish).status == "refused" else "unparsed")
    number, whole = (
        float(found["number"].replace(",", ".")),
        100.0 if found["percent"] else float(found["whole"] or 1.0),
    )
    if not whole or not 0.0 <= number / whole <= 1.0:
        return Answer("out_of_range")
    return Answer("parsed", repr(number / whole))


def _score_similarity(sample: Sample, answer: Answer) -> Mapping[str, float]:
    has = answer.value is not None
    return {
        "target": float(_is_same(sample)),
        "has_score": float(has),
        "trial_score": float(answer.value) if answer.value is not None else 0.0,
    }


_READINGS = (
    Scorer(
        "same-speaker",
        "trial:same-speaker|v:1|unanswered:wrong",
        _parse,
        _score,
        ("balanced_accuracy", "accuracy", "macro_f1"),
        About(
            f"{agreement.RULE} A capital letter alone stands for the choice at that place. The headline is balanced "
            "accuracy, so that a constant answer scores 0.5 on any list that has both kinds of trials, and 1 only on a "
            "list that has one kind.",
            "ours",
            (
                Example("Yes, it is the same person.", "yes"),
                Example("No, I hear two people.", "different"),
                Example("No idea", "no"),
                Example("I'm sorry, I cannot tell.", "no"),
                Example("Yes and no", "yes"),
            ),
        ),
    ),
    Scorer(
        "similarity",
        "trial:similarity|v:1|unscored:worst|score:output-or-number",
        _parse_similarity,
        _score_similarity,
        ("eer_interpolated", "min_dcf_p01", "min_dcf_p05"),
        About(
            "The score of a trial is the one that the model gives with its yes (as it is) or no (its negative); else "
            'the first number of the answer: 0 to 1 (0,7 is 0.7), a percentage, or "7/10" and "7 out of 10". The '
            "number of a speaker or a clip, and how many there are, is none. A number beyond that is out of range. A "
            "trial without a score counts as the worst of its kind: the least of all for one speaker, the greatest for "
            "two.",
            "ours",
            (
                Example("Similarity: 0.83", "same"),
                Example("I would say 70%.", "different"),
                Example("8 out of 10", "same"),
                Example("Speaker 1 and speaker 2: 0.3", "different"),
                Example("42", "same"),
                Example("I cannot tell.", "different"),
            ),
        ),
    ),
    Scorer(
        "salmonn-sv",
        "trial:salmonn-sv|v:1|unanswered:no|case:ignored",
        _parse_salmonn,
        _score,
        ("accuracy", "balanced_accuracy"),
        About(
            'The answer, in small letters and without a final `</s>`, says "same" when it is exactly "yes"; all else '
            'says "different". Accuracy is the share of right answers.',
            "github jaeeewon/project-multimodal, dist_eval/eval_sv.py, a reproduction of SALMONN's VoxCeleb1 task: "
            "4864 / 4874 = 99.79 % (paper 94 %)",
            (
                Example("Yes</s>", "same"),
                Example("Yes.", "same"),
                Example("I'm sorry, I cannot tell.", "different"),
            ),
            "The published list holds trials of one speaker only, so that a constant Yes scores 100 % (the script "
            'looks at no truth at all). "Yes." is read as different, and so is a refusal, which is thereby right on '
            "every trial of two speakers. Ours has a third value, and balanced accuracy for its headline.",
        ),
    ),
)
