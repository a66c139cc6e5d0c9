"""How answers failed, beside the score: as data, in the terminal and in a job's summary."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_audiobench.protocols.answer_failures import FAILURES
from pytest_audiobench.records.run import RunRecord
from pytest_audiobench.report import view_model
from pytest_audiobench.report.failure_breakdown import FailureClass, ScoreWithout, failure_sentence, is_without
from pytest_audiobench.report.markdown import summary
from pytest_audiobench.report.terminal import summary_lines

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)
LOOP, REFUSED = ("b b b b b", "parsed", False), ("I cannot", "refused", False)
WORDING = {"b b b b b": ("loop",)}


def lines_of(record: RunRecord) -> list[str]:
    return [line for line, _ in summary_lines(record, 120)]


def test_each_class_has_its_count_its_share_and_the_score_without_it(runs: Any) -> None:
    answers = [RIGHT] * 6 + [WRONG] + [LOOP] * 2 + [REFUSED]
    _, record = runs.collected(runs.item(0, "a", answers, wording=WORDING))
    loop, refused = view_model.evals(record)[0].failures
    assert (loop.name, loop.answers, loop.share) == ("loop", 2, "20.0 %")
    assert (refused.name, refused.answers, refused.share) == ("refused", 1, "10.0 %")
    (moved,) = loop.moved
    assert (moved.metric, moved.value, moved.without, moved.difference, moved.n) == (
        "accuracy",
        "60.0 %",
        "75.0 %",
        "+15.0 pp",
        8,
    )
    assert moved.interval
    assert "four times or more" in loop.about


def test_a_line_names_the_class_that_moves_the_score_most(runs: Any) -> None:
    answers = [RIGHT] * 6 + [WRONG] + [LOOP] * 2 + [REFUSED]
    _, record = runs.collected(runs.item(0, "a", answers, wording=WORDING))
    said = "failures in a: accuracy 60.0 %; 75.0 % without 2 in a loop; also 1 refused"
    assert said in lines_of(record)
    assert f"- {said}" in summary(record)


def test_an_eval_where_nothing_went_wrong_has_no_such_line(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [RIGHT, WRONG]))
    assert view_model.evals(record)[0].failures == ()
    assert failure_sentence(()) == ""
    assert not any("failures in" in line for line in [*lines_of(record), summary(record)])


def test_where_all_answers_went_wrong_there_is_no_number_without_them(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [REFUSED] * 3))
    assert "failures in a: accuracy 0.0 %: 3 refused, and no other answers" in lines_of(record)


@pytest.mark.parametrize("name", FAILURES)
def test_every_class_is_read_as_english_behind_its_number(name: str) -> None:
    rate = ScoreWithout("wer", "10.3 %", "2.7 %", "", "", -0.076, 90)
    classes = [
        FailureClass(each, "", 3, "", (rate,) * (each == name)) for each in dict.fromkeys((name, "loop", "empty"))
    ]
    said = failure_sentence(tuple(classes))
    assert "_" not in said
    assert re.search(r"2\.7 % without 3 (of|in|with|out of|refused|empty|truncated|runaway)\b.*; also 3 ", said)


def test_with_several_models_each_line_names_its_own(runs: Any) -> None:
    _, record = runs.collected(
        runs.item(0, "a", [RIGHT, REFUSED], model="x"), runs.item(1, "a", [RIGHT, RIGHT], model="y")
    )
    assert "failures in a · x: accuracy 50.0 %; 100.0 % without 1 refused" in lines_of(record)
    assert not any("a · y" in line for line in lines_of(record))


def test_numbers_without_a_class_are_no_groups_of_samples(runs: Any) -> None:
    answers = [RIGHT] * 3 + [LOOP]
    items = [runs.item(n, name, answers, wording=WORDING, groups={"hop": name}) for n, name in enumerate("ab")]
    _, record = runs.collected(*items)
    assert any(metric.group == {"without": "loop"} for metric in record.suites[0].metrics)
    (suite,) = view_model.suites(record)
    assert suite.fields == {"hop"}
    assert {group.group for block in suite.blocks for group in block.groups} == {"hop=a", "hop=b"}
    assert not any("without=" in line for line in [*lines_of(record), summary(record)])


def test_a_metadata_field_called_without_stays_a_group() -> None:
    assert is_without({"without": "loop"})
    assert not is_without({"without": "music"})
    assert not is_without({"without": "loop", "hop": "single"})
