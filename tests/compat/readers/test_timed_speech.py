"""Segments, words and turns with times: what meeteval and pyannote wrote is read back, and scored as they score it."""

import itertools
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_audiobench.compat.answer_files import AnswerFile
from pytest_audiobench.compat.readers.timed_speech import (
    Recording,
    Segment,
    Turn,
    Word,
    ctm_words,
    rttm_turns,
    stm_segments,
)
from pytest_audiobench.errors import UsageError
from pytest_audiobench.rescoring.layouts import source_of
from pytest_audiobench.rescoring.rescore import ScoringOptions, rescore

NAME = st.from_regex(r"[A-Za-z0-9_.\-]{1,8}", fullmatch=True)
SECONDS = st.integers(0, 5000).map(lambda hundredths: hundredths / 100)
WORD = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters="<@;{}/"), min_size=1)
FORM = st.tuples(st.booleans(), st.booleans())


def decimal(seconds):
    return Decimal(str(seconds))


def in_form(path, form):
    """The same file with a byte order mark or without, with either line end."""
    mark, crlf = form
    content = path.read_bytes().replace(b"\n", b"\r\n" if crlf else b"\n")
    path.write_bytes(b"\xef\xbb\xbf" * mark + content)
    return AnswerFile(path)


@given(st.lists(st.tuples(SECONDS, SECONDS, WORD), min_size=1, max_size=6), NAME, FORM)
def test_the_words_that_meeteval_writes_are_read_back(tmp_path_factory, words, name, form):
    io = pytest.importorskip("meeteval.io", reason="needs the extra meeting")
    path = tmp_path_factory.mktemp("ctm") / "hyp.ctm"
    lines = [io.CTMLine(name, "1", decimal(start), decimal(length), word, None) for start, length, word in words]
    io.CTM(lines).dump(path)
    expected = sorted((Word(start, length, word) for start, length, word in words), key=lambda word: word.start)
    assert ctm_words(in_form(path, form)) == {Recording(name, "1"): expected}


@given(st.lists(st.tuples(SECONDS, SECONDS, st.lists(WORD).map(" ".join)), min_size=1, max_size=6), NAME, FORM)
def test_the_segments_that_meeteval_writes_are_read_back(tmp_path_factory, segments, name, form):
    io = pytest.importorskip("meeteval.io", reason="needs the extra meeting")
    path = tmp_path_factory.mktemp("stm") / "ref.stm"
    lines = [
        io.STMLine(name, "1", "anna", decimal(start), decimal(start) + decimal(length), text)
        for start, length, text in segments
    ]
    io.STM(lines).dump(path)
    (read,) = stm_segments(in_form(path, form)).values()
    expected = [Segment("anna", start, pytest.approx(start + length), "", text) for start, length, text in segments]
    assert read == sorted(expected, key=lambda segment: segment.start)


@given(st.lists(st.tuples(NAME, SECONDS, SECONDS), min_size=1, max_size=6), NAME, FORM)
def test_the_turns_that_meeteval_writes_are_read_back(tmp_path_factory, turns, name, form):
    io = pytest.importorskip("meeteval.io", reason="needs the extra meeting")
    path = tmp_path_factory.mktemp("rttm") / "hyp.rttm"
    lines = [
        io.RTTMLine(
            filename=name,
            channel="1",
            begin_time=decimal(start),
            duration=decimal(length),
            speaker_id=speaker,
        )
        for speaker, start, length in turns
    ]
    io.RTTM(lines).dump(path)
    assert rttm_turns(in_form(path, form)) == {name: [Turn(*turn) for turn in turns]}


def folder_of(tmp_path, **files):
    for name, lines in files.items():
        (tmp_path / name.replace("_", ".")).write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def texts(folder):
    return {
        row.sample.id: (row.sample.reference, row.responses["answer"].text)
        for row in source_of(folder / "hyp.ctm").rows()
    }


SEGMENTS = ["r A anna 0 2 <o,f0> one two", "r A ben 3 5 three four"]


def test_a_word_is_of_the_segment_in_which_its_middle_lies(tmp_path):
    words = ["r A 0.1 0.2 one", "r A 1.9 0.4 too", "r A 3.5 0.1 three", "r A 9.0 0.5 more"]
    folder = folder_of(tmp_path, ref_stm=SEGMENTS, hyp_ctm=words)
    # Between two segments it is of the one behind it, and behind the last of the last, as for sclite.
    assert texts(folder) == {
        "r-A-anna-0.000-2.000": ("one two", "one"),
        "r-A-ben-3.000-5.000": ("three four", "too three more"),
    }


def test_speakers_and_labels_are_groups_and_a_recording_is_a_cluster(tmp_path):
    folder = folder_of(tmp_path, ref_stm=SEGMENTS, hyp_ctm=["r A 0.1 0.2 one", "r A 3.5 0.1 three"])
    (item,) = rescore(source_of(folder / "hyp.ctm"), ScoringOptions(("wer-basic",))).items
    assert item.groups == ("speaker", "label")
    assert item.metrics[0].value == 0.5
    assert {row.recording for row in source_of(folder / "hyp.ctm").rows()} == {"r-A"}


def test_where_segments_overlap_a_recording_is_scored_as_a_whole_and_named(tmp_path):
    segments = ["r A anna 0 4 one two", "r A ben 3 5 three"]
    words = ["r A 0.1 0.2 one", "r A 3.2 0.4 three", "r A 4.5 0.1 three"]
    folder = folder_of(tmp_path, ref_stm=segments, hyp_ctm=words)
    assert texts(folder) == {"r-A": ("one two three", "one three three")}
    (row,) = source_of(folder / "hyp.ctm").rows()
    assert "scored as a whole, since words lie in several segments: r-A (1 words)" in row.note


@pytest.mark.parametrize("mark", ["IGNORE_TIME_SEGMENT_IN_SCORING", "ignore_time_segment_in_scoring"])
def test_what_is_said_in_a_segment_that_is_not_scored_is_left_out(tmp_path, mark):
    words = ["r A 0.1 0.2 one", "r A 3.2 0.4 noise"]
    folder = folder_of(tmp_path, ref_stm=[SEGMENTS[0], f"r A ben 3 5 {mark}"], hyp_ctm=words)
    assert list(texts(folder).values()) == [("one two", "one")]


def test_of_alternative_words_the_best_counts(tmp_path):
    words = ["r A * * <ALT_BEGIN>", "r A 0.1 0.2 won", "r A * * <ALT>", "r A 0.1 0.2 one", "r A * * <ALT_END>"]
    folder = folder_of(tmp_path, ref_stm=SEGMENTS[:1], hyp_ctm=words)
    assert list(texts(folder).values()) == [("one two", "one")]


def test_channels_of_one_name_each_are_the_same_whatever_they_are_called(tmp_path):
    folder = folder_of(tmp_path, ref_stm=SEGMENTS, hyp_ctm=["r 1 0.1 0.2 one"])
    assert list(texts(folder)) == ["r-anna-0.000-2.000", "r-ben-3.000-5.000"]


def test_a_recording_that_was_lost_is_named(tmp_path):
    folder = folder_of(tmp_path, ref_stm=[*SEGMENTS, "s A anna 0 2 five"], hyp_ctm=["r A 0.1 0.2 one"])
    with pytest.raises(UsageError, match="has no hypothesis of 's-A'"):
        texts(folder)


@pytest.mark.parametrize(
    ("name", "line", "says"),
    [
        ("hyp.ctm", "r A x 0.2 one two", "line 1 is not a word"),
        ("ref.stm", "r A anna 2 1 one", "line 1 is not a segment"),
        ("hyp.rttm", "SPEAKER r 1 x 2 <NA> <NA> a <NA> <NA>", "line 1 is not a turn"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path, name, line, says):
    (tmp_path / name).write_text(f"{line}\n")
    read = {"hyp.ctm": ctm_words, "ref.stm": stm_segments, "hyp.rttm": rttm_turns}[name]
    with pytest.raises(UsageError, match=says):
        read(AnswerFile(tmp_path / name))


def test_words_without_their_segments_are_refused_with_the_option_that_names_them(tmp_path):
    with pytest.raises(UsageError, match="name their STM by --references"):
        list(source_of(folder_of(tmp_path, hyp_ctm=["r A 0.1 0.2 one"]) / "hyp.ctm").rows())


TURNS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 60), st.integers(1, 20)), min_size=1, max_size=8, unique=True
)


def _has_one_pairing(seconds):
    """Whether one pairing of speakers agrees for longer than any other; ``seconds`` are those of each pair."""
    square = np.zeros((3, 3))
    square[: seconds.shape[0], : seconds.shape[1]] = seconds
    pairings = {
        frozenset((row, column) for row, column in enumerate(order) if square[row, column]): square[
            range(3), order
        ].sum()
        for order in itertools.permutations(range(3))
    }
    return list(pairings.values()).count(max(pairings.values())) == 1


@given(TURNS, TURNS)
def test_the_diarisation_error_of_two_rttms_is_that_of_pyannote(tmp_path_factory, true, said):
    core = pytest.importorskip("pyannote.core", reason="needs the extra meeting")
    rates = pytest.importorskip("pyannote.metrics.diarization", reason="needs the extra meeting")
    pytest.importorskip("meeteval", reason="needs the extra meeting")
    folder, sides = tmp_path_factory.mktemp("rttm"), []
    for name, turns in (("ref", true), ("hyp", said)):
        annotation = core.Annotation(uri="r")
        for number, (speaker, start, length) in enumerate(turns):
            annotation[core.Segment(start, start + length), number] = speaker
        with (folder / f"{name}.rttm").open("w") as file:
            annotation.write_rttm(file)
        sides.append(annotation)
    # Of equally good pairs of speakers either may be taken, and pyannote counts a speaker's overlapping turns twice.
    assume(_has_one_pairing(sides[0] * sides[1]))
    assume(not any(one.label_timeline(label).get_overlap() for one in sides for label in one.labels()))
    (item,) = rescore(source_of(folder / "hyp.rttm"), ScoringOptions()).items
    assert [scorer.name for scorer in item.scorers] == ["meeting"]
    end = max(start + length for _, start, length in (*true, *said))
    uem = core.Timeline([core.Segment(0, end)])
    values = {metric.name: metric.value for metric in item.metrics}
    assert values["der"] == pytest.approx(rates.DiarizationErrorRate()(*sides, uem=uem))
    assert values["jer"] == pytest.approx(rates.JaccardErrorRate()(*sides, uem=uem))


def test_a_recording_with_more_turns_than_are_read_is_no_measurement(tmp_path):
    for library in ("pyannote.metrics", "meeteval"):
        pytest.importorskip(library, reason="needs the extra meeting")
    few, many = (
        [f"SPEAKER {name} 1 {at} 1 <NA> <NA> a <NA> <NA>" for at in range(n)] for name, n in (("r", 2), ("s", 501))
    )
    folder = folder_of(tmp_path, ref_rttm=[*few, *many], hyp_rttm=[*few, *many])
    (item,) = rescore(source_of(folder / "hyp.rttm"), ScoringOptions()).items
    assert (item.n, item.scorers[0].coverage.errors) == (2, 1)
    assert item.errors[0].message == "501 turns are more than the 500 that are read"
    assert {metric.name: metric.value for metric in item.metrics}["der"] == 0
