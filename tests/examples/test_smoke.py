"""examples/smoke.sh as it is typed: a server, its contract, a suite, three files; and what it does when one fails."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = ("predictions.jsonl", "processed_predictions.jsonl", "scored_predictions.jsonl")


@pytest.fixture
def smoke(tmp_path):
    """Calls the script for a folder; its exit code, output and errors."""
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def call(folder=tmp_path / "my results", **more):
        command = [ROOT / "examples" / "smoke.sh", str(folder)]
        return subprocess.run(command, cwd=tmp_path, env={**environ, **more}, capture_output=True, text=True)

    return call


def test_the_smoke_script_writes_the_three_files_of_every_task(smoke, tmp_path):
    result = smoke()
    assert result.returncode == 0, result.stdout + result.stderr
    assert "the server keeps the contract" in result.stdout
    folders = {path.parent for path in (tmp_path / "my results" / "files").rglob("predictions.jsonl")}
    assert sorted(folder.name for folder in folders) == [
        "beans_smoke_captioning",
        "beans_smoke_classification",
        "beans_smoke_detection",
    ]
    for folder in folders:
        rows = [[json.loads(line) for line in (folder / name).read_text().splitlines()] for name in NAMES]
        assert [len(lines) for lines in rows] == [5, 5, 5]
        assert len({tuple(row["sample_id"] for row in lines) for lines in rows}) == 1
        assert all(row["predictions"][0].startswith("dummy ") for row in rows[0])
        assert all("processed_prediction" in row and "scores" in row for row in rows[2])
    assert not list(tmp_path.glob("my results/**/*.part"))


def test_the_smoke_script_fails_where_no_server_answers(smoke):
    result = smoke(URL="http://127.0.0.1:9")
    assert result.returncode != 0
    assert "2. smoke suite" not in result.stdout


def test_the_smoke_script_fails_where_a_server_breaks_the_contract(smoke, tmp_path):
    broken = tmp_path / "python3"
    template = (ROOT / "examples/servers/template_server.py").read_text()
    assert "max_batch_size is" in template
    (tmp_path / "server.py").write_text(template.replace("if len(requests) > max_batch:", "if False:"))
    broken.write_text(f'#!/bin/sh\nshift\nexec "{sys.executable}" "{tmp_path}/server.py" --dummy "$@"\n')
    broken.chmod(0o755)
    result = smoke(PATH=f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert result.returncode != 0
    assert "FAIL  oversized-413" in result.stdout
    assert "2. smoke suite" not in result.stdout


def test_the_smoke_script_adds_to_no_folder_that_holds_something(smoke, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    result = smoke(tmp_path)
    assert result.returncode == 2
    assert "already exists and is not empty" in result.stderr
