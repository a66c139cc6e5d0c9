"""Submissions to MMAU, of which 300 rows of DeSTA2.5's are held to, and MMAU-Pro's table in its published layout."""

import json

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore
from tests.compat.readers.scoring import OUTPUTS, figure, needs_outputs, rows_of

DESTA = OUTPUTS / "mmau-submission" / "desta2.5-first-300.json"
PRO = [
    {
        "id": "p1",
        "audio_path": ["a.wav", "b.wav"],
        "question": "Which is louder?",
        "answer": "the first",
        "choices": ["the first", "the second"],
        "category": "sound",
        "model_output": "A",
    },
    {
        "id": "p2",
        "audio_path": ["c.wav"],
        "question": "Describe it without commas.",
        "answer": "",
        "choices": None,
        "category": "instruction following",
        "task_identifier": "No Commas",
        "kwargs": {},
        "model_output": "A quiet, slow tune",
    },
    {
        "id": "p3",
        "audio_path": ["d.wav"],
        "question": "What happens?",
        "answer": "A door closes.",
        "choices": None,
        "category": "open",
        "model_output": "Someone shuts a door.",
    },
]


@needs_outputs
def test_a_submission_comes_to_the_accuracy_of_the_publishers_evaluation():
    """187 of the 300 rows, as the repository's evaluation.py counts them."""
    assert figure(DESTA, "accuracy") == pytest.approx(187 / 300)


@needs_outputs
def test_a_submission_is_broken_down_by_task_difficulty_and_kind():
    row = rows_of(DESTA)[0]

    assert row.groups == ("task", "difficulty", "sub-category")
    assert row.recording == "./test-mini-audios/3fe64f3d-282c-4bc8-a753-68f8f6c35652.wav"


def test_answers_to_the_withheld_test_have_no_reference_and_are_refused(tmp_path):
    row = {
        "id": "1",
        "audio_id": "1.wav",
        "question": "?",
        "choices": ["a", "b"],
        "task": "sound",
        "difficulty": "easy",
    }
    file = tmp_path / "submission.json"
    file.write_text(json.dumps([{**row, "model_prediction": "a"}]))

    with pytest.raises(UsageError, match="holds no reference of '1'"):
        rows_of(file)


def test_a_submission_that_has_lost_its_options_is_refused(tmp_path):
    row = {"id": "1", "audio_id": "1.wav", "question": "?", "choices": [], "task": "sound", "difficulty": "easy"}
    file = tmp_path / "submission.json"
    file.write_text(json.dumps([{**row, "model_output": "a", "answer": "a"}]))

    with pytest.raises(UsageError, match="row 1: it has no list 'choices', so its options are lost"):
        rows_of(file)


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_each_kind_of_question_of_mmau_pro_is_an_eval(tmp_path, ending):
    file = tmp_path / f"pro.{ending}"
    if ending == "json":
        file.write_text(json.dumps(PRO))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        rows = [
            {**row, "kwargs": json.dumps(row.get("kwargs")), "task_identifier": row.get("task_identifier")}
            for row in PRO
        ]
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    scored = rescore(source_of(file), ScoringOptions(scorers=("letters", "mmau-pro-instructions")))
    accuracies = {item.eval: item.metrics[0].value for item in scored.items}

    assert accuracies == {"mmau_pro[choice]": 1.0, "mmau_pro[instructions]": 0.0}
    assert any("mmau_pro[open] was not scored" in note for note in scored.notes)
