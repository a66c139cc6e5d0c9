"""The proxy before a real chat server on the loopback: what continues to it, what comes back, and what stays secret."""

import base64
import io
import json
import os
import subprocess
import sys
import wave
from pathlib import Path

import pytest

from pytest_audiobench.cli import main as audiobench

ROOT = Path(__file__).parents[2]
SERVE = ROOT / "examples" / "servers" / "openai_proxy" / "serve.py"
PLACE = "<Audio><AudioHere></Audio>"
SECRET = "sk-nobody-may-see-this"


@pytest.fixture
def upstream(talk):
    server = talk.Peer()
    yield server
    server.stop()


@pytest.fixture
def proxy(served, upstream, monkeypatch, tmp_path):
    """Starts the proxy before the chat server, with these environment variables; its URL."""
    for name in [name for name in os.environ if name.startswith(("OPENAI_", "GEMINI_", "GOOGLE_", "VLLM_", "HF_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def start(arguments="", **variables):
        standard = {"OPENAI_BASE_URL": f"http://127.0.0.1:{upstream.port}", "OPENAI_MODEL": "tiny"}
        for name, value in {**standard, **variables}.items():
            if value is not None:
                monkeypatch.setenv(name, value)
        return served(f"{sys.executable} {SERVE} --port {{port}} {arguments}")

    return start


def content_of(call, message=-1):
    return call.body["messages"][message]["content"]


def test_the_proxy_keeps_the_contract_before_a_server_and_as_a_stub(proxy, served):
    assert audiobench(["check-server", proxy(OPENAI_PROXY_STUB="0")]) == 0
    assert audiobench(["check-server", served(f"{sys.executable} {SERVE} --port {{port}} --stub")]) == 0


def test_the_variable_of_the_stub_needs_no_server(proxy, ask, upstream):
    url = proxy(OPENAI_PROXY_STUB="1", OPENAI_BASE_URL=None)
    assert ask(f"{url}/info")["load_status"] == "stub"
    assert ask(url, "Hello?")[0]["predictions"][0].startswith("dummy ")
    assert not upstream.calls


def test_clips_go_where_their_places_are_and_arrive_bit_for_bit(proxy, ask, clip, upstream):
    clips = [clip(1000), clip(2000)]
    (reply,) = ask(proxy(), f"First {PLACE} then {PLACE}\nWhich is longer?", *clips)
    assert reply["predictions"] == ["1000 2000"]
    kinds = [part["type"] for part in content_of(upstream.calls[0])]
    assert kinds == ["text", "input_audio", "text", "input_audio", "text"]
    sent = base64.b64decode(content_of(upstream.calls[0])[1]["input_audio"]["data"])
    with wave.open(io.BytesIO(sent)) as after, wave.open(str(clips[0])) as before:
        assert after.getparams() == before.getparams()
        assert after.readframes(1000) == before.readframes(1000)


def test_clips_without_places_stand_before_the_words(proxy, ask, clip, upstream):
    ask(proxy(), "Which is longer?", clip(1000), clip(2000))
    assert [part["type"] for part in content_of(upstream.calls[0])] == ["input_audio", "input_audio", "text"]


def test_settings_go_up_and_usage_and_finish_reason_come_down(proxy, ask, clip, upstream, talk):
    upstream.behave = lambda call: talk.Reply(
        talk.completion("a wren", finish="length", prompt=77, completion_tokens=5)
    )
    (reply,) = ask(proxy(), f"{PLACE} Who sings?", clip(1000), top_p=0.5, length=3)
    assert reply["predictions"] == ["a wren"]
    assert (reply["finish_reason"], reply["usage"]) == ("length", {"prompt_tokens": 77, "completion_tokens": 5})
    sent = {name: value for name, value in upstream.calls[0].body.items() if name != "messages"}
    assert sent == {"model": "tiny", "max_tokens": 32, "temperature": 0.0, "top_p": 0.5}


def test_a_busy_server_is_asked_again_when_it_wants_to_be(proxy, ask, upstream, talk):
    busy = talk.Reply({"error": "slow down"}, status=429, headers={"Retry-After": "0"})
    upstream.behave = lambda call: busy if call.number < 2 else None
    (reply,) = ask(proxy(), "Hello?")
    assert (reply["error"], len(upstream.calls)) == (None, 3)


def test_a_server_that_stays_busy_becomes_the_items_error(proxy, ask, upstream, talk):
    upstream.behave = lambda call: talk.Reply({"error": "slow down"}, status=503, headers={"Retry-After": "0"})
    (reply,) = ask(proxy(OPENAI_PROXY_RETRIES="1"), "Hello?")
    assert reply["predictions"] == []
    assert "503" in reply["error"]
    assert "tried 2 times" in reply["error"]


@pytest.mark.parametrize("later", ["86400", "Fri, 31 Dec 2199 23:59:59 GMT"])
def test_a_server_that_wants_to_be_left_alone_for_long_is(proxy, ask, upstream, talk, later):
    upstream.behave = lambda call: talk.Reply({}, status=429, headers={"Retry-After": later})
    (reply,) = ask(proxy(), "Hello?")
    assert "asks to be left alone for" in reply["error"]
    assert len(upstream.calls) == 1


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_refusal_is_not_repeated(proxy, ask, upstream, talk, status):
    upstream.behave = lambda call: talk.Reply({"error": "no"}, status=status)
    (reply,) = ask(proxy(), "Hello?")
    assert f"127.0.0.1 says {status}" in reply["error"]
    assert len(upstream.calls) == 1


def test_a_key_that_the_server_says_back_is_not_repeated(proxy, ask, upstream, talk, tmp_path):
    upstream.behave = lambda call: talk.Reply({"error": call.headers["authorization"]}, status=401)
    url = proxy(OPENAI_API_KEY=SECRET)
    (reply,) = ask(url, "Hello?")
    assert "Bearer [key]" in reply["error"]
    assert SECRET not in str(ask(f"{url}/info"))
    logs = [file.read_text() for file in tmp_path.rglob("*.log")]
    assert logs
    assert not any(SECRET in log for log in logs)


def test_a_key_is_sent_to_no_other_host(proxy, ask, upstream, talk):
    other = talk.Peer()
    upstream.behave = lambda call: talk.Reply({}, status=307, headers={"Location": f"{other.url}/chat/completions"})
    (reply,) = ask(proxy(OPENAI_API_KEY=SECRET), "Hello?")
    other.stop()
    assert "307" in reply["error"]
    assert not other.calls


def test_a_key_comes_from_a_file_that_its_owner_alone_can_read(proxy, ask, upstream, tmp_path):
    file = tmp_path / "cfg"
    file.write_text(f"# mine\nOPENAI_API_KEY={SECRET}\n", encoding="utf-8")
    file.chmod(0o600)
    ask(proxy(OPENAI_CFG_PATH=str(file)), "Hello?")
    assert upstream.calls[0].headers["authorization"] == f"Bearer {SECRET}"


def test_the_file_of_openais_key_is_not_read_for_another_server(proxy, ask, upstream, tmp_path):
    file = tmp_path / "config" / "openai" / "cfg"
    file.parent.mkdir(parents=True)
    file.write_text(SECRET, encoding="utf-8")
    file.chmod(0o600)
    ask(proxy(), "Hello?")
    assert "authorization" not in upstream.calls[0].headers


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "name the server by OPENAI_BASE_URL and its model by OPENAI_MODEL, or try --stub"),
        ({"OPENAI_BASE_URL": "http://nowhere.example", "OPENAI_API_KEY": SECRET}, "would get the key unencrypted"),
        ({"OPENAI_BASE_URL": "http://127.0.0.1:9", "OPENAI_API_KEY_FILE": "{file}"}, "is not yours alone"),
        (
            {"VLLM_AUDIO_CONTENT_FORMAT": "audio_url"},
            "clips are sent as input_audio or audio_url_data, not as audio_url",
        ),
    ],
)
def test_a_proxy_that_cannot_ask_says_why_and_ends(tmp_path, variables, said):
    file = tmp_path / "cfg"
    file.write_text(SECRET, encoding="utf-8")
    file.chmod(0o640)
    environment = {"PATH": os.environ["PATH"], "OPENAI_MODEL": "tiny"}
    environment |= {name: value.format(file=file) for name, value in variables.items()}
    command = [sys.executable, str(SERVE), "--port", "0"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert said in done.stderr
    assert SECRET not in done.stderr


def test_a_question_that_fails_leaves_the_others_in_their_places(proxy, ask_all, clip, upstream, talk):
    upstream.behave = lambda call: talk.Reply({}, status=400) if call.heard == [2000] else None
    replies = ask_all(proxy(), *((f"{PLACE} How long?", clip(samples)) for samples in (1000, 2000, 3000)))
    assert [reply["predictions"] for reply in replies] == [["1000"], [], ["3000"]]
    assert [bool(reply["error"]) for reply in replies] == [False, True, False]


def test_an_answer_that_ran_out_of_tokens_is_empty_and_one_without_a_text_is_asked_again(proxy, ask, upstream, talk):
    url = proxy()
    upstream.behave = lambda call: talk.Reply(talk.completion(None, finish="length"))
    (reply,) = ask(url, "Hello?")
    assert (reply["predictions"], reply["finish_reason"], reply["error"]) == ([""], "length", None)
    upstream.calls.clear()
    upstream.behave = lambda call: talk.Reply(talk.completion(None if not call.number else "late"))
    assert ask(url, "Hello?")[0]["predictions"] == ["late"]


def test_gemini_gets_room_for_its_thoughts(proxy, ask, upstream):
    ask(proxy(OPENAI_MODEL="gemini-2.5-pro", GEMINI_REASONING_EFFORT="low"), "Hello?")
    assert upstream.calls[0].body["max_tokens"] == 1024
    assert upstream.calls[0].body["reasoning_effort"] == "low"


def test_more_fields_are_added_and_taken_out(proxy, ask, upstream):
    url = proxy(OPENAI_PROXY_EXTRA_BODY='{"max_completion_tokens": 9, "max_tokens": null, "temperature": null}')
    ask(url, "Hello?")
    assert {name: value for name, value in upstream.calls[0].body.items() if name != "messages"} == {
        "model": "tiny",
        "max_completion_tokens": 9,
    }
    assert "asked in the way" in ask(f"{url}/info")["model_revision"]


def test_a_system_prompt_is_only_added_where_the_question_has_none(proxy, ask, upstream):
    ask(proxy(OPENAI_PROXY_SYSTEM_PROMPT="Listen."), "Hello?")
    assert [message["role"] for message in upstream.calls[0].body["messages"]] == ["system", "user"]


def test_vllm_is_asked_by_its_variables_with_data_urls(proxy, ask, clip, upstream):
    url = proxy(
        OPENAI_BASE_URL=None,
        OPENAI_MODEL=None,
        VLLM_UPSTREAM_BASE_URL=upstream.url,
        VLLM_MODEL_ID="Qwen/Qwen3-Omni-30B-A3B-Instruct",
        VLLM_MODEL_REVISION="r1",
        VLLM_AUDIO_CONTENT_FORMAT="audio_url_data",
        VLLM_OUTPUT_MODALITIES="text",
        VLLM_EXTRA_BODY_JSON='{"top_k": 1}',
        VLLM_ADAPTER_MAX_AUDIO_SECONDS="0.05",
    )
    (reply,) = ask(url, f"{PLACE} Who sings?", clip(16000))
    assert reply["error"] is None
    body = upstream.calls[0].body
    assert (body["model"], body["modalities"], body["top_k"]) == ("Qwen/Qwen3-Omni-30B-A3B-Instruct", ["text"], 1)
    head, _, data = content_of(upstream.calls[0])[0]["audio_url"]["url"].partition(",")
    assert head == "data:audio/wav;base64"
    with wave.open(io.BytesIO(base64.b64decode(data))) as sound:
        assert sound.getnframes() == 800
    info = ask(f"{url}/info")
    assert info["model_revision"].startswith("r1 at 127.0.0.1")
    assert info["model_revision"].endswith("first 0.05 s")


def test_a_captioner_is_sent_no_words(proxy, ask, clip, upstream):
    ask(proxy("--audio-only"), f"{PLACE} Who sings?", clip(1000))
    (message,) = upstream.calls[0].body["messages"]
    assert [part["type"] for part in message["content"]] == ["input_audio"]


def test_a_run_starts_the_proxy_and_asks_through_it(upstream, run_evals, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", upstream.url)
    monkeypatch.setenv("OPENAI_MODEL", "tiny")
    result = run_evals(f"--ab-model=http:lab,serve={sys.executable} {SERVE} --port {{port}}")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*audio reaches *: prompt_tokens*"])
    assert sorted(call.heard for call in upstream.calls if call.body["max_tokens"] > 1) == [
        [1000],
        [2000],
        [3000],
        [4000],
    ]


@pytest.mark.slow
def test_a_checkpoint_behind_transformers_serve_answers_through_the_proxy(served, ask, monkeypatch, tmp_path):
    for library in ("torch", "transformers", "fastapi", "uvicorn", "multipart"):
        pytest.importorskip(library, reason=f"`transformers serve` needs {library}")
    (tmp_path / "cache").mkdir()  # without it some of the server's pages fail
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    chat = served(
        f"{sys.executable} -m transformers.cli.transformers serve --device=cpu --host=127.0.0.1 --port={{port}}"
    )
    monkeypatch.setenv("OPENAI_BASE_URL", chat)
    monkeypatch.setenv("OPENAI_MODEL", str(ROOT / "fixtures" / "checkpoints" / "good"))
    url = served(f"{sys.executable} {SERVE} --port {{port}} --wait-s 300")
    bundled = ROOT / "fixtures" / "bundled"
    right, prompts = 0, set()
    rows = [json.loads(line) for line in (bundled / "digits.jsonl").read_text(encoding="utf-8").splitlines()[:8]]
    for row in rows:
        options = "\n".join(f"({letter}) {choice}" for letter, choice in zip("ABCD", row["choices"], strict=False))
        question = f"{PLACE}{row['question']}\n{options}\nAnswer with the letter of the correct option."
        (reply,) = ask(url, question, bundled / row["audio"])
        assert reply["error"] is None
        right += row["answer"] in reply["predictions"][0]
        prompts.add(reply["usage"]["prompt_tokens"])
    assert right == len(rows)
    assert len(prompts) > 1
