"""The numbers of one eval: over all samples, by group, without each class of failures, and over epochs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.scoring import EvalScores, score_answers
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.prompt_sets import PromptSet
from pytest_audiobench.protocols.prompt_variants import with_prompt_variants
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.records.run import MetricRecord

from .tiny import answered, sample

LOOP = "cat " * 40


def scores_from_rows(
    own: Sequence[SampleAnswers],
    protocol: Protocol | None = None,
    clusters: Sequence[str] | None = None,
    groups: Sequence[str] = (),
    epochs: int = 1,
) -> EvalScores:
    return score_answers(protocol or multiple_choice(), own, clusters, groups, epochs)


def values(
    sheet: EvalScores, name: str = "accuracy"
) -> dict[tuple[str | None, tuple[tuple[str, str], ...]], float | None]:
    return {
        (metric.scorer, tuple(metric.group.items())): metric.value for metric in sheet.metrics if metric.name == name
    }


def metric(sheet: EvalScores, name: str = "accuracy", **group: str) -> MetricRecord:
    (own,) = (record for record in sheet.metrics if record.name == name and dict(record.group) == group)
    return own


def test_every_scorer_has_its_own_rows_coverage_and_numbers_of_the_same_answers() -> None:
    own = [answered(sample("a")), answered(sample("b"), "dog"), answered(sample("c"), "dog or cat")]
    sheet = scores_from_rows(own, multiple_choice("letters", "mmau-string"))
    assert list(sheet.rows) == ["letters", "mmau-string"]
    assert [scorer.coverage.n for scorer in sheet.scorers] == [3, 3]
    assert values(sheet) == {("letters", ()): pytest.approx(2 / 3), ("mmau-string", ()): pytest.approx(1 / 3)}
    assert [record.name for record in sheet.metrics if record.scorer == "letters"][:2] == ["accuracy", "coverage"]


def test_numbers_by_group_are_of_the_samples_that_have_the_field() -> None:
    own = [
        answered(sample("b", metadata={"hop": 2, "place": "x"}), "B"),
        answered(sample("a", metadata={"hop": 1, "place": "x"})),
        answered(sample("c", metadata={"hop": 2, "place": "x"})),
        answered(sample("d")),
    ]
    sheet = scores_from_rows(own, groups=["hop", "place", "absent"])
    # A field with one value says nothing that the whole does not.
    assert values(sheet) == {
        ("letters", ()): 0.75,
        ("letters", (("hop", "1"),)): 1.0,
        ("letters", (("hop", "2"),)): 0.5,
    }
    assert [dict(record.group) for record in sheet.metrics if record.group] == [{"hop": "1"}, {"hop": "2"}]
    assert metric(sheet, hop="2").n == 2
    assert not [record for record in sheet.metrics if record.group and record.name == "coverage"]


def test_each_class_of_failures_that_occurs_has_its_share_and_the_score_without_it() -> None:
    own = [answered(sample("a")), answered(sample("b"), "B"), answered(sample("c"), LOOP), answered(sample("d"), "")]
    sheet = scores_from_rows(own)
    assert [record.group["without"] for record in sheet.metrics if "without" in record.group] == ["loop", "empty"]
    assert metric(sheet).value == 0.25
    assert metric(sheet, "loop").value == metric(sheet, "empty").value == 0.25
    assert (metric(sheet, without="loop").value, metric(sheet, without="loop").n) == (pytest.approx(1 / 3), 3)
    assert (metric(sheet, without="empty").value, metric(sheet, without="empty").n) == (pytest.approx(1 / 3), 3)
    assert not [
        record for record in scores_from_rows(own[:2]).metrics if record.group or record.name in ("loop", "empty")
    ]


def test_a_sample_that_failed_is_no_class_of_failures_that_could_be_left_out() -> None:
    sheet = scores_from_rows([answered(sample("a")), answered(sample("b"), None)])
    assert {record.name for record in sheet.metrics} == {"accuracy", "coverage"}
    assert metric(sheet).n == 1
    assert metric(sheet, "coverage").n == 2


def test_samples_of_one_cluster_belong_together_in_every_epoch() -> None:
    own = [answered(sample(name), epoch=epoch) for epoch in range(2) for name in "abc"]
    together = scores_from_rows(own, clusters=["x", "x", "y"], epochs=2)
    assert [row.cluster for row in together.rows["letters"]] == ["x", "x", "y"] * 2
    assert together.clustered
    alone = scores_from_rows(own, epochs=2)
    assert [row.cluster for row in alone.rows["letters"]] == ["a", "b", "c"] * 2
    # The same sample in another epoch is not a sample more.
    assert alone.clustered
    assert not scores_from_rows(own[:3]).clustered
    assert scores_from_rows(own[:3], clusters=["x", "x", "y"]).clustered


def test_epochs_tell_how_far_the_answers_agree_and_the_score_spreads() -> None:
    said = {0: "AABB", 1: "ABBA"}
    own = [
        answered(sample(str(number)), text, epoch) for epoch, texts in said.items() for number, text in enumerate(texts)
    ]
    agreement = scores_from_rows(own, epochs=2).agreement
    assert agreement is not None
    assert (agreement.metric, agreement.epochs, agreement.n) == ("accuracy", 2, 4)
    assert (agreement.agreement, agreement.mean, agreement.min, agreement.max) == (0.5, 0.5, 0.5, 0.5)
    worse = [answered(sample(str(number)), "B", 1) for number in range(4)]
    spread = scores_from_rows([*own[:4], *worse], epochs=2).agreement
    assert spread is not None
    assert (spread.agreement, spread.mean, spread.min, spread.max) == (0.5, 0.25, 0.0, 0.5)
    assert scores_from_rows(own[:4]).agreement is None


def test_the_agreement_of_epochs_is_the_headlines_in_its_first_metric() -> None:
    prompts = PromptSet("two", ("Listen. {question}\n{options}", "Hear this. {question}\n{options}"))
    own = [
        answered(sample(name), epoch=epoch, responses={"answer": Response.of(text), "answer@2": Response.of(text)})
        for epoch, text in enumerate("AB")
        for name in "ab"
    ]
    # The vote's wordings always agree, and by the string the letter alone is never right.
    agreement = scores_from_rows(
        own, with_prompt_variants(multiple_choice("letters", "mmau-string"), prompts), epochs=2
    ).agreement
    assert agreement is not None
    assert (agreement.metric, agreement.min, agreement.max, agreement.agreement) == ("accuracy", 0, 1, 0)


def test_two_answers_that_could_not_be_read_do_not_agree() -> None:
    own = [
        answered(sample(name), text, epoch)
        for epoch in range(2)
        for name, text in (("a", "hm"), ("b", None), ("c", "A"))
    ]
    agreement = scores_from_rows(own, epochs=2).agreement
    assert agreement is not None
    assert agreement.agreement == pytest.approx(1 / 3)


def test_how_a_text_went_wrong_is_told_from_the_wording_that_a_scorer_reads() -> None:
    prompts = PromptSet("two", ("Listen. {question}\n{options}", "Hear this. {question}\n{options}"))
    protocol = with_prompt_variants(multiple_choice(), prompts)
    own = answered(sample("a"), responses={"answer": Response.of("A"), "answer@2": Response.of(LOOP)})
    rows = scores_from_rows([own], protocol).rows
    assert {name: row.failures for name, (row,) in rows.items()} == {
        # The vote is read from several texts, of which none is its own.
        "letters": (),
        "letters@1": (),
        "letters@2": ("loop",),
    }


def test_what_the_wordings_come_to_stands_behind_their_numbers() -> None:
    prompts = PromptSet("two", ("Listen. {question}\n{options}", "Hear this. {question}\n{options}"))
    own = [
        answered(sample(name), responses={"answer": Response.of("A"), "answer@2": Response.of(second)})
        for name, second in (("a", "A"), ("b", "B"))
    ]
    sheet = scores_from_rows(own, with_prompt_variants(multiple_choice(), prompts))
    assert metric(sheet, "wording_spread").value == 0.5
    assert [record.name for record in sheet.metrics[-4:]] == [
        "wording_spread",
        "wording_sd",
        "wording_mean",
        "wording_worst",
    ]


def test_an_answer_that_the_model_never_gave_has_no_text_to_go_wrong() -> None:
    sheet = scores_from_rows([answered(sample("a"), None), answered(sample("b"), LOOP)])
    assert [row.failures for row in sheet.rows["letters"]] == [(), ("loop",)]


def test_intervals_of_every_kind_count_clusters_and_not_their_rows() -> None:
    own = [
        answered(
            sample(f"s{number}", metadata={"hop": number % 4 // 2}), LOOP if number % 8 == 1 else "AB"[number % 4 > 1]
        )
        for number in range(96)
    ]
    by_recording = [f"recording {number // 4}" for number in range(96)]
    alone, together = (scores_from_rows(own, clusters=clusters, groups=["hop"]) for clusters in (None, by_recording))
    groups: tuple[dict[str, str], ...] = ({}, {"hop": "0"}, {"without": "loop"})
    for record, other in (
        *((metric(alone, **group), metric(together, **group)) for group in groups),
        *((metric(alone, name), metric(together, name)) for name in ("coverage", "loop")),
    ):
        assert record.value == other.value
        assert "cluster" not in record.method
        assert "cluster" in other.method
