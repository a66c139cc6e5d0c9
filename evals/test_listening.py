"""Was it listening? What the audio adds over silence, over another sample's clip, and over the text alone."""

import pytest

from pytest_audiobench import dataset, listening, multiple_choice


@pytest.mark.parametrize("task", ["digits", "sounds"])
def test_bundled(evaluate, task):
    """The bundled clips: a model that does not hear them answers no better than by chance."""
    listening(evaluate, dataset("bundled", task), multiple_choice())


@pytest.mark.parametrize("track", ["animal", "emotion", "gender", "language"])
def test_sakura(evaluate, track):
    """SAKURA's single-hop questions, whose options can be guessed but not known from the text."""
    listening(evaluate, dataset("sakura", track, "single"), multiple_choice())
