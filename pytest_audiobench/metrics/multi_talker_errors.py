"""Word errors where several talk: who said what is not asked, only what was said.

Texts are taken as they are: normalise them before.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.token_errors import token_errors

Words: TypeAlias = Sequence[str]

MOST_TALKERS = 12
"""True talkers of one sample that an assignment is sought for; its cost doubles with each."""


class TalkerErrors(NamedTuple):
    """Counts over the best assignment of heard talkers to true ones.

    ``missed`` true talkers have no heard one (their words are deletions), ``extra`` heard ones no true one (their
    words are insertions). ``words`` is the number of words in the references.
    """

    substitutions: int
    deletions: int
    insertions: int
    words: int
    missed: int
    extra: int

    @property
    def errors(self) -> int:
        return self.substitutions + self.deletions + self.insertions

    @property
    def statistics(self) -> dict[str, float]:
        """S, D, I and N, which a pooled rate is made of."""
        return {"S": self.substitutions, "D": self.deletions, "I": self.insertions, "N": self.words}


def cp_errors(references: Sequence[Words], heard: Sequence[Words]) -> TalkerErrors:
    """The fewest word errors over all assignments of ``heard`` talkers to ``references``, one to one.

    This is the concatenated minimum-permutation WER's count (cpWER; Watanabe et al. 2020, "CHiME-6 Challenge"), where
    the numbers of talkers may differ: who is left over on either side is deleted or inserted as a whole, as in
    meeteval (von Neumann et al. 2023), whose counts it equals. Among equally good assignments the one with the
    fewest substitutions counts, so that the order of talkers moves nothing.

    meeteval is an extra that needs a compiler; the assignment of a few talkers does not. Raises UsageError for more
    than 12 references.
    """
    if len(references) > MOST_TALKERS:
        raise UsageError(
            f"a sample has {len(references)} true talkers; cpWER is sought for at most {MOST_TALKERS}: cut it shorter"
        )
    words, spoken = sum(map(len, references)), sum(map(len, heard))
    # best[taken] is the least (errors, substitutions) with the references of the bit set ``taken`` given to talkers
    # seen so far; all other references are deleted, all other talkers inserted.
    best: dict[int, tuple[int, int]] = {0: (words + spoken, 0)}
    gains = [[_gain(reference, said) for reference in references] for said in heard]
    for gains_of_talker in (gains[talker] for talker in _worth_a_look(gains)):
        reached = dict(best)
        for taken, (errors, replaced) in best.items():
            for number, (fewer, substituted) in enumerate(gains_of_talker):
                if taken >> number & 1:
                    continue
                candidate = (errors + fewer, replaced + substituted)
                now = taken | 1 << number
                if now not in reached or candidate < reached[now]:
                    reached[now] = candidate
        best = reached
    errors, substitutions = min(best.values())
    # Whatever the alignment, deletions exceed insertions by as much as the references are longer.
    deletions = (errors - substitutions + words - spoken) // 2
    surplus = len(references) - len(heard)
    return TalkerErrors(
        substitutions,
        deletions,
        errors - substitutions - deletions,
        words,
        missed=max(0, surplus),
        extra=max(0, -surplus),
    )


def _gain(reference: Words, said: Words) -> tuple[int, int]:
    """Errors of the two together less those of each alone, and the substitutions: the less, the better they fit."""
    errors = token_errors(reference, said)
    return errors["S"] + errors["D"] + errors["I"] - len(reference) - len(said), errors["S"]


def _worth_a_look(gains: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
    """The heard talkers among the best for any reference, as many for each as there are references.

    Others could only take the place of a better one that is free, so that thousands of lines cost no more than a few.
    """
    references = len(gains[0]) if gains else 0
    candidates = {
        talker
        for number in range(references)
        for talker in heapq.nsmallest(references, range(len(gains)), key=lambda talker: gains[talker][number])
    }
    return sorted(candidates)
