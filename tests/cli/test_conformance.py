"""``audiobench conformance``: reference cases from anybody's file."""

import json
from pathlib import Path

import pytest

from pytest_audiobench.cli import main

SHARED = Path(__file__).resolve().parents[3] / "shared"
PIANO = {"type": "music", "start_time": 0, "end_time": 10, "description": "piano"}
SCENE = {
    "id": "half",
    "kind": "score",
    "input": {"truth": [PIANO], "guesses": [{**PIANO, "end_time": 5}], "invalid_guesses": 1, "similarity": {}},
    "expected": {"reward": 0.5, "f1": 1 / 3, "halluc": 0.5, "speaker_map": {}},
}
WER = {
    "id": "mine/wer-0",
    "metric": "wer",
    "params": {},
    "inputs": {"reference": "the cat sat", "hypothesis": "the cat"},
    "expected": 1 / 3,
    "tolerance": 1e-9,
}


def write(folder, document):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.json").write_text(json.dumps(document))
    return str(folder)


def scenes(*cases):
    return {"schema": "soundscape-cases/1", "tolerance": 1e-6, "cases": list(cases)}


@pytest.mark.skipif(not (SHARED / "conformance").is_dir(), reason="the cases are not on this machine (../shared)")
@pytest.mark.slow
def test_every_published_case_is_compared_and_none_fails(capsys):
    code = main(["conformance", str(SHARED / "conformance")])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    if "cannot be used here" in out:
        pytest.skip("a scorer lacks its parts on this machine")
    assert code == 0
    assert ", 0 fail." in " ".join(out.split())


@pytest.mark.skipif(not (SHARED / "soundscape").is_dir(), reason="the cases are not on this machine (../shared)")
def test_every_case_of_the_soundscapes_specification_agrees(capsys):
    assert main(["conformance", str(SHARED / "soundscape" / "cases.json")]) == 0
    assert "Of 33 cases 33 agree" in capsys.readouterr().out


def test_a_case_that_agrees_and_one_that_differs(tmp_path, capsys):
    assert main(["conformance", write(tmp_path, [WER])]) == 0
    assert "Of 1 cases 1 agree" in capsys.readouterr().out
    assert main(["conformance", write(tmp_path, [WER, {**WER, "id": "wrong", "expected": 0.25}])]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "wrong in mine.json differs by transcription/raw" in said
    assert "expected 0.25 ours 0.3333333333333333 by 0.0833333, where 1e-09 is tolerated" in said


def test_a_scene_is_compared_by_the_parts_of_its_scorers(tmp_path, capsys):
    assert main(["conformance", write(tmp_path, scenes(SCENE))]) == 0
    assert main(["conformance", write(tmp_path, scenes({**SCENE, "expected": {"reward": 0.25}}))]) == 1
    assert "0.25 at reward" in capsys.readouterr().out


def test_all_cases_that_differ_are_counted_and_ten_are_printed(tmp_path, capsys):
    wrong = [{**WER, "id": f"wrong {number}", "expected": 5.0} for number in range(12)]
    assert main(["conformance", write(tmp_path, wrong)]) == 1
    out = capsys.readouterr().out
    assert "Failing (the first 10 of 12):" in out
    assert out.count("differs by") == 10
    assert "12 fail." in out


def test_a_scorer_s_own_cases_lie_under_its_name(tmp_path, capsys):
    case = {"metric": "wer", "value": 0.5, "samples": [{"reference": "Two words."}], "responses": ["two"]}
    document = {"code": "by hand", "made_by": "counting", "cases": [case]}
    folder = tmp_path / "transcription"
    folder.mkdir()
    (folder / "wer-basic.json").write_text(json.dumps(document))
    assert main(["conformance", str(tmp_path)]) == 0
    (folder / "wer-basics.json").write_text(json.dumps(document))
    assert main(["conformance", str(tmp_path)]) == 1
    assert "has no scorer here by" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "smell"}, "no scorer answers for the metric 'soundscape smell'"),
        ({"expected": {"rewards": 1}}, "KeyError: 'rewards'"),
        ({"input": {}}, "KeyError: 'truth'"),
    ],
)
def test_a_case_that_cannot_be_run_is_a_line_and_a_failure(tmp_path, capsys, change, says):
    assert main(["conformance", write(tmp_path, scenes({**SCENE, **change}))]) == 1
    assert says in capsys.readouterr().out


def test_a_folder_without_cases_compares_nothing(tmp_path, capsys):
    assert main(["conformance", str(tmp_path)]) == 5
    assert main(["conformance", write(tmp_path, [{**WER, "metric": "spearman"}])]) == 5
    out = " ".join(capsys.readouterr().out.split())
    assert "Of 1 cases 0 agree, 0 are ours by a rule, 1 are outside and were not compared, 0 fail." in out


def test_cases_in_a_file_of_lines_are_not_passed_over_in_silence(tmp_path, capsys):
    write(tmp_path, [WER])
    (tmp_path / "lines.jsonl").write_text(f"{json.dumps(WER)}\n" * 2)
    assert main(["conformance", str(tmp_path)]) == 1
    assert "lines.jsonl               it is not JSON: Extra data" in capsys.readouterr().out


def test_a_folder_that_is_not_there_is_a_mistake(tmp_path, capsys):
    assert main(["conformance", str(tmp_path / "none")]) == 4
    assert "is not there" in capsys.readouterr().err
