"""How near a caption is to its references, in words and in meaning."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from pytest_audiobench.metrics.captions import CIDER_SET, coco_bleu_of
from pytest_audiobench.metrics.estimates import columns, mean_of, nothing, summed_kind, sums_of
from pytest_audiobench.metrics.metric import Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.metrics.translations import BLEU_NAMES, bleu_ends
from pytest_audiobench.metrics.units import COSINE, SHARE
from pytest_audiobench.stats.intervals import none


def _share(name: str, about: str, poolable: bool = True) -> MetricKind:
    """The mean over samples of the statistic that is called as the metric, within 0 and 1."""

    def parts(one: Statistics) -> tuple[float, float]:
        return one[name], 1.0

    return MetricKind(name, "higher", SHARE, mean_of(name, name), parts, about, poolable)


def _over_set(name: str, largest: float) -> Callable[[Sequence[Statistics], Clusters], Estimate]:
    """The mean of a statistic that counts rarity over a set; NaN where that set was one caption."""
    mean = mean_of(name, name, (0.0, largest))

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        if not statistics:
            return nothing()
        counted = int(columns(statistics, name, CIDER_SET).min())
        found = mean(statistics, clusters)
        if counted < 2:
            return Estimate(math.nan, None, None, found.n, none("nothing is rare in a set of one caption").method)
        return found._replace(method=f"{found.method}, rarity over {counted} captions")

    return estimate


_SET = "Its n-grams' rarity is counted over the set that was scored together, so neither a part nor a pool has it."

KINDS = (
    MetricKind(
        "cider_d",
        "higher",
        "CIDEr-D",
        _over_set("cider_d", 10.0),
        lambda one: (one["cider_d"], 1.0),
        "CIDEr-D (Vedantam et al. 2015), 0 to 10, by pycocoevalcap: the mean over captions of the cosine of tf-idf "
        f"weighted 1- to 4-grams with each reference, clipped, and damped by the difference in length. {_SET} One "
        "caption alone has none (NaN). Words are those that the protocol names. The interval takes the rarity as "
        "given.",
        poolable=False,
    ),
    MetricKind(
        "cider_beans_next",
        "higher",
        SHARE,
        mean_of("cider_beans_next", "cider_beans_next"),
        lambda one: (one["cider_beans_next"], 1.0),
        f"BEANS-Next's CIDEr, 0 to 1: CIDEr-D of whitespace tokens, one reference, divided by 10. {_SET} "
        "0 for fewer than two captions.",
        poolable=False,
    ),
    _share(
        "rouge_l",
        "COCO's ROUGE-L (Lin 2004; pycocoevalcap), the mean over captions of the F-score (β = 1.2) of the longest "
        "common subsequence of words, best recall and best precision over the references. Empty answers are 0.",
    ),
    _share(
        "rouge_l_google",
        "ROUGE-L of google's rouge_score: the mean F1 of the longest common subsequence of runs of a to z and 0 to 9. "
        "Text in another script has no such run, and scores 0.",
    ),
    _share(
        "rouge_l_recall",
        "The recall part of google's ROUGE-L, with Porter's stems: how much of the reference's longest common "
        "subsequence the answer holds. A long answer loses nothing by its length.",
    ),
    _share(
        "meteor_nosyn",
        "METEOR by nltk from exact words and Porter stems, without synonyms (α 0.9, β 3, γ 0.5), the best over "
        "references; the mean over captions. Needs no data, and lies below METEOR with WordNet. No words are 0.",
    ),
    _share(
        "meteor",
        "METEOR by nltk with WordNet's synonyms (α 0.9, β 3, γ 0.5), the mean over captions. It is not the Java "
        "program's METEOR 1.5, which was half of it on the same captions.",
    ),
    _share(
        "spice",
        "SPICE (Anderson et al. 2016), by its Java program: the mean F1 of the scene graphs' tuples. Never 0 for "
        "want of the program.",
    ),
    MetricKind(
        "spider",
        "higher",
        "SPIDEr",
        _over_set("spider", 5.5),
        lambda one: (one["spider"], 1.0),
        f"SPIDEr (Liu et al. 2017): the mean of CIDEr-D (0 to 10) and SPICE (0 to 1). {_SET}",
        poolable=False,
    ),
    *(
        summed_kind(
            f"coco_bleu{order}",
            "higher",
            SHARE,
            sums_of(f"coco_bleu{order}", BLEU_NAMES, partial(coco_bleu_of, order), bleu_ends),
            f"COCO's corpus BLEU-{order}, 0 to 1: 1- to {order}-gram precision of all captions together, closest "
            "reference length, not smoothed, of the words that the protocol names.",
        )
        for order in (1, 2, 3, 4)
    ),
    *(
        _share(
            name,
            f"nltk's sentence_bleu called with texts in place of words, so that characters are its words: {grams}. "
            "The mean over captions. Empty answers are 0.",
        )
        for name, grams in (
            ("bleu_characters", "1- to 4-grams of characters, not smoothed"),
            ("bleu4_characters", "the precision of 4-grams of characters alone, times the brevity penalty"),
        )
    ),
    _share(
        "bertscore",
        "BERTScore (Zhang et al. 2020) by bert_score, the mean F1, not rescaled; the model is in the signature.",
    ),
    MetricKind(
        "cosine",
        "higher",
        COSINE,
        mean_of("cosine", "cosine", (-1.0, 1.0)),
        lambda one: (one["cosine"], 1.0),
        "The mean cosine between an answer's embedding and the nearest reference's, -1 to 1, by the encoder that the "
        "protocol names. A vector of zeros has cosine 0; a NaN makes the mean NaN.",
    ),
    MetricKind(
        "fense",
        "higher",
        "FENSE",
        mean_of("fense", "fense", (-1.0, 1.0)),
        lambda one: (one["fense"], 1.0),
        "FENSE (Zhou et al. 2022): the cosine of the answer's embedding with the references', averaged, and cut to a "
        "tenth where an error checker gives a probability above 0.9 that the answer is ill-formed; the mean over "
        "captions. An empty answer is 0.",
    ),
)
