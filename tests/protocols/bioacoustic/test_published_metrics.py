"""BEANS-Next's own metrics, with the defects that its recorded behaviour shows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.definitions.captions import cider_beans_next
from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.bioacoustic import published_scorers
from pytest_audiobench.protocols.bioacoustic.data_set_scores import dataset_map, dataset_scores, macro_f1, means
from pytest_audiobench.protocols.bioacoustic.pipeline import process, steps_of_score_from_file
from pytest_audiobench.protocols.bioacoustic.published_scorers import zero_detection
from pytest_audiobench.protocols.bioacoustic.scoring import average_precision, sample_scores, top1_accuracy
from pytest_audiobench.protocols.bioacoustic.task import bioacoustic, bioacoustic_captioning
from pytest_audiobench.protocols.protocol import Answer


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


LABELS = st.sampled_from(["crow", "wren", "song", "call", "alarm call", "Beluga, White Whale"])
TEXTS = st.lists(
    st.tuples(st.lists(LABELS, max_size=3), st.lists(LABELS, min_size=1, max_size=3)), min_size=1, max_size=30
)


@given(TEXTS)
def test_a_metric_over_the_data_set_is_the_published_number_to_the_last_digit(rows):
    scorer = bioacoustic("beans-score-from-file", task="detection").scorers[0]
    samples = [Sample(f"s{n:02}", (), "", (), true[0], references=tuple(true)) for n, (_, true) in enumerate(rows)]
    answers = [Answer("parsed", ", ".join(said)) if said else Answer("empty", "") for said, _ in rows]
    scored = scorer.together(list(zip(samples, answers, strict=True)))
    steps = steps_of_score_from_file("detection", [sample.references for sample in samples])
    pairs = [
        (process(answer.value, steps).text, sample.references) for sample, answer in zip(samples, answers, strict=True)
    ]
    published = means([sample_scores(true, text, "", "detection") for text, true in pairs])
    published |= dataset_scores(pairs, "detection")
    values = {name: metric_kind(name).estimate(scored, None).value for name in scorer.metrics}
    # Built-in sum() is compensated from Python 3.12 on: the last digit may differ there.
    for ours, theirs in (("beans_map", "dataset_map"), ("beans_precision", "precision"), ("beans_f1", "f1")):
        assert values[ours] == pytest.approx(published[theirs], rel=1e-14)


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=40))
def test_macro_f1_of_any_text_is_the_published_number_to_the_last_digit(rows):
    said, true = zip(*rows, strict=True)
    labels = {*said, *true}
    statistics = [label_statistics(labels, [label], [text]) for text, label in rows]
    assert metric_kind("beans_macro_f1").estimate(statistics, None).value == macro_f1(said, true)


def test_captions_with_several_references_are_scored_by_the_first():
    scorer = bioacoustic("beans-run", task="captioning").scorers[0]
    samples = [Sample(id_, (), "", (), "a wren", references=("a wren sings", "another")) for id_ in "ab"]
    answers = [Answer("parsed", "a wren sings"), Answer("parsed", "rain")]
    assert [scorer.score(sample, answer) for sample, answer in zip(samples, answers, strict=True)] == [{}, {}]


def test_targets_without_a_space_behind_their_commas_are_labels_of_their_own():
    rows = zero_detection(["crow, wren", "crow", "wren"], ["crow,wren", "crow", "wren"])
    assert metric_kind("macro_f1").estimate(rows, None).value == 1.0
