"""``audiobench fetch`` from the Hub, by the real huggingface_hub against one on loopback."""

import json
import socket
import sys
import time

import pytest

pytest.importorskip("huggingface_hub")

REPO = "lab/words"
FILES = {"test.csv": b"id,text\na,one\n", "audio/a.wav": b"sound of a", "README.md": b"words"}


@pytest.fixture
def words(hub, declare):
    for path, content in FILES.items():
        hub.put(REPO, path, content)
    return declare(f'hub = "{REPO}"\nfiles = ["test.csv", "audio/"]')


def record(root):
    return json.loads((root / "words.fetch.json").read_text())


def test_one_command_brings_the_files_that_the_benchmark_names(words, audiobench, root, hub):
    code, out, err = audiobench("fetch", words)
    assert (code, err) == (0, "")
    assert (root / "words" / "test.csv").read_bytes() == FILES["test.csv"]
    assert (root / "words" / "audio" / "a.wav").read_bytes() == FILES["audio/a.wav"]
    assert not (root / "words" / "README.md").exists()
    assert "CC BY 4.0" in out
    assert "not pinned: this revision is pinned from now on" in out
    assert record(root)["parts"][0]["revision"] == hub.repos[REPO].shas()[-1]
    assert sorted(path.name for path in root.iterdir()) == ["words", "words.fetch.json"]


def test_what_is_here_is_not_fetched_again(words, audiobench, hub):
    audiobench("fetch", words)
    hub.asked.clear()
    code, out, _ = audiobench("fetch", words)
    assert (code, hub.asked) == (0, [])
    assert "all of it is here" in out


def test_the_commit_of_the_first_fetch_is_held(words, audiobench, hub, root):
    audiobench("fetch", words)
    first = record(root)["parts"][0]["revision"]
    hub.put(REPO, "test.csv", b"id,text\na,two\n")
    (root / "words" / "test.csv").unlink()
    code, out, _ = audiobench("fetch", words)
    assert code == 0
    assert "as first fetched" in out
    assert (root / "words" / "test.csv").read_bytes() == FILES["test.csv"]
    assert record(root)["parts"][0]["revision"] == first


def test_a_pinned_commit_is_fetched_whatever_came_later(hub, declare, audiobench, root):
    hub.put(REPO, "test.csv", b"first")
    pinned = hub.repos[REPO].shas()[-1]
    hub.put(REPO, "test.csv", b"second")
    code, out, _ = audiobench("fetch", declare(f'hub = "{REPO}"\nrevision = "{pinned}"\nfiles = ["test.csv"]'))
    assert (code, (root / "words" / "test.csv").read_bytes()) == (0, b"first")
    assert "(pinned)" in out


def test_another_pinned_commit_than_the_one_here_is_refused(words, hub, declare, audiobench, root):
    audiobench("fetch", words)
    hub.put(REPO, "test.csv", b"later")
    later = hub.repos[REPO].shas()[-1]
    code, _, err = audiobench("fetch", declare(f'hub = "{REPO}"\nrevision = "{later}"\nfiles = ["test.csv", "audio/"]'))
    assert code == 1
    assert "--remove, and fetch again" in err
    assert (root / "words" / "test.csv").read_bytes() == FILES["test.csv"]


@pytest.mark.parametrize(
    ("status", "says"), [(401, "is gated (reply 401): accept its terms at"), (403, "is gated (reply 403)")]
)
def test_a_gated_set_says_where_to_ask(words, hub, audiobench, root, monkeypatch, status, says):
    hub.gated[REPO] = status
    if status == 401:
        monkeypatch.delenv("HF_TOKEN")
    code, out, err = audiobench("fetch", words)
    assert (code, err.count("\n")) == (1, 1)
    assert says in err
    assert f"{hub.url}/datasets/{REPO}" in err
    assert "loopbackSecret" not in out + err
    assert not (root / "words").exists()


def test_the_token_is_sent_to_the_hub_and_to_no_other_server(words, hub, files, audiobench, root):
    files.files["/blobs/a"] = FILES["audio/a.wav"]
    hub.fault("GET .*/resolve/.*a.wav", 302, Location=f"{files.url}/blobs/a")
    code, _, err = audiobench("fetch", words)
    assert (code, err) == (0, "")
    assert (root / "words" / "audio" / "a.wav").read_bytes() == FILES["audio/a.wav"]
    assert files.tokens == [None]
    sent = [{name.lower(): value for name, value in headers.items()} for headers, _ in hub.seen]
    of_repo = [headers.get("authorization") for headers, asked in zip(sent, hub.asked, strict=True) if REPO in asked]
    assert set(of_repo) == {f"Bearer {sys.modules['fetching_hub_server'].TOKEN}"}


def test_the_token_may_lie_in_a_file_of_the_users_own(words, hub, audiobench, monkeypatch, tmp_path):
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "no-login"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = tmp_path / "config" / "huggingface" / "hf_token"
    file.parent.mkdir(parents=True)
    file.write_text("of-a-file\n")
    file.chmod(0o644)
    code, _, err = audiobench("fetch", words)
    assert (code, err.count("\n")) == (1, 1)
    assert f"chmod 600 {file}" in err
    file.chmod(0o600)
    code, out, err = audiobench("fetch", words)
    assert code == 0
    assert {headers.get("authorization") for headers, _ in hub.seen} == {"Bearer of-a-file"}
    assert "of-a-file" not in out + err


def test_a_gated_set_is_called_so_before_it_is_fetched(hub, declare, audiobench):
    hub.put(REPO, "test.csv", b"id,text\n")
    _, out, _ = audiobench("fetch", declare(f'hub = "{REPO}"', source="gated = true"), "--dry-run")
    assert "CC BY 4.0, gated; into" in out


def test_a_set_that_is_gone_says_so(declare, hub, audiobench):
    code, _, err = audiobench("fetch", declare('hub = "lab/gone"'))
    assert (code, err.count("\n")) == (1, 1)
    assert "is not there, or only for those who are admitted (reply 404)" in err


def test_a_commit_that_is_gone_says_so(words, declare, audiobench):
    missing = "0" * 40
    code, _, err = audiobench("fetch", declare(f'hub = "{REPO}"\nrevision = "{missing}"'))
    assert (code, err.count("\n")) == (1, 1)
    assert f"has no commit {missing} any more" in err


def test_a_file_that_was_renamed_says_so(words, declare, audiobench):
    code, _, err = audiobench("fetch", declare(f'hub = "{REPO}"\nfiles = ["validation.csv"]'))
    assert (code, err.count("\n")) == (1, 1)
    assert "has no validation.csv: it was moved there, or renamed" in err


def test_a_connection_that_is_cut_is_taken_up(declare, hub, audiobench, root):
    hub.put(REPO, "test.parquet", bytes(range(256)) * 4000)
    hub.fault("GET .*/resolve/.*parquet", "half")
    code, _, err = audiobench("fetch", declare(f'hub = "{REPO}"\nfiles = ["*.parquet"]'))
    assert (code, err) == (0, "")
    assert (root / "words" / "test.parquet").read_bytes() == bytes(range(256)) * 4000
    assert [headers.get("Range") for headers, _ in hub.seen if "If-Range" in headers] == ["bytes=512000-"]


def test_the_sentence_is_of_the_file_that_failed_and_not_of_those_that_were_stopped(declare, hub, audiobench):
    for number in range(8):
        hub.put(REPO, f"{number}.parquet", bytes(3_000_000))
    hub.fault("GET .*/resolve/.*/7.parquet", 404, times=20)
    code, _, err = audiobench("fetch", declare(f'hub = "{REPO}"\nfiles = ["*.parquet"]'), "--jobs", 8)
    (says,) = [line for line in err.splitlines() if line.startswith("audiobench: ")]
    assert code == 1
    assert "7.parquet" in says
    assert "is not there any more" in says


def test_a_fetch_that_failed_goes_on_where_it_ended(declare, hub, audiobench, root):
    hub.put(REPO, "test.parquet", bytes(range(256)) * 4000)
    hub.put(REPO, "a.csv", b"small")
    hub.fault("GET .*/resolve/.*parquet", "half")
    hub.fault("GET .*/resolve/.*parquet", 503, times=20)
    name = declare(f'hub = "{REPO}"\nfiles = ["*.parquet", "*.csv"]')
    code, _, err = audiobench("fetch", name, "--jobs", 1)
    assert (code, err.count("\n")) == (1, 1)
    assert "what has arrived is kept" in err
    assert not (root / "words").exists()
    hub.faults.clear()
    hub.asked.clear()
    hub.seen.clear()
    code, _, err = audiobench("fetch", name)
    assert (code, err) == (0, "")
    assert (root / "words" / "test.parquet").read_bytes() == bytes(range(256)) * 4000
    assert "bytes=512000-" in [headers.get("Range") for headers, _ in hub.seen]


def test_content_that_is_not_what_the_hub_lists_is_refused(words, hub, audiobench, root):
    hub.fault("GET .*/resolve/.*a.wav", 200, body="something else")
    code, _, err = audiobench("fetch", words)
    assert (code, err.count("\n")) == (1, 1)
    assert "audio/a.wav has not the" in err
    assert "do not trust it" in err
    assert not (root / "words").exists()
    assert audiobench("fetch", words)[0] == 0


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("../out.csv", "leaves its folder"),
        ("/etc/out.csv", "leaves its folder"),
        ("a\nb.csv", "control character"),
        ("a//b.csv", "is not written plainly"),
        ("back\\slash.csv", "backslash"),
        (f"{'n' * 300}.csv", "more than 255 bytes"),
    ],
)
def test_hostile_names_are_refused(hub, declare, audiobench, root, path, says):
    hub.put(REPO, path, b"content")
    code, _, err = audiobench("fetch", declare(f'hub = "{REPO}"'))
    assert (code, err.count("\n")) == (1, 1)
    assert says in err
    assert "do not trust it" in err
    assert not (root / "words").exists()
    assert not (root.parent / "out.csv").exists()


def test_names_that_differ_in_case_alone_are_refused(hub, declare, audiobench):
    hub.put(REPO, "Audio/a.wav", b"one")
    hub.put(REPO, "audio/b.wav", b"two")
    code, _, err = audiobench("fetch", declare(f'hub = "{REPO}"'))
    assert (code, err.count("\n")) == (1, 1)
    assert "Audio and audio, which are one name on some disks" in err


def test_the_offline_switch_is_obeyed(words, hub, audiobench, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    code, _, err = audiobench("fetch", words)
    assert (code, err.count("\n"), hub.asked) == (1, 1, [])
    assert "HF_HUB_OFFLINE=1" in err


def test_a_dry_run_fetches_nothing(words, hub, audiobench, root):
    code, out, _ = audiobench("fetch", words, "--dry-run")
    assert code == 0
    assert "2 files, 24 B" in out
    assert not any("/resolve/" in request for request in hub.asked)
    assert not (root / "words").exists()
    assert not (root / "words.fetch.json").exists()


def test_only_the_splits_that_are_wanted_are_fetched(hub, declare, audiobench, root):
    for split in ("clean", "other"):
        hub.put(REPO, f"{split}.csv", b"id,text\n")
    name = declare(f'hub = "{REPO}"\nfiles = ["{{split}}.csv"]', splits='["clean", "other"]')
    assert audiobench("fetch", name, "--only", "split=clean")[0] == 0
    assert [path.name for path in (root / "words").iterdir()] == ["clean.csv"]
    assert audiobench("fetch", f"{name}[other]")[0] == 0
    assert sorted(path.name for path in (root / "words").iterdir()) == ["clean.csv", "other.csv"]


def test_a_model_is_fetched_into_the_hub_s_cache_and_found_offline(hub, audiobench, monkeypatch):
    from huggingface_hub import constants

    from pytest_audiobench.models.hf.checkpoint import Checkpoint

    for path in ("config.json", "model.safetensors", "tokenizer.model", "pytorch_model.bin", "run.py"):
        hub.put("lab/model", path, path.encode())
    code, out, err = audiobench("fetch", "hf:lab/model")
    assert (code, err) == (0, "")
    assert "3 files" in out
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    hub.asked.clear()
    folder = Checkpoint.find("lab/model").folder
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", "model.safetensors", "tokenizer.model"]
    assert hub.asked == []


def test_a_model_of_pickled_weights_is_refused(hub, audiobench):
    hub.put("lab/model", "pytorch_model.bin", b"pickle")
    code, _, err = audiobench("fetch", "hf:lab/model")
    assert (code, err.count("\n")) == (1, 1)
    assert "has no safetensors" in err


@pytest.mark.parametrize("revision", ["", f'revision = "{"0" * 40}"'])
def test_a_hub_that_cannot_be_reached_is_given_up_after_two_requests_and_the_rest_goes_on(
    revision, hub, declare, audiobench, files, monkeypatch, tmp_path
):
    refusing = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{refusing.getsockname()[1]}"
    refusing.close()
    monkeypatch.setattr(sys.modules["huggingface_hub.constants"], "ENDPOINT", address)
    files.files["/test.csv"] = b"id,text\n"
    there = declare(f'url = "{files.url}/test.csv"')
    text = (tmp_path / there).read_text().replace(f'url = "{files.url}/test.csv"', f'hub = "{REPO}"\n{revision}')
    (tmp_path / "away.audiobench.toml").write_text(text)
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    code, out, err = audiobench("fetch", "away.audiobench.toml", there, "--dry-run")
    assert (code, err.count("\n")) == (1, 1)
    assert f"{REPO} of {address}: the connection failed (ConnectError), 2 times in a row: try again later" in err
    assert len(slept) == 1
    assert f"{files.url}/test.csv: 1 file" in out
    assert f"declared: hub:{REPO}{' at 000000000000' if revision else ''}: all its files, size not declared" in out
    assert f"declared: into {(tmp_path / 'cache/audiobench/data/away').resolve()}\n" in out
