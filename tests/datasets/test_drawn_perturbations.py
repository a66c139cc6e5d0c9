"""Perturbations that hypothesis draws: what is drawn, towards what it shrinks, what is done to the clips."""

import math
import sys
from pathlib import Path

import pytest
from hypothesis import find, given, settings

from pytest_audiobench import drawn_perturbations, perturb
from pytest_audiobench.audio import edits
from pytest_audiobench.audio.combining import at_rate
from pytest_audiobench.datasets.bundled import bundled
from pytest_audiobench.datasets.perturbations.catalogue import ladder
from pytest_audiobench.datasets.perturbations.interventions import masks
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import UsageError

QUIETLY = settings(database=None, derandomize=True, max_examples=500)
PLACES = Places(Path())


def mildest(strategy, condition):
    """What hypothesis shrinks to among the draws that satisfy ``condition``."""
    return find(strategy, lambda drawn: condition(**dict(drawn.values)), settings=QUIETLY)


def clips(dataset):
    return [sample.clips for sample in dataset.read(PLACES)]


@pytest.mark.parametrize("ends", [(30, -5), (-5, 30)], ids=["mildest first", "strongest first"])
def test_noise_shrinks_to_the_highest_ratio_whichever_end_is_named_first(ends):
    assert mildest(drawn_perturbations(snr_db=ends), lambda snr_db: True).values == (("snr_db", 30.0),)
    assert mildest(drawn_perturbations(snr_db=ends), lambda snr_db: snr_db <= 12).values == (("snr_db", 12.0),)


@pytest.mark.parametrize(
    ("condition", "expected"), [(lambda gain_db: gain_db < -7.5, -8.0), (lambda gain_db: gain_db > 2, 3.0)]
)
def test_gain_shrinks_towards_0_dB_from_both_sides(condition, expected):
    assert mildest(drawn_perturbations(gain_db=(-20, 10)), condition).values == (("gain_db", expected),)


def test_each_of_several_aspects_shrinks_to_its_mildest():
    strategy = drawn_perturbations(snr_db=(20, 0), padding_s=(0, 1), mask_percent=(0, 60))
    drawn = mildest(strategy, lambda snr_db, padding_s, mask_percent: padding_s >= 0.25 and mask_percent > 20)
    assert drawn.values == (("snr_db", 20.0), ("padding_s", 0.3), ("mask_percent", 25.0))
    assert drawn.text == "20 dB SNR, 0.3 s of padding, 25 % masked"


@settings(max_examples=50)
@given(drawn_perturbations(snr_db=(10, -10), gain_db=(-6, 6), padding_s=(0, 0.5), mask_percent=(10, 30)))
def test_draws_stay_within_their_ranges_and_on_their_steps(drawn):
    values = dict(drawn.values)
    assert -10 <= values["snr_db"] <= 10
    assert -6 <= values["gain_db"] <= 6
    assert values["padding_s"] in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
    assert values["mask_percent"] in (10.0, 15.0, 20.0, 25.0, 30.0)


def test_drawn_noise_sounds_as_that_rung_of_the_ladder():
    drawn = mildest(drawn_perturbations(snr_db=(20, 0), noise="pink"), lambda snr_db: snr_db <= 7)
    assert clips(perturb(bundled("digits"), drawn)) == clips(perturb(bundled("digits"), ladder("pink", 7)[0]))


def test_what_is_drawn_as_nothing_leaves_the_clips_alone():
    strategy = drawn_perturbations(gain_db=(-20, 20), padding_s=(0, 1), mask_percent=(0, 50))
    drawn = mildest(strategy, lambda **values: True)
    assert (drawn.name, drawn.text) == ("clean", "no perturbation")
    assert clips(perturb(bundled("digits"), drawn)) == clips(bundled("digits"))


def test_a_mask_comes_after_the_noise_and_the_padding_last():
    strategy = drawn_perturbations(snr_db=(20, 20), mask_percent=(30, 30), padding_s=(0.5, 0.5))
    drawn = mildest(strategy, lambda **values: True)
    assert drawn.name == "white-20dB-mask-p30-padded-0.5s"
    in_turn = perturb(perturb(bundled("digits"), ladder("white", 20)[0]), masks(30)[0])
    padded = [(at_rate(clip).edited(edits.pad(0.5, 0.5)),) for (clip,) in clips(in_turn)]
    assert set(clips(perturb(bundled("digits"), drawn))) == set(padded)


def test_milder_is_what_is_less_in_one_aspect_and_the_same_in_all_others():
    def drawn(snr_db, gain_db):
        strategy = drawn_perturbations(snr_db=(snr_db, snr_db), gain_db=(gain_db, gain_db))
        return mildest(strategy, lambda **values: True)

    assert drawn(13, -3).milder_in(drawn(12, -3)) == ("snr_db", 1.0)
    assert drawn(12, -1).milder_in(drawn(12, -3)) == ("gain_db", 2.0)
    assert drawn(11, -3).milder_in(drawn(12, -3)) is None
    assert drawn(13, -1).milder_in(drawn(12, -3)) is None


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({}, "nothing to draw"),
        ({"snr_db": 12}, "is not a range"),
        ({"snr_db": (0, math.inf)}, "is not a range"),
        ({"padding_s": (-1, 1)}, "is not a range"),
        ({"mask_percent": (0, 120)}, "is not a range: give its two ends, from 0 to 100"),
        ({"snr_db": (20, 0), "noise": "brown"}, "no perturbations are named 'brown'"),
    ],
)
def test_a_range_that_is_none_is_told_where_it_is_written(ranges, message):
    with pytest.raises(UsageError, match=message):
        drawn_perturbations(**ranges)


def test_without_hypothesis_the_strategy_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(UsageError, match="pip install 'pytest-audiobench"):
        drawn_perturbations(snr_db=(20, 0))
