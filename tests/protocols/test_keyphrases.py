"""Keyphrases by stems, and by the published rule for three keywords."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.keyphrases import keyphrases, phrases_of

TRUE = ("neural network", "speech recognition")


def scored(name, text, references=TRUE, finish="stop"):
    (scorer,) = [one for one in keyphrases(name).scorers if one.name == name]
    asked = Sample("a", (), "", reference=references[0], references=tuple(references))
    return scorer.score(asked, scorer.parse(asked, {"answer": Response.of(text, finish)}))


@pytest.mark.parametrize("references", [("",), ("; ",)])
def test_a_sample_without_a_true_phrase_is_left_out_and_no_zero(references) -> None:
    assert scored("stemmed", "audio, speech", references) is None


def value(metric, *statistics):
    return metric_kind(metric).estimate(statistics, None).value


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ("Keywords: neural networks, audio, and speech.", ["neural networks", "audio", "speech"]),
        ("1. Neural networks\n2. Audio", ["Neural networks", "Audio"]),
        ("- a\n- b\n\n- c", ["a", "b", "c"]),
        ('"speech recognition"; audio', ["speech recognition", "audio"]),
        (",,", []),
        ("one", ["one"]),
    ],
)
def test_an_answer_is_parted_into_phrases(text, phrases) -> None:
    assert phrases_of(text) == phrases


def test_ours_counts_each_phrase_once_by_stems() -> None:
    found = scored("stemmed", "Neural networks, neural network, audio, speech recognition")
    assert value("keyphrase_precision_at_1", found) == 1.0
    assert value("keyphrase_f1_at_3", found) == pytest.approx(4 / 5)
    assert value("keyphrase_recall_at_m", found) == 1.0


@pytest.mark.parametrize("text", ["", "I'm sorry, I cannot access the audio."])
def test_an_unanswered_sample_misses_every_phrase(text) -> None:
    found = scored("stemmed", text)
    assert value("keyphrase_f1_at_5", found) == 0.0
    assert found["keyphrases"] == 2.0


def test_the_phrase_that_a_cut_answer_ends_in_is_dropped() -> None:
    assert scored("stemmed", "neural network, speech recog", finish="length")["kept_m"] == 1.0


def test_one_reference_may_hold_all_phrases() -> None:
    assert scored("stemmed", "neural network", ("neural network; speech recognition",))["keyphrases"] == 2.0


def by_hand(text, truths):
    """The published rule by another hand: hits and what they are divided by."""

    def clean(phrase):
        phrase = phrase.strip()
        if phrase[:4] == "and ":
            phrase = phrase[4:].strip()
        if phrase[-1:] == ".":
            phrase = phrase[:-1].strip()
        return " ".join(phrase.split("-"))

    gold = [clean(phrase) for phrase in "; ".join(truths).lower().split("; ")]
    text = text.lower()
    if text[-4:] == "</s>":
        text = text[:-4].strip()
    hits = 0
    for phrase in map(clean, text.split(",")):
        if len(phrase.split()) >= 2:
            hits += len([one for one in gold if one.find(phrase) >= 0])
        elif phrase in gold:
            hits += 1
    return min(3, hits), min(3, len(gold))


phrase = st.text("ab -.", max_size=6)


@settings(deadline=None)
@given(st.lists(phrase, max_size=5), st.lists(phrase, min_size=1, max_size=5), st.sampled_from(("", "</s>", ".</s>")))
def test_the_published_rule_by_another_hand(said, truths, end) -> None:
    text = ", and ".join(said) + end
    found = scored("salmonn-keywords-keep", text, truths)
    assert (found["keyword_hits"], found["keywords"]) == by_hand(text, truths)


def test_one_phrase_may_be_three_hits_by_the_published_rule() -> None:
    truths = ("neural network training", "deep neural network", "neural network", "audio")
    assert scored("salmonn-keywords", "neural network", truths) == {"keyword_hits": 3.0, "keywords": 3.0}
    assert scored("salmonn-keywords", "audio, audio, audio", truths)["keyword_hits"] == 3.0
    assert scored("salmonn-keywords", "neural net, neural net", ("neural network",)) == {
        "keyword_hits": 2.0,
        "keywords": 1.0,
    }


def test_an_answer_without_an_end_is_left_out_and_shown_beside() -> None:
    assert scored("salmonn-keywords", "audio", finish="length") is None
    assert scored("salmonn-keywords-keep", "neural network", finish="length")["keyword_hits"] == 1.0
    assert [one.name for one in keyphrases("salmonn-keywords").scorers] == [
        "salmonn-keywords",
        "salmonn-keywords-keep",
    ]


def test_hits_are_pooled_over_samples() -> None:
    found = [scored("salmonn-keywords", "audio", ("audio", "b", "c", "d")), scored("salmonn-keywords", "b", ("x",))]
    assert value("keyword_hits", *found) == pytest.approx(1 / 4)


@settings(deadline=None)
@given(st.text(), st.text())
def test_any_text_is_scored(text, truth) -> None:
    for name in keyphrases().available:
        scored(name, text, (truth,))
