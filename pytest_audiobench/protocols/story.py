"""A story about one clip."""

from __future__ import annotations

import string
from collections.abc import Mapping

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.definitions.answers import moving_average_ratio
from pytest_audiobench.protocols.free_text import family_protocol, free_stage, read_ended_text
from pytest_audiobench.protocols.protocol import Answer, Protocol, Scorer, with_recorded_options
from pytest_audiobench.protocols.spoken_questions.matching import NORMALISED, spoken_words

INSTRUCTION = "Based on the audio, write a story in detail. Your story should be highly related to the audio."
"""SALMONN's prompt (Tang et al. 2024, arXiv 2310.13289)."""

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)

SHORTEST = 50
"""Words that a story has at least, and the stretch over which their variety is averaged."""


@with_recorded_options
def story(*scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 200) -> Protocol:
    """Ask for a story about the sample's clips, in its own question's words or else in ``prompt``'s.

    200 tokens are those of the study. No reference is needed. The scorers are ``word-variety`` (the default; ours)
    and ``salmonn-repro`` (SALMONN's diversity). Raises UsageError for an unknown scorer.
    """
    stage = free_stage(lambda sample: sample.question or prompt, system, max_new_tokens)
    return family_protocol("story", (stage,), _READINGS, scorers)


def _variety(sample: Sample, answer: Answer) -> Mapping[str, float]:
    words = spoken_words(answer.value or "")
    return {"mattr": moving_average_ratio(words, SHORTEST), "followed": float(len(words) >= SHORTEST)}


def _different(sample: Sample, answer: Answer) -> Mapping[str, float]:
    words = (answer.value or "").lower().translate(_NO_PUNCTUATION).split()
    followed = len(words) >= SHORTEST
    return {"types": float(len(set(words)) if followed else 0), "followed": float(followed)}


_READINGS = tuple(
    Scorer(name, f"story:{name}|v:1|{rule}", read_ended_text, score, (metric, "following"))
    for name, rule, score, metric in (
        ("word-variety", f"norm:{NORMALISED}|window:{SHORTEST}|short:0", _variety, "mattr"),
        ("salmonn-repro", f"norm:lower+noasciipunct|short:0|following:>={SHORTEST}", _different, "diversity"),
    )
)
