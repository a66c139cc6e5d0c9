"""The languages that speech is translated into, and what each is cut into."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType

from pytest_audiobench.errors import UsageError

LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        "ar": "Arabic",
        "bg": "Bulgarian",
        "bn": "Bengali",
        "ca": "Catalan",
        "cs": "Czech",
        "cy": "Welsh",
        "da": "Danish",
        "de": "German",
        "el": "Greek",
        "en": "English",
        "es": "Spanish",
        "et": "Estonian",
        "fa": "Persian",
        "fi": "Finnish",
        "fr": "French",
        "he": "Hebrew",
        "hi": "Hindi",
        "hu": "Hungarian",
        "id": "Indonesian",
        "it": "Italian",
        "ja": "Japanese",
        "km": "Khmer",
        "ko": "Korean",
        "lo": "Lao",
        "lt": "Lithuanian",
        "lv": "Latvian",
        "mn": "Mongolian",
        "ms": "Malay",
        "my": "Burmese",
        "nl": "Dutch",
        "no": "Norwegian",
        "pl": "Polish",
        "pt": "Portuguese",
        "ro": "Romanian",
        "ru": "Russian",
        "sk": "Slovak",
        "sl": "Slovenian",
        "sv": "Swedish",
        "sw": "Swahili",
        "ta": "Tamil",
        "te": "Telugu",
        "th": "Thai",
        "tl": "Tagalog",
        "tr": "Turkish",
        "uk": "Ukrainian",
        "ur": "Urdu",
        "vi": "Vietnamese",
        "yue": "Cantonese",
        "zh": "Chinese",
    }
)
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
    code = target.replace("_", "-").split("-")[0].lower()
    if code not in LANGUAGES:
        names = [known for known, name in LANGUAGES.items() if code and name.lower().startswith(code)]
        near = [*_COUNTRIES.get(code, ()), *names, *difflib.get_close_matches(code, LANGUAGES, n=1)]
        hint = f"did you mean {near[0]!r} ({LANGUAGES[near[0]]})? " if near else ""
        raise UsageError(f"no language is known by the code {target!r}; {hint}known are {', '.join(LANGUAGES)}")
    return code


def default_tokenizer(code: str | None) -> str:
    """The tokenizer of our default: zh, ja-mecab, ko-mecab, char for other scripts without spaces, else 13a."""
    return _TOKENIZERS.get(code or "", "13a")
