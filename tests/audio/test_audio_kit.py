"""The ``audio`` fixture's kit: clips for a user's own tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio import signals
from pytest_audiobench.audio.audio_fixture import AudioFixture
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.errors import AudioError, UsageError


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[AudioFixture]:
    with AudioIndex(None) as index:
        yield AudioFixture(tmp_path, index)


def test_a_file_is_loaded_from_the_test_files_folder_or_anywhere(kit: AudioFixture, tmp_path: Path) -> None:
    (tmp_path / "clips").mkdir()
    soundfile.write(tmp_path / "clips" / "a.wav", np.full(4000, 0.25), 8_000)
    clip = kit.load("clips/a.wav")
    assert clip == kit.load(tmp_path / "clips" / "a.wav")
    assert str(clip) == "clips:a.wav"
    assert kit.duration_s(clip) == 0.5
    assert kit.samples(clip, 8_000).shape == (4000,)


def test_a_missing_file_is_noticed_when_it_is_loaded(kit: AudioFixture) -> None:
    with pytest.raises(AudioError, match=r"dog\.wav: no such file"):
        kit.load("dog.wav")


def test_an_array_is_copied_and_averaged_to_mono(kit: AudioFixture) -> None:
    stereo = np.stack([np.full(8000, 0.5), np.full(8000, 0.0)], axis=1)
    clip = kit.array(stereo, 8_000)
    stereo[:] = 9
    assert np.array_equal(kit.samples(clip, 8_000), np.full(8000, 0.25, np.float32))


@pytest.mark.parametrize("samples", [np.zeros(100, np.int16), np.zeros((2, 2, 2))])
def test_what_is_no_waveform_is_a_mistake(kit: AudioFixture, samples: np.ndarray) -> None:
    with pytest.raises(UsageError):
        kit.array(samples, 8_000)


def test_made_clips_have_their_lengths(kit: AudioFixture) -> None:
    for clip in (kit.tone(duration_s=2), kit.chirp(100, 900, 2), kit.silence(2), kit.noise(2), kit.pink_noise(2)):
        assert kit.duration_s(clip) == 2.0
        assert kit.samples(clip).shape == (32_000,)


def test_changes_make_new_clips_of_the_length_they_say(kit: AudioFixture) -> None:
    tone = kit.tone(440, 2)
    assert kit.duration_s(kit.trimmed(tone, 0.5, 1.0)) == 0.5
    assert kit.duration_s(kit.padded(tone, before_s=1)) == 3.0
    assert kit.duration_s(kit.sped_up(tone, 2)) == 1.0
    assert kit.duration_s(kit.with_noise(kit.louder(tone, 6), snr_db=10)) == 2.0
    assert not kit.samples(kit.silenced(tone)).any()
    assert tone.edits == ()


def test_a_mixture_is_at_its_level_and_as_long_as_its_first(kit: AudioFixture) -> None:
    tone, hiss = kit.tone(440, 2), kit.noise(0.5)
    mixture = kit.mixed(tone, hiss, snr_db=6)
    added = kit.samples(mixture) - kit.samples(tone)
    assert kit.duration_s(mixture) == 2.0
    assert 20 * np.log10(signals.rms(kit.samples(tone)) / signals.rms(added)) == pytest.approx(6, abs=0.01)


def test_silence_cannot_be_mixed_at_a_level(kit: AudioFixture) -> None:
    with pytest.raises(AudioError, match="the noise is silent"):
        kit.samples(kit.mixed(kit.tone(), kit.silence()))


def test_a_duration_no_header_tells_is_an_error_that_says_why(kit: AudioFixture, tmp_path: Path) -> None:
    (tmp_path / "notes.wav").write_text("notes")
    with pytest.raises(AudioError, match="not audio"):
        kit.duration_s(kit.load("notes.wav"))


def test_clips_sound_together_and_in_rooms(kit: AudioFixture) -> None:
    tone, hiss = kit.tone(440, 2), kit.noise(0.5)
    mixture = kit.mixture([tone, hiss], levels_db=[0, -6])
    assert kit.duration_s(mixture) == 2.0
    assert np.max(np.abs(kit.samples(mixture))) == pytest.approx(0.95)
    assert kit.duration_s(kit.mixture([tone, hiss, hiss])) == 2.0
    echo = kit.array(np.eye(1, 800)[0] + 0.5 * np.eye(1, 800, 700)[0], 16_000)
    assert signals.rms(kit.samples(kit.in_room(tone, echo))) == pytest.approx(signals.rms(kit.samples(tone)))
