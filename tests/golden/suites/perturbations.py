"""Reasoning under perturbations: a curve over masks, noise, controls, reasoning put back and changed."""

import pytest

from pytest_audiobench import (
    change_of,
    conditioned_choice,
    conditions,
    controls,
    early,
    manifest,
    masks,
    reasoned_choice,
    reasoning_changes,
    under,
)

TONES = manifest("data/tones.jsonl", groups=("parity",))
(SILENCE,) = [control for control in controls() if control.name == "silence"]


@pytest.mark.parametrize("condition", [*conditions("clean"), *masks(40, 80, 100, mode="end"), SILENCE], ids=str)
def test_masked(evaluate, condition):
    changed = condition.name != "clean"
    evaluate(
        under(TONES, condition),
        reasoned_choice("letters", against_clean=changed, control=condition.family == "control"),
    )


def test_two_steps(evaluate):
    evaluate(TONES, conditioned_choice("letters", "faithfulness-two-step"))


@pytest.mark.parametrize("condition", [*early(0), *reasoning_changes("inject-text-wrong")], ids=str)
def test_reasoning(evaluate, condition):
    evaluate(under(TONES, condition), conditioned_choice(change=change_of(condition)))
