"""Lists of events in what models write: every form that is taken, and no text that does harm."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.protocols.soundscape.reading import MOST_EVENTS, Reading, read_lenient, read_strict

PIANO = {"type": "music", "start_time": 0.0, "end_time": 5.0, "description": "piano"}
DURATION = 10.0


def lenient(text: str) -> Reading:
    return read_lenient(text, DURATION)


def documents(reading: Reading) -> list[dict]:
    return [event.document() for event in reading.events]


def test_a_plain_list_is_read_alike_by_both() -> None:
    text = json.dumps([PIANO])
    assert documents(lenient(text)) == documents(read_strict(text)) == [PIANO]
    assert not lenient(text).repairs


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (f"Here you are:\n{json.dumps([PIANO])}\nas I hear it.", {"prose": 1}),
        (f"[1] says: {json.dumps([PIANO])}, or else [] or [2, 3].", {"prose": 1}),
        (json.dumps([PIANO]).replace("}]", "},]"), {"comma": 1}),
        (f"One is {json.dumps(PIANO)}.", {"objects": 1}),
        (f"<think>[{json.dumps(PIANO)} no</think>[{json.dumps(PIANO)}]", {"thinking": 1}),
        (json.dumps({"music": [{"from": "0", "to": "5 s", "caption": "piano"}]}), {"key": 3, "time text": 1}),
        (json.dumps({"Music": [{"time": "0:00 - 0:05", "description": "piano"}]}), {"key": 1, "time text": 1}),
        (json.dumps([{**PIANO, "type": "Background Music"}]), {"type": 1}),
        (json.dumps([{**PIANO, "start_time": 5, "end_time": 0}]), {"swapped": 1}),
        (json.dumps([{**PIANO, "start_time": -3}]), {"clipped": 1}),
        (json.dumps([{**PIANO, "description": ["piano"]}]), {"field": 1}),
        (json.dumps([{"type": "music", "startTime": 0, "duration": 5, "description": "piano"}]), {"key": 1}),
    ],
)
def test_the_lenient_reading_repairs_a_list_and_says_how(text: str, repairs: dict[str, int]) -> None:
    reading = lenient(text)
    assert reading.status == "parsed"
    assert documents(reading) == [PIANO]
    assert reading.repairs == repairs
    assert not read_strict(text).events


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("piano", "no object"),
        ({**PIANO, "type": "smell"}, "type"),
        ({**PIANO, "type": None}, "type"),
        ({**PIANO, "start_time": True}, "time"),
        ({**PIANO, "end_time": "late"}, "time"),
        ({**PIANO, "end_time": None}, "time"),
        ({**PIANO, "end_time": 0}, "time"),
    ],
)
def test_what_is_no_event_is_counted_as_a_guess_with_its_reason(value: object, reason: str) -> None:
    for reading in (lenient(json.dumps([value, PIANO])), read_strict(json.dumps([value, PIANO]))):
        assert dict(reading.invalid) in ({reason: 1}, {"outside": 1})
        assert reading.guesses == 2


def test_an_event_outside_the_clip_is_invalid_only_where_times_are_cut_to_the_clip() -> None:
    late = json.dumps([{**PIANO, "start_time": 11, "end_time": 12}])
    assert lenient(late).invalid == {"outside": 1}
    assert len(read_strict(late).events) == 1


def test_the_list_with_the_most_events_counts_the_last_of_equals() -> None:
    other = {**PIANO, "description": "organ"}
    text = f"First {json.dumps([PIANO])}, then {json.dumps([other])}, of {json.dumps(list(range(9)))}."
    assert documents(lenient(text)) == [other]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("A piano.", "unparsed"),
        ('"piano"', "unparsed"),
        ('{"heard": "piano"}', "unparsed"),
        ("<think>[]", "truncated"),
        ("I hear []", "parsed"),
        ("[]", "parsed"),
        (json.dumps([PIANO, PIANO])[:-9], "truncated"),
    ],
)
def test_every_text_has_a_status(text: str, status: str) -> None:
    assert lenient(text).status == status


@pytest.mark.parametrize("text", ["[NaN]", '[{"type": "music", "start_time": 0, "end_time": Infinity}]', "```\n[]"])
def test_what_is_no_json_is_no_strict_answer(text: str) -> None:
    assert read_strict(text).status == "unparsed"


def test_a_reading_is_written_and_read_again() -> None:
    reading = lenient(json.dumps([PIANO, 1, {**PIANO, "type": "song", "start_time": 2}]))
    again = Reading.of_text(reading.text())
    assert (again.events, again.invalid, again.repairs) == (list(reading.events), reading.invalid, reading.repairs)
    assert Reading.of_text(None).guesses == 0


HOSTILE = {
    "opening brackets": "[" * 200_000,
    "braces": "{" * 200_000,
    "closed brackets": "[" * 100_000 + "]" * 100_000,
    "a list that fails at its end": "[" * 2_000 + "1," * 99_000,
    "objects that fail at their end": '[{"a":' * 2_000 + "1," * 90_000,
    "texts without an end": '["a' * 60_000,
    "thoughts without an end": "<think>" * 28_000,
    "more beginnings of thoughts than ends": "<think>" * 14_000 + "</think>" * 9_000,
    "a fence of blanks": f"```{' ' * 199_000}x```",
    "commas": f"[{', ' * 99_000}]",
    "blanks behind a comma": f"[1,{' ' * 199_000}x",
    "a long time": json.dumps([{**PIANO, "end_time": " " * 190_000 + "x"}]),
    "a long span": json.dumps([{"type": "music", "time": " " * 190_000 + "x"}]),
    "a number beyond floats": json.dumps([PIANO])[:-2] + ', "end_time": 1' + "0" * 400 + "}]",
    "a number beyond integers": json.dumps([PIANO])[:-2] + ', "end_time": 1' + "0" * 5_000 + "}]",
    "times at the end of floats": json.dumps([{**PIANO, "start_time": -1e308, "end_time": 1.7e308}]),
    "infinity": json.dumps([{**PIANO, "end_time": 1e999}]),
    "deep lists in a field": json.dumps([PIANO])[:-2] + ', "loudness": ' + "[" * 900 + "]" * 900 + "}]",
    "ten thousand events": json.dumps([PIANO] * 10_000),
    "NUL": json.dumps([{**PIANO, "description": "a\0b"}]) + "\0",
    "half a character": json.dumps([{**PIANO, "description": "\ud800"}]),
    "half a character as it is": "\ud800[]",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("read", [lenient, read_strict])
def test_a_hostile_text_is_read_and_written(read, text: str) -> None:
    reading = read(text)
    assert reading.status in ("parsed", "unparsed", "truncated")
    assert len(reading.events) <= MOST_EVENTS
    assert Reading.of_text(reading.text().encode().decode()).guesses == reading.guesses


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["type", "start", "end_time", "time", "duration", "events", "music", "description"]),
            inner | st.sampled_from(["music", "speech", "0:01 - 0:03", "2 s"]),
            max_size=6,
        )
    ),
    max_leaves=25,
)


@given(st.builds(json.dumps, JSON) | st.text(), st.text(max_size=5), st.integers(0, 400))
def test_no_text_is_an_exception(text: str, prose: str, cut: int) -> None:
    for each in (text, prose + text, text[:-cut] if cut else text):
        for reading in (lenient(each), read_strict(each)):
            Reading.of_text(reading.text())
            assert all(0 <= event.start_time < event.end_time for event in reading.events)
