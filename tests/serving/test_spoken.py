"""A served model that speaks, asked by OpenAI's own client and by ours."""

import base64
import io

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio.wav import wav_bytes
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, PlayedAudio, Request, Settings
from pytest_audiobench.models.openai.model import OpenAIModel

openai = pytest.importorskip("openai")

WAVE = (np.sin(np.arange(8_000) * 0.05) * 8_000).astype("<i2").astype(np.float32) / np.float32(32768)
WAV = bytes(wav_bytes(WAVE, 16_000))


@pytest.fixture(scope="module")
def echo(start):
    return start("serve", "baseline:echo")


def said(server, kind="wav", **more):
    part = {"type": "input_audio", "input_audio": {"data": base64.b64encode(WAV).decode(), "format": "wav"}}
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="unused", max_retries=0)
    return client.chat.completions.create(
        model="echo",
        messages=[{"role": "user", "content": [part, {"type": "text", "text": "Say it again."}]}],
        **{"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": kind}, **more},
    )


def test_the_published_shape_holds_what_the_model_said_byte_for_byte(echo):
    message = said(echo).choices[0].message
    assert message.content is None
    assert base64.b64decode(message.audio.data) == WAV
    assert message.audio.transcript == "I cannot tell."
    assert message.audio.id.startswith("audio_")


@pytest.mark.parametrize("stream", ["no", "yes"])
def test_our_own_client_gets_what_was_said(echo, stream):
    model = OpenAIModel("echo", {"base_url": f"{echo.url}/v1", "voice": "any", "probe": "no", "stream": stream})
    request = Request(
        "k", "set", "id", "answer", "open", (Message("user", (AudioSlot(0), "Again.")),), (), (), Settings(speech=True)
    )
    try:
        (response,) = model.ask([Ask(request, (PlayedAudio(WAVE, 16_000, "", 16_000, len(WAVE), "test"),))])
    finally:
        model.close()
    (sound,) = response.sounds
    if stream == "no":
        assert sound.data == WAV
        return
    samples, rate_hz = soundfile.read(io.BytesIO(sound.data))
    assert (rate_hz, len(samples)) == (24_000, 12_000)
    assert 0 < response.first_token_s <= response.first_audio_s


def test_pcm16_is_at_24_khz_and_an_encoding_that_is_not_at_hand_is_refused(echo):
    assert len(base64.b64decode(said(echo, "pcm16").choices[0].message.audio.data)) == 2 * 12_000
    with pytest.raises(openai.BadRequestError, match="audio is wav: ask for that"):
        said(echo, "mp3")
    with pytest.raises(openai.BadRequestError, match="a stream is pcm16"):
        said(echo, stream=True)
    with pytest.raises(openai.BadRequestError, match="a voice and a format among"):
        said(echo, audio={"format": "wav"})


def test_who_wants_text_gets_text(echo):
    message = said(echo, modalities=["text"]).choices[0].message
    assert (message.content, message.audio) == ("I cannot tell.", None)


def test_a_model_of_text_says_that_it_cannot_speak(start):
    with pytest.raises(openai.BadRequestError, match="answers in text alone"):
        said(start("serve", "echo=baseline:listener"))
