"""What sound passes on its way: bands, rooms, codecs."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_audiobench.audio import edits, signals
from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.edits import codecs
from pytest_audiobench.audio.signals import convolved, gaussian


def heard(wave: np.ndarray, rate_hz: int, edit: edits.Edit) -> np.ndarray:
    return decode(Clip(ArraySource.of(wave, rate_hz)).edited(edit), rate_hz, None).samples


def tone(frequency_hz: float, rate_hz: int) -> np.ndarray:
    return (0.5 * np.sin(2 * np.pi * frequency_hz * np.arange(rate_hz) / rate_hz)).astype(np.float32)


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 44_100])
@pytest.mark.parametrize(
    ("frequency_hz", "lost_db"), [(300, 0.0), (1700, 0.017), (3400, 3.01), (3900, 29.5)]
)  # 3900 Hz: 6.0 dB by Butterworth, 23.5 by the cosine
def test_a_band_limit_loses_what_its_formula_says(rate_hz: int, frequency_hz: float, lost_db: float) -> None:
    found = heard(tone(frequency_hz, rate_hz), rate_hz, edits.band_limit(3400))[1000:-1000]
    assert -20 * np.log10(signals.rms(found) * np.sqrt(8)) == pytest.approx(lost_db, abs=0.1)


def test_a_band_limit_leaves_nothing_above_its_edge_and_delays_nothing() -> None:
    hiss = gaussian(16_000, "hiss").astype(np.float32) * 0.1
    found = heard(hiss, 16_000, edits.band_limit(3400))
    spectrum = np.abs(np.fft.rfft(found * np.hanning(len(found))))
    assert spectrum[4100:].max() < 1e-3 * spectrum[:3000].mean()
    assert delay(hiss, found) == 0


def delay(before: np.ndarray, after: np.ndarray) -> int:
    """By how many frames ``after`` is later, where the two are most alike."""
    size = 2 * len(before)
    alike = np.fft.irfft(np.conj(np.fft.rfft(before, size)) * np.fft.rfft(after, size), size)
    lag = int(np.argmax(alike))
    return lag if lag < size // 2 else lag - size


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 22_050, 48_000])
@pytest.mark.parametrize("name", codecs.NAMES)
def test_a_codec_keeps_length_and_time_and_roughly_the_sound(name: str, rate_hz: int) -> None:
    speechlike = edits.band_limit(1500)
    hiss = heard(gaussian(rate_hz + 7, "hiss").astype(np.float32) * 0.1, rate_hz, speechlike)
    found = heard(hiss, rate_hz, edits.codec(name))
    assert len(found) == len(hiss)
    assert abs(delay(hiss, found)) <= 1
    assert np.corrcoef(hiss, found)[0, 1] > 0.85
    assert not np.array_equal(hiss, found)


@pytest.mark.parametrize("name", codecs.NAMES)
@pytest.mark.parametrize("frames", [1, 2, 160, 70_001])
def test_a_codec_takes_clips_of_any_length(name: str, frames: int) -> None:
    assert len(heard(np.full(frames, 0.25, np.float32), 8_000, edits.codec(name))) == frames


@pytest.mark.parametrize("name", codecs.NAMES)
def test_a_codec_clips_what_is_beyond_full_scale(name: str) -> None:
    assert np.max(np.abs(heard(4 * tone(200, 8_000), 8_000, edits.codec(name)))) < 2


def test_a_room_is_its_echoes_whatever_the_blocks_it_is_reckoned_in() -> None:
    response, wave = gaussian(700, "response"), gaussian(600_000, "wave")
    found = convolved(wave, response)
    assert len(found) == len(wave) + len(response) - 1
    for start in (0, 262_000, 524_000, len(found) - 2000):
        cut = wave[max(0, start - 699) : start + 1000]
        expected = np.convolve(cut, response)[min(start, 699) :][:1000]
        assert np.allclose(found[start : start + 1000], expected)
