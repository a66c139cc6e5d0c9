"""Edits: each does what its name says, and a clip's key knows every one of its parameters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.audio import edits, signals
from pytest_audiobench.audio.clip import ArraySource, Clip, Edit
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.edits import codecs
from pytest_audiobench.errors import AudioError, UsageError

RATE_HZ = 8_000
WAVE = (0.5 * np.sin(2 * np.pi * 440 * np.arange(2 * RATE_HZ) / RATE_HZ)).astype(np.float32)
CLIP = Clip(ArraySource.of(WAVE, RATE_HZ))


def heard(*chain: Edit) -> np.ndarray:
    return decode(CLIP.edited(*chain), RATE_HZ, None).samples


def test_gain_is_in_decibels_of_amplitude() -> None:
    assert np.allclose(heard(edits.gain(20)), 10 * WAVE)


def test_sixteen_bits_are_steps_of_1_in_32768_up_to_full_scale() -> None:
    held = heard(edits.gain(12), edits.sixteen_bits()) * 32768
    assert np.array_equal(held, np.rint(held))
    assert (held.min(), held.max()) == (-32768, 32767)
    assert np.array_equal(heard(edits.sixteen_bits(), edits.sixteen_bits()), heard(edits.sixteen_bits()))


def test_trim_keeps_the_seconds_named() -> None:
    assert np.array_equal(heard(edits.trim(0.5, 1.25)), WAVE[4000:10_000])


def test_pad_adds_digital_silence() -> None:
    assert np.array_equal(heard(edits.pad(0.25, 0.5)), np.pad(WAVE, (2000, 4000)))


def test_speed_raises_tempo_and_pitch() -> None:
    fast = heard(edits.speed(2))
    assert len(fast) == len(WAVE) // 2
    assert np.argmax(np.abs(np.fft.rfft(fast))) == 880


@given(st.floats(-30, 60), st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_the_noise_of_version_1_is_at_the_ratio_asked_for(snr_db: float, seed: str) -> None:
    edit = Edit("white_noise", 1, (("snr_db", repr(snr_db)),), seed)
    added = heard(edit).astype(np.float64) - WAVE
    assert 20 * np.log10(signals.rms(WAVE) / signals.rms(added)) == pytest.approx(snr_db, abs=0.02)


def test_noise_is_the_same_for_one_seed_and_another_for_another() -> None:
    assert np.array_equal(heard(edits.white_noise(10, 1)), heard(edits.white_noise(10, "1")))
    assert not np.array_equal(heard(edits.white_noise(10, 1)), heard(edits.white_noise(10, 2)))


def test_noise_on_silence_has_no_ratio() -> None:
    with pytest.raises(AudioError, match="the clip is silent"):
        heard(edits.silence(), edits.white_noise(10, 1))


def test_silence_has_the_clips_length() -> None:
    assert np.array_equal(heard(edits.silence()), np.zeros_like(WAVE))


def test_a_trim_beyond_the_end_leaves_no_sound() -> None:
    with pytest.raises(AudioError, match="zero frames"):
        heard(edits.trim(5, 6))


def test_a_gain_beyond_all_numbers_is_refused() -> None:
    with pytest.raises(AudioError, match="infinite"):
        heard(edits.gain(100_000))


def test_an_unknown_edit_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"no edit is named 'thunder' in version 1; there are band_limit version 1, "):
        heard(Edit("thunder", 1))
    with pytest.raises(UsageError, match="'gain' in version 9"):
        heard(Edit("gain", 9, (("db", "3"),)))


@pytest.mark.parametrize("parameters", [(), (("db", "loud"),), (("db", "nan"),)])
def test_an_edit_made_by_hand_with_bad_parameters_is_refused(parameters: tuple[tuple[str, str], ...]) -> None:
    with pytest.raises(UsageError, match="the parameter db="):
        heard(Edit("gain", 1, parameters))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_an_edit_of_no_finite_amount_is_a_mistake(bad: float) -> None:
    with pytest.raises(UsageError, match="not a finite number"):
        edits.gain(bad)


def test_a_trim_that_keeps_nothing_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="keeps nothing"):
        edits.trim(2, 1)


def test_equal_amounts_have_equal_keys_however_they_are_written() -> None:
    assert edits.gain(6) == edits.gain(6.0) == edits.gain(np.float64(6))
    assert edits.gain(0.0) == edits.gain(-0.0)


amounts = st.floats(0.125, 1e6)
chains = st.lists(
    st.one_of(
        st.builds(edits.gain, st.floats(-60, 60)),
        st.builds(lambda start, length: edits.trim(start, start + 1 + length), amounts, amounts),
        st.builds(edits.pad, amounts, amounts),
        st.builds(edits.speed, st.floats(0.25, 4)),
        st.builds(edits.white_noise, st.floats(-30, 60), st.integers()),
        st.builds(edits.pink_noise, st.floats(-30, 60), st.integers()),
        st.builds(edits.cafe_noise, st.floats(-30, 60), st.integers()),
        st.builds(edits.band_limit, st.floats(100, 8000)),
        st.builds(edits.reverb, st.integers(), st.floats(0, 1), st.floats(0.1, 2)),
        st.builds(edits.codec, st.sampled_from(codecs.NAMES)),
        st.builds(edits.clipping, st.floats(0, 60)),
        st.builds(edits.mask, st.floats(0, 100), st.sampled_from(["random", "end"]), st.just("noise"), st.integers()),
        st.builds(edits.fragment, st.sampled_from(["first", "middle", "last"]), amounts),
        st.builds(edits.window, st.sampled_from(["first", "middle", "last"]), amounts, st.just("noise"), st.integers()),
        st.just(edits.silence()),
    ),
    max_size=4,
).map(tuple)


@given(chains, chains)
def test_keys_are_equal_exactly_when_chains_are(first: tuple[Edit, ...], second: tuple[Edit, ...]) -> None:
    digest = CLIP.source.digest  # type: ignore[union-attr]
    assert CLIP.edited(*first).key_from(digest) == CLIP.edited(*tuple(first)).key_from(digest)
    assert (CLIP.edited(*first).key_from(digest) == CLIP.edited(*second).key_from(digest)) == (first == second)


@given(chains.filter(bool), st.data())
def test_a_key_changes_with_any_parameter_seed_version_or_order(chain: tuple[Edit, ...], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(chain) - 1))
    edit = chain[place]
    changed = [
        Edit(edit.name, edit.version, edit.parameters, (edit.seed or "") + "1"),
        Edit(edit.name, edit.version + 1, edit.parameters, edit.seed),
        Edit(edit.name + "2", edit.version, edit.parameters, edit.seed),
    ]
    for name, value in edit.parameters:
        others = tuple((other, text + "1" if other == name else text) for other, text in edit.parameters)
        assert (name, value) not in others
        changed.append(Edit(edit.name, edit.version, others, edit.seed))
    keys = {CLIP.edited(*chain[:place], other, *chain[place + 1 :]).key_from("0" * 64) for other in [edit, *changed]}
    assert len(keys) == len(changed) + 1


LOOKS_AT_ALL = {
    *("white_noise", "pink_noise", "cafe_noise", "band_limit", "reverb", "codec", "clipping", "mask"),
    *("fragment", "window"),
}


def test_noise_on_the_beginning_of_a_clip_reads_no_more_than_that() -> None:
    assert edits.reach_s((edits.trim(1, 5), edits.white_noise(0, 1)), 2.0) == 5.0
    assert edits.reach_s((edits.white_noise(0, 1), edits.trim(1, 5)), 2.0) is None


@given(chains, st.floats(0.01, 1e4))
def test_lengths_and_reaches_agree(chain: tuple[Edit, ...], window_s: float) -> None:
    """What a window depends on is enough sound to fill it, or the edits shorten what is there."""
    reach_s = edits.reach_s(chain, window_s)
    if reach_s is None:
        assert any(edit.name in LOOKS_AT_ALL for edit in chain)
    else:
        of_an_endless_source = edits.length_s(chain, 1e9)
        assert edits.length_s(chain, reach_s) >= min(window_s, of_an_endless_source) * (1 - 1e-9) - 1e-6


@pytest.mark.parametrize("chain", [[edits.pad(1e9, 0)], [edits.speed(0.1)] * 9])
def test_an_edit_that_would_fill_the_memory_is_refused_before_it_is_made(chain: list[Edit]) -> None:
    with pytest.raises(AudioError, match=r"would make .* s of it, more than fits in memory; give it less"):
        heard(*chain)
