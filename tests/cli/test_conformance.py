"""``audiobench conformance``: reference cases of soundscapes, from anybody's file."""

import json
from pathlib import Path

import pytest

from pytest_audiobench.cli import main

CASES = Path(__file__).resolve().parents[3] / "shared" / "soundscape"
PIANO = {"type": "music", "start_time": 0, "end_time": 10, "description": "piano"}
SCORE = {
    "id": "half",
    "kind": "score",
    "input": {"truth": [PIANO], "guesses": [{**PIANO, "end_time": 5}], "invalid_guesses": 1, "similarity": {}},
    "expected": {"reward": 0.5, "f1": 1 / 3, "halluc": 0.5, "speaker_map": {}},
}


def write(folder, *cases, **fields):
    document = {"schema": "soundscape-cases/1", "tolerance": 1e-6, "cases": list(cases), **fields}
    (folder / "mine.json").write_text(json.dumps(document))
    return str(folder)


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not on this machine (../shared/soundscape)")
def test_every_case_of_the_specification_agrees(capsys):
    assert main(["conformance", str(CASES)]) == 0
    assert "33 of 33 cases agree" in capsys.readouterr().out


def test_a_case_that_agrees_and_one_that_differs(tmp_path, capsys):
    assert main(["conformance", write(tmp_path, SCORE)]) == 0
    assert "1 of 1 cases agree (1 score)" in capsys.readouterr().out
    wrong = {**SCORE, "id": "wrong", "expected": {"reward": 0.25}}
    assert main(["conformance", write(tmp_path, SCORE, wrong)]) == 1
    said = capsys.readouterr().out
    assert "1 of 2 cases agree" in said
    assert "wrong differs: expected {'reward': 0.25}, computed {'reward': 0.5}" in said


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "smell"}, "lacks or does not know 'smell'"),
        ({"expected": {"rewards": 1}}, "lacks or does not know 'rewards'"),
        ({"input": {}}, "lacks or does not know 'truth'"),
    ],
)
def test_a_case_that_cannot_be_run_is_refused_in_a_sentence(tmp_path, capsys, change, says):
    assert main(["conformance", write(tmp_path, {**SCORE, **change})]) == 4
    assert says in capsys.readouterr().err


def test_a_folder_without_cases_is_a_mistake(tmp_path, capsys):
    (tmp_path / "other.json").write_text("[]")
    assert main(["conformance", str(tmp_path)]) == 4
    assert "holds no file of the schema soundscape-cases/1" in capsys.readouterr().err
