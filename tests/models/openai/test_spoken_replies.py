"""Speech as it is asked of an OpenAI-compatible server, and what is read of the replies that hold it."""

import base64

import numpy as np
import pytest

from pytest_audiobench.audio.wav import wav_bytes
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.openai.model import OpenAIModel

WAV = bytes(wav_bytes(np.linspace(-0.5, 0.5, 800, dtype=np.float32), 24_000))
PCM = WAV[44:]


def b64(data):
    return base64.b64encode(data).decode()


def audio(data=WAV, **more):
    return {"id": "audio_1", "data": b64(data), "expires_at": 1, "transcript": "It is seven.", **more}


def answered(peer, talk, model_at, ask_about, heard, reply, **options):
    peer.behave = lambda call: talk.Reply(reply)
    model = model_at(peer, voice="alloy", **options)
    return model.ask([ask_about("Which?", heard(np.zeros(1000)), task="open", speech=True)])[0]


def test_speech_is_asked_for_where_it_is_wanted_and_nowhere_else(peer, talk, model_at, asks):
    model = model_at(peer, voice="voice_123")
    model.ask([*asks(1, speech=True), *asks(1)])
    spoken, plain = sorted((call.body for call in peer.calls), key=lambda body: "audio" not in body)
    assert spoken["modalities"] == ["text", "audio"]
    assert spoken["audio"] == {"voice": {"id": "voice_123"}, "format": "wav"}
    assert not {"modalities", "audio"} & plain.keys()


def test_the_published_reply_is_read_with_its_transcript_and_its_bytes(peer, talk, model_at, ask_about, heard):
    reply = talk.completion(None, audio=audio())
    response = answered(peer, talk, model_at, ask_about, heard, reply)
    assert (response.text, response.sounds[0].data) == ("It is seven.", WAV)
    assert [part.kind for part in response.outputs[0].parts] == ["text", "audio"]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "audio", "audio": {"data": b64(WAV), "format": "wav"}},
        {"type": "output_audio", "output_audio": {"data": b64(WAV)}},
        {"type": "audio_url", "audio_url": {"url": f"data:audio/wav;base64,{b64(WAV)}"}},
    ],
    ids=lambda part: part["type"],
)
def test_audio_among_the_parts_of_a_message_is_read(peer, talk, model_at, ask_about, heard, part):
    reply = talk.completion([{"type": "text", "text": "seven"}, part])
    response = answered(peer, talk, model_at, ask_about, heard, reply)
    assert (response.text, response.sounds[0].data) == ("seven", WAV)


def test_audio_in_a_choice_of_its_own_is_read(peer, talk, model_at, ask_about, heard):
    reply = talk.completion("seven")
    reply["choices"].append({"message": {"role": "assistant", "content": None, "audio": {"data": b64(WAV)}}})
    response = answered(peer, talk, model_at, ask_about, heard, reply)
    assert (response.text, response.sounds[0].data) == ("seven", WAV)


def test_samples_without_a_header_become_a_wav_file_at_24_khz(peer, talk, model_at, ask_about, heard):
    reply = talk.completion(None, audio=audio(PCM))
    response = answered(peer, talk, model_at, ask_about, heard, reply, voice_format="pcm16")
    assert response.sounds[0].data == WAV
    assert peer.calls[0].body["audio"]["format"] == "pcm16"


def test_a_stream_is_put_together_and_the_first_audio_is_timed(peer, talk, model_at, ask_about, heard):
    deltas = [
        {"role": "assistant", "audio": {"id": "audio_1", "transcript": "It is "}},
        {"audio": {"id": "audio_1", "data": b64(PCM[:500])}},
        {"audio": {"id": "audio_1", "transcript": "seven."}},
        {"audio": {"id": "audio_1", "data": b64(PCM[500:])}},
        {"audio": {"expires_at": 1}},
    ]
    chunks = [{"choices": [{"delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    response = answered(peer, talk, model_at, ask_about, heard, talk.events(*chunks), stream="yes")
    assert (response.text, response.sounds[0].data) == ("It is seven.", WAV)
    assert 0 < response.first_token_s <= response.first_audio_s <= response.latency_s


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"audio": audio(b"")}, ""),
        ({"audio": {"data": "no base64!"}}, "not base64"),
        ({"audio": {"data": 7}}, "without any data"),
        ({"content": [{"type": "audio", "audio": {"data": b64(WAV)}}] * 2}, "2 parts of audio"),
    ],
    ids=["empty", "text", "number", "two"],
)
def test_audio_that_cannot_be_read_is_that_samples_error(peer, talk, model_at, ask_about, heard, message, says):
    reply = talk.completion(None)
    reply["choices"][0]["message"] |= message
    response = answered(peer, talk, model_at, ask_about, heard, reply)
    assert says in (response.error or "")
    assert bool(response.error) == bool(says)
    assert not response.sounds


def test_a_voice_is_part_of_what_identifies_the_model_and_only_then():
    plain = OpenAIModel("m")
    assert "speech" not in plain.fingerprint()
    assert not plain.limits.speaks
    model = OpenAIModel("m", {"voice": "alloy"})
    assert model.fingerprint()["speech"] == "alloy, wav"
    assert model.limits.speaks
    assert OpenAIModel("m", {"voice": "alloy", "stream": "yes"}).fingerprint()["speech"] == "alloy, pcm16"


@pytest.mark.parametrize(
    "options",
    [
        {"voice": ""},
        {"voice_format": "wav"},
        {"voice": "a", "voice_format": "aac"},
        {"voice": "a", "api": "transcriptions"},
        {"voice": "a", "stream": "yes", "voice_format": "wav"},
    ],
    ids=str,
)
def test_a_voice_that_cannot_be_asked_for_is_refused(options):
    with pytest.raises(UsageError, match="voice"):
        OpenAIModel("m", options)
