"""The strict scorer beside the study's on the same recorded texts: what it answers, and what it leaves open."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from pytest_audiobench.protocols.multiple_choice.letters import read_choice

RECORDED = Path(__file__).parents[2].parent / "shared" / "data" / "recorded"
pytestmark = pytest.mark.skipif(not RECORDED.is_dir(), reason=f"the recorded outputs are not at {RECORDED}")


def rows(path: str) -> list[dict]:
    with (RECORDED / path).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def choices_by_id(task: str) -> dict[str, tuple[str, ...]]:
    manifest = rows(f"manifests/{task}_manifest.jsonl")
    return {row["id"]: tuple(re.split(r"\s*\([A-J]\)\s*", row["choices"].strip())[1:]) for row in manifest}


def read_all(task: str, path: str) -> tuple[float, Counter[str]]:
    """Accuracy in percent with the unanswered counted as wrong, and how often each status occurs."""
    choices = choices_by_id(task)
    answers = [(row, read_choice(row["raw_model_outputs"][0], choices[row["id"]])) for row in rows(path)]
    right = sum(answer.value == row["true_letter"] for row, answer in answers)
    return round(100 * right / len(answers), 2), Counter(answer.status for _, answer in answers)


@pytest.mark.parametrize(
    ("task", "path", "accuracy"),
    [
        ("animal", "baseline_animal_NO_REAS", 76.70),
        ("emotion", "baseline_emotion_NO_REAS", 47.20),
        ("gender", "baseline_gender_NO_REAS", 49.40),
        ("mmar", "baseline_mmar_test_NO_REAS", 54.26),
        ("mmau", "baseline_mmau_test_No_REAS", 75.00),
    ],
)
def test_short_answers_are_read_as_the_study_read_them(task, path, accuracy) -> None:
    strict, statuses = read_all(task, f"af3/{path}.jsonl")
    assert strict == accuracy
    assert statuses["parsed"] >= 996


@pytest.mark.parametrize("task", ["animal", "emotion", "gender", "language", "mmar"])
def test_reasoning_that_never_names_an_option_as_its_answer_stays_open(task) -> None:
    """Of the letters that the strict scorer gives on reasoning, nearly none differ from the study's."""
    choices = choices_by_id(task)
    both = different = 0
    for row in rows(f"af3/baseline_{task}_REAS.jsonl"):
        answer = read_choice(row["raw_model_outputs"][0], choices[row["id"]])
        stored = row["predicted_letters"][0]
        if answer.value and stored and stored in "ABCDEFGHIJ"[: len(choices[row["id"]])]:
            both += 1
            different += answer.value != stored
    assert both > 600
    assert different / both < 0.02


def test_refusals_are_counted_as_refusals_and_not_as_letters() -> None:
    _, statuses = read_all("emotion", "qwen2.5-omni/baseline_emotion_No_REAS.jsonl")
    assert statuses["refused"] > 167
    assert statuses["out_of_range"] == 0


def test_the_conclusion_n_is_beyond_the_options() -> None:
    _, statuses = read_all("emotion", "qwen2.5-omni/baseline_emotion_REAS.jsonl")
    assert statuses["out_of_range"] > 70
