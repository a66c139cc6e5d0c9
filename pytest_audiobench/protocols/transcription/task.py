"""Transcription: the words of one clip."""

from __future__ import annotations

import re

from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.free_text import family_protocol, free_stage
from pytest_audiobench.protocols.protocol import Protocol, Scorer, with_recorded_options

INSTRUCTION = "Transcribe the speech."

WITHOUT_SPACES = frozenset({"zh", "yue", "ja", "th", "lo", "my", "km", "bo"})
"""Languages that write no spaces between words, whose headline is the character error rate."""

_TAKEN_FOR = {
    **dict.fromkeys(("cn", "zho", "chi", "cmn"), "zh") | dict.fromkeys(("jp", "jpn"), "ja") | {"eng": "en"},
    **dict.fromkeys(("mya", "bur"), "my") | dict.fromkeys(("bod", "tib"), "bo"),
    **{"tha": "th", "lao": "lo", "khm": "km"},
}
"""Codes of countries and of three letters that would quietly be scored as a language with spaces."""


@with_recorded_options
def transcription(
    *scorers: str, prompt: str = INSTRUCTION, system: str | None = None, max_new_tokens: int = 256, language: str = "en"
) -> Protocol:
    """Ask for the words of the sample's clips, in its own question's words or else in ``prompt``'s.

    ``scorers`` names how answers are scored, the first as the headline. Ours are ``wer-basic``, the default, and
    ``cer-basic``, the default of languages that write no spaces between words. Published ones, with their defects:
    ``whisper-en``, ``whisper-basic``, ``audiobench``, ``au-harness``, ``cmi-bench``, ``firered``, ``gigaspeech``,
    ``kimi``, ``lower-nopunct``, ``nota``, ``open-asr``, ``open-asr-v1``, ``qwen2-audio``, ``raw`` (texts as they are),
    ``salmonn-skip`` and ``ultraeval``; ``kimi-keep`` and ``salmonn-keep`` leave nothing out. ``insertions`` counts
    words too many and answers that stop early, ``insertions-thenirock`` by a published rule. ``language`` is the ISO
    639 code of the speech, which several of them go by. Raises UsageError for an unknown scorer or no such code.
    """
    if not re.fullmatch(r"[a-z]{2,3}", language):
        raise UsageError(f"{language!r} is not code of a language: write two or three small letters, as 'en' or 'yue'")
    if language in _TAKEN_FOR:
        raise UsageError(f"{language!r} is not how this language is called here: write {_TAKEN_FOR[language]!r}")
    stage = free_stage(lambda sample: sample.question or prompt, system, max_new_tokens, task="transcription")
    headline = "cer-basic" if language in WITHOUT_SPACES else "wer-basic"
    return family_protocol("transcription", (stage,), _scorers(language), scorers, "words", headline)


def _scorers(language: str) -> tuple[Scorer, ...]:
    # Imported when they are asked for: a test file that names this family may choose another one's evals.
    from pytest_audiobench.protocols.transcription import published_scorers
    from pytest_audiobench.protocols.transcription.insertions import insertion_scorers
    from pytest_audiobench.protocols.transcription.multilingual import multilingual_scorers
    from pytest_audiobench.protocols.transcription.open_asr import open_asr_scorers
    from pytest_audiobench.protocols.transcription.transcript_scorer import basic_scorers
    from pytest_audiobench.protocols.transcription.whisper import whisper_scorers

    return (
        *basic_scorers(),
        *whisper_scorers(language),
        *published_scorers.one_language_scorers(language),
        *multilingual_scorers(language),
        *open_asr_scorers(language),
        *published_scorers.jiwer_scorers(),
        *insertion_scorers(language in WITHOUT_SPACES),
    )
