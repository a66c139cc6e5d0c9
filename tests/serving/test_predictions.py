"""predictions_v1 over real HTTP: the same answers as in process, and every way in which a call can be wrong."""

import base64
import json
from pathlib import Path

import pytest

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.datasets.bundled import bundled_folder
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request, Settings
from pytest_audiobench.models.predictions_v1.request import PLACEHOLDER
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.spec import parse_spec

SLOW = Path(__file__).with_name("slow_server.py")
CHECKPOINT = f"hf:{Path(__file__).parents[2] / 'fixtures' / 'checkpoints' / 'good'},device=cpu"


def wav_input(content, **changed):
    packed = base64.b64encode(content).decode()
    return {"payload_type": "base64_wav", "data": packed, "sample_rate": 16000, **changed}


@pytest.fixture(scope="module")
def slow(start):
    return start(SLOW)


@pytest.fixture(scope="module")
def listener(start):
    return start("serve", "baseline:listener")


@pytest.fixture(scope="module")
def checkpoint(start):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    return start("serve", CHECKPOINT)


def _rows(task, count):
    lines = (bundled_folder() / f"{task}.jsonl").read_text().splitlines()[:count]
    return [json.loads(line) for line in lines]


def _in_process(spec, rows, task="choice", **settings):
    model = make(parse_spec(spec))
    return [response.text for response in model.ask(_asks(model, rows, task, **settings))]


def _asks(model, rows, task="choice", **settings):
    model.load()
    limits = model.limits
    asks = []
    for row in rows:
        clip = Clip(FileSource(DataRoot("bundled", bundled_folder()), row["audio"]))
        heard = decode(clip, limits.rate_hz, limits.max_clip_s)
        message = Message("user", (AudioSlot(0), row["question"]))
        choices = tuple(row.get("choices", ()))
        asks.append(
            Ask(Request(row["id"], "", row["id"], "", task, (message,), (), choices, Settings(**settings)), (heard,))
        )
    return asks


def _files(rows):
    return [(bundled_folder() / row["audio"]).read_bytes() for row in rows]


@pytest.mark.parametrize("task", ["digits", "sounds"])
def test_the_listener_answers_as_in_process(listener, item, task):
    rows = _rows(task, 20)
    items = [
        item(row["id"], file, text=row["question"], choices=row["choices"])
        for row, file in zip(rows, _files(rows), strict=True)
    ]
    told = {row["sample_id"]: row["predictions"] for row in listener.answer(*reversed(items))}
    expected = _in_process("baseline:listener", rows)
    assert [told[row["id"]] for row in rows] == [[text] for text in expected]
    assert len(set(expected)) > 1


def test_a_checkpoint_answers_as_in_process(checkpoint, item):
    rows = _rows("digits", 12)
    items = [
        item(row["id"], file, text=PLACEHOLDER + row["question"], max_tokens=8)
        for row, file in zip(rows, _files(rows), strict=True)
    ]
    told = checkpoint.answer(*items)
    assert [row["predictions"][0] for row in told] == _in_process(CHECKPOINT, rows, max_new_tokens=8)
    assert all(row["usage"]["prompt_tokens"] > 1 and row["finish_reason"] in ("stop", "length") for row in told)


def test_our_own_client_gets_the_answers_that_the_checkpoint_gives_in_process(checkpoint):
    pytest.importorskip("httpx")
    rows = _rows("digits", 20)
    far = make(parse_spec(f"http:{checkpoint.url}"))
    try:
        told = [response.text for response in far.ask(_asks(far, rows, max_new_tokens=8))]
    finally:
        far.close()
    assert told == _in_process(CHECKPOINT, rows, max_new_tokens=8)


def test_a_choice_without_choices_is_its_items_error(listener, item, wav):
    good, bad = listener.answer(item("good", wav()), item("bad", wav(), task="choice"))
    assert good["error"] is None
    assert "no choices" in bad["error"]
    assert bad["predictions"] == []


def test_a_task_that_the_model_cannot_do_is_its_items_error(start, item, wav):
    writer = start(SLOW, "--tasks", "transcription")
    told, untold, other, choice = writer.answer(
        item("told", wav(), task="transcription"),
        item("untold", wav()),
        item("other", wav(), task="open"),
        item("choice", wav(), choices=["rain", "wind"]),
    )
    assert [row["error"] for row in (told, untold)] == [None, None]
    assert other["error"] == "the model can do transcription and nothing else, and is asked for open"
    assert choice["error"] == "the model can do transcription and nothing else, and is asked for choice"
    assert writer.ask("/info").json["limits"]["tasks"] == ["transcription"]


def test_a_call_is_one_batch_in_order(slow, item, wav):
    told = slow.answer(*(item(str(i), wav(duration_s=0.1 * (i + 1))) for i in range(5)))
    assert [row["predictions"][0].split("|")[:2] for row in told] == [["5", f"0.{i + 1}0"] for i in range(5)]


def test_a_call_beyond_the_models_seconds_of_audio_is_cut(slow, item, wav):
    told = slow.answer(*(item(str(i), wav(duration_s=3.9)) for i in range(4)))
    assert [row["predictions"][0][0] for row in told] == ["2", "2", "2", "2"]


def test_audio_is_resampled_and_cut_at_the_window_and_the_cut_is_told(slow, item, wav):
    short, long, asked = slow.answer(
        item("short", wav_input(wav(duration_s=1, rate_hz=44_100))),
        item("long", wav(duration_s=5, rate_hz=8000)),
        item("asked", wav(duration_s=3), max_length_seconds=2),
    )
    assert short["predictions"][0].startswith("3|1.00|")
    assert short["usage"] == {"prompt_tokens": 7, "completion_tokens": 3}
    assert long["predictions"][0].startswith("3|4.00|")
    assert long["usage"]["audio_truncated_ms"] == 1000
    assert asked["usage"]["audio_truncated_ms"] == 1000


def test_placeholders_mark_the_places_of_clips(slow, item, wav):
    clips = [wav(duration_s=0.1), wav(duration_s=0.2)]
    between, before, wrong = slow.answer(
        item("between", *clips, text=f"Here {PLACEHOLDER} and there {PLACEHOLDER}?"),
        item("before", *clips, text="Which is longer?"),
        item("wrong", *clips, text=f"Only {PLACEHOLDER} one?"),
    )
    slots = "AudioSlot(clip=0), {}AudioSlot(clip=1)"
    assert f"('Here ', {slots.format(chr(39) + ' and there ' + chr(39) + ', ')}, '?')" in between["predictions"][0]
    assert f"({slots.format('')}, 'Which is longer?')" in before["predictions"][0]
    assert wrong["error"] == "1 audio placeholders in the messages and 2 audio_inputs"


def test_settings_travel(slow, item, wav):
    (row,) = slow.answer(item("a", wav(), max_tokens=9, temperature=0.25, top_p=0.5, something="else"))
    assert row["predictions"][0].endswith("Settings(max_new_tokens=9, temperature='0.25', top_p='0.5', speech=False)")
    assert row["finish_reason"] == "length"


def _changed(made, **changes):
    return {**made, **changes}


BAD_ITEMS = {
    "no messages": ({"messages": []}, "messages is empty"),
    "messages no list": ({"messages": "hi"}, "messages is a text, not a list"),
    "a stranger's role": ({"messages": [{"role": "tool", "content": ""}]}, "role is 'tool'"),
    "no content": ({"messages": [{"role": "user"}]}, "content is null"),
    "half a character": ({"messages": [{"role": "user", "content": "\ud800"}]}, "surrogate"),
    "an unknown key": ({"extra": 1}, "'extra' is not a key of a request"),
    "audio no list": ({"audio_inputs": None}, "audio_inputs is null"),
    "too many clips": ({"audio_inputs": [wav_input(b"x")] * 4}, "takes 3 at most"),
    "no base64": ({"audio_inputs": [wav_input(b"", data="%%%")]}, "not base64"),
    "no audio": ({"audio_inputs": [wav_input(b"RIFF, perhaps")]}, "not audio that libsndfile can read"),
    "no payload type": ({"audio_inputs": [wav_input(b"", payload_type=["base64_wav"])]}, "payload_type"),
    "a file": ({"audio_inputs": [wav_input(b"", payload_type="file_path", data="/etc/passwd")]}, "takes base64_wav"),
    "a URL": ({"audio_inputs": [wav_input(b"", payload_type="file_url", data="http://x/")]}, "takes base64_wav"),
    "no rate": ({"audio_inputs": [wav_input(b"", sample_rate="16k")]}, "sample_rate"),
    "hot": ({"generation_config": {"temperature": -1}}, "temperature is '-1'"),
    "endless": ({"generation_config": {"max_tokens": 10**9}}, "max_tokens"),
    "true tokens": ({"generation_config": {"max_tokens": True}}, "max_tokens"),
    "infinite": ({"generation_config": {"temperature": 1e999}}, "temperature"),
    "choices no list": ({"generation_config": {"choices": "ab"}}, "choices is a text"),
    "no config": ({"generation_config": None}, "generation_config is null"),
}


def test_a_bad_item_is_its_own_error_and_others_are_answered(slow, item, wav):
    for name, (change, why) in BAD_ITEMS.items():
        # json.dumps writes 1e999 as Infinity, which is not JSON; a literal is what a hostile client sends.
        call = {
            "schema_version": "predictions_v1",
            "requests": [item("a", wav()), _changed(item("x", wav()), **change), item("z", wav())],
        }
        body = json.dumps(call).replace("Infinity", "1e999").encode()
        reply = slow.ask("/predict", body)
        assert reply.status == 200, (name, reply)
        first, bad, last = reply.json["responses"]
        assert why in bad["error"], (name, bad)
        assert bad["predictions"] == []
        assert first["error"] is last["error"] is None
        assert first["predictions"][0].startswith("2|")


def test_a_cut_off_wav_is_its_items_error(slow, item, wav):
    (row,) = slow.answer(item("a", wav(duration_s=1)[:-8000]))
    assert "cut off" in row["error"]


def test_a_model_that_refuses_one_question_answers_the_others(slow, item, wav):
    told = slow.answer(item("bad", wav()), item("good", wav()))
    assert [row["error"] for row in told] == ["this one is not for me", None]


def test_a_model_that_gives_no_answer_is_its_items_error(slow, item, wav):
    (row,) = slow.answer(item("a", wav(), text="mute"))
    assert (row["predictions"], row["finish_reason"], row["error"]) == ([], None, "the model gave no answer")


BAD_CALLS = {
    "no json": (b'{"schema_version": ', 422),
    "not a number": (b'{"schema_version": "predictions_v1", "requests": [NaN]}', 422),
    "deep": (b"[" * 100_000, 422),
    "bytes": (b"\xff\xfe\xff", 422),
    "empty": (b"", 422),
    "a list": (b"[]", 400),
    "no version": (b'{"requests": []}', 400),
    "another version": (b'{"schema_version": "predictions_v2", "requests": []}', 400),
    "an unknown key": (b'{"schema_version": "predictions_v1", "requests": [], "model": "x"}', 400),
    "no requests": (b'{"schema_version": "predictions_v1"}', 400),
    "requests no list": (b'{"schema_version": "predictions_v1", "requests": {}}', 400),
    "no object": (b'{"schema_version": "predictions_v1", "requests": [1]}', 400),
    "no id": (b'{"schema_version": "predictions_v1", "requests": [{}]}', 400),
    "a number for an id": (b'{"schema_version": "predictions_v1", "requests": [{"sample_id": 1}]}', 400),
    "an empty id": (b'{"schema_version": "predictions_v1", "requests": [{"sample_id": " "}]}', 400),
}


def test_a_bad_call_is_refused_as_a_whole(slow):
    for name, (body, status) in BAD_CALLS.items():
        reply = slow.ask("/predict", body)
        assert (reply.status, bool(reply.json["detail"])) == (status, True), name


def test_too_many_requests_are_413_before_anything_else_is_looked_at(slow, item, wav):
    assert slow.predict(item("same", wav()), item("same", wav())).status == 400
    reply = slow.predict(*[item("same", wav())] * 9)
    assert reply.status == 413
    assert "max_batch_size is 8" in reply.json["detail"]


def test_no_requests_are_no_answers(slow):
    assert slow.answer() == []


def test_info_tells_what_a_client_needs(slow):
    info = slow.ask("/info").json
    assert info["model"] == "slow:model"
    assert info["model_revision"]
    assert (info["max_batch_size"], info["supports_batching"]) == (8, True)
    assert info["audio_payload_types"] == ["base64_wav"]
    assert info["schema_versions"] == ["predictions_v1"]
    assert info["load_status"] == "ready"
    assert info["limits"] == {
        "max_batch_s": 10.0,
        "rate_hz": 16_000,
        "max_clip_s": 4.0,
        "min_clips": 0,
        "max_clips": 3,
        "tasks": ["choice", "transcription", "events", "open"],
        "chunked_tasks": [],
    }


def test_a_models_crash_is_its_samples_error_and_is_told(start, item, wav):
    slow = start(SLOW)
    (row,) = slow.answer(item("a", wav(), text="crash"))
    assert row["error"] == "ZeroDivisionError: the device fell off"
    assert slow.ask("/info").json["last_error"] == row["error"]
    assert slow.answer(item("b", wav()))[0]["error"] is None
    assert "ZeroDivisionError" in slow.stop()[1]


def test_a_failure_that_may_pass_is_503(slow, item, wav):
    reply = slow.predict(item("a", wav(), text="later"))
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert "cooled" in reply.json["detail"]
