"""lmms-eval 0.7.3's samples, as its own dummy model was logged on a task of six tones."""

import json

import pytest

from pytest_audiobench.errors import UsageError
from tests.compat.readers.scoring import FILES, figure, mean_of_own, rows_of

CHOICES = FILES / "lmms-eval" / "20261123_210111_samples_tones_mcq.jsonl"
SPEECH = FILES / "lmms-eval" / "20261123_210138_samples_tones_asr.jsonl"


def written(folder, *rows):
    file = folder / "20260101_000000_samples_tones.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_choices_are_found_in_the_prompt_and_come_to_the_tasks_own_accuracy():
    first = rows_of(CHOICES)[0]

    assert first.sample.choices == ("one", "two", "three", "four")
    assert (first.eval, first.model, first.family) == ("tones_mcq", "dummy", "multiple_choice")
    assert (
        figure(CHOICES, "accuracy", "letters") == first.figures["accuracy"] == mean_of_own(CHOICES, "accuracy") == 0.5
    )


def test_a_transcription_comes_to_the_tasks_own_error_rate():
    assert figure(SPEECH, "wer", "lower-nopunct") == pytest.approx(rows_of(SPEECH)[0].figures["wer"])


def test_what_a_tasks_score_says_beside_the_score_breaks_its_figures_down():
    assert [row.sample.metadata for row in rows_of(CHOICES)][:2] == [{"task": "music"}, {"task": "sound"}]


def test_a_row_that_has_lost_the_number_of_its_document_is_refused(tmp_path):
    file = written(tmp_path, {"doc_id": None, "target": "one", "filtered_resps": "A"})

    with pytest.raises(UsageError, match="row 1: it has no 'doc_id', so the question is unknown"):
        rows_of(file)


def test_a_row_that_has_lost_its_target_is_refused(tmp_path):
    file = written(tmp_path, {"doc_id": 0, "target": "", "filtered_resps": "A"})

    with pytest.raises(UsageError, match="holds no reference of '0'"):
        rows_of(file)


def test_the_likelihoods_of_options_are_no_answer(tmp_path):
    file = written(tmp_path, {"doc_id": 0, "target": "1", "filtered_resps": [[-1.5, True], [-2.0, False]]})

    with pytest.raises(UsageError, match="'filtered_resps' holds no single answer in words, but list"):
        rows_of(file)


def test_an_accuracy_in_percent_is_a_share(tmp_path):
    asked = {"target": "one", "input": "A. one\nB. two"}
    rows = [{**asked, "doc_id": number, "filtered_resps": "A", "accuracy": 100.0} for number in range(2)]

    assert [row.stored for row in rows_of(written(tmp_path, *rows))] == [{"accuracy": 1.0}, {"accuracy": 1.0}]
