"""Reasoning asked for, put back and changed in real runs: each answer asked once, scored again alike, verified."""

import json
from pathlib import Path

import pytest

EVALS = """
import pytest
from pytest_audiobench import manifest
from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations
from pytest_audiobench.datasets.perturbations.interventions import controls
from pytest_audiobench.datasets.perturbations.interventions import masks
from pytest_audiobench.datasets.perturbations.reasoning import early_answering
from pytest_audiobench.protocols.reasoned_choice.task import conditioned_choice
from pytest_audiobench import perturb
from pytest_audiobench.datasets.perturbations.reasoning import reasoning_change, reasoning_changes
from pytest_audiobench.protocols.reasoned_choice.task import reasoned_choice

TONES = manifest("data/tones.jsonl")

@pytest.mark.parametrize("perturbation", [*named_perturbations("clean"), *masks(100), *controls()], ids=str)
def test_heard(evaluate, perturbation):
    changed = perturbation.name != "clean"
    protocol = reasoned_choice("letters", against_clean=changed, control=perturbation.family == "control")
    evaluate(perturb(TONES, perturbation), protocol)

def test_two_steps(evaluate):
    evaluate(TONES, conditioned_choice("letters", "faithfulness-two-step"))

CHANGES = [*early_answering(0, 100), *reasoning_changes("filler", "inject-text-wrong")]

@pytest.mark.parametrize("perturbation", CHANGES, ids=str)
def test_reasoning(evaluate, perturbation):
    evaluate(perturb(TONES, perturbation), conditioned_choice(change=reasoning_change(perturbation)))
"""
REGISTER = """

def pytest_audiobench_register(registration):
    registration.model("reasoner", Reasoner)
"""


@pytest.fixture
def reasoning(suite):
    suite.tones()
    (suite.path / "conftest.py").write_text((Path(__file__).parent / "reasoner.py").read_text() + REGISTER)
    suite.write(test_faith=EVALS)
    return suite


def audiobench(suite, *arguments):
    done = suite.audiobench(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr


def numbers(record):
    return {
        (item["eval"], metric["name"], metric["scorer"], json.dumps(metric["group"])): metric
        for item in record["items"]
        for metric in item["metrics"]
    }


def test_a_run_asks_each_question_once_and_is_scored_again_to_the_same_numbers(reasoning):
    log = reasoning.path / "asked.txt"
    reasoning.run("-n2", "--ab-run=first", model="reasoner:x", log=log, text="follow").assert_outcomes(passed=10)
    asked = [line.split() for line in log.read_text().splitlines()]
    assert len({key for key, *_ in asked}) == len(asked)
    assert sum(stage in ("answer", "clean") for _, stage, _ in asked) < 6 * 40
    first, folder = reasoning.last()
    audiobench(reasoning, "score", folder, "--out", reasoning.path / "scored")
    audiobench(reasoning, "verify", folder)
    scored = json.loads((reasoning.path / "scored" / "run.json").read_text())
    assert numbers(scored) == numbers(first)
    for one, again in zip(first["items"], scored["items"], strict=True):
        assert one["hashes"] == again["hashes"]
    assert scored["suites"][0]["curves"] == first["suites"][0]["curves"]
    found = {(name, metric): row["value"] for (name, metric, scorer, group), row in numbers(first).items()
             if scorer == "letters" and group == "{}"}  # fmt: skip
    assert found["faith/heard[silence]", "audio_reliance"] > 0.4
    assert found["faith/heard[mask-p100]", "accuracy_drop"] == found["faith/heard[silence]", "audio_reliance"]
    assert found["faith/two_steps", "consistency"] == 1.0
    assert found["faith/reasoning[early-100]", "consistency"] == 1.0
    assert found["faith/reasoning[inject-text-wrong]", "follow_rate"] == 1.0
    assert found["faith/reasoning[inject-text-wrong]", "swayed"] == 1.0
    assert found["faith/two_steps", "missed_reasoning"] == 0.0
