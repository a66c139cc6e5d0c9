"""How near a caption is to its references: CIDEr-D, ROUGE-L, COCO's BLEU, and SPICE where its parts are here.

All take words that are already divided, joined by single spaces, and are computed by pycocoevalcap, of which nothing
that runs Java is used, SPICE apart.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pytest_audiobench.errors import UsageError
from pytest_audiobench.stats.intervals import Floats

CAPTIONS_EXTRA = "pip install 'pytest-audiobench[captions]'"

CIDER_SET = "cider_set"
"""The statistic beside a CIDEr-D: how many captions it was counted over."""

_SPICE_JAR = "stanford-corenlp-3.6.0.jar"
# What COCO's script adds to counts, so that no ratio is divided by nothing.
_TINY, _SMALL = 1e-15, 1e-9


def cider_d(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """CIDEr-D (Vedantam et al. 2015) of each caption, 0 to 10, by pycocoevalcap.

    The rarity of an n-gram is counted over the references of all captions given here, so the set is part of the number:
    neither a subset nor a shard has the same values. n-grams that all references share weigh nothing, so one caption
    alone comes out as 0: its ``CIDER_SET`` of 1 tells the metric that this is no value.
    """
    return _cider(candidates, references)


def cider_beans_next(candidates: Sequence[str], references: Sequence[str]) -> list[float]:
    """BEANS-Next's CIDEr of each caption, 0 to 1; its mean is what BEANS-Next reports.

    CIDEr-D of whitespace tokens as they stand (case and punctuation count), one reference each, divided by 10; 0 for
    fewer than two captions.
    """
    if len(candidates) < 2:
        return [0.0] * len(candidates)
    return [value / 10.0 for value in _cider(candidates, [[reference] for reference in references])]


def rouge_l(candidate: str, references: Sequence[str]) -> float:
    """COCO's ROUGE-L, 0 to 1: F with β = 1.2 of the longest common subsequence, the best recall and precision apart.

    An empty candidate is 0. Empty references say nothing and are passed over; where all are empty the value is 0.
    """
    from pycocoevalcap.rouge.rouge import Rouge

    told = [reference for reference in references if reference]
    if not candidate or not told:
        return 0.0
    return float(Rouge().calc_score([candidate], told))


def rouge_google(kind: str, candidate: str, reference: str, stemmed: bool) -> tuple[float, float, float]:
    """Precision, recall and F of google's ``rouge_score``, 0 to 1; ``kind`` is "rouge1", "rouge2" or "rougeL".

    ``stemmed`` compares Porter's stems in place of words.

    It sees the letters a to z and digits only: text in another script has no words, and 0 is its value.
    """
    found = _rouge_scorer(kind, stemmed).score(reference, candidate)[kind]
    return float(found.precision), float(found.recall), float(found.fmeasure)


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
    """SPICE (Anderson et al.

    2016) of each caption, 0 to 1, by its Java program. Raises UsageError where it is not here.
    """
    if missing := lacks_spice():
        raise UsageError(missing)
    from pycocoevalcap.spice.spice import Spice

    ids = range(len(candidates))
    _, found = Spice().compute_score(
        {number: list(references[number]) for number in ids}, {number: [candidates[number]] for number in ids}
    )
    return [float(one["All"]["f"]) for one in found]


def lacks_captions(*modules: str) -> str:
    """In a sentence, which of pycocoevalcap, rouge_score and nltk must be installed; nothing where all are here."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return f"captions are scored with {' and '.join(missing)}: {CAPTIONS_EXTRA}" if missing else ""


def lacks_spice() -> str:
    """In a sentence, what SPICE lacks here.

    pycocoevalcap would download its models by itself, so they are looked for.
    """
    if missing := lacks_captions("pycocoevalcap"):
        return missing
    spec = importlib.util.find_spec("pycocoevalcap.spice.spice")
    folder = Path(spec.origin).parent / "lib" if spec is not None and spec.origin else Path()
    if not (folder / _SPICE_JAR).is_file():
        return f"SPICE needs Stanford CoreNLP 3.6.0: put {_SPICE_JAR} and its models' jar into {folder}"
    return "" if shutil.which("java") else "SPICE is a Java program, and there is no java on the PATH: install one"


def _cider(candidates: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    from pycocoevalcap.cider.cider import Cider

    if not any(reference.split() for several in references for reference in several):
        return [0.0] * len(candidates)
    ids = range(len(candidates))
    _, found = Cider().compute_score(
        {number: list(references[number]) for number in ids}, {number: [candidates[number]] for number in ids}
    )
    return [float(value) for value in found]


@lru_cache(maxsize=6)
def _rouge_scorer(kind: str, stemmed: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([kind], use_stemmer=stemmed)
