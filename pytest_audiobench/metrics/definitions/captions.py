"""How near a caption is to its references: CIDEr-D, ROUGE-L, COCO's BLEU, and SPICE where its parts are here.

All take words that are already divided, joined by single spaces, and are computed by pycocoevalcap, of which nothing
that runs Java is used, SPICE apart.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pytest_audiobench.errors import UsageError, install_command
from pytest_audiobench.metrics.definitions.translations import BLEU_NAMES, bleu_ends
from pytest_audiobench.metrics.estimates import columns, mean_kind, mean_of, nothing, summed_kind, sums_of
from pytest_audiobench.metrics.metric import COSINE, SHARE, Clusters, Estimate, MetricKind, Statistics
from pytest_audiobench.stats.intervals import Floats, none

CAPTIONS_EXTRA = install_command("captions")

CIDER_SET = "cider_set"
"""The statistic with a CIDEr-D: how many captions it was counted over."""

# What COCO's script adds to counts, so that no ratio is divided by nothing.
_TINY, _SMALL = 1e-15, 1e-9


def cider_d(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """CIDEr-D (Vedantam et al. 2015) of each caption, 0 to 10, by pycocoevalcap.

    The rarity of an n-gram is counted over the references of all captions given here, so the set is part of the number:
    neither a subset nor a shard has the same values. n-grams that all references share weigh nothing, so one caption
    alone comes out as 0, whatever it says: its ``CIDER_SET`` of 1 tells the metric to say so.
    """
    from pycocoevalcap.cider.cider import Cider

    if not any(reference.split() for row in references for reference in row):
        return [0.0] * len(candidates)
    return [float(value) for value in _by_coco(Cider(), candidates, references)]


def cider_beans_next(candidates: Sequence[str], references: Sequence[str]) -> list[float]:
    """BEANS-Next's CIDEr of each caption, 0 to 1; its mean is what BEANS-Next reports.

    CIDEr-D of whitespace tokens as they stand (case and punctuation count), one reference each, divided by 10; 0 for
    fewer than two captions.
    """
    if len(candidates) < 2:
        return [0.0] * len(candidates)
    return [value / 10.0 for value in cider_d(candidates, [[reference] for reference in references])]


def rouge_l(candidate: str, references: Sequence[str]) -> float:
    """COCO's ROUGE-L, 0 to 1: F with β = 1.2 of the longest common subsequence, the best recall and precision apart.

    An empty candidate is 0. Empty references say nothing and are passed over; where all are empty the value is 0.
    """
    from pycocoevalcap.rouge.rouge import Rouge

    worded = [reference for reference in references if reference]
    return 0.0 if not candidate or not worded else float(Rouge().calc_score([candidate], worded))


def rouge_google(kind: str, candidate: str, reference: str, stemmed: bool) -> tuple[float, float, float]:
    """Precision, recall and F of google's ``rouge_score``, 0 to 1; ``kind`` is "rouge1", "rouge2" or "rougeL".

    ``stemmed`` compares Porter's stems in place of words.

    It sees the letters a to z and digits only: text in another script has no words, and 0 is its value.
    """
    score = _rouge_scorer(kind, stemmed).score(reference, candidate)[kind]
    return float(score.precision), float(score.recall), float(score.fmeasure)


def coco_bleu_of(order: int, sums: Floats) -> Floats:
    """COCO's corpus BLEU up to n-grams of ``order``, 0 to 1, of sums of shape (r, 10) as ``BLEU_NAMES`` lists.

    Unlike sacrebleu's it is not smoothed: without any 4-gram in common BLEU-4 is 0 but for a trace.
    """
    lengths, matches, totals = sums[:, :2], sums[:, 2 : 2 + order], sums[:, 6 : 6 + order]
    mean = np.prod((matches + _TINY) / (totals + _SMALL), axis=1) ** (1.0 / order)
    ratio = (lengths[:, 0] + _TINY) / (lengths[:, 1] + _SMALL)
    penalty = np.exp(1.0 - 1.0 / np.minimum(ratio, 1.0), where=ratio < 1.0, out=np.ones_like(ratio))
    return np.asarray(mean * penalty, dtype=np.float64)


def spice(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """SPICE (Anderson and others 2016) of each caption, 0 to 1, by its Java program. Raises UsageError without it."""
    if missing := lacks_spice():
        raise UsageError(missing)
    from pytest_audiobench.metrics.spice_program import spice_scores

    return spice_scores(candidates, references)


def lacks_captions(*modules: str) -> str:
    """In a sentence, which of pycocoevalcap, rouge_score and nltk must be installed; nothing where all are here."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return f"captions are scored with {' and '.join(missing)}: {CAPTIONS_EXTRA}" if missing else ""


def lacks_spice() -> str:
    """In a sentence, what SPICE lacks here."""
    from pytest_audiobench.metrics.spice_program import lacks_spice_parts

    return lacks_captions("pycocoevalcap") or lacks_spice_parts()


def _by_coco(scorer: Any, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> Sequence[Any]:
    scores: Sequence[Any] = scorer.compute_score(
        {number: list(captions) for number, captions in enumerate(references)},
        {number: [caption] for number, caption in enumerate(candidates)},
    )[1]
    return scores


@lru_cache(maxsize=6)
def _rouge_scorer(kind: str, stemmed: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([kind], use_stemmer=stemmed)


def cosines(first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
    """The cosine of each row of ``first`` with the same row of ``second``, shapes (n, d), within -1 to 1.

    A vector of zeros has no direction: 0, as scikit-learn and sentence-transformers have it (SciPy says NaN). A NaN or
    an infinity gives NaN. Rows are scaled by their largest component before they are squared, so that none
    overflows: components of 1e200 are 0 or NaN in those libraries, and right here. Raises UsageError for other shapes.
    """
    left, right = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if left.ndim != 2 or left.shape != right.shape:
        raise UsageError(f"cosines are of two arrays of one shape (n, d), not {left.shape} and {right.shape}")
    products = np.einsum("nd,nd->n", _directions(left), _directions(right))
    return np.asarray(np.clip(products, -1.0, 1.0), dtype=np.float64)


def _directions(rows: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
        scaled: Floats = np.divide(rows, largest, where=largest > 0.0, out=rows * 0.0)
        lengths = np.sqrt(np.einsum("nd,nd->n", scaled, scaled))[:, None]
        directions: Floats = np.divide(scaled, lengths, where=lengths > 0.0, out=scaled)
    return directions


def _over_set(name: str, largest: float) -> Callable[[Sequence[Statistics], Clusters], Estimate]:
    """The mean of a statistic that counts rarity over a set, without an interval where that set was one caption."""
    mean = mean_of(name, name, (0.0, largest))

    def estimate(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
        if not statistics:
            return nothing()
        counted = int(columns(statistics, name, CIDER_SET).min())
        estimate_of_all = mean(statistics, clusters)
        if counted < 2:
            why = none("nothing is rare in a set of one caption").method
            return estimate_of_all._replace(lower=None, upper=None, method=why)
        return estimate_of_all._replace(method=f"{estimate_of_all.method}, rarity over {counted} captions")

    return estimate


_SET = "Its n-grams' rarity is counted over the set that was scored together, so neither a part nor a pool has it."

KINDS = (
    MetricKind(
        "cider_d",
        "higher",
        "CIDEr-D",
        _over_set("cider_d", 10.0),
        lambda sample: (sample["cider_d"], 1.0),
        "CIDEr-D (Vedantam et al. 2015), 0 to 10, by pycocoevalcap: the mean over captions of the cosine of tf-idf "
        f"weighted 1- to 4-grams with each reference, clipped, and damped by the difference in length. {_SET} One "
        "caption alone has 0, whatever it says. Words are those that the protocol names. The interval takes the rarity "
        "as given.",
        poolable=False,
    ),
    mean_kind(
        "cider_beans_next",
        "higher",
        SHARE,
        "cider_beans_next",
        f"BEANS-Next's CIDEr, 0 to 1: CIDEr-D of whitespace tokens, one reference, divided by 10. {_SET} "
        "0 for fewer than two captions.",
        poolable=False,
    ),
    mean_kind(
        "spider_beans_next",
        "higher",
        SHARE,
        "spider_beans_next",
        "BEANS-Next's SPIDEr, 0 to 1: the mean of SPICE and a tenth of CIDEr-D, another scale than the paper's. "
        f"{_SET} Never with SPICE at 0 for want of the program, as there.",
        poolable=False,
    ),
    MetricKind(
        "spider",
        "higher",
        "SPIDEr",
        _over_set("spider", 5.5),
        lambda sample: (sample["spider"], 1.0),
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
        mean_kind(name, "higher", SHARE, name, about)
        for name, about in {
            "rouge_l": "COCO's ROUGE-L (Lin 2004; pycocoevalcap), the mean over captions of the F-score (β = 1.2) of "
            "the longest common subsequence of words, best recall and best precision over the references. Empty "
            "answers are 0.",
            "rouge_l_google": "ROUGE-L of google's rouge_score: the mean F1 of the longest common subsequence of runs "
            "of a to z and 0 to 9. Text in another script has no such run, and scores 0.",
            "rouge_l_recall": "The recall part of google's ROUGE-L, with Porter's stems: how much of the reference's "
            "longest common subsequence the answer holds. A long answer loses nothing by its length.",
            "meteor_nosyn": "METEOR by nltk from exact words and Porter stems, without synonyms (α 0.9, β 3, γ 0.5), "
            "the best over references; the mean over captions. Needs no data, and lies below METEOR with WordNet. No "
            "words are 0.",
            "meteor": "METEOR by nltk with WordNet's synonyms (α 0.9, β 3, γ 0.5), the mean over captions. It is not "
            "the Java program's METEOR 1.5, which was half of it on the same captions.",
            "spice": "SPICE (Anderson et al. 2016), by its Java program: the mean F1 of the scene graphs' tuples. "
            "Never 0 for want of the program.",
            "bertscore": "BERTScore (Zhang et al. 2020) by bert_score, the mean F1, not rescaled; the model is in the "
            "signature.",
            "bleu_characters": "nltk's sentence_bleu called with texts in place of words, so that characters are its "
            "words: 1- to 4-grams of characters, not smoothed. The mean over captions. Empty answers are 0.",
            "bleu4_characters": "nltk's sentence_bleu called with texts in place of words, so that characters are its "
            "words: the precision of 4-grams of characters alone, times the brevity penalty. The mean over captions. "
            "Empty answers are 0.",
        }.items()
    ),
    mean_kind(
        "cosine",
        "higher",
        COSINE,
        "cosine",
        "The mean cosine between an answer's embedding and the nearest reference's, -1 to 1, by the encoder that the "
        "protocol names. A vector of zeros has cosine 0; a NaN makes the mean NaN.",
    ),
    MetricKind(
        "fense",
        "higher",
        "FENSE",
        mean_of("fense", "fense", (-1.0, 1.0)),
        lambda sample: (sample["fense"], 1.0),
        "FENSE (Zhou et al. 2022): the cosine of the answer's embedding with the references', averaged, and cut to a "
        "tenth where an error checker gives a probability above 0.9 that the answer is ill-formed; the mean over "
        "captions. An empty answer is 0.",
    ),
)
