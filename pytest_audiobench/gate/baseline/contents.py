"""The contents of a baseline: one model's evals, their values that people read, and where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.comparable_samples import ComparableSample, in_columns
from pytest_audiobench.records.baseline import LONGEST_TEXT, BaselineFigure, BaselineHead


@dataclass(frozen=True)
class Contents:
    """One model's evals in one run."""

    head: BaselineHead
    sides: Mapping[str, ComparableEval]
    """By eval."""
    figures: Mapping[str, Mapping[str, Sequence[BaselineFigure]]]
    """By eval and scorer, the headline's first."""

    @property
    def samples(self) -> int:
        """Samples times epochs, over all evals."""
        return sum(len(side.rows) for side in self.sides.values())

    def headline(self, eval: str) -> BaselineFigure | None:
        """The first metric of the eval's first scorer; None where that scorer has none."""
        figures = self.figures[eval].get(self.sides[eval].headline, ())
        return figures[0] if figures else None

    def reduced(self, names: Iterable[str], texts: bool) -> Contents:
        """What a baseline keeps: of each eval the headline's scorer and those in ``names`` ("all": every one);
        answers cut to ``LONGEST_TEXT`` where ``texts``, else none; clip keys that serve as clusters cut.

        Raises UsageError for a scorer that no eval has.
        """
        wanted = set(names)
        available = {name for side in self.sides.values() for name in side.scorers}
        if unknown := sorted(wanted - available - {"all"}):
            raise UsageError(
                f"{self.head.run} has no scorer {unknown[0]!r}; it has {', '.join(sorted(available))}, or name all"
            )
        sides = {}
        for name, side in self.sides.items():
            scorers = [
                scorer for scorer in side.scorers if scorer == side.headline or scorer in wanted or "all" in wanted
            ]
            sides[name] = replace(
                side,
                scorers={scorer: side.scorers[scorer] for scorer in scorers},
                metrics={scorer: side.metrics[scorer] for scorer in scorers if scorer in side.metrics},
                rows=in_columns(_reduced_row(row, scorers, texts) for row in side.rows),
            )
        figures = {
            name: {scorer: listed for scorer, listed in self.figures[name].items() if scorer in side.scorers}
            for name, side in sides.items()
        }
        return replace(self, sides=sides, figures=figures)


def _reduced_row(row: ComparableSample, scorers: Sequence[str], texts: bool) -> ComparableSample:
    text = row.text if texts else None
    if text is not None and len(text) > LONGEST_TEXT:
        text = text[: LONGEST_TEXT - 1] + "…"
    cluster = row.cluster
    # Where no metadata name the clusters they are clip keys: 64 digits a line, of which 16 are enough.
    if cluster is not None and len(cluster) == 64 and set(cluster) <= set("0123456789abcdef"):
        cluster = cluster[:16]
    return row._replace(
        cluster=cluster,
        statuses={name: row.statuses[name] for name in scorers},
        scores={name: row.scores[name] for name in scorers},
        text=text,
    )
