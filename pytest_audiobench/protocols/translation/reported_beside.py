"""The measures of translation that need no tokenizer of a language: chrF, chrF++ and TER."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.tokenizers import library_version
from pytest_audiobench.metrics.translations import chrf_statistics, ter_statistics
from pytest_audiobench.protocols.free_text import read_text
from pytest_audiobench.protocols.protocol import Answer, Scorer


def other_scorers() -> Iterator[Scorer]:
    """``chrf`` (chrF2 and chrF++) and ``ter``, by sacrebleu as it comes."""
    made = f"nrefs:var|version:{library_version('sacrebleu')}"
    yield Scorer(
        "chrf",
        f"st:chrf|v:1|case:mixed|nc:6|nw:0,2|beta:2|space:no|{made}",
        read_text,
        _score_chrf,
        ("chrf", "chrfpp"),
    )
    yield Scorer(
        "ter",
        f"st:ter|v:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no|{made}",
        read_text,
        _score_ter,
        ("ter",),
    )


def _score_chrf(sample: Sample, answer: Answer) -> Mapping[str, float]:
    return chrf_statistics(answer.value or "", sample.truths)


def _score_ter(sample: Sample, answer: Answer) -> Mapping[str, float]:
    return ter_statistics(answer.value or "", sample.truths)
