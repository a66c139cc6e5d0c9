"""Answers compared by their meaning, as an encoder of the user's choice puts it into vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.definitions.captions import cosines
from pytest_audiobench.protocols.free_text import read_text
from pytest_audiobench.protocols.protocol import Answer, Scorer
from pytest_audiobench.protocols.text_encoders import Encoder, check_folder, finite_vectors, folder_digest, load_folder

Checker: TypeAlias = Callable[[Sequence[str]], npt.ArrayLike]
"""Texts to the probability that each is ill-formed: n texts give an array of shape (n,)."""

_Scored: TypeAlias = Sequence[tuple[Sample, Answer]]


def embedded(encoder: Encoder | Path, name: str) -> Scorer:
    """A scorer for free answers: the cosine between an answer's vector and the nearest reference's (``cosine``).

    ``encoder`` is a function, called once with all texts of an eval, or a local folder of a sentence-transformers or
    model2vec model. ``name`` says which encoder it is: the scorer is called ``embedding-<name>``, and numbers of
    different encoders cannot be compared: unrelated sentences may have 0.1 with one and 0.7 with another. An empty
    answer is 0 and is not encoded. Hand it to a family: ``captioning("captions", embedded(encode, "minilm"))``.
    """
    encode, which = _encoder(encoder, name)

    def together(scored: _Scored) -> Sequence[Mapping[str, float]]:
        return [{"cosine": max(values, default=0.0)} for values in _each_cosine(encode, scored)]

    return Scorer(
        f"embedding-{name}",
        f"open:embedding|v:1|encoder:{which}|references:nearest|empty:0",
        read_text,
        lambda sample, answer: {},
        ("cosine",),
        together=together,
    )


def fense(encoder: Encoder | Path, checker: Checker, name: str) -> Scorer:
    """FENSE for captions (Zhou et al. 2022), of an encoder and an error checker of the user's: ``fense-<name>``.

    The mean cosine of the answer's vector with the references', less nine tenths of it where the checker gives more
    than 0.9 to the answer being ill-formed. An empty answer is 0. The published numbers use
    paraphrase-TinyBERT-L6-v2 and echecker_clotho_audiocaps_base.
    """
    encode, which = _encoder(encoder, name)

    def together(scored: _Scored) -> Sequence[Mapping[str, float]]:
        texts = [answer.value or "" for _, answer in scored]
        wrong = np.asarray(checker(texts), dtype=np.float64) if texts else np.zeros(0)
        if wrong.shape != (len(texts),):
            raise UsageError(f"the checker of fense-{name} gave {wrong.shape} for {len(texts)} texts: one number each")
        if np.isnan(wrong).any():
            worst = texts[int(np.argmax(np.isnan(wrong)))]
            raise UsageError(f"the checker of fense-{name} gave NaN for the text {worst[:60]!r}; see to the checker")
        similar = [float(np.mean(values)) if values else 0.0 for values in _each_cosine(encode, scored)]
        return [{"fense": value * (0.1 if chance > 0.9 else 1.0)} for value, chance in zip(similar, wrong, strict=True)]

    return Scorer(
        f"fense-{name}",
        f"cap:fense|v:1|encoder:{which}|references:mean|penalty:0.9|threshold:0.9",
        read_text,
        lambda sample, answer: {},
        ("fense",),
        together=together,
    )


def _each_cosine(encode: Encoder, scored: _Scored) -> list[list[float]]:
    """For each answer its cosines with its references; none for an empty answer, or without any reference in words."""
    pairs = [
        (number, answer.value or "", truth)
        for number, (sample, answer) in enumerate(scored)
        for truth in sample.truths
        if (answer.value or "").strip() and truth.strip()
    ]
    rows: list[list[float]] = [[] for _ in scored]
    if not pairs:
        return rows
    texts = list(dict.fromkeys(text for _, answer_text, truth in pairs for text in (answer_text, truth)))
    vectors = dict(zip(texts, finite_vectors(encode, texts), strict=True))
    values = cosines([vectors[answer_text] for _, answer_text, _ in pairs], [vectors[truth] for _, _, truth in pairs])
    for (number, _, _), value in zip(pairs, values.tolist(), strict=True):
        rows[number].append(value)
    return rows


def _encoder(encoder: Encoder | Path, name: str) -> tuple[Encoder, str]:
    """The function, and how a signature names it: behind a folder's name the digest of its files."""
    if callable(encoder):
        return encoder, name
    folder = Path(encoder)
    check_folder(folder)
    return lambda texts: load_folder(folder)(texts), f"{name}|files:{folder_digest(folder)}"
