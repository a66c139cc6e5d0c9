"""The published rules for transcripts that go by one language: each its texts, then its scorer.

AudioBench's (github AudioLLMs/AudioBench, src/dataset_src/text_normalizer/preprocess_text.py), AU-Harness's (github
ServiceNow/AU-Harness, metrics/word_error_rate_metrics.py), CMI-Bench's of sung lyrics (github nicolaus625/CMI-bench,
evaluate.py, compute_wer_cer), GigaSpeech's (github SpeechColab/GigaSpeech, utils/gigaspeech_scoring.py), nota's (github
nota-github/audiolm-evaluator, metrics.py, compute_wer) and two chains of jiwer's plain transforms.
"""

from __future__ import annotations

import functools
import re
import string
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.metrics.tokenizers import library_version, tokenized
from pytest_audiobench.protocols.free_text import read_ended_text
from pytest_audiobench.protocols.protocol import Answer, Scorer
from pytest_audiobench.protocols.transcription import whisper
from pytest_audiobench.protocols.transcription.texts import (
    NUMBER_WORDS,
    cached_text,
    jiwer_words,
    single_spaces,
    without_punctuation,
    without_punctuation_words,
    without_tags,
)
from pytest_audiobench.protocols.transcription.transcript_scorer import Normaliser, errors, needs, transcript_scorer

EMPTY = "empty"
"""What AudioBench writes in place of a text that nothing is left of, reference or answer."""

_SPOKEN = {str(number): word for word, number in NUMBER_WORDS.items()}
_NUMBER = re.compile(rf"\b(?:{'|'.join(_SPOKEN)})\b")
_AUDIOBENCH_FILLERS = re.compile(r"\b(?:uh|umm|um|er|ah)\b")
_HAN = re.compile(r"[\u4e00-\u9fff]+")


@cached_text
def audiobench_english(text: str) -> str:
    """preprocess_text_asr. Its contractions and brackets find nothing, since Whisper's normaliser ran before."""
    spoken = _NUMBER.sub(lambda number: _SPOKEN[number[0]], whisper.english(text.lower()))
    return _AUDIOBENCH_FILLERS.sub("", without_punctuation(single_spaces(spoken))).strip()


@cached_text
def audiobench_chinese(text: str) -> str:
    """preprocess_text_asr_code_switch_chinese: the same, with spaces between Chinese characters that touch."""
    return _HAN.sub(lambda run: " ".join(run[0]), audiobench_english(text))


@cached_text
def audiobench_vietnamese(text: str) -> str:
    """preprocess_vietnamese: lower case, a space for each character that is neither letter, digit nor space."""
    return " ".join("".join(c if c.isalnum() or c.isspace() else " " for c in text.lower()).split())


@cached_text
def audiobench_mixed(text: str) -> str:
    """preprocess_text_asr_code_imda_part4: as for zh, with accents, symbols and the marks of scripts left in place."""
    spoken = _NUMBER.sub(lambda number: _SPOKEN[number[0]], whisper.english_with_marks(text.lower()))
    plain = without_punctuation(without_tags(single_spaces(_BRACED.sub(_unbraced, spoken))))
    plain = _HAN.sub(lambda run: " ".join(run[0]), _AUDIOBENCH_FILLERS.sub("", plain).strip())
    return " ".join(plain.split())


def _unbraced(match: re.Match[str]) -> str:
    last = max(map(match[0].rfind, ")]}>"))
    return match[0][last + 1 :]


_BRACED = re.compile(r"[\[({<][^()\\n\[\]]*[\])]?")
"""A bracket and what may are in it: no backslash and no n, which their pattern means to be a line break."""

_AUDIOBENCH_RULES = {"zh": audiobench_chinese, "vi": audiobench_vietnamese, "mixed": audiobench_mixed}


def audiobench_normaliser(rule: str) -> Normaliser:
    """The rule for zh, vi and "mixed", and for all other languages; nothing left becomes a word."""
    normalise = _AUDIOBENCH_RULES.get(rule, audiobench_english)
    return Normaliser(lambda text: normalise(text) or EMPTY)


def audiobench_scorer(name: str, rule: str) -> Scorer:
    """``audiobench`` of a language, and ``audiobench-mixed``."""
    norm = f"audiobench-{rule if rule in _AUDIOBENCH_RULES else 'en'}"
    if rule != "vi":
        norm += f"+whisper-{library_version('whisper-normalizer')}"
    return transcript_scorer(name, f"v:1|norm:{norm}|empty:word|align:levenshtein", audiobench_normaliser(rule))


_DIGIT_RUN = re.compile(r"\d+")


@functools.cache
def au_harness_normaliser(language: str) -> Callable[[str], str]:
    """NFC, each run of digits in the language's words, Whisper's normaliser, lower case, no punctuation.

    Whisper's English normaliser turns English number words back into digits. Needs num2words.
    """
    finish = whisper.english if language == "en" else whisper.basic

    @cached_text
    def normalise(text: str) -> str:
        spelled = _number_in_words(unicodedata.normalize("NFC", text), language)
        return without_punctuation(finish(spelled).lower()).strip()

    return normalise


def _number_in_words(text: str, language: str) -> str:
    from num2words import num2words

    try:
        return _DIGIT_RUN.sub(lambda number: num2words(int(number[0]), lang=language), text)
    except Exception:
        # AU-Harness's own rule: what num2words cannot say, a language or a number, leaves the text as it is.
        return text


def au_harness_scorer(language: str) -> Scorer:
    """``au-harness``; Japanese, which it normalises by jaconv, is not covered."""
    normalise = Normaliser(au_harness_normaliser(language))

    def score(sample: Sample, answer: Answer) -> Mapping[str, float]:
        counts = errors(normalise, sample.reference, answer.value or "")
        return counts if counts["N"] else {**counts, "N": 1, "CN": max(counts["CN"], 1)}

    def lacking() -> str:
        if language == "ja":
            return "au-harness normalises Japanese by jaconv, which this project does not lean on: use cer-basic"
        return needs("num2words", "au-harness", "asr")()

    scorer = transcript_scorer(
        "au-harness",
        f"v:1|lang:{language}|norm:nfc+num2words-{library_version('num2words')}+whisper-{library_version('whisper-normalizer')}|"
        "empty:one-word|align:levenshtein",
        normalise,
        metrics=("wer", "wer_capped", "wer_mean", "wer_over_one"),
        missing_parts=lacking,
    )
    return replace(scorer, score=score)


_PREFACES = ((" lyrics ", "are"), (" content ", "is"), (" transcription ", "is"), (" text ", "is"))
_PUNCTUATION = str.maketrans("", "", string.punctuation.replace("'", ""))


@cached_text
def cmi_bench_answer(text: str) -> str:
    """``text`` without what introduces it ("… lyrics … are …:"), then as a reference."""
    for named, verb in _PREFACES:
        text = "\n".join(_without_preface(line, named, verb) for line in text.split("\n")).strip()
    for token in ("<s>", "</s>"):
        text = text.replace(token, "").strip()
    return cmi_bench_reference(text)


@cached_text
def cmi_bench_reference(text: str) -> str:
    """Lower case, no ASCII punctuation but apostrophes, words of digits spelled out (99 is ninety-nine, one word).

    Needs num2words.
    """
    words = text.translate(_PUNCTUATION).lower().replace("\n", " ").split()
    return " ".join(_cardinal(word) if word.isdigit() else word for word in words)


def _without_preface(line: str, named: str, verb: str) -> str:
    """What the pattern ``.*? named .*?verb.*?:`` leaves of a line, found without going back: lyrics can be long."""
    while True:
        place = line.find(named)
        place = line.find(verb, place + len(named)) if place >= 0 else -1
        place = line.find(":", place + len(verb)) if place >= 0 else -1
        if place < 0:
            return line
        line = line[place + 1 :]


@functools.lru_cache(maxsize=4096)
def _cardinal(number: str) -> str:
    from num2words import num2words

    # CMI-Bench itself fails on what Python calls a digit and is none (²), and on numbers beyond any name.
    if not re.fullmatch(r"\d{1,300}", number):
        return number
    spelled: str = num2words(int(number))
    return spelled


_FILLERS = ["UH", "UHH", "UM", "EH", "MM", "HM", "AH", "HUH", "HA", "ER", "OOF", "HEE", "ACH", "EEE", "EW"]
_TAGS = "UNK COMMA PERIOD QUESTIONMARK EXCLAMATIONPOINT SIL NOISE MUSIC OTHER"
_NOT_SCORED = frozenset((*_FILLERS, *(f"<{tag}>" for tag in _TAGS.split())))


@cached_text
def gigaspeech_text(text: str) -> str:
    """``text`` in capitals, a space for each hyphen, without fillers and tags."""
    return " ".join(word for word in text.upper().replace("-", " ").split() if word not in _NOT_SCORED)


@cached_text
def nota_text(text: str) -> str:
    """Whisper's English normaliser, sacrebleu's 13a, no words of punctuation only, lower case."""
    return " ".join(without_punctuation_words(tokenized("13a", whisper.english(text))).lower().split())


def lower_nopunct(text: str) -> str:
    """Lower case, no punctuation."""
    return without_punctuation(text.lower())


SALMONN_END = "</s>"
"""What stands behind an answer that came to its end, where that rule takes tags away: from a bare "<" on, too."""


def salmonn_text(text: str) -> str:
    """The same without what is then in ``<…>``; square brackets are gone by then, and their words stay."""
    return without_tags(lower_nopunct(text))


def one_language_scorers(language: str) -> tuple[Scorer, ...]:
    """``audiobench`` (with rules of its own for zh and vi), ``audiobench-mixed``, ``au-harness``, ``cmi-bench`` (the
    mean of utterances' own rates first) and ``gigaspeech``.
    """
    return (
        audiobench_scorer("audiobench", language),
        audiobench_scorer("audiobench-mixed", "mixed"),
        au_harness_scorer(language),
        transcript_scorer(
            "cmi-bench",
            f"v:1|norm:cmi-bench+num2words-{library_version('num2words')}|empty:deletions|agg:mean|align:levenshtein",
            Normaliser(cmi_bench_reference, cmi_bench_answer),
            metrics=("wer_mean", "cer_mean", "wer", "wer_capped", "wer_over_one"),
            missing_parts=needs("num2words", "cmi-bench", "asr"),
        ),
        transcript_scorer(
            "gigaspeech",
            "v:1|norm:upper+nohyphen+nofillers+notags|empty:deletions|align:levenshtein",
            Normaliser(gigaspeech_text),
        ),
    )


def jiwer_scorers() -> tuple[Scorer, ...]:
    """``nota``, ``lower-nopunct``, ``raw``, ``salmonn-skip`` and ``salmonn-keep``."""
    return (
        transcript_scorer(
            "nota",
            f"v:1|norm:whisper-english-{library_version('whisper-normalizer')}+13a+nopunctwords|sacrebleu:{library_version('sacrebleu')}|"
            "empty:deletions|align:levenshtein",
            Normaliser(nota_text),
        ),
        transcript_scorer(
            "lower-nopunct",
            "v:1|norm:lower+nopunct|empty:deletions|align:levenshtein",
            Normaliser(lower_nopunct, tokens=jiwer_words),
        ),
        transcript_scorer(
            "raw",
            "v:1|norm:none|unit:jiwer-default|empty:deletions|align:levenshtein",
            Normaliser(str, tokens=jiwer_words, spelling=str.strip),
            metrics=("wer", "cer", "mer", "wil", "wip", "wer_mean", "wer_capped", "wer_over_one"),
        ),
        _salmonn_scorer("salmonn-skip", skip=True),
        _salmonn_scorer("salmonn-keep", skip=False),
    )


def _salmonn_scorer(name: str, skip: bool) -> Scorer:
    return transcript_scorer(
        name,
        f"v:2|norm:lower+nopunct+notags|skip:{'no-eos+empty-reference' if skip else 'none'}|empty:deletions|"
        "align:levenshtein",
        Normaliser(salmonn_text, tokens=jiwer_words),
        parse=read_ended_text,
        skips=_is_left_out if skip else None,
        companions=("salmonn-keep",) if skip else (),
        end=SALMONN_END,
    )


def _is_left_out(sample: Sample, answer: Answer) -> bool:
    return answer.status == "truncated" or not without_tags(sample.reference.strip())
