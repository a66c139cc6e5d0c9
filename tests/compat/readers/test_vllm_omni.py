"""vllm-omni's accuracy results in the layout of its ``compute_daily_omni_accuracy_metrics``."""

import json

import pytest

from pytest_audiobench.errors import UsageError
from tests.compat.readers.scoring import FILES, figure, rows_of

RESULT = FILES / "omni" / "vllm-daily-omni.json"


def changed(folder, change):
    content = json.loads(RESULT.read_text())
    change(content)
    file = folder / "result.json"
    file.write_text(json.dumps(content))
    return file


def test_letters_come_to_the_benchmarks_own_accuracy_of_what_was_answered():
    assert figure(RESULT, "accuracy", "letters") == pytest.approx(rows_of(RESULT)[0].figures["accuracy"])
    assert rows_of(RESULT)[0].note.startswith("the file holds the letter that was read and no answer")


def test_answers_are_read_where_the_file_holds_them(tmp_path):
    texts = ["It is B.", "A, a train", "nobody knows", ""]
    file = changed(tmp_path, lambda content: content.update(generated_texts=texts))

    assert [row.responses["answer"].text for row in rows_of(file)[:3]] == texts[:3]
    assert rows_of(file)[0].note == ""


def test_a_request_that_failed_is_an_error():
    assert rows_of(RESULT)[3].error == "timed out"


def test_an_item_that_has_lost_its_reference_is_refused(tmp_path):
    file = changed(tmp_path, lambda content: content["daily_omni_eval_items"][1].pop("gold"))

    with pytest.raises(UsageError, match="row 1: it has no 'gold'"):
        rows_of(file)
