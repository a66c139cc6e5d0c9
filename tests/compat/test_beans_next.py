"""BEANS-Next's files: what is read of them, and what is refused."""

import json

import pytest

from pytest_audiobench.compat.beans_next import fits, read
from pytest_audiobench.errors import UsageError

SERVER = {"name": "launcher", "model": "some/model"}


def answer(id_, text, **more):
    row = {"schema_version": "predictions_v1", "sample_id": id_, "predictions": [text], "error": None}
    return {**row, "finish_reason": "stop", "server_info": SERVER, **more}


def scored(id_, text, target, task="beans_zero_esc50", **more):
    row = {"schema_version": "beans_next.scored_prediction.v1", "sample_id": id_, "predictions": [text], "error": None}
    return {**row, "processed_prediction": text.lower(), "targets": target, "task_id": task, "scores": None, **more}


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_answers_are_joined_to_the_truths_beside_them(tmp_path):
    file = write(tmp_path / "predictions.jsonl", answer("b", "Dog"), answer("a", "cat", finish_reason="length"))
    write(tmp_path / "processed_predictions.jsonl", scored("a", "cat", "cow"), scored("b", "Dog", "dog"))
    one, other = read(file)
    assert (one.sample.id, one.sample.reference, one.responses["answer"].text) == ("b", "dog", "Dog")
    assert (one.eval, one.dataset, one.model) == ("beans_zero_esc50", "beans-next/beans_zero_esc50", "some/model")
    assert one.stored["processed_prediction"] == "dog"
    assert (one.family, other.responses["answer"].finish, other.error) == ("bioacoustic", "length", None)


def test_scores_are_kept_where_they_were_recorded(tmp_path):
    file = write(tmp_path / "predictions.jsonl", answer("a", "dog"))
    write(tmp_path / "scored_predictions.jsonl", scored("a", "dog", "dog", scores={"accuracy": 1.0}))
    (row,) = read(file)
    assert row.stored["scores"] == {"accuracy": 1.0}


def test_scored_rows_can_be_read_by_themselves(tmp_path):
    file = write(tmp_path / "scored_predictions.jsonl", scored("a", "x, y", ["y", "x"], "beans_zero_dcase"))
    (row,) = read(file)
    assert (row.sample.references, row.sample.reference) == (("y", "x"), "y")
    assert row.family == "bioacoustic,task=detection"


def test_a_failed_request_is_no_answer(tmp_path):
    file = write(tmp_path / "scored_predictions.jsonl", {**scored("a", "", "dog"), "predictions": [], "error": "boom"})
    (row,) = read(file)
    assert (row.error, dict(row.responses)) == ("boom", {})


def test_a_sample_without_a_truth_is_not_scored(tmp_path):
    file = write(tmp_path / "scored_predictions.jsonl", scored("a", "dog", None))
    (row,) = read(file)
    assert row.error == "no truth is recorded for this sample"


def test_no_prediction_at_all_is_an_empty_answer(tmp_path):
    file = write(tmp_path / "scored_predictions.jsonl", {**scored("a", "", "dog"), "predictions": []})
    (row,) = read(file)
    assert (row.error, row.responses["answer"].text) == (None, "")


def test_pairs_name_model_and_task(tmp_path):
    pairs = [
        {"sample_id": "a", "model_tag": model, "task_id": "t", "task_type": "detection", "ground_truth": "Yes"}
        | {"raw_predictions": [text], "processed_prediction": "Yes", "error": None}
        for model, text in (("one", "Yes"), ("other", "yes!"), ("one", "No"))
    ]
    pairs[2]["sample_id"] = "b"
    rows = list(read(write(tmp_path / "pairs.jsonl", *pairs)))
    assert [(row.model, row.sample.id) for row in rows] == [("one", "a"), ("one", "b"), ("other", "a")]
    assert rows[0].family == "bioacoustic,task=detection"


def test_tasks_come_one_after_the_other(tmp_path):
    rows = [scored(f"{n}", "x", "x", task) for n, task in enumerate(["t", "u", "t"])]
    assert [row.eval for row in read(write(tmp_path / "scored_predictions.jsonl", *rows))] == ["t", "t", "u"]


def test_a_task_of_unknown_kind_has_no_family(tmp_path):
    (row,) = read(write(tmp_path / "scored_predictions.jsonl", scored("a", "x", "x", "my_task")))
    assert row.family == ""


def test_answers_without_truths_are_refused(tmp_path):
    with pytest.raises(UsageError, match=r"no truths, and neither scored_predictions\.jsonl nor"):
        list(read(write(tmp_path / "predictions.jsonl", answer("a", "dog"))))


def test_a_file_that_two_runs_were_appended_to_is_refused(tmp_path):
    file = write(tmp_path / "scored_predictions.jsonl", scored("a", "x", "x"), scored("a", "y", "x"))
    with pytest.raises(UsageError, match="line 2: the sample 'a' comes twice"):
        list(read(file))


def test_truths_of_another_run_are_refused(tmp_path):
    file = write(tmp_path / "predictions.jsonl", answer("a", "dog"))
    write(tmp_path / "processed_predictions.jsonl", scored("a", "cat", "dog"))
    with pytest.raises(UsageError, match="of another run"):
        list(read(file))


def test_a_row_of_another_layout_is_refused(tmp_path):
    file = write(tmp_path / "scored_predictions.jsonl", scored("a", "x", "x"), {"id": 1})
    with pytest.raises(UsageError, match="line 2 is not a row of BEANS-Next"):
        list(read(file))


def test_a_layout_is_told_by_its_fields():
    assert fits(answer("a", "x"))
    assert fits(scored("a", "x", "x"))
    assert fits({"sample_id": "a", "raw_predictions": ["x"], "ground_truth": "x"})
    assert not fits({"id": "a", "predictions": []})
