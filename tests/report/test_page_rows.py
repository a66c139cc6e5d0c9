"""What a scorer made of an answer, in the words of a reader: never the statistics that sums are made of."""

import json
import re

import pytest

from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.catalogue import FAMILIES, family
from pytest_audiobench.protocols.scorer_documentation import scorer_documentation
from pytest_audiobench.protocols.scorer_documentation_pages import computed_examples
from pytest_audiobench.records.lines import BaselineAnswer, ComparedRow, PredictionRow, ProcessedRow, ScoredRow
from pytest_audiobench.records.run import CoverageRecord, ItemRecord, MetricRecord, ScorerRecord
from pytest_audiobench.report.joined_samples import Joined
from pytest_audiobench.report.label_tables import answer_label
from pytest_audiobench.report.page.rows import RowMaker, score_text, value_words

SCORERS = [(name, scorer) for name in FAMILIES for scorer in family(name).available.values()]
DIGITS = [str(number) for number in range(10)]


def shown(name, scorer, example, answer, scores):
    """All that a page shows of a sample that became worse, whose answer the baseline read in the same way."""
    kind = metric_kind(scorer.metrics[0])
    figure = MetricRecord(kind.name, None, None, None, 1, kind.unit, kind.direction, "", scorer.name, scorer.signature)
    item = ItemRecord(
        index=0,
        nodeid="e",
        eval="e",
        suite="e",
        model="m",
        protocol=name,
        scorers=[ScorerRecord(scorer.name, scorer.signature, CoverageRecord(1, 1, 0, 0, 0, 0, 0, 0, 0))],
        metrics=[figure],
    )
    place = {"eval": "e", "model": "m", "dataset": "d", "sample_id": "s", "epoch": 0}
    prediction = PredictionRow(
        **place,
        question="",
        choices=example.choices,
        reference="",
        references=[],
        metadata={},
        stage="answer",
        key=None,
        prompt=None,
        outputs=[],
        usage={},
        error=None,
        audio=[],
    )
    row = {**place, "scorer": scorer.name, "status": answer.status}
    before = BaselineAnswer(answer.status, scores, None, [])
    sample = Joined(
        [prediction],
        [ProcessedRow(**row, value=answer.value)],
        [ScoredRow(**row, scores=scores, failures=[], groups={}, cluster=None)],
        ComparedRow(eval="e", model="m", sample_id="s", epoch=0, scorer=scorer.name, change="worse", before=before),
    )
    return " ".join(RowMaker(item).row(sample).fields)


@pytest.mark.parametrize(("name", "scorer"), SCORERS, ids=[f"{name}-{scorer.name}" for name, scorer in SCORERS])
def test_no_statistic_of_a_scorer_stands_on_a_page(name, scorer):
    if scorer.missing_parts():
        pytest.skip(scorer.missing_parts())
    examples = scorer_documentation(name)[scorer.name].examples
    for example, answer, scores in computed_examples(scorer, examples, family(name).answering.name):
        text = shown(name, scorer, example, answer, scores)
        from_outside = " ".join([answer.value or "", *example.choices])
        for key in scores or ():
            assert not re.search(rf"(?<!\w){re.escape(key)}\s*[=:]\s*[-+.\d]", text)
            if "_" in key and key not in (*scorer.metrics, *from_outside.split()):
                assert key not in text


def test_a_list_or_an_object_that_a_scorer_read_is_shown_in_words():
    assert value_words(json.dumps({"labels": ["Hund", "Bär"], "others": []}, ensure_ascii=False)) == "labels: Hund, Bär"
    assert value_words('["dog", "cat"]') == "dog, cat"
    frame = {"intent": "set_alarm", "entities": [{"type": "time", "filler": "five"}, {"type": "date", "filler": "may"}]}
    assert (
        value_words(json.dumps(frame))
        == "intent: set_alarm; entities: type: time; filler: five | type: date; filler: may"
    )


@pytest.mark.parametrize("text", ["[music]", "[" * 100_000, "[" * 5_000 + "]" * 5_000, "[1,2]", "{", "B", "", None])
def test_a_text_that_no_scorer_wrote_stays_as_it_is(text):
    assert value_words(text) == text


def test_a_samples_own_score_is_the_metrics_and_no_second_word_for_right_or_wrong():
    assert score_text("wer", (("S", 1.0), ("D", 0.0), ("I", 0.0), ("N", 4.0), ("correct", 0.0))) == "wer 25.0 %"
    assert score_text("accuracy", (("correct", 1.0), ("labels", 10.0))) == ""
    assert score_text("wer", (("S", 1.0),)) == ""
    assert score_text("nobody_knows", (("correct", 1.0),)) == ""


@pytest.mark.parametrize(
    ("said", "others", "label"),
    [(["3"], 0, "3"), (["3", "7"], 0, "3, 7"), ([], 1, "a label outside the list"), ([], 0, "")],
)
def test_the_label_of_an_answer_whose_text_is_not_stored_is_told_by_its_statistics(said, others, label):
    scores = {"correct": 0.0, **label_statistics(DIGITS, ["9"], said, others)}
    assert answer_label(BaselineAnswer("parsed", scores, None, []), DIGITS, ["9"]) == label
    assert answer_label(BaselineAnswer("parsed", scores, None, []), DIGITS[:9], ["9"]) == ""


def test_a_right_answer_whose_text_is_not_stored_was_the_one_true_choice():
    before = BaselineAnswer("parsed", {"correct": 1.0}, None, [])
    assert answer_label(before, ["cat", "dog"], ["dog", "dog"]) == "dog"
    assert answer_label(before, ["cat", "dog"], ["dog", "cat"]) == ""
    assert answer_label(before, [], ["thirty"]) == ""
    assert answer_label(BaselineAnswer("parsed", {"correct": 0.0}, None, []), ["cat", "dog"], ["dog"]) == ""
