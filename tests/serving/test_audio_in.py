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


def _silence(duration_s):
    file = io.BytesIO()
    soundfile.write(file, np.zeros(int(8000 * duration_s), dtype=np.int16), 8000, format="FLAC")
    return Sound("bytes", file.getvalue())


def _asked(*sounds, **config):
    return question("a", [Message("user", ("?",))], sounds, config)


@pytest.fixture
def audio(monkeypatch):
    monkeypatch.setattr(audio_in, "LONGEST_CALL_S", 3.0)
    return audio_in.AudioIn(WINDOWLESS, ServeOptions(), time.monotonic() + 60)


def test_a_little_file_that_promises_hours_is_refused(audio):
    bomb = _silence(3600)
    assert len(bomb.data) < 200_000
    with pytest.raises(SampleError, match="more than 3 s of audio; send it in several calls"):
        audio.heard(_asked(bomb))


def test_the_clips_of_a_call_share_one_bound(audio):
    assert [heard.duration_s for heard in audio.heard(_asked(_silence(1), _silence(1)))] == [1, 1]
    with pytest.raises(SampleError, match="several calls"):
        audio.heard(_asked(_silence(1.5)))


def test_a_clip_is_cut_where_the_question_says(audio):
    (heard,) = audio.heard(_asked(_silence(60), max_length_seconds=0.5))
    assert (heard.duration_s, heard.truncated_s) == (0.5, 59.5)


def test_too_many_clips_are_not_even_decoded(audio):
    with pytest.raises(SampleError, match="5 clips, and the model takes 4 at most"):
        audio.heard(_asked(*[Sound("bytes", b"no audio")] * 5))
