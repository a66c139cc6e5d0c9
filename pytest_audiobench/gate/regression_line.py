"""What a regression line asks, and what all lines of a run share."""

from __future__ import annotations

from typing import NamedTuple

from pytest_audiobench.gate.grammar import Group, group_text

ALPHA = 0.05
MARGIN = "1pp"
MOST_UNMATCHED = 0.05
NO_MARGIN = "none"
"""In place of a margin: no line for the headline's metric, only those that were declared."""


class Line(NamedTuple):
    """One regression line: the metric (None: the first of the headline), the group, and the margin as it was written.

    ``group`` may name another scorer as ``protocol``.
    """

    metric: str | None = None
    group: Group = ()
    margin: str = MARGIN

    @property
    def text(self) -> str:
        """The line as it is declared: ``accuracy[hop=multi].drop <= 1pp``."""
        return f"{self.metric or 'the headline'}{group_text(self.group)}.drop <= {self.margin}"


class Terms(NamedTuple):
    """What all lines of a run share: ``lines`` is their number, ``most_unmatched`` the share of samples without a
    counterpart from which two sides are not comparable.
    """

    alpha: float = ALPHA
    lines: int = 1
    most_unmatched: float = MOST_UNMATCHED
