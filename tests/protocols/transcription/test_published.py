"""Published rules by hand-worked cases, and against a second way of writing them."""

import re

import jiwer
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.protocol import Answer
from pytest_audiobench.protocols.transcription import multilingual, published_scorers
from pytest_audiobench.protocols.transcription.task import transcription


def scored(name, reference, answer, language="en", finish="stop"):
    scorer = transcription(language=language).available[name]
    sample = Sample("a", (), "", reference=reference)
    return scorer.score(sample, scorer.parse(sample, {"answer": Response.of(answer, finish)}))


def counted(name, reference, answer, language="en"):
    found = scored(name, reference, answer, language)
    return tuple(found[key] for key in ("S", "D", "I", "N"))


def test_audiobench_writes_empty_for_nothing():
    assert published_scorers.audiobench_english("Uh, I'm 21 & 5!") == "i am 21 five"
    assert published_scorers.audiobench_chinese("我想book一个") == "我 想book一 个"
    assert counted("audiobench", "hello world", "") == (1, 1, 0, 2)
    assert counted("audiobench", "[noise]", "") == (0, 0, 0, 1)
    assert counted("audiobench", "[noise]", "empty") == (0, 0, 0, 1)
    assert counted("wer-basic", "...", "empty") == (0, 0, 1, 0)


def test_cmi_bench_deletes_prefaces_and_spells_whole_numbers():
    assert published_scorers.cmi_bench_answer("The lyrics of the song are: Love me 2, do!") == "love me two do"
    assert published_scorers.cmi_bench_answer("<s> 99 la-la </s>") == "ninety-nine lala"
    assert published_scorers.cmi_bench_reference("² 3rd " + "9" * 400) == "² 3rd " + "9" * 400
    found = transcription().available["cmi-bench"]
    assert found.metrics[0] == "wer_mean"


PARTS = st.sampled_from([" lyrics ", "are", ":", " text ", "is", "x", "\n", " content ", " ", "transcription "])


@settings(deadline=None)
@given(st.lists(PARTS, max_size=14).map("".join))
def test_cmi_benchs_prefaces_are_those_of_its_patterns(text):
    expected = text
    for pattern in (
        ".*? lyrics .*?are.*?:",
        ".*? content .*?is.*?:",
        ".*? transcription .*?is.*?:",
        ".*? text .*?is.*?:",
    ):
        expected = re.sub(pattern, "", expected).strip()
    assert published_scorers.cmi_bench_answer(text) == published_scorers.cmi_bench_reference(expected)


def test_au_harness_spells_digits_first_and_counts_an_empty_reference_as_one_word():
    assert counted("au-harness", "I have two dogs", "I have 2 dogs.") == (0, 0, 0, 4)
    assert published_scorers.au_harness_normaliser("fr")("J’ai 2 chiens") == "j ai deux chiens"
    assert published_scorers.au_harness_normaliser("xx")("2 chiens") == "2 chiens"
    assert counted("au-harness", "...", "hello there") == (0, 0, 2, 1)
    assert "jaconv" in transcription(language="ja").available["au-harness"].missing_parts()


def test_kimi_leaves_null_out_beside_a_scorer_that_keeps_it():
    assert scored("kimi", "turn it off", "null") is None
    assert counted("kimi-keep", "turn it off", "null") == (1, 2, 0, 3)
    assert [scorer.name for scorer in transcription("kimi").scorers] == ["kimi", "kimi-keep"]
    assert multilingual.kimi_text("zh")("我用 iPhone 打2个") == "我 用 iphone 打 二 个"


def test_qwen2_audio_counts_characters_in_chinese_and_words_elsewhere():
    found = scored("qwen2-audio", "今天天气很好", "今天 天氣,很好。", "zh")
    assert (found["CS"], found["CD"], found["CI"], found["CN"]) == (1, 0, 0, 6)
    found = scored("qwen2-audio", "繁體中文", "繁体中文", "yue")
    assert found["correct"] == 1.0
    assert multilingual.qwen2_audio_text("en")("<|en|> Twenty-two o'clock !") == "220 clock"
    assert multilingual.qwen2_audio_text("fr")("L’été, c'est 22!") == "l été c est 22"


def test_ultraeval_reads_every_language_as_english_first():
    assert multilingual.ultraeval_text("fr")("L'été, vingt") == "l ete vingt"
    assert multilingual.ultraeval_text("zh")("我有 2 个 iPhone") == "我 有 二 个 iphone"
    assert multilingual.ultraeval_text("yue")("繁體") == "繁 体"
    assert multilingual.ultraeval_text("en")("It's 10%") == "it is 10 %"


def test_nota_drops_words_of_punctuation():
    assert published_scorers.nota_text("It's 10%, OK - yes") == "it is 10 ok yes"


def test_gigaspeech_leaves_fillers_and_tags_out_and_keeps_punctuation_that_was_written():
    assert published_scorers.gigaspeech_text("uh, UM well-known <unk> E-commerce") == "UH, WELL KNOWN E COMMERCE"
    assert (
        published_scorers.gigaspeech_text("<SIL>") == published_scorers.gigaspeech_text("Hm <COMMA> ah <PERIOD>") == ""
    )


def test_lower_nopunct_joins_what_a_hyphen_separates():
    assert counted("lower-nopunct", "a well known fact", "A well-known “fact”.") == (1, 1, 0, 4)
    assert counted("lower-nopunct", "a b", "a\u00a0b") == (1, 1, 0, 2)


def test_raw_counts_case_punctuation_and_the_spaces_between_words_as_jiwer_does():
    found = scored("raw", "A  well-known fact.", " a well-known fact ")
    theirs = jiwer.process_characters("A  well-known fact.", " a well-known fact ")
    assert (found["S"], found["D"], found["I"], found["N"]) == (2, 0, 0, 3)
    assert tuple(found[f"C{name}"] for name in "SDI") == (theirs.substitutions, theirs.deletions, theirs.insertions)
    assert found["CN"] == len("A  well-known fact.")


def test_salmonn_skip_leaves_out_cut_answers_and_tags_and_its_twin_keeps_them():
    assert scored("salmonn-skip", " <MUSIC>", "thank you") is None
    assert scored("salmonn-skip", "<MUSIC> <NOISE>", "thank you")["I"] == 2
    assert scored("salmonn-skip", "one two", "one one one", finish="length") is None
    assert scored("salmonn-skip", "one two", " ", finish="length") is None
    assert scored("salmonn-skip", "one two", "one")["D"] == 1
    assert scored("salmonn-skip", "one two", "")["D"] == 2
    assert counted("salmonn-keep", "<MUSIC>", "thank you") == (0, 0, 2, 0)
    assert scored("salmonn-keep", "one two", "one one one", finish="length")["I"] == 1
    assert [scorer.name for scorer in transcription("salmonn-skip").scorers] == ["salmonn-skip", "salmonn-keep"]


@pytest.mark.parametrize("language", ["en", "zh", "yue", "ja", "hi"])
@settings(deadline=None)  # the first example loads the libraries
@given(text=st.text(alphabet=st.characters(), max_size=25), other=st.text(alphabet=st.characters(), max_size=25))
@example(text="0", other="\ud800")
def test_every_scorer_takes_any_text_and_finds_nothing_wrong_with_the_reference_itself(language, text, other):
    sample = Sample("a", (), "", reference=text)
    for scorer in transcription(language=language).available.values():
        if scorer.missing_parts():
            continue
        for said in (text, other):
            answer = scorer.parse(sample, {"answer": Response.of(said)})
            assert answer.value in (None, said, said.strip())
            found = scorer.score(sample, answer)
            # How many words more an answer has than its reference is the one figure that can be negative.
            assert found is None or all(count >= 0 for name, count in found.items() if name != "delta")
        # CMI-Bench treats answers otherwise, and AU-Harness makes a word of an empty reference.
        is_other = scorer.name == "cmi-bench"
        # By SALMONN's reproduction a bare "<" takes with it what stands before the end token.
        is_other |= scorer.name.startswith("salmonn-") and "<" in text
        itself = scorer.score(sample, Answer("parsed", text))
        assert itself is None or is_other or itself.get("correct", 1.0) == 1.0


@pytest.mark.parametrize(("status", "errors"), [("parsed", 2), ("truncated", 1)])
def test_a_bare_bracket_takes_the_rest_with_it_where_an_end_token_follows(status, errors):
    (scorer,) = transcription("salmonn-keep").scorers
    counts = scorer.score(Sample("a", (), "", reference="two three"), Answer(status, "< two three"))
    assert counts["S"] + counts["D"] + counts["I"] == errors


def test_ultraeval_takes_a_japanese_answer_that_mecab_refuses_as_a_whole():
    assert len(multilingual.ultraeval_text("ja")("①" * 200_000).split()) > 0
    assert multilingual.ultraeval_text("ja")("猫\0犬").split()[-1] == "犬"
    assert "tok:ja-mecab-" in transcription("ultraeval", language="ja").scorers[0].signature
