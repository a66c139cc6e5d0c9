"""How much noise an answer survives: hypothesis draws it, and a failure names the mildest that breaks the bound."""

import pytest

from pytest_audiobench import dataset, drawn_perturbations, multiple_choice, perturb

hypothesis = pytest.importorskip("hypothesis", reason="the draws are hypothesis's: pip install hypothesis")


@hypothesis.given(change=drawn_perturbations(snr_db=(30, 0), gain_db=(-20, 0)))
@hypothesis.settings(max_examples=20)
def test_bundled(evaluate, change):
    """Which of four digits is spoken, soft or loud, down to noise as strong as the speech? 25 % are guessed."""
    result = evaluate(perturb(dataset("bundled", "digits"), change), multiple_choice(), samples=40)
    assert result["accuracy"] > 0.3
