"""What a scorer makes of answers: rows, how many were answered, and the numbers over them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from msgspec.structs import asdict

from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.scoring import (
    STATUSES,
    ScoredSample,
    coverage_counts,
    estimate_metric,
    finite,
    score_samples,
)
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice
from pytest_audiobench.protocols.protocol import Scorer

from .tiny import answered, sample

(LETTERS,) = multiple_choice().scorers
SKIPPING = multiple_choice("air-bench").scorers[0]
TEXTS = {
    "right": "A",
    "wrong": "B",
    "unparsed": "It could be a dog or a cat.",
    "refused": "I'm sorry, I cannot listen to audio.",
    "empty": "",
    "out_of_range": "(Z)",
    "errors": None,
}


def answers() -> list[SampleAnswers]:
    """An answer of every kind; one is cut by the limit of tokens, the last of them failed."""
    cut = answered(sample("truncated"), responses={"answer": Response.of("I think that", "length")})
    return [cut, *(answered(sample(name), text) for name, text in TEXTS.items())]


def rows_of(own: list[SampleAnswers], scorer: Scorer = LETTERS) -> list[ScoredSample]:
    return score_samples(scorer, own, [one.sample_id for one in own])


def test_every_answer_is_counted_once_by_what_became_of_it() -> None:
    counts = coverage_counts(rows_of(answers()))
    assert asdict(counts) == {"n": 8, "parsed": 2, **dict.fromkeys(STATUSES[1:], 1), "errors": 1, "skipped": 0}
    assert sum(getattr(counts, name) for name in (*STATUSES, "errors")) == counts.n
    assert coverage_counts([]).n == 0


def test_an_answer_that_was_not_read_is_wrong_and_a_sample_that_was_not_asked_is_neither() -> None:
    rows = {row.answers.sample_id: row for row in rows_of(answers())}
    assert rows["errors"].answer is None
    assert rows["errors"].scores is None
    assert {name: dict(row.scores or {}) for name, row in rows.items() if name != "errors"} == {
        name: {"correct": float(name == "right")} for name in rows if name != "errors"
    }
    accuracy = estimate_metric("accuracy", LETTERS, list(rows.values()), False)
    assert (accuracy.value, accuracy.n) == (pytest.approx(1 / 7), 7)


@pytest.mark.parametrize("name", [*STATUSES[1:], "errors"])
def test_a_share_of_failures_is_of_all_samples_also_those_that_were_not_asked(name: str) -> None:
    share = estimate_metric(name, LETTERS, rows_of(answers()), False)
    assert (share.value, share.n) == (1 / 8, 8)
    assert estimate_metric("coverage", LETTERS, rows_of(answers()), False).value == 2 / 8


def test_what_a_protocol_leaves_out_is_skipped_and_what_failed_is_not() -> None:
    rows = rows_of(answers(), SKIPPING)
    skipped = {row.answers.sample_id for row in rows if row.is_skipped}
    assert {"unparsed", "refused", "empty"} <= skipped
    assert not skipped & {"right", "wrong", "errors"}
    assert coverage_counts(rows).skipped == len(skipped)
    assert estimate_metric("skipped", SKIPPING, rows, False).value == len(skipped) / 8
    accuracy = estimate_metric("accuracy", SKIPPING, rows, False)
    assert (accuracy.value, accuracy.n) == (0.5, 2)


def test_the_classes_of_failures_are_those_of_the_text_and_that_of_the_scorer() -> None:
    own = [answered(sample("a"), "hm"), answered(sample("b"), None)]
    read, failed = score_samples(LETTERS, own, ["a", "b"], [("loop", "wrong_script"), ("loop",)])
    assert read.answer is not None
    assert read.answer.status == "unparsed"
    assert read.failures == ("wrong_script", "loop")
    # Nothing was said, so nothing shows in it.
    assert failed.failures == ()
    (refused,) = score_samples(LETTERS, [answered(sample("a"), TEXTS["refused"])], ["a"])
    assert refused.failures == ("refused",)


def test_shares_of_what_only_the_text_shows_count_the_rows_that_show_it() -> None:
    own = [answered(sample(name)) for name in "abcd"]
    rows = score_samples(LETTERS, own, list("abcd"), [("loop",), (), ("loop", "runaway"), ()])
    assert [estimate_metric(name, LETTERS, rows, False).value for name in ("loop", "runaway", "wrong_task")] == [
        0.5,
        0.25,
        0,
    ]


def test_a_verdict_that_could_not_be_had_is_an_error_for_the_judges_scorer_alone() -> None:
    judged = replace(LETTERS, judge="fair@j", parse=lambda own, told: LETTERS.parse(own, {"answer": told["fair@j"]}))
    lost = answered(sample("lost"), verdicts={"fair@j": Response(error="timed out")})
    weighed = answered(sample("weighed"), "B", verdicts={"fair@j": Response.of("A")})
    failed = answered(sample("failed"), None)
    own = [lost, weighed, failed]
    assert [coverage_counts(rows_of(own, scorer)).errors for scorer in (LETTERS, judged)] == [1, 2]
    # A verdict is read in place of the answer, not beside it.
    assert [[row.scores for row in rows_of(own, scorer)] for scorer in (LETTERS, judged)] == [
        [{"correct": 1.0}, {"correct": 0.0}, None],
        [None, {"correct": 1.0}, None],
    ]


def test_what_only_the_whole_set_can_tell_is_added_to_the_samples_that_have_a_score() -> None:
    seen = []

    def together(pairs):
        seen.extend(own.id for own, _ in pairs)
        return [{"place": float(place)} for place, _ in enumerate(pairs)]

    own = [answered(sample("a")), answered(sample("b"), None), answered(sample("c"), ""), answered(sample("d"), "B")]
    rows = rows_of(own, replace(SKIPPING, together=together))
    assert seen == ["a", "d"]
    assert [row.scores for row in rows] == [{"correct": 1.0, "place": 0.0}, None, None, {"correct": 0.0, "place": 1.0}]
    assert rows[2].is_skipped


def test_a_metric_says_by_which_scorer_and_of_which_group_it_is() -> None:
    rows = rows_of(answers())
    record = estimate_metric("accuracy", LETTERS, rows, False, {"hop": "multi"})
    assert (record.scorer, record.signature, record.group) == (LETTERS.name, LETTERS.signature, {"hop": "multi"})
    assert (record.direction, estimate_metric("errors", LETTERS, rows, False).direction) == ("higher", "lower")


def test_samples_of_one_cluster_widen_the_interval_only_where_clusters_count() -> None:
    own = [answered(sample(str(number)), "A" if number < 20 else "B") for number in range(40)]
    rows = score_samples(LETTERS, own, [number // 4 for number in range(40)])
    widths = [
        (record.upper or 0.0) - (record.lower or 0.0)
        for record in (estimate_metric("accuracy", LETTERS, rows, clustered) for clustered in (False, True))
    ]
    assert widths[0] < widths[1]


def test_a_sample_that_failed_leaves_the_clusters_of_the_others_as_they_are() -> None:
    own = [answered(sample(str(number)), "A" if number < 20 else "B") for number in range(40)]
    clusters = [number // 4 for number in range(40)]
    whole = estimate_metric("accuracy", LETTERS, score_samples(LETTERS, own, clusters), True)
    lost = [answered(sample(f"lost{number}"), None) for number in range(3)]
    assert (
        estimate_metric("accuracy", LETTERS, score_samples(LETTERS, [*lost, *own], [70, 71, 71, *clusters]), True)
        == whole
    )


def test_a_metric_over_nothing_has_no_value_and_says_so() -> None:
    record = estimate_metric("accuracy", LETTERS, rows_of([answered(sample("a"), None)]), False)
    assert (record.value, record.lower, record.upper, record.n) == (None, None, None, 0)


@pytest.mark.parametrize(("value", "kept"), [(0.5, 0.5), (None, None), (math.nan, None), (math.inf, None)])
def test_a_record_holds_no_number_that_json_has_not(value: float | None, kept: float | None) -> None:
    assert finite(value) == kept
