"""Is it one and the same speaker? Trials that are answered yes or no, or with a similarity."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.classification import asserted_label
from pytest_audiobench.protocols.classification.mentions import labels_of
from pytest_audiobench.protocols.classification.task_labels import statistics_of
from pytest_audiobench.protocols.free_text import answer_of, family_protocol, free_stage, read_ended_text
from pytest_audiobench.protocols.protocol import Answer, Earlier, Protocol, Scorer, with_recorded_options

INSTRUCTION = "Do you only hear the same person talking? Answer yes or no."
PROMPTS: Mapping[str, str] = {
    "default": INSTRUCTION,
    "similarity": "How likely is it that only one person is talking? Answer with a number from 0 to 1.",
}

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


@with_recorded_options
def verification(
    *scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 32
) -> Protocol:
    """Ask whether one speaker is heard, in the sample's own question's words or else in ``prompt``'s.

    The scorers are ``same-speaker`` (the default; ours, with a third value), ``similarity`` (ours, for scored trials:
    equal error rate and detection cost), ``voxceleb-trainer`` (the same trials, by the error rate of speaker encoders'
    trainers) and ``salmonn-sv``. A sample's reference is "yes", "same" or "target", or else
    "no", "different" or "nontarget". ``prompt`` may be the name of one in ``PROMPTS``. Raises UsageError for an unknown
    scorer.
    """
    instruction = PROMPTS.get(prompt, prompt)
    stage = free_stage(lambda sample: sample.question or instruction, system, max_new_tokens)
    return family_protocol("verification", (stage,), _READINGS, scorers, "option")


def _is_same(sample: Sample) -> bool:
    if (truth := tidy_caseless(sample.reference)) not in _SAME | _DIFFERENT:
        raise UsageError(
            f"sample {sample.id!r}: the reference of a trial is yes, same or target, or no, different or nontarget, "
            f"and not {sample.reference!r}; correct the data set"
        )
    return truth in _SAME


def _parse(sample: Sample, earlier: Earlier) -> Answer:
    response = answer_of(earlier)
    return asserted_label.read_agreement(response.text, response.finish, sample.choices)


def _score(sample: Sample, answer: Answer) -> Mapping[str, float]:
    true = "yes" if _is_same(sample) else "no"
    return statistics_of(_LABELS, [true], [answer.value] if answer.value is not None else [])


def _parse_salmonn(sample: Sample, earlier: Earlier) -> Answer:
    text = answer_of(earlier).text.lower()
    # Blanks are taken away before an end token alone.
    ended = text.removesuffix("</s>").strip() if text.endswith("</s>") else text
    return read_ended_text(sample, earlier)._replace(value="yes" if ended == "yes" else "no")


def _parse_similarity(sample: Sample, earlier: Earlier) -> Answer:
    response = answer_of(earlier)
    text = response.text
    if not text.strip():
        return Answer("empty")
    if (score := response.outputs[0].score) is not None:
        answer = asserted_label.read_agreement(text, response.finish)
        return answer._replace(value=repr(score if answer.value == "yes" else -score)) if answer.value else answer
    match = next((match for match in _NUMBER.finditer(text[:4_000]) if match["number"]), None)
    if match is None:
        declines = asserted_label.read_agreement(text, response.finish).status == "refused"
        return Answer("refused" if declines else "unparsed")
    number = float(match["number"].replace(",", "."))
    whole = 100.0 if match["percent"] else float(match["whole"] or 1.0)
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


_READINGS = tuple(
    Scorer(name, f"trial:{name}|v:{2 if name == 'salmonn-sv' else 1}|{rule}", parse, score, metrics)
    for name, rule, parse, score, metrics in (
        ("same-speaker", "unanswered:wrong", _parse, _score, ("balanced_accuracy", "accuracy", "macro_f1")),
        (
            "similarity",
            "unscored:worst|score:output-or-number",
            _parse_similarity,
            _score_similarity,
            ("eer_interpolated", "min_dcf_p01", "min_dcf_p05"),
        ),
        (
            "voxceleb-trainer",
            "unscored:worst|score:output-or-number",
            _parse_similarity,
            _score_similarity,
            ("eer_nearest",),
        ),
        ("salmonn-sv", "unanswered:no|case:ignored", _parse_salmonn, _score, ("accuracy", "balanced_accuracy")),
    )
)
