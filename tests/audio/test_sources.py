"""Decoded sounds are remembered while they are the same, and never a moment longer."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio import combining, edits, source_samples, synthesis
from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.sound_file import Amount, Recording
from pytest_audiobench.audio.source_samples import SoundMemory
from pytest_audiobench.datasets.perturbations.catalogue import noises
from pytest_audiobench.datasets.perturbations.interventions import controls, masks
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import AudioError

RATE_HZ = 16_000
LADDER = [edits.white_noise(snr_db, 1) for snr_db in (20, 10, 0, -10, -20)] + [
    edits.gain(-6),
    edits.reverb(1),
    edits.band_limit(3400),
    edits.clipping(6),
    edits.speed(1.1),
]


def hiss(frames: int = RATE_HZ, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).uniform(-0.3, 0.3, frames).astype(np.float32)


def clip_of(file: Path) -> Clip:
    return Clip(FileSource(DataRoot("mine", file.parent), file.name))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The paths that are really read, with an empty memory for which no file is too young."""
    read, read_file, read_excerpt = [], source_samples.read_file, source_samples.read_excerpt

    def counted(source: FileSource, path: str, reach_s: float | None, amount: Amount) -> Recording:
        read.append(Path(path).name)
        return read_file(source, path, reach_s, amount)

    def entered(source: FileSource, path: str, start_s: float, end_s: float, amount: Amount) -> Recording | None:
        found = read_excerpt(source, path, start_s, end_s, amount)
        if found is not None:
            read.append(f"{Path(path).name} from {start_s}")
        return found

    monkeypatch.setattr(source_samples, "read_file", counted)
    monkeypatch.setattr(source_samples, "read_excerpt", entered)
    monkeypatch.setattr(source_samples, "SETTLE_S", -1.0)
    monkeypatch.setattr(source_samples, "_FILES", SoundMemory(1 << 24))
    monkeypatch.setattr(source_samples, "_MADE", SoundMemory(1 << 24))
    return read  # type: ignore[return-value]


def test_a_ladder_of_ten_perturbations_reads_each_source_once(tmp_path: Path, reads: list[str]) -> None:
    files = [tmp_path / f"{number}.flac" for number in range(8)]
    for seed, file in enumerate(files):
        soundfile.write(file, hiss(seed=seed), RATE_HZ)
    clips = [clip_of(file) for file in files]
    perturbations = [[clip.edited(edit) for clip in clips] for edit in LADDER]
    perturbations += [[combining.with_noise(clip, clips[0], 5, 1) for clip in clips]]
    with ThreadPoolExecutor(4) as pool:
        for perturbation in [clips, *perturbations]:
            list(pool.map(lambda clip: decode(clip, RATE_HZ, 30.0), perturbation))
    assert sorted(reads) == sorted(file.name for file in files)


def test_masks_noise_and_controls_read_each_source_once(tmp_path: Path, reads: list[str]) -> None:
    files = [tmp_path / f"{number}.wav" for number in range(6)]
    for seed, file in enumerate(files):
        soundfile.write(file, hiss(seed=seed), RATE_HZ)
    samples = [Sample(file.stem, (clip_of(file),), "") for file in files]
    grid = [*masks(), *masks(mode="scattered"), *masks(mode="start"), *masks(fill="noise"), *noises(), *controls()]
    for perturbation in grid:
        for sample in perturbation.prepare(Places(tmp_path))(samples):
            for clip in sample.clips:
                decode(clip, RATE_HZ, 30.0)
    assert sorted(reads) == sorted(file.name for file in files)


@pytest.mark.parametrize("name", ["a.flac", "a.mp3"])
def test_excerpts_of_one_recording_are_read_once_each_or_all_from_one_reading(
    tmp_path: Path, reads: list[str], name: str
) -> None:
    """A FLAC is entered where an excerpt begins; an MP3 cannot be, and is read from its beginning."""
    soundfile.write(tmp_path / name, hiss(10 * RATE_HZ), RATE_HZ)
    excerpts = [edits.trim(start_s, start_s + 2) for start_s in (6.0, 1.0, 3.0)]
    heard: list[str] = []
    for ladder in ([], *([edit] for edit in LADDER)):
        for excerpt in excerpts:
            heard.append(decode(clip_of(tmp_path / name).edited(excerpt, *ladder), RATE_HZ, None).pcm_digest)
    assert reads == ([name] if name == "a.mp3" else [f"{name} from {start_s}" for start_s in (6.0, 1.0, 3.0)])
    assert len(set(heard)) == len(heard)


def test_what_is_remembered_is_what_would_be_read(tmp_path: Path, reads: list[str]) -> None:
    """Windows before and after the whole, formats whose headers promise exactly or roughly."""
    soundfile.write(tmp_path / "a.flac", hiss(3 * RATE_HZ), RATE_HZ)
    soundfile.write(tmp_path / "a.mp3", hiss(3 * RATE_HZ), RATE_HZ)
    soundfile.write(tmp_path / "a.wav", np.stack([hiss(3 * RATE_HZ)] * 2, axis=1), 44_100)
    for name in ("a.flac", "a.mp3", "a.wav"):
        clip = clip_of(tmp_path / name)
        remembered = [decode(clip, RATE_HZ, max_s) for max_s in (0.5, 0.25, None, 0.5, 1.0, None)]
        assert reads == [name, name]  # the first window, then all of it
        fresh = []
        for max_s in (0.5, 0.25, None, 0.5, 1.0, None):
            source_samples._FILES = SoundMemory(0)
            fresh.append(decode(clip, RATE_HZ, max_s))
        for one, other in zip(remembered, fresh, strict=True):
            assert (one.pcm_digest, one.frames, one.truncated_s) == (other.pcm_digest, other.frames, other.truncated_s)
        source_samples._FILES = SoundMemory(1 << 24)
        reads.clear()


def test_a_file_that_changes_is_read_again_however_its_times_are_set(tmp_path: Path, reads: list[str]) -> None:
    file = tmp_path / "a.wav"
    soundfile.write(file, hiss(seed=0), RATE_HZ)
    status = file.stat()
    before = decode(clip_of(file), RATE_HZ, None)
    soundfile.write(file, hiss(seed=1), RATE_HZ)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    after = decode(clip_of(file), RATE_HZ, None)
    assert before.pcm_digest != after.pcm_digest
    assert len(reads) == 2
    file.unlink()
    with pytest.raises(AudioError, match="no such file"):
        decode(clip_of(file), RATE_HZ, None)


def test_a_file_that_changed_just_now_is_not_remembered(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_samples, "SETTLE_S", 3600.0)
    soundfile.write(tmp_path / "a.wav", hiss(), RATE_HZ)
    clip = clip_of(tmp_path / "a.wav")
    mixed = combining.mixture([clip, clip], [0, 0])
    for wanted in (clip, clip, mixed, mixed):
        decode(wanted, RATE_HZ, None)
    assert len(reads) == 6


def test_a_mixture_that_many_probes_ask_about_is_made_once(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, render = [], synthesis.render
    monkeypatch.setattr(synthesis, "render", lambda source, rate_hz: made.append(source) or render(source, rate_hz))
    soundfile.write(tmp_path / "a.wav", hiss(), RATE_HZ)
    file, tone = clip_of(tmp_path / "a.wav"), Clip(synthesis.tone(440, 1))
    probes = [combining.mixture([file, tone.edited(edits.gain(-6))], [0, 3]) for _ in range(8)]
    with ThreadPoolExecutor(4) as pool:
        digests = {heard.pcm_digest for heard in pool.map(lambda clip: decode(clip, RATE_HZ, None), probes)}
    assert len(digests) == len(made) == len(reads) == 1
    other = combining.mixture([file, tone.edited(edits.gain(-7))], [0, 3])
    assert decode(other, RATE_HZ, None).pcm_digest not in digests
    soundfile.write(tmp_path / "a.wav", hiss(seed=1), RATE_HZ)
    assert decode(probes[0], RATE_HZ, None).pcm_digest not in digests


@pytest.mark.parametrize("edit", [None, edits.trim(0.1, 0.5), edits.clipping(0), edits.pad(0, 0)])
def test_a_listener_cannot_change_what_others_will_hear(
    tmp_path: Path, reads: list[str], edit: edits.Edit | None
) -> None:
    soundfile.write(tmp_path / "a.wav", hiss(), RATE_HZ)
    for source in (clip_of(tmp_path / "a.wav"), Clip(synthesis.tone(440, 1))):
        clip = source if edit is None else source.edited(edit)
        first = decode(clip, RATE_HZ, None)
        kept = first.samples.copy()
        first.samples[:] = 0
        assert np.array_equal(decode(clip, RATE_HZ, None).samples, kept)


def recording(frames: int) -> Callable[[], Recording]:
    return lambda: Recording(np.zeros(frames, np.float32), RATE_HZ, frames, 1, True)


def test_a_memory_stays_within_its_bytes_and_forgets_what_was_asked_for_longest_ago() -> None:
    memory: SoundMemory[Recording] = SoundMemory(4 * 1000)
    asked: list[int] = []

    def ask(key: int, frames: int = 250) -> None:
        memory.get(key, lambda: (asked.append(key), recording(frames)())[1], lambda sound: True)

    for key in (0, 1, 2, 3, 0, 4, 0, 1):
        ask(key)
    assert asked == [0, 1, 2, 3, 4, 1]
    ask(9, frames=251)  # more than a quarter: made, and not kept
    ask(0)
    ask(9, frames=251)
    assert asked[6:] == [9, 9]
    assert memory._bytes == sum(sound.samples.nbytes for sound in memory._sounds.values()) <= 4000
    assert not memory._turns


def test_a_sound_that_fails_is_tried_again_by_each_who_asks() -> None:
    memory: SoundMemory[Recording] = SoundMemory(4000)
    tried = threading.Barrier(4, timeout=60)

    def fails() -> Recording:
        raise AudioError("damaged")

    def ask(_: int) -> str:
        tried.wait()
        try:
            memory.get("a", fails, lambda sound: True)
        except AudioError as error:
            return str(error)
        return "held"

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(4))) == ["damaged"] * 4
    assert memory.get("a", recording(10), lambda sound: True).promised == 10
