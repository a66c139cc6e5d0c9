"""Evals that compare several evaluations, and findings by domain."""

from pytest_audiobench import determinism, findings, manifest, multiple_choice
from pytest_audiobench.datasets.non_speech import non_speech


def test_again(evaluate):
    determinism(evaluate, manifest("data/tones.jsonl"), multiple_choice())


def test_made_up(evaluate):
    findings(evaluate, non_speech("hum", "white", "pink", lengths_s=(0.5, 1), clips=7), None, seed=0)
