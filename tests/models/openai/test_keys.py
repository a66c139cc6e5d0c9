"""Where keys come from, and that they go nowhere but to their server."""

import logging
import os

import pytest

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.remote.api_keys import find_key, hub_token, named_key
from pytest_audiobench.models.remote.endpoint import Endpoint

SECRET = "sk-very-secret-0123456789abcdef"
OPENAI = Endpoint.of("https://api.openai.com/v1")
GEMINI = Endpoint.of("https://generativelanguage.googleapis.com/v1beta/openai/")
HUGGING = Endpoint.of("https://router.huggingface.co/v1")
ELSEWHERE = Endpoint.of("https://models.example/v1")
LOCAL = Endpoint.of("http://127.0.0.1:8000/v1")


@pytest.fixture
def home(tmp_path):
    """Writes a key file under a config home; gives the environment that points there."""

    def write(name, text, mode=0o600):
        file = tmp_path / "home" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)
        return {"XDG_CONFIG_HOME": str(tmp_path / "home"), "HF_HOME": str(tmp_path / "hub")}

    return write


@pytest.mark.parametrize(
    ("endpoint", "variable"),
    [
        (OPENAI, "OPENAI_API_KEY"),
        (GEMINI, "GEMINI_API_KEY"),
        (HUGGING, "HF_TOKEN"),
        (ELSEWHERE, "OPENAI_API_KEY"),
        (LOCAL, "OPENAI_API_KEY"),
    ],
)
def test_each_server_gets_the_key_of_its_own_variable(endpoint, variable):
    everyones = {"OPENAI_API_KEY": "o-key", "GEMINI_API_KEY": "g-key", "HF_TOKEN": "h-key"}
    assert find_key(endpoint, None, everyones).reveal() == everyones[variable]


def test_a_host_that_only_ends_like_a_known_one_is_another(home):
    environ = home("openai/cfg", SECRET)
    assert find_key(Endpoint.of("https://notopenai.com/v1"), None, environ) is None
    assert find_key(Endpoint.of("https://api.openai.com.example/v1"), None, environ) is None


def test_no_key_travels_unencrypted_unless_it_is_named():
    environ = {"OPENAI_API_KEY": SECRET}
    assert find_key(Endpoint.of("http://models.example/v1"), None, environ) is None
    assert find_key(Endpoint.of("http://models.example/v1"), "OPENAI_API_KEY", environ).reveal() == SECRET
    with pytest.raises(UsageError, match="https"):
        find_key(Endpoint.of("http://api.openai.com/v1"), None, environ)


def test_a_named_variable_is_the_only_one_that_counts():
    environ = {"OPENAI_API_KEY": "other", "MINE": SECRET}
    assert find_key(OPENAI, "MINE", environ).reveal() == SECRET
    with pytest.raises(UsageError, match="THEIRS is not set"):
        find_key(OPENAI, "THEIRS", environ)


@pytest.mark.parametrize(
    "text",
    [
        SECRET,
        f"{SECRET}\n",
        f"api_key = {SECRET}\n",
        f"[default]\n# mine\nmodel = gpt\napi_key={SECRET}\n",
        f'export OPENAI_API_KEY="{SECRET}"\n',
        f"key: '{SECRET}'",
        f"\ufefftoken = {SECRET}\r\n",
    ],
)
def test_a_key_file_holds_the_bare_key_or_a_line_that_names_it(home, text):
    assert find_key(OPENAI, None, home("openai/cfg", text)).reveal() == SECRET


@pytest.mark.parametrize(("endpoint", "file"), [(GEMINI, "gemini/cfg"), (HUGGING, "huggingface/hf_token")])
def test_other_providers_have_files_of_their_own(home, endpoint, file):
    assert find_key(endpoint, None, home(file, SECRET)).reveal() == SECRET


@pytest.mark.parametrize(
    ("endpoint", "variable"),
    [(OPENAI, "OPENAI_API_KEY"), (GEMINI, "GEMINI_API_KEY"), (HUGGING, "HF_TOKEN"), (LOCAL, "OPENAI_API_KEY")],
)
def test_the_user_names_a_key_s_file_by_the_variable_with_file_behind_it(home, tmp_path, endpoint, variable):
    environ = {**home("mine", SECRET), f"{variable}_FILE": str(tmp_path / "home/mine")}
    assert find_key(endpoint, None, environ).reveal() == SECRET
    assert find_key(endpoint, variable, environ).reveal() == SECRET
    assert find_key(endpoint, None, {**environ, variable: "first"}).reveal() == "first"


def test_a_servers_token_may_lie_in_a_named_file(home, tmp_path, stranger, http_model, tone_asks, monkeypatch):
    home("lab", f"{SECRET}\n")
    monkeypatch.setenv("LAB_TOKEN_FILE", str(tmp_path / "home/lab"))
    server = stranger()
    model = http_model(server, token_env="LAB_TOKEN")
    assert model.ask(tone_asks(1))[0].text
    assert server.headers[0]["authorization"] == f"Bearer {SECRET}"
    assert str(tmp_path) not in f"{model.spec} {model.fingerprint()}"


def test_a_named_file_that_others_can_read_is_refused(home, tmp_path):
    environ = {**home("mine", SECRET, 0o644), "MINE_FILE": str(tmp_path / "home/mine")}
    with pytest.raises(UsageError, match=r"home/mine can be read by others \(mode 644\).*chmod 600") as refused:
        named_key("token_env", "MINE", environ)
    assert SECRET not in str(refused.value)


def test_a_file_of_mode_400_is_read(home):
    assert find_key(OPENAI, None, home("openai/cfg", SECRET, 0o400)).reveal() == SECRET


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_file_of_another_user_is_refused(home, tmp_path):
    environ = home("openai/cfg", SECRET)
    os.chown(tmp_path / "home/openai/cfg", 12_345, -1)
    with pytest.raises(UsageError, match=r"openai/cfg belongs to another user \(uid 12345\)") as refused:
        find_key(OPENAI, None, environ)
    assert SECRET not in str(refused.value)


def test_the_hubs_own_login_comes_before_the_file(home):
    environ = home("../hub/token", SECRET)
    home("huggingface/hf_token", "from-the-file")
    assert find_key(HUGGING, None, environ).reveal() == SECRET
    assert hub_token(environ) is None


def test_the_hub_is_asked_with_a_file_s_token_where_the_library_knows_none(home, tmp_path):
    environ = home("huggingface/hf_token", SECRET)
    assert hub_token(environ) == SECRET
    home("mine", "named")
    assert hub_token({**environ, "HF_TOKEN_FILE": str(tmp_path / "home/mine")}) == "named"
    assert hub_token({**environ, "HF_TOKEN": "the library's affair"}) is None
    assert hub_token({"XDG_CONFIG_HOME": str(tmp_path), "HF_HOME": str(tmp_path)}) is None
    home("huggingface/hf_token", SECRET, 0o604)
    with pytest.raises(UsageError, match="chmod 600"):
        hub_token(environ)


def test_the_environment_comes_before_the_file(home):
    environ = {**home("openai/cfg", "from-the-file"), "OPENAI_API_KEY": SECRET}
    assert find_key(OPENAI, None, environ).reveal() == SECRET


def test_a_file_is_for_its_own_provider_alone(home):
    environ = home("openai/cfg", SECRET)
    assert find_key(ELSEWHERE, None, environ) is None
    assert find_key(LOCAL, None, environ) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610])
def test_a_file_that_others_can_reach_is_refused_in_one_sentence(home, mode):
    with pytest.raises(UsageError, match=rf"openai/cfg can be read by others \(mode {mode:o}\).*chmod 600") as refused:
        find_key(OPENAI, None, home("openai/cfg", SECRET, mode))
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["", "a = 1\nb = 2\n", f"api_key = {SECRET}\ntoken = {SECRET}2\n", f"{SECRET} {SECRET}"]
)
def test_a_file_without_one_clear_key_is_refused_and_not_quoted(home, text):
    with pytest.raises(UsageError, match="openai/cfg") as refused:
        find_key(OPENAI, None, home("openai/cfg", text))
    assert SECRET not in str(refused.value)


def test_without_a_key_the_ways_to_give_one_are_named(tmp_path):
    with pytest.raises(UsageError, match=r"set OPENAI_API_KEY, name .*write it to .*/openai/cfg \(mode 600\)"):
        find_key(OPENAI, None, {"XDG_CONFIG_HOME": str(tmp_path)})


def test_a_key_that_fits_no_header_is_refused_and_not_quoted():
    with pytest.raises(UsageError, match="OPENAI_API_KEY") as refused:
        find_key(OPENAI, None, {"OPENAI_API_KEY": f"{SECRET}\nX: y"})
    assert SECRET not in str(refused.value)


def test_a_key_shows_where_it_came_from_and_nothing_else():
    key = find_key(OPENAI, "MINE", {"MINE": SECRET})
    assert repr(key) == str(key) == f"{key}" == "Key(from MINE)"


# A server that repeats what it was sent


def test_a_server_gets_the_key_that_is_meant_for_it(peer, model_at, asks, monkeypatch):
    monkeypatch.setenv("MY_KEY", SECRET)
    model_at(peer, key_env="MY_KEY").ask(asks(1))
    assert peer.calls[0].headers["authorization"] == f"Bearer {SECRET}"


def test_a_local_server_is_asked_without_a_key(peer, model_at, asks, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-mine")
    assert model_at(peer).ask(asks(1))[0].text == "1000"
    assert peer.calls[0].headers["authorization"] == "Bearer none"
    assert "openai-organization" not in peer.calls[0].headers


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
@pytest.mark.parametrize("place", ["json", "text", "escaped", "long", "answer", "stream"])
def test_a_key_that_a_server_repeats_is_never_shown(
    peer, model_at, asks, talk, monkeypatch, caplog, capfd, status, place
):
    echoed = {
        "json": lambda said: {"error": {"message": f"bad header {said}"}},
        "text": lambda said: f"<h1>{said}</h1>".encode(),
        "escaped": lambda said: ('{"error": "' + "".join(f"\\u{ord(c):04x}" for c in said) + '"}').encode(),
        "long": lambda said: {"error": {"message": "x" * 280 + said}},
        "answer": lambda said: talk.completion(said),
        "stream": lambda said: talk.events(*[{"choices": [{"delta": {"content": letter}}]} for letter in said]),
    }[place]
    monkeypatch.setenv("MY_KEY", SECRET)
    peer.behave = lambda call: talk.Reply(
        echoed(call.headers["authorization"]), status, {"X-Echo": call.headers["authorization"]}
    )
    model = model_at(peer, key_env="MY_KEY", patience_s="0.2", stream="yes" if place == "stream" else "no")
    caplog.set_level(logging.DEBUG)
    try:
        shown = repr(model.ask(asks(1)))
    except FatalError as error:
        shown = f"{error!r} {error.__cause__!r} {error.__context__!r}"
    out, err = capfd.readouterr()
    everything = shown + caplog.text + out + err + repr(vars(model)) + model.spec + str(model.fingerprint())
    assert peer.calls
    assert SECRET not in everything
    assert SECRET[:20] not in everything
