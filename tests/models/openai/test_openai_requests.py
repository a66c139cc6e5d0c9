"""What is asked of a server, how its answers are read, and what tells one model from another."""

import importlib.util
from dataclasses import replace

import numpy as np
import pytest

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request, Settings
from pytest_audiobench.models.openai.model import OpenAIModel


def ask_with(messages, *audio, task="open", **settings):
    request = Request("key", "set", "sample", "answer", task, tuple(messages), (), (), Settings(**settings))
    return Ask(request, audio)


def test_parts_stand_in_the_order_of_the_message_and_every_clip_is_sent_whole(peer, model_at, heard):
    first, second = heard(np.zeros(1500)), heard(np.zeros(2500))
    turns = [
        Message("system", ("Be short.",)),
        Message("user", ("Compare ", AudioSlot(1), " with ", AudioSlot(0))),
        Message("assistant", ("Gladly.",)),
        Message("user", ("Now",)),
    ]
    assert model_at(peer).ask([ask_with(turns, first, second)])[0].text == "2500 1500"
    sent = peer.calls[0].body
    assert [message["role"] for message in sent["messages"]] == ["system", "user", "assistant", "user"]
    assert [message["content"] for message in sent["messages"] if message["role"] != "user"] == ["Be short.", "Gladly."]
    assert [part["type"] for part in sent["messages"][1]["content"]] == ["text", "input_audio", "text", "input_audio"]
    assert sent["messages"][1]["content"][1]["input_audio"]["format"] == "wav"
    assert sent["messages"][3]["content"] == "Now"
    assert sent["model"] == "tiny"


def test_audio_outside_a_users_turn_is_an_error_and_is_not_sent(peer, model_at, heard):
    odd = ask_with([Message("system", (AudioSlot(0),))], heard(np.zeros(1000)))
    assert "system turn" in model_at(peer).ask([odd])[0].error
    assert not peer.calls


@pytest.mark.parametrize("options", [{}, {"api": "transcriptions"}, {"format": "wav-float32"}], ids=str)
def test_a_clip_too_large_to_send_fails_alone_before_it_is_encoded(peer, model_at, heard, asks, options):
    short = heard(np.zeros(1000))
    hours = replace(short, samples=np.broadcast_to(np.float32(0), (4 * 3600 * 16_000,)))  # takes no memory
    task = "transcription" if options.get("api") else "open"
    batch = [ask_with([Message("user", (AudioSlot(0),))], clip, task=task) for clip in (hours, short)]
    refused, answered = model_at(peer, **options).ask(batch)
    assert refused.error.startswith("a clip of 14400 s at 16000 Hz is ")
    assert "67 MB are the most that is sent to a server; cut it into excerpts" in refused.error
    assert answered.error is None
    assert len(peer.calls) == 1


def test_a_question_that_is_no_text_is_an_error_and_is_not_sent(peer, model_at):
    assert "characters that are none" in model_at(peer).ask([ask_with([Message("user", ("\ud800?",))])])[0].error
    assert not peer.calls


def test_a_mistake_in_a_request_is_raised_as_itself_and_calls_the_batch_off(peer, model_at, asks):
    impossible = ask_with([Message("user", (AudioSlot(3), "?"))])
    model = model_at(peer, concurrency="1")
    with pytest.raises(IndexError):
        model.ask([impossible, *asks(20)])
    assert len(peer.calls) <= 1
    assert model.ask(asks(1))[0].text == "1000"


def test_settings_are_sent_as_they_are_and_greedy_asking_has_no_seed(peer, model_at, asks):
    model_at(peer).ask(asks(1, max_new_tokens=7))
    sent = peer.calls[0].body
    assert (sent["max_tokens"], sent["temperature"], sent["top_p"]) == (7, 0.0, 1.0)
    assert "seed" not in sent


def test_sampling_is_seeded_by_the_question_and_by_nothing_else(peer, model_at, asks):
    model = model_at(peer, concurrency="1")
    for _ in range(2):
        model.ask(asks(2, temperature="0.7", top_p="0.9"))
    seeds = [call.body["seed"] for call in peer.calls]
    assert seeds[:2] == seeds[2:]
    assert seeds[0] != seeds[1]
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_server_that_wants_the_newer_name_of_the_limit_gets_it(peer, model_at, asks, talk):
    why = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    peer.behave = lambda call: talk.Reply({"error": {"message": why}}, 400) if "max_tokens" in call.body else None
    model = model_at(peer, concurrency="1")
    assert [response.text for response in model.ask(asks(3, max_new_tokens=9))] == ["1000", "1001", "1002"]
    assert [call.body.get("max_completion_tokens") for call in peer.calls] == [None, 9, 9, 9]


def test_a_server_that_wants_neither_name_is_asked_no_third_time(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.Reply({"error": "no max_completion_tokens, no max_tokens"}, 400)
    assert "says 400" in model_at(peer).ask(asks(1))[0].error
    assert len(peer.calls) == 2


ANSWERS = {
    "a text": ({"content": "B"}, "stop", "B", "stop"),
    "cut by the limit": ({"content": "B and"}, "length", "B and", "length"),
    "filtered": ({"content": None}, "content_filter", "", "refusal"),
    "its own refusal": ({"content": None, "refusal": "I cannot"}, "stop", "I cannot", "refusal"),
    "nothing said": ({"content": None}, "stop", "", "stop"),
    "thought too long": ({"content": None}, "length", "", "length"),
    "parts": ({"content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]}, "stop", "AB", "stop"),
    "a refusing part": ({"content": [{"type": "refusal", "refusal": "No."}]}, "stop", "No.", "refusal"),
    "its own reason": ({"content": "B"}, "tool_calls", "B", "unknown"),
    "no reason": ({"content": "B"}, None, "B", "unknown"),
    "a reason of a wrong type": ({"content": "B"}, ["stop"], "B", "unknown"),
}


@pytest.mark.parametrize(("message", "reason", "text", "finish"), ANSWERS.values(), ids=ANSWERS)
def test_how_an_answer_ended_is_told(peer, model_at, asks, talk, message, reason, text, finish):
    body = {"choices": [{"message": message, "finish_reason": reason}]}
    peer.behave = lambda call: talk.Reply(body)
    response = model_at(peer).ask(asks(1))[0]
    assert (response.text, response.finish, response.error) == (text, finish, None)


def test_usage_is_what_the_server_counts_and_no_more(peer, model_at, asks, talk):
    told = {"prompt_tokens": 40, "completion_tokens": 2, "prompt_tokens_details": {"audio_tokens": 30}}
    wrong = {"prompt_tokens": "many", "completion_tokens": -1, "total_tokens": True, "prompt_tokens_details": [3]}
    for usage, read in ((told, {"prompt_tokens": 40, "completion_tokens": 2, "audio_tokens": 30}), (wrong, {})):
        peer.behave = lambda call, usage=usage: talk.Reply({**talk.completion("A"), "usage": usage})
        assert model_at(peer).ask(asks(1))[0].usage == read


def test_broken_characters_come_through_to_be_repaired_where_answers_are_kept(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.Reply(b'{"choices": [{"message": {"content": "A\xff"}}]}')
    assert model_at(peer).ask(asks(1))[0].text == "A\udcff"


# Audio


def test_clips_of_16_bits_are_sent_bit_for_bit():
    import io

    import soundfile

    from pytest_audiobench.audio.clip import PlayedAudio
    from pytest_audiobench.models.openai.wire import wav

    whole = np.arange(-32768, 32768, dtype=np.int16)
    heard = PlayedAudio((whole / 32768).astype(np.float32), 16_000, "", 16_000, len(whole), "test")
    sent, rate_hz = soundfile.read(io.BytesIO(wav(heard, "wav")), dtype="int16")
    assert np.array_equal(sent, whole)
    assert rate_hz == 16_000


def test_other_samples_are_rounded_or_sent_as_they_are():
    import io

    import soundfile

    from pytest_audiobench.audio.clip import PlayedAudio
    from pytest_audiobench.models.openai.wire import wav

    samples = np.array([0.1, -0.2000001, 1.5, -1.5], dtype=np.float32)
    heard = PlayedAudio(samples, 24_000, "", 24_000, 4, "test")
    rounded, _ = soundfile.read(io.BytesIO(wav(heard, "wav")), dtype="float32")
    assert np.abs(rounded[:2] - samples[:2]).max() <= 0.5 / 32768
    assert rounded[2:].tolist() == [32767 / 32768, -1.0]
    exact, _ = soundfile.read(io.BytesIO(wav(heard, "wav-float32")), dtype="float32")
    assert np.array_equal(exact, samples)


@pytest.mark.parametrize("encoding", ["wav", "wav-float32"])
def test_what_is_sent_of_a_clip_depends_on_the_clip_alone(heard, encoding):
    from pytest_audiobench.models.openai.wire import wav

    sent = bytes(wav(heard(np.zeros(1000)), encoding))
    # Some writers put the time of day into a chunk of peaks.
    assert b"PEAK" not in sent
    assert sent == bytes(wav(heard(np.zeros(1000)), encoding))


def test_clips_are_played_at_the_rate_that_is_asked_for(peer, model_at):
    assert model_at(peer).limits.rate_hz == 16_000
    assert model_at(peer, rate="24000").limits.rate_hz == 24_000


# Transcriptions


def test_a_transcription_endpoint_gets_one_clip_and_gives_a_text(peer, model_at, asks):
    model = model_at(peer, api="transcriptions")
    assert [response.text for response in model.ask(asks(3, task="transcription"))] == ["1000", "1001", "1002"]
    assert {call.path for call in peer.calls} == {"/v1/audio/transcriptions"}
    assert peer.calls[0].body == {"model": "tiny", "response_format": "json", "temperature": "0.0"}


def test_a_transcription_endpoint_is_asked_nothing_else(peer, model_at, asks):
    with pytest.raises(FatalError, match=r"only transcribes.*\(choice\)"):
        model_at(peer, api="transcriptions").ask(asks(2))
    assert not peer.calls


def test_several_clips_for_a_transcriber_are_an_error_and_never_cut_to_one(peer, model_at, ask_about, heard):
    two = ask_about("Write it down.", heard(np.zeros(1000)), heard(np.zeros(1001)), task="transcription")
    assert "plays 2 clips" in model_at(peer, api="transcriptions").ask([two])[0].error
    assert not peer.calls


@pytest.mark.parametrize("body", [{"text": None}, {"words": []}, [], "text"])
def test_a_transcription_without_a_text_is_an_error(peer, model_at, asks, talk, body):
    peer.behave = lambda call: talk.Reply(body)
    assert "holds no text" in model_at(peer, api="transcriptions").ask(asks(1, task="transcription"))[0].error


# Hearing


def test_a_prompt_that_grows_with_audio_proves_hearing_once(peer, model_at, asks):
    model = model_at(peer, probe="yes")
    model.ask(asks(2))
    assert model.hearing.status == "proven"
    assert model.hearing.evidence == "prompt_tokens 110 with 4 s of sound, 10 without"
    assert len(peer.calls) == 4
    model.close()
    model.ask(asks(1))
    assert len(peer.calls) == 5


def test_a_server_that_drops_the_audio_is_refused(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.Reply(talk.completion("A", prompt=14))
    with pytest.raises(FatalError, match="its prompt has 14 tokens with 4 s of sound, and 14 without"):
        model_at(peer, probe="yes").ask(asks(1))
    assert not peer.asked


def test_audio_tokens_prove_hearing_without_a_second_question(peer, model_at, asks, talk):
    usage = {"prompt_tokens": 14, "completion_tokens": 1, "prompt_tokens_details": {"audio_tokens": 10}}
    peer.behave = lambda call: talk.Reply({**talk.completion("A"), "usage": usage})
    model = model_at(peer, probe="yes")
    model.load()
    assert model.hearing == ("proven", "the server counts 10 audio tokens for a few seconds of sound")
    assert len(peer.calls) == 1


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}])
def test_without_usage_or_with_zeros_for_it_hearing_is_unproven(peer, model_at, talk, usage):
    peer.behave = lambda call: talk.Reply({"choices": [{"message": {"content": "A"}}], "usage": usage})
    model = model_at(peer, probe="yes")
    model.load()
    assert model.hearing == ("unproven", "the server reports no prompt_tokens for 4 s of sound")


def test_a_server_that_counts_prompts_with_audio_only_leaves_hearing_unproven(peer, model_at, talk):
    peer.behave = lambda call: None if call.heard else talk.Reply(talk.completion("A", prompt=0))
    model = model_at(peer, probe="yes")
    model.load()
    assert model.hearing.status == "unproven"


def test_a_server_that_answers_nothing_without_audio_leaves_hearing_unproven(peer, model_at, talk):
    why = "This model requires that either input content or output modality contain audio."
    peer.behave = lambda call: None if call.heard else talk.Reply({"error": {"message": why}}, 400)
    model = model_at(peer, probe="yes")
    model.load()
    assert model.hearing.status == "unproven"


def test_a_server_that_takes_no_audio_is_found_out_before_the_first_question(peer, model_at, asks, talk):
    peer.behave = lambda call: talk.Reply({"error": {"message": "unknown part input_audio"}}, 400)
    with pytest.raises(FatalError, match=r"cannot be asked about a few seconds of sound: .*unknown part input_audio"):
        model_at(peer, probe="yes").ask(asks(3))
    assert len(peer.calls) == 1


# Identity and options


def test_a_model_is_told_from_others_by_its_name_server_and_audio():
    def fingerprint(url, target="m", **options):
        return OpenAIModel(target, {"base_url": url, **options}).fingerprint()

    here = fingerprint("http://127.0.0.1:8000/v1")
    assert here == fingerprint("http://localhost:8000/v1/") == fingerprint("http://[::1]:8000/v1")
    assert here != fingerprint("http://127.0.0.1:8001/v1")
    assert here == fingerprint("http://127.0.0.1:8000/v1", stream="yes", concurrency="3", timeout_s="9", probe="no")
    assert here != fingerprint("http://127.0.0.1:8000/v2")
    assert here != fingerprint("http://127.0.0.1:8000/v1", target="other")
    assert here != fingerprint("http://127.0.0.1:8000/v1", format="wav-float32")
    assert fingerprint("https://a.example/v1") != fingerprint("https://a.example:8443/v1")
    assert OpenAIModel("m").fingerprint()["endpoint"] == "api.openai.com/v1"


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("https://a.example/v1", "https://A.example:443/v1/"),
        ("http://a.example/v1", "http://a.example:80/v1"),
        ("http://[fd00::1]/v1", "http://[FD00::1]:80/v1"),
    ],
)
def test_a_usual_port_may_be_written_or_left_out(short, long):
    first, second = (OpenAIModel("m", {"base_url": url}) for url in (short, long))
    assert first.fingerprint() == second.fingerprint()
    assert first.endpoint.url == second.endpoint.url == short


@pytest.mark.parametrize(
    "options",
    [
        {"api": "completions"},
        {"concurrency": "0"},
        {"concurrency": "2.5"},
        {"timeout_s": "nan"},
        {"timeout_s": "0"},
        {"patience_s": "-1"},
        {"rate": "16k"},
        {"format": "mp3"},
        {"stream": "1"},
        {"probe": "maybe"},
        {"price_in": "1"},
        {"price_in": "1", "price_out": "2", "price_audio": "free"},
        {"api": "transcriptions", "stream": "yes"},
        {"api_key": "sk-secret-value"},
        {"base_url": "ftp://127.0.0.1/v1"},
        {"base_url": "127.0.0.1:8000"},
        {"base_url": "http:///v1"},
        {"base_url": "http://127.0.0.1:99999999/v1"},
        {"base_url": "http://me:sk-secret-value@127.0.0.1/v1"},
        {"base_url": "http://sk-secret-value@127.0.0.1/v1"},
        {"base_url": "https://a.example/v1?key=sk-secret-value"},
    ],
)
def test_an_option_that_cannot_be_is_refused_at_once_and_no_secret_is_repeated(options):
    with pytest.raises(UsageError) as refused:
        OpenAIModel("m", options)
    assert "sk-secret-value" not in str(refused.value)


def test_making_a_model_costs_no_import():
    import subprocess
    import sys

    code = (
        "import sys; from pytest_audiobench.models.openai.model import OpenAIModel; m = OpenAIModel('m'); "
        "m.fingerprint(), m.limits; print([n for n in ('openai', 'httpx', 'httpx2', 'asyncio') if n in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "openai" not in shown
    assert "httpx" not in shown


def test_without_the_library_the_extra_is_named(peer, model_at, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(FatalError, match=r"pip install 'pytest-audiobench\[openai\]'"):
        model_at(peer).load()


def test_a_proxy_from_the_environment_is_not_used_on_this_machine(peer, model_at, asks, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert model_at(peer).ask(asks(1))[0].text == "1000"


@pytest.mark.parametrize(
    ("proxy", "why"),
    [
        ("socks5://127.0.0.1:9", "socksio"),
        ("gopher://me:secret-word@127.0.0.1:9", "it is not a URL such as http://HOST:PORT"),
        ("http://me:secret-word@127.0.0.1:port", "it is not a URL such as http://HOST:PORT"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_named_as_what_is_wrong(monkeypatch, proxy, why):
    pytest.importorskip("httpx", reason="needs httpx (pip install 'pytest-audiobench[openai]')")
    if why == "socksio" and importlib.util.find_spec("socksio"):
        pytest.skip("needs a library for SOCKS to be absent")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("all_proxy", proxy)
    with pytest.raises(FatalError, match=rf"the proxy in the environment cannot be used: .*{why}.*ALL_PROXY") as raised:
        OpenAIModel("m", {"base_url": "https://a.example/v1"}).load()
    assert "secret-word" not in str(raised.value)
