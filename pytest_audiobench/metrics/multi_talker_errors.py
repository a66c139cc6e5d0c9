"""Word errors where several talk: who said what is not asked, only what was said.

Texts are taken as they are: normalise them before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from pytest_audiobench.metrics.token_errors import token_errors
from pytest_audiobench.stats.special import scipy_module

Words: TypeAlias = Sequence[str]


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
    the numbers of talkers may differ: who is left over in either is deleted or inserted as a whole, as in
    meeteval (von Neumann et al. 2023), whose counts it equals. Among equally good assignments the one with the
    fewest substitutions counts, so that the order of talkers moves nothing.

    meeteval is an extra that needs a compiler; the assignment is scipy's.
    """
    linear_sum_assignment = scipy_module("optimize").linear_sum_assignment

    words, spoken = sum(map(len, references)), sum(map(len, heard))
    # Errors of each two together less those of each alone, the fewer the better; then substitutions.
    gains = np.zeros((len(references), len(heard), 2))
    for row, reference in enumerate(references):
        for column, said in enumerate(heard):
            errors = token_errors(reference, said)
            alone = len(reference) + len(said)
            gains[row, column] = errors["S"] + errors["D"] + errors["I"] - alone, errors["S"]
    # One error weighs more than all substitutions that there can be; sums of whole numbers are exact.
    rows, columns = linear_sum_assignment(gains @ (words + 1.0, 1.0))
    gained, substitutions = map(int, gains[rows, columns].sum(axis=0))
    errors_in_all = words + spoken + gained
    # Whatever the alignment, deletions exceed insertions by as much as the references are longer.
    deletions = (errors_in_all - substitutions + words - spoken) // 2
    surplus = len(references) - len(heard)
    return TalkerErrors(
        substitutions,
        deletions,
        errors_in_all - substitutions - deletions,
        words,
        missed=max(0, surplus),
        extra=max(0, -surplus),
    )
