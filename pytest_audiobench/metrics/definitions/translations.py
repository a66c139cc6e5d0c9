"""BLEU, chrF, chrF++ and TER: each sample's sufficient statistics, and the corpus value of their sums, by sacrebleu.

sacrebleu computes a corpus value from sums of such statistics itself. It does not offer them per sample, so they are
taken from the method that its own corpus scores are made with; a test holds the sums equal to ``corpus_score``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from pytest_audiobench.metrics.estimates import mean_kind, ratio_kind, summed_kind, sums_of
from pytest_audiobench.metrics.metric import BLEU, CHRF, CHRF_WORDS, WORD_ERRORS
from pytest_audiobench.metrics.tokenizers import bleu_scorer, passable
from pytest_audiobench.stats.bootstrap import Ends
from pytest_audiobench.stats.intervals import Floats

MAX_ORDER = 4
CHARACTER_ORDER = 6

BLEU_NAMES = (
    "sys_len",
    "ref_len",
    *(f"match{n}" for n in range(1, MAX_ORDER + 1)),
    *(f"total{n}" for n in range(1, MAX_ORDER + 1)),
)


def _chrf_names(prefix: str, word_order: int) -> tuple[str, ...]:
    orders = (*(f"c{n}" for n in range(1, CHARACTER_ORDER + 1)), *(f"w{n}" for n in range(1, word_order + 1)))
    return tuple(f"{prefix}_{order}_{what}" for order in orders for what in ("hyp", "ref", "match"))


CHRF_NAMES = _chrf_names("chrf", 0)
CHRFPP_NAMES = _chrf_names("chrfpp", 2)
TER_NAMES = ("edits", "ref_words")


def bleu_statistics(hypothesis: str, references: Sequence[str], tokenizer: str) -> dict[str, float]:
    """n-grams of ``hypothesis`` in tokens: ``match1..4`` of ``total1..4``, ``sys_len`` and the closest ``ref_len``.

    Raises UsageError where the tokenizer lacks something.
    """
    return dict(zip(BLEU_NAMES, _statistics(bleu_scorer(tokenizer), hypothesis, references), strict=True))


def chrf_statistics(hypothesis: str, references: Sequence[str]) -> dict[str, float]:
    """Per order the n-grams of the hypothesis, of the best reference, and their matches, for chrF and for chrF++.

    They are kept apart, since of several references each takes the one that is best for it.
    """
    plain = _statistics(_chrf_scorer(0), hypothesis, references)
    with_words = _statistics(_chrf_scorer(2), hypothesis, references)
    return {**dict(zip(CHRF_NAMES, plain, strict=True)), **dict(zip(CHRFPP_NAMES, with_words, strict=True))}


def ter_statistics(hypothesis: str, references: Sequence[str]) -> dict[str, float]:
    """The fewest ``edits`` to any reference, and the references' mean number of words (``ref_words``)."""
    return dict(zip(TER_NAMES, _statistics(_ter_scorer(), hypothesis, references), strict=True))


def bleu_of(sums: Floats) -> Floats:
    """Corpus BLEU, 0 to 100, of summed statistics, shape (r, 10) in the order of ``BLEU_NAMES``."""
    return np.array([_bleu(row, effective_order=False) for row in sums.tolist()])


def sentence_bleu(statistics: Mapping[str, float], effective_order: bool) -> float:
    """BLEU of one sample's statistics; ``effective_order`` leaves out orders that so short an answer cannot have."""
    return _bleu([statistics[name] for name in BLEU_NAMES], effective_order)


def bleu_ends(mean_sample: Floats) -> Ends:
    """One more sample as long as the mean one (shape (10,)): without a match, and all matches."""
    lengths, totals = mean_sample[:2], mean_sample[2 + MAX_ORDER :]
    lowest = np.concatenate([lengths, np.zeros(MAX_ORDER), totals])
    return Ends(lowest[None, :], np.concatenate([np.repeat(lengths[1], 2), totals, totals])[None, :])


def chrf_ends(mean_sample: Floats) -> Ends:
    """The same for chrF and chrF++, of (hypothesis, reference, matches) for each order."""
    orders = mean_sample.reshape(-1, 3)
    return Ends((orders * np.array([1.0, 1.0, 0.0])).reshape(1, -1), np.repeat(orders[:, 1], 3)[None, :])


def chrf_of(word_order: int, sums: Floats) -> Floats:
    """Corpus chrF (or chrF++, of 2 orders of words), 0 to 100, of summed statistics, shape (r, 18) or (r, 24)."""
    return np.array([_chrf_scorer(word_order)._compute_f_score(row) for row in sums.tolist()])


def _statistics(scorer: Any, hypothesis: str, references: Sequence[str]) -> list[float]:
    texts = [[passable(reference)] for reference in references]
    counts: list[float] = scorer._extract_corpus_statistics([passable(hypothesis)], texts)[0]
    return counts


def _bleu(values: Sequence[float], effective_order: bool) -> float:
    from sacrebleu.metrics.bleu import BLEU

    # A file may hold counts below none, of which sacrebleu would take the logarithm.
    counts = [max(0, int(value)) for value in values]
    bleu = BLEU.compute_bleu(
        counts[2 : 2 + MAX_ORDER],
        counts[2 + MAX_ORDER :],
        sys_len=counts[0],
        ref_len=counts[1],
        smooth_method="exp",
        effective_order=effective_order,
    )
    return float(bleu.score)


@lru_cache(maxsize=2)
def _chrf_scorer(word_order: int) -> Any:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(char_order=CHARACTER_ORDER, word_order=word_order)


@lru_cache(maxsize=1)
def _ter_scorer() -> Any:
    from sacrebleu.metrics.ter import TER

    return TER()


KINDS = (
    summed_kind(
        "bleu",
        "higher",
        BLEU,
        sums_of("bleu", BLEU_NAMES, bleu_of, bleu_ends),
        "Corpus BLEU (Papineni et al. 2002), 0 to 100, by sacrebleu: the geometric mean of the 1- to 4-gram "
        "precisions of all answers together, smoothed exponentially, times the brevity penalty. Its tokens are those "
        "that the protocol's signature names; numbers of different tokens cannot be compared. An empty answer adds "
        "to the references' length only; no match at all is 0, also where no reference has words. Interval: "
        "bootstrap over samples (Koehn 2004).",
    ),
    mean_kind(
        "bleu_mean",
        "higher",
        BLEU,
        "sentence_bleu",
        "The mean over samples of each one's own BLEU, 0 to 100. It is no corpus BLEU, and usually higher or lower by "
        "several points: short answers weigh as much as long ones, and one below four tokens is 0 unless the protocol "
        "says otherwise. An empty answer is 0.",
    ),
    summed_kind(
        "chrf",
        "higher",
        CHRF,
        sums_of("chrf", CHRF_NAMES, partial(chrf_of, 0), chrf_ends),
        "Corpus chrF2 (Popović 2015), 0 to 100, by sacrebleu: the F-score (recall twice as important) of "
        "character 1- to 6-grams without spaces, averaged over the orders that both sides have. Needs no tokenizer, "
        "so it serves every language. Empty answers, or empty references, give 0.",
    ),
    summed_kind(
        "chrfpp",
        "higher",
        CHRF_WORDS,
        sums_of("chrfpp", CHRFPP_NAMES, partial(chrf_of, 2), chrf_ends),
        "Corpus chrF++ (Popović 2017), 0 to 100, by sacrebleu: chrF2 with 1- and 2-grams of words beside the "
        "characters' six orders. Words are what spaces divide.",
    ),
    ratio_kind(
        "ter",
        "lower",
        WORD_ERRORS,
        TER_NAMES[:1],
        TER_NAMES[1:],
        "the references hold no words",
        "Translation edit rate (Snover et al. 2006) by sacrebleu: insertions, deletions, substitutions and shifts of "
        "word blocks, over the references' words, of all samples together; it may exceed 1. Words are lower-cased "
        "and what spaces divide. With several references: the fewest edits over their mean length. References "
        "without words are no rate: NaN, where sacrebleu says 0 or 100.",
    ),
)
