"""An answer in words, and whether the model came to its end."""

from __future__ import annotations

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.protocols.free_text import answer_of, read_text
from pytest_audiobench.protocols.protocol import Answer, Earlier

_END = "</s>"


def ended(sample: Sample, earlier: Earlier) -> Answer:
    """The whole text without an end token that was written out, as recorded answers have it.

    "truncated" where the limit of tokens came before the end; what was said until then is the answer all the same.
    """
    response = answer_of(earlier)
    text = response.text.strip()
    if text.endswith(_END):
        said = text.removesuffix(_END).strip()
        return Answer("parsed", said) if said else Answer("empty")
    if response.finish == "length":
        return Answer("truncated", text or None)
    return read_text(sample, earlier)
