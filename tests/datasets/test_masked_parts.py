"""Scenes without their speech, and without their sounds: what is silent is an exact share of that part alone."""

from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench.audio import edits
from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.datasets.perturbations.catalogue import GROUPS, with_clean
from pytest_audiobench.datasets.perturbations.interventions import masked_parts
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UnsuitableData, UsageError

RATE_HZ = 16_000
HERE = Places(Path())
SPEECH = {"speech_start_s": "0.5", "speech_end_s": "1.5"}
SOUND = (0.1 + 0.1 * np.random.RandomState(1).random_sample(3 * RATE_HZ)).astype(np.float32)
IS_SPEECH = np.isin(np.arange(len(SOUND)) // (RATE_HZ // 2), [1, 2])


def scene(id_="7", metadata=SPEECH, samples=SOUND):
    return Sample(id_, (Clip(ArraySource.of(samples, RATE_HZ)),), "What are they doing?", metadata=metadata)


def silent_frames(perturbation, sample):
    (changed,) = perturbation.prepare(HERE)([sample])
    played = decode(changed.clips[0], RATE_HZ, None).samples
    assert (played[played != 0] == SOUND[played != 0]).all()
    return played == 0


@pytest.mark.parametrize(("part", "is_of_part"), [("speech", IS_SPEECH), ("sounds", ~IS_SPEECH)])
def test_an_exact_share_of_one_part_is_silent_and_more_of_it_contains_less(part, is_of_part):
    before = np.zeros(len(SOUND), bool)
    for percent, perturbation in zip(range(10, 101, 10), masked_parts(part), strict=True):
        silent = silent_frames(perturbation, scene())
        assert silent.sum() == is_of_part.sum() * percent // 100
        assert (is_of_part[silent]).all()
        assert (silent[before]).all()
        before = silent
    assert (before == is_of_part).all()


def pieces(silent):
    edges = np.flatnonzero(np.diff(np.concatenate([[0], silent.view(np.int8), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


@pytest.mark.parametrize(
    ("part", "percent", "published"),
    [
        ("speech", 50, [(9892, 12403), (15761, 18341), (19151, 20303), (20702, 22459)]),
        ("sounds", 20, [(3937, 4956), (31965, 35607), (39044, 40783)]),
        (
            *("speech", 100),
            [(8840, 12670), (13534, 15031), (15694, 16729), (17407, 18327), (18403, 21151), (21293, 23562)],
        ),
    ],
)
def test_the_published_masks_are_those_that_the_study_s_code_draws(part, percent, published):
    """The pieces are what its get_scattered_mask_ranges gives for the clip "7"; of 100 % a quarter is not masked."""
    perturbation = masked_parts(part, "published")[percent // 10 - 1]
    assert pieces(silent_frames(perturbation, scene())) == published


def test_speech_that_is_said_to_last_beyond_the_clip_ends_with_it():
    silent = silent_frames(masked_parts("speech")[-1], scene(metadata={"speech_start_s": "2.5", "speech_end_s": "3.4"}))
    assert pieces(silent) == [(40_000, 48_000)]


def test_a_scene_without_speech_has_nothing_of_it_to_silence():
    nowhere = scene(metadata={"speech_start_s": "1", "speech_end_s": "1"})
    for rule in ("exact", "published"):
        assert not silent_frames(masked_parts("speech", rule)[-1], nowhere).any()


def test_a_sample_that_does_not_say_where_its_speech_is_ends_its_eval():
    with pytest.raises(UsageError, match="sample '7' does not say where its speech is"):
        masked_parts("speech")[0].prepare(HERE)([scene(), scene(metadata={})])
    with pytest.raises(UsageError, match=r"from 2\.0 s to 1\.0 s is not part of a clip"):
        masked_parts("speech")[0].prepare(HERE)([scene(metadata={"speech_start_s": "2", "speech_end_s": "1"})])


def test_scenes_none_of_which_says_where_its_speech_is_cannot_be_masked_by_parts():
    with pytest.raises(UnsuitableData, match="so that without-sounds has nothing to silence"):
        masked_parts("sounds")[0].prepare(HERE)([scene(metadata={}), scene(metadata={})])


def test_the_four_ladders_are_asked_for_by_their_names():
    for family in ("without-speech", "without-speech-published", "without-sounds", "without-sounds-published"):
        assert len(GROUPS[family]) == 10
        assert with_clean([family])[0] == "clean"
    assert GROUPS["without-speech"][-1] == "without-speech-p100"
    assert GROUPS["without-sounds-published"][0] == "without-sounds-p10-published"


def test_a_mask_of_a_part_is_hashed_with_its_rule():
    one, other = (edits.mask_part(50, "inside", 0.5, 1.5, rule, "7") for rule in ("exact", "published"))
    assert one.payload != other.payload
