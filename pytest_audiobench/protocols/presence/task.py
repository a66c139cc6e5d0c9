"""Is a sound there? A probe for each sound, answered yes or no."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import SOMETHING_ELSE
from pytest_audiobench.protocols import free_text
from pytest_audiobench.protocols.classification.mentions import labels_of
from pytest_audiobench.protocols.classification.task_labels import statistics_of
from pytest_audiobench.protocols.presence import answers
from pytest_audiobench.protocols.prompt_sets import YESNO
from pytest_audiobench.protocols.protocol import Answer, Earlier, Protocol, Scorer, with_recorded_options

LABEL_FIELD = "label"
"""The metadata field that names the sound."""

_ARTICLE = re.compile(r"\b([Aa])n? \Z")
# Written with a vowel and spoken with a consonant, and the other way round.
_CONSONANT = re.compile(r"(?:eu|ewe|one\b|once\b|ukulele|uni(?!n|m)|us[ae]|uten|ut[oi]|ubiq)", re.I)
_VOWEL = re.compile(r"(?:[aeiou]|hour|hono[u]?r|honest|heir)", re.I)


def template_of(prompt: str) -> list[tuple[str, str]]:
    """A wording taken apart. Raises UsageError for one without ``{label}``, and with any other placeholder."""
    pieces = free_text.template_pieces(prompt, (LABEL_FIELD,))
    if not any(name for _, name in pieces):
        raise UsageError(f"the wording {prompt!r} has no {{label}}; put it where the sound's name belongs")
    return pieces


def question(template: list[tuple[str, str]], label: str) -> str:
    """The wording with ``label`` for its sound; an article before it is "an" where the label begins with a vowel."""
    fitted = [(_with_article(literal, label) if name else literal, name) for literal, name in template]
    return free_text.filled_template(fitted, {LABEL_FIELD: label})


def label_of(sample: Sample) -> str:
    """The sound that a sample asks for, as it is written in a question: without underscores.

    Raises UsageError for a sample that names none.
    """
    label = sample.metadata.get(LABEL_FIELD)
    label = " ".join(str(label).replace("_", " ").split()) if isinstance(label, str) else ""
    if not label:
        raise UsageError(f"sample {sample.id!r} names no sound to ask for: give it the metadata {LABEL_FIELD!r}")
    return label


def _with_article(literal: str, label: str) -> str:
    vowel = _VOWEL.match(label) is not None and _CONSONANT.match(label) is None
    return _ARTICLE.sub(lambda article: f"{article[1]}n " if vowel else f"{article[1]} ", literal)


# Facts from github.com/THENIROCK/audiobench, src/audiobench/probes.py (parse_yes_no).
_OPENS = r"\s*[\"'`]?\s*(?:{})\b"
_YES = re.compile(_OPENS.format("yes|y|yeah|yep|true|present|positive|1"), re.IGNORECASE)
_NO = re.compile(_OPENS.format("no|n|nope|nah|false|absent|negative|0"), re.IGNORECASE)
_FIRST = 6


def says_yes(text: str) -> bool:
    """Whether the parser takes ``text`` for a yes; all else is a no."""
    if _YES.match(text):
        return True
    if _NO.match(text):
        return False
    lowered = text.lower()
    return "yes" in lowered and "no " not in lowered[:_FIRST]


DEFAULT = YESNO.paraphrases[0]
_LABELS = labels_of(("no", "yes"))
_METRICS = ("recall", "fpr", "precision", "f1", "d_prime", "criterion", "solo_quad_cliff", "components_understood")


@with_recorded_options
def presence(*scorers: str, prompt: str = DEFAULT, system: str | None = None, max_new_tokens: int = 64) -> Protocol:
    """Ask whether the sound that the sample's metadata ``label`` names is heard, and read the answer by ``scorers``.

    They are ``heard`` (the default; ours, with a third value) and ``ab-yesno`` (the audiobench tool's parser, with its
    defects). A sample's reference is "yes" or "no". ``prompt`` holds ``{label}``, with "a" or "an" before it put right;
    ``with_prompt_variants(presence(), "yesno", 3)`` takes the vote of three wordings. Listeners that are not language
    models are offered the label and "something else". Raises UsageError for an unknown scorer, and for a prompt
    without ``{label}``.
    """
    template = template_of(prompt)
    stage = free_text.free_stage(lambda each: question(template, label_of(each)), system, max_new_tokens, task="choice")
    stage = replace(stage, fields=(LABEL_FIELD,), offers=lambda sample: (label_of(sample), SOMETHING_ELSE))
    return free_text.family_protocol("presence", (stage,), _READINGS, scorers, "option")


def _parse(sample: Sample, earlier: Earlier) -> Answer:
    response = free_text.answer_of(earlier)
    return answers.read(response.text, label_of(sample), response.finish)


def _parse_published(sample: Sample, earlier: Earlier) -> Answer:
    return Answer("parsed", "yes" if says_yes(free_text.answer_of(earlier).text) else "no")


def _score(sample: Sample, answer: Answer) -> Mapping[str, float]:
    if (truth := tidy_caseless(sample.reference)) not in ("yes", "no"):
        raise UsageError(
            f"sample {sample.id!r}: the reference of a probe is yes or no, and not {sample.reference!r}; "
            "correct the data set"
        )
    present, yes = truth == "yes", answer.value == "yes"
    true, predicted = "yes" if present else "no", [answer.value] if answer.value in ("yes", "no") else []
    counts = {
        "hits": float(present and yes),
        "present": float(present),
        "alarms": float(yes and not present),
        "absent": float(not present),
    }
    condition = sample.metadata.get("condition")
    for name in ("solo", "quad"):
        counts |= {f"{name}_{what}": counts[what] if condition == name else 0.0 for what in ("hits", "present")}
    return {**statistics_of(_LABELS, [true], predicted), **counts}


_READINGS = tuple(
    Scorer(name, f"probe:{name}|v:1|{rule}", parse, _score, metrics)
    for name, rule, parse, metrics in (
        ("heard", "unanswered:wrong", _parse, ("balanced_accuracy", *_METRICS, "accuracy")),
        ("ab-yesno", "unanswered:no", _parse_published, ("recall", *_METRICS[1:], "balanced_accuracy", "accuracy")),
    )
)
