"""Speech translation: the words of one clip in another language."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.free_text import family_protocol, free_stage
from pytest_audiobench.protocols.protocol import Protocol, Scorer, with_recorded_options
from pytest_audiobench.protocols.translation.bleu import bleu_scorers, other_scorers
from pytest_audiobench.protocols.translation.published_scorers import published_scorers

LANGUAGES: Mapping[str, str] = {
    "ar": "Arabic", "bg": "Bulgarian", "bn": "Bengali", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish",
    "de": "German", "el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "fa": "Persian",
    "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "id": "Indonesian",
    "it": "Italian", "ja": "Japanese", "km": "Khmer", "ko": "Korean", "lo": "Lao", "lt": "Lithuanian",
    "lv": "Latvian", "mn": "Mongolian", "ms": "Malay", "my": "Burmese", "nl": "Dutch", "no": "Norwegian",
    "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian",
    "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai", "tl": "Tagalog", "tr": "Turkish",
    "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "yue": "Cantonese", "zh": "Chinese",
}  # fmt: skip
"""English names by ISO 639 code."""

# Codes of countries that are taken for codes of languages.
_COUNTRIES = {"jp": ("ja",), "cn": ("zh",), "kr": ("ko",), "cz": ("cs",), "ua": ("uk",), "gr": ("el",)}
# What is written without spaces needs a tokenizer that divides it; 13a would take a sentence for one word.
_TOKENIZERS = {"zh": "zh", "yue": "zh", "ja": "ja-mecab", "ko": "ko-mecab"} | dict.fromkeys(
    ("km", "lo", "my", "th"), "char"
)


def language_code(target: str | None) -> str | None:
    """The code of ``target`` without its region ("zh" of "zh-CN"). Raises UsageError for what is no language."""
    if target is None:
        return None
    if (code := target.replace("_", "-").split("-")[0].lower()) not in LANGUAGES:
        names = [known for known, name in LANGUAGES.items() if code and name.lower().startswith(code)]
        near = [*_COUNTRIES.get(code, ()), *names, *difflib.get_close_matches(code, LANGUAGES, n=1)]
        hint = f"did you mean {near[0]!r} ({LANGUAGES[near[0]]})? " if near else ""
        raise UsageError(f"no language is known by the code {target!r}; {hint}known are {', '.join(LANGUAGES)}")
    return code


def default_tokenizer(code: str | None) -> str:
    """The tokenizer of our default: zh, ja-mecab, ko-mecab, char for other scripts without spaces, else 13a."""
    return _TOKENIZERS.get(code or "", "13a")


DEFAULT = "Translate the speech into {language}. Answer with the translation only."
SALMONN = "Listen to the speech and translate it into {language}."
PROMPTS: Mapping[str, str] = {"default": DEFAULT, "salmonn": SALMONN}


@with_recorded_options
def translation(
    *scorers: str | Scorer,
    target: str | None = None,
    prompt: str = DEFAULT,
    system: str | None = None,
    max_new_tokens: int = 256,
) -> Protocol:
    """Ask for the speech in another language, in the sample's own question's words or else in ``prompt``'s.

    ``target`` is the language's code ("de", "zh-CN"). It fills in ``{language}``, and it chooses the default scorers:
    ``chrf``, and before it ``bleu-zh`` for Chinese, ``bleu-ja-mecab`` for Japanese, ``bleu-ko-mecab`` for Korean,
    ``bleu-char`` for Thai, Lao, Khmer and Burmese, else ``bleu-13a``; without a target that one too. A default whose
    tokenizer is not installed is refused, never replaced by another.

    Further scorers: each tokenizer's BLEU with ``-nopunct`` (lower case, no punctuation), with ``-whisper`` (13a and
    zh), and with ``-skip`` (empty, null, and kana-less answers left out); ``ter``; and the rules of ``audiobench``,
    ``ultraeval``, ``au-harness``, ``kimi``, ``qwen2-audio``, ``lmms-eval`` and ``salmonn-repro`` (with ``-nopunct``,
    ``-keep``). one's own scorer can stand among the names. ``prompt`` is a text or the name of one in ``PROMPTS``.
    Raises UsageError for an unknown scorer or language.
    """
    code = language_code(target)
    template = PROMPTS.get(prompt, prompt)

    def words(sample: Sample) -> str:
        if sample.question or "{language}" not in template:
            return sample.question or template
        if code is None:
            raise UsageError(
                f"sample {sample.id!r} has no question that says which language is wanted: name it, as in "
                f"translation(target='de')"
            )
        return template.replace("{language}", LANGUAGES[code])

    family_scorers = (*bleu_scorers(code), *other_scorers(), *published_scorers(code))
    headline = f"bleu-{default_tokenizer(code)}"
    stage = free_stage(words, system, max_new_tokens)
    return family_protocol("translation", (stage,), family_scorers, scorers or (headline, "chrf"), "words", headline)
