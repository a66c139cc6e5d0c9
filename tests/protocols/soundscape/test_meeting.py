"""Rates of meetings, of the speech in lists of events."""

import logging
import math

import pytest

from pytest_audiobench.audio.events import AudioEvent
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.protocols.soundscape import meeting
from pytest_audiobench.protocols.soundscape.columns import clip_statistics
from pytest_audiobench.protocols.soundscape.task import soundscape

DURATION = 20.0
TRUTHS = [
    AudioEvent("speech", 0.0, 4.0, "hello there my friend", "A", "en"),
    AudioEvent("speech", 5.0, 9.0, "we leave at nine", "B", "en"),
    AudioEvent("music", 0.0, 20.0, description="piano"),
]
SAID = [
    AudioEvent("speech", 0.0, 4.0, "hello there my friend", "x", "en"),
    AudioEvent("speech", 5.0, 9.0, "we leave at nine", "y", "en"),
]


def value(metric, guesses, truths=TRUTHS):
    rows = [clip_statistics(truths, guesses, 0, DURATION, lambda first, second: 0.5)[1]]
    return value_of(metric_kind(metric), rows)


def needs(package):
    missing = [reason for reason in meeting.missing_packages() if package in reason]
    return pytest.mark.skipif(bool(missing), reason="".join(missing))


def renamed(events, *labels):
    return [
        AudioEvent(event.type, event.start_time, event.end_time, event.transcription, label, event.language)
        for event, label in zip(events, labels, strict=True)
    ]


def test_words_of_the_wrong_speaker_are_errors_of_cpwer():
    assert value("cpwer", SAID) == 0.0
    assert value("cpwer", renamed(SAID, "x", "x")) == pytest.approx(8 / 8)
    assert value("cpwer", []) == 1.0


@needs("meeteval")
def test_words_at_another_time_are_errors_of_tcpwer_alone():
    late = [AudioEvent("speech", 15.0, 19.0, "hello there my friend", "x", "en"), SAID[1]]
    assert (value("tcpwer", SAID), value("cpwer", late)) == (0.0, 0.0)
    assert value("tcpwer", late) == pytest.approx(8 / 8)
    assert value("tcpwer", []) == 1.0


@needs("meeteval")
def test_what_is_said_twice_at_once_is_scored_without_a_word_in_the_log(caplog):
    with caplog.at_level(logging.INFO):
        assert value("tcpwer", [*SAID, SAID[0]]) > 0.0
    assert not caplog.records


@needs("pyannote")
def test_speech_that_is_missed_made_up_or_given_to_the_wrong_speaker_counts_in_der_and_jer():
    assert (value("der", SAID), value("jer", SAID)) == (0.0, 0.0)
    assert value("der", SAID[:1]) == pytest.approx(0.5)
    assert value("der", renamed(SAID, "x", "x")) == pytest.approx(0.5)
    made_up = AudioEvent("speech", 10.0, 14.0, "what", "y", "en")
    assert value("der", [*SAID, made_up]) == pytest.approx(0.5)
    assert value("jer", SAID[:1]) == pytest.approx(0.5)


@needs("pyannote")
def test_speech_beyond_the_clip_does_not_count_in_der():
    assert value("der", [*SAID, AudioEvent("speech", 19.0, 90.0, "so", "z", "en")]) == pytest.approx(1 / 8)


def test_where_a_package_is_missing_its_rates_have_no_value_and_a_note_says_why(monkeypatch):
    monkeypatch.setattr(meeting, "_is_installed", lambda package: False)
    meeting.missing_packages.cache_clear()
    try:
        assert all(math.isnan(value(metric, SAID)) for metric in ("tcpwer", "der", "jer"))
        notes = " ".join(soundscape().notes)
    finally:
        meeting.missing_packages.cache_clear()
    assert notes.count("pip install 'pytest-audiobench[meeting]'") == 2
    assert value("cpwer", SAID) == 0.0
