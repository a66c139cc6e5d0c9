"""``statistics.json``: intervals and standard errors, held to statsmodels and scipy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pytest_audiobench.stats.intervals import exact, standard_error, wilson
from pytest_audiobench.stats.power import t_detectable, t_power, two_shares_needed

_Inputs = Mapping[str, Any]


def _wilson(params: _Inputs, inputs: _Inputs) -> list[float | None]:
    return list(wilson(inputs["count"], inputs["nobs"], 1.0 - params["alpha"])[:2])


def _exact(params: _Inputs, inputs: _Inputs) -> list[float | None]:
    return list(exact(inputs["count"], inputs["nobs"], 1.0 - params["alpha"])[:2])


def _power(params: _Inputs, inputs: _Inputs) -> float:
    return t_power(inputs["effect_size_dz"], inputs["n"], inputs["alpha"])


def _detectable(params: _Inputs, inputs: _Inputs) -> float:
    return t_detectable(inputs["n"], inputs["alpha"], params["power"])


def _needed(params: _Inputs, inputs: _Inputs) -> float:
    return two_shares_needed(inputs["p1"], inputs["p2"], inputs["alpha"], params["power"])


def _corrected(params: _Inputs, inputs: _Inputs) -> dict[str, float] | None:
    error = standard_error(inputs["y"], inputs["groups"])
    return None if math.isnan(error) else {"mean": math.fsum(inputs["y"]) / len(inputs["y"]), "se": error}


def _uncorrected(params: _Inputs, inputs: _Inputs) -> dict[str, float]:
    """Miller's equation 4, which ours times sqrt(C / (C - 1)) corrects for few clusters."""
    clusters = len(set(inputs["groups"]))
    error = standard_error(inputs["y"], inputs["groups"]) * math.sqrt((clusters - 1) / clusters)
    return {"mean": math.fsum(inputs["y"]) / len(inputs["y"]), "se": error}


SCORERS = {
    "proportion_ci_wilson": _wilson,
    "proportion_ci_beta": _exact,
    "power_paired_t": _power,
    "mde_paired_t": _detectable,
    "n_required_two_proportions": _needed,
    "clustered_se_corrected": _corrected,
    "clustered_se_cr0": _uncorrected,
}

OUT = {
    "bootstrap_corpus_wer_ci": "a ratio's interval here also reckons with one more answer that is all wrong, which no "
    "resample of those that were seen does; a test of the intervals holds that it contains this bootstrap's",
    **dict.fromkeys(
        (
            "bootstrap_mean_ci_basic",
            "bootstrap_mean_ci_bca",
            "bootstrap_mean_ci_percentile",
            "proportion_ci_agresti_coull",
            "proportion_ci_jeffreys",
            "proportion_ci_normal",
        ),
        "another interval than ours: Clopper and Pearson's for a share, and its generalisation for a mean of bounded "
        "scores",
    ),
    **dict.fromkeys(
        (
            "bootstrap_paired_diff_ci",
            "fdr_bh",
            "fdr_by",
            "holm",
            "kendall_tau_b",
            "mcnemar_chi2_corrected",
            "mcnemar_exact",
            "paired_permutation_exact",
            "paired_permutation_mc",
            "paired_t",
            "spearman",
            "wilcoxon_signed_rank",
        ),
        "comparing two runs belongs to the regression gate",
    ),
}

DIFFERS = {
    "statistics/clustered_se_cr0-001": "one cluster says nothing of how clusters vary: ours is unknown, where the "
    "reference's 0 would claim certainty",
}
