"""The rates of meetings of two lists of events, beside what comes out by hand."""

import importlib.util
from dataclasses import replace

import pytest

from pytest_audiobench.audio.events import AudioEvent, events_text
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.multi_talker_errors import cp_errors
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.soundscape import meeting
from pytest_audiobench.protocols.soundscape.columns import clip_statistics
from pytest_audiobench.protocols.soundscape.task import soundscape

FIRST, SECOND = "one two three four", "five six seven eight"


def speech(start, end, speaker, words=""):
    return AudioEvent("speech", start, end, transcription=words, speaker_id=speaker)


TRUTHS = [speech(0.0, 4.0, "A", FIRST), speech(5.0, 9.0, "B", SECOND)]
needs_words = pytest.mark.skipif(not importlib.util.find_spec("meeteval"), reason="tcpWER needs meeteval")


def rates(truths, guesses, duration=10.0):
    pytest.importorskip("pyannote.metrics", reason="DER and JER need pyannote.metrics")
    values = meeting.meeting_statistics(truths, guesses, duration)
    der = values["diarisation_errors"] / values["spoken_seconds"]
    return der, values["jaccard_errors"] / values["jaccard_speakers"]


def timed_errors(truths, guesses):
    return meeting.meeting_statistics(truths, guesses, 60.0)["timed_errors"]


@pytest.mark.parametrize(
    ("guesses", "der", "jer"),
    [
        pytest.param(TRUTHS, 0.0, 0.0, marks=needs_words),
        ([speech(5.0, 9.0, "a"), speech(0.0, 4.0, "b")], 0.0, 0.0),
        ([], 1.0, 1.0),
        # One label for both: three seconds of B are A's and one is missed; A and its label share 4 of 7 seconds.
        ([speech(0.0, 4.0, "x"), speech(5.0, 8.0, "x")], 4 / 8, (3 / 7 + 1) / 2),
        # One second of silence is called speech, and one of speech missed.
        ([speech(0.0, 5.0, "a"), speech(6.0, 9.0, "b")], 2 / 8, (1 / 5 + 1 / 4) / 2),
        # No collar: a tenth of a second at every edge counts.
        ([speech(0.1, 4.1, "a"), speech(5.1, 9.1, "b")], 0.4 / 8, 0.2 / 4.1),
        # Two at once where one speaks: four seconds made up, by a label that is nobody's.
        pytest.param([*TRUTHS, speech(0.0, 4.0, "c")], 4 / 8, 0.0, marks=needs_words),
    ],
)
def test_diarisation_errors_are_those_worked_out_by_hand(guesses, der, jer):
    assert rates(TRUTHS, guesses) == (pytest.approx(der), pytest.approx(jer))


def test_overlapped_speech_counts_for_each_of_those_who_speak():
    truths = [speech(0.0, 4.0, "A"), speech(2.0, 4.0, "B")]
    der, jer = rates(truths, [speech(0.0, 4.0, "a")])
    assert (der, jer) == (pytest.approx(2 / 6), pytest.approx(1 / 2))


@needs_words
def test_what_lies_behind_the_clip_s_end_is_not_scored():
    assert rates(TRUTHS, [*TRUTHS, speech(10.0, 20.0, "c")]) == (0.0, 0.0)


@needs_words
@pytest.mark.parametrize(
    ("guesses", "errors"),
    [
        (TRUTHS, 0),
        ([speech(0.0, 4.0, "b", FIRST), speech(5.0, 9.0, "a", SECOND)], 0),
        ([], 8),
        # One label for both: the words of one of them are inserted, and missed.
        ([speech(0.0, 4.0, "x", FIRST), speech(5.0, 9.0, "x", SECOND)], 8),
        ([speech(0.0, 4.0, "a", "one two too four"), speech(5.0, 9.0, "b", "five six seven eight nine")], 2),
        # Within the collar of 5 s, and half a minute late: each word is then inserted, and missed.
        ([speech(3.0, 7.0, "a", FIRST), speech(8.0, 12.0, "b", SECOND)], 0),
        ([speech(30.0, 34.0, "a", FIRST), speech(35.0, 39.0, "b", SECOND)], 16),
    ],
)
def test_timed_word_errors_are_those_worked_out_by_hand(guesses, errors):
    assert timed_errors(TRUTHS, guesses) == errors


@needs_words
def test_words_at_their_time_have_as_many_errors_as_without_times():
    guesses = [speech(0.0, 4.0, "x", "one two three"), speech(5.0, 9.0, "y", "five five seven eight eight")]
    errors = cp_errors(meeting.talker_words(TRUTHS), meeting.talker_words(guesses))
    assert timed_errors(TRUTHS, guesses) == errors.errors == 3


@needs_words
@pytest.mark.parametrize("labels", [20, 21, 500])
def test_any_number_of_labels_is_scored(labels, caplog):
    chatter = [speech(0.01 * number, 0.5 + 0.01 * number, f"x{number}", "so") for number in range(labels - 2)]
    assert timed_errors(TRUTHS, [*TRUTHS, *chatter]) == labels - 2
    assert caplog.records == []


@needs_words
def test_of_an_answer_of_countless_words_all_are_errors():
    endless = [speech(0.0, 4.0, "a", f"{FIRST} " * 100) for _ in range(30)]
    assert timed_errors(TRUTHS, endless) == 8 + 4 * 100 * 30


@needs_words
@pytest.mark.parametrize(
    ("guesses", "orc", "mimo"),
    [
        # Who says what does not count, and a stream may hold what two say in turn.
        ([speech(0.0, 4.0, "b", SECOND), speech(5.0, 9.0, "a", FIRST)], 0, 0),
        ([speech(0.0, 9.0, "x", f"{FIRST} {SECOND}")], 0, 0),
        # In one stream the utterances keep their order; of two speakers they may come in any.
        ([speech(0.0, 9.0, "x", f"{SECOND} {FIRST}")], 8, 0),
        ([], 8, 8),
        ([speech(0.0, 1.0, "a"), speech(1.0, 2.0, "b")], 8, 8),
        # Twelve streams of four words would take billions of steps.
        ([speech(0.0, 4.0, f"s{number}", FIRST) for number in range(12)], 56, 56),
    ],
)
def test_errors_of_streams_are_those_worked_out_by_hand(guesses, orc, mimo, caplog):
    statistics = meeting.stream_statistics(TRUTHS, guesses)
    assert statistics == {"orc_errors": orc, "orc_words": 8, "mimo_errors": mimo, "mimo_words": 8}
    assert caplog.records == []


@needs_words
def test_neither_order_nor_names_of_labels_move_a_rate():
    guesses = [speech(number, number + 2.0, f"s{number % 3}", f"{FIRST} {number}") for number in range(8)]
    values = meeting.meeting_statistics(TRUTHS, guesses, 10.0)
    renamed = [replace(event, speaker_id=f"z{event.speaker_id}") for event in guesses]
    assert meeting.meeting_statistics(TRUTHS, renamed, 10.0) == pytest.approx(values)


def test_a_package_that_is_missing_is_named_and_moves_no_other_number(monkeypatch):
    monkeypatch.setattr(meeting, "_is_installed", lambda package: False)
    assert soundscape().available["meeting"].missing_parts() == (
        "meeteval, which computes tcpwer, is not installed: pip install 'pytest-audiobench[meeting]'; "
        "pyannote.metrics, which computes der and jer, is not installed: pip install 'pytest-audiobench[meeting]'"
    )
    with pytest.raises(UsageError, match="meeteval, which computes tcpwer, is not installed"):
        soundscape("meeting")
    others = clip_statistics(TRUTHS, TRUTHS, 0, 10.0, lambda first, second: 0.5)
    assert not {"timed_errors", "spoken_seconds", "jaccard_speakers"} & others.keys()


@needs_words
def test_the_scorer_of_meetings_reads_the_list_leniently_and_cuts_it_to_the_clip():
    pytest.importorskip("pyannote.metrics", reason="DER and JER need pyannote.metrics")
    scorer = soundscape().available["meeting"]
    sample = Sample("s", (), "", (), events_text(TRUTHS), {"duration": 10.0})
    said = [*TRUTHS, speech(9.5, 30.0, "B", "and more")]
    answer = scorer.parse(sample, {"answer": Response.of(f"Here: {events_text(said)}")})
    scores = scorer.score(sample, answer)
    assert (scores["timed_errors"], scores["timed_words"]) == (2.0, 8.0)
    assert scores["diarisation_errors"] == pytest.approx(0.5)
    assert scorer.score(sample, scorer.parse(sample, {"answer": Response.of("nothing")}))["timed_errors"] == 8.0


def test_words_of_the_wrong_speaker_are_errors_of_cpwer():
    def cpwer(guesses):
        statistics = clip_statistics(TRUTHS, guesses, 0, 10.0, lambda first, second: 0.5)
        return value_of(metric_kind("cpwer"), [statistics])

    one_label = [replace(event, speaker_id="x") for event in TRUTHS]
    assert (cpwer(TRUTHS), cpwer(one_label), cpwer([])) == (0.0, 1.0, 1.0)
