"""Audio that cannot be used is one clear sentence: the clip, what is wrong, what to do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio import combining, edits
from pytest_audiobench.audio.clip import ArraySource, CellSource, Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode, decode_bytes
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.errors import AudioError

RATE_HZ = 16_000


def clip_of(folder: Path, path: str) -> Clip:
    return Clip(FileSource(DataRoot("mine", folder), path))


def hiss(duration_s: float = 2.0) -> np.ndarray:
    return np.random.default_rng(0).uniform(-0.3, 0.3, round(duration_s * RATE_HZ)).astype(np.float32)


def written(folder: Path, name: str, samples: np.ndarray, **options: str) -> bytes:
    soundfile.write(folder / name, samples, RATE_HZ, **options)
    return (folder / name).read_bytes()


def refusal(clip: Clip, max_s: float | None = None) -> str:
    return refusal_at(clip, RATE_HZ, max_s)


def refusal_at(clip: Clip, rate_hz: int, max_s: float | None = None) -> str:
    with pytest.raises(AudioError) as caught:
        decode(clip, rate_hz, max_s)
    message = str(caught.value)
    assert message.startswith("mine:")
    assert "\n" not in message
    return message


def index_refusal(clip: Clip) -> str:
    with AudioIndex(None) as index:
        (facts,) = index.facts_of([clip])
    assert isinstance(facts, AudioError)
    return str(facts)


def test_a_missing_file_is_named_with_the_way_to_point_to_it(tmp_path: Path) -> None:
    clip = clip_of(tmp_path, "sub/dog.wav")
    assert "no such file" in refusal(clip)
    assert index_refusal(clip) == refusal(clip)
    assert "--ab-data=mine=FOLDER" in refusal(clip)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.wav").touch()
    clip = clip_of(tmp_path, "empty.wav")
    assert "0 bytes" in refusal(clip)
    assert index_refusal(clip) == refusal(clip)


def test_a_folder_is_no_clip(tmp_path: Path) -> None:
    (tmp_path / "dog.wav").mkdir()
    clip = clip_of(tmp_path, "dog.wav")
    assert "is a folder" in refusal(clip)
    assert index_refusal(clip) == refusal(clip)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.wav")
    assert "no ordinary file" in refusal(clip_of(tmp_path, "pipe.wav"))


@pytest.mark.parametrize("path", ["../secret.wav", "a/../../secret.wav", "a\\..\\secret.wav"])
def test_a_path_that_leaves_its_root_is_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    written(tmp_path, "secret.wav", hiss())
    clip = clip_of(root, path)
    assert "leaves its data root" in refusal(clip)
    assert index_refusal(clip) == refusal(clip)


def test_an_absolute_path_is_refused(tmp_path: Path) -> None:
    written(tmp_path, "secret.wav", hiss())
    assert "leaves its data root" in refusal(clip_of(tmp_path / "root", str(tmp_path / "secret.wav")))


def test_a_link_that_leads_out_of_the_root_is_refused_and_one_inside_is_followed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "real").mkdir(parents=True)
    written(tmp_path, "secret.wav", hiss())
    written(root / "real", "dog.wav", hiss())
    (root / "out.wav").symlink_to(tmp_path / "secret.wav")
    (root / "up").symlink_to(tmp_path, target_is_directory=True)
    (root / "in.wav").symlink_to(root / "real" / "dog.wav")
    for path in ("out.wav", "up/secret.wav"):
        assert "leads out of its data root" in refusal(clip_of(root, path))
        assert "leads out of its data root" in index_refusal(clip_of(root, path))
    assert decode(clip_of(root, "in.wav"), RATE_HZ, None).frames == 2 * RATE_HZ


@pytest.mark.parametrize("path", ["nul\0byte.wav", "x" * 300 + ".wav"])
def test_a_path_no_file_can_have_is_refused(tmp_path: Path, path: str) -> None:
    assert "cannot be read" in refusal(clip_of(tmp_path, path))
    assert "cannot be read" in index_refusal(clip_of(tmp_path, path))


@pytest.mark.parametrize("name", ["notes.wav", "notes.mp3", "notes.raw"])
def test_text_named_as_audio_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("these are the notes of a meeting\n" * 100)
    assert "not audio that libsndfile can read" in refusal(clip_of(tmp_path, name))


def test_an_unreadable_header_leaves_the_duration_open_and_the_digest_known(tmp_path: Path) -> None:
    (tmp_path / "notes.wav").write_text("these are the notes of a meeting\n" * 100)
    with AudioIndex(None) as index:
        (facts,) = index.facts_of([clip_of(tmp_path, "notes.wav")])
    assert not isinstance(facts, AudioError)
    assert facts.duration_s is None
    assert len(facts.digest) == 64


@pytest.mark.parametrize("name", ["none.wav", "none.ogg"])
def test_zero_frames_are_refused(tmp_path: Path, name: str) -> None:
    written(tmp_path, name, hiss(0))
    assert "zero frames" in refusal(clip_of(tmp_path, name))


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT"])
@pytest.mark.parametrize("max_s", [None, 0.5])
def test_a_truncated_wav_is_refused_even_when_its_beginning_would_do(
    tmp_path: Path, subtype: str, max_s: float | None
) -> None:
    whole = written(tmp_path, "cut.wav", hiss(), subtype=subtype)
    (tmp_path / "cut.wav").write_bytes(whole[: len(whole) * 3 // 4])
    message = refusal(clip_of(tmp_path, "cut.wav"), max_s)
    promised, held = (int(number) for number in re.findall(r"\d{4,}", message))
    assert held < promised
    assert promised % (2 * RATE_HZ) == 0


def test_a_wav_of_unknown_length_is_read_to_its_end(tmp_path: Path) -> None:
    """What ffmpeg writes to a pipe: it could not know the length."""
    whole = bytearray(written(tmp_path, "piped.wav", hiss()))
    at = whole.index(b"data") + 4
    whole[4:8] = whole[at : at + 4] = b"\xff\xff\xff\xff"
    (tmp_path / "piped.wav").write_bytes(whole)
    assert decode(clip_of(tmp_path, "piped.wav"), RATE_HZ, None).frames == 2 * RATE_HZ


@pytest.mark.parametrize("max_s", [None, 0.5])
@pytest.mark.parametrize("mode", ["CONSTANT", "VARIABLE"])
def test_a_truncated_mp3_is_refused(tmp_path: Path, max_s: float | None, mode: str) -> None:
    whole = written(tmp_path, "cut.mp3", hiss(10), bitrate_mode=mode)
    (tmp_path / "cut.mp3").write_bytes(whole[: len(whole) // 2])
    assert "cut off" in refusal(clip_of(tmp_path, "cut.mp3"), max_s)


def test_a_tagged_mp3_is_whole_and_a_truncated_one_still_found(tmp_path: Path) -> None:
    sound = written(tmp_path, "tagged.mp3", hiss(10))
    tag = b"ID3\x03\x00\x00" + bytes([0, 0, 40, 0]) + bytes(40 << 7)
    (tmp_path / "tagged.mp3").write_bytes(tag + sound + b"TAG" + bytes(125))
    assert decode(clip_of(tmp_path, "tagged.mp3"), RATE_HZ, None).frames == 10 * RATE_HZ
    (tmp_path / "tagged.mp3").write_bytes(tag + sound[: len(sound) // 2])
    assert "cut off" in refusal(clip_of(tmp_path, "tagged.mp3"))


def test_an_mp3_whose_header_only_estimates_is_counted(tmp_path: Path) -> None:
    """Without a Xing header a quiet beginning makes libsndfile expect nearly twice the frames."""
    uneven = np.concatenate([np.zeros(10 * RATE_HZ, np.float32), hiss(10)])
    whole = written(tmp_path, "bare.mp3", uneven, bitrate_mode="VARIABLE")
    second_frame = whole.index(whole[:2], 4)
    (tmp_path / "bare.mp3").write_bytes(whole[second_frame:])
    with soundfile.SoundFile(tmp_path / "bare.mp3") as header:
        promised = header.frames
    heard = decode(clip_of(tmp_path, "bare.mp3"), RATE_HZ, None)
    assert abs(heard.frames - 20 * RATE_HZ) < 3 * 1152
    assert promised > 1.2 * heard.frames


def test_a_truncated_flac_is_refused_unless_its_beginning_will_do(tmp_path: Path) -> None:
    whole = written(tmp_path, "cut.flac", hiss(4))
    (tmp_path / "cut.flac").write_bytes(whole[: len(whole) // 2])
    assert "fetch it again" in refusal(clip_of(tmp_path, "cut.flac"))
    assert decode(clip_of(tmp_path, "cut.flac"), RATE_HZ, 0.5).duration_s == 0.5


@pytest.mark.parametrize(
    ("value", "said"), [(np.nan, "1 of 32000 samples are not a number"), (np.inf, "1 are infinite")]
)
def test_samples_that_are_no_numbers_are_refused(tmp_path: Path, value: float, said: str) -> None:
    samples = hiss()
    samples[100] = value
    written(tmp_path, "nan.wav", samples, subtype="FLOAT")
    assert said in refusal(clip_of(tmp_path, "nan.wav"))


def far_too_loud(level: float) -> np.ndarray:
    """Finite samples of both signs, which add up to more than floats hold when they are resampled."""
    return (level * np.sign(hiss(1.0))).astype(np.float32)


def loud_clips(folder: Path, level: float) -> dict[str, Clip]:
    """Sound at such a level made in every way in which clips are made; to be played at another rate than its own."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    samples = far_too_loud(level)
    content = written(folder, "loud.wav", samples, subtype="FLOAT")
    cells = {
        "bytes": pyarrow.array([content]),
        "wave": pyarrow.array([samples.tolist()], pyarrow.list_(pyarrow.float32())),
    }
    parquet.write_table(pyarrow.table(cells), folder / "loud.parquet")
    file, table = clip_of(folder, "loud.wav"), FileSource(DataRoot("mine", folder), "loud.parquet")
    return {
        "file": file,
        "excerpt": file.edited(edits.trim(0.2, 0.9)),
        "bytes in a cell": Clip(CellSource(table, "bytes", 0, 0)),
        "waveform in a cell": Clip(CellSource(table, "wave", 0, 0, RATE_HZ)),
        "array": Clip(ArraySource.of(samples, RATE_HZ, "mine: an array")),
        "made louder": Clip(ArraySource.of(hiss(1.0), RATE_HZ, "mine: made louder")).edited(edits.gain(770)),
        "sped up": file.edited(edits.speed(1.1)),
        "padded": file.edited(edits.pad(0.1, 0.1)),
    }


@pytest.mark.parametrize("level", [5e37, 2.7e38])
def test_what_is_no_number_once_it_is_resampled_is_refused_however_a_clip_is_made(tmp_path: Path, level: float) -> None:
    for clip in loud_clips(tmp_path, level).values():
        message = refusal_at(clip, 11_025)
        assert "samples are not a number" in message
    with pytest.raises(AudioError, match=r"mine: .* once it is at 11025 Hz: its level is far outside \[-1, 1\]"):
        decode_bytes("mine", (tmp_path / "loud.wav").read_bytes(), 11_025, None)


def test_channels_that_add_up_to_no_number_are_refused_without_a_warning(tmp_path: Path) -> None:
    written(tmp_path, "two.wav", np.full((100, 2), 3e38, np.float32), subtype="FLOAT")
    assert "100 are infinite" in refusal(clip_of(tmp_path, "two.wav"))


def test_a_mixture_of_sound_that_is_far_too_loud_is_a_sound_or_refused(tmp_path: Path) -> None:
    written(tmp_path, "loud.wav", far_too_loud(2.7e38), subtype="FLOAT")
    written(tmp_path, "dog.wav", hiss(1.0))
    loud, dog = clip_of(tmp_path, "loud.wav"), clip_of(tmp_path, "dog.wav")
    assert np.isfinite(decode(combining.mixture([dog, loud], [0, 0]), RATE_HZ, None).samples).all()
    with pytest.raises(AudioError, match=r"mine:loud\.wav.* once it is at 8000 Hz"):
        decode(combining.mixture([dog, loud], [0, 0], rate_hz=8000), RATE_HZ, None)


@pytest.mark.parametrize("rate_hz", [1, 384_001])
def test_a_header_with_a_senseless_rate_is_refused_before_it_fills_the_memory(tmp_path: Path, rate_hz: int) -> None:
    soundfile.write(tmp_path / "odd.wav", hiss(), rate_hz)
    assert f"a rate of {rate_hz} Hz" in refusal(clip_of(tmp_path, "odd.wav"))


def test_a_clip_of_which_nothing_is_left_at_the_models_rate_is_refused(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "blip.wav", hiss()[:2], 192_000)
    assert "too short to be played (2 frames at 192000 Hz are none at 16000 Hz)" in refusal(
        clip_of(tmp_path, "blip.wav")
    )


def hollow(folder: Path, name: str, frames: int, rate_hz: int) -> Clip:
    """A WAV file of so many frames that is a header and a hole: it holds what it promises, and takes no room."""
    data_bytes = 2 * frames
    header = bytearray(written(folder, name, np.zeros(1, np.float32))[:44])
    header[4:8], header[40:44] = (data_bytes + 36).to_bytes(4, "little"), data_bytes.to_bytes(4, "little")
    header[24:28], header[28:32] = rate_hz.to_bytes(4, "little"), (2 * rate_hz).to_bytes(4, "little")
    (folder / name).write_bytes(header)
    os.truncate(folder / name, 44 + data_bytes)
    return clip_of(folder, name)


def bombs(folder: Path) -> dict[str, Clip]:
    """Small files that would fill the memory."""
    whole = bytearray(written(folder, "many.flac", np.zeros(100, np.float32)))
    whole[22:26] = (2**32 - 1).to_bytes(4, "big")  # STREAMINFO: the number of frames
    (folder / "many.flac").write_bytes(whole)
    return {
        "more than may be read": hollow(folder, "hours.wav", 100_000_000, RATE_HZ),
        "4294967295 frames of 1 channels at 16000 Hz are more than may be read": clip_of(folder, "many.flac"),
        "6000000 frames of 1 channels at 1000 Hz are more than may be read": hollow(
            folder, "slow.wav", 6_000_000, 1000
        ),
        "a rate of 1000000 Hz": hollow(folder, "fast.wav", 1000, 1_000_000),
    }


def test_a_part_of_a_mixture_that_would_fill_the_memory_is_refused_in_one_sentence(tmp_path: Path) -> None:
    written(tmp_path, "whole.wav", hiss())
    whole = clip_of(tmp_path, "whole.wav")
    for said, bomb in bombs(tmp_path).items():
        for clip in (combining.mixture([whole, bomb], [0, 0]), combining.with_noise(whole, bomb, 0)):
            assert said in refusal(clip, max_s=10.0)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to read a process's peak memory")
def test_a_mixture_with_a_bomb_takes_no_memory_for_it(tmp_path: Path) -> None:
    written(tmp_path, "whole.wav", hiss())
    hollow(tmp_path, "hours.wav", 1_000_000_000, RATE_HZ)
    script = (
        "import sys; from pathlib import Path\n"
        "from pytest_audiobench.audio import combining, edits\n"
        "from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource\n"
        "from pytest_audiobench.audio.decode import decode\n"
        "from pytest_audiobench.errors import AudioError\n"
        "root = DataRoot('mine', Path(sys.argv[1]))\n"
        "whole, hours = (Clip(FileSource(root, name)) for name in ('whole.wav', 'hours.wav'))\n"
        "for clip in (combining.mixture([whole, hours], [0, 0]), hours.edited(edits.pink_noise(0, 1)), hours):\n"
        "    try: print(decode(clip, 16_000, None))\n"
        "    except AudioError as error: print(error)\n"
        "status = Path('/proc/self/status').read_text().split()\n"
        "print(status[status.index('VmHWM:') + 1])\n"
    )
    ran = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=True)
    *refusals, peak_kib = ran.stdout.splitlines()
    assert len(refusals) == 3
    assert all("1000000000 frames" in line and "more than may be read" in line for line in refusals)
    assert int(peak_kib) * 1024 < 200e6
