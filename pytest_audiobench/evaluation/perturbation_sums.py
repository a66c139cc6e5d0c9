"""The same samples under several perturbations in one order, and what a metric is made of in each."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.metric import MetricKind, Statistics, span
from pytest_audiobench.stats.drops import Drop, Question
from pytest_audiobench.stats.intervals import Floats
from pytest_audiobench.stats.paired import ratio_drop
from pytest_audiobench.stats.weighted_sums import Points

Identity: TypeAlias = tuple[str, int]
"""A sample's id and the epoch."""


class Asked(NamedTuple):
    """One sample as one scorer scored it; ``statistics`` is None where it has no score."""

    identity: Identity
    statistics: Statistics | None
    cluster: Hashable


class Difference(NamedTuple):
    """A paired drop, how many samples are in a pair, and of how many the own score became worse or better."""

    drop: Drop
    pairs: int
    worse: int
    better: int


class Samples:
    """Every sample that has a score under any perturbation; ``columns`` hold what was asked under each."""

    def __init__(self, columns: Sequence[Iterable[Asked]]) -> None:
        clusters: dict[Identity, Hashable] = {}
        scored: list[dict[Identity, Statistics]] = []
        for asked in columns:
            scored.append(own := {})
            for one in asked:
                if one.statistics is not None:
                    own[one.identity] = one.statistics
                    clusters.setdefault(one.identity, one.cluster)
        self.clusters = list(clusters.values())
        self._columns = [[own.get(identity) for identity in clusters] for own in scored]

    def sums(self, kind: MetricKind) -> Sums | str:
        """Numerators and denominators by sample and perturbation; or why there are none."""
        if kind.parts is None:
            return f"{kind.name} is no ratio of sums over samples"
        # Few different statistics occur, and a pool keeps each once.
        known: dict[int, tuple[float, float]] = {}
        parts = np.zeros((len(self._columns), len(self.clusters), 2))
        try:
            for column, into in zip(self._columns, parts, strict=True):
                for place, one in enumerate(column):
                    if one is not None:
                        if id(one) not in known:
                            known[id(one)] = kind.parts(one)
                        into[place] = known[id(one)]
        except KeyError as error:
            return f"a sample lacks the statistic {error}"
        except (ArithmeticError, ValueError, UsageError) as error:
            return str(error)
        scored = np.array([[one is not None for one in column] for column in self._columns], dtype=bool)
        return Sums(kind, parts[:, :, 0].T, parts[:, :, 1].T, scored.reshape(len(parts), -1).T, self.clusters)


@dataclass(frozen=True)
class Sums:
    """What a metric is made of, shape (samples, perturbations) each; ``scored`` says which samples have a score."""

    kind: MetricKind
    tops: Floats
    wholes: Floats
    scored: npt.NDArray[np.bool_]
    clusters: Sequence[Hashable]

    def points(self, columns: Sequence[int]) -> Points:
        """The samples that have a score under any of ``columns``."""
        own = list(columns)
        kept = self.scored[:, own].any(axis=1)
        clusters = [self.clusters[place] for place in np.flatnonzero(kept)]
        return Points(self.tops[kept][:, own], self.wholes[kept][:, own], clusters)

    def difference(self, before: int, after: int) -> Difference:
        """How much worse the column ``after`` is than ``before``, on the samples scored in both."""
        kept = self.scored[:, before] & self.scored[:, after]
        sides = [np.stack([self.tops[kept, at], self.wholes[kept, at]], axis=1) for at in (before, after)]
        clusters = [self.clusters[place] for place in np.flatnonzero(kept)]
        higher = self.kind.direction == "higher"
        drop = ratio_drop(sides[0], sides[1], clusters, Question(margin=0.0), higher, span(self.kind.unit))
        own = [side[:, 0] / np.maximum(side[:, 1], 1.0) for side in sides]
        lost = (own[0] - own[1]) * (1.0 if higher else -1.0)
        return Difference(drop, int(kept.sum()), int((lost > 0.0).sum()), int((lost < 0.0).sum()))
