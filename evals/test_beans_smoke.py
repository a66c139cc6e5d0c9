"""A smoke test of bioacoustics: a few synthetic calls, that models are played them and their answers read and scored.

It is not part of BEANS, and no number of it is next to a published one: a synthesiser's bird is nobody's.
"""

from dataclasses import replace

import pytest

from pytest_audiobench import Dataset, Sample, dataset, protocol
from pytest_audiobench.ext import Clip, synthesis

LABELS = ("bell", "bird", "rain", "siren")
EACH = 3
NOTE = "a smoke test: synthetic calls, which say nothing of real animals and are comparable with no published value"
CAPTIONS = {
    "crickets": "Crickets chirp in a steady trill.",
    "dog": "A dog barks several times.",
    "frog": "A frog croaks again and again.",
    "owl": "An owl hoots three times in a row.",
}


def calls(places):
    """A few bundled sounds of each label, whose questions and choices are those of a bioacoustic task."""
    of_label = {label: [] for label in LABELS}
    for sample in dataset("bundled", "sounds").read(places):
        of_label.get(sample.reference, []).append(replace(sample, question="Which sound is heard?", choices=LABELS))
    return [sample for samples in of_label.values() for sample in samples[:EACH]]


def described(places):
    """Two synthetic animals of each kind, with what a person would write of them."""
    return [
        Sample(f"{animal}-{n}", (Clip(synthesis.everyday(animal, 3.0, f"beans smoke {n}")),), "", (), caption)
        for animal, caption in CAPTIONS.items()
        for n in range(2)
    ]


def smoke(task, read):
    return Dataset(f"beans_smoke/{task}", read, note=NOTE)


def test_classification(evaluate):
    """One of four labels. Whoever says the same of every clip is right of a quarter, and fails."""
    result = evaluate(smoke("classification", calls), protocol("bioacoustic", max_new_tokens=64))
    assert result["accuracy"] >= 0.5


def test_detection(evaluate):
    """All labels that apply, of clips in which one does."""
    result = evaluate(smoke("detection", calls), protocol("bioacoustic_detection", max_new_tokens=64))
    assert result["set_f1"] >= 0.5


def test_captioning(evaluate):
    """A sentence of each call. The bundled listener has none, so that all that is required is an answer of each."""
    pytest.importorskip("pycocoevalcap", reason="captions need pip install 'pytest-audiobench[captions]'")
    result = evaluate(smoke("captioning", described), protocol("bioacoustic_captioning", max_new_tokens=64))
    assert result["cider_d"].n
    assert not result.errors
