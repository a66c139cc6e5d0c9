"""The faithfulness study's newer results, held to the letters that the study itself read."""

import json

import pytest

from pytest_audiobench.errors import UsageError
from tests.compat.readers.scoring import OUTPUTS, figure, mean_of_own, needs_outputs, rows_of

RESULTS = OUTPUTS / "faithfulness-results"


@needs_outputs
@pytest.mark.parametrize(
    ("folder", "scorer"),
    [
        ("flamingo_hf/baseline", "faithfulness-runtime-af3"),
        ("flamingo_hf/no_reasoning", "faithfulness-runtime-af3"),
        ("qwen_omni/baseline", "letters"),
        ("qwen_omni/early_answering", "letters"),
    ],
)
def test_answers_are_as_right_as_the_study_found_them(folder, scorer):
    (file,) = (RESULTS / folder).glob("*.jsonl")

    assert figure(file, "accuracy", scorer) == pytest.approx(mean_of_own(file, "accuracy"))


@needs_outputs
def test_each_chain_and_each_step_is_a_sample_of_one_recording():
    rows = rows_of(RESULTS / "qwen_omni" / "early_answering" / "early_answering_qwen_omni_mmar.jsonl")

    assert (rows[0].eval, rows[0].model) == ("mmar[early_answering]", "qwen_omni")
    assert [row.sample.id for row in rows[:4]] == ["mmar_0#0/0", "mmar_0#0/1", "mmar_0#0/2", "mmar_1#0/0"]
    assert rows[0].recording == rows[1].recording != rows[3].recording


def test_a_row_that_has_lost_its_options_is_refused(tmp_path):
    row = {"id": "q", "chain_id": 0, "correct_choice": "B", "final_answer_raw": "(B)", "choices": "none are listed"}
    file = tmp_path / "baseline_m_mmar.jsonl"
    file.write_text(json.dumps(row) + "\n")

    with pytest.raises(UsageError, match="row 1: the true letter 'B' is not one of its options"):
        rows_of(file)
