"""What audio one call may hold, whatever it is packed in."""

import io
import time

import numpy as np
import pytest
import soundfile

from pytest_audiobench.errors import SampleError
from pytest_audiobench.models.messages import Message
from pytest_audiobench.models.model import Limits
from pytest_audiobench.serving import audio_in
from pytest_audiobench.serving.options import ServeOptions
from pytest_audiobench.serving.questions import Sound, question

WINDOWLESS = Limits(max_clips=4)


def _silence(duration_s, rate_hz=8000, channels=1):
    file = io.BytesIO()
    soundfile.write(file, np.zeros((int(rate_hz * duration_s), channels), dtype=np.int16), rate_hz, format="FLAC")
    return Sound("bytes", file.getvalue())


def _asked(*sounds, **config):
    return question("a", [Message("user", ("?",))], sounds, config, WINDOWLESS.tasks)


@pytest.fixture
def audio(monkeypatch):
    monkeypatch.setattr(audio_in, "LONGEST_CALL_S", 3.0)
    return audio_in.AudioIn(WINDOWLESS, ServeOptions(), time.monotonic() + 60)


def test_a_little_file_that_promises_hours_is_refused(audio):
    bomb = _silence(3600)
    assert len(bomb.data) < 200_000
    with pytest.raises(SampleError, match="more than 3 s of audio; send it in several calls"):
        audio.play(_asked(bomb))


@pytest.mark.parametrize(("rate_hz", "channels"), [(384_000, 1), (96_000, 8)])
def test_a_little_file_of_many_samples_a_second_is_refused_before_it_is_read(audio, rate_hz, channels):
    with pytest.raises(SampleError, match=f"audio 0: .* frames of {channels} channels at {rate_hz} Hz are more than"):
        audio.play(_asked(_silence(2.9, rate_hz, channels)))
    (heard,) = audio.play(_asked(_silence(0.25, rate_hz, channels)))
    assert heard.duration_s == 0.25


def test_a_file_in_the_servers_folder_is_bounded_too(audio, tmp_path):
    (tmp_path / "dense.flac").write_bytes(_silence(2.9, 384_000).data)
    audio = audio_in.AudioIn(WINDOWLESS, ServeOptions(files=tmp_path), time.monotonic() + 60)
    with pytest.raises(SampleError, match="are more than may be read"):
        audio.play(_asked(Sound("file_path", "dense.flac")))


def test_the_clips_of_a_call_share_one_bound(audio):
    assert [heard.duration_s for heard in audio.play(_asked(_silence(1), _silence(1)))] == [1, 1]
    with pytest.raises(SampleError, match="several calls"):
        audio.play(_asked(_silence(1.5)))


def test_a_clip_is_cut_where_the_question_says(audio):
    (heard,) = audio.play(_asked(_silence(60), max_length_seconds=0.5))
    assert (heard.duration_s, heard.truncated_s) == (0.5, 59.5)


def test_a_clip_is_not_cut_at_the_window_for_a_task_that_is_done_piece_by_piece():
    limits = Limits(max_clip_s=2, chunked_tasks=("transcription",))
    audio = audio_in.AudioIn(limits, ServeOptions(), time.monotonic() + 60)
    (whole,) = audio.play(_asked(_silence(5), task="transcription"))
    (cut,) = audio.play(_asked(_silence(5), task="open"))
    assert [(heard.duration_s, heard.truncated_s) for heard in (whole, cut)] == [(5, 0), (2, 3)]


def test_a_model_that_needs_a_clip_is_not_asked_without_one():
    audio = audio_in.AudioIn(Limits(min_clips=1), ServeOptions(), time.monotonic() + 60)
    with pytest.raises(SampleError, match="0 clips, and the model needs 1 at least"):
        audio.play(_asked())


def test_too_many_clips_are_not_even_decoded(audio):
    with pytest.raises(SampleError, match="5 clips, and the model takes 4 at most"):
        audio.play(_asked(*[Sound("bytes", b"no audio")] * 5))
