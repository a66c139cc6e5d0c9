"""Rows of words, phones or characters: how far two are apart, and the phones of English.

Phones are written as TIMIT and CMUdict write them. The foldings from 61 to 48 to 39 are those of Lee and Hon 1989,
"Speaker-Independent Phone Recognition Using Hidden Markov Models", IEEE Trans. ASSP 37(11), as in speechbrain's
``recipes/TIMIT/timit_prepare.py``: the glottal stop ``q`` is deleted, closures become ``cl`` and ``vcl`` (48) and then
silence (39), and runs of silence stay as long as they are. Other recipes join such runs.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    import jiwer


def token_errors(reference: Sequence[str], said: Sequence[str]) -> dict[str, int]:
    """Substitutions, deletions, insertions (S, D, I) of a shortest alignment, and the reference's length (N).

    Hits are N - S - D, tokens said N - D + I. S + D + I is unique, the split is not: it is jiwer's. Nothing said is all
    deletions; an empty reference has N = 0 and everything said inserted.
    """
    length = len(reference)
    if reference == said:
        return {"S": 0, "D": 0, "I": 0, "N": length}
    if not reference or not said:
        return {"S": 0, "D": length, "I": len(said), "N": length}
    replaced, deleted, inserted = _differing(_key(reference), _key(said))
    return {"S": replaced, "D": deleted, "I": inserted, "N": length}


def alignment(reference: Sequence[str], said: Sequence[str]) -> jiwer.WordOutput:
    """The alignment and counts that jiwer gives of tokens as they are; its rates of empty references are not ours."""
    import jiwer  # costs some ms, which a run without words need not pay

    # jiwer's transforms take texts apart, and its types know no others; these are apart already.
    given: tuple[Any, ...] = ([list(reference)], [list(said)], _as_given, _as_given)
    return jiwer.process_words(*given)


# Scorers whose normalisers agree about two texts share one alignment. In memory are counts alone, and each word once.
@lru_cache(maxsize=4096)
def _differing(reference: Sequence[str], said: Sequence[str]) -> tuple[int, int, int]:
    aligned = alignment(reference, said)
    return aligned.substitutions, aligned.deletions, aligned.insertions


def _key(tokens: Sequence[str]) -> Sequence[str]:
    return tokens if isinstance(tokens, str) else tuple(map(sys.intern, tokens))


def _as_given(tokens: list[list[str]]) -> list[list[str]]:
    return tokens


def character_errors(reference: Sequence[str], said: Sequence[str]) -> dict[str, int]:
    """The same of two texts' characters, as CS, CD, CI and CN, so that a sample can have both."""
    return {f"C{name}": count for name, count in token_errors(reference, said).items()}


def rate(errors: Mapping[str, float], prefix: str = "") -> float:
    """One sample's error rate, (S + D + I) / max(N, 1); ``prefix`` is "C" for characters.

    A sample without reference counts as one of one token: its rate is the number of insertions, as in jiwer 4.
    """
    return (errors[f"{prefix}S"] + errors[f"{prefix}D"] + errors[f"{prefix}I"]) / max(errors[f"{prefix}N"], 1.0)


PhoneSet: TypeAlias = Literal[39, 48, 61]

_NAMES = (
    "aa ae ah ao aw ax ax-h axr ay b bcl ch d dcl dh dx eh el em en eng epi er ey f g gcl h# hh hv ih ix iy jh k kcl l "
    "m n ng nx ow oy p pau pcl q r s sh sil t tcl th uh uw ux v w y z zh"
)
PHONES = frozenset((*_NAMES.split(), "cl", "vcl"))
"""TIMIT's 61, ``sil``, and the closures of the 48. CMUdict's 39 are among them."""


def _joined(*groups: str) -> Mapping[str, str]:
    """Foldings written as "what it becomes: the phones that do"."""
    pairs = (group.split(":") for group in groups)
    return MappingProxyType({phone: into for into, phones in pairs for phone in phones.split()})


_TO_48 = _joined(
    *("ax: ax-h", "er: axr", "m: em", "ng: eng", "hh: hv", "n: nx", "uw: ux", "sil: pau h#"),
    *("cl: pcl tcl kcl", "vcl: bcl dcl gcl", ": q"),
)
_TO_39 = _joined("aa: ao", "ah: ax", "ih: ix", "l: el", "n: en", "sh: zh", "sil: cl vcl epi")

_SEPARATOR = re.compile(r"[\s,;|/]+")
_EDGES = ".:!?()[]{}<>\"'“”‘’*_`"
_STRESSED = re.compile(r"(aa|ae|ah|ao|aw|ay|eh|er|ey|ih|iy|ow|oy|uh|uw)[012]")


def phone_tokens(text: str) -> list[str]:
    """The tokens of ``text`` in small letters: between white space, commas, semicolons, bars and slashes.

    Punctuation at a token's edges goes, so does the stress digit of a CMUdict vowel ("AH0"). All else stays a
    token: it is an error to be counted.
    """
    lowered = unicodedata.normalize("NFKC", text).lower()
    tokens = (token.strip(_EDGES) for token in _SEPARATOR.split(lowered))
    return [match[1] if (match := _STRESSED.fullmatch(token)) else token for token in tokens if token]


def folded(tokens: Sequence[str], phones: PhoneSet) -> list[str]:
    """``tokens`` in the set of 61, 48 or 39 phones; what is no phone stays as it is."""
    if phones == 61:
        return list(tokens)
    in_48 = (_TO_48.get(token, token) for token in tokens)
    return [_TO_39.get(token, token) if phones == 39 else token for token in in_48 if token]
