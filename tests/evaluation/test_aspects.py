"""Whether a part of a clip is enough, what its place and its padding do, and who is right without options."""

from __future__ import annotations

import pytest

from pytest_audiobench.evaluation.aspects import aspects
from pytest_audiobench.evaluation.perturbation_series import SampleScore
from pytest_audiobench.evaluation.scoring import metric_record
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.records.run import CoverageRecord, ItemRecord, PerturbationRecord, ScorerRecord

LETTERS, JUDGE = ("letters", "mcq:letters|v:1"), ("yes-no", "judge:yes-no|v:1")
COUNT = 40
FAMILIES = {
    "clean": "clean",
    "no-options": "options",
    **dict.fromkeys(("first-3s", "middle-3s", "last-3s"), "fragment"),
}


def figures(right, failed=(), cluster=lambda number: f"s{number}"):
    """Those of a suite; ``right`` says by perturbation which of the samples are, ``failed`` which are never scored."""
    items, rows = [], {LETTERS: {}, JUDGE: {}}
    kind = metric_kind("accuracy")
    for place, (name, numbers) in enumerate(right.items()):
        scorer = JUDGE if name == "no-options" else LETTERS
        scores = [None if (name, k) in failed else {"correct": float(k in numbers)} for k in range(COUNT)]
        scored = [score for score in scores if score is not None]
        items.append(
            ItemRecord(
                index=place,
                nodeid="",
                eval="birds" if name == "clean" else f"birds[{name}]",
                suite="birds",
                model="m",
                dataset="birds" if name == "clean" else f"birds+{name}",
                perturbation=PerturbationRecord(name, FAMILIES.get(name, "window"), None, "", ""),
                scorers=[ScorerRecord(*scorer, CoverageRecord(COUNT, len(scored), *[0] * 7))],
                metrics=[metric_record(kind, kind.estimate(scored, None), *scorer, None)],
            )
        )
        rows[scorer][place] = [SampleScore((f"s{k}", 0), score, cluster(k)) for k, score in enumerate(scores)]
    return {aspect.name: aspect for aspect in aspects(items, rows)}


PARTS = {
    "clean": range(30),
    "first-3s": range(10),
    "middle-3s": range(5, 15),
    "last-3s": range(35, 40),
}


def test_right_on_the_whole_clip_and_on_no_part_needs_the_whole_clip():
    found = figures(PARTS)
    assert (found["whole_clip"].value, found["some_part"].value) == (15 / COUNT, 20 / COUNT)
    assert found["whole_clip"].lower < 15 / COUNT < found["whole_clip"].upper
    assert (found["whole_clip"].n, found["whole_clip"].unit) == (COUNT, "share")


def test_a_sample_that_was_not_answered_on_a_part_is_in_neither_share():
    found = figures(PARTS, failed={("middle-3s", 20), ("clean", 0)})
    assert (found["some_part"].n, found["some_part"].value) == (38, 19 / 38)
    assert found["whole_clip"].value == 14 / 38


def test_clips_of_one_recording_are_one_cluster():
    alone, shared = figures(PARTS), figures(PARTS, cluster=lambda number: f"s{number // 4}")
    assert alone["whole_clip"].value == shared["whole_clip"].value
    assert "clusters" in shared["whole_clip"].method
    assert "clusters" not in alone["whole_clip"].method


def test_place_and_fill_are_means_of_windows_less_means_of_windows():
    windows = {
        **{f"early-{s}s-{fill}": range(30) for s in (15, 30) for fill in ("silence", "noise")},
        **{f"mid-{s}s-{fill}": range(30) for s in (15, 30) for fill in ("silence", "noise")},
        "late-15s-silence": range(26),
        "late-30s-silence": range(22),
        "late-15s-noise": range(18),
        "late-30s-noise": range(14),
    }
    found = figures({"clean": range(30), **windows})
    assert found["late_less_early"].value == pytest.approx((20 - 30) / COUNT)
    assert found["mid_less_early"].value == 0.0
    assert found["noise_less_silence"].value == pytest.approx(((60 + 60 + 32) - (60 + 60 + 48)) / 6 / COUNT)
    assert found["late_less_early"].upper < 0.0
    assert {found[name].unit for name in found} == {"points"}


def test_windows_that_differ_in_more_than_the_word_are_not_set_against_each_other():
    found = figures({"clean": range(30), "early-15s-silence": range(30), "late-30s-silence": range(10)})
    assert found == {}
    windows = {"early-15s-silence": range(30), "late-15s-silence": range(26), "late-30s-noise": range(2)}
    found = figures({"clean": range(30), **windows})
    assert {name: each.value for name, each in found.items()} == {"late_less_early": pytest.approx(-4 / COUNT)}


def test_a_sample_that_was_not_answered_in_one_window_is_in_no_difference():
    windows = {"clean": range(30), "early-15s-silence": range(30), "late-15s-silence": range(30)}
    found = figures(windows, failed={("late-15s-silence", number) for number in range(10)})
    assert (found["late_less_early"].value, found["late_less_early"].n) == (0.0, 30)


def test_without_options_the_judges_share_stands_under_its_own_scorer():
    found = figures({"clean": range(30), "no-options": range(10)})
    assert {name: (each.value, each.scorer) for name, each in found.items()} == {"no_options": (10 / COUNT, "yes-no")}


@pytest.mark.parametrize("names", [("first-3s",), ("early-15s-silence",), ()])
def test_what_was_not_asked_both_ways_has_no_figure(names):
    assert figures({name: range(10) for name in names}) == {}
    only_early = figures({"clean": range(10), **dict.fromkeys(names, range(5))})
    assert set(only_early) == ({"whole_clip", "some_part"} if names == ("first-3s",) else set())
