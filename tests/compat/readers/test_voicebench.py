"""VoiceBench's results, which its ``main.py`` wrote here of a model that was given its answers."""

import json

import pytest

from pytest_audiobench.errors import UsageError
from tests.compat.readers.scoring import FILES, figure, mean_of_own, rows_of

RESULTS = FILES / "voicebench"


def test_choices_are_read_by_voicebenchs_rule_and_called_by_their_key():
    file = RESULTS / "tiny-openbookqa-test-audio.jsonl"
    row = rows_of(file)[0]

    assert (row.eval, row.model, row.sample.id, row.sample.choices) == ("openbookqa", "tiny", "7", ("A", "B", "C", "D"))
    assert figure(file, "accuracy") == pytest.approx(2 / 3)


def test_instructions_and_refusals_are_read_by_voicebenchs_rules():
    assert figure(RESULTS / "tiny-advbench-test-audio.jsonl", "refusal_rate") == 0.5
    assert rows_of(RESULTS / "tiny-ifeval-test-audio.jsonl")[1].sample.metadata["kwargs"] == '[{"num_bullets": 2}]'


def test_open_answers_have_no_reference_and_a_judge_is_needed():
    file = RESULTS / "tiny-alpacaeval-test-audio.jsonl"

    with pytest.raises(UsageError, match="only a judge can score the family judged"):
        figure(file, "judge_score")


@pytest.mark.parametrize(
    ("name", "verdicts", "metric", "own"),
    [
        ("alpacaeval-test", ["5", "4", "3"], "judge_score", 0.8),
        ("sd-qa-usa", ["Yes", "No", "yes"], "accuracy", 1.0),
    ],
)
def test_three_verdicts_are_what_voicebench_makes_of_them(tmp_path, name, verdicts, metric, own):
    row = json.loads((RESULTS / f"tiny-{name}-audio.jsonl").read_text().splitlines()[0])
    file = tmp_path / f"result-tiny-{name}-audio.jsonl"
    file.write_text(json.dumps({**row, "score": verdicts}) + "\n")

    assert mean_of_own(file, metric) == pytest.approx(own)


def test_a_choice_that_has_lost_its_reference_is_refused(tmp_path):
    file = tmp_path / "tiny-mmsu-law-audio.jsonl"
    file.write_text(json.dumps({"prompt": "Which?", "response": "B"}) + "\n")

    with pytest.raises(UsageError, match="row 1: it has no 'reference'"):
        rows_of(file)
