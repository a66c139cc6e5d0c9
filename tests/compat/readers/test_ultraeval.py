"""UltraEval-Audio's records, which its ``EvalTask`` wrote here of a model that was given its answers."""

import json

import pytest

from pytest_audiobench.errors import UsageError
from tests.compat.readers.scoring import FILES, figure, mean_of_own, rows_of

CHOICES = FILES / "ultraeval" / "tiny" / "sound_choice" / "2026-11-23_12-00-00.jsonl"
SPEECH = FILES / "ultraeval" / "tiny" / "tiny_asr" / "2026-11-23_12-00-00.jsonl"


def test_choices_come_to_the_tasks_own_accuracy():
    own = rows_of(CHOICES)[0].figures["accuracy"]

    assert figure(CHOICES, "accuracy") == pytest.approx(own) == mean_of_own(CHOICES, "accuracy")


def test_a_transcription_comes_to_the_tasks_own_rate():
    assert figure(SPEECH, "wer") == pytest.approx(rows_of(SPEECH)[0].figures["wer"])


def test_folders_name_the_model_and_the_set():
    assert (rows_of(SPEECH)[0].model, rows_of(SPEECH)[0].eval) == ("tiny", "tiny_asr")


def test_a_sample_that_could_not_be_asked_is_an_error():
    assert rows_of(CHOICES)[3].error == "RuntimeError: the server closed the connection"


def test_a_record_that_was_never_scored_has_no_references_and_is_refused(tmp_path):
    file = tmp_path / "run.jsonl"
    file.write_text(json.dumps({"type": "inference", "id": 0, "data": {"content": "hello"}}) + "\n")

    with pytest.raises(UsageError, match="holds no step 'eval', in which the references are"):
        rows_of(file)
