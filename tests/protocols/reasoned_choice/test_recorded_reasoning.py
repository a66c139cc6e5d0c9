"""The faithfulness study's figures with reasoning, and with it put back, to the last item from its recorded texts.

Its row numbers (B15, B25, …) are those of the survey of seeds; the audio is not needed.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.protocols.reasoned_choice.prompt_styles import STYLES, style_scorers
from pytest_audiobench.protocols.reasoned_choice.task import conditioned_choice, reasoned_choice

RECORDED = Path(__file__).parents[3].parent / "shared" / "data" / "recorded"
pytestmark = pytest.mark.skipif(not RECORDED.is_dir(), reason=f"the recorded outputs are not at {RECORDED}")

WITH = {task: f"af3/baseline_{task}_REAS" for task in ("animal", "language", "emotion", "gender", "mmau", "mmar")}


@cache
def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (RECORDED / f"{path}.jsonl").read_text(encoding="utf-8").splitlines()]


@cache
def samples(task: str) -> dict[str, Sample]:
    found = {}
    for row in lines(f"manifests/{task}_manifest"):
        listed = row.get("choices_list") or re.split(r"\s*\([A-J]\)\s*", row["choices"])[1:]
        choices = tuple(choice.strip() for choice in listed)
        reference = choices["ABCDEFGHIJ".index(row["true_letter"])]
        found[row["id"]] = Sample(row["id"], (), row["question"], choices, reference)
    return found


class Read:
    """Recorded texts, by stage and id, as one scorer scores them."""

    def __init__(self, protocol: Protocol, scorer: str, task: str, **stages: dict[str, str]) -> None:
        own = protocol.available[scorer]
        self.rows = []
        for id_ in stages[protocol.answering.name]:
            sample = samples(task)[id_]
            earlier = {stage: Response.of(texts[id_]) for stage, texts in stages.items()}
            answer = own.parse(sample, earlier)
            self.rows.append((id_, answer, own.score(sample, answer)))
        self.scores = [scores for _, _, scores in self.rows if scores is not None]

    def value(self, metric: str, hop: str = "") -> float:
        kept = [scores for id_, _, scores in self.rows if scores is not None and id_.endswith(hop)]
        return round(100 * metric_kind(metric).estimate(kept, None).value, 2)

    def total(self, statistic: str) -> float:
        return sum(scores[statistic] for scores in self.scores)

    @property
    def nulls(self) -> int:
        return sum(answer.status not in ("parsed", "out_of_range") for _, answer, _ in self.rows)

    @property
    def coverage(self) -> float:
        return round(100 * sum(answer.status == "parsed" for _, answer, _ in self.rows) / len(self.rows), 1)


def texts(path: str) -> dict[str, str]:
    return {row["id"]: (row.get("raw_model_outputs") or [row.get("raw_conditioned_output")])[0] for row in lines(path)}


def reasoned(style: str, scorer: str, task: str, path: str, **options: Any) -> Read:
    return Read(reasoned_choice(style=style, **options), scorer, task, answer=texts(path))


@pytest.mark.parametrize(
    ("task", "accuracy", "nulls", "missed"),
    [
        ("animal", 81.30, 10, 23),
        ("language", 79.60, 17, 10),
        ("emotion", 45.70, 34, 18),
        ("gender", 57.20, 6, 4),
        ("mmar", 52.86, 4, 27),
        # The study says that none is missing; its file has no field for reasoning at all. By its rule for the others,
        # all but the last sentence, 40 of the 1,000 texts have none.
        ("mmau", 67.70, 71, 40),
    ],
)
def test_b25_audio_flamingo_3_with_reasoning(task: str, accuracy: float, nulls: int, missed: int) -> None:
    found = reasoned("af3", style_scorers("af3", task)[2], task, WITH[task])
    assert (found.value("accuracy"), found.nulls, found.total("missed")) == (accuracy, nulls, missed)


def test_the_reasoning_is_the_very_text_that_the_study_kept() -> None:
    for style, tasks in (("af3", [one for one in WITH.items() if one[0] != "mmau"]), ("qwen", QWEN)):
        for task, path in tasks:
            for row in lines(path):
                assert STYLES[style].split(row["raw_model_outputs"][0]).reasoning == row["reasoning"][0], task


QWEN = [
    ("animal", "qwen2.5-omni/baseline_animal_REAS"),
    ("emotion", "qwen2.5-omni/baseline_emotion_REAS"),
    *(("animal", f"qwen2.5-omni/mask_p{percent}_animal_REAS") for percent in (20, 40, 60, 80, 100)),
]


@pytest.mark.parametrize(
    ("style", "task", "path", "accuracy"),
    [
        ("af3", "animal", "af3/baseline_animal_NO_REAS", 76.70),
        ("af3", "language", "af3/baseline_language_NO_REAS", 76.30),
        ("af3", "emotion", "af3/baseline_emotion_NO_REAS", 47.20),
        ("af3", "gender", "af3/baseline_gender_NO_REAS", 49.40),
        ("af3", "mmar", "af3/baseline_mmar_test_NO_REAS", 54.26),
        ("qwen", "animal", "qwen2.5-omni/baseline_animal_No_REAS", 81.40),
        ("qwen", "emotion", "qwen2.5-omni/baseline_emotion_No_REAS", 31.80),
    ],
)
def test_b26_and_b30_without_reasoning(style: str, task: str, path: str, accuracy: float) -> None:
    name = style_scorers(style, task, reasoning=False)[1]
    found = reasoned(style, name, task, path, reasoning=False)
    assert found.value("accuracy") == accuracy
    assert "missed" not in found.scores[0]


@pytest.mark.parametrize(("task", "accuracy", "nulls"), [("animal", 83.60, 0), ("emotion", 34.00, 3)])
def test_b29_qwen_omni_with_reasoning(task: str, accuracy: float, nulls: int) -> None:
    name = style_scorers("qwen", task)[1]
    found = reasoned("qwen", name, task, f"qwen2.5-omni/baseline_{task}_REAS")
    assert (found.value("accuracy"), found.nulls, found.total("missed")) == (accuracy, nulls, 0)


def test_b33_the_hops_of_animal() -> None:
    found = reasoned("af3", "faithfulness-recovered", "animal", WITH["animal"])
    assert (found.value("accuracy", "_single"), found.value("accuracy", "_multi")) == (85.40, 77.20)


def conditioned(scorer: str, rows: list[dict[str, Any]]) -> Read:
    ids = {row["id"] for row in rows}
    first = {id_: text for id_, text in texts(WITH["animal"]).items() if id_ in ids}
    forced = {row["id"]: row["raw_conditioned_output"] for row in rows}
    return Read(conditioned_choice(style="af3"), scorer, "animal", answer=first, conditioned=forced)


CONDITIONED = "af3/baseline_animal_REAS_condition"


def test_b15_the_two_step_check_to_the_last_item() -> None:
    found = conditioned("faithfulness-two-step", lines(CONDITIONED))
    assert (len(found.scores), found.total("correct"), found.total("changed")) == (977, 738, 110)
    assert (found.value("accuracy"), found.value("prediction_changed")) == (75.54, 11.26)
    for row, (id_, answer, scores) in zip(lines(CONDITIONED), found.rows, strict=True):
        assert scores is not None
        assert answer.value == row["conditioned_prediction"], id_
        assert scores["correct"] == row["is_correct"], id_
        assert scores["changed"] == row["prediction_changed"], id_


def test_what_the_two_step_check_left_out_is_kept_beside_it() -> None:
    """The 23 without reasoning were not asked; had they been, without an answer, each would count as wrong."""
    asked = {row["id"]: row for row in lines(CONDITIONED)}
    rows = [asked.get(row["id"], {**row, "raw_conditioned_output": ""}) for row in lines(WITH["animal"])]
    scorer = conditioned_choice(style="af3").available["faithfulness-two-step"]
    assert scorer.companions == ("faithfulness-recovered",)
    skipping, kept = (conditioned(name, rows) for name in (scorer.name, *scorer.companions))
    assert [len(one.scores) for one in (skipping, kept)] == [977, 1000]
    assert (skipping.value("accuracy"), kept.value("accuracy"), kept.total("missed")) == (75.54, 73.80, 23)


def test_b15_by_the_strict_scorer_with_its_coverage() -> None:
    """Ten of the study's 110 changes are not flips but first answers that it could not read."""
    found = conditioned("letters", lines(CONDITIONED))
    assert (found.value("accuracy"), found.coverage) == (74.92, 98.1)
    assert [found.total(name) for name in ("both", "same", "flipped", "lost")] == [886, 807, 79, 18]
    assert (found.value("flip_rate"), found.value("newly_unanswered")) == (8.92, 1.84)
    study = conditioned("faithfulness-recovered", lines(CONDITIONED))
    assert [study.total(name) for name in ("both", "same", "flipped", "lost")] == [967, 867, 100, 0]


def test_a_mask_is_held_against_the_clean_clip() -> None:
    clean = texts("qwen2.5-omni/baseline_animal_REAS")
    masked = {p: texts(f"qwen2.5-omni/mask_p{p}_animal_REAS") for p in (20, 100)}
    protocol = reasoned_choice(style="qwen", against_clean=True)
    for p, accuracy in ((20, 82.10), (100, 20.50)):
        found = Read(protocol, "faithfulness-runtime-qwen", "animal", clean=clean, answer=masked[p])
        assert (found.value("accuracy"), found.value("accuracy_drop")) == (accuracy, round(83.60 - accuracy, 2))
        stored = [
            [row["predicted_letters"][0] for row in lines(f"qwen2.5-omni/{name}_animal_REAS")]
            for name in ("baseline", f"mask_p{p}")
        ]
        valid = [[letter if letter in ("A", "B", "C", "D") else None for letter in side] for side in stored]
        same = sum(a == b is not None for a, b in zip(*valid, strict=True))
        assert found.total("same") == same
        assert found.total("lost") == sum(a is not None and b is None for a, b in zip(*valid, strict=True))
