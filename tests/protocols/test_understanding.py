"""Intents and entities, answered as JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.understanding import Frame, frame_in, understanding

TRUE = {
    "intent": "alarm_set",
    "entities": [{"type": "time", "filler": "seven am"}, {"type": "date", "filler": "today"}],
}


def scored(name, text, reference=None, finish="stop"):
    (scorer,) = [one for one in understanding(name).scorers if one.name == name]
    asked = Sample("a", (), "", reference=json.dumps(TRUE) if reference is None else reference)
    return scorer.score(asked, scorer.parse(asked, {"answer": Response.of(text, finish)}))


def value(metric, *statistics):
    return metric_kind(metric).estimate(statistics, None).value


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(TRUE),
        f"Here you are:\n```json\n{json.dumps(TRUE, indent=2)}\n```",
        f"{{not JSON}} {json.dumps(TRUE)} and more",
        json.dumps({"scenario": "alarm", "action": "set", "entities": TRUE["entities"]}),
    ],
)
def test_a_frame_is_found_in_the_answer(text) -> None:
    assert scored("frame", text)["correct"] == 1.0


@pytest.mark.parametrize(
    "text",
    ["Set an alarm.", "{}", "[]", "[1, 2]", '{"intent": 3}', '{"entities": [{"type": "time"}]}', "[" * 5_000, ""],
)
def test_what_is_no_frame_is_not_read(text) -> None:
    assert frame_in(text) is None


def test_a_list_of_entities_is_a_frame_without_an_intent() -> None:
    assert frame_in('[{"type": "time", "filler": "noon"}]') == Frame("", (("time", "noon"),))


def test_case_counts_in_slurps_rule_and_not_in_ours() -> None:
    text = json.dumps(
        {"intent": "Alarm_Set", "entities": [{"type": "Time", "filler": "Seven AM."}, *TRUE["entities"][1:]]}
    )
    assert scored("frame", text)["correct"] == 1.0
    assert scored("slurp", text)["correct"] == 0.0


def test_no_readable_answer_misses_all_and_is_left_out_by_slurps_rule() -> None:
    found = scored("frame", "I'm sorry, I cannot do that.")
    assert (found["slu_misses"], found["intent"], found["correct"]) == (4.0, 0.0, 0.0)
    assert scored("slurp", "I'm sorry, I cannot do that.") is None
    assert scored("slurp-keep", "") == scored("frame", "")
    assert [one.name for one in understanding("slurp").scorers] == ["slurp", "slurp-keep"]


def test_numbers_of_a_set() -> None:
    near = json.dumps(
        {**TRUE, "entities": [{"type": "time", "filler": "seven pm"}, {"type": "date", "filler": "today"}]}
    )
    samples = [scored("frame", near), scored("frame", "no JSON")]
    assert value("intent_accuracy", *samples) == 0.5
    assert value("entity_f1", *samples) == pytest.approx(2 * 1 / (2 + 1 + 3))
    assert value("slu_word_f1", *samples) == pytest.approx(2 * 2 / (4 + 0.5 + 0.5 + 2))
    assert value("slu_f1", *samples) == pytest.approx(8 / (8 + 0.625 * 2 + 4))
    of_time, of_date = 4 / (4 + 0.625 * 2 + 2), 4 / (4 + 2)
    assert value("slu_f1_macro", *samples) == pytest.approx((of_time + of_date) / 2)


def test_a_request_without_entities_has_no_macro_mean() -> None:
    reference = '{"intent": "joke_tell", "entities": []}'
    found = scored("frame", reference, reference)
    assert found["correct"] == 1.0
    assert value("slu_f1", found) == 0.0
    assert value("slu_f1_macro", found) != value("slu_f1_macro", found)


@pytest.mark.parametrize("reference", ["alarm_set", '{"entities": []}', '[{"type": "time", "filler": "noon"}]'])
def test_a_mistake_in_the_data_is_named(reference) -> None:
    with pytest.raises(UsageError, match="its reference is not JSON of the form"):
        scored("frame", "{}", reference)


@settings(deadline=None)
@given(st.text())
def test_any_text_is_scored(text) -> None:
    for name in understanding().available:
        scored(name, text)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("intent", "entities", "type", "filler")), inner)
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(json_values)
def test_any_json_is_scored(told) -> None:
    assert 0.0 <= value("slu_f1", scored("frame", json.dumps(told))) <= 1.0


def test_a_reference_may_be_an_intent_and_slurps_annotated_sentence() -> None:
    reference = "email_query: do i have emails from [person : Jessica's] on [date : today]"
    entities = [{"type": "person", "filler": "jessica 's"}, {"type": "date", "filler": "today"}]
    text = json.dumps({"scenario": "email", "action": "query", "entities": entities})
    assert scored("slurp", text, reference)["correct"] == 1.0
    assert scored("slurp", json.dumps({"intent": "joke", "entities": []}), "joke: tell me one")["correct"] == 1.0
