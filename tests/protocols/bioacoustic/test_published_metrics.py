"""BEANS-Next's own metrics, with the defects that its recorded behaviour shows."""

import pytest

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.definitions.captions import cider_beans_next
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.bioacoustic import published_scorers
from pytest_audiobench.protocols.bioacoustic.data_set_scores import dataset_map, macro_f1
from pytest_audiobench.protocols.bioacoustic.scoring import average_precision, top1_accuracy
from pytest_audiobench.protocols.bioacoustic.task import bioacoustic_captioning


def test_average_precision_depends_on_the_order_of_equal_scores() -> None:
    assert average_precision([[0.5], [0.5]], [[1], [0]]) == 1.0
    assert average_precision([[0.5], [0.5]], [[0], [1]]) == 0.5


def test_average_precision_counts_a_label_without_positives_as_nothing() -> None:
    assert average_precision([[0.9, 0.1], [0.8, 0.9]], [[1, 0], [1, 0]]) == 0.5


def test_targets_may_be_label_indices() -> None:
    assert average_precision([[0.2, 0.9, 0.1]], [[1, 2]]) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("predictions", "targets"),
    [([], []), ([[]], [[]]), ([[0.1]], []), ([[True]], [[1]]), ([0.2], [1]), ([[0.1]], [[1, 0]]), ([[0.1]], [[-1]])],
)
def test_rows_that_are_no_scores_are_refused(predictions, targets) -> None:
    with pytest.raises(ValueError):
        average_precision(predictions, targets)


def test_answering_nothing_scores_by_the_order_of_samples() -> None:
    assert dataset_map([[], []], [["a"], []]) == 1.0
    assert dataset_map([[], []], [[], ["a"]]) == 0.5


def test_an_invented_label_is_a_class_of_its_own() -> None:
    assert dataset_map([["a", "zzz"], ["a"]], [["a"], ["a"]]) == 0.5
    assert macro_f1(["a", "zzz"], ["a", "b"]) == pytest.approx(1 / 3)


def test_a_label_with_a_comma_can_never_be_right() -> None:
    assert top1_accuracy(["Beluga, White Whale"], ["Beluga, White Whale"]) == 0.0
    assert top1_accuracy(["Beluga"], ["Beluga, White Whale"]) == 1.0


def test_the_published_spider_is_the_mean_of_a_tenth_of_cider_and_spice(monkeypatch) -> None:
    monkeypatch.setattr(published_scorers, "spice", lambda texts, truths: [0.5 for _ in texts])
    scorer = published_scorers.spider_scorer()
    samples = [Sample(id_, (), "", (), caption) for id_, caption in (("a", "a dog barks"), ("b", "a cat purrs"))]
    said = [scorer.parse(sample, {"answer": Response.of(sample.reference)}) for sample in samples]
    rows = scorer.together(list(zip(samples, said, strict=True)))
    assert [row["cider_beans_next"] for row in rows] == cider_beans_next(*[[s.reference for s in samples]] * 2)
    assert all(row["spider_beans_next"] == (row["cider_beans_next"] + 0.5) / 2 for row in rows)


def test_the_published_spider_has_no_value_without_spice(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert "setup-spice" in published_scorers.spider_scorer().missing_parts()
    assert "beans-spider" not in {scorer.name for scorer in bioacoustic_captioning("all").scorers}
