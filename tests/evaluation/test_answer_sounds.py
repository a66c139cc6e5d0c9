"""The audio of answers: measured within bounds, kept by digest beside the store, and never half there."""

import hashlib
import struct

import numpy as np
import pytest

from pytest_audiobench.audio.wav import wav_bytes
from pytest_audiobench.errors import SampleError
from pytest_audiobench.evaluation import answer_sounds
from pytest_audiobench.evaluation.answer_sounds import SoundFiles
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.models.messages import Output, Part, Response

RATE = 16_000
TONE = np.sin(np.arange(RATE // 2) * 0.1) * 0.5
SPEECH = bytes(wav_bytes(np.r_[np.zeros(RATE // 2), TONE].astype(np.float32), RATE))


def measured(response, tmp_path):
    return SoundFiles([tmp_path / "s"]).measured(response)


def test_what_is_measured_is_length_rate_silence_and_clipping(tmp_path):
    (sound,) = measured(Response.spoken("hm", SPEECH), tmp_path).sounds
    assert (sound.seconds, sound.rate_hz, sound.silence, sound.clipping) == (1.0, RATE, 0.5, 0.0)
    assert (sound.digest, sound.data) == (hashlib.sha256(SPEECH).hexdigest(), SPEECH)
    loud = bytes(wav_bytes(np.r_[np.ones(100), TONE[:300]].astype(np.float32), 8_000))
    (sound,) = measured(Response.spoken("hm", loud), tmp_path).sounds
    assert (sound.seconds, sound.rate_hz, sound.silence, sound.clipping) == (0.05, 8_000, 0.0, 0.25)


def header(frames):
    """A WAV file that promises so many frames and holds four."""
    size = 2 * frames
    return struct.pack(
        "<4sI8sIHHIIHH4sI", b"RIFF", 36 + size, b"WAVEfmt ", 16, 1, 1, 8_000, 16_000, 2, 16, b"data", size
    )


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"I am no sound", "the answer's audio"),
        (b"", "the answer's audio is empty"),
        (SPEECH[:-100], "the answer's audio: the file is cut off"),
        (header(0), "the answer's audio"),
        (SPEECH[:44] + b"\xff" * 2, "the answer's audio"),
    ],
    ids=["text", "nothing", "cut", "no-frames", "shorter-than-it-says"],
)
def test_audio_that_cannot_be_read_is_the_samples_own_error(tmp_path, data, says):
    with pytest.raises(SampleError, match=says):
        measured(Response.spoken("hm", data), tmp_path)


def test_audio_beyond_the_bound_and_of_another_digest_is_refused(tmp_path, monkeypatch):
    spoken = Response.spoken("hm", SPEECH)
    other = Response(spoken.outputs, sounds=(spoken.sounds[0]._replace(data=SPEECH + b"!"),))
    with pytest.raises(SampleError, match="not the one of the digest"):
        measured(other, tmp_path)
    monkeypatch.setattr(answer_sounds, "_MOST_VALUES", 20_000)
    with pytest.raises(SampleError, match="are more than may be read"):
        measured(spoken, tmp_path)
    monkeypatch.setattr(answer_sounds, "MOST_BYTES", 1_000)
    with pytest.raises(SampleError, match="and 1000 are the most that is kept"):
        measured(spoken, tmp_path)


def test_an_answer_of_several_pieces_of_audio_is_refused_and_one_of_a_mere_digest_has_none(tmp_path):
    part = Part("audio", "abc")
    with pytest.raises(SampleError, match="holds 2 parts of audio"):
        measured(Response((Output((part, part)),)), tmp_path)
    heard = measured(Response((Output((part,)),)), tmp_path)
    assert (heard.audio, heard.sound) == ("abc", None)


def put(store, key, response):
    return store.put_batch({key: (store.sounds.measured(response), {})}, {}).responses[key]


def test_a_spoken_answer_is_found_again_with_its_file_and_what_was_measured(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        written = put(store, b"k", Response.spoken("hm", SPEECH))
        put(store, b"again", Response.spoken("hm", SPEECH))
    with Store(tmp_path / "s", "two") as store:
        found = store.find([b"k"])[b"k"].response
        assert found == written
        assert (found.text, found.sound.data, found.sound.silence) == ("hm", b"", 0.5)
        assert store.sounds.clip(found.audio).source.location.read_bytes() == SPEECH
    (file,) = (path for path in (tmp_path / "s.sounds").rglob("*") if path.is_file())
    assert file.name == f"{found.audio}.wav"


def test_an_answer_whose_file_is_gone_is_asked_again(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        audio = put(store, b"k", Response.spoken("hm", SPEECH)).audio
        (tmp_path / "s.sounds" / audio[:2] / f"{audio}.wav").unlink()
        assert store.find([b"k"]) == {}
        assert store.damaged == {b"k"}
        assert put(store, b"k", Response.spoken("hm", SPEECH)).audio == audio
        assert store.find([b"k"]).keys() == {b"k"}


def test_a_merged_store_takes_the_audio_over_and_a_further_store_lends_its_own(tmp_path):
    with Store(tmp_path / "theirs", "one") as theirs:
        put(theirs, b"k", Response.spoken("hm", SPEECH))
    with Store(tmp_path / "mine", "two", extras=[tmp_path / "theirs"]) as mine:
        assert mine.find([b"k"])[b"k"].response.text == "hm"
    with Store(tmp_path / "merged", "three") as merged:
        assert merged.absorb(tmp_path / "theirs") == 0
        audio = merged.find([b"k"])[b"k"].response.audio
    assert (tmp_path / "merged.sounds" / audio[:2] / f"{audio}.wav").read_bytes() == SPEECH


def test_answers_without_audio_are_written_as_before(tmp_path):
    with Store(tmp_path / "s", "one") as store:
        put(store, b"k", Response.of("hm"))
        ((detail,),) = store._own.connection.execute("SELECT detail FROM answer").fetchall()
    assert detail == '{"usage":{},"latency_s":null,"truncated_s":[],"first_token_s":null,"share_s":null}'
    assert not (tmp_path / "s.sounds").exists()


def test_a_file_that_is_no_longer_what_was_said_is_not_played_and_not_taken_over(tmp_path):
    files = SoundFiles([tmp_path / "s"])
    (sound,) = files.measured(Response.spoken("hm", SPEECH)).sounds
    files.keep([sound])
    assert files.clip(sound.digest) is not None
    (file,) = (tmp_path / "s.sounds").rglob("*.wav")
    file.write_bytes(SPEECH[:-200])
    again = SoundFiles([tmp_path / "s"])
    assert again.clip(sound.digest) is None
    other = SoundFiles([tmp_path / "other"])
    other.take_over([sound], tmp_path / "s")
    assert not other.has([sound])
