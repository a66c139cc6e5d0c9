"""The OpenAI shape, asked by OpenAI's own client."""

import base64
import io
import json
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.datasets.bundled import bundled_folder

openai = pytest.importorskip("openai")

SLOW = Path(__file__).with_name("slow_server.py")


def _client(server, key="unused"):
    return openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0)


def _clip(data, kind="wav"):
    return {"type": "input_audio", "input_audio": {"data": base64.b64encode(data).decode(), "format": kind}}


def _user(*parts):
    return [{"role": "user", "content": [{"type": "text", "text": p} if isinstance(p, str) else p for p in parts]}]


@pytest.fixture(scope="module")
def listener(start):
    return start("serve", "baseline:listener")


@pytest.fixture(scope="module")
def slow(start):
    return _client(start(SLOW))


def _rows(task, count):
    return [json.loads(line) for line in (bundled_folder() / f"{task}.jsonl").read_text().splitlines()[:count]]


def test_the_client_gets_the_answers_of_predictions_v1(listener, item):
    rows = _rows("digits", 10)
    client = _client(listener)
    for row in rows:
        file = (bundled_folder() / row["audio"]).read_bytes()
        asked = client.chat.completions.create(
            model="listener",
            messages=_user(_clip(file, "flac"), row["question"]),
            extra_body={"choices": row["choices"]},
        )
        (told,) = listener.answer(item("a", file, text=row["question"], choices=row["choices"]))
        assert asked.choices[0].message.content == told["predictions"][0]
        assert asked.choices[0].finish_reason == "stop"


def test_a_checkpoint_answers_as_in_predictions_v1(start, item):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    good = Path(__file__).parents[2] / "fixtures" / "checkpoints" / "good"
    server = start("serve", f"tiny=hf:{good},device=cpu")
    (row,) = _rows("digits", 1)
    file = (bundled_folder() / row["audio"]).read_bytes()
    asked = _client(server).chat.completions.create(
        model="tiny", messages=_user(_clip(file, "flac"), row["question"]), max_completion_tokens=8
    )
    (told,) = server.answer(item("a", file, text=row["question"], max_tokens=8))
    assert asked.choices[0].message.content == told["predictions"][0]
    assert asked.usage.prompt_tokens == told["usage"]["prompt_tokens"]
    assert asked.usage.total_tokens == asked.usage.prompt_tokens + asked.usage.completion_tokens


def test_texts_and_clips_keep_their_order_and_settings_travel(slow, wav):
    asked = slow.chat.completions.create(
        model="slow",
        messages=[
            {"role": "system", "content": "Listen."},
            *_user("First", _clip(wav(duration_s=0.1)), "second", _clip(wav(duration_s=0.2))),
        ],
        max_tokens=5,
        temperature=0.5,
        top_p=0.9,
    )
    _, played, messages, settings = asked.choices[0].message.content.split("|")
    assert played == "0.10,0.20"
    assert "('Listen.',)" in messages
    assert "('First', AudioSlot(clip=0), 'second', AudioSlot(clip=1))" in messages
    assert settings == "Settings(max_new_tokens=5, temperature='0.5', top_p='0.9', speech=False)"
    assert asked.choices[0].finish_reason == "length"


def test_wav_mp3_and_flac_are_heard(slow):
    wave = 0.3 * np.sin(np.arange(16_000) / 5)
    for kind in ("wav", "mp3", "flac"):
        file = io.BytesIO()
        soundfile.write(file, wave, 16_000, format=kind.upper())
        asked = slow.chat.completions.create(model="slow", messages=_user(_clip(file.getvalue(), kind), "?"))
        assert float(asked.choices[0].message.content.split("|")[1]) == pytest.approx(1.0, abs=0.1)


def test_a_stream_says_the_same(slow, wav):
    question = {"model": "slow", "messages": _user(_clip(wav()), "?")}
    whole = slow.chat.completions.create(**question)
    stream = slow.chat.completions.create(**question, stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "length"
    assert chunks[-1].usage == whole.usage


def test_tokens_that_nobody_counted_are_not_told_as_zero(slow, wav):
    counted, half = (
        slow.chat.completions.create(model="slow", messages=_user(words)) for words in ("?", "half counted")
    )
    assert (counted.usage.prompt_tokens, counted.usage.completion_tokens, counted.usage.total_tokens) == (7, 3, 10)
    assert half.usage is None


def test_what_was_cut_off_is_told_beside_the_answer(slow, wav):
    messages = _user(_clip(wav(duration_s=5)), "half counted")
    assert slow.chat.completions.create(model="slow", messages=messages).audio_truncated_ms == 1000


def test_models_are_listed_and_others_are_unknown(slow):
    assert [model.id for model in slow.models.list()] == ["slow", "slow:model"]
    with pytest.raises(openai.NotFoundError, match="there is no model 'gpt-4'"):
        slow.chat.completions.create(model="gpt-4", messages=_user("?"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"n": 2}, "n is not supported"),
        ({"stop": ["x"]}, "stop is not supported"),
        ({"temperature": 1e9}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "tool", "content": "x", "tool_call_id": "1"}]}, "role is 'tool'"),
        ({"messages": _user({"type": "image_url", "image_url": {"url": "x"}})}, "neither text nor input_audio"),
        ({"messages": _user(_clip(b"no sound"))}, "not audio"),
        ({"messages": _user(_clip(b"OggS", "ogg"))}, "wav, mp3, flac"),
        ({"messages": [{"role": "user", "content": 7}]}, "content is a number"),
    ],
)
def test_what_cannot_be_asked_is_400_and_says_why(slow, change, why):
    with pytest.raises(openai.BadRequestError, match=why):
        slow.chat.completions.create(**{"model": "slow", "messages": _user("?"), **change})


def test_a_models_own_refusal_is_400(slow):
    with pytest.raises(openai.InternalServerError, match="cooled"):
        slow.chat.completions.create(model="slow", messages=_user("later"))
    with pytest.raises(openai.BadRequestError, match="the device fell off"):
        slow.chat.completions.create(model="slow", messages=_user("crash"))


def test_a_model_that_gives_no_answer_has_not_answered_with_nothing(slow):
    with pytest.raises(openai.BadRequestError, match="the model gave no answer"):
        slow.chat.completions.create(model="slow", messages=_user("mute"))


def test_a_key_is_needed_where_there_is_a_token(start):
    server = start("serve", "baseline:chance", env={"AUDIOBENCH_SERVE_TOKEN": "sesame"})
    assert _client(server, "sesame").models.list().data
    with pytest.raises(openai.AuthenticationError):
        _client(server, "wrong").models.list()


def test_transcriptions_are_those_of_the_listener(listener):
    pytest.importorskip("pocketsphinx")
    pytest.importorskip("python_multipart")
    rows = _rows("transcription", 4)
    client = _client(listener)
    from pytest_audiobench.audio.decode import decode_bytes
    from pytest_audiobench.models.bundled.listener import Sphinx

    for row in rows:
        path = bundled_folder() / row["audio"]
        heard = decode_bytes(row["id"], path.read_bytes(), 16_000, 30.0)
        asked = client.audio.transcriptions.create(model="listener", file=path)
        assert asked.text == Sphinx().transcript(heard.samples)
        text = client.audio.transcriptions.create(model="listener", file=path, response_format="text")
        assert text.strip() == asked.text
    with pytest.raises(openai.BadRequestError, match="not audio"):
        client.audio.transcriptions.create(model="listener", file=("a.wav", b"no sound"))
