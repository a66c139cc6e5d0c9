"""Soundscapes: write down everything that is heard, and when, of clips in which several things happen at once.

Scenes are put together from pieces whose words and places are known; ``--ab-pools=FOLDER`` takes them from recordings
of your own, ``--ab-scenes=N`` says how many. A plain run asks for twelve scenes (``test_brief``); the rest are studies,
run by name (``-k soundscape``).
"""

import pytest

from pytest_audiobench import dataset, listening, protocol

study = pytest.mark.study


def asked(evaluate, *profile, samples=None, **how):
    """The scenes of a profile, in the words of the one prompt."""
    evaluate(dataset("soundscape_scenes", *profile, **how), protocol("soundscape"), samples=samples)


@pytest.mark.audiobench(suite="soundscape_brief")
def test_brief(evaluate):
    """Twelve of the forty scenes of ``test_scenes[published]``: its own suite, since none counts twice."""
    asked(evaluate, samples=12)


@study
@pytest.mark.parametrize("profile", ["published", "large", "spoken"])
def test_scenes(evaluate, profile):
    """One to three turns of speech and other sounds over a bed, as SoundScape-Bench is made.

    In ``large`` at any level; in ``spoken`` whole sentences in six languages, by espeak-ng (the extra ``tts``).
    """
    asked(evaluate, profile)


@study
def test_overlap(evaluate):
    """The second voice begins inside the first."""
    asked(evaluate, "overlap")


@study
@pytest.mark.parametrize("bed", ["none", "ambience", "music"])
def test_beds(evaluate, bed):
    """The same speech and sounds over nothing, over a place and over music."""
    asked(evaluate, f"bed-{bed}")


@study
@pytest.mark.parametrize("bed_db", [-33, -27, -21])
def test_bed_level(evaluate, bed_db):
    """The same scenes over music that is softer and louder: the points of a curve."""
    asked(evaluate, "bed-music", bed_db=bed_db)


@study
def test_silence(evaluate):
    """Nothing is heard but faint hiss: ``scene_f1`` is the share of clips for which nothing is listed."""
    asked(evaluate, "silence")


@study
def test_listening(evaluate):
    """What the clip adds over silence, over another scene and over the prompt alone."""
    listening(evaluate, dataset("soundscape_scenes"), protocol("soundscape"))


@study
def test_recordings(evaluate):
    """SoundScape-Bench or clips of your own in its layout: ``--ab-data=soundscape=FOLDER``."""
    evaluate(dataset("soundscape"), protocol("soundscape"))
