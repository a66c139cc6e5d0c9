"""Sound identification: mixtures of one to four sounds, asked about one sound at a time, present or not."""

import pytest

from pytest_audiobench import presence, sound_id


@pytest.mark.parametrize("condition", ["solo", "pair", "triple", "quad"])
def test_sound_id(evaluate, condition):
    """Three wordings of every question, and their vote; what the wordings make of the score stands beside it."""
    evaluate(sound_id("demo", condition), presence().worded("yesno", 3))


def test_sound_id_custom(evaluate):
    """The mixtures of ``--ab-mix``, such as ``--ab-mix "siren+rain"``."""
    evaluate(sound_id("demo", "custom"), presence().worded("yesno", 3))
