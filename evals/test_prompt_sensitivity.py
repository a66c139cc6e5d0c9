"""How much of a score is the prompt's: bundled sets in the wordings that others ask in, a few samples of each.

Any other eval is asked so by ``--ab-prompts=tasks``, or by another set, in place of its own words; sound
identification always is (``test_sound_id.py``).
"""

import pytest

from pytest_audiobench import dataset, protocol, with_prompt_variants


@pytest.mark.parametrize(
    ("name", "family", "prompts", "samples"),
    [
        pytest.param("digits", "multiple_choice", "choice-5", 20, id="choice"),
        pytest.param("transcription", "transcription", "asr-3", 10, id="asr"),
    ],
)
def test_prompt_sensitivity(evaluate, name, family, prompts, samples):
    """One question in several published wordings: mean, worst, spread, and how many samples are answered alike."""
    evaluate(dataset("bundled", name), with_prompt_variants(protocol(family), prompts), samples=samples)
