"""Slot filling: the value of one slot of a spoken command."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.free_text import family_protocol, free_stage, read_ended_text
from pytest_audiobench.protocols.protocol import Answer, Protocol, Scorer, with_recorded_options
from pytest_audiobench.protocols.spoken_questions.matching import content_words, following_scorer, matches, spoken_words

INSTRUCTION = "According to the speech, what is the {slot}?"
"""SALMONN's prompt (Tang et al. 2024, arXiv 2310.13289)."""

SLOT = "slot"
"""The field of a sample's metadata that names the slot."""


@with_recorded_options
def slot_filling(
    *scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 256
) -> Protocol:
    """Ask for one slot's value: in the sample's question's words, or else in ``prompt``'s with metadata "slot".

    A sample's references are the accepted values. The scorers are ``slot-value`` (the default; ours) and
    ``following`` (needs metadata "transcript"). Raises UsageError for an unknown scorer.
    """

    def words(sample: Sample) -> str:
        slot = sample.metadata.get(SLOT)
        if sample.question:
            return sample.question
        if not isinstance(slot, str) or not slot:
            raise UsageError(
                f'sample {sample.id!r} has neither a question nor metadata "{SLOT}": say which slot is asked for'
            )
        return prompt.replace("{slot}", slot.replace("_", " "))

    stage = replace(free_stage(words, system, max_new_tokens), fields=(SLOT,))
    return family_protocol("slot_filling", (stage,), _READINGS, scorers)


_SAYS_NONE = re.compile(
    r"(?:(?:there|it|answer) (?:is |was )?|its )?(?:none|nothing|no|n ?a|unspecified|unknown|no (?:such )?\w+(?: \w+)?)"
    r"|.*(?:\bnot|n'?t) (?:been )?"
    r"(?:said|stated|mentioned|specified|given|named|provided|present|applicable|available)\b.*"
    r"|.*\bno (?:\w+ ){1,3}(?:is|was|in) .*"
)
"""Of an answer in words: there is no such slot."""


def _score(sample: Sample, answer: Answer) -> Mapping[str, float]:
    text = answer.value or ""
    if sample.truths and not any(map(content_words, sample.truths)):
        return dict.fromkeys(("correct", "em", "f1"), float(bool(_SAYS_NONE.fullmatch(" ".join(spoken_words(text))))))
    return matches(text, sample.truths)


_READINGS = (
    Scorer(
        "slot-value",
        "slots:slot-value|v:2|norm:nfkc+lower+nopunct+noarticles+cjkchars|match:contained words|unanswered:wrong|"
        "noslot:said",
        read_ended_text,
        _score,
        ("accuracy", "exact_match", "token_f1"),
    ),
    following_scorer("slots"),
)
