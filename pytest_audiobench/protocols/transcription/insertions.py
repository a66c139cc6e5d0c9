"""Words too many and answers that stop too soon where somebody speaks: ours, and the rule of the audiobench tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.token_errors import token_errors
from pytest_audiobench.protocols.free_text import read_text
from pytest_audiobench.protocols.protocol import Answer, Scorer
from pytest_audiobench.protocols.transcription.published_scorers import lower_nopunct
from pytest_audiobench.protocols.transcription.texts import basic_text, jiwer_words


def insertion_scorers(characters: bool) -> tuple[Scorer, ...]:
    """``insertions`` and ``insertions-thenirock``; ``characters`` where the language writes no spaces."""

    def split(text: str) -> Sequence[str]:
        words = basic_text(text)
        return list(words.replace(" ", "")) if characters else words.split()

    unit = "character" if characters else "word"
    ours = Scorer(
        "insertions",
        f"asr:insertions|v:1|norm:nfkc+lower+nopunct+marks|unit:{unit}|align:levenshtein|early:last-word-unmatched",
        read_text,
        partial(_statistics, split),
        ("insertion_rate", "truncation_rate", "token_delta"),
        sample_problem=_is_silent,
    )
    published = Scorer(
        "insertions-thenirock",
        "asr:insertions-thenirock|v:1|norm:lower+nopunct|unit:word|align:none|early:fewer-words",
        read_text,
        _published_statistics,
        ("longer_rate", "shorter_rate", "token_delta"),
        sample_problem=_is_silent,
    )
    return ours, published


def stops_early(reference: Sequence[str], hypothesis: Sequence[str]) -> bool:
    """Whether some words are said, and the end of the reference is not among what they stand for.

    That is so where the answer is nearer (by edits) to a beginning of the reference than to any longer one. Twice the
    reference's words are not early stop. Time grows with the product of both lengths.
    """
    if not 0 < len(hypothesis) < 2 * len(reference):
        return False
    numbers = {token: number for number, token in enumerate(dict.fromkeys(reference))}
    wanted = np.array([numbers[token] for token in reference])
    steps = np.arange(len(reference) + 1)
    row = steps.copy()
    for length, token in enumerate(hypothesis, start=1):
        replaced = row[:-1] + (wanted != numbers.get(token, -1))
        best = np.concatenate([[length], np.minimum(replaced, row[1:] + 1)])
        # A word of the reference left out costs one more than the place before it.
        row = np.minimum.accumulate(best - steps) + steps
    return bool((row[:-1] < row[-1]).any())


def _is_silent(sample: Sample) -> str:
    return "" if basic_text(sample.reference) else f"{sample.id!r} has a reference without words: use non-speech"


def _statistics(split: Callable[[str], Sequence[str]], sample: Sample, answer: Answer) -> Mapping[str, float]:
    wanted, hypothesis = split(sample.reference), split(answer.value or "")
    return {
        **token_errors(wanted, hypothesis),
        "stopped_early": float(stops_early(wanted, hypothesis)),
        "delta": float(len(hypothesis) - len(wanted)),
        "one": 1.0,
    }


def _published_statistics(sample: Sample, answer: Answer) -> Mapping[str, float]:
    delta = len(jiwer_words(lower_nopunct(answer.value or ""))) - len(jiwer_words(lower_nopunct(sample.reference)))
    return {"longer": float(delta > 0), "shorter": float(delta < 0), "delta": float(delta), "one": 1.0}
