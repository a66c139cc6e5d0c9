"""The measures of translation that need no tokenizer of a language: chrF, chrF++ and TER."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.kinds.translations import chrf_statistics, ter_statistics
from pytest_audiobench.metrics.tokenizers import library_version
from pytest_audiobench.protocols.free_text import read_text
from pytest_audiobench.protocols.protocol import About, Answer, Example, Scorer

_TELLING = Example("The meetings start at nine.", "The meeting starts at nine.")
_SHIFTED = Example("At nine starts the meeting", "the meeting starts at nine")


def other_scorers() -> Iterator[Scorer]:
    """``chrf`` (chrF2 and chrF++) and ``ter``, by sacrebleu as it comes."""
    made = f"nrefs:var|version:{library_version('sacrebleu')}"
    yield Scorer(
        "chrf",
        f"st:chrf|v:1|case:mixed|nc:6|nw:0,2|beta:2|space:no|{made}",
        read_text,
        _score_chrf,
        ("chrf", "chrfpp"),
        About(
            "chrF2 and chrF++ of all answers together: the F-score of character 1- to 6-grams, for chrF++ also of "
            "word 1- and 2-grams, recall twice as important. Case counts. Of several references the best one per "
            "answer. An empty answer counts by what it misses.",
            "Popović 2015 and 2017, by sacrebleu",
            (_TELLING,),
        ),
    )
    yield Scorer(
        "ter",
        f"st:ter|v:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|{made}",
        read_text,
        _score_ter,
        ("ter",),
        About(
            "Translation edit rate: the fewest insertions, deletions, substitutions and shifts of word blocks that "
            "turn each answer into a reference, over the references' words, of all answers together. Words are "
            "lower-cased and what spaces divide, so it means nothing for Chinese, Japanese or Thai. An empty answer "
            "is all deletions.",
            "Snover et al. 2006, by sacrebleu",
            (_TELLING, _SHIFTED),
        ),
    )


def _score_chrf(sample: Sample, answer: Answer) -> Mapping[str, float]:
    return chrf_statistics(answer.value or "", sample.truths)


def _score_ter(sample: Sample, answer: Answer) -> Mapping[str, float]:
    return ter_statistics(answer.value or "", sample.truths)
