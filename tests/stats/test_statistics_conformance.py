"""The shared reference cases that intervals answer to: what statsmodels and scipy compute on the same inputs."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from pytest_audiobench.stats.intervals import ratio, standard_error, wilson
from pytest_audiobench.stats.quantiles import normal_quantile, t_quantile

CASES = Path(__file__).parents[2].parent / "shared" / "conformance" / "statistics.json"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason=f"the reference cases are not here: {CASES}")


def cases(metric):
    found = json.loads(CASES.read_text()) if CASES.exists() else []
    return [pytest.param(case, id=case["id"].split("/")[1]) for case in found if case["metric"] == metric]


@pytest.mark.parametrize("case", cases("proportion_ci_wilson"))
def test_wilson_is_statsmodels(case):
    inputs = case["inputs"]
    found = wilson(inputs["count"], inputs["nobs"], 1 - case["params"]["alpha"])
    assert found[:2] == pytest.approx(case["expected"], abs=case["tolerance"])


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
def test_the_ratio_interval_agrees_with_the_bootstrap_of_corpus_wer(case):
    errors, words, expected = case["inputs"]["errors"], case["inputs"]["ref_words"], case["expected"]
    found, count = ratio(errors, words), len(errors)
    assert sum(errors) / sum(words) == pytest.approx(expected["wer"], abs=1e-12)
    # A percentile bootstrap is narrow for few utterances as a normal quantile is; t is what widens ours.
    narrower = normal_quantile(0.975) / t_quantile(0.975, count - 1) if count < 50 else 1.0
    bounds = [expected["wer"] * (bound / expected["wer"]) ** narrower for bound in found[:2]]
    assert bounds == pytest.approx([expected["low"], expected["high"]], abs=case["tolerance"])
