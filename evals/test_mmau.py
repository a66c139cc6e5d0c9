"""MMAU test-mini (Sakshi et al., 2024, arXiv 2410.19168): sound, music and speech, 1,000 questions."""

from pytest_audiobench import dataset, multiple_choice


def test_mmau(evaluate):
    """The scorer letters is the headline; ``--ab-scorer mmau-string`` is the published rule."""
    evaluate(dataset("mmau", "test-mini"), multiple_choice())
