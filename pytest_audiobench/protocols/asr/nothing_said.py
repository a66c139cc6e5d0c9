"""What an answer holds where nobody speaks: markers that stand for nothing, a plain statement of it, or words."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from pytest_audiobench.protocols.asr.basic import basic_text
from pytest_audiobench.protocols.asr.brackets import without_special_tokens, without_tags

Said: TypeAlias = Literal["nothing", "declined", "words"]

_LOOKED_AT = 1_000
"""Characters of a statement; what is longer states nothing plainly."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BRACKETED = re.compile(r"\(([^()]{0,200})\)|（([^（）]{0,200})）|\*([^*\n]{1,200})\*|【([^【】]{0,200})】")

_SOUNDS = _words(
    "ambience ambient applause background barking beep beeping beeps bell bells bird "
    "birds blank breathing buzz buzzing chatter chattering chime chirping clapping "
    "clicking clicks cough coughing crowd crying ding dog door drone engine environmental "
    "fan footsteps hiss hissing hum humming instrumental instruments keyboard laughing "
    "laughter machine melody motor music musical nature noise noises noisy rain rumble "
    "rumbling siren sirens sneezing sound sounds static thunder tone tones traffic water "
    "waves whirring whistling white pink wind"
)
_LACKING = _words("blank empty inaudible indistinct muffled nospeech pause quiet silence silent unclear unintelligible")
_MARKER = (
    _SOUNDS
    | _LACKING
    | _words(
        "a an and audio continues distant ends fades gentle in intro loud no none of outro "
        "playing plays soft speech the theme upbeat 音乐 音樂 静音 无声 無音 拍手 музыка тишина musik "
        "stille musique música musica silencio silêncio rires risas applaus aplausos "
        "applaudissements"
    )
)
"""A bracketed text of these words alone describes a sound, or says that there is none."""

_BARE = frozenset(
    (
        *("silence", "no speech", "nospeech", "no audio", "blank audio", "blank", "none", "n a", "inaudible", "empty"),
        *("unintelligible", "no transcription", "no transcript", "nothing"),
    )
)
"""Whole answers without brackets that say no more than a marker does."""

_SPEECH = _words(
    "dialog dialogue language lyrics spoke spoken speak speaker speakers speaking speaks "
    "speech talking talks transcribe transcribed transcribable transcript transcription "
    "utterance utterances verbal vocals voice voices word words"
)
_NONE = _words(
    "no not none nothing nobody without unable cannot can't couldn't don't didn't doesn't isn't aren't wasn't lacks"
)
_AUDIO = _words("audio clip file input recording sample segment track")
_FILLING = _words(
    "a actual all am an and another any anyone anything apologize appear appears apparent "
    "are as at audible be because been but by can clear clearly completely confirm "
    "consists contain containing contains content could description detect detectable "
    "detected did discernible do does entire entirely file find for found from given good "
    "happy has have having hear heard help human i i'm i'd i'll if in include includes "
    "intelligible is it it's just know let like made me more of on one only or other "
    "present please provide provided recognizable recognize seem seems share so some "
    "someone sorry that the there there's therefore this throughout to transcribing try "
    "understandable unfortunately upload was we were what which will with you your"
)
_KNOWN = _SOUNDS | _LACKING | _SPEECH | _NONE | _AUDIO | _FILLING
"""All words of plain statements: one that is not among them (a name, a verb of a story) makes a transcript."""

_SENTENCES = re.compile(r"[.!?]+(?:\s+|$)|\n+")
_QUOTED = re.compile(r"[\"“”«»]")


class Heard(NamedTuple):
    """``said`` and, where it is words, how they are written without case, punctuation and markers."""

    said: Said
    words: str


def what_is_said(text: str) -> Heard:
    """What ``text`` holds: nothing (or markers for it), a plain statement that nobody speaks, or words.

    Markers are special tokens (``<|nospeech|>``), what stands in ``[…]`` or ``<…>``, notes and other signs, and
    brackets or asterisks around words for sounds ("(soft music)", "*silence*"). A statement has, in one of its
    sentences at least, a negation and a word for speech, or calls the audio silent or only a sound, and holds no word
    but those that such statements are made of, in English; quotation marks make it a transcript.
    """
    shown = _BRACKETED.sub(_kept, without_tags(without_special_tokens(text)))
    words = basic_text(shown)
    if not words or words in _BARE:
        return Heard("nothing", "")
    return Heard("declined", "") if _declines(shown) else Heard("words", words)


def _kept(found: re.Match[str]) -> str:
    inside = basic_text(next(filter(None, found.groups()), ""))
    return " " if _MARKER.issuperset(inside.split()) else found[0]


def _declines(text: str) -> bool:
    if len(text) > _LOOKED_AT or _QUOTED.search(text):
        return False
    sentences = [basic_text(one).split() for one in _SENTENCES.split(text)]
    return all(map(_KNOWN.issuperset, sentences)) and any(map(_states, sentences))


def _states(sentence: list[str]) -> bool:
    words = set(sentence)
    nobody = "nobody" in words or "no one" in " ".join(sentence)
    if words & _SPEECH and (words & _NONE or nobody):
        return True
    return bool(words & _AUDIO and (words & _LACKING or (words & {"only", "just", "nothing"} and words & _SOUNDS)))
