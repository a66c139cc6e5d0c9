"""``statistics.json``: intervals and standard errors, held to statsmodels and scipy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control

from pytest_audiobench.stats.bootstrap import Sums, interval_of, resampling
from pytest_audiobench.stats.drops import Drop, Question
from pytest_audiobench.stats.intervals import Floats, exact, standard_error
from pytest_audiobench.stats.mcnemar import flips_drop
from pytest_audiobench.stats.multiple_testing import holm
from pytest_audiobench.stats.paired import ratio_drop
from pytest_audiobench.stats.power import t_detectable, t_power, two_shares_needed

_Inputs = Mapping[str, Any]


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


def _two_sided(there: Drop, back: Drop) -> float:
    """The gate asks in one direction; asked in both, the smaller p counts twice."""
    return math.nan if there.p is None or back.p is None else min(1.0, 2.0 * min(there.p, back.p))


def _mcnemar(params: _Inputs, inputs: _Inputs) -> float:
    (right, worse), (better, wrong) = inputs["table"]
    pairs = right + worse + better + wrong
    question = Question(0.0)
    return _two_sided(flips_drop(pairs, worse, better, question), flips_drop(pairs, better, worse, question))


def _paired_t(params: _Inputs, inputs: _Inputs) -> float:
    before, after = (np.stack([inputs[name], np.ones(len(inputs[name]))], axis=1) for name in "ab")
    question = Question(0.0)
    there, back = (ratio_drop(*sides, None, question, span=math.inf) for sides in ((before, after), (after, before)))
    return _two_sided(there, back)


def _resampled(*columns: Any) -> Sums:
    """The first column's sum less the second's, over the third's."""

    def value(sums: Floats) -> Floats:
        found: Floats = (sums[:, 0] - sums[:, 1]) / sums[:, 2]
        return found

    return Sums(np.array(columns, dtype=np.float64).T, value)


def _bootstrapped_difference(params: _Inputs, inputs: _Inputs) -> dict[str, float | None]:
    sums = _resampled(inputs["a"], inputs["b"], np.ones(len(inputs["a"])))
    lower, upper, _ = interval_of(resampling(sums.units), sums)
    return {"low": lower, "high": upper}


def _bootstrapped_rate(params: _Inputs, inputs: _Inputs) -> dict[str, float | None]:
    errors, words = inputs["errors"], inputs["ref_words"]
    sums = _resampled(errors, np.zeros(len(errors)), words)
    lower, upper, _ = interval_of(resampling(sums.units), sums)
    return {"wer": sums.whole(), "low": lower, "high": upper}


def _under_any_dependence(params: _Inputs, inputs: _Inputs) -> list[float]:
    """Benjamini and Yekutieli's rates (2001): the others times 1 + 1/2 + … + 1/m, which no figure needs."""
    tests = range(1, len(inputs["pvalues"]) + 1)
    rates = false_discovery_control(inputs["pvalues"]) * math.fsum(1.0 / k for k in tests)
    return np.minimum(rates, 1.0).tolist()


SCORERS = {
    "bootstrap_corpus_wer_ci": _bootstrapped_rate,
    "bootstrap_paired_diff_ci": _bootstrapped_difference,
    "fdr_bh": lambda params, inputs: false_discovery_control(inputs["pvalues"]).tolist(),
    "fdr_by": _under_any_dependence,
    "holm": lambda params, inputs: holm(inputs["pvalues"]).tolist(),
    "mcnemar_exact": _mcnemar,
    "paired_t": _paired_t,
    "proportion_ci_beta": _exact,
    "power_paired_t": _power,
    "mde_paired_t": _detectable,
    "n_required_two_proportions": _needed,
    "clustered_se_corrected": _corrected,
    "clustered_se_cr0": _uncorrected,
}

OUT = {
    **dict.fromkeys(
        (
            "bootstrap_mean_ci_basic",
            "bootstrap_mean_ci_bca",
            "bootstrap_mean_ci_percentile",
            "proportion_ci_agresti_coull",
            "proportion_ci_jeffreys",
            "proportion_ci_normal",
            "proportion_ci_wilson",
        ),
        "another interval than ours: Clopper and Pearson's for a share, and its generalisation for a mean of bounded "
        "scores",
    ),
    "mcnemar_chi2_corrected": "an approximation of McNemar's exact test, which is what the gate uses",
    **dict.fromkeys(
        ("paired_permutation_exact", "paired_permutation_mc"),
        "a permutation test knows no margin: the gate uses McNemar's test and Student's t on pairs",
    ),
    **dict.fromkeys(
        ("kendall_tau_b", "spearman", "wilcoxon_signed_rank"),
        "ranks: the gate asks by how much the metric itself dropped",
    ),
}

DIFFERS = {
    **dict.fromkeys(
        (
            "statistics/bootstrap_paired_diff_ci-014",
            "statistics/bootstrap_paired_diff_ci-015",
            "statistics/paired_t-000",
        ),
        "pairs that do not differ from one another claim no certainty"
        ": ours is unknown, or bounded by what was not seen",
    ),
    **dict.fromkeys(
        (
            *(f"statistics/bootstrap_corpus_wer_ci-{number:03d}" for number in (6, 7, 9, 12)),
            *(f"statistics/bootstrap_paired_diff_ci-{number:03d}" for number in (2, 6, 16)),
        ),
        "fewer than 20 samples: a bootstrap of so few is too narrow, and ours gives no interval",
    ),
    **dict.fromkeys(
        ("statistics/mcnemar_exact-008", "statistics/mcnemar_exact-011", "statistics/mcnemar_exact-013"),
        "where 10 pairs or more of over 100 differ, ours counts the very outcome half (mid-p)",
    ),
    **dict.fromkeys(
        ("statistics/paired_t-001", "statistics/paired_t-005", "statistics/paired_t-009", "statistics/paired_t-010"),
        "ours reckons with the skewness of the differences, and its p is a little larger",
    ),
    **dict.fromkeys(
        ("statistics/paired_t-004", "statistics/paired_t-008"),
        "squares of uneven spread leave ours fewer degrees of freedom than pairs - 1",
    ),
    "statistics/clustered_se_cr0-001": "one cluster says nothing of how clusters vary: ours is unknown, where the "
    "reference's 0 would claim certainty",
}
