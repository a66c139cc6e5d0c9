"""AIR-Bench's results, which its two inference scripts wrote here of a model that was given its answers."""

import json

import pytest

from pytest_audiobench.errors import UsageError
from tests.compat.readers.scoring import FILES, figure, rows_of

FOUNDATION = FILES / "air-bench" / "Foundation_result_modelx.jsonl"
CHAT = FILES / "air-bench" / "Chat_result_modelx.jsonl"
JUDGED = FILES / "air-bench" / "batch_run_output.jsonl"
"""The layout of ``score_chat.py``, written here: it asks a server."""


def test_choices_come_to_what_the_published_script_prints():
    """Two of the two that ``score_foundation.py`` reads; it leaves the third out."""
    assert figure(FOUNDATION, "accuracy") == 1.0
    assert figure(FOUNDATION, "accuracy", "air-bench-keep") == pytest.approx(2 / 3)


def test_absent_choices_are_no_options_and_a_task_is_an_eval():
    row = rows_of(FOUNDATION)[0]

    assert (row.eval, row.sample.id, row.sample.choices) == ("Sound_AQA_clothoaqa", "0", ("yes", "no"))


def test_a_description_goes_along_with_an_open_answer():
    row = rows_of(CHAT)[1]

    assert (row.family, row.sample.metadata["meta_info"]) == ("judged", "an owl hoots twice")


def test_the_judges_points_are_read_as_the_published_script_reads_them():
    rows = rows_of(JUDGED)

    assert [row.stored for row in rows] == [{"judge_score": 0.6}, {}]


def test_the_first_points_are_the_models_in_a_file_of_swapped_places(tmp_path):
    file = tmp_path / "chat_score_cir.jsonl"
    file.write_text(JUDGED.read_text())

    assert rows_of(file)[0].stored == {"judge_score": 0.9}


def test_a_row_that_has_lost_its_number_is_refused(tmp_path):
    row = json.loads(FOUNDATION.read_text().splitlines()[0])
    del row["uniq_id"]
    file = tmp_path / "Foundation_result.jsonl"
    file.write_text(json.dumps(row) + "\n")

    with pytest.raises(UsageError, match="row 1: it has no 'uniq_id', so the question is unknown"):
        rows_of(file)
