"""Lists of events against an answer key: what belongs together, and what may not move any number."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.audio.events import AudioEvent
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.metric import RANGES
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.soundscape.columns import NO_OTHER, clip_statistics, other_statistics
from pytest_audiobench.protocols.soundscape.matching import iou, match, ordered, units
from pytest_audiobench.protocols.soundscape.task import soundscape

DURATION = 8.0
WORDS = ("", "a", "a b", "b", "a b c")
CAPTIONS = ("", "calm", "glad")
LABELS = ("", "x", "y", "z")
METRICS = soundscape(encoder="static").available["lenient"].metrics


def cosine(first: str, second: str) -> float:
    return -0.5 if {first, second} == {"calm", "glad"} else 0.5


# Few times, words and labels, so that ties are many.
TIMES = st.sampled_from([(start, end) for end in range(9) for start in range(end)])
EVENTS = st.builds(
    lambda type_, times, words, label, caption: AudioEvent(
        type_, *map(float, times), words, label, "en", caption, "", caption, caption
    ),
    st.sampled_from(("speech", "speech", "vocal_burst", "sound_event", "music")),
    TIMES,
    st.sampled_from(WORDS),
    st.sampled_from(LABELS),
    st.sampled_from(CAPTIONS),
)
LISTS = st.lists(EVENTS, max_size=5)


def statistics(truths, guesses, invalid=0):
    return clip_statistics(truths, guesses, invalid, DURATION, cosine) | other_statistics(
        truths[::2], guesses, DURATION, cosine
    )


def renamed(events, names):
    return [replace(event, speaker_id=names[event.speaker_id]) for event in events]


@given(LISTS, LISTS, st.randoms(), st.permutations(LABELS))
def test_neither_order_nor_the_names_of_speakers_move_a_number(truths, guesses, rng, labels):
    # No name is its own name: of a guess that is one more label, of a truth that nobody is known to speak.
    names = dict(zip(LABELS, labels, strict=True))
    true_names = {"": "", **{label: f"speaker {label}" for label in LABELS[1:]}}
    others = [rng.sample(events, len(events)) for events in (truths, guesses)]
    before = clip_statistics(truths, guesses, 0, DURATION, cosine)
    after = clip_statistics(renamed(others[0], true_names), renamed(others[1], names), 0, DURATION, cosine)
    assert after == pytest.approx(before)


@given(LISTS, LISTS, st.integers(0, 3))
def test_an_invalid_guess_never_raises_f1(truths, guesses, invalid):
    values = [statistics(truths, guesses, number)["f1"] for number in (invalid, invalid + 1)]
    assert values[1] <= values[0]


@given(st.lists(st.tuples(LISTS, LISTS, st.integers(0, 2)), min_size=1, max_size=4))
def test_every_number_is_within_its_range(clips):
    rows = [statistics(*clip) for clip in clips]
    for name in METRICS:
        kind = metric_kind(name)
        least, most = RANGES.get(kind.unit, (0.0, float("inf")))
        value = value_of(kind, rows)
        assert value != value or least <= value <= most + 1e-9, name


@given(LISTS, LISTS)
def test_one_to_one_is_never_more_than_the_best_guess_and_with_speakers_never_more_than_without(truths, guesses):
    matching = match(truths, guesses, cosine)
    reward = sum(pair.reward for pair in matching.best.values())
    assert matching.score <= matching.one_to_one + 1e-9
    assert matching.one_to_one <= reward + 1e-9


@given(LISTS.filter(bool))
def test_the_answer_key_itself_is_right_in_everything(truths):
    rows = [statistics(truths, truths) | NO_OTHER]
    # A cosine of two empty captions is 0, of speech without words its accuracy is 1.
    if all(event.caption for event in truths):
        for name in ("reward", "reward_1to1", "iou", "iou_cos"):
            assert value_of(metric_kind(name), rows) == pytest.approx(1.0)
    assert value_of(metric_kind("halluc"), rows) == 0.0
    assert value_of(metric_kind("speakers_error"), rows) == 0.0


def test_events_that_only_touch_do_not_overlap():
    first, second = AudioEvent("music", 0.0, 1.0), AudioEvent("music", 1.0, 2.0)
    assert iou(first, second) == 0.0
    assert not match([first], [second], cosine).pairs


def test_labels_of_equal_beginnings_are_told_apart_by_what_else_they_say():
    events = [
        AudioEvent("speech", 0.0, 4.0, "hi", "A"),
        AudioEvent("speech", 0.0, 4.0, "hi", "B"),
        AudioEvent("speech", 5.0, 9.0, "foo", "A"),
        AudioEvent("speech", 5.0, 9.0, "bar", "B"),
    ]
    assert [event.speaker_id for event in ordered(events)] == [event.speaker_id for event in ordered(events[::-1])]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Don’t — STOP!", "en", ("don", "t", "stop")),
        ("今天，天气", "zh-CN", tuple("今天天气")),
        ("ｶﾞ です", "ja", tuple("ガです")),
        ("...", "en", ()),
    ],
)
def test_words_are_compared_without_case_and_punctuation_and_chinese_and_japanese_by_character(
    text, language, expected
):
    assert units(text, language) == expected
