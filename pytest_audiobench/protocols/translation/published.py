"""Speech translation as papers and toolkits score it, each under its own name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.kinds.translations import bleu_statistics, sentence_bleu
from pytest_audiobench.metrics.tokenizers import bleu_signature, lacking, library_version, tokenized
from pytest_audiobench.protocols.free_text import answer_of, read_text
from pytest_audiobench.protocols.protocol import About, Answer, Earlier, Example, Scorer
from pytest_audiobench.protocols.spoken_questions.completeness import ended
from pytest_audiobench.protocols.transcription import au_harness, whisper
from pytest_audiobench.protocols.transcription.chinese import text_norm
from pytest_audiobench.protocols.transcription.multilingual import spoken_text
from pytest_audiobench.protocols.transcription.punctuation import without_punctuation_words
from pytest_audiobench.protocols.transcription.transcript_scorer import needs
from pytest_audiobench.protocols.transcription.word_memory import remembered
from pytest_audiobench.protocols.translation.texts import lacks_kana, says_nothing, whisper_name

_CHINESE = Example("明天9点开会。", "明天九点开会。")
_ENGLISH = Example("Meetings don't start at 9!", "meetings do not start at nine")
_JAPANESE = Example("会議は九時です。", "会議は九時に始まります。")
_QWEN2_AUDIO = "github QwenLM/Qwen2-Audio, eval_audio/evaluate_st.py"


def published_scorers(code: str | None) -> Iterator[Scorer]:
    """The scorers of other projects for a target language, None when it is not known."""
    yield _audiobench()
    yield _ultraeval(code)
    yield _au_harness(code)
    yield _qwen2_audio("qwen2-audio", _QWEN2_AUDIO, code)
    kit = "github MoonshotAI/Kimi-Audio-Evalkit, which scores speech as Qwen2-Audio does and ships no translation set"
    yield _qwen2_audio("kimi", f"{kit}: {_QWEN2_AUDIO}", code)
    yield _lmms_eval(code)
    yield _salmonn_repro(code, skips=True)
    yield _salmonn_repro(code, skips=False)


def _audiobench() -> Scorer:
    tokenizer = "flores101"

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        return bleu_statistics(answer.value or "empty", [sample.reference or "empty"], tokenizer)

    return Scorer(
        "audiobench",
        f"st:audiobench|v:1|norm:raw|empty:word|{bleu_signature(tokenizer, '1')}",
        _read_as_is,
        score,
        ("bleu",),
        About(
            "Corpus BLEU of raw texts against one reference by sacrebleu's flores101 tokenizer, for every language "
            "pair. An answer or a reference without any character becomes the word empty.",
            "github AudioLLMs/AudioBench, src/dataset_src/covost2_*_test.py",
            (_CHINESE, Example("", "empty")),
            "Earlier commits used 13a, then zh, for the same tables: 13a takes a Chinese sentence for one word. An "
            "empty answer matches an empty reference. Our default cuts each language by its own tokenizer.",
        ),
        lacking=partial(lacking, tokenizer),
    )


def _ultraeval(code: str | None) -> Scorer:
    tokenizer = "zh" if code == "zh" else "13a"

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        found = bleu_statistics(answer.value or "", [sample.reference], tokenizer)
        return {**found, "sentence_bleu": sentence_bleu(found, effective_order=False)}

    return Scorer(
        "ultraeval",
        f"st:ultraeval|v:1|norm:raw|mean:samples|{bleu_signature(tokenizer, '1')}",
        read_text,
        score,
        ("bleu_mean", "bleu"),
        About(
            "The mean over answers of sacrebleu's corpus_bleu of that one answer and one reference, raw, tokenizer "
            "13a; zh for Chinese. The corpus BLEU, which the project's aggregation computes, is shown behind it.",
            "github OpenBMB/UltraEval-Audio, audio_evals/evaluator/bleu.py, agg/base.py, "
            "registry/evaluator/common.yaml",
            (_ENGLISH, Example("Good morning.", "Good morning.")),
            "A mean of sentence scores is not corpus BLEU, and without effective order an answer below four tokens "
            "is 0, a perfect one too. Its bleu-jp hands over the language jp, which the code does not know (it "
            "expects ja), so Japanese is cut by 13a. Our default is corpus BLEU, Japanese by ja-mecab.",
        ),
    )


def _au_harness(code: str | None) -> Scorer:
    tokenizer = "zh" if code == "zh" else "13a"
    spelled = f"num2words-{library_version('num2words')}[{code or 'en'}]"
    norm = f"nfc+{spelled}+{whisper_name(code or 'en')}+lower+nopunct"

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        texts = (answer.value or "", sample.reference)
        hypothesis, reference = map(au_harness.normaliser(code or "en"), texts)
        return bleu_statistics(hypothesis, [reference], tokenizer)

    return Scorer(
        "au-harness",
        f"st:au-harness|v:1|norm:{norm}|{bleu_signature(tokenizer, '1')}",
        read_text,
        score,
        ("bleu",),
        About(
            "Both sides NFC, digits spelled out by num2words in the target language, Whisper's normaliser (English "
            "for English or an unknown target, else basic), lower case, all punctuation deleted; then corpus BLEU "
            "against one reference, 13a, zh for Chinese.",
            "github ServiceNow/AU-Harness, metrics/bleu_metrics.py and metrics/word_error_rate_metrics.py",
            (_ENGLISH, _CHINESE),
            "BLEU is meant for text as it is written: without case and marks the number is another, mostly higher one. "
            "Whisper's basic normaliser deletes the vowel signs of Hindi, Tamil or Thai. Digits stay as they are where "
            "num2words does not know the language.",
        ),
        lacking=needs("num2words", "au-harness", "asr"),
    )


def _qwen2_audio(name: str, source: str, code: str | None) -> Scorer:
    tokenizer = {"ja": "ja-mecab", "zh": "zh"}.get(code or "", "13a")

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        return bleu_statistics(answer.value or "", [sample.reference], tokenizer)

    return Scorer(
        name,
        f"st:{name}|v:1|norm:raw|{bleu_signature(tokenizer, '1')}",
        read_text,
        score,
        ("bleu",),
        About(
            "Corpus BLEU of raw texts against one reference: ja-mecab for Japanese, zh for Chinese, else 13a.",
            source,
            ({"ja": _JAPANESE, "zh": _CHINESE}.get(code or "", _ENGLISH),),
            "For one reference the same as our default. Korean and Thai would be cut by 13a, where our default takes "
            "ko-mecab and char.",
        ),
        lacking=partial(lacking, tokenizer),
    )


def _lmms_eval(code: str | None) -> Scorer:
    tokenizer, rewrite = ("zh", lmms_eval_chinese) if code == "zh" else ("13a", lmms_eval_english)

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        return bleu_statistics(rewrite(answer.value or ""), [rewrite(sample.reference)], tokenizer)

    norm = "textnorm+zh-tokens+lower+nopunct" if code == "zh" else f"{whisper_name('en')}+lower+nopunct"
    return Scorer(
        "lmms-eval",
        f"st:lmms-eval|v:1|norm:{norm}|{bleu_signature(tokenizer, '1')}",
        read_text,
        score,
        ("bleu",),
        About(
            "Special tokens <|…|> become a space, runs of spaces one, a space before ! , . ? ; : goes. Then "
            "Whisper's English normaliser, and every token of only punctuation is dropped, in lower case; corpus "
            "BLEU by 13a. For Chinese TextNorm (numbers in Chinese words, punctuation to spaces) in place of "
            "Whisper's, then sacrebleu's zh, tokens of only punctuation dropped, in lower case; corpus BLEU by zh. "
            "One reference.",
            "github EvolvingLMMs-Lab/lmms-eval, lmms_eval/tasks/covost2/utils.py",
            (_CHINESE if code == "zh" else _ENGLISH,),
            "BLEU without case and punctuation, by an English normaliser whatever the target language: it takes the "
            "combining marks of other scripts. Our default takes texts as they are.",
        ),
    )


@remembered
def lmms_eval_english(text: str) -> str:
    """``text`` as lmms-eval normalises it for every target language but Chinese."""
    return without_punctuation_words(whisper.english(spoken_text(text))).lower()


@remembered
def lmms_eval_chinese(text: str) -> str:
    """``text`` as lmms-eval normalises it for Chinese: its numbers in Chinese words, its characters apart."""
    spaced = text_norm(spoken_text(text))
    return without_punctuation_words(tokenized("zh", spaced)).lower()


def _salmonn_repro(code: str | None, skips: bool) -> Scorer:
    tokenizer = "char" if code in ("zh", "ja") else "13a"
    skip = f"unended+empty+null+nokana[{code or 'by-reference'}]" if skips else "none"
    name = "salmonn-repro" if skips else "salmonn-repro-keep"

    def score(sample: Sample, answer: Answer) -> Mapping[str, float] | None:
        text = answer.value or ""
        unended = answer.status == "truncated"
        if skips and (unended or says_nothing(text) or lacks_kana(text, sample.truths, code)):
            return None
        return bleu_statistics(text, sample.truths, tokenizer)

    return Scorer(
        name,
        f"st:{name}|v:1|norm:raw|skip:{skip}|{bleu_signature(tokenizer)}",
        ended,
        score,
        ("bleu",),
        About(
            "Corpus BLEU by characters for Chinese and Japanese, else by 13a, of the texts as they are but for a "
            "written end token </s>. "
            + (
                "Answers that the limit of tokens cut, empty ones, the word null or None and, where Japanese is "
                "wanted, those without kana are left out."
                if skips
                else "All answers count."
            ),
            "a laboratory's reproduction of SALMONN (Tang et al. 2024), table 3, after the paper's reference to "
            "character BLEU",
            (
                Example("明日は会議です。</s>", "明日は会議があります。"),
                Example("Tomorrow is a meeting.", "明日は会議があります。"),
                Example("明日は会議、会議", "明日は会議があります。", finish="length"),
            ),
            "58 of 15,531 En-Zh answers were left out (35.36; 35.20 with all) and 8,929 of 15,531 En-Ja answers "
            "(24.51; 11.86 with all; by ja-mecab 6.66): those in the wrong language did not count. Which 58 is not "
            "printed; they are taken for those that did not end. A recording that says neither how an answer ended "
            "nor </s> keeps all that hold text.",
        ),
        beside=("salmonn-repro-keep",) if skips else (),
    )


def _read_as_is(sample: Sample, earlier: Earlier) -> Answer:
    """As any text, but one of spaces only keeps its spaces: the rule replaces what has no character at all."""
    answer = read_text(sample, earlier)
    return answer if answer.value else Answer(answer.status, answer_of(earlier).text or None)
