"""jiwer 4's measures of texts as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_audiobench.protocols.transcription.texts import jiwer_words
from pytest_audiobench.protocols.transcription.transcript_scorer import Normaliser

from ..table import Scorer
from ..transcripts import NO_REFERENCE, counts, pooled

_WORDS = Normaliser(str, tokens=jiwer_words)
_CHARACTERS = Normaliser(str.strip, tokens=str, characters=True)


def _preserved(params: Mapping[str, Any], inputs: Any) -> float:
    lost: float = pooled("wil", _WORDS)(params, inputs)
    return 1.0 - lost


def _edits(params: Mapping[str, Any], inputs: Any) -> dict[str, int]:
    """The split is not unique, but ours and jiwer's are the same library's."""
    (found,) = counts(_WORDS, inputs)
    edits = {
        name: int(found[short]) for name, short in (("substitutions", "S"), ("deletions", "D"), ("insertions", "I"))
    }
    return {"hits": int(found["N"]) - edits["substitutions"] - edits["deletions"], **edits}


SCORERS: Mapping[str, Scorer] = {
    "wer": pooled("wer", _WORDS),
    "mer": pooled("mer", _WORDS),
    "wil": pooled("wil", _WORDS),
    "wip": _preserved,
    "cer": pooled("cer", _CHARACTERS),
    "word_edit_counts": _edits,
}
OUT: Mapping[str, str] = {}
DIFFERS: Mapping[str, str] = dict.fromkeys(
    ("wer_jiwer/wer-006", "wer_jiwer/wer-009", "wer_jiwer/cer-006", "wer_jiwer/cer-009"), NO_REFERENCE
)
