"""The shared reference cases that intervals answer to: what statsmodels and scipy compute on the same inputs."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from pytest_audiobench.stats.intervals import exact, ratio, standard_error

CASES = Path(__file__).parents[2].parent / "shared" / "conformance" / "statistics.json"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason=f"the reference cases are not here: {CASES}")


def cases(metric):
    found = json.loads(CASES.read_text()) if CASES.exists() else []
    return [pytest.param(case, id=case["id"].split("/")[1]) for case in found if case["metric"] == metric]


@pytest.mark.parametrize("case", cases("clustered_se_corrected"))
def test_the_clustered_standard_error_is_statsmodels_with_correction(case):
    found = standard_error(case["inputs"]["y"], case["inputs"]["groups"])
    if "raises" in case:
        assert math.isnan(found)
        return
    assert found == pytest.approx(case["expected"]["se"], abs=case["tolerance"])


@pytest.mark.parametrize("case", cases("clustered_se_cr0"))
def test_the_clustered_standard_error_without_its_correction_is_millers_equation_4(case):
    groups = case["inputs"]["groups"]
    count = len(set(groups))
    if count < 2:
        # The oracle's 0 would claim certainty from one cluster; ours is unknown.
        assert math.isnan(standard_error(case["inputs"]["y"], groups))
        return
    found = standard_error(case["inputs"]["y"], groups) * math.sqrt((count - 1) / count)
    assert found == pytest.approx(case["expected"]["se"], abs=case["tolerance"])


@pytest.mark.parametrize("case", cases("bootstrap_corpus_wer_ci"))
def test_the_ratio_interval_holds_the_bootstrap_of_corpus_wer(case):
    # Resamples hold no utterance worse than those that were seen; ours reckons with one that is all wrong.
    errors, words, expected = case["inputs"]["errors"], case["inputs"]["ref_words"], case["expected"]
    found = ratio(errors, words)
    assert sum(errors) / sum(words) == pytest.approx(expected["wer"], abs=1e-12)
    assert found.lower <= expected["low"] + case["tolerance"]
    assert found.upper >= expected["high"] - case["tolerance"]


@pytest.mark.parametrize("case", cases("proportion_ci_beta"))
def test_the_exact_interval_is_statsmodels(case):
    inputs = case["inputs"]
    found = exact(inputs["count"], inputs["nobs"], 1 - case["params"]["alpha"])
    assert found[:2] == pytest.approx(case["expected"], abs=case["tolerance"])
