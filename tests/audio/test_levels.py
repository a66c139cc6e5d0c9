"""Levels are what was asked for: ratios within 0.05 dB, peaks and root mean squares as each definition says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_audiobench.audio import combining, edits, signals, synthesis
from pytest_audiobench.audio.clip import ArraySource, Clip, Edit, SynthesisSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.errors import AudioError, UsageError

rates_hz = st.sampled_from([8_000, 11_025, 16_000, 22_050, 44_100, 48_000])
decibels = st.floats(-40, 60)
seeds = st.integers(0, 2**40)


def test_noise_is_that_of_a_stream_of_its_own_whatever_was_drawn_before_and_beside_it() -> None:
    def draw(number: int) -> bytes:
        return signals.gaussian(1001, "noise", number % 7).tobytes()  # odd: the stream keeps half a pair of numbers

    own = [signals.stream("noise", number).standard_normal(1001).tobytes() for number in range(7)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(draw, range(140))) == own * 20


@st.composite
def waves(draw: st.DrawFn, pauses: tuple[int, ...] = (0, 0, 1, 500, 20_000), fewest: int = 2) -> np.ndarray:
    """Sounds that a corpus may hold: any length and level, with silence before, a constant part, clipped."""
    frames, before = draw(st.integers(fewest, 6000)), draw(st.sampled_from(pauses))
    hiss = np.random.RandomState(draw(st.integers(0, 99))).standard_normal(frames)
    sound = draw(st.floats(1e-4, 0.5)) * hiss + draw(st.sampled_from([0.0, 0.0, 0.3, -0.9]))
    wave = np.concatenate([np.zeros(before), np.clip(sound, -1, 1)]).astype(np.float32)
    assume(signals.rms(wave) > 1e-6)
    return wave


def clip_of(wave: np.ndarray, rate_hz: int = 16_000) -> Clip:
    return Clip(ArraySource.of(wave, rate_hz))


def heard(clip: Clip, rate_hz: int = 16_000) -> np.ndarray:
    return decode(clip, rate_hz, None).samples.astype(np.float64)


def measured_snr_db(wave: np.ndarray, noisy: np.ndarray, added: np.ndarray) -> float:
    """The ratio of the two parts of which ``noisy`` is made, by least squares."""
    parts = np.stack([wave / signals.rms(wave), added / signals.rms(added)], axis=1)
    (own, other), *_ = np.linalg.lstsq(parts, noisy, rcond=None)
    return float(20 * np.log10(own / other))


@pytest.mark.parametrize("edit", [edits.white_noise, edits.pink_noise, edits.cafe_noise])
@given(wave=waves(fewest=50), rate_hz=rates_hz, snr_db=decibels, seed=seeds)
def test_noise_is_at_the_ratio_asked_for(edit, wave: np.ndarray, rate_hz: int, snr_db: float, seed: int) -> None:  # type: ignore[no-untyped-def]
    """The noise itself comes of the same seed and length beneath a clip so soft that nothing else is left."""
    noisy = heard(clip_of(wave, rate_hz).edited(edit(snr_db, seed)), rate_hz)
    faint = np.zeros(len(wave), np.float32)
    faint[0] = 1e-3
    added = heard(clip_of(faint, rate_hz).edited(edit(-100, seed)), rate_hz)
    assert measured_snr_db(wave, noisy, added) == pytest.approx(snr_db, abs=0.05)
    assert np.max(np.abs(noisy)) <= 1


@given(wave=waves(fewest=50), under=waves(pauses=(0,), fewest=50), snr_db=decibels, seed=st.none() | seeds)
def test_recorded_noise_is_at_the_ratio_asked_for(
    wave: np.ndarray, under: np.ndarray, snr_db: float, seed: int | None
) -> None:
    noisy = heard(combining.with_noise(clip_of(wave), clip_of(under), snr_db, seed))
    faint = np.zeros(len(wave), np.float32)
    faint[0] = 1e-3
    added = heard(combining.with_noise(clip_of(faint), clip_of(under), -100, seed))
    assume(abs(np.dot(wave, added)) < 0.99 * np.linalg.norm(wave) * np.linalg.norm(added))  # else none can tell them
    assert measured_snr_db(wave, noisy, added) == pytest.approx(snr_db, abs=0.05)


@given(waves=st.lists(waves(), min_size=1, max_size=4), data=st.data())
def test_a_mixture_is_the_published_mixers(waves: list[np.ndarray], data: st.DataObject) -> None:
    """The steps of audiobench's mixer one by one, in float64: make as long, peak 0.95, match RMS, add, peak 0.95."""
    levels_db = [0.0] + [data.draw(st.floats(-20, 20)) for _ in waves[1:]]
    length = data.draw(st.sampled_from(["longest", "shortest"]))
    frames = (max if length == "longest" else min)(len(wave) for wave in waves)
    as_long = [np.pad(wave[:frames].astype(np.float64), (0, max(0, frames - len(wave)))) for wave in waves]
    assume(all(signals.rms(wave) > 1e-6 for wave in as_long))
    peaked = [0.95 * wave / np.max(np.abs(wave)) for wave in as_long]
    target = signals.rms(peaked[0])
    total = sum(wave / signals.rms(wave) * target * 10 ** (db / 20) for wave, db in zip(peaked, levels_db, strict=True))
    assume(np.max(np.abs(total)) > 1e-3)
    expected = 0.95 * total / np.max(np.abs(total))
    mixed = heard(combining.mixture([clip_of(wave) for wave in waves], levels_db, length=length))
    assert np.allclose(mixed, expected, atol=1e-6)
    assert np.max(np.abs(mixed)) == pytest.approx(0.95, abs=1e-6)


@given(wave=waves(), response=waves())
def test_a_room_keeps_length_and_level_and_makes_nothing_later(wave: np.ndarray, response: np.ndarray) -> None:
    direct = int(np.argmax(np.abs(response)))
    whole = np.convolve(wave.astype(np.float64), response.astype(np.float64))[direct : direct + len(wave)]
    assume(signals.rms(whole) > 1e-9)
    expected = whole * signals.rms(wave) / signals.rms(whole)
    found = heard(combining.in_room(clip_of(wave), clip_of(response)))
    assert np.allclose(found, expected * min(1, signals.FULL_SCALE / np.max(np.abs(expected))), atol=1e-5)


@given(wave=waves(), rate_hz=rates_hz, seed=seeds, wet=st.floats(0, 1))
def test_reverberation_keeps_length_and_level(wave: np.ndarray, rate_hz: int, seed: int, wet: float) -> None:
    found = heard(clip_of(wave, rate_hz).edited(edits.reverb(seed, wet)), rate_hz)
    assert len(found) == len(wave)
    kept = signals.rms(found) / signals.rms(wave)
    assert kept == pytest.approx(1, abs=1e-5) or (kept < 1 and np.max(np.abs(found)) == pytest.approx(1, abs=1e-4))


@given(wave=waves(), db=st.floats(0, 60))
def test_clipping_is_so_far_below_the_peak(wave: np.ndarray, db: float) -> None:
    found, most = heard(clip_of(wave).edited(edits.clipping(db))), np.max(np.abs(wave)) * 10 ** (-db / 20)
    assert np.max(np.abs(found)) == pytest.approx(most, rel=1e-6)
    assert np.array_equal(found[np.abs(wave) < most], wave[np.abs(wave) < most])


@pytest.mark.parametrize(
    "recipe",
    [synthesis.silence_floor, synthesis.room_tone, synthesis.hum, synthesis.cafe, synthesis.music_bed],
)
@given(duration_s=st.floats(0.05, 2), rate_hz=rates_hz, level_db=st.floats(-80, -6), seed=seeds)
def test_a_scene_has_the_level_asked_for(recipe, duration_s: float, rate_hz: int, level_db: float, seed: int) -> None:  # type: ignore[no-untyped-def]
    made: SynthesisSource = recipe(duration_s, seed, level_db)
    samples = synthesis.render(made, rate_hz)
    assert len(samples) == round(duration_s * rate_hz)
    assert 20 * np.log10(signals.rms(samples)) == pytest.approx(level_db, abs=0.001)


@given(duration_s=st.floats(0.01, 3), rate_hz=rates_hz, level_db=st.floats(-60, 0), seed=seeds)
def test_events_have_the_peak_asked_for(duration_s: float, rate_hz: int, level_db: float, seed: int) -> None:
    samples = synthesis.render(synthesis.events(duration_s, seed, level_db), rate_hz)
    assert 20 * np.log10(np.max(np.abs(samples))) == pytest.approx(level_db, abs=0.001)


@given(st.lists(waves(), min_size=2, max_size=4), seeds)
def test_babble_has_its_level_and_gives_every_voice_the_same(waves: list[np.ndarray], seed: int) -> None:
    found = heard(combining.babble([clip_of(wave) for wave in waves], seed))
    assert len(found) == max(len(wave) for wave in waves)
    assert signals.rms(found) == pytest.approx(0.05, abs=1e-6) or np.max(np.abs(found)) > 0.999


@given(clip=waves(), by=waves(), gap_s=st.floats(0, 0.5), level_db=st.floats(-40, 40))
def test_what_precedes_a_clip_has_its_level_and_leaves_the_clip_as_it_is(
    clip: np.ndarray, by: np.ndarray, gap_s: float, level_db: float
) -> None:
    found = heard(combining.preceded(clip_of(clip), clip_of(by), gap_s, level_db))
    pause = round(16_000 * gap_s)
    first, gap, second = np.split(found, [len(by), len(by) + pause])
    assert (len(gap), len(second)) == (pause, len(clip))
    assert not gap.any()
    assert np.max(np.abs(found)) <= 1
    softer = signals.rms(second) / signals.rms(clip)
    assert softer <= 1 + 1e-6
    assert np.allclose(second, clip * softer, atol=1e-6)
    expected_db = 20 * np.log10(signals.rms(second)) + level_db
    assert 20 * np.log10(signals.rms(first)) == pytest.approx(expected_db, abs=0.01)
    assert softer == pytest.approx(1, abs=1e-4) or np.max(np.abs(found)) > 0.999


@given(clip=waves(), by=waves(), level_db=st.floats(-40, 40))
def test_what_lies_over_a_clip_has_its_level_while_it_lasts(clip: np.ndarray, by: np.ndarray, level_db: float) -> None:
    found = heard(combining.overlaid(clip_of(clip), clip_of(by), level_db))
    assert len(found) == max(len(clip), len(by))
    total = np.zeros(len(found))
    total[: len(clip)] += clip
    total[: len(by)] += by * (signals.rms(clip) / signals.rms(by) * 10 ** (level_db / 20))
    assert np.allclose(found, total * min(1, signals.FULL_SCALE / np.max(np.abs(total), initial=1e-9)), atol=1e-6)


def test_no_two_seeds_give_one_excerpt_or_one_room() -> None:
    tone, long = clip_of(np.ones(100, np.float32)), clip_of(np.sin(np.arange(50_000) ** 1.5).astype(np.float32))
    excerpts = [heard(combining.with_noise(tone, long, 0, seed)) for seed in range(5)]
    rooms = [heard(long.edited(edits.reverb(seed))) for seed in range(5)]
    for found in (excerpts, rooms):
        assert len({sound.tobytes() for sound in found}) == 5


SILENT, LOUD = clip_of(np.zeros(800, np.float32)), clip_of(np.ones(800, np.float32))


@pytest.mark.parametrize(
    ("clip", "said"),
    [
        (combining.mixture([SILENT], [0]), "it is mixed at a ratio of levels, and its one clip is silent"),
        (combining.mixture([LOUD, SILENT], [0, 0]), "clip 2 of 2 is silent"),
        (combining.mixture([LOUD, clip_of(-np.ones(800, np.float32))], [0, 0]), "cancel one another"),
        (combining.mixture([LOUD, clip_of(np.zeros(0, np.float32))], [0, 0]), "zero frames"),
        (combining.mixture([LOUD], [100_000]), "not a number"),
        (combining.with_noise(SILENT, LOUD, 0), "the clip is silent"),
        (combining.with_noise(LOUD, SILENT, 0), "the noise is silent"),
        (combining.with_noise(LOUD, LOUD, -100_000), "not a number"),
        (combining.in_room(LOUD, SILENT), "the response of the room is silent"),
        (combining.babble([LOUD, SILENT]), "clip 2 of 2 is silent"),
        (combining.preceded(SILENT, LOUD), "clip 1 of 2 is silent"),
        (combining.overlaid(LOUD, SILENT), "clip 2 of 2 is silent"),
        (combining.preceded(LOUD, LOUD, 0, 100_000), "not a number"),
        (SILENT.edited(edits.pink_noise(0, 1)), "the clip is silent"),
    ],
)
def test_what_has_no_level_is_one_sentence(clip: Clip, said: str) -> None:
    with pytest.raises(AudioError, match=said) as caught:
        heard(clip)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("edit", [edits.band_limit(3400), edits.reverb(1), edits.clipping(6), edits.codec("ulaw")])
def test_silence_stays_silence(edit: Edit) -> None:
    assert np.max(np.abs(heard(SILENT.edited(edit)))) < 1e-3


def test_a_silent_clip_in_a_room_stays_silent() -> None:
    assert not heard(combining.in_room(SILENT, LOUD)).any()


@pytest.mark.parametrize(
    "mistake",
    [
        lambda: combining.mixture([], []),
        lambda: combining.mixture([LOUD], [0, 1]),
        lambda: combining.mixture([LOUD], [float("nan")]),
        lambda: combining.mixture([LOUD], [0], length="middle"),  # type: ignore[arg-type]
        lambda: combining.mixture([LOUD] * 101, [0] * 101),
        lambda: combining.mixture([LOUD], [0], rate_hz=0),
        lambda: combining.babble([LOUD]),
        lambda: combining.preceded(LOUD, LOUD, -0.1),
        lambda: combining.preceded(LOUD, LOUD, 61),
        lambda: combining.overlaid(LOUD, LOUD, float("nan")),
        lambda: combining.with_noise(LOUD, LOUD, float("inf")),
        lambda: edits.reverb(1, wet=1.5),
        lambda: edits.reverb(1, length_s=0),
        lambda: edits.codec("aac"),
        lambda: edits.clipping(-1),
        lambda: edits.band_limit(0),
        lambda: synthesis.cafe(10**6, 1),
    ],
)
def test_a_mistake_is_told_when_the_clip_is_made(mistake) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UsageError) as caught:
        mistake()
    assert "\n" not in str(caught.value)
