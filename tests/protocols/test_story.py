"""Stories: SALMONN's count of different words, and a variety that length cannot buy."""

import pytest

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.story import story

CLIP = Sample("one", (), "")
FIFTY = " ".join(f"word{number}" for number in range(50))


def read(name, text, finish="stop"):
    scorer = story().available[name]
    answer = scorer.parse(CLIP, {"answer": Response.of(text, finish)})
    return answer.status, scorer.score(CLIP, answer)


@pytest.mark.parametrize("name", ["word-variety", "salmonn-repro"])
def test_a_story_has_fifty_words_or_more(name) -> None:
    assert read(name, FIFTY)[1]["followed"] == 1.0
    assert read(name, FIFTY.removesuffix(" word49"))[1]["followed"] == 0.0
    assert read(name, "") == ("empty", read(name, " ")[1])
    assert read(name, "")[1]["followed"] == 0.0


def test_the_published_diversity_counts_the_different_words_of_stories_that_followed() -> None:
    assert read("salmonn-repro", f'"{FIFTY}," Word1! word2...</s>')[1] == {"types": 50.0, "followed": 1.0}
    assert read("salmonn-repro", f"{FIFTY} it's its")[1]["types"] == 51.0
    rows = [read("salmonn-repro", text)[1] for text in (FIFTY, "one two", "")]
    assert metric_kind("diversity").estimate(rows, None).value == 50 / 3
    assert metric_kind("following").estimate(rows, None).value == 1 / 3


def test_a_longer_story_is_more_diverse_by_the_published_count_and_not_by_ours() -> None:
    longer = f"{FIFTY} {FIFTY.replace('word', 'other')}"
    assert read("salmonn-repro", longer)[1]["types"] == 2 * read("salmonn-repro", FIFTY)[1]["types"]
    assert read("word-variety", longer)[1]["mattr"] == read("word-variety", FIFTY)[1]["mattr"] == 1.0


def test_a_loop_has_little_variety_and_a_short_answer_none() -> None:
    assert read("word-variety", "A dog barks. " * 40)[1]["mattr"] == 3 / 50
    assert read("word-variety", "A dog barks.")[1] == {"mattr": 0.0, "followed": 0.0}


def test_a_story_cut_by_the_limit_of_tokens_counts() -> None:
    assert read("word-variety", FIFTY, "length") == ("truncated", {"mattr": 1.0, "followed": 1.0})
    assert story().stages[0].settings.max_new_tokens == 200
