"""Long recordings are played in little memory, and are the same bytes as if they had been in memory whole."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr

from pytest_audiobench.audio import combining, edits
from pytest_audiobench.audio.clip import ArraySource, Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode, decode_bytes
from pytest_audiobench.audio.long_sound import DECODED_BYTES, LONG_FRAMES, Room, pieces, spooled
from pytest_audiobench.errors import AudioError

RATE_HZ = 48_000
LENGTH_S = 200
"""More than is decoded in memory at once."""
needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs /proc to read a process's peak memory"
)


def write_recording(path: Path, length_s: int) -> None:
    """Ten seconds of tones in each minute, of a frequency that tells which minute it is, and silence otherwise."""
    silence = np.zeros((50 * RATE_HZ, 2), np.int16)
    with soundfile.SoundFile(path, "w", RATE_HZ, 2, "PCM_16") as file:
        for start_s in range(0, length_s, 60):
            turns = 2 * np.pi * (100 + start_s % 3600 // 6) * np.arange(10 * RATE_HZ) / RATE_HZ
            file.write(np.outer(np.sin(turns), [12_000, 6_000]).astype(np.int16))
            file.write(silence[: (length_s - start_s - 10) * RATE_HZ])


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> DataRoot:
    folder = tmp_path_factory.mktemp("long")
    write_recording(folder / "long.flac", LENGTH_S)
    return DataRoot("long", folder)


@pytest.fixture(scope="module")
def whole(root: DataRoot) -> np.ndarray:
    """The recording in memory, its channels averaged."""
    left, right = soundfile.read(root.folder / "long.flac", dtype="float32")[0].T
    return (left + right) / np.float32(2)


def resampled(samples: np.ndarray, rate_hz: int = 16_000) -> np.ndarray:
    return samples if rate_hz == RATE_HZ else soxr.resample(samples, RATE_HZ, rate_hz, quality="HQ")


@pytest.mark.parametrize("rate_hz", [16_000, RATE_HZ])
def test_a_long_recording_is_the_bytes_that_it_is_in_memory(root: DataRoot, whole: np.ndarray, rate_hz: int) -> None:
    heard = decode(Clip(FileSource(root, "long.flac")), rate_hz, None)
    expected = resampled(whole, rate_hz)
    assert heard.samples.tobytes() == expected.tobytes()
    assert heard.pcm_digest == hashlib.sha256(expected.tobytes()).hexdigest()
    assert (heard.frames, heard.truncated_s) == (LENGTH_S * RATE_HZ, 0.0)
    heard.samples[0] = 1.0  # as with a short one, whoever is played it may use its memory


def test_bytes_from_elsewhere_and_waveforms_are_played_as_files_are(root: DataRoot, whole: np.ndarray) -> None:
    digest = hashlib.sha256(resampled(whole).tobytes()).hexdigest()
    data = (root.folder / "long.flac").read_bytes()
    assert decode_bytes("clip", data, 16_000, None).pcm_digest == digest
    assert decode(Clip(ArraySource.of(whole, RATE_HZ)), 16_000, None).pcm_digest == digest
    cut = decode_bytes("clip", data, 16_000, 150.0)
    assert (cut.duration_s, cut.truncated_s) == (150.0, 50.0)


@pytest.mark.parametrize(
    "made",
    [
        [edits.gain(-6)],
        [edits.speed(1.1)],
        [edits.silence()],
        [edits.pad(1.25, 70), edits.sixteen_bits()],
        [edits.trim(15, 195)],
        [edits.gain(3), edits.trim(11, 190.5), edits.pad(0, 1)],
        [edits.trim(10, 190), edits.white_noise(20, 1)],
    ],
    ids=lambda made: "+".join(edit.name for edit in made),
)
def test_edits_of_a_long_recording_are_those_of_the_whole(
    root: DataRoot, whole: np.ndarray, made: Sequence[edits.Edit]
) -> None:
    expected, length_s = whole, float(LENGTH_S)
    for edit in made:
        expected = edits.apply(edit, expected, RATE_HZ)
        length_s = edits.length_s((edit,), length_s)
    clip = Clip(FileSource(root, "long.flac"), tuple(made))
    heard = decode(clip, 16_000, None)
    assert heard.samples.tobytes() == resampled(expected).tobytes()
    assert heard.duration_s == pytest.approx(length_s, abs=1e-3)
    window = decode(clip, 16_000, 100.0)
    assert np.allclose(window.samples, heard.samples[: 100 * 16_000], atol=1e-4)
    assert window.truncated_s == pytest.approx(length_s - 100.0, abs=1e-3)


def test_long_clips_are_mixed_in_memory(root: DataRoot) -> None:
    clip = Clip(FileSource(root, "long.flac"))
    heard = decode(combining.mixture([clip, clip], [0, 0], rate_hz=RATE_HZ), RATE_HZ, None)
    assert len(heard.samples) == RATE_HZ * LENGTH_S > LONG_FRAMES
    assert np.abs(heard.samples).max() == pytest.approx(0.95)


def test_a_long_recording_that_is_cut_off_damaged_or_no_number_is_refused_in_a_sentence(root: DataRoot) -> None:
    def refusal(name: str) -> str:
        with pytest.raises(AudioError) as caught:
            decode(Clip(FileSource(root, name)), 16_000, None)
        return str(caught.value)

    content = (root.folder / "long.flac").read_bytes()
    (root.folder / "cut.flac").write_bytes(content[: len(content) // 2])
    assert "fetch it again" in refusal("cut.flac")
    samples = np.zeros(LONG_FRAMES + 1000, np.float32)
    samples[-10:] = np.nan
    soundfile.write(root.folder / "nan.wav", samples, RATE_HZ, subtype="FLOAT")
    assert refusal("nan.wav").startswith("long:nan.wav: 10 of 8389608 samples are not a number and 0 are infinite;")
    samples[-10:] = 2.7e38 * (-1.0) ** np.arange(10)
    soundfile.write(root.folder / "loud.wav", samples, RATE_HZ, subtype="FLOAT")
    assert "once it is at 16000 Hz: its level is far outside [-1, 1]" in refusal("loud.wav")


@pytest.mark.parametrize("frames", [1, 1000, 16_000, 100_001])
def test_pieces_hold_every_sample_once_and_in_order(frames: int) -> None:
    wave = np.random.default_rng(frames).uniform(-1, 1, frames).astype(np.float32)
    mapped, digest = spooled(iter(np.array_split(wave, 7)))
    assert digest == hashlib.sha256(wave.tobytes()).hexdigest()
    for samples in (wave, mapped):
        portions = list(pieces(samples, 16_000))
        assert [len(portion) for portion in portions[:-1]] == [16_000] * (len(portions) - 1)
        assert np.concatenate(portions).tobytes() == wave.tobytes()


def test_room_is_never_overdrawn_and_what_is_larger_than_all_of_it_gets_its_turn() -> None:
    room, taken, peaks, done = Room(100), [0], [], []
    guard = threading.Lock()

    def work(wanted: int) -> None:
        with room.of(wanted):
            with guard:
                taken[0] += min(wanted, 100)
                peaks.append(taken[0])
            time.sleep(0.001)
            with guard:
                taken[0] -= min(wanted, 100)
        done.append(wanted)

    sizes = [30, 500, 60, 100, 1, 99, 10**9, 40] * 8
    threads = [threading.Thread(target=work, args=(size,), daemon=True) for size in sizes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(done) == sorted(sizes)
    assert max(peaks) <= 100


def peak_bytes(script: str, folder: Path) -> tuple[list[str], int]:
    """What ``script`` prints in its own process, and the most memory that process had."""
    script = (
        "import sys; from pathlib import Path; from concurrent.futures import ThreadPoolExecutor\n"
        "from pytest_audiobench.audio import edits\n"
        "from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource\n"
        "from pytest_audiobench.audio.decode import decode\n"
        "from pytest_audiobench.audio.long_sound import pieces\n"
        "root = DataRoot('long', Path(sys.argv[1]))\n"
        f"{script}\n"
        "status = Path('/proc/self/status').read_text().split()\n"
        "print(status[status.index('VmHWM:') + 1])\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, folder], capture_output=True, text=True, check=True)
    *lines, peak_kib = ran.stdout.splitlines()
    return lines, int(peak_kib) * 1024


def write_zeros(path: Path, frames: int) -> None:
    """A FLAC file of 3 bytes for each thousand frames."""
    with soundfile.SoundFile(path, "w", 16_000, 1, "PCM_16") as file:
        for start in range(0, frames, 1 << 20):
            file.write(np.zeros(min(1 << 20, frames - start), np.int16))


FOUR_THREADS = (
    "clip = Clip(FileSource(root, 'zeros.flac')).edited({made})\n"
    "def play(_): return len(decode(clip, {rate_hz}, None).samples)\n"
    "with ThreadPoolExecutor(4) as pool: print(*pool.map(play, range(4)))"
)


@needs_proc
def test_small_files_of_much_sound_take_little_memory_on_all_threads(tmp_path: Path) -> None:
    write_zeros(tmp_path / "zeros.flac", 1 << 24)
    lines, peak = peak_bytes(FOUR_THREADS.format(made="", rate_hz=48_000), tmp_path)
    assert lines == [" ".join([str(3 << 24)] * 4)]
    assert peak < 200e6


@needs_proc
@pytest.mark.slow
def test_sounds_that_are_edited_in_memory_share_one_budget(tmp_path: Path) -> None:
    """Each takes more than the budget: together they would be four times as much."""
    soundfile.write(tmp_path / "zeros.flac", np.tile(np.float32([0.5, -0.5]), 10_000_000), 16_000)
    lines, peak = peak_bytes(FOUR_THREADS.format(made="edits.white_noise(0, 1)", rate_hz=16_000), tmp_path)
    assert lines == [" ".join(["20000000"] * 4)]
    assert peak < 2 * DECODED_BYTES


IN_PIECES = (
    "played = decode(Clip(FileSource(root, '{name}')), 16_000, None)\n"
    "count, energetic = 0, 0\n"
    "for number, piece in enumerate(pieces(played.samples, 30 * 16_000)):\n"
    "    count += len(piece); energetic += bool(abs(piece).max() > 0.1)\n"
    "print(played.duration_s, number + 1, count, energetic)"
)


@needs_proc
def test_ten_minutes_are_taken_piece_by_piece_in_little_memory(tmp_path: Path) -> None:
    write_recording(tmp_path / "ten.flac", 600)
    lines, peak = peak_bytes(IN_PIECES.format(name="ten.flac"), tmp_path)
    assert lines == ["600.0 20 9600000 10"]
    assert peak < 100e6


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("name", ["two.flac", "two.wav"])
def test_two_hours_take_no_more_memory_than_ten_minutes(tmp_path: Path, name: str) -> None:
    write_recording(tmp_path / name, 7200)
    lines, peak = peak_bytes(IN_PIECES.format(name=name), tmp_path)
    assert lines == ["7200.0 240 115200000 120"]
    assert peak < 100e6


def test_a_recording_of_more_than_six_hours_is_refused_before_it_is_read(tmp_path: Path) -> None:
    write_zeros(tmp_path / "day.flac", 100)
    whole = bytearray((tmp_path / "day.flac").read_bytes())
    whole[22:26] = (24 * 3600 * 16_000).to_bytes(4, "big")  # STREAMINFO: the number of frames
    (tmp_path / "day.flac").write_bytes(whole)
    clip = Clip(FileSource(DataRoot("long", tmp_path), "day.flac"))
    with pytest.raises(AudioError, match="1382400000 frames of 1 channels at 16000 Hz are more than may be read here"):
        decode(clip, 16_000, None)
