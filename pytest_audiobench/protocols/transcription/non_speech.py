"""Words where nobody speaks, counted clip by clip: ours, and the rule of the audiobench tool (github THENIROCK)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.protocols.free_text import answer_of
from pytest_audiobench.protocols.protocol import About, Answer, Earlier, Example, Scorer
from pytest_audiobench.protocols.transcription.basic import basic_text
from pytest_audiobench.protocols.transcription.jiwer_chains import lower_nopunct
from pytest_audiobench.protocols.transcription.punctuation import jiwer_words
from pytest_audiobench.protocols.transcription.silence import what_is_said

SOURCE = "github THENIROCK/audiobench, src/audiobench/metrics.py (compute_asr_signal_metrics)"


def scorers(characters: bool) -> tuple[Scorer, ...]:
    """``non-speech`` and ``non-speech-thenirock``; ``characters`` where the language writes no spaces."""
    return _ours(list if characters else str.split, "character" if characters else "word"), _published()


def _ours(tokens: Callable[[str], Sequence[str]], unit: str) -> Scorer:
    return Scorer(
        "non-speech",
        f"asr:non-speech|v:1|norm:nfkc+lower+nopunct+marks|unit:{unit}|markers:none|statements:declined",
        _parsed,
        partial(_scored, tokens),
        ("hallucination_rate", "inserted_tokens", "silent_rate", "declined_rate"),
        about=About(
            "Of a clip in which nobody speaks: an answer is silent where it holds no word once markers are taken away "
            "(special tokens such as `<|nospeech|>`, whatever stands in `[…]` or `<…>`, notes and other signs, "
            "brackets, notes or asterisks around words for sounds, and a bare “Silence.”, “Nothing.”, “None.”, "
            "“Blank.” or the like); declined where it is a plain statement that nobody speaks or of what sound the "
            "recording is instead (English: each of its words is one that such statements are made of, one sentence "
            "denies speech or hearing, calls the audio silent or says what sound it contains, and nothing is quoted); "
            "and a hallucinated transcript where it holds any other word. Words are wer-basic's; those of silent and "
            "declined answers count as no insertions. What is ambiguous: sounds named without brackets and without "
            "the audio (“Music.”, “A low hum.”), descriptions in other words (“The audio features a harp.”) and "
            "statements in other languages count as words, “There are no words.” as a statement, and `[Thank you]` as "
            "a marker (a list of quoted texts does not). What phantom phrases a model has (“Thank you for watching”) "
            "is found, not assumed: no phrase is treated in a way of its own.",
            "ours",
            (
                Example("Thank you for watching!"),
                Example("[music]"),
                Example("<|nospeech|>"),
                Example("♪ (soft music) ♪"),
                Example("There is no speech in this audio."),
                Example("I'm sorry, I can't hear anything."),
                Example("The audio contains a low hum."),
                Example("A low hum."),
                Example("I have no words."),
                Example('There is no speech. He says "hello".'),
            ),
        ),
        unfit=_speaks,
    )


def _published() -> Scorer:
    return Scorer(
        "non-speech-thenirock",
        "asr:non-speech-thenirock|v:1|norm:lower+nopunct|unit:word|markers:words|statements:words",
        _as_it_is,
        _scored_as_published,
        ("hallucination_rate", "inserted_tokens", "silent_rate"),
        about=About(
            "Lower case, punctuation (Unicode's categories P) deleted, words are what lies between spaces. An answer "
            "with any word is a hallucination; without, it is what that tool calls empty (its "
            "non_speech_empty_rate is silent_rate here, its non_speech_mean_inserted_tokens inserted_tokens).",
            SOURCE,
            (
                Example("Thank you for watching!"),
                Example("[music]"),
                Example("♪"),
                Example("<|nospeech|>"),
                Example("There is no speech in this audio."),
                Example("..."),
            ),
            "A model that marks music, or says that nobody speaks, is counted as one that made a transcript up: "
            "[music] is the word music, the signs ♪, < and | are no punctuation there and make words, and a "
            "statement of seven words is seven insertions. A clip whose asking failed has an empty transcript "
            "there, which counts as right; here it is left out and counted. Its weighted rate is the plain one, "
            "since the weights are the domains' own counts. non-speech takes markers for nothing and counts "
            "statements apart.",
        ),
        unfit=_speaks,
    )


def _speaks(sample: Sample) -> str:
    if not basic_text(sample.reference):
        return ""
    return f"somebody speaks in {sample.id!r}, whose reference has words: use insertions, or wer-basic"


def _parsed(sample: Sample, earlier: Earlier) -> Answer:
    """An answer without words is a right one here, and no empty one; one that declines says so."""
    response = answer_of(earlier)
    heard = what_is_said(response.text)
    if heard.said == "declined":
        return Answer("refused", response.text)
    return Answer("truncated" if heard.words and response.finish == "length" else "parsed", response.text)


def _scored(tokens: Callable[[str], Sequence[str]], sample: Sample, answer: Answer) -> Mapping[str, float]:
    heard = what_is_said(answer.value or "")
    return {
        "hallucinated": float(heard.said == "words"),
        "inserted": float(len(tokens(heard.words))),
        "silent": float(heard.said == "nothing"),
        "declined": float(heard.said == "declined"),
    }


def _as_it_is(sample: Sample, earlier: Earlier) -> Answer:
    return Answer("parsed", answer_of(earlier).text)


def _scored_as_published(sample: Sample, answer: Answer) -> Mapping[str, float]:
    words = len(jiwer_words(lower_nopunct(answer.value or "")))
    return {"hallucinated": float(words > 0), "inserted": float(words), "silent": float(words == 0)}
