"""Runs on data that was fetched: found in the data root, fetched when a run asks for it, and refused while half."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_audiobench.datasets.bundled import bundled_folder, fixtures_folder

pytest.importorskip("huggingface_hub")

REPO = "lab/digits"
BENCHMARK = f"""
protocol = "multiple_choice"

[source]
title = "Eight spoken digits"
licence = "CC0"

[[fetch]]
hub = "{REPO}"
files = ["{{split}}.jsonl", "audio/"]

[parameters]
split = ["test"]

[data]
rows = "{{split}}.jsonl"

[sample]
id = "{{id}}"
audio = "{{audio}}"
question = "{{question}}"
choices = "{{choices}}"
answer = "{{answer}}"

[[published]]
model = "Somebody's"
metric = "accuracy"
value = 0.5
conditions = "all of them"
source = "their README"
"""


@pytest.fixture
def digits(hub, tmp_path):
    """A benchmark whose files lie on the hub; pytest's root."""
    lines = (bundled_folder() / "digits.jsonl").read_text().splitlines()[:8]
    rows = [json.loads(line) for line in lines]
    hub.put(REPO, "test.jsonl", "".join(f"{line}\n" for line in lines).encode())
    for row in rows:
        hub.put(REPO, row["audio"], (bundled_folder() / row["audio"]).read_bytes())
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "digits.audiobench.toml").write_text(BENCHMARK)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


@pytest.fixture
def run(digits, hub, forks, monkeypatch):
    """Runs pytest in its own process; returns it."""
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")

    def call(*arguments):
        return forks.pytest(["-p", "no:cacheprovider", "-rs", *map(str, arguments)], digits)

    return call


def accuracy(folder):
    (record,) = folder.glob("reports/*/run.json")
    (item,) = json.loads(record.read_text())["items"]
    return item["n"], {metric["name"]: metric["value"] for metric in item["metrics"]}["accuracy"]


def test_one_command_brings_a_set_and_another_scores_a_model_on_it(digits, audiobench, run, hub, tmp_path):
    data = tmp_path / "shelf"
    assert audiobench("fetch", digits / "digits.audiobench.toml", "--data-root", data)[0] == 0
    hub.asked.clear()
    done = run(f"--ab-data-root={data}", "-k", "digits")
    assert done.returncode == 0, done.stdout
    assert accuracy(digits) == (8, 1.0)
    assert hub.asked == []


def test_data_in_the_user_s_cache_needs_no_option(digits, audiobench, run):
    audiobench("fetch", digits / "digits.audiobench.toml")
    assert run().returncode == 0
    assert accuracy(digits) == (8, 1.0)


def test_the_first_folder_of_the_shelves_is_the_data_root(digits, audiobench, run, tmp_path, monkeypatch):
    (tmp_path / "shelf").mkdir()
    monkeypatch.setenv("AUDIOBENCH_DATA", str(tmp_path / "shelf"))
    audiobench("fetch", digits / "digits.audiobench.toml")
    assert (tmp_path / "shelf" / "digits" / "test.jsonl").is_file()
    assert run().returncode == 0
    assert accuracy(digits) == (8, 1.0)


def test_a_run_fetches_nothing_and_names_the_command(run, hub):
    done = run()
    assert "1 skipped" in done.stdout
    assert "run audiobench fetch digits.audiobench.toml, or point to it with --ab-data=digits=FOLDER" in done.stdout
    assert hub.asked == []


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_run_fetches_what_it_lacks_where_it_is_asked_to(digits, run, hub, workers):
    done = run("--ab-fetch", workers)
    assert done.returncode == 0, done.stdout
    assert accuracy(digits) == (8, 1.0)
    assert sum("test.jsonl" in request and request.startswith("GET") for request in hub.asked) == 1


def test_a_run_whose_data_cannot_be_fetched_says_why(run, hub):
    hub.gated[REPO] = 403
    done = run("--ab-fetch")
    assert "1 skipped" in done.stdout
    assert "digits was not fetched: " in done.stdout
    assert "is gated (reply 403)" in done.stdout


def test_half_of_a_data_set_is_not_measured(digits, audiobench, run, root, hub):
    name = digits / "digits.audiobench.toml"
    audiobench("fetch", name)
    (Path(root) / "digits" / "audio").rename(Path(root) / "aside")
    hub.fault("GET .*/resolve/.*", 503, times=1000)
    assert audiobench("fetch", name)[0] == 1
    done = run()
    assert "1 skipped" in done.stdout
    assert "is not complete, since its fetch did not end; run audiobench fetch digits.audiobench.toml" in done.stdout
    hub.faults.clear()
    assert audiobench("fetch", name)[0] == 0
    assert run().returncode == 0


def test_a_model_that_was_fetched_is_asked_offline(hub, run, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    checkpoint = next(path.parent for path in sorted(fixtures_folder().glob("checkpoints/**/model.safetensors")))
    for file in checkpoint.iterdir():
        hub.put("lab/model", file.name, file.read_bytes())
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    fetch = [sys.executable, "-m", "pytest_audiobench.cli", "fetch", "hf:lab/model", "digits.audiobench.toml"]
    subprocess.run(fetch, cwd=tmp_path / "project", check=True, capture_output=True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub.asked.clear()
    done = run("-k", "digits", "--ab-model=x=hf:lab/model,device=cpu")
    assert done.returncode == 0, done.stdout
    assert accuracy(tmp_path / "project")[0] == 8
    assert hub.asked == []
