from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pytest_audiobench.identity import digest
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.records.run import MetricRecord, PerturbationRecord, SuiteRecord
from pytest_audiobench.report import perturbation_view, run_writer, view_model
from pytest_audiobench.report.run_writer import Lines, write_part

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)
UNREAD, FAILED = ("hm", "unparsed", False), ("no audio", "error", False)


def figure(suite: SuiteRecord, name: str = "accuracy", **group: str) -> MetricRecord:
    (metric,) = (metric for metric in suite.metrics if metric.name == name and metric.group == group)
    return metric


def test_accuracy_is_pooled_over_all_questions_not_averaged_over_evals(runs: Any) -> None:
    single = runs.item(0, "single", [RIGHT] * 8 + [WRONG] * 2, groups={"hop": "single"})
    multi = runs.item(1, "multi", [RIGHT, WRONG, WRONG, UNREAD], groups={"hop": "multi"})
    _, record = runs.collected(single, multi)
    (suite,) = record.suites
    assert figure(suite).value == pytest.approx(9 / 14)
    assert figure(suite).n == suite.n == 14
    assert figure(suite, hop="single").value == pytest.approx(0.8)
    assert figure(suite, hop="multi").value == pytest.approx(0.25)
    assert figure(suite, "coverage").value == pytest.approx(13 / 14)
    assert suite.scorers[0].coverage.unparsed == 1


def test_a_pooled_interval_is_the_metrics_own_over_the_pooled_samples(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [RIGHT] * 30), runs.item(1, "b", [WRONG] * 10))
    expected = metric_kind("accuracy").estimate([{"correct": 1.0}] * 30 + [{"correct": 0.0}] * 10, None)
    pooled = figure(record.suites[0])
    assert (pooled.lower, pooled.upper) == (expected.lower, expected.upper)


def test_models_and_suites_are_pooled_apart(runs: Any) -> None:
    items = [
        runs.item(0, "a", [RIGHT], model="one"),
        runs.item(1, "a", [WRONG], model="two"),
        runs.item(2, "b", [WRONG], model="one"),
        runs.item(3, "c", [WRONG], model="one", suite="mmar"),
    ]
    _, record = runs.collected(*items)
    values = {(suite.name, suite.model): figure(suite).value for suite in record.suites}
    assert values == {("sakura", "one"): 0.5, ("sakura", "two"): 0.0, ("mmar", "one"): 0.0}


def test_epochs_are_pooled_and_count_as_clusters_not_as_new_samples(runs: Any) -> None:
    answers = [RIGHT, WRONG] * 20
    _, once = runs.collected(runs.item(0, "a", answers), name="once")
    _, thrice = runs.collected(runs.item(0, "a", answers * 3, epochs=3), name="thrice", epochs=3)
    one, three = figure(once.suites[0]), figure(thrice.suites[0])
    assert three.value == one.value == 0.5
    assert thrice.suites[0].n == 40
    assert "40 clusters" in three.method
    assert "3 epochs" in three.method
    # The same answers three times over say no more than once.
    assert three.upper - three.lower > 0.9 * (one.upper - one.lower)


def test_one_recording_asked_in_two_evals_is_one_cluster(runs: Any) -> None:
    clips = [f"clip{number}" for number in range(20)]
    answers = [RIGHT] * 10 + [WRONG] * 10
    items = [runs.item(number, hop, answers, clusters=clips) for number, hop in enumerate(("single", "multi"))]
    _, record = runs.collected(*items)
    assert "20 clusters" in figure(record.suites[0]).method


def test_equal_sample_ids_of_two_data_sets_are_different_samples(runs: Any) -> None:
    ids = [f"s{number:05d}" for number in range(4)]
    items = [runs.item(number, name, [RIGHT] * 4, clusters=ids) for number, name in enumerate("ab")]
    _, record = runs.collected(*items)
    assert "clusters" not in figure(record.suites[0]).method


def test_a_sample_whose_asking_failed_is_left_out_and_counted(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [RIGHT, WRONG, FAILED]))
    (suite,) = record.suites
    assert figure(suite).value == 0.5
    assert figure(suite).n == 2
    assert "1 left out" in figure(suite).method
    assert suite.scorers[0].coverage.errors == 1
    assert figure(suite, "coverage").n == 3


def test_a_suite_in_which_every_asking_failed_has_no_figure_and_no_crash(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [FAILED, FAILED]))
    pooled = figure(record.suites[0])
    assert (pooled.value, pooled.n) == (None, 0)


def test_hashes_of_suite_and_run_are_over_sorted_items(runs: Any, tmp_path: Path) -> None:
    a, b = runs.item(0, "a", [RIGHT]), runs.item(1, "b", [WRONG])
    _, record = runs.collected(a, b, name="forth")
    swapped = [runs.item(1, "a", [RIGHT]), runs.item(0, "b", [WRONG])]
    _, other = runs.collected(*swapped, name="back")
    expected = digest(sorted(item.record.hashes["run_hash"] for item in (a, b)))
    assert record.hashes.run_hash == other.hashes.run_hash == expected
    assert record.suites[0].hashes == record.hashes


def test_a_run_with_an_item_that_never_finished_has_no_hash(runs: Any) -> None:
    lost = runs.item(1, "b", [], outcome="lost")
    folder = runs.begun(runs.item(0, "a", [RIGHT]))
    write_part(folder / "parts", replace(lost.record, hashes={}), Lines([], [], []))
    assert run_writer.collect(folder, runs.heading()).hashes.run_hash is None


def injected(runs: Any, *data: tuple[str, str]) -> Any:
    """A run of each data set with the named injection."""
    items = [
        runs.item(
            *(number, f"{dataset}[{name}]", [RIGHT, WRONG] * 10),
            dataset=f"{dataset}+{name}",
            perturbation=PerturbationRecord(name, "inject", None, "", ""),
        )
        for number, (dataset, name) in enumerate(data)
    ]
    return runs.collected(*items)[1]


def test_the_same_samples_under_several_perturbations_have_no_figure_together(runs: Any) -> None:
    record = injected(runs, ("digits", "inject-correct"), ("digits", "inject-wrong"))
    assert view_model.suites(record) == []
    (summary,) = perturbation_view.summaries(record.suites)
    assert not any("mean of" in line.name for line in summary.lines)


def test_different_samples_under_the_same_perturbation_have_a_figure_together(runs: Any) -> None:
    record = injected(runs, ("digits", "inject-wrong"), ("sounds", "inject-wrong"))
    (suite,) = view_model.suites(record)
    assert suite.blocks[0].figures[0].n == 40


class CountedItems(list[Any]):
    """Items that count how often they are gone through."""

    passes = 0

    def __iter__(self) -> Any:
        self.passes += 1
        return super().__iter__()


def test_the_evals_of_a_run_are_gone_through_once_for_all_its_suites(runs: Any) -> None:
    items = [runs.item(number, f"e{number}", [RIGHT], suite=f"suite-{number // 2}") for number in range(12)]
    _, record = runs.collected(*items)
    counted = CountedItems(record.items)
    assert len(view_model.suites(replace(record, items=counted))) == 6
    assert counted.passes == 1


def test_a_group_of_many_evals_is_named_once_on_the_page(runs: Any) -> None:
    items = [
        runs.item(
            number,
            f"e{number}",
            [RIGHT, WRONG],
            suite=f"suite-{number // 2}",
            others={"lenient": lambda _, status, right: (status, right)},
            group_of=lambda number: {"speaker": f"sp{number}"},
        )
        for number in range(6)
    ]
    text = runs.page(*items).read_text(encoding="utf-8")
    assert text.count('"speaker=sp0"') == 1
