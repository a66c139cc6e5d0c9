"""Masks, noise and controls as perturbations: names to select, doses that are what they say, shared draws."""

import re
from pathlib import Path

import numpy as np
import pytest

from pytest_audiobench.audio import signals
from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.datasets.dataset import Dataset, perturb
from pytest_audiobench.datasets.manifest import manifest
from pytest_audiobench.datasets.perturbations.catalogue import SNRS_DB, ladder, noises
from pytest_audiobench.datasets.perturbations.interventions import (
    PERCENTS,
    controls,
    masks,
    with_silence,
    without_audio,
)
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import AudioError, UsageError

RATE_HZ = 16_000
MODES = ["random", "start", "end", "scattered"]
HERE = Places(Path("."))


def hiss(seconds=2.0, rate_hz=RATE_HZ, seed=1):
    return (0.1 * np.random.RandomState(seed).standard_normal(int(seconds * rate_hz))).astype(np.float32)


def sample_of(samples, rate_hz=RATE_HZ, id_="a"):
    return Sample(id_, (Clip(ArraySource.of(samples, rate_hz)),), "Which?", ("a", "b"), "a")


def changed(perturbation, *samples):
    return perturb(Dataset("test", lambda places: list(samples)), perturbation).read(HERE)


def heard(perturbation, sample):
    return decode(changed(perturbation, sample)[0].clips[0], RATE_HZ, None).samples


# Names and doses


@pytest.mark.parametrize(
    ("made", "name", "family"),
    [
        (masks(20), "mask-p20", "mask"),
        (masks(20, mode="start"), "mask-p20-start", "mask-start"),
        (masks(20, mode="end"), "mask-p20-end", "mask-end"),
        (masks(20, mode="scattered"), "mask-p20-scattered", "mask-scattered"),
        (masks(20, fill="noise"), "mask-p20-noise", "mask-noise"),
        (masks(12.5, mode="scattered", fill="noise"), "mask-p12.5-scattered-noise", "mask-scattered-noise"),
    ],
)
def test_a_mask_is_called_by_its_share_its_mode_and_its_fill(made, name, family):
    (one,) = made
    assert (one.name, one.family, one.unit, one.harder) == (name, family, "% masked", "higher")
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9.]+)*", one.name)


def test_a_ladder_of_masks_has_the_shares_of_the_study_and_the_whole():
    assert [one.dose for one in masks()] == list(PERCENTS) == [20, 40, 60, 80, 90, 100]


def test_noise_is_called_by_its_ratio():
    assert [str(one) for one in noises(20, 0, -10)] == ["noise-20dB", "noise-0dB", "noise-m10dB"]
    assert [one.dose for one in noises()] == list(SNRS_DB)
    assert {(one.family, one.unit, one.harder) for one in noises()} == {("noise", "dB SNR", "lower")}


def test_controls_stand_alone():
    assert [(str(one), one.family, one.dose) for one in controls()] == [
        ("silence", "control", None),
        ("swapped", "control", None),
        ("text", "control", None),
    ]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: masks(20, 20.0), "has a share twice"),
        (lambda: masks(120), "percent=120 is not a share of a clip"),
        (lambda: masks(20, mode="middle"), "no mode of a mask is named 'middle'"),
        (lambda: masks(20, mode=None), "no mode of a mask is named None"),
        (lambda: masks(20, fill="beep"), "no fill of a mask is named 'beep'"),
        (lambda: masks("20"), "is not a number to draw a curve over"),
        (lambda: noises(3, 3), "has a dose twice"),
    ],
)
def test_a_mistaken_dose_is_told_where_it_is_made(make, said):
    with pytest.raises(UsageError, match=said):
        make()


# What is heard


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 22_050, 48_000])
@pytest.mark.parametrize("mode", MODES)
def test_the_share_is_exact_in_what_is_heard_whatever_the_rate_of_the_file(mode, rate_hz):
    sample = sample_of(hiss(2, rate_hz), rate_hz)
    for one in masks(20, 55.5, 100, mode=mode):
        sound = heard(one, sample)
        assert len(sound) == 2 * RATE_HZ
        assert (sound == 0).sum() == round(one.dose / 100 * len(sound))


@pytest.mark.parametrize("rate_hz", [16_000, 48_000])
def test_noise_in_a_mask_is_as_strong_as_the_clip_whatever_the_rate_of_the_file(rate_hz):
    tone = 0.2 * np.sin(2 * np.pi * 700 * np.arange(2 * rate_hz) / rate_hz)
    (everything,) = masks(100, fill="noise")
    assert signals.rms(heard(everything, sample_of(tone, rate_hz))) == pytest.approx(0.2 / 2**0.5, rel=1e-3)


@pytest.mark.parametrize("fill", ["silence", "noise"])
@pytest.mark.parametrize("mode", MODES)
def test_the_rungs_of_a_ladder_differ_in_the_dose_alone(mode, fill):
    sample = sample_of(hiss())
    clean = decode(sample.clips[0], RATE_HZ, None).samples
    before = clean
    for one in masks(mode=mode, fill=fill):
        after = heard(one, sample)
        masked = before != clean
        assert np.array_equal(before[masked], after[masked])
        assert (after != clean).sum() > masked.sum()
        before = after


def test_silence_and_noise_lie_in_the_same_places():
    sample = sample_of(hiss())
    clean = decode(sample.clips[0], RATE_HZ, None).samples
    for mode in MODES:
        silent, noisy = (heard(*masks(40, mode=mode, fill=fill), sample) for fill in ("silence", "noise"))
        assert np.array_equal(silent != clean, noisy != clean)


def test_samples_and_their_further_clips_are_masked_in_places_of_their_own():
    samples = [sample_of(hiss(), id_=id_) for id_ in "abc"]
    places = {tuple(heard(*masks(20), one).nonzero()[0]) for one in samples}
    assert len(places) == 3
    (twice,) = changed(*masks(20), Sample("a", samples[0].clips * 2, ""))
    assert twice.clips[0] == changed(*masks(20), samples[0])[0].clips[0]
    assert twice.clips[0] != twice.clips[1]


def test_noise_is_that_of_the_white_ladder_and_so_are_its_keys():
    samples = [sample_of(hiss(), id_=id_) for id_ in "abc"]
    for ours, theirs in zip(noises(), ladder("white"), strict=True):
        clips = [[one.clips[0] for one in changed(perturbation, *samples)] for perturbation in (ours, theirs)]
        assert clips[0] == clips[1]
        assert keys(clips[0]) == keys(clips[1])


def keys(clips):
    with AudioIndex(None) as index:
        return [clip.key_from(facts.digest) for clip, facts in zip(clips, index.facts_of(clips), strict=True)]


def test_a_mask_that_differs_in_anything_has_another_key():
    sample = sample_of(hiss())
    every = [one for mode in MODES for fill in ("silence", "noise") for one in masks(mode=mode, fill=fill)]
    assert len(set(keys([changed(one, sample)[0].clips[0] for one in every]))) == len(every) == 48


def test_a_silent_clip_stays_silent_under_any_mask():
    silent = sample_of(np.zeros(RATE_HZ))
    for fill in ("silence", "noise"):
        assert not heard(*masks(60, fill=fill), silent).any()


def test_a_clip_without_frames_is_refused_by_its_name():
    empty = sample_of(np.zeros(0))
    with pytest.raises(AudioError, match="zero frames"):
        heard(*masks(60, fill="noise"), empty)


# Controls


def test_controls_do_what_the_listening_eval_does_and_say_what_was_there_before():
    samples = [sample_of(hiss(seed=seed), id_=id_) for seed, id_ in enumerate("abcd")]
    silence, swapped, text = (changed(one, *samples) for one in controls())
    dataset = Dataset("test", lambda places: samples)
    assert [one.clips for one in silence] == [one.clips for one in with_silence(dataset).read(HERE)]
    assert [one.clips for one in text] == [one.clips for one in without_audio(dataset).read(HERE)]
    assert {one.clips for one in swapped} == {one.clips for one in samples}
    assert all(one.clips != before.clips for one, before in zip(swapped, samples, strict=True))
    for control in (silence, swapped, text):
        assert [one.recordings for one in control] == [one.clips for one in samples]
        assert [one.id for one in control] == list("abcd")


def test_who_lends_to_whom_does_not_depend_on_the_order_of_samples():
    samples = [sample_of(hiss(seed=seed), id_=str(seed)) for seed in range(9)]
    _, swapped, _ = controls()
    there, back = ({one.id: one.clips for one in changed(swapped, *order)} for order in (samples, samples[::-1]))
    assert there == back


def test_a_single_sample_has_nobody_to_swap_with():
    with pytest.raises(UsageError, match="no sample of the data set has other clips than 'a'"):
        changed(controls()[1], sample_of(hiss()))


# Data sets


@pytest.mark.parametrize("perturbation", [*masks(20, fill="noise"), *noises(0), *controls()[::2]], ids=str)
def test_nothing_is_decoded_before_it_is_played(tmp_path, perturbation):
    (tmp_path / "own.jsonl").write_text('{"id": "a", "audio": "not there.wav", "answer": "words"}\n')
    (sample,) = perturb(manifest(tmp_path / "own.jsonl"), perturbation).read(Places(here=tmp_path))
    assert sample.id == "a"
