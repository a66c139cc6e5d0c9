"""How near a translation is to its references."""

from __future__ import annotations

from pytest_audiobench.metrics.estimates import mean_of, ratio_of, summed_kind, sums_of
from pytest_audiobench.metrics.metric import MetricKind
from pytest_audiobench.metrics.translations import (
    BLEU_NAMES,
    CHRF_NAMES,
    CHRFPP_NAMES,
    TER_NAMES,
    bleu_ends,
    bleu_of,
    chrf_ends,
    chrf_of,
    chrfpp_of,
)
from pytest_audiobench.metrics.units import BLEU, CHRF, CHRF_WORDS, WORD_ERRORS

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
    MetricKind(
        "bleu_mean",
        "higher",
        BLEU,
        mean_of("bleu_mean", "sentence_bleu", (0.0, 100.0)),
        lambda one: (one["sentence_bleu"], 1.0),
        "The mean over samples of each one's own BLEU, 0 to 100. It is no corpus BLEU, and usually higher or lower by "
        "several points: short answers weigh as much as long ones, and one below four tokens is 0 unless the protocol "
        "says otherwise. An empty answer is 0.",
    ),
    summed_kind(
        "chrf",
        "higher",
        CHRF,
        sums_of("chrf", CHRF_NAMES, chrf_of, chrf_ends),
        "Corpus chrF2 (Popović 2015), 0 to 100, by sacrebleu: the F-score (recall twice as important) of "
        "character 1- to 6-grams without spaces, averaged over the orders that both sides have. Needs no tokenizer, "
        "so it serves every language. Empty answers, or empty references, give 0.",
    ),
    summed_kind(
        "chrfpp",
        "higher",
        CHRF_WORDS,
        sums_of("chrfpp", CHRFPP_NAMES, chrfpp_of, chrf_ends),
        "Corpus chrF++ (Popović 2017), 0 to 100, by sacrebleu: chrF2 with 1- and 2-grams of words beside the "
        "characters' six orders. Words are what spaces divide.",
    ),
    MetricKind(
        "ter",
        "lower",
        WORD_ERRORS,
        ratio_of("ter", TER_NAMES[:1], TER_NAMES[1:], "the references hold no words"),
        lambda one: (one["edits"], one["ref_words"]),
        "Translation edit rate (Snover et al. 2006) by sacrebleu: insertions, deletions, substitutions and shifts of "
        "word blocks, over the references' words, of all samples together; it may exceed 1. Words are lower-cased "
        "and what spaces divide. With several references: the fewest edits over their mean length. References "
        "without words are no rate: NaN, where sacrebleu says 0 or 100.",
    ),
)
