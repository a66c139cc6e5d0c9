"""Speech-IFEval's outputs: one of its published files, and rows of its reports written here."""

import json

import pytest

from pytest_audiobench.errors import UsageError
from tests.compat.readers.scoring import OUTPUTS, figure, mean_of_own, needs_outputs, rows_of

REASONING = OUTPUTS / "speech-ifeval" / "chain-of-thought.jsonl"
ASKED = {
    "audio_filepath": "a.wav",
    "seed_transcript": "hello",
    "instruction": "Transcribe it.\nUse capital letters.",
    "dataset": "Automatic_speech_recognition",
    "response": "HELLO",
}


def report(folder, name, *rows):
    file = folder / "lab--model" / "reports" / name
    file.parent.mkdir(parents=True)
    file.write_text("".join(json.dumps({**ASKED, **row}) + "\n" for row in rows))
    return file


@needs_outputs
def test_requests_to_reason_are_two_hundred_and_need_a_judge():
    rows = rows_of(REASONING)

    assert len({row.sample.id for row in rows}) == 200
    assert {(row.family, row.scorer) for row in rows} == {("judged", "speech-ifeval-cot")}


def test_what_the_judge_said_of_reasoning_is_read_again(tmp_path):
    said = [{"metric": "cot", "eval_response": f"Result: {word}", "correct": word == "YES"} for word in ("YES", "NO")]
    file = report(tmp_path, "llm_eval@chain-of-thought.jsonl", *said)

    assert figure(file, "accuracy") == mean_of_own(file, "accuracy") == 0.5
    assert (rows_of(file)[0].eval, rows_of(file)[0].model) == ("chain-of-thought", "lab/model")


def test_constraints_are_checked_as_the_report_has_them(tmp_path):
    pytest.importorskip("langdetect")
    asked = {"id": 0, "metric": "wer", "instruction_id_list": ["change_case:english_capital"], "kwargs": [{}]}
    file = report(
        tmp_path,
        "rule_eval@closed_ended_questions.jsonl.jsonl",
        {**asked, "label": "HELLO", "follow_all_instructions": True},
        {**asked, "id": 1, "label": "HELLO", "response": "hello", "follow_all_instructions": False},
    )

    assert figure(file, "accuracy") == mean_of_own(file, "accuracy") == 0.5


def test_a_row_that_has_lost_its_clip_is_refused(tmp_path):
    file = report(tmp_path, "llm_eval@chain-of-thought.jsonl", {"metric": "cot", "audio_filepath": None})

    with pytest.raises(UsageError, match="row 1: it has no 'audio_filepath' that is a text"):
        rows_of(file)
