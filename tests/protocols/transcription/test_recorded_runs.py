"""Recorded transcripts of THENIROCK/audiobench come out at the rates that were written beside them."""

import json
from pathlib import Path

import pytest

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.protocol import Answer
from pytest_audiobench.protocols.transcription.task import transcription

RUNS = Path(__file__).parents[3].parent / "shared" / "data" / "audiobench-runs"
pytestmark = pytest.mark.skipif(not RUNS.is_dir(), reason=f"the recorded runs are not at {RUNS}")


def recorded():
    runs = [(path.stem, json.loads(path.read_bytes())) for path in sorted(RUNS.glob("*.json"))]
    return [(name, run) for name, run in runs if "per_clip_hypotheses" in run]


def test_lower_nopunct_gives_the_recorded_rate_of_every_perturbation():
    scorer, compared = transcription().available["lower-nopunct"], 0
    for _, run in recorded():
        for perturbation, rate in run["per_condition_wer"].items():
            counts = [
                scorer.score(Sample("a", (), "", reference=clip["reference"]), Answer("parsed", text))
                for clip in run["per_clip_hypotheses"]
                if (text := clip["hypotheses"].get(perturbation)) is not None
            ]
            assert 100 * metric_kind("wer").estimate(counts, None).value == pytest.approx(rate, abs=1e-9)
            compared += 1
        rates = run["per_condition_wer"].values()
        assert sum(rates) / len(rates) == pytest.approx(run["weighted_mean_wer"], abs=1e-9)
    assert compared >= 20
