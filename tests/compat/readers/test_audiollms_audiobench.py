"""AudioBench's score files: its published logs, and rows of its layouts written here."""

import json

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore
from tests.compat.readers.scoring import OUTPUTS, figure, mean_of_own, needs_outputs, rows_of

LOGS = OUTPUTS / "audiobench"
MERALION = LOGS / "MERaLiON-AudioLLM-Whisper-SEA-LION"


def written(folder, name, content):
    file = folder / f"{name}_score.json"
    file.write_text(json.dumps(content))
    return file


@needs_outputs
@pytest.mark.parametrize("log", ["gpt4o_judge", "llama3_70b_judge"])
def test_what_a_judge_said_is_worth_the_points_that_the_log_has(log):
    file = MERALION / f"alpaca_audio_test_{log}_score.json"

    assert figure(file, "judge_score") == pytest.approx(mean_of_own(file, "judge_score"))


@needs_outputs
@pytest.mark.parametrize("model", ["MERaLiON-AudioLLM-Whisper-SEA-LION", "Qwen-Audio-Chat"])
def test_each_string_match_is_the_logs_own(model):
    file = LOGS / model / "mmau_mini_string_match_score.json"

    assert figure(file, "accuracy") == mean_of_own(file, "accuracy")
    assert rows_of(file)[0].sample.choices == ("Man", "Woman", "Child", "Robot")


@needs_outputs
@pytest.mark.parametrize("log", ["idpc_test", "idpc_short_test"])
def test_word_errors_come_to_the_logs_own_rate(log):
    file = MERALION / f"{log}_wer_score.json"

    assert figure(file, "wer", "wer-basic") == pytest.approx(rows_of(file)[0].figures["wer"])


@needs_outputs
def test_a_whole_models_folder_is_read_with_an_eval_for_each_log():
    source = source_of(MERALION)
    names = {item.eval for item in rescore(source, ScoringOptions()).items}

    assert names == {
        "alpaca_audio_test[gpt4o]",
        "alpaca_audio_test[llama3_70b]",
        "idpc_short_test",
        "idpc_test",
        "mmau_mini",
    }


@needs_outputs
def test_a_cut_log_says_that_its_figure_is_of_more_answers():
    row = rows_of(LOGS / "Qwen-Audio-Chat" / "mmau_mini_string_match_score.json")[0]

    assert row.note == "AudioBench keeps the first 20 answers alone: its own figure, 38.5, is of all"
    assert row.figures == {}


def test_any_of_a_sums_references_is_right(tmp_path):
    file = written(tmp_path, "mqa_acc", {"acc": 1.0, "details": [{"reference": ["4", "four"], "prediction": "four"}]})

    assert figure(file, "accuracy", "answer-contained") == 1.0


def test_a_detail_that_has_lost_its_reference_is_refused(tmp_path):
    detail = {"question": "What?", "model_prediction": "A dog.", "rate_score": 1.0}
    file = written(tmp_path, "qa_string_match", {"string_match": {"judge_score": 100.0}, "details": [detail]})

    with pytest.raises(UsageError, match="row 0: it has no 'reference'"):
        rows_of(file)


def test_a_figure_without_answers_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"holds meteor 0\.2 and no answers"):
        rows_of(written(tmp_path, "audiocaps_meteor", {"meteor": 0.2}))
