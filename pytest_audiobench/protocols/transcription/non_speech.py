"""Words in clips without speech, counted clip by clip: ours, and the rule of the audiobench tool (github THENIROCK)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple, TypeAlias

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.protocols.free_text import answer_of, family_protocol
from pytest_audiobench.protocols.protocol import Answer, Earlier, Protocol, Scorer, with_recorded_options
from pytest_audiobench.protocols.transcription import texts
from pytest_audiobench.protocols.transcription.published_scorers import lower_nopunct
from pytest_audiobench.protocols.transcription.task import INSTRUCTION, WITHOUT_SPACES, transcription

ContentKind: TypeAlias = Literal["nothing", "declined", "words"]

_LOOKED_AT = 1_000
"""Characters of a statement; what is longer states nothing plainly."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BRACKETED = re.compile(
    r"\(([^()]{0,200})\)|（([^（）]{0,200})）|\*([^*\n]{1,200})\*|【([^【】]{0,200})】|\{([^{}]{0,200})\}|「([^「」]{0,200})」"
    r"|[♪♫🎵]+([^♪♫🎵]{1,200})[♪♫🎵]+"
)

_SOUNDS = _words(
    "ambience ambient applause background barking beep beeping beeps bell bells bird birds breathing buzz buzzing "
    "chatter chattering chime chirping clapping clicking clicks clock cough coughing coughs crowd crying ding dog "
    "door drone engine environmental fan footsteps gasps hiss hissing hum humming instrumental instruments keyboard "
    "laughing laughs laughter machine melody motor music musical nature noise noises noisy rain rumble ringing "
    "rumbling sigh sighing sighs siren sirens sneezing sound sounds static thunder tone tones traffic water ticking "
    "waves whirring whistling white pink wind"
)
_SILENT = _words("blank empty inaudible indistinct muffled nospeech pause quiet silence silent unclear unintelligible")
_MARKED = (
    _SOUNDS
    | _SILENT
    | _words(
        "audience dialogue speech speaking speaks voices 音乐 音樂 音楽 静音 无声 無音 拍手 笑 笑い музыка тишина "
        "аплодисменты смех "
        "musik stille musique música musica silencio silêncio rires risas applaus aplausos applaudissements"
    )
)
_MARKER = _MARKED | _words(
    "a an and audio blowing car cheering continues detected distant dramatic eerie electronic "
    "ends fades foreign gentle howling in intro language loud low no none of outro phone piano "
    "playing plays revving running soft suspenseful the theme tv upbeat"
)
"""A bracketed text of these words alone, one of them of ``_MARKED``, describes a sound, or says that there is none."""

_BARE = frozenset(
    (
        *("silence", "no speech", "nospeech", "no audio", "blank audio", "blank", "none", "n a", "inaudible", "empty"),
        *("unintelligible", "no transcription", "no transcript", "nothing", "transcription", "transcript", "null"),
    )
)
"""Whole answers without brackets that say no more than a marker does."""

_SPEECH = _words(
    "dialog dialogue language lyrics spoken speaker speakers speaking speech talking transcribe transcribed "
    "transcribable transcript transcription utterance utterances verbal vocals voice voices words"
)
_TALKING = _words("speaking speaks spoke talking talks")
_HEARING = _words("catch detect detected discern hear heard recognize transcribe transcribing understand")
_PERSONS = _words("i i'm i'd i'll me us we you your")
_NONE = _words(
    "no not none nothing nobody without unable cannot can't couldn't don't didn't doesn't isn't aren't wasn't lacks"
)
_AUDIO = _words("audio clip file input recording sample segment track")
_HOLDS = _words("contains consists features has is it's includes sounds was")
_FILLING = _words(
    "a actual all am an and another any anyone anything apologize appear appears apparent ai are as at audible based "
    "be because been but by can catch clear clearly completely confirm consists constant contain containing contains "
    "content continuous could description detect detectable detected did discern discernible do does entire entirely "
    "faint feature features file find for found from given good happy has have having hear heard help high human i "
    "i'm i'd i'll if in include includes intelligible is it it's just know let like low made me more of on one only "
    "or other model present please process provide provided recognizable recognize seem seems share so soft some "
    "someone steady sorry that the there there's therefore this throughout to too transcribing try understandable "
    "unfortunately upload was we were what which will with you your"
)
_KNOWN = _SOUNDS | _SILENT | _SPEECH | _TALKING | _NONE | _AUDIO | _HOLDS | _HEARING | _FILLING
"""All words of plain statements: one that is not among them (a name, a verb of a story) makes a transcript."""

_SENTENCES = re.compile(r"[.!?]+(?:\s+|$)|\n+")
_LISTED = re.compile(r"\[(?=\s*[\"'“][^\]\s[♪(<.])")
"""The bracket of a list of quoted texts, which is not a marker."""
_QUOTED = re.compile(r"[\"“”«»]")


class Content(NamedTuple):
    """``kind`` and, where it is words, how they are written without case, punctuation and markers."""

    kind: ContentKind
    words: str


def content_of(text: str) -> Content:
    """What ``text`` holds: nothing (or markers for it), a plain statement that there is no speech, or words.

    Markers are special tokens (``<|nospeech|>``), what is in ``[…]`` or ``<…>``, notes and other signs, and
    brackets, notes or asterisks around words for sounds ("(soft music)", "*silence*"). A statement has, in one of its
    sentences at least, a negation and a word for speech or hearing, or says that the audio is silent or what sound it
    is, and holds no word but those that such statements are made of, in English; quotation marks make it a transcript.
    """
    shown = _BRACKETED.sub(_without_marker, texts.without_tags(_LISTED.sub(" ", texts.without_special_tokens(text))))
    if not (words := texts.basic_text(shown)) or words in _BARE:
        return Content("nothing", "")
    return Content("declined", "") if _declines(shown) else Content("words", words)


def _without_marker(match: re.Match[str]) -> str:
    words = set(texts.basic_text(next(filter(None, match.groups()), "")).split())
    return " " if not words or (words <= _MARKER and words & _MARKED) else match[0]


def _declines(text: str) -> bool:
    if len(text) > _LOOKED_AT or _QUOTED.search(text):
        return False
    sentences = [texts.basic_text(sentence).split() for sentence in _SENTENCES.split(text)]
    return all(map(_KNOWN.issuperset, sentences)) and any(map(_states, sentences))


def _states(sentence: list[str]) -> bool:
    words = set(sentence)
    nobody = "nobody" in words or "no one" in " ".join(sentence)
    # A text about persons ("I have no words") states nothing of a recording unless of hearing.
    if words & _PERSONS and not words & _HEARING | words & _AUDIO:
        return False
    if nobody:
        return bool(words & _TALKING)
    if words & _NONE and (words & _SPEECH or (words & _HEARING and words & {"anything", "nothing", "audio"})):
        return True
    if words & _SILENT and (words & _AUDIO or words & {"speaker", "transcript", "transcription"} or "there" in words):
        return True
    return bool(words & _AUDIO and words & _HOLDS and words & _SOUNDS - _AUDIO)


def non_speech_scorers(characters: bool) -> tuple[Scorer, ...]:
    """``non-speech`` and ``non-speech-thenirock``; ``characters`` where the language writes no spaces."""
    unit = "character" if characters else "word"
    ours = Scorer(
        "non-speech",
        f"asr:non-speech|v:1|norm:nfkc+lower+nopunct+marks|unit:{unit}|markers:none|statements:declined",
        _parse,
        partial(_statistics, list if characters else str.split),
        ("hallucination_rate", "inserted_tokens", "silent_rate", "declined_rate"),
        sample_problem=_speaks,
    )
    published = Scorer(
        "non-speech-thenirock",
        "asr:non-speech-thenirock|v:1|norm:lower+nopunct|unit:word|markers:words|statements:words",
        lambda sample, earlier: Answer("parsed", answer_of(earlier).text),
        _published_statistics,
        ("hallucination_rate", "inserted_tokens", "silent_rate"),
        sample_problem=_speaks,
    )
    return ours, published


def _speaks(sample: Sample) -> str:
    if not texts.basic_text(sample.reference):
        return ""
    return f"somebody speaks in {sample.id!r}, whose reference has words: use insertions, or wer-basic"


def _parse(sample: Sample, earlier: Earlier) -> Answer:
    """An answer without words is a right one here, and no empty one; one that declines says so."""
    response = answer_of(earlier)
    content = content_of(response.text)
    if content.kind == "declined":
        return Answer("refused", response.text)
    return Answer("truncated" if content.words and response.finish == "length" else "parsed", response.text)


def _statistics(tokens: Callable[[str], Sequence[str]], sample: Sample, answer: Answer) -> Mapping[str, float]:
    content = content_of(answer.value or "")
    return {
        "hallucinated": float(content.kind == "words"),
        "inserted": float(len(tokens(content.words))),
        "silent": float(content.kind == "nothing"),
        "declined": float(content.kind == "declined"),
    }


def _published_statistics(sample: Sample, answer: Answer) -> Mapping[str, float]:
    words = len(texts.jiwer_words(lower_nopunct(answer.value or "")))
    return {"hallucinated": float(words > 0), "inserted": float(words), "silent": float(words == 0)}


@with_recorded_options
def hallucination(
    *scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 256, language: str = "en"
) -> Protocol:
    """Ask for the words of clips without speech, just as ``transcription`` asks for those of speech.

    ``scorers`` names how answers are scored, the first as the headline: ``non-speech`` is ours and the default,
    ``non-speech-thenirock`` the published rule. ``language`` is the ISO 639 code of the language that is asked for.
    Raises UsageError for an unknown scorer or no such code.
    """
    (stage,) = transcription(prompt=prompt, system=system, max_new_tokens=max_new_tokens, language=language).stages
    family_scorers = non_speech_scorers(language in WITHOUT_SPACES)
    return family_protocol("hallucination", (stage,), family_scorers, scorers, "words")
