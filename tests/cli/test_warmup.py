"""``audiobench warmup``: a model is loaded and asked twice, and the exit code says whether it answered."""

import json
import re
import socket
from pathlib import Path

import pytest

from pytest_audiobench.cli import main

CHECKPOINT = Path(__file__).parents[2] / "fixtures" / "checkpoints" / "good"


def shown(text):
    return dict(re.split(r"  +", line.strip(), maxsplit=1) for line in text.splitlines())


def test_a_model_is_loaded_and_answers_twice(capsys):
    assert main(["warmup", "baseline:listener"]) == 0
    rows = shown(capsys.readouterr().out)
    assert list(rows) == ["model", "device", "loaded in", "first", "second"]
    assert (rows["model"], rows["device"]) == ("baseline:listener", "cpu")
    assert re.fullmatch(r"\d+\.\d\d s", rows["loaded in"])
    for name in ("first", "second"):
        assert re.fullmatch(r"\d+\.\d\d s, '[A-D]'", rows[name])


def test_a_model_that_does_not_answer_ends_with_1_and_says_why(tmp_path, capsys):
    row = {"eval": "e", "model": "m", "dataset": "d", "sample_id": "s", "stage": "answer", "epoch": 0}
    answers = tmp_path / "predictions.jsonl"
    answers.write_text(json.dumps({**row, "outputs": [{"text": "yes"}]}) + "\n")
    assert main(["warmup", f"replay:{answers}"]) == 1
    rows = shown(capsys.readouterr().out)
    assert "no answer: " in rows["first"]


def test_a_server_that_is_away_ends_with_6_and_a_spec_that_is_none_with_4(capsys):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        assert main(["warmup", f"http:http://127.0.0.1:{port},retry_s=0.1"]) == 6
    assert "could not be reached" in capsys.readouterr().err
    assert main(["warmup", "nothing:x"]) == 4
    assert main(["warmup", "hf:/no/such/folder"]) == 4


@pytest.mark.skipif(not CHECKPOINT.is_dir(), reason="needs the checkpoints in fixtures/checkpoints")
def test_a_checkpoint_is_warmed_up_on_its_device(forks_with_torch, tmp_path):
    done = forks_with_torch.audiobench(["warmup", f"hf:{CHECKPOINT},device=cpu"], tmp_path)
    assert done.returncode == 0, done.stderr
    rows = shown(done.stdout)
    assert rows["device"] == "cpu"
    assert " s, '" in rows["second"]
