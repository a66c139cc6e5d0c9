"""Figures over a suite's perturbations, from items and rows made by hand."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from pytest_audiobench.evaluation.curves import Figures, figures, step
from pytest_audiobench.evaluation.perturbation_series import SampleScore, series, unperturbed
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.records.fields import Harder
from pytest_audiobench.records.run import CoverageRecord, ItemRecord, MetricRecord, PerturbationRecord, ScorerRecord

READING = ("letters", "letters|v:1")


def perturbation(
    name: str, dose: float | None = None, family: str = "white", harder: Harder = "lower"
) -> PerturbationRecord:
    unit = "" if dose is None else "dB SNR"
    return PerturbationRecord(name, family, dose, unit, harder if unit else "")


class Counted(NamedTuple):
    """An eval in which the first ``right`` samples are right."""

    record: ItemRecord
    right: int

    @property
    def name(self) -> str:
        return self.record.perturbation.name if self.record.perturbation else ""

    def changed(self, **changes: Any) -> Counted:
        return self._replace(record=replace(self.record, **changes))


def item(change: PerturbationRecord | None, right: int, n: int = 20, metric: str = "accuracy") -> Counted:
    """An eval in which the first ``right`` of ``n`` samples are right."""
    kind = metric_kind(metric)
    statistics = [{"correct": float(number < right)} for number in range(n)]
    estimate = metric_kind("accuracy").estimate(statistics, None)
    figure = MetricRecord(
        kind.name,
        estimate.value,
        estimate.lower,
        estimate.upper,
        n,
        kind.unit,
        kind.direction,
        estimate.method,
        *READING,
    )
    name = "plain" if change is None else change.name
    record = ItemRecord(
        index=0,
        nodeid="",
        suite="",
        model="m",
        eval=f"tones[{name}]",
        dataset="tones" if change is None else f"tones+{name}",
        perturbation=change,
        scorers=[ScorerRecord(*READING, CoverageRecord(n, n - 1, 1, 0, 0, 0, 0, 0, 0))],
        metrics=[figure],
    )
    return Counted(record, right)


def figures_of(*items: Counted, n: int = 20) -> Figures:
    rows = {
        place: [SampleScore((f"s{k}", 0), {"correct": float(k < each.right)}, f"s{k}") for k in range(n)]
        for place, each in enumerate(items)
        if each.record.perturbation is not None
    }
    return figures([each.record for each in items], {READING: rows})


def ladder(*right: int) -> list[Counted]:
    return [item(perturbation(f"white-{n}", -10.0 * n), count) for n, count in enumerate(right)]


def test_a_family_of_doses_is_a_curve_with_the_easiest_dose_first() -> None:
    clean, *doses = item(perturbation("clean", family="clean"), 20), *reversed(ladder(18, 12, 6))
    ((curve,), (summary,)) = figures_of(clean, *doses)
    assert [point.dose for point in curve.points] == [0.0, -10.0, -20.0]
    assert [point.value for point in curve.points] == [0.9, 0.6, 0.3]
    assert {point.answered for point in curve.points} == {0.95}
    assert curve.clean is not None
    assert curve.clean.eval == "tones[clean]"
    assert (curve.slope.value, curve.slope.per) == (pytest.approx(0.3), 10.0)
    assert curve.area.value == pytest.approx(0.6)
    assert None not in (curve.slope.lower, curve.area.lower, summary.mean.lower)
    assert summary.mean.value == pytest.approx((1.0 + 0.9 + 0.6 + 0.3) / 4)
    assert summary.weights == dict.fromkeys(("clean", "white-2", "white-1", "white-0"), 0.25)


def test_every_perturbation_is_held_against_clean_on_pairs_with_p_adjusted() -> None:
    _, (summary,) = figures_of(item(perturbation("clean", family="clean"), 20), *ladder(20, 12, 2))
    same, some, most = summary.differences
    assert [one.reference for one in summary.differences] == ["clean"] * 3
    assert (same.drop, same.p_holm, same.worse) == (0.0, 1.0, 0)
    assert (most.drop, most.worse, most.better, most.pairs) == (pytest.approx(0.9), 18, 0, 20)
    assert some.p is not None
    assert some.p_holm == pytest.approx(2 * some.p)
    assert most.p_holm == pytest.approx(3 * (most.p or 0.0))


def test_without_a_clean_one_the_easiest_dose_of_the_family_is_the_reference() -> None:
    higher = [item(perturbation(f"mask-{n}", n / 10, "mask", "higher"), 20 - n) for n in (1, 5, 9)]
    alone = item(perturbation("codec", family="codec"), 10)
    unknown = [item(perturbation(f"gain-{n}", float(n), "gain", ""), 10) for n in (1, 2)]
    _, (summary,) = figures_of(*ladder(18, 12, 6), *higher, alone, *unknown)
    held = {one.perturbation: one.reference for one in summary.differences}
    assert held == {"white-1": "white-0", "white-2": "white-0", "mask-5": "mask-1", "mask-9": "mask-1"}


def test_one_dose_is_no_curve_and_one_perturbation_no_summary() -> None:
    single = figures_of(item(perturbation("clean", family="clean"), 20), item(perturbation("white-5", 5.0), 11))
    assert single.curves == []
    assert len(single.perturbations) == 1
    assert figures_of(item(perturbation("white-5", 5.0), 11), item(None, 20)) == ([], [])


def test_a_metric_that_is_no_ratio_has_points_and_the_reason_why_no_slope() -> None:
    for name in ("bleu", "unheard_of"):
        items = [each.changed(metrics=[replace(each.record.metrics[0], name=name)]) for each in ladder(18, 12, 6)]
        ((curve,), (summary,)) = figures_of(*items)
        assert [point.value for point in curve.points] == [0.9, 0.6, 0.3]
        assert curve.slope.value is None
        assert curve.slope.method == f"no slope: {name} is not a ratio of sums over samples"
        assert summary.mean.method == f"no mean: {name} is not a ratio of sums over samples"
        assert summary.differences == []


def test_a_sample_without_the_statistic_is_a_reason_too() -> None:
    items = ladder(18, 12)
    rows = {place: [SampleScore(("s1", 0), {"other": 1.0}, "s1")] for place in range(2)}
    ((curve,), _) = figures([each.record for each in items], {READING: rows})
    assert curve.slope.method == "no slope: a sample lacks the statistic 'correct'"


def test_data_sets_have_curves_of_their_own_and_so_have_prompts_of_one_data_set() -> None:
    other = [each.changed(dataset=f"other+{each.name}") for each in ladder(10, 5)]
    assert [curve.dataset for curve in figures_of(*ladder(18, 12), *other).curves] == ["tones", "other"]
    prompts = [each.changed(eval=f"tones[{p}-{each.name}]") for p in "ab" for each in ladder(18, 12)]
    curves = figures_of(*prompts).curves
    assert [[point.eval for point in curve.points] for curve in curves] == [
        ["tones[a-white-0]", "tones[a-white-1]"],
        ["tones[b-white-0]", "tones[b-white-1]"],
    ]
    assert [curve.series for curve in curves] == ["tones[a]", "tones[b]"]
    # What cannot be told apart is not joined.
    assert series([each.record for each in [*ladder(18, 12), *ladder(18, 12)]]) == []


def test_a_perturbation_is_known_by_its_parameter_also_where_the_test_is_named_like_it() -> None:
    """The name of a test may be made of that of a perturbation: clean_speech[clean-a]."""
    clean = item(perturbation("clean", family="clean"), 20)
    prompts = [each.changed(eval=f"clean_speech[{each.name}-{p}]") for p in "ab" for each in [clean, *ladder(18, 12)]]
    both = figures_of(*prompts)
    assert [curve.series for curve in both.curves] == ["clean_speech[a]", "clean_speech[b]"]
    assert all(curve.clean is not None for curve in both.curves)
    assert [len(summary.points) for summary in both.perturbations] == [3, 3]


@pytest.mark.parametrize(
    ("eval_", "left"),
    [
        ("f/speech[clean]", "f/speech"),
        ("speech[a-clean-b]", "speech[a-b]"),
        ("speech[clean-clean]", "speech[clean]"),
        ("cleaner[clean-a]", "cleaner[a]"),
        ("clean_a", "a"),
        ("f/a_clean", "f/a"),
        ("speech[0]", "speech[0]"),
    ],
)
def test_what_is_left_of_a_name_without_its_perturbation(eval_: str, left: str) -> None:
    twice = [
        item(perturbation("clean"), 20).changed(eval=eval_).record,
        item(perturbation("clean"), 20).changed(eval="other[clean]").record,
    ]
    assert series(twice)[0].name == left


def test_samples_whose_asking_failed_are_in_no_pair_and_in_the_others_all_the_same() -> None:
    items = ladder(18, 12, 6)
    rows = {
        place: [
            SampleScore((f"s{k}", 0), None if place == 1 and k < 4 else {"correct": float(k < one.right)}, f"s{k}")
            for k in range(20)
        ]
        for place, one in enumerate(items)
    }
    ((curve,), (summary,)) = figures([each.record for each in items], {READING: rows})
    assert [one.pairs for one in summary.differences] == [16, 20]
    assert curve.slope.value == pytest.approx((0.9 - 0.3) / 2)
    assert curve.area.value == pytest.approx((0.9 / 2 + 8 / 16 + 0.3 / 2) / 2)


def test_a_slope_is_given_per_a_power_of_ten_of_the_dose() -> None:
    assert step([0.4, 0.5]) == 0.1
    assert [step(doses) for doses in ([20.0, -20.0], [5.0, 0.0], [0.1, 0.9], [0.0, 3000.0])] == [10.0, 1.0, 0.1, 1000.0]


def test_a_data_set_is_known_by_its_name_before_the_perturbation() -> None:
    assert unperturbed("tones+white-5dB", perturbation("white-5dB", 5.0)) == "tones"
    assert unperturbed("tones+more", None) == "tones+more"


def test_a_trend_is_held_against_no_worse_where_it_is_known_what_is_harder_and_against_none_elsewhere() -> None:
    ((falling,), _) = figures_of(*ladder(18, 12, 6))
    ((rising,), _) = figures_of(*ladder(6, 12, 18))
    unknown = [item(perturbation(f"gain-{n}", 10.0 * n, "gain", ""), count) for n, count in enumerate((18, 12, 6))]
    ((either,), _) = figures_of(*unknown)
    higher = [item(perturbation(f"mask-{n}", 10.0 * n, "mask", "higher"), count) for n, count in enumerate((18, 12, 6))]
    ((masked,), _) = figures_of(*higher)
    assert falling.slope.p is not None
    assert falling.slope.p < 0.001
    assert masked.slope.p == falling.slope.p
    assert either.slope.p == pytest.approx(2 * falling.slope.p)
    assert rising.slope.p is not None
    assert rising.slope.p > 0.99
    told = "p: trend test on each one's own slope (summary measures: Matthews et al. 1990, BMJ 300:230), "
    assert falling.slope.method.endswith(f"{told}one-sided: worse where harder")
    assert either.slope.method.endswith(f"{told}two-sided")


def test_trends_of_one_metric_are_adjusted_over_its_curves() -> None:
    mask = [item(perturbation(f"mask-{n}", 10.0 * n, "mask", "higher"), count) for n, count in enumerate((18, 16, 12))]
    (white, masked), _ = figures_of(*ladder(18, 12, 6), *mask)
    assert masked.slope.p is not None
    assert masked.slope.p_holm == masked.slope.p
    assert white.slope.p_holm == pytest.approx(2 * (white.slope.p or 0.0))
    (few,), _ = figures_of(*ladder(6, 4, 1), n=8)
    assert (few.slope.p, few.slope.p_holm) == (None, None)
    assert "trend" not in few.slope.method
