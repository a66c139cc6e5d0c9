"""Reasoning under perturbations: a curve over masks, noise, controls, reasoning put back and changed."""

import pytest

from pytest_audiobench import manifest, perturb
from pytest_audiobench.datasets.perturbations.catalogue import named_perturbations
from pytest_audiobench.datasets.perturbations.interventions import controls, masks
from pytest_audiobench.datasets.perturbations.reasoning import early_answering, reasoning_change, reasoning_changes
from pytest_audiobench.protocols.reasoned_choice.task import conditioned_choice, reasoned_choice

TONES = manifest("data/tones.jsonl", groups=("parity",))
(SILENCE,) = [control for control in controls() if control.name == "silence"]


@pytest.mark.parametrize(
    "perturbation", [*named_perturbations("clean"), *masks(40, 80, 100, mode="end"), SILENCE], ids=str
)
def test_masked(evaluate, perturbation):
    changed = perturbation.name != "clean"
    evaluate(
        perturb(TONES, perturbation),
        reasoned_choice("letters", against_clean=changed, control=perturbation.family == "control"),
    )


def test_two_steps(evaluate):
    evaluate(TONES, conditioned_choice("letters", "faithfulness-two-step"))


@pytest.mark.parametrize("perturbation", [*early_answering(0), *reasoning_changes("inject-text-wrong")], ids=str)
def test_reasoning(evaluate, perturbation):
    evaluate(perturb(TONES, perturbation), conditioned_choice(change=reasoning_change(perturbation)))
