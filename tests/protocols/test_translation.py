"""How speech translation is asked for, read and scored, by our defaults and by the published rules."""

import math
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics import tokenizers
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.free_text import read_text
from pytest_audiobench.protocols.protocol import Answer
from pytest_audiobench.protocols.translation.bleu import lower_nopunct
from pytest_audiobench.protocols.translation.published_scorers import lmms_eval_chinese, lmms_eval_english
from pytest_audiobench.protocols.translation.task import SALMONN, translation

CLIP = Clip(ArraySource.of([0.0, 0.1], 16_000))


def sample(*truths, question=""):
    return Sample("a", (CLIP,), question, reference=truths[0], references=truths if len(truths) > 1 else ())


def scored(scorer, pairs, finish="stop"):
    """The scorer's statistics of (answer, reference) pairs, None where it leaves one out."""
    found = []
    for text, true in pairs:
        one = sample(*(true if isinstance(true, tuple) else (true,)))
        found.append(scorer.score(one, scorer.parse(one, {"answer": Response.of(text, finish)})))
    return found


def values(scorer, pairs, **options):
    kept = [row for row in scored(scorer, pairs, **options) if row is not None]
    return [metric_kind(name).estimate(kept, None).value for name in scorer.metrics]


@cache
def available(target):
    return translation(target=target).available


def named(name, target=None):
    return available(target)[name]


def corpus(pairs, tokenizer="13a"):
    return BLEU(tokenize=tokenizer, force=True).corpus_score([p[0] for p in pairs], [[p[1] for p in pairs]]).score


def test_the_language_is_asked_for_by_name():
    (stage,) = translation(target="zh-CN").stages
    assert stage.render(sample("x"), {})[0].parts[1] == (
        "Translate the speech into Chinese. Answer with the translation only."
    )
    (stage,) = translation(target="de", prompt="salmonn").stages
    assert stage.render(sample("x"), {})[0].parts[1] == SALMONN.replace("{language}", "German")
    (stage,) = translation().stages
    assert stage.render(sample("x", question="Auf Deutsch, bitte."), {})[0].parts[1] == "Auf Deutsch, bitte."


def test_without_a_language_a_question_is_needed():
    (stage,) = translation().stages
    with pytest.raises(UsageError, match=r"sample 'a' has no question .*target='de'"):
        stage.render(sample("x"), {})


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("jp", "'ja' (Japanese)"), ("cn", "'zh' (Chinese)"), ("german", "'de' (German)"), ("kr", "'ko'")],
)
def test_a_country_is_no_language(wrong, right):
    with pytest.raises(UsageError) as raised:
        translation(target=wrong)
    assert f"did you mean {right}" in str(raised.value)


@pytest.mark.parametrize(
    ("target", "headline"),
    [(None, "bleu-13a"), ("de", "bleu-13a"), ("zh_TW", "bleu-zh"), ("ja", "bleu-ja-mecab"), ("th", "bleu-char")],
)
def test_each_language_has_its_tokenizer(target, headline):
    assert [scorer.name for scorer in translation(target=target).scorers] == [headline, "chrf"]


def test_japanese_is_refused_without_mecab_and_never_cut_otherwise(monkeypatch):
    found = tokenizers.importlib.util.find_spec
    monkeypatch.setattr(tokenizers.importlib.util, "find_spec", lambda name: None if name == "MeCab" else found(name))
    with pytest.raises(UsageError, match=r"bleu-ja-mecab cannot be used here: .*pytest-audiobench\[ja\]"):
        translation(target="ja")
    assert translation("bleu-char", target="ja").scorers[0].name == "bleu-char"


def test_every_scorer_has_its_own_name_and_signature():
    for target in (None, "de", "ja", "zh", "en"):
        for name, scorer in available(target).items():
            assert scorer.name == name
            assert set(scorer.companions) <= set(available(target))
            assert "version:" in scorer.signature
        signatures = [scorer.signature for scorer in available(target).values()]
        assert len(set(signatures)) == len(signatures)


def test_a_tokenizer_decides_the_number():
    pairs = [("今天天气很好我们出去玩吧", "今天天气很好，我们去公园玩吧")]
    found = {name: values(named(f"bleu-{name}"), pairs)[0] for name in ("13a", "char", "ja-mecab")}
    assert found["13a"] == 0.0
    assert found["char"] > 40.0
    assert found == {name: pytest.approx(corpus(pairs, name)) for name in found}


def test_normalising_forgives_case_and_marks():
    pairs = [("The Meeting starts, at nine", "the meeting starts at nine.")]
    assert values(named("bleu-13a"), pairs)[0] < 40.0
    assert values(named("bleu-13a-nopunct"), pairs)[0] == pytest.approx(100.0)
    said = [("it's 20 dollars", "It is twenty dollars.")]
    assert values(named("bleu-13a-whisper", "en"), said)[0] == pytest.approx(100.0)
    assert values(named("bleu-13a-whisper", "de"), said)[0] < 50.0


@pytest.mark.parametrize(
    ("text", "normalised"),
    [
        ("Don’t — stop!", "don't stop"),
        ("'Quoted' snake_case 3.5 €", "quoted snake case 3 5"),
        ("今天，很好。", "今天 很好"),
        ("…", ""),
    ],
)
def test_lower_case_without_punctuation(text, normalised):
    assert lower_nopunct(text) == normalised


def test_the_skip_rule_leaves_out_what_holds_no_kana_and_shows_the_keeping_one_beside():
    pairs = [
        ("会議は九時に始まります", "会議は九時に始まります"),
        ("The meeting starts at nine", "会議は九時に始まります"),
        ("null", "会議は九時に始まります"),
        (" ", "会議は九時に始まります"),
    ]
    protocol = translation("bleu-char-skip", target="ja")
    assert [scorer.name for scorer in protocol.scorers] == ["bleu-char-skip", "bleu-char"]
    skipping, keeping = protocol.scorers
    assert [row is None for row in scored(skipping, pairs)] == [False, True, True, True]
    assert values(skipping, pairs)[0] == pytest.approx(100.0)
    assert values(keeping, pairs)[0] == pytest.approx(corpus(pairs, "char"))
    assert values(keeping, pairs)[0] < 40.0


def test_without_a_target_japanese_is_known_by_the_references_kana():
    unknown = named("bleu-char-skip")
    assert scored(unknown, [("The meeting", "会議です"), ("会議だ", "会議です")])[0] is None
    assert scored(unknown, [("The meeting", "Das Treffen")])[0] is not None
    assert scored(named("bleu-char-skip", "zh"), [("The meeting", "开会")])[0] is not None


def test_a_cut_answer_counts_and_a_declined_one_too():
    one = sample("one two three four")
    assert read_text(one, {"answer": Response.of("one two", "length")}) == Answer("truncated", "one two")
    assert read_text(one, {"answer": Response.of("I cannot", "refusal")}) == Answer("refused", "I cannot")
    assert read_text(one, {"answer": Response.of(" \n")}) == Answer("empty")
    assert read_text(one, {}) == Answer("empty")
    assert named("bleu-13a").score(one, Answer("truncated", "one two"))["match1"] == 2
    assert named("bleu-13a").score(one, Answer("empty"))["ref_len"] == 4


def test_all_references_count():
    pair = [("the mat was sat on by the cat", ("the cat sat on the mat", "the mat was sat on by the cat"))]
    assert values(named("bleu-13a"), pair)[0] == pytest.approx(100.0)
    assert values(named("qwen2-audio"), pair)[0] < 100.0


PAIRS = [
    ("The cat sat on the mat today.", "The cat sat on the mat."),
    ("Good morning.", "Good morning."),
    ("A dog is barking at the cat.", "A dog barks at the cat on the mat."),
]


def test_ultraeval_averages_sentences():
    mean, whole = values(named("ultraeval", "en"), PAIRS)
    each = [BLEU(force=True).corpus_score([said], [[true]]).score for said, true in PAIRS]
    assert each[1] == 0.0
    assert mean == pytest.approx(sum(each) / 3)
    assert whole == pytest.approx(corpus(PAIRS))
    assert mean != pytest.approx(whole, abs=1.0)


def test_ultraeval_cuts_japanese_by_13a_as_its_misspelt_language_makes_it():
    assert "tok:13a" in named("ultraeval", "ja").signature
    assert "tok:zh" in named("ultraeval", "zh").signature


@pytest.mark.parametrize(("target", "tokenizer"), [("ja", "ja-mecab"), ("zh", "zh"), ("de", "13a"), ("th", "13a")])
def test_qwen2_audio_and_kimi_take_raw_text(target, tokenizer):
    pairs = [("会議は、9時です。", "会議は九時に始まります。"), *PAIRS]
    for name in ("qwen2-audio", "kimi"):
        assert values(named(name, target), pairs)[0] == pytest.approx(corpus(pairs, tokenizer))


def test_au_harness_normalises_first():
    said = [("We don't meet at Nine!", "we do not meet at 9")]
    assert values(named("au-harness", "en"), said)[0] == pytest.approx(100.0)
    assert values(named("au-harness", "de"), [("Um 9 Uhr, bitte: kommt", "um neun uhr bitte kommt")])[0] == (
        pytest.approx(100.0)
    )


def test_lmms_eval_normalises_first():
    assert lmms_eval_english("<|en|> Hello , World ! It's 9 .") == "hello world it is 9"
    assert lmms_eval_chinese("<|zh|>今天，很好。OK!") == "今 天 很 好 ok"
    assert lmms_eval_chinese("9点") == "九 点"
    assert values(named("lmms-eval", "zh"), [("今天很好", "今天，很好。")])[0] == pytest.approx(100.0)


def test_audiobench_writes_the_word_empty(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "pytest_audiobench.protocols.translation.published_scorers.bleu_statistics",
        lambda said, true, tokenizer: asked.append((said, true, tokenizer)) or {},
    )
    scored(named("audiobench"), [("", ""), ("  ", "x"), ("Hi", "y")])
    assert asked == [("empty", ["empty"], "flores101"), ("  ", ["x"], "flores101"), ("Hi", ["y"], "flores101")]


def test_the_salmonn_reproduction_leaves_out_what_did_not_end():
    scorer = named("salmonn-repro", "zh")
    assert scored(scorer, [("今天很好", "今天很好")], finish="length") == [None]
    assert scored(scorer, [("今天很好", "今天很好")])[0] is not None
    assert scored(named("salmonn-repro", "ja"), [("今天很好", "今日は")]) == [None]
    assert scored(scorer, [("今天很好</s>", "今天很好")], finish="length")[0]["match4"] == 1
    assert scorer.companions == ("salmonn-repro-keep",)
    assert scored(named("salmonn-repro-keep", "ja"), [("今天很好", "今日は")], finish="length")[0] is not None
    assert "tok:char" in scorer.signature
    assert "tok:13a" in named("salmonn-repro", "de").signature


HERE = [name for name, scorer in available("en").items() if not scorer.missing_parts()]


@pytest.mark.parametrize("name", HERE)
@given(
    text=st.text(max_size=25) | st.sampled_from(["\ud800", "\0", "a\0b", "1" * 400, "<|x|>", "٣٤"]),
    true=st.text(max_size=25),
)
@settings(max_examples=15, deadline=None)
def test_no_text_crashes_a_scorer(name, text, true):
    for target in ("en", "zh", None):
        for row in scored(named(name, target), [(text, true)]):
            assert row is None or all(math.isfinite(value) for value in row.values())


@pytest.mark.parametrize("text", ["<a" * 60_000, " " * 100_000 + "x", "a" * 200_000, "今天" * 50_000, "n't" * 40_000])
def test_a_runaway_answer_is_scored(text):
    for target, name in (
        ("ja", "bleu-ja-mecab"),
        ("en", "bleu-13a-whisper"),
        ("zh", "lmms-eval"),
        ("en", "au-harness"),
    ):
        assert scored(named(name, target), [(text, "a dog barks")])[0]["ref_len"] > 0


def test_an_unknown_scorer_is_a_usage_error():
    with pytest.raises(UsageError, match="bleu-13a"):
        translation("bleu")


def test_no_code_at_all_is_taken_for_no_language():
    with pytest.raises(UsageError, match="no language is known by the code ''; known are"):
        translation(target="")
