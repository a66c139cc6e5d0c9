"""Sound identification: mixtures of one to four sounds, asked about one sound at a time, there or not.

Every probe is asked in three wordings, whose vote is the headline; ``--ab-prompts`` names others.
"""

import pytest

from pytest_audiobench import dataset, protocol, with_prompt_variants

CONDITIONS = ("solo", "pair", "triple", "quad")
PUBLISHED = ("core", "home")


def probes():
    return with_prompt_variants(protocol("presence"), "yesno", 3)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_sound_id(evaluate, condition):
    """The ten bundled sounds; what is lost from one sound alone to four of them is ``solo_quad_cliff``."""
    evaluate(dataset("sound_id", "demo", condition), probes())


@pytest.mark.parametrize("pack", PUBLISHED)
def test_pack(evaluate, pack):
    """Packs of recordings under the names of the audiobench tool's two largest, where they are on this machine."""
    for condition in CONDITIONS:
        evaluate(dataset("sound_id", pack, condition), probes(), name=condition)


def test_mix(evaluate):
    """Your own mixtures: ``--ab-mix="siren+rain@-6"``, or a file of recipes."""
    evaluate(dataset("sound_id", "demo", "custom"), probes())
