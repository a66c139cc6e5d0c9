"""``http:`` against a server that follows the predictions_v1 contract and shares no code with us."""

import base64
import io
import json
import logging
import sys
import threading

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio.clip import Clip, DataRoot, Edit, FileSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.errors import FatalError, InfrastructureError, UsageError
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request
from pytest_audiobench.models.predictions_v1 import client as predictions_client
from pytest_audiobench.models.predictions_v1.model import PredictionsModel
from pytest_audiobench.protocols.free_text import with_slots
from pytest_audiobench.serving.predictions_v1 import placed


def texts(responses):
    return [response.text if response.error is None else f"error: {response.error}" for response in responses]


def tones(count):
    return [f"{300 + 100 * number} Hz" for number in range(count)]


def test_answers_come_back_in_the_order_of_the_questions_whatever_the_servers_order(stranger, http_model, tone_asks):
    server = stranger()
    answers = http_model(server).ask(tone_asks(10))
    assert texts(answers) == tones(10)
    assert sorted(len(batch) for batch in server.batches) == [2, 4, 4]
    assert answers[0].finish == "stop"
    assert answers[0].usage == {"prompt_tokens": 10, "completion_tokens": 1}
    assert answers[0].latency_s == 0.001


@pytest.mark.parametrize(
    ("info", "batches"),
    [
        ({"max_batch_size": 3}, [1, 3, 3, 3]),
        ({"supports_batching": False}, [1] * 10),
        ({"max_batch_size": 4096}, [10]),
    ],
)
def test_batches_are_as_large_as_the_server_takes(stranger, http_model, tone_asks, info, batches):
    server = stranger(**info)
    http_model(server).ask(tone_asks(10))
    assert sorted(len(batch) for batch in server.batches) == batches


def test_a_server_that_does_not_say_how_much_it_takes_gets_eight(stranger, http_model, tone_asks):
    server = stranger()
    model = http_model(server)
    server.info["max_batch_size"] = "8"
    model.ask(tone_asks(10))
    assert sorted(len(batch) for batch in server.batches) == [2, 8]


def test_batches_are_smaller_when_asked_for(stranger, http_model, tone_asks):
    server = stranger()
    http_model(server, batch="2").ask(tone_asks(5))
    assert sorted(len(batch) for batch in server.batches) == [1, 2, 2]


def test_several_batches_are_in_flight_only_when_asked_for(stranger, http_model, tone_asks):
    server = stranger(max_batch_size=1)
    together = threading.Barrier(3, timeout=60)

    def meet(handler, asked):
        together.wait()
        handler.reply(asked)

    model = http_model(server, concurrency="3")
    assert texts(model.ask(tone_asks(1))) == tones(1)
    server.faults += [meet] * 6
    assert texts(model.ask(tone_asks(6))) == tones(6)


def test_the_calls_of_the_next_batch_follow_those_of_one_that_takes_long(stranger, http_model, tone_asks):
    """The first call is answered when all others have come: whoever waits for its batch first never sends them."""
    server, first, others = stranger(max_batch_size=1), tone_asks(1), tone_asks(12)
    model = http_model(server, concurrency="2")
    assert texts(model.ask(first)) == tones(1)
    answered = threading.Semaphore(0)

    def last(handler, asked):
        for _ in range(11):
            assert answered.acquire(timeout=60)
        handler.reply(asked)

    def counted(handler, asked):
        handler.reply(asked)
        answered.release()

    server.faults += [last, *[counted] * 11]
    assert model.in_flight > 1
    begun = [model.begin(others[start : start + 4]) for start in (0, 4, 8)]
    assert [text for reply in begun for text in texts(reply.result())] == tones(12)


def test_batches_at_once_share_the_look_at_who_answers(stranger, http_model, tone_asks):
    server = stranger()
    model = http_model(server, concurrency="2")
    model.load()
    before, answered = server.looks, threading.Barrier(2, timeout=60)

    def together(handler, asked):
        answered.wait()
        handler.reply(asked)

    server.faults += [together] * 2
    begun = [model.begin(tone_asks(4)), model.begin(tone_asks(4))]
    assert [texts(reply.result()) for reply in begun] == [tones(4)] * 2
    # Once before, since nothing else was on its way, and once or twice after.
    assert server.looks - before <= 3


def test_a_server_may_be_believed_to_hear(stranger, http_model, tone_asks):
    """As one that counts words and no audio, which the probe takes for deaf."""
    server = stranger()
    server.deaf, server.strict = True, False
    with pytest.raises(FatalError, match="does not hear"):
        http_model(server).load()
    before = len(server.batches)
    model = http_model(server, probe="no")
    model.load()
    assert model.hearing.status == "unproven"
    assert len(server.batches) == before
    assert texts(model.ask(tone_asks(2))) == tones(2)
    with pytest.raises(UsageError, match="probe"):
        http_model(server, probe="maybe")


def test_what_is_sent_is_the_contracts_request_and_no_more(stranger, http_model, heard, ask_about):
    server = stranger()
    sound = heard(np.array([0.5, -0.25, 1.0, -1.0, 2.0], dtype=np.float32), rate_hz=16_000)
    ask = ask_about('Say "ä".', sound, task="open", max_new_tokens=7, temperature="0.5", top_p="0.9")
    http_model(server, max_s="10").ask([ask])
    (item,) = server.asked
    assert set(item) == {"sample_id", "messages", "audio_inputs", "generation_config"}
    assert item["messages"] == [{"role": "user", "content": '<Audio><AudioHere></Audio> Say "ä".'}]
    assert item["generation_config"] == {"max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "max_length_seconds": 10}
    (audio,) = item["audio_inputs"]
    samples, rate_hz = soundfile.read(io.BytesIO(base64.b64decode(audio.pop("data"))), dtype="int16")
    assert audio == {"payload_type": "base64_wav", "sample_rate": 16_000}
    assert rate_hz == 16_000
    # Beyond the range of 16 bits a sample is clipped.
    assert samples.tolist() == [16384, -8192, 32767, -32768, 32767]


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [("stranger", {}, False), ("stranger", {"hints": "yes"}, True), ("pytest-audiobench 9", {}, True)],
)
def test_task_and_choices_are_told_to_our_servers_and_on_demand(
    stranger, http_model, heard, ask_about, name, options, told
):
    server = stranger(name=name)
    http_model(server, **options).ask([ask_about("Which?", heard(np.zeros(100)), choices=("cat", "dog"))])
    config = server.asked[0]["generation_config"]
    hints = {"task": "choice", "choices": ["cat", "dog"]} if told else {}
    assert config == {"max_tokens": 256, "temperature": 0.0, **hints}


def test_a_spec_can_send_further_keys_of_the_generation_config(stranger, http_model, heard, ask_about):
    server = stranger()
    model = http_model(server, generation="lora_scale:0.5;encoder_off:beats")
    model.ask([ask_about("Which?", heard(np.zeros(100)), choices=("cat", "dog"))])
    config = server.asked[0]["generation_config"]
    assert config == {"max_tokens": 256, "temperature": 0.0, "lora_scale": 0.5, "encoder_off": "beats"}
    assert model.fingerprint()["generation"] == 'encoder_off: "beats"; lora_scale: 0.5'
    assert "generation" not in http_model(server).fingerprint()


@pytest.mark.parametrize("text", ["lora_scale", "lora_scale:", ":0", "a:1;a:2", "max_tokens:9", "a b:1", "a:1;"])
def test_further_keys_that_cannot_be_read_are_refused(stranger, http_model, text):
    with pytest.raises(UsageError, match="of an http model cannot be read at"):
        http_model(stranger(), generation=text)


def test_floats_lose_nothing(stranger, http_model, heard, ask_about):
    server = stranger()
    wave = np.array([0.1, -1.5, 1e-9], dtype=np.float32)
    http_model(server, pcm="float32").ask([ask_about("?", heard(wave), task="open")])
    data = base64.b64decode(server.asked[0]["audio_inputs"][0]["data"])
    samples, rate_hz = soundfile.read(io.BytesIO(data), dtype="float32")
    assert (samples == wave).all()
    assert rate_hz == 16_000


def test_a_sample_with_several_clips_is_sent_whole(stranger, http_model, heard):
    server = stranger()
    sounds = (heard(np.full(100, 0.25)), heard(np.full(200, 0.5)))
    parts = ("First", AudioSlot(1), "then", AudioSlot(0), "which is louder?")
    request = Request("k" * 64, "test", "pair", "answer", "open", (Message("user", parts),), ())
    http_model(server).ask([Ask(request, sounds)])
    (item,) = server.asked
    slot = "<Audio><AudioHere></Audio>"
    assert item["messages"][0]["content"] == f"First {slot} then {slot} which is louder?"
    lengths = [len(base64.b64decode(audio["data"])) for audio in item["audio_inputs"]]
    assert lengths == [44 + 2 * 200, 44 + 2 * 100]


@pytest.mark.parametrize(
    "question",
    [
        "Four calls.\nA: {}\nB: {}\nWhich is this? {}",
        "{} {} {} Which is the loudest?",
        "{}\n{}\n{}\nWhich is the loudest?",
        "A: {} B: {} Query: {} Answer with a letter.",
        "A: {}\nB: {}\nWhich of them is {}?",
        "The first ({}), the second ({}), or {}.",
    ],
)
def test_a_question_with_places_for_its_clips_is_sent_as_it_was_written(stranger, http_model, heard, question):
    slot, server = "<Audio><AudioHere></Audio>", stranger()
    sounds = [heard(np.full(100 * number, 0.25)) for number in (1, 2, 3)]
    parts = with_slots(question.replace("{}", slot), len(sounds))
    request = Request("k" * 64, "test", "three", "answer", "open", (Message("user", parts),), ())
    http_model(server).ask([Ask(request, tuple(sounds))])
    (item,) = server.asked
    assert item["messages"][0]["content"] == question.replace("{}", slot)
    assert placed([("user", item["messages"][0]["content"])], 3) == list(request.messages)
    assert [len(base64.b64decode(audio["data"])) for audio in item["audio_inputs"]] == [244, 444, 644]


def test_a_placeholder_can_be_another_or_none(stranger, http_model, tone_asks):
    server = stranger()
    http_model(server, placeholder="<sound>").ask(tone_asks(1))
    http_model(server, placeholder="").ask(tone_asks(1))
    contents = [item["messages"][0]["content"] for item in server.asked]
    assert contents == ["<sound> What frequency is heard?", "What frequency is heard?"]


def test_a_question_that_holds_the_placeholder_is_not_asked(stranger, http_model, tone_asks):
    server = stranger()
    asks = [*tone_asks(1), *tone_asks(1, question="What does <Audio><AudioHere></Audio> mean?")]
    answers = texts(http_model(server).ask(asks))
    assert answers[0] == "300 Hz"
    assert "its clips cannot be distinguished" in answers[1]
    assert len(server.asked) == 1


def test_ids_on_the_wire_are_unique_and_say_nothing_of_the_sample(stranger, http_model, tone_asks):
    server = stranger()
    (ask,) = tone_asks(1)
    http_model(server).ask([ask, ask])
    ids = [item["sample_id"] for item in server.asked]
    assert len(set(ids)) == 2
    assert not any(ask.request.sample_id in one for one in ids)
    assert all(one.startswith(ask.request.key[:32]) for one in ids)
    # Whatever else is asked beside it, a question goes by the same id.
    http_model(server).ask([*tone_asks(1, question="Another?"), ask])
    assert server.asked[-1]["sample_id"] in ids or server.asked[-2]["sample_id"] in ids


def test_limits_need_no_server():
    model = PredictionsModel("http://127.0.0.1:9", {"rate": "8000", "max_s": "12"})
    assert (model.limits.rate_hz, model.limits.max_clip_s) == (8000, 12.0)
    assert model.batching == "opaque"


def test_the_fingerprint_is_who_the_server_says_it_is_and_how_it_is_asked(stranger, http_model):
    one, other = stranger(), stranger(model_revision="2")
    found = http_model(one).fingerprint()
    assert (found["name"], found["model"], found["model_revision"]) == ("stranger", "tones", "1")
    assert found["audio"] == "base64_wav int16 16000 Hz"
    # A server at another port is the same one, another revision is not.
    assert http_model(stranger(), timeout_s="9").fingerprint() == found
    assert http_model(other).fingerprint() != found
    assert http_model(one, pcm="float32").fingerprint() != found


def test_a_server_that_tells_digests_of_its_weights_is_known_by_them_alone(stranger, http_model):
    def seen(weights, **names):
        return http_model(stranger(fingerprint={"weights": weights}, **names)).fingerprint()

    assert seen("a") != seen("b")
    assert seen("a", model="hf:/scratch/copy", name="ours 2", model_revision="2") == seen("a", model="hf:/data/tones")
    assert seen("a", load_status="stub") != seen("a")
    # What is not an object is not a digest of anything.
    assert seen("a") != http_model(stranger(fingerprint="a")).fingerprint() == http_model(stranger()).fingerprint()


def test_a_replaced_server_is_told_from_the_first_by_its_weights(stranger, http_model, tone_asks):
    server = stranger(fingerprint={"weights": "a"})
    model = http_model(server)
    assert model.fingerprint()
    server.info = {**server.info, "fingerprint": {"weights": "b"}}
    told = r"another model \(stranger tones 1 fingerprint \w{12}, before stranger tones 1 fingerprint \w{12}\)"
    with pytest.raises(FatalError, match=told):
        model.ask(tone_asks(1))


def test_a_stub_of_a_model_is_not_the_model(stranger, http_model):
    assert http_model(stranger(load_status="stub")).fingerprint() != http_model(stranger()).fingerprint()


@pytest.mark.parametrize(
    ("info", "told"),
    [
        ({"name": ""}, "name of /info is ''"),
        ({"model": 7}, "model of /info is 7"),
        ({"model_revision": None}, "model_revision of /info is None"),
        ({"schema_versions": ["predictions_v2"]}, "schema_versions of /info is ['predictions_v2']"),
        ({"audio_payload_types": ["flac"]}, "audio_payload_types of /info is ['flac']"),
    ],
)
def test_a_server_that_cannot_be_told_from_others_is_refused_by_the_field(stranger, http_model, info, told):
    with pytest.raises(FatalError) as caught:
        http_model(stranger(**info)).fingerprint()
    assert told in str(caught.value)


def test_a_server_that_is_no_predictions_server_is_told_apart(stranger, http_model):
    server = stranger()
    server.health = [404]
    with pytest.raises(FatalError, match=r"/health gave HTTP 404.*is it a predictions_v1 server"):
        http_model(server).fingerprint()


def test_a_server_that_is_still_loading_is_waited_for(stranger, http_model, monkeypatch):
    monkeypatch.setattr("pytest_audiobench.models.predictions_v1.client._LOOK_S", 0.02)
    server = stranger()
    ready = server.info
    loading = {**ready, "model_revision": "unknown", "load_status": "loading", "loading_stage": "weights"}
    server.health, server.info = [503, 503], [loading, loading, ready]
    assert http_model(server).fingerprint()["model_revision"] == "1"
    server.info = ready


def test_a_server_that_loads_for_ever_is_given_up_with_its_stage(stranger, http_model):
    server = stranger(load_status="loading", loading_stage="loading_model_runtime")
    with pytest.raises(FatalError, match=r"still loading after 0\.05 s \(loading_model_runtime\)"):
        http_model(server, wait_s="0.05").fingerprint()


def test_a_server_that_failed_to_load_says_why(stranger, http_model):
    server = stranger(load_status="failed", last_error="CUDA is\nnot \x1b[31mavailable")
    with pytest.raises(FatalError, match=r"could not load its model: CUDA is not .\[31mavailable"):
        http_model(server).fingerprint()


def test_hearing_is_proven_by_a_prompt_that_grows(stranger, http_model):
    model = http_model(stranger())
    model.load()
    assert model.hearing.status == "proven"
    assert "prompt_tokens" in model.hearing.evidence


def test_a_server_that_tells_no_usage_is_unproven(stranger, http_model):
    server = stranger()
    server.counts_tokens = False
    model = http_model(server)
    model.load()
    assert model.hearing.status == "unproven"


def test_of_a_server_that_tells_no_usage_its_own_proof_counts(stranger, http_model):
    for told, status in (
        ({"status": "proven", "evidence": "its scores"}, "proven"),
        ({"status": "unproven"}, "unproven"),
    ):
        server = stranger(hearing=told)
        server.counts_tokens = False
        model = http_model(server)
        model.load()
        assert model.hearing.status == status
        assert ("the server says: its scores" in model.hearing.evidence) is (status == "proven")


def test_a_server_whose_prompt_does_not_grow_is_refused(stranger, http_model):
    server = stranger()
    server.deaf, server.strict = True, False
    with pytest.raises(FatalError, match=r"stranger does not hear: .* 4 tokens with 4 s of sound, and 4 without"):
        http_model(server).load()


@pytest.mark.parametrize("strict", [True, False])
def test_a_prompt_of_one_length_whatever_is_sent_proves_nothing_and_the_server_is_asked_on(
    stranger, http_model, tone_asks, strict
):
    server = stranger(load_status="stub")
    server.constant, server.strict = 1, strict
    model = http_model(server)
    model.load()
    assert model.hearing.status == "unproven"
    assert model.hearing.evidence.startswith("prompt_tokens is 1 with 4 s of sound, without, and with a longer text")
    assert texts(model.ask(tone_asks(2))) == tones(2)


def test_a_prompt_that_is_shorter_with_sound_than_without_is_refused(stranger, http_model):
    server = stranger()
    lengths = {"probe": 2, "probe-without-audio": 3}

    def answer(item):
        is_refused = not item["audio_inputs"] and "<Audio>" in item["messages"][0]["content"]
        usage = {"prompt_tokens": lengths[item["sample_id"]]}
        error = "a placeholder without audio" if is_refused else None
        return {"sample_id": item["sample_id"], "predictions": ["?"], "usage": usage, "error": error}

    server.answer = answer
    with pytest.raises(FatalError, match="its prompt has 2 tokens with 4 s of sound, and 3 without"):
        http_model(server).load()


def test_a_stub_may_leave_its_model_unnamed_and_a_model_may_not(stranger, http_model):
    stub = http_model(stranger(load_status="stub", model="", model_revision="")).fingerprint()
    assert (stub["model"], stub["model_revision"], stub["load_status"]) == ("stub", "stub", "stub")
    with pytest.raises(FatalError, match="model of /info is ''"):
        http_model(stranger(model="")).fingerprint()


def test_a_placeholder_read_as_text_is_no_proof_of_hearing(stranger, http_model):
    server = stranger()
    server.deaf = True
    model = http_model(server)
    model.load()
    assert model.hearing.status == "unproven"


@pytest.fixture
def clip(tmp_path):
    """A file at another rate than the model's."""
    time_s = np.arange(2000) / 8000
    soundfile.write(tmp_path / "tone.wav", 0.3 * np.sin(2 * np.pi * 500 * time_s), 8000)
    return Clip(FileSource(DataRoot("data", tmp_path), "tone.wav"))


def asked_about(clip):
    request = Request("k" * 64, "test", "one", "answer", "open", (Message("user", (AudioSlot(0), "?")),), (clip,))
    return Ask(request, (decode(clip, 16_000, None),))


def test_a_whole_file_goes_by_its_path_with_its_own_rate(stranger, http_model, clip, tmp_path):
    server = stranger(audio_payload_types=["file_path"])
    assert texts(http_model(server).ask([asked_about(clip)])) == ["500 Hz"]
    (audio,) = server.asked[0]["audio_inputs"]
    assert audio == {"payload_type": "file_path", "data": str(tmp_path / "tone.wav"), "sample_rate": 8000}


def test_a_file_url_names_the_same_file(stranger, http_model, clip, tmp_path):
    server = stranger()
    assert texts(http_model(server, payload="file_url").ask([asked_about(clip)])) == ["500 Hz"]
    assert server.asked[0]["audio_inputs"][0]["data"] == (tmp_path / "tone.wav").as_uri()


def test_an_edited_clip_is_written_into_the_folder_named_for_it(stranger, http_model, clip, tmp_path):
    edited = clip.edited(Edit("gain", 1, (("db", "-6"),)))
    server = stranger(audio_payload_types=["file_path"])
    (answer,) = http_model(server).ask([asked_about(edited)])
    assert "name a folder that the server can read with folder=" in answer.error
    assert texts(http_model(server, folder=str(tmp_path / "shared")).ask([asked_about(edited)])) == ["500 Hz"]
    (audio,) = server.asked[0]["audio_inputs"]
    assert audio["data"].startswith(str(tmp_path / "shared"))
    assert audio["sample_rate"] == 16_000


def test_a_payload_that_the_server_does_not_take_is_refused(stranger, http_model, tone_asks):
    server = stranger(audio_payload_types=["base64_wav"])
    with pytest.raises(FatalError, match="takes base64_wav and not payload=file_path"):
        http_model(server, payload="file_path").ask(tone_asks(1))


def test_a_token_travels_from_the_environment_and_nowhere_else(stranger, http_model, tone_asks, monkeypatch):
    monkeypatch.setenv("LAB_TOKEN", "s3cret")
    server = stranger()
    model = http_model(server, token_env="LAB_TOKEN")
    model.ask(tone_asks(1))
    assert server.headers[0]["authorization"] == "Bearer s3cret"
    assert "s3cret" not in model.spec + str(model.fingerprint())


def test_a_token_that_the_server_says_back_is_not_repeated(stranger, http_model, tone_asks, monkeypatch):
    monkeypatch.setenv("LAB_TOKEN", "s3cret")
    server = stranger()
    # The longest words of a server are cut, here amidst the token.
    server.faults += [lambda handler, asked: handler.say(401, {"detail": "s3cret is not a token of ours"})]
    server.faults += [lambda handler, asked: handler.say(401, {"detail": "x" * 495 + "s3cret"})]
    model = http_model(server, token_env="LAB_TOKEN")
    with pytest.raises(FatalError, match=r"HTTP 401: \[key\] is not a token of ours"):
        model.ask(tone_asks(1))
    with pytest.raises(FatalError, match=r"HTTP 401: x+\[key\]$"):
        model.ask(tone_asks(1))


def test_a_token_may_end_in_a_newline_as_files_do(stranger, http_model, tone_asks, monkeypatch):
    monkeypatch.setenv("LAB_TOKEN", "s3cret-s3cret \n")
    server = stranger()
    assert texts(http_model(server, token_env="LAB_TOKEN").ask(tone_asks(1))) == tones(1)
    assert server.headers[0]["authorization"] == "Bearer s3cret-s3cret"


@pytest.mark.parametrize("token", ["", "s3cret s3cret", "s3cret\x1bs3cret", "s3crét"])
def test_what_can_be_no_token_is_refused_by_its_name_alone(http_model, monkeypatch, token):
    monkeypatch.setenv("LAB_TOKEN", token)
    with pytest.raises(UsageError, match=r"LAB_TOKEN is (not set or empty|empty or holds)") as caught:
        http_model("http://127.0.0.1:9", token_env="LAB_TOKEN").fingerprint()
    assert "s3cr" not in str(caught.value)


def test_a_short_token_is_not_cut_out_of_answers(stranger, http_model, tone_asks, monkeypatch):
    monkeypatch.setenv("LAB_TOKEN", "Hz")
    assert texts(http_model(stranger(), token_env="LAB_TOKEN").ask(tone_asks(3))) == tones(3)


def test_a_long_token_is_cut_out_of_answers_however_it_is_escaped(stranger, http_model, tone_asks, monkeypatch):
    token = 's3cret"s3cret'
    monkeypatch.setenv("LAB_TOKEN", token)

    def tell(handler, asked):
        answer = handler.server.answer(asked["requests"][0]) | {"predictions": [f"my key is {token}"]}
        body = json.dumps({"schema_version": "predictions_v1", "responses": [answer]})
        handler.say(200, body.replace("s3", "\\u0073\\u0033").encode())

    server = stranger()
    model = http_model(server, token_env="LAB_TOKEN")
    assert model.fingerprint()
    server.faults += [tell]
    assert texts(model.ask(tone_asks(1))) == ["my key is [key]"]


def test_a_breach_that_repeats_the_token_is_told_without_it(stranger, http_model, tone_asks, monkeypatch):
    monkeypatch.setattr(predictions_client, "_FIRST_PAUSE_S", 0.01)
    monkeypatch.setenv("LAB_TOKEN", "s3cret")
    server = stranger()
    server.faults += [lambda handler, asked: handler.say(200, b"<html>s3cret</html>")] * 3
    with pytest.raises(FatalError, match=r"no JSON .*<html>\[key\]</html>"):
        http_model(server, token_env="LAB_TOKEN").ask(tone_asks(1))


def test_a_closed_model_goes_on_only_with_the_same_server(stranger, http_model, tone_asks):
    server = stranger()
    model = http_model(server)
    model.load()
    model.close()
    model.load()
    assert texts(model.ask(tone_asks(1))) == tones(1)
    model.close()
    server.info = {**server.info, "model": "other"}
    with pytest.raises(FatalError, match="came back as another model"):
        model.load()


@pytest.mark.parametrize(
    ("target", "options", "told"),
    [
        ("lab", {}, "names no server"),
        ("http://user:pass@host", {}, "user or password"),
        ("http://", {}, "no plain URL"),
        ("http://host:99999", {}, "no plain URL"),
        ("http://host/?q=1", {}, "a URL of host with a query"),
        ("http://host", {"colour": "red"}, "no option 'colour'"),
        ("http://host", {"payload": "mp3"}, "payload=mp3"),
        ("http://host", {"timeout_s": "nan"}, "timeout_s=nan"),
        ("http://host", {"concurrency": "0"}, "concurrency=0"),
    ],
)
def test_a_users_mistake_is_found_without_a_server(target, options, told):
    with pytest.raises(UsageError) as caught:
        PredictionsModel(target, options)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    "target",
    [
        "http://user:s3cret@host",
        "http://s3cret@host",
        "http://user:s3cret@host:99999",
        "http://user:s3cret @host",
        "http://user:12/s3cret@host",
        "http://host/predict?api_key=s3cret",
        "http://host/#s3cret",
        "//user:s3cret@host",
        "user:s3cret@host",
    ],
)
def test_a_refused_url_is_not_repeated(http_model, tmp_path, target):
    file = tmp_path / "job.url"
    file.write_text(target)
    for refused in (lambda: PredictionsModel(target), lambda: http_model("lab", url_file=str(file)).fingerprint()):
        with pytest.raises(UsageError) as caught:
            refused()
        assert "s3cret" not in str(caught.value)


def test_the_predict_url_of_other_clients_means_the_same_server(stranger, http_model, tone_asks):
    server = stranger()
    assert texts(http_model(f"{server.url}/predict").ask(tone_asks(1))) == tones(1)


def test_a_url_that_is_written_later_is_waited_for(stranger, http_model, tone_asks, tmp_path):
    server, file = stranger(), tmp_path / "job.url"
    threading.Timer(0.2, file.write_text, [f"{server.url}\n"]).start()
    assert texts(http_model("later", url_file=str(file)).ask(tone_asks(1))) == tones(1)


def test_a_url_that_never_comes_is_one_clear_error(http_model, tmp_path):
    with pytest.raises(FatalError, match=r"job.url did not get a URL within 0\.1 s"):
        http_model("later", url_file=str(tmp_path / "job.url"), wait_s="0.1").fingerprint()


def test_a_job_that_will_write_no_url_is_not_waited_for(http_model, tmp_path):
    file = tmp_path / "job.url"
    file.write_text("failed: the launcher of job 12 ended with exit code 3\n")
    with pytest.raises(InfrastructureError, match=r"job.url has no URL: the launcher of job 12 ended with exit code 3"):
        http_model("later", url_file=str(file)).fingerprint()


def test_a_url_file_that_holds_something_else_is_refused(http_model, tmp_path):
    file = tmp_path / "job.url"
    file.write_text("Submitted batch job 12\n")
    with pytest.raises(UsageError, match=r"job.url holds no plain URL"):
        http_model("later", url_file=str(file)).fingerprint()


def test_a_proxy_is_not_asked_about_the_loopback(stranger, http_model, tone_asks, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert texts(http_model(stranger()).ask(tone_asks(1))) == tones(1)


@pytest.mark.parametrize("proxy", ["socks5://u:s3cret@127.0.0.1:9", "ftp://u:s3cret@127.0.0.1:9", "nonsense:s3cret"])
def test_a_proxy_that_cannot_be_used_is_said_to_be_the_reason(http_model, monkeypatch, proxy):
    monkeypatch.setitem(sys.modules, "socksio", None)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(
        FatalError, match=r"the proxy in the environment cannot be used: .* \(see ALL_PROXY\)"
    ) as caught:
        http_model("http://192.0.2.1:8000").fingerprint()
    assert "s3cret" not in str(caught.value)


def test_no_debug_line_repeats_the_token(stranger, http_model, tone_asks, monkeypatch, caplog):
    monkeypatch.setattr(predictions_client, "_FIRST_PAUSE_S", 0.01)
    monkeypatch.setenv("LAB_TOKEN", "s3cret-s3cret")
    for name in ("", "httpx", "httpcore"):
        caplog.set_level(logging.DEBUG, logger=name)
    server = stranger()
    server.faults += [lambda handler, asked: handler.say(503, {}, {"X-Echo": handler.headers["Authorization"]})]
    assert texts(http_model(server, token_env="LAB_TOKEN").ask(tone_asks(1))) == tones(1)
    assert "s3cret" not in caplog.text
