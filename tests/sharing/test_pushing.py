"""``audiobench push`` with the real huggingface_hub, against a hub on loopback that fails in every way a hub does."""

import io
import json
import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_audiobench.errors import FatalError
from pytest_audiobench.sharing import hub as hub_module
from pytest_audiobench.sharing.submission import decoded
from pytest_audiobench.sharing.upload import TRIES, UploadTarget, path_of, push

pytest.importorskip("huggingface_hub")
pytest.importorskip("cryptography")

MINE = "ada/audiobench-leaderboard-submissions"
TOKEN = "hf_loopbackSecretOfAda"


@pytest.fixture(scope="module")
def main_run(tmp_path_factory):
    """The folder of a run of a model that is right."""
    return sys.modules["sharing_runs"].Lab(tmp_path_factory.mktemp("once")).run("main")


@pytest.fixture
def pushed(lab, main_run, audiobench, keys):
    """Pushes the run ``main`` with further arguments."""
    shutil.copytree(main_run, lab.reports / "main")

    def call(*arguments):
        return audiobench("push", "main", "--sign", keys / "ada", *arguments)

    return call


def only(hub, repo=MINE):
    (path, content), *others = hub.files(repo).items()
    assert not others
    return path, decoded(content, path)


def test_a_run_is_written_under_its_suite_and_hash(pushed, hub, lab):
    code, out, err = pushed("--notes", "first try", "--tags", "small, fast", "--author", "the lab")
    assert (code, err) == (0, "")
    path, found = only(hub)
    record = json.loads((lab.reports / "main" / "run.json").read_text())
    assert path == f"submissions/animals/{record['suites'][0]['hashes']['run_hash']}.json"
    assert f"written to {hub.url}/datasets/{MINE}: {path}" in out
    payload = found.payload
    assert (payload.submitted_by, payload.authored_by) == ("ada", "the lab")
    assert (payload.notes, payload.tags) == ("first try", ["small", "fast"])
    assert found.payload_sha256 in out
    assert not hub.repos[MINE].private


def test_the_same_again_is_refused_unless_told_to_replace_it(pushed, hub):
    pushed()
    first = hub.files(MINE)
    code, _, err = pushed("--notes", "again")
    assert code == 1
    assert "has a submission of this run already" in err
    assert "--overwrite replaces it" in err
    assert hub.files(MINE) == first
    assert pushed("--notes", "again", "--overwrite")[0] == 0
    assert only(hub)[1].payload.notes == "again"


def test_a_dry_run_asks_no_hub_and_writes_the_file(pushed, hub, keys):
    code, out, _ = pushed("--dry-run", "--output", "mine.json")
    assert code == 0
    assert hub.asked == []
    found = decoded(Path("mine.json").read_bytes(), "mine.json")
    size = Path("mine.json").stat().st_size
    assert f"{size} bytes, payload_sha256 {found.payload_sha256}" in out
    assert re.search(r"would be written to <user>/audiobench-leaderboard-submissions: submissions/animals/\w{64}", out)
    assert found.payload.submitted_by is None


def test_another_data_set_can_be_named_and_made_private(pushed, hub):
    assert pushed("--repo", "lab/results", "--private")[0] == 0
    assert hub.repos["lab/results"].private
    assert hub.files("lab/results")


def test_what_was_to_be_private_is_not_written_where_everybody_reads(pushed, hub):
    pushed("--repo", "ada/open")
    before = hub.files("ada/open")
    code, _, err = pushed("--repo", "ada/open", "--private", "--overwrite", "--notes", "secret")
    assert code == 4
    assert "everybody can see it" in err
    assert hub.files("ada/open") == before


@pytest.mark.parametrize(
    ("where", "what", "says"),
    [
        ("whoami", 401, "the hub does not know the token (reply 401): log in by hf auth login, or set HF_TOKEN"),
        ("repos/create", 403, "the token may not do this (reply 403)"),
        ("preupload", 403, "the token may not do this (reply 403)"),
        ("commit", 401, "the hub does not know the token (reply 401)"),
        ("commit", 404, "there is no such data set, or the token may not see it (reply 404): correct --repo"),
        ("commit", 413, "the hub refused it (reply 413)"),
        ("GET /api/datasets", 404, "there is no such data set"),
    ],
)
def test_a_refusal_is_one_sentence(where, what, says, pushed, hub):
    hub.fault(where, what, body=json.dumps({"error": f"no, {TOKEN}, not you"}))
    code, out, err = pushed()
    assert code == 1
    assert says in err
    assert err.count("\n") == 1
    assert TOKEN not in out + err
    assert not any(path for repo in hub.repos for path in hub.files(repo))


@pytest.mark.parametrize(
    ("where", "what"),
    [("whoami", 429), ("repos/create", 503), ("GET /api/datasets", "cut"), ("paths-info", 502), ("commit", "cut")],
)
def test_what_passes_is_tried_again(where, what, pushed, hub):
    hub.fault(where, what, times=2, **({"Retry_After": "0"} if what == 429 else {}))
    code, _, err = pushed()
    assert (code, err) == (0, "")
    assert only(hub)
    assert len(hub.repos[MINE].commits) == 2


def test_a_hub_that_is_away_is_given_up_after_a_few_tries(pushed, hub):
    hub.fault("commit", 503, times=99)
    code, _, err = pushed()
    assert code == 1
    assert f"the hub cannot answer now (reply 503), {TRIES} times in a row: try again later" in err
    assert sum("commit" in one for one in hub.asked) == TRIES
    assert hub.files(MINE) == {}


def test_an_upload_whose_reply_was_lost_is_written_once(pushed, hub):
    hub.fault("commit", "lost")
    code, out, _ = pushed()
    assert code == 0
    assert "just this is already at" in out
    assert only(hub)
    assert len(hub.repos[MINE].commits) == 2


def test_somebody_else_who_commits_first_is_let_by(pushed, hub):
    hub.fault("commit", "race", times=2)
    assert pushed()[0] == 0
    assert len(hub.files(MINE)) == 3


@pytest.mark.parametrize("status", [409, 412])
def test_a_conflict_without_end_is_told(status, pushed, hub):
    hub.fault("commit", status, times=99)
    code, _, err = pushed()
    assert code == 1
    assert f"somebody else writes there at the same time (reply {status}), {TRIES} times in a row" in err


def test_a_pause_that_the_hub_asks_for_is_made(hub, lab):
    waits = []
    hub.fault("commit", 429, Retry_After="7")
    assert push(b"{}", UploadTarget("ada/x", path_of("s", "0" * 64)), hub_module.Hub(), waits.append)
    assert waits == [7.0]


@pytest.mark.parametrize("after", ["3600", "99999999999", "Fri, 01 Jan 2038 00:00:00 GMT"])
def test_a_pause_too_long_is_not_made(after, pushed, hub):
    hub.fault("preupload", 429, Retry_After=after)
    code, _, err = pushed()
    assert code == 1
    assert "asks to be left alone for" in err
    assert sum("preupload" in one for one in hub.asked) == 1


def test_a_hub_that_says_nothing_is_not_waited_for(hub, monkeypatch):
    monkeypatch.setattr(hub_module, "TIMEOUT_S", 0.1)
    hub.fault("whoami", "stall", times=99)
    from pytest_audiobench.sharing.upload import with_retries

    with pytest.raises(FatalError, match=r"the connection to .* failed .*Timeout.*4 times in a row"):
        with_retries(hub_module.Hub().user, lambda seconds: None)


def test_an_answer_of_no_hub_is_one_sentence(pushed, hub):
    hub.fault("whoami", 200, body="<html>a portal of a hotel</html>")
    code, _, err = pushed()
    assert code == 1
    assert "answered with what no hub answers" in err


def test_no_token_and_an_offline_library_are_told(pushed, hub, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    code, _, err = pushed()
    assert (code, hub.asked) == (4, [])
    assert "there is no token for" in err
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    code, _, err = pushed()
    assert (code, hub.asked) == (4, [])
    assert "HF_HUB_OFFLINE=1" in err


def test_a_name_that_is_none_is_told(pushed, hub):
    code, _, err = pushed("--repo", "a/b/c")
    assert code == 4
    assert "not a name of a data set: write it as USER/NAME" in err


def test_the_token_is_in_no_file_no_output_and_no_log(pushed, hub, lab, caplog):
    caplog.set_level(logging.DEBUG)
    hub.fault("commit", 401, body=json.dumps({"error": TOKEN}))
    texts = [*pushed("--output", "one.json")[1:], *pushed("--output", "two.json")[1:], caplog.text]
    assert not any(TOKEN in text for text in texts)
    for path in (one for one in Path().rglob("*") if one.is_file()):
        assert TOKEN.encode() not in path.read_bytes(), path
    assert any(headers.get("authorization") == f"Bearer {TOKEN}" for headers, _ in hub.seen)
    assert not any(TOKEN.encode() in body for _, body in hub.seen)


def test_the_library_reads_address_and_token_from_the_environment(pushed, hub, keys):
    environ = {**os.environ, "HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HF_HUB_OFFLINE": "0", "HF_DEBUG": "1"}
    command = [sys.executable, "-m", "pytest_audiobench.cli", "push", "main", "--sign", str(keys / "ada")]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert only(hub)
    assert TOKEN not in done.stdout + done.stderr


def test_a_token_of_the_command_line_is_used_with_a_warning_and_one_of_standard_input_without(
    pushed, hub, monkeypatch, caplog
):
    caplog.set_level(logging.DEBUG)
    monkeypatch.delenv("HF_TOKEN")
    code, out, err = pushed("--token", TOKEN)
    assert code == 0
    assert "can be read in the list of processes" in err
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{TOKEN}\n"))
    hub.fault("commit", 403, body=json.dumps({"error": f"no, {TOKEN}, not you"}))
    code, out_again, err_again = pushed("--token", "-", "--overwrite", "--notes", "again", "--output", "mine.json")
    assert code == 1
    assert "not you" in err_again
    assert "list of processes" not in err_again
    assert TOKEN not in "".join((out, err, out_again, err_again, caplog.text))
    for path in (each for each in Path().rglob("*") if each.is_file()):
        assert TOKEN.encode() not in path.read_bytes(), path


def test_a_token_of_the_command_line_goes_before_that_of_the_environment(pushed, hub):
    code, _, err = pushed("--token", "hf_ofSomebodyElse")
    assert code == 1
    assert "the hub does not know the token (reply 401)" in err
    assert "hf_ofSomebodyElse" not in err


@pytest.mark.parametrize("text", ["", "two words", "tökén"])
def test_what_is_no_token_is_refused_without_being_repeated(pushed, hub, monkeypatch, text):
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{text}\n"))
    code, out, err = pushed("--token", "-")
    assert (code, hub.asked) == (4, [])
    assert "standard input's first line is not a token" in err
    assert not text or text not in out + err


def test_a_space_that_is_there_is_written_to_and_none_is_made(pushed, hub):
    code, _, err = pushed("--space", "ada/board")
    assert code == 1
    assert "there is no such Space, or the token may not see it (reply 404): correct --space" in err
    assert hub.repos == {}
    hub.put("ada/board", "app.py", b"print()")
    code, out, err = pushed("--space", "ada/board")
    assert (code, err) == (0, "")
    assert f"written to {hub.url}/spaces/ada/board: submissions/animals/" in out
    assert [path.rpartition("/")[0] for path in hub.files("ada/board")] == ["", "submissions/animals"]
    assert any(request.startswith("POST /api/spaces/ada/board/commit") for request in hub.asked)
    assert not any("repos/create" in request for request in hub.asked)


def test_a_space_and_a_data_set_are_not_both_written_to(pushed, hub):
    code, _, err = pushed("--space", "ada/board", "--repo", "ada/runs")
    assert (code, hub.asked) == (4, [])
    assert "give one of them" in err
    code, _, err = pushed("--space", "ada/board", "--private")
    assert (code, hub.asked) == (4, [])
    assert "--private is for a new data set" in err


def test_a_run_that_was_edited_is_not_shared(pushed, hub, lab):
    path = lab.reports / "main" / "run.json"
    record = json.loads(path.read_text())
    record["suites"][0]["metrics"][0]["value"] = 0.99999
    path.write_text(json.dumps(record))
    code, _, err = pushed()
    assert code == 4
    assert "does not hold, so it is not shared: metrics of suite animals by main" in err
    assert hub.repos == {}


def test_what_a_run_lacks_is_marked(lab, audiobench, hub):
    lab.run("short", limit=10, says=lambda sample_id: None if sample_id == "s003" else True)
    code, out, _ = audiobench("push", "short")
    assert code == 0
    assert "marked in it: limited to 10 samples of each eval" in out
    assert "marked in it: not signed" in out
    payload = only(hub)[1].payload
    assert (payload.limited, payload.limit) == (True, 10)


def test_of_several_suites_and_models_one_is_chosen(lab, audiobench):
    lab.run("wide", {"animals/all": lab.samples(4), "birds/all": lab.samples(4, "b")})
    code, _, err = audiobench("push", "wide", "--dry-run")
    assert code == 4
    assert "it measured animals by wide, birds by wide; choose by --suite and --model" in err
    assert audiobench("push", "wide", "--dry-run", "--suite", "birds")[0] == 0
    assert "no suite of reports/wide is fish" in audiobench("push", "wide", "--dry-run", "--suite", "fish")[2]


@pytest.mark.parametrize(
    ("suite", "folder"),
    [
        ("ab/sound-id", "ab__sound-id"),
        ("../../etc", "__..__etc"),
        ("a b\n", "a_b_"),
        ("...", "_"),
        ("x" * 300, "x" * 100),
    ],
)
def test_a_suites_name_cannot_leave_its_folder(suite, folder):
    assert path_of(suite, "f" * 64) == f"submissions/{folder}/{'f' * 64}.json"


@pytest.mark.parametrize("repo", ["bare", "a/../b", "a/b/c", "/b", "a b/c"])
def test_a_name_that_no_data_set_has_is_told_before_anything_else(repo, pushed, hub):
    for dry in ([], ["--dry-run"]):
        code, _, err = pushed("--repo", repo, *dry)
        assert code == 4
        assert "is not a name of a data set: write it as USER/NAME" in err
    assert hub.asked == []


def test_texts_that_nobody_would_read_are_refused(pushed):
    assert "--notes has 5000 characters" in pushed("--dry-run", "--notes", "x" * 5000)[2]
    assert "--tags names 30 tags" in pushed("--dry-run", "--tags", ",".join(f"t{n}" for n in range(30)))[2]
