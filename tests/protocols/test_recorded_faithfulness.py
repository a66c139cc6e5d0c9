"""The faithfulness study's figures, repeated to the last item from its recorded texts.

The audio is not needed: a sample is made from the manifest the texts were asked from, its reference being the option
with the study's true letter.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.protocol import Answer

RECORDED = Path(__file__).parents[2].parent / "shared" / "data" / "recorded"
pytestmark = pytest.mark.skipif(not RECORDED.is_dir(), reason=f"the recorded outputs are not at {RECORDED}")

PROTOCOL = multiple_choice()


def lines(path: str) -> list[dict[str, Any]]:
    with (RECORDED / path).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@cache
def samples(task: str) -> dict[str, Sample]:
    found = {}
    for row in lines(f"manifests/{task}_manifest.jsonl"):
        listed = row.get("choices_list") or re.split(r"\s*\([A-J]\)\s*", row["choices"])[1:]
        choices = tuple(choice.strip() for choice in listed)
        reference = choices["ABCDEFGHIJ".index(row["true_letter"])]
        found[row["id"]] = Sample(row["id"], (), row["question"], choices, reference)
    return found


def read_all(scorer: str, task: str, path: str) -> list[tuple[dict[str, Any], Answer, float]]:
    """Row, answer and score, for each recorded text."""
    rule = PROTOCOL.available[scorer]
    found = []
    for row in lines(path):
        sample = samples(task)[row["id"]]
        answer = rule.parse(sample, {"answer": Response.of(row["raw_model_outputs"][0])})
        found.append((row, answer, rule.score(sample, answer)["correct"]))
    return found


def accuracy_and_nulls(scorer: str, task: str, path: str) -> tuple[float, int]:
    answers = read_all(scorer, task, path)
    nulls = sum(answer.status not in ("parsed", "out_of_range") for _, answer, _ in answers)
    return round(100 * sum(correct for _, _, correct in answers) / len(answers), 2), nulls


@pytest.mark.parametrize(
    ("scorer", "task", "accuracy", "nulls"),
    [
        ("faithfulness-recovered", "animal", 81.30, 10),
        ("faithfulness-recovered", "language", 79.60, 17),
        ("faithfulness-recovered", "emotion", 45.70, 34),
        ("faithfulness-recovered", "gender", 57.20, 6),
        ("faithfulness-recovered-mm", "mmar", 52.86, 4),
        ("faithfulness-recovered-mmau", "mmau", 67.70, 71),
    ],
)
def test_recovered_accuracies_and_nulls_of_audio_flamingo_3(scorer, task, accuracy, nulls) -> None:
    assert accuracy_and_nulls(scorer, task, f"af3/baseline_{task}_REAS.jsonl") == (accuracy, nulls)


@pytest.mark.parametrize(
    ("task", "accuracy", "nulls"),
    [
        ("animal", 76.70, 53),
        ("language", 77.90, 31),
        ("emotion", 38.70, 154),
        ("gender", 56.60, 13),
        ("mmar", 48.35, 69),
        ("mmau", 67.70, 51),
    ],
)
def test_run_time_accuracies_of_audio_flamingo_3_with_reasoning(task, accuracy, nulls) -> None:
    path = f"af3/baseline_{task}_REAS.jsonl"
    assert accuracy_and_nulls("faithfulness-runtime-af3", task, path) == (accuracy, nulls)


@pytest.mark.parametrize(
    ("task", "path", "accuracy"),
    [
        ("animal", "baseline_animal_NO_REAS", 76.70),
        ("language", "baseline_language_NO_REAS", 76.30),
        ("emotion", "baseline_emotion_NO_REAS", 47.20),
        ("gender", "baseline_gender_NO_REAS", 49.40),
        ("mmar", "baseline_mmar_test_NO_REAS", 54.26),
    ],
)
def test_accuracies_of_audio_flamingo_3_without_reasoning(task, path, accuracy) -> None:
    assert accuracy_and_nulls("faithfulness-runtime-af3-direct", task, f"af3/{path}.jsonl")[0] == accuracy


def test_mmau_without_reasoning_was_read_without_a_list_of_choices() -> None:
    path = "af3/baseline_mmau_test_No_REAS.jsonl"
    assert accuracy_and_nulls("faithfulness-runtime-af3-direct-mmau", "mmau", path) == (74.60, 7)
    assert accuracy_and_nulls("faithfulness-runtime-af3-direct", "mmau", path) == (74.90, 1)


@pytest.mark.parametrize(
    ("task", "path", "accuracy", "nulls"),
    [
        ("animal", "baseline_animal_No_REAS", 81.40, 3),
        ("emotion", "baseline_emotion_No_REAS", 31.80, 16),
        ("animal", "baseline_animal_REAS", 83.60, 0),
        ("emotion", "baseline_emotion_REAS", 34.00, 3),
        ("animal", "mask_p20_animal_REAS", 82.10, 0),
        ("animal", "mask_p40_animal_REAS", 79.20, 0),
        ("animal", "mask_p60_animal_REAS", 69.30, 0),
        ("animal", "mask_p80_animal_REAS", 50.70, 0),
        ("animal", "mask_p100_animal_REAS", 20.50, 1),
    ],
)
def test_accuracies_and_nulls_of_qwen_omni(task, path, accuracy, nulls) -> None:
    assert accuracy_and_nulls("faithfulness-runtime-qwen", task, f"qwen2.5-omni/{path}.jsonl") == (accuracy, nulls)


STORED = [
    *(("faithfulness-runtime-af3", task, f"af3/baseline_{task}_REAS") for task in ("animal", "emotion", "gender")),
    ("faithfulness-runtime-af3", "language", "af3/baseline_language_REAS"),
    ("faithfulness-runtime-af3", "mmar", "af3/baseline_mmar_REAS"),
    *(("faithfulness-runtime-af3-direct", task, f"af3/baseline_{task}_NO_REAS") for task in ("animal", "emotion")),
    ("faithfulness-runtime-af3-direct", "gender", "af3/baseline_gender_NO_REAS"),
    ("faithfulness-runtime-af3-direct", "language", "af3/baseline_language_NO_REAS"),
    ("faithfulness-runtime-af3-direct", "mmar", "af3/baseline_mmar_test_NO_REAS"),
    ("faithfulness-runtime-af3-direct-mmau", "mmau", "af3/baseline_mmau_test_No_REAS"),
    *(("faithfulness-runtime-qwen", task, f"qwen2.5-omni/baseline_{task}_REAS") for task in ("animal", "emotion")),
    *(("faithfulness-runtime-qwen", task, f"qwen2.5-omni/baseline_{task}_No_REAS") for task in ("animal", "emotion")),
    *(("faithfulness-runtime-qwen", "animal", f"qwen2.5-omni/mask_p{p}_animal_REAS") for p in (20, 40, 60, 80, 100)),
]


@pytest.mark.parametrize(("scorer", "task", "path"), STORED, ids=[path for _, _, path in STORED])
def test_every_stored_letter_is_read_again(scorer: str, task: str, path: str) -> None:
    for row, answer, _ in read_all(scorer, task, f"{path}.jsonl"):
        stored = row["predicted_letters"][0]
        if stored is None:
            assert answer.status in ("unparsed", "empty"), row["id"]
        elif ord(stored) - ord("A") < len(samples(task)[row["id"]].choices):
            assert answer == ("parsed", stored), row["id"]
        else:
            assert answer == ("out_of_range", None), row["id"]


def test_the_stored_letters_of_mmau_with_reasoning_come_from_an_older_parser() -> None:
    rows = lines("af3/baseline_mmau_REAS.jsonl")
    assert sum(row["predicted_letters"][0] == row["true_letter"] for row in rows) == 616


def test_answers_beyond_the_options_were_counted_as_answers() -> None:
    answers = read_all("faithfulness-runtime-qwen", "emotion", "qwen2.5-omni/baseline_emotion_No_REAS.jsonl")
    assert sum(answer.status == "out_of_range" for _, answer, _ in answers) == 167


@pytest.mark.parametrize(("task", "accuracy"), [("emotion", 14.80)])
def test_mmaus_rule_fails_long_reasoning(task: str, accuracy: float) -> None:
    assert accuracy_and_nulls("mmau-string", task, f"af3/baseline_{task}_REAS.jsonl")[0] == accuracy
