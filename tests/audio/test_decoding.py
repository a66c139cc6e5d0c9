"""What a model is played: any format as mono float32 at the model's rate, no more of it than is needed."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio import edits
from pytest_audiobench.audio.clip import ArraySource, Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode, decoder

RATE_HZ = 16_000


def clip_of(file: Path) -> Clip:
    return Clip(FileSource(DataRoot("mine", file.parent), file.name))


def sine(rate_hz: int, duration_s: float = 1.0, frequency_hz: float = 440.0) -> np.ndarray:
    return (0.5 * np.sin(2 * np.pi * frequency_hz * np.arange(round(duration_s * rate_hz)) / rate_hz)).astype(
        np.float32
    )


def loudest_hz(samples: np.ndarray, rate_hz: int) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(np.argmax(spectrum) * rate_hz / len(samples))


@pytest.mark.parametrize(
    ("name", "subtype"),
    [
        ("a.wav", "PCM_U8"),
        ("a.wav", "PCM_16"),
        ("a.wav", "PCM_24"),
        ("a.wav", "PCM_32"),
        ("a.wav", "FLOAT"),
        ("a.wav", "DOUBLE"),
        ("a.wav", "ULAW"),
        ("a.flac", "PCM_16"),
        ("a.flac", "PCM_24"),
        ("a.ogg", "VORBIS"),
        ("a.mp3", "MPEG_LAYER_III"),
        ("a.aiff", "PCM_16"),
    ],
)
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("rate_hz", [8_000, 44_100])
def test_usual_formats_sound_as_written(tmp_path: Path, name: str, subtype: str, channels: int, rate_hz: int) -> None:
    wave = sine(rate_hz)
    soundfile.write(tmp_path / name, np.stack([wave] * channels, axis=1), rate_hz, subtype=subtype)
    heard = decode(clip_of(tmp_path / name), RATE_HZ, None)
    assert heard.samples.dtype == np.float32
    assert heard.samples.shape == (RATE_HZ,)
    assert (heard.frames, heard.source_rate_hz, heard.rate_hz) == (rate_hz, rate_hz, RATE_HZ)
    assert loudest_hz(heard.samples, RATE_HZ) == pytest.approx(440, abs=2)
    assert np.sqrt(np.mean(heard.samples**2)) == pytest.approx(0.5 / np.sqrt(2), rel=0.05)


def test_96_khz_stereo_24_bit_flac(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.flac", np.stack([sine(96_000)] * 2, axis=1), 96_000, subtype="PCM_24")
    heard = decode(clip_of(tmp_path / "a.flac"), RATE_HZ, None)
    assert np.allclose(heard.samples[100:-100], sine(RATE_HZ)[100:-100], atol=1e-3)


def test_channels_are_averaged(tmp_path: Path) -> None:
    left, right = np.full(RATE_HZ, 0.5, np.float32), np.full(RATE_HZ, -0.25, np.float32)
    soundfile.write(tmp_path / "a.wav", np.stack([left, right], axis=1), RATE_HZ, subtype="FLOAT")
    assert np.array_equal(
        decode(clip_of(tmp_path / "a.wav"), RATE_HZ, None).samples, np.full(RATE_HZ, 0.125, np.float32)
    )


def test_the_pcm_digest_is_of_the_samples_played(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", sine(44_100), 44_100)
    first, second = (decode(clip_of(tmp_path / "a.wav"), RATE_HZ, 0.5) for _ in range(2))
    assert first.pcm_digest == second.pcm_digest == hashlib.sha256(first.samples.astype("<f4").tobytes()).hexdigest()
    assert first.decoder == decoder()
    assert "libsndfile" in first.decoder


def test_a_window_cuts_the_end_and_says_how_much(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", sine(44_100, 3.0), 44_100)
    heard = decode(clip_of(tmp_path / "a.wav"), RATE_HZ, 1.0)
    assert heard.duration_s == 1.0
    assert heard.truncated_s == pytest.approx(2.0)
    assert heard.frames == 3 * 44_100


def test_a_clip_that_fits_its_window_is_not_truncated(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", sine(44_100), 44_100)
    heard = decode(clip_of(tmp_path / "a.wav"), RATE_HZ, 1.0)
    assert (heard.duration_s, heard.truncated_s) == (1.0, 0.0)


@pytest.mark.parametrize(
    "edit",
    [
        edits.gain(-6),
        edits.trim(0.25, 2.5),
        edits.pad(0.3, 1),
        edits.speed(1.25),
        edits.white_noise(10, "a"),
        edits.cafe_noise(10, "a"),
        edits.band_limit(3400),
        edits.reverb("a"),
        edits.codec("mp3"),
        edits.clipping(6),
        edits.silence(),
    ],
    ids=lambda edit: edit.name,
)
def test_a_window_hears_the_beginning_of_what_the_whole_would_be(tmp_path: Path, edit: edits.Edit) -> None:
    wave = sine(44_100, 4.0) * np.linspace(0.1, 1, 4 * 44_100, dtype=np.float32)
    soundfile.write(tmp_path / "a.flac", wave, 44_100)
    clip = clip_of(tmp_path / "a.flac").edited(edit)
    whole, window = decode(clip, RATE_HZ, None), decode(clip, RATE_HZ, 1.0)
    assert np.allclose(window.samples, whole.samples[:RATE_HZ], atol=1e-4)
    assert window.truncated_s == pytest.approx(whole.duration_s - 1.0, abs=1e-3)


# A child's ru_maxrss starts at its parent's, which may have loaded torch; VmHWM is the child's own.
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to read a process's peak memory")
def test_two_hours_against_a_window_read_only_the_window(tmp_path: Path) -> None:
    """44.1 kHz stereo: decoded whole it would be 2.5 GB. The file is a header and a hole."""
    data_bytes = 7200 * 44_100 * 2 * 2
    soundfile.write(tmp_path / "long.wav", np.ones((1, 2)), 44_100)
    header = bytearray((tmp_path / "long.wav").read_bytes()[:44])
    header[4:8], header[40:44] = (data_bytes + 36).to_bytes(4, "little"), data_bytes.to_bytes(4, "little")
    (tmp_path / "long.wav").write_bytes(header)
    os.truncate(tmp_path / "long.wav", 44 + data_bytes)
    script = (
        "import sys; from pathlib import Path\n"
        "from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource\n"
        "from pytest_audiobench.audio.decode import decode\n"
        "clip = Clip(FileSource(DataRoot('mine', Path(sys.argv[1])), 'long.wav'))\n"
        "heard = decode(clip, 16_000, 30.0)\n"
        "status = Path('/proc/self/status').read_text().split()\n"
        "print(heard.duration_s, heard.truncated_s, status[status.index('VmHWM:') + 1])\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    duration_s, truncated_s, peak_kib = (float(word) for word in ran.stdout.split())
    assert (duration_s, truncated_s) == (30.0, 7170.0)
    assert peak_kib * 1024 < 200e6


def test_an_array_is_played_as_given_and_cannot_be_changed_by_a_listener() -> None:
    clip = Clip(ArraySource.of(sine(RATE_HZ), RATE_HZ))
    decode(clip, RATE_HZ, None).samples[:] = 0
    assert np.array_equal(decode(clip, RATE_HZ, None).samples, sine(RATE_HZ))


def test_edits_are_applied_in_order(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", sine(RATE_HZ, 2.0), RATE_HZ, subtype="FLOAT")
    clip = clip_of(tmp_path / "a.wav")
    padded_first = decode(clip.edited(edits.pad(1, 0), edits.trim(0, 1)), RATE_HZ, None)
    trimmed_first = decode(clip.edited(edits.trim(0, 1), edits.pad(1, 0)), RATE_HZ, None)
    assert not padded_first.samples.any()
    assert trimmed_first.duration_s == 2.0
    assert np.array_equal(trimmed_first.samples[RATE_HZ:], sine(RATE_HZ, 1.0))


@pytest.mark.parametrize("frames", [1, 174_762, 174_763, 400_000])
@pytest.mark.parametrize("ending", ["wav", "flac"])
def test_three_channels_are_averaged_as_a_whole_however_many_blocks_are_read(
    tmp_path: Path, frames: int, ending: str
) -> None:
    samples = np.random.default_rng(frames).integers(-32768, 32768, (frames, 3), np.int16)
    soundfile.write(tmp_path / f"three.{ending}", samples, RATE_HZ)
    first, second, third = (samples / 32768).astype(np.float32).T
    heard = decode(clip_of(tmp_path / f"three.{ending}"), RATE_HZ, None)
    assert heard.samples.tobytes() == ((first + second + third) / np.float32(3)).tobytes()
