"""An excerpt of a long recording is what a trim of the whole gives, and is read alone where nothing changes by it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.audio import edits
from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.errors import AudioError

RATE_HZ = 16_000
LENGTH_S = 12.0
KINDS = {
    "pcm.wav": {"subtype": "PCM_16"},
    "float.wav": {"subtype": "FLOAT"},
    "pcm.flac": {"subtype": "PCM_16"},
    "deep.aiff": {"subtype": "PCM_24"},
    "vorbis.ogg": {"subtype": "VORBIS"},
    "opus.ogg": {"subtype": "OPUS"},
    "layer3.mp3": {},
    "gsm.wav": {"subtype": "GSM610", "rate": 8_000},
    "adpcm.wav": {"subtype": "IMA_ADPCM"},
}
ENTERED = ("pcm.wav", "float.wav", "pcm.flac", "deep.aiff", "vorbis.ogg")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> DataRoot:
    folder = tmp_path_factory.mktemp("recordings")
    random = np.random.default_rng(1)
    for name, how in KINDS.items():
        rate_hz = int(how.get("rate", RATE_HZ))
        wave = 0.1 * random.standard_normal((round(LENGTH_S * rate_hz), 1 if "gsm" in name else 2))
        soundfile.write(folder / name, wave, rate_hz, subtype=how.get("subtype"))
    return DataRoot("recordings", folder)


def whole_then_trimmed(root: DataRoot, name: str, start_s: float, end_s: float) -> np.ndarray:
    """By libsndfile and arithmetic alone."""
    wave, rate_hz = soundfile.read(root.folder / name, dtype="float32", always_2d=True)
    return wave.mean(axis=1)[round(start_s * rate_hz) : round(end_s * rate_hz)]


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=8)
@given(st.floats(0, 11), st.floats(0.01, 3))
def test_an_excerpt_is_what_a_trim_of_the_whole_gives(
    root: DataRoot, name: str, start_s: float, length_s: float
) -> None:
    clip = Clip(FileSource(root, name)).edited(edits.trim(start_s, start_s + length_s))
    rate_hz = soundfile.info(root.folder / name).samplerate
    heard = decode(clip, rate_hz, None)
    assert np.allclose(heard.samples, whole_then_trimmed(root, name, start_s, start_s + length_s), atol=1e-6)
    assert heard.frames == soundfile.info(root.folder / name).frames


@pytest.mark.parametrize("name", ENTERED)
def test_only_the_excerpt_is_read_where_a_format_can_be_entered(root: DataRoot, name: str) -> None:
    clip = Clip(FileSource(root, name))
    assert len(decode(clip.edited(edits.trim(10, 11)), RATE_HZ, None, most_values=3 * RATE_HZ).samples) == RATE_HZ
    with pytest.raises(AudioError, match="more than may be read here"):
        decode(clip, RATE_HZ, None, most_values=3 * RATE_HZ)


def test_a_window_is_read_of_an_excerpt_and_no_more(root: DataRoot) -> None:
    clip = Clip(FileSource(root, "pcm.wav")).edited(edits.trim(1, 11))
    heard = decode(clip, RATE_HZ, 0.5, most_values=2 * RATE_HZ)
    assert np.allclose(heard.samples, whole_then_trimmed(root, "pcm.wav", 1, 1.5), atol=1e-6)
    assert heard.truncated_s == pytest.approx(9.5)


def test_later_edits_are_made_of_the_excerpt(root: DataRoot) -> None:
    clip = Clip(FileSource(root, "pcm.flac")).edited(edits.trim(2, 4), edits.gain(-6), edits.trim(0.5, 1))
    softer = np.float32(10 ** (-6 / 20)) * whole_then_trimmed(root, "pcm.flac", 2.5, 3)
    assert np.allclose(decode(clip, RATE_HZ, None).samples, softer, atol=1e-6)


def test_an_excerpt_beyond_the_end_is_no_sound(root: DataRoot) -> None:
    clip = Clip(FileSource(root, "pcm.wav"))
    with pytest.raises(AudioError, match="no sound in it"):
        decode(clip.edited(edits.trim(LENGTH_S + 1, LENGTH_S + 2)), RATE_HZ, None)
    assert len(decode(clip.edited(edits.trim(LENGTH_S - 1, LENGTH_S + 2)), RATE_HZ, None).samples) == RATE_HZ


@pytest.mark.parametrize("name", ["pcm.wav", "pcm.flac"])
def test_an_excerpt_of_a_file_that_is_cut_off_is_an_error(root: DataRoot, tmp_path: Path, name: str) -> None:
    data = (root.folder / name).read_bytes()
    (tmp_path / name).write_bytes(data[: len(data) // 2])
    clip = Clip(FileSource(DataRoot("cut", tmp_path), name)).edited(edits.trim(10, 11))
    with pytest.raises(AudioError, match="fetch it again"):
        decode(clip, RATE_HZ, None)
