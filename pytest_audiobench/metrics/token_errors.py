"""How far two rows of words, phones or characters are apart: the counts that an error rate is pooled from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def token_errors(reference: Sequence[str], said: Sequence[str]) -> dict[str, int]:
    """Substitutions, deletions, insertions (S, D, I) of a shortest alignment, and the reference's length (N).

    Hits are N - S - D, tokens said N - D + I. S + D + I is unique, the split is not: it is rapidfuzz's, which jiwer 4
    counts too, at several times the cost. Nothing said is all deletions; an empty reference has N = 0 and everything
    said inserted.
    """
    length = len(reference)
    if reference == said:
        return {"S": 0, "D": 0, "I": 0, "N": length}
    if not reference or not said:
        return {"S": 0, "D": length, "I": len(said), "N": length}
    from rapidfuzz.distance import Levenshtein  # costs some ms, which a run without words need not pay

    edits = Levenshtein.editops(reference, said)
    replaced = sum([edit.tag == "replace" for edit in edits])
    # Deletions less insertions is what the reference is longer by.
    deleted = (len(edits) - replaced + length - len(said)) // 2
    return {"S": replaced, "D": deleted, "I": len(edits) - replaced - deleted, "N": length}


def character_errors(reference: Sequence[str], said: Sequence[str]) -> dict[str, int]:
    """The same of two texts' characters, as CS, CD, CI and CN, so that a sample can have both."""
    return {f"C{name}": count for name, count in token_errors(reference, said).items()}


def rate(errors: Mapping[str, float], prefix: str = "") -> float:
    """One sample's error rate, (S + D + I) / max(N, 1); ``prefix`` is "C" for characters.

    A sample without reference counts as one of one token: its rate is the number of insertions, as in jiwer 4.
    """
    wrong = errors[f"{prefix}S"] + errors[f"{prefix}D"] + errors[f"{prefix}I"]
    return wrong / max(errors[f"{prefix}N"], 1.0)
