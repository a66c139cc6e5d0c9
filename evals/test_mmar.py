"""MMAR (Ma et al., 2025, arXiv 2505.13032): deep reasoning over speech, sound, music and their mixtures."""

from pytest_audiobench import dataset, multiple_choice


def test_mmar(evaluate):
    """1,000 questions over clips of everyday audio."""
    evaluate(dataset("mmar"), multiple_choice())
