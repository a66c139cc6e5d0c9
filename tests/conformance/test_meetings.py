"""meeteval's rates, called so that a silent system is scored and nothing is logged."""

import logging

import pytest

from .meetings import LACKING, Segment, mimo_errors, orc_errors, segment_errors

pytestmark = pytest.mark.skipif(bool(LACKING), reason=LACKING)


def test_talkers_may_change_streams_between_utterances() -> None:
    references = ["a b", "c d", "e f"]
    assert orc_errors(references, ["a b e f", "c d"]).errors == 0
    assert mimo_errors([["a b", "e f"], ["c d"]], ["c d", "a b e f"]).errors == 0
    assert orc_errors(references, ["a b", "c d"])[:4] == (0, 2, 0, 6)


def test_words_count_only_near_their_time_when_a_collar_is_given() -> None:
    said, late = Segment("A", "hello there", 0, 2), Segment("x", "hello there", 20, 22)
    assert segment_errors([said], [late]).errors == 0
    assert segment_errors([said], [late], collar_s=5).errors == 4


def test_a_silent_system_has_every_word_deleted() -> None:
    said = [Segment("A", "hello there", 0, 2)]
    for errors in (orc_errors(["hello there"], []), mimo_errors([["hello there"]], []), segment_errors(said, [])):
        assert errors[:4] == (0, 2, 0, 2)
    assert segment_errors(said, [], collar_s=5).deletions == 2


def test_nothing_is_logged_and_the_logger_stays_as_it_was(caplog) -> None:
    logger = logging.getLogger("preprocess")
    before = logger.level
    with caplog.at_level(logging.INFO):
        orc_errors(["a b"], ["a b"])
    assert not caplog.records
    assert logger.level == before
