"""How far two rows of words, phones or characters are apart: the counts that an error rate is pooled from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def token_errors(reference: Sequence[str], said: Sequence[str]) -> dict[str, int]:
    """Substitutions, deletions, insertions (S, D, I) of a shortest alignment, and the reference's length (N).

    Their sum is unique, the split is not: it is rapidfuzz's. Nothing said is all deletions; an empty reference has
    N = 0 and everything said inserted.
    """
    if not reference or not said:
        return {"S": 0, "D": len(reference), "I": len(said), "N": len(reference)}
    from rapidfuzz.distance import Levenshtein  # costs some ms, which a run without words need not pay

    edits = Counter(edit.tag for edit in Levenshtein.editops(reference, said))
    return {"S": edits["replace"], "D": edits["delete"], "I": edits["insert"], "N": len(reference)}
