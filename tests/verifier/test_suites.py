"""A suite's curves held against what its scored lines come to, also where an earlier version wrote them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pytest_audiobench.evaluation.curves import TREND, figures
from pytest_audiobench.evaluation.perturbation_series import SampleScore
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.verifier.score_checks import Numbers, perturbation_checks

READING = ("letters", "letters|v:1")


def suite() -> dict[str, Any]:
    """The curves of twenty samples under three doses, as a record holds them."""
    items, rows = [], {}
    for place, right in enumerate((18, 12, 6)):
        statistics = [{"correct": float(k < right)} for k in range(20)]
        found, kind = metric_kind("accuracy").estimate(statistics, None), metric_kind("accuracy")
        told = {"name": "white-" + str(place), "family": "white", "dose": -10.0 * place}
        metric = {"name": "accuracy", "scorer": READING[0], "signature": READING[1], "group": {}, "n": 20}
        numbers = {"value": found.value, "lower": found.lower, "upper": found.upper, "method": found.method}
        items.append(
            {
                "eval": f"tones[white-{place}]",
                "dataset": f"tones+white-{place}",
                "perturbation": {**told, "unit": "dB SNR", "harder": "lower"},
                "scorers": [{"name": READING[0], "signature": READING[1], "coverage": {"n": 20, "parsed": 20}}],
                "metrics": [{**metric, **numbers, "unit": kind.unit, "direction": kind.direction}],
            }
        )
        rows[place] = [SampleScore((f"s{k}", 0), one, f"s{k}") for k, one in enumerate(statistics)]
    curves, summaries = figures(items, {READING: rows})
    return {"curves": list(map(asdict, curves)), "perturbations": list(map(asdict, summaries))}


def statuses(recorded: dict[str, Any]) -> list[str]:
    return [check.status for check in perturbation_checks(recorded, suite(), True, Numbers(""))]


def test_curves_of_a_version_that_had_no_trend_test_are_held_against_all_they_hold() -> None:
    earlier = suite()
    for curve in earlier["curves"]:
        del curve["slope"]["p"], curve["slope"]["p_holm"]
        curve["slope"]["method"] = curve["slope"]["method"].partition(TREND)[0]
    assert statuses(earlier) == ["ok", "ok"]
    earlier["curves"][0]["slope"]["value"] = 0.0
    assert statuses(earlier) == ["fails", "ok"]


def test_a_trend_that_the_lines_do_not_give_is_named() -> None:
    told = suite()
    assert statuses(told) == ["ok", "ok"]
    told["curves"][0]["slope"]["p"] = 0.9
    assert statuses(told) == ["fails", "ok"]
