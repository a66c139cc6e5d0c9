"""Masks: exactly the share that was asked for, inside the clip, drawn once for all shares."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.audio import combining, edits, signals
from pytest_audiobench.audio.clip import ArraySource, Clip, DataRoot, Edit, FileSource
from pytest_audiobench.audio.clip_record import clip_of, recipe_of
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.edits.masks import segments
from pytest_audiobench.errors import UsageError

RATE_HZ = 16_000
MODES = ["random", "start", "end", "scattered"]
HISS = np.random.RandomState(3).uniform(-0.3, 0.3, 3 * RATE_HZ).astype(np.float32)
CLIP = Clip(ArraySource.of(HISS, RATE_HZ))

modes = st.sampled_from(MODES)
fills = st.sampled_from(["silence", "noise"])
rates = st.one_of(st.sampled_from([8_000, 16_000, 22_050, 44_100, 48_000]), st.integers(1000, 384_000))
lengths = st.one_of(st.sampled_from([0, 1, 2, 799, 800, 801, 8_000, 8_001]), st.integers(0, 3_000_000))
shares = st.one_of(
    st.sampled_from([0, 20, 40, 60, 80, 90, 100, 33.3, 1e-9]),
    st.floats(0, 100),
    st.integers(0, 1000).map(lambda x: x / 10),
)
seeds = st.one_of(st.integers(), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))


def heard(*chain: Edit, clip: Clip = CLIP) -> np.ndarray:
    return decode(clip.edited(*chain), RATE_HZ, None).samples


def frames(pieces: list[tuple[int, int]]) -> int:
    return sum(end - begin for begin, end in pieces)


# Where a mask lies


@given(lengths, rates, shares, modes, seeds)
def test_exactly_the_share_is_hit_and_pieces_lie_apart_inside_the_clip(n, rate_hz, percent, mode, seed):
    pieces = segments(n, rate_hz, percent, mode, seed)
    assert abs(frames(pieces) - n * percent / 100) <= 0.5 + 1e-6
    assert all(0 <= begin < end <= n for begin, end in pieces)
    assert all(before[1] <= after[0] for before, after in pairwise(pieces))
    assert mode == "scattered" or len(pieces) <= 1


@given(lengths, rates, shares, shares, modes, seeds)
def test_what_a_smaller_share_masks_a_larger_one_masks_too(n, rate_hz, one, other, mode, seed):
    less, more = (segments(n, rate_hz, percent, mode, seed) for percent in sorted([one, other]))
    covered = np.zeros(n, dtype=bool)
    for begin, end in more:
        covered[begin:end] = True
    assert all(covered[begin:end].all() for begin, end in less)


@given(lengths, rates, shares, seeds)
def test_scattered_pieces_last_50_to_500_ms_but_for_one_that_is_cut(n, rate_hz, percent, seed):
    pieces = segments(n, rate_hz, percent, "scattered", seed)
    whole = segments(n, rate_hz, 100, "scattered", seed)
    assert frames(whole) == n
    assert (
        all(20 * (end - begin) >= rate_hz and 2 * (end - begin) <= rate_hz for begin, end in whole)
        or (len(whole) == 1 and 20 * n < rate_hz)
        or n == 0
    )
    cut = set(pieces) - set(whole)
    assert len(cut) <= 1
    assert all(any(begin <= cut_begin and cut_end <= end for begin, end in whole) for cut_begin, cut_end in cut)


@given(lengths, rates, modes, seeds)
def test_nothing_and_everything_are_what_they_say(n, rate_hz, mode, seed):
    assert segments(n, rate_hz, 0, mode, seed) == []
    assert frames(segments(n, rate_hz, 100, mode, seed)) == n


@pytest.mark.parametrize(
    ("n", "percent", "hit"),
    [(1, 50, 1), (1, 49.9, 0), (10, 25, 3), (1000, 0.05, 1), (1001, 35, 350), (7, 64.3, 5)],
)
@pytest.mark.parametrize("mode", MODES)
def test_half_a_frame_is_rounded_up_by_the_decimals_of_the_share(n, percent, hit, mode):
    assert frames(segments(n, RATE_HZ, percent, mode)) == hit


def test_start_and_end_are_where_they_say():
    assert segments(1000, RATE_HZ, 20, "start") == [(0, 200)]
    assert segments(1000, RATE_HZ, 20, "end") == [(800, 1000)]


def test_every_place_of_a_random_piece_is_as_likely_as_any_other():
    begins = [segments(10, RATE_HZ, 80, "random", seed)[0][0] for seed in range(3000)]
    counts = np.bincount(begins)
    assert len(counts) == 3
    assert (counts > 900).all()


def test_scattered_pieces_prefer_no_part_of_a_clip():
    hits = np.zeros(5 * RATE_HZ)
    for seed in range(1500):
        for begin, end in segments(len(hits), RATE_HZ, 40, "scattered", seed):
            hits[begin:end] += 1 / 1500
    assert hits.reshape(20, -1).mean(axis=1) == pytest.approx(0.4, abs=0.05)


def test_a_clip_that_is_one_piece_is_masked_as_at_random():
    for n in (1, 700, 1599):
        for percent in (20, 50, 90):
            assert segments(n, RATE_HZ, percent, "scattered", 5) == segments(n, RATE_HZ, percent, "random", 5)


def test_seeds_draw_other_places_and_the_same_one_the_same():
    for mode in ("random", "scattered"):
        places = [segments(3 * RATE_HZ, RATE_HZ, 40, mode, seed) for seed in (1, "1", 2)]
        assert places[0] == places[1] != places[2]


# What is heard


@given(shares, modes, fills, seeds)
def test_what_is_not_masked_is_kept_to_the_bit(percent, mode, fill, seed):
    masked = heard(edits.mask(percent, mode, fill, seed))
    kept = np.ones(len(HISS), dtype=bool)
    for begin, end in segments(len(HISS), RATE_HZ, percent, mode, seed):
        kept[begin:end] = False
    assert np.array_equal(masked[kept], HISS[kept])
    if fill == "silence":
        assert not masked[~kept].any()
    else:
        assert (masked[~kept] != HISS[~kept]).mean() > 0.99 if (~kept).any() else True


@pytest.mark.parametrize("mode", MODES)
def test_noise_is_as_strong_as_the_whole_clip_whatever_its_level(mode):
    for db in (-60, -12, 0):
        quiet = [edits.gain(db), edits.mask(50, mode, "noise", 1)]
        (begin, end), *_ = segments(len(HISS), RATE_HZ, 50, mode, 1)
        level = signals.rms(heard(*quiet)[begin:end]) / signals.rms(heard(edits.gain(db)))
        assert level == pytest.approx(1, rel=0.1)
    everything = heard(edits.mask(100, mode, "noise", 1))
    assert signals.rms(everything) == pytest.approx(signals.rms(HISS), rel=1e-3)


@pytest.mark.parametrize("mode", MODES)
def test_a_larger_share_plays_the_same_noise_and_more_of_it(mode):
    less, more = (heard(edits.mask(percent, mode, "noise", 1)) for percent in (30, 70))
    changed = less != HISS
    assert np.array_equal(less[changed], more[changed])


def test_noise_passes_no_full_scale():
    loud = Clip(ArraySource.of(np.sign(HISS), RATE_HZ))
    masked = heard(edits.mask(100, "start", "noise", 1), clip=loud)
    assert np.abs(masked).max() == np.float32(signals.FULL_SCALE)


def test_noise_in_a_silent_clip_is_silence():
    silent = Clip(ArraySource.of(np.zeros(RATE_HZ), RATE_HZ))
    assert not heard(edits.mask(60, "scattered", "noise", 1), clip=silent).any()


def test_the_whole_clip_is_masked_by_its_share_also_where_a_listener_hears_its_beginning_only():
    mask = edits.mask(40, "random", "noise", 1)
    window = decode(CLIP.edited(mask), RATE_HZ, 1.0).samples
    assert np.array_equal(window, heard(mask)[:RATE_HZ])


@given(st.integers(0, 3), modes, fills)
def test_the_shortest_clips_can_be_masked(n, mode, fill):
    edit = edits.mask(50, mode, fill, 1)
    assert len(edits.apply(edit, HISS[:n], RATE_HZ)) == n


# What is on record


@pytest.mark.parametrize("mode", MODES)
def test_a_clips_recipe_says_which_of_its_frames_are_masked(tmp_path, mode):
    made = combining.at_rate(Clip(FileSource(DataRoot("set", tmp_path), "a.wav"))).edited(
        edits.mask(37.5, mode, "silence", 9)
    )
    read = clip_of(json.loads(json.dumps(recipe_of(made))), lambda name: FileSource(DataRoot("set", tmp_path), "a.wav"))
    (edit,) = read.edits
    written = dict(edit.parameters)
    assert written == {"percent": "37.5", "mode": mode, "fill": "silence"}
    masked = edits.apply(edit, HISS, RATE_HZ)
    silent = np.zeros(len(HISS), dtype=bool)
    for begin, end in segments(len(HISS), RATE_HZ, float(written["percent"]), written["mode"], edit.seed or ""):
        silent[begin:end] = True
    assert np.array_equal(masked == 0, silent | (HISS == 0))


def test_a_seed_is_on_record_where_something_is_drawn_and_nowhere_else():
    assert edits.mask(20, "start", "silence", 1) == edits.mask(20.0, "start", "silence", 2)
    drawn = [
        edits.mask(20, mode, fill, 1)
        for mode, fill in [("random", "silence"), ("scattered", "silence"), ("end", "noise")]
    ]
    assert [edit.seed for edit in drawn] == ["1"] * 3


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: edits.mask(101), "percent=101 is not a share of a clip; give a number from 0 to 100"),
        (lambda: edits.mask(-0.5), "percent=-0.5 is not a share"),
        (lambda: edits.mask(float("nan")), "percent=nan is not a finite number"),
        (lambda: edits.mask("lots"), "percent=lots is not a finite number"),
        (lambda: edits.mask(None), "percent=None is not a finite number"),
        (lambda: edits.mask(10**400), "percent=1000000000.* is not a finite number"),
        (lambda: edits.mask(20, "middle"), "no mode of a mask is named 'middle'; there are random, start"),
        (lambda: edits.mask(20, fill="beep"), "no fill of a mask is named 'beep'; there are silence, noise"),
        (lambda: heard(Edit("mask", 1, (("percent", "20"), ("mode", "random")))), "no fill of a mask is named None"),
        (lambda: heard(Edit("mask", 1, (("mode", "end"), ("fill", "noise")))), "the parameter percent=None"),
    ],
)
def test_a_mask_that_is_none_is_refused_with_those_that_are(make, said):
    with pytest.raises(UsageError, match=said):
        make()
