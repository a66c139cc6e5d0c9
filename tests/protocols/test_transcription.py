"""How speech is asked for, and how word errors are counted."""

import pytest

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import AudioSlot, Message, Response
from pytest_audiobench.protocols.transcription.task import transcription

CLIP = Clip(ArraySource.of([0.0, 0.1], 16_000))


def test_the_samples_own_question_goes_before_the_default_instruction() -> None:
    (stage,) = transcription().stages
    assert stage.task == "transcription"
    plain = Sample("a", (CLIP,), "", reference="seven")
    assert stage.render(plain, {}) == (Message("user", (AudioSlot(0), "Transcribe the speech.")),)
    asked = Sample("a", (CLIP,), "Which digit?", reference="seven")
    assert stage.render(asked, {})[0].parts[1] == "Which digit?"


def test_an_empty_answer_is_all_deletions_and_a_cut_one_counts_its_words() -> None:
    (scorer,) = transcription().scorers
    sample = Sample("a", (CLIP,), "", reference="one two three")
    empty = scorer.parse(sample, {"answer": Response.of("  ")})
    assert empty.status == "empty"
    counts = {"S": 0, "D": 3, "I": 0, "N": 3, "CS": 0, "CD": 13, "CI": 0, "CN": 13, "correct": 0.0}
    assert scorer.score(sample, empty) == counts
    cut = scorer.parse(sample, {"answer": Response.of("one two", "length")})
    assert cut.status == "truncated"
    assert scorer.score(sample, cut) == {**counts, "D": 1, "CD": 6}
    assert scorer.metrics[0] == "wer"


def test_an_unknown_scorer_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="wer-basic"):
        transcription("wer")


def test_languages_without_spaces_are_scored_by_character() -> None:
    assert [scorer.name for scorer in transcription().scorers] == ["wer-basic"]
    assert [scorer.name for scorer in transcription(language="th").scorers] == ["cer-basic"]
    assert transcription("whisper-basic", language="zh").scorers[0].metrics[0] == "cer"
    assert transcription("whisper-basic", language="de").scorers[0].metrics[0] == "wer"
    with pytest.raises(UsageError, match="'English' is not code of a language"):
        transcription(language="English")


def test_every_scorer_says_how_much_runaway_answers_make_of_it() -> None:
    error_rates = [one for one in transcription().available.values() if {"wer", "cer"} & set(one.metrics)]
    assert len(error_rates) > 10
    for scorer in error_rates:
        assert {"wer_capped", "wer_over_one"} <= set(scorer.metrics) or {"cer_capped", "cer_over_one"} <= set(
            scorer.metrics
        )


def test_a_missing_part_is_one_sentence(monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"cmi-bench needs num2words: pip install 'pytest-audiobench\[asr\]'"):
        transcription("cmi-bench")
    assert "yue needs zhconv" in transcription(language="yue").available["qwen2-audio"].missing_parts()
    assert transcription(language="en").available["qwen2-audio"].missing_parts() == ""
    assert "ultraeval needs MeCab" in transcription(language="ja").available["ultraeval"].missing_parts()
    assert "cmi-bench" not in [scorer.name for scorer in transcription("all").scorers]


@pytest.mark.parametrize(("written", "meant"), [("jp", "ja"), ("cmn", "zh"), ("tha", "th")])
def test_a_code_that_would_be_scored_as_another_kind_of_language_is_refused(written, meant):
    with pytest.raises(UsageError, match=f"'{written}' is not how .* write '{meant}'"):
        transcription(language=written)
