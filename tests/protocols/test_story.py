"""Stories: SALMONN's count of different words, and a variety that length cannot buy."""

import pytest

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.story import story

CLIP = Sample("one", (), "")
FIFTY = " ".join(f"word{number}" for number in range(50))


def read(name, text, finish="stop"):
    reading = story().available[name]
    answer = reading.parse(CLIP, {"answer": Response.of(text, finish)})
    return answer.status, reading.score(CLIP, answer)


@pytest.mark.parametrize("name", ["word-variety", "different-words"])
def test_a_story_has_fifty_words_or_more(name) -> None:
    assert read(name, FIFTY)[1]["followed"] == 1.0
    assert read(name, FIFTY.removesuffix(" word49"))[1]["followed"] == 0.0
    assert read(name, "") == ("empty", read(name, " ")[1])
    assert read(name, "")[1]["followed"] == 0.0


def test_the_published_diversity_counts_different_words_as_they_are_written() -> None:
    assert read("different-words", "A dog barks. a dog barks.")[1]["types"] == 4.0
    assert read("different-words", "A dog barks. A dog barks. Dog")[1]["types"] == 4.0
    rows = [read("different-words", text)[1] for text in ("one two", "one", "")]
    assert metric_kind("diversity").estimate(rows, None).value == 1.0


def test_a_longer_story_is_more_diverse_by_the_published_count_and_not_by_ours() -> None:
    longer = f"{FIFTY} {FIFTY.replace('word', 'other')}"
    assert read("different-words", longer)[1]["types"] == 2 * read("different-words", FIFTY)[1]["types"]
    assert read("word-variety", longer)[1]["mattr"] == read("word-variety", FIFTY)[1]["mattr"] == 1.0


def test_a_loop_has_little_variety_and_a_short_answer_none() -> None:
    assert read("word-variety", "A dog barks. " * 40)[1]["mattr"] == 3 / 50
    assert read("word-variety", "A dog barks.")[1] == {"mattr": 0.0, "followed": 0.0}


def test_a_story_cut_by_the_limit_of_tokens_counts() -> None:
    assert read("word-variety", FIFTY, "length") == ("truncated", {"mattr": 1.0, "followed": 1.0})
    assert story().stages[0].settings.max_new_tokens == 200
