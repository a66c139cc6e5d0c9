"""A suite's curves held against what its scored lines come to."""

from __future__ import annotations

from msgspec.structs import replace

from pytest_audiobench.evaluation.curves import figures
from pytest_audiobench.evaluation.perturbation_series import SampleScore
from pytest_audiobench.evaluation.scoring import metric_record
from pytest_audiobench.evaluation.suites import pooled_hashes
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.records.reading import as_read
from pytest_audiobench.records.run import (
    CoverageRecord,
    ItemRecord,
    PerturbationRecord,
    ScorerRecord,
    SlopeRecord,
    SuiteRecord,
)
from pytest_audiobench.verifier.score_checks import Numbers, perturbation_checks

SCORER = ("letters", "letters|v:1")


def suite() -> SuiteRecord:
    """A suite of twenty samples under three doses, as it is read."""
    kind = metric_kind("accuracy")
    items, rows = [], {}
    for place, right in enumerate((18, 12, 6)):
        statistics = [{"correct": float(k < right)} for k in range(20)]
        items.append(
            ItemRecord(
                index=place,
                nodeid="",
                eval=f"tones[white-{place}]",
                suite="tones",
                model="m",
                dataset=f"tones+white-{place}",
                perturbation=PerturbationRecord(f"white-{place}", "white", -10.0 * place, "dB SNR", "lower"),
                scorers=[ScorerRecord(*SCORER, CoverageRecord(20, 20, *[0] * 7))],
                metrics=[metric_record(kind, kind.estimate(statistics, None), *SCORER, None)],
            )
        )
        rows[place] = [SampleScore((f"s{k}", 0), score, f"s{k}") for k, score in enumerate(statistics)]
    curves, summaries = figures(items, {SCORER: rows})
    return as_read(
        SuiteRecord(
            name="tones",
            model="m",
            n=60,
            evals=3,
            limited=False,
            scorers=(),
            metrics=(),
            hashes=pooled_hashes(()),
            curves=curves,
            perturbations=summaries,
        )
    )


def with_slope(changed: SlopeRecord) -> SuiteRecord:
    recorded = suite()
    return replace(recorded, curves=[replace(recorded.curves[0], slope=changed)])


def statuses(recorded: SuiteRecord) -> list[str]:
    return [check.status for check in perturbation_checks(recorded, suite(), True, Numbers(""))]


def test_curves_that_the_lines_give_hold() -> None:
    assert len(suite().curves) == 1
    assert statuses(suite()) == ["ok", "ok"]


def test_a_trend_that_the_lines_do_not_give_is_named() -> None:
    slope = suite().curves[0].slope
    assert statuses(with_slope(replace(slope, p=0.9))) == ["fails", "ok"]
    assert statuses(with_slope(replace(slope, value=0.0))) == ["fails", "ok"]


def test_curves_that_are_gone_are_missed() -> None:
    assert statuses(replace(suite(), curves=())) == ["fails", "ok"]
