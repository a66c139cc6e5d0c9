"""A file's bytes in memory are heard exactly as the file is."""

import struct

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode, decode_bytes
from pytest_audiobench.audio.wav import plain_wav
from pytest_audiobench.errors import AudioError

FORMATS = [
    ("WAV", "PCM_16", 1),
    ("WAV", "PCM_16", 2),
    ("WAV", "PCM_24", 1),
    ("WAV", "FLOAT", 1),
    ("FLAC", "PCM_16", 1),
    ("OGG", "VORBIS", 1),
    ("MP3", "MPEG_LAYER_III", 1),
]


@pytest.mark.parametrize(("kind", "subtype", "channels"), FORMATS)
@pytest.mark.parametrize("window_s", [None, 0.5, 5.0])
@pytest.mark.parametrize("rate_hz", [16_000, 44_100])
def test_bytes_are_heard_as_the_file(tmp_path, kind, subtype, channels, window_s, rate_hz):
    wave = np.random.default_rng(0).uniform(-1, 1, (rate_hz, channels))
    name = f"clip.{kind.lower()}"
    soundfile.write(tmp_path / name, wave, rate_hz, format=kind, subtype=subtype)
    from_file = decode(Clip(FileSource(DataRoot("here", tmp_path), name)), 16_000, window_s)
    from_bytes = decode_bytes("clip", (tmp_path / name).read_bytes(), 16_000, window_s)
    assert np.array_equal(from_bytes.samples, from_file.samples)
    assert from_bytes.pcm_digest == from_file.pcm_digest
    assert (from_bytes.frames, from_bytes.truncated_s) == (from_file.frames, from_file.truncated_s)


def _wav(tmp_path, frames=100):
    integers = np.arange(-frames // 2, frames // 2, dtype=np.int16) * 300
    soundfile.write(tmp_path / "a.wav", integers, 16_000)
    return bytearray((tmp_path / "a.wav").read_bytes())


def test_the_commonest_wav_needs_no_libsndfile(tmp_path):
    data = bytes(_wav(tmp_path))
    expected, _ = soundfile.read(tmp_path / "a.wav", dtype="float32")
    plain = plain_wav(data)
    assert np.array_equal(plain.samples(plain.frames), expected)


@pytest.mark.parametrize("change", ["rate 0", "rate 1", "rate 768000", "long", "short", "stereo", "float", "odd"])
def test_a_wav_that_is_not_quite_that_is_left_to_libsndfile(tmp_path, change):
    data = _wav(tmp_path)
    if change.startswith("rate"):
        data[24:28] = struct.pack("<I", int(change.split()[1]))
        with pytest.raises(AudioError, match=r"rate|not audio"):
            decode_bytes("clip", bytes(data), 16_000, None)
        return
    if change == "long":
        data += b"\0\0"
    elif change == "short":
        del data[-2:]
    elif change == "odd":
        data += b"\0"
    else:
        data[22 if change == "stereo" else 20] = 2 if change == "stereo" else 3
    assert plain_wav(bytes(data)) is None


@pytest.mark.parametrize("data", [b"", b"RIFF", b"no sound", bytes(100)])
def test_bytes_that_are_no_audio_are_refused_by_name(data):
    with pytest.raises(AudioError, match="clip 7: not audio"):
        decode_bytes("clip 7", data, 16_000, None)
