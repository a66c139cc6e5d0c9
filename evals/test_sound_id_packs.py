"""Sound identification by scenario: the labels of the audiobench tool's packs cabin, security and health.

Their sounds are computed until ``--ab-data=cabin=FOLDER`` (or a folder of packs) brings recordings under these labels,
so they are asked where they are named (``-k cabin``, ``-k sound_id``).
"""

import pytest

from pytest_audiobench import dataset, protocol, with_prompt_variants

CONDITIONS = ("solo", "pair", "triple", "quad")
SCENARIOS = ("cabin", "security", "health")
PROFILES = {"demo-fast": ("demo", ("solo", "pair", "triple"), 5)}
"""Short runs by name: the pack, the conditions, and the first so many mixtures of each."""


def probes():
    return with_prompt_variants(protocol("presence"), "yesno", 3)


@pytest.mark.study(*SCENARIOS)
@pytest.mark.parametrize("pack", SCENARIOS)
def test_scenario(evaluate, pack):
    for condition in CONDITIONS:
        evaluate(dataset("sound_id", pack, condition), probes(), name=condition)


@pytest.mark.parametrize("profile", PROFILES)
def test_profile(evaluate, profile):
    """``pytest evals -k demo-fast``: what the whole suite would have asked of these mixtures is in the store."""
    pack, conditions, mixtures = PROFILES[profile]
    for condition in conditions:
        evaluate(dataset("sound_id", pack, condition, mixtures=mixtures), probes(), name=condition)
