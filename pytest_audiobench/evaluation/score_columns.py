"""What a scorer made of an eval's answers, in columns: some forty bytes a row, of which all numbers are drawn."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import chain
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from pytest_audiobench.metrics.metric import Statistics

T = TypeVar("T", bound=Hashable)
S = TypeVar("S")
Numbers: TypeAlias = npt.NDArray[Any]
_MOST_SHARED = 16_384
"""Different statistics that rows share; of further ones each row has its own in an array."""


class Kind(NamedTuple):
    """What became of an answer: many rows are of few kinds."""

    status: str
    """"errors" where the asking failed."""
    is_skipped: bool
    wording: tuple[str, ...]
    failures: tuple[str, ...]


class Numbered(Generic[T]):
    """Values by number, each once."""

    def __init__(self) -> None:
        self.values: list[T] = []
        self._numbers: dict[T, int] = {}

    def of(self, value: T) -> int:
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.values)
            self.values.append(value)
        return number

    def has_room_for(self, value: T) -> bool:
        return len(self.values) < _MOST_SHARED or value in self._numbers


class StatisticsPool:
    """Rows' statistics by number: what many rows share once, what is a row's own in an array."""

    def __init__(self) -> None:
        self._shared, self._statistics = Numbered[tuple[tuple[str, float], ...]](), list[Statistics]()
        self.shapes = Numbered[tuple[str, ...]]()
        self._own_shapes, self._own_starts, self._own = array("I"), array("Q"), array("d")

    def place_of(self, scores: Statistics) -> int:
        """From 1 on among those that are shared, below 0 among the rows' own."""
        items = tuple(scores.items())
        if self._shared.has_room_for(items):
            place = self._shared.of(items)
            if place == len(self._statistics):
                self._statistics.append(dict(items))
                self.shapes.of(tuple(scores))
            return place + 1
        self._own_shapes.append(self.shapes.of(tuple(scores)))
        self._own_starts.append(len(self._own))
        self._own.extend(scores.values())
        return -len(self._own_shapes)

    def statistics_at(self, place: int) -> Statistics:
        """Those of a number that :meth:`place_of` gave."""
        if place > 0:
            return self._statistics[place - 1]
        names, start = self.shapes.values[self._own_shapes[-place - 1]], self._own_starts[-place - 1]
        return dict(zip(names, self._own[start : start + len(names)], strict=True))


class ScoreColumns(StatisticsPool):
    """Rows in the order in which they were added."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds, self.groups = Numbered[Kind](), Numbered[tuple[tuple[str, str], ...]]()
        self._columns = {"kind": array("H"), "group": array("I"), "part": array("I"), "scores": array("i")}
        self._columns |= {"cluster": array("q"), "value": array("q")}

    def add(
        self,
        kind: Kind,
        scores: Statistics | None,
        cluster: Hashable,
        group: tuple[tuple[str, str], ...],
        part: int,
        value: str | None,
    ) -> None:
        """Add a row; ``part`` is its epoch, or of a suite its item. Of clusters and values is kept which are equal."""
        columns = self._columns
        columns["kind"].append(self.kinds.of(kind))
        columns["group"].append(self.groups.of(group))
        columns["part"].append(part)
        columns["scores"].append(0 if scores is None else self.place_of(scores))
        columns["cluster"].append(hash(cluster))
        columns["value"].append(0 if value is None else hash(value) or 1)

    @property
    def rows(self) -> ColumnRows:
        """All of them; as long as somebody has them, none can be added."""
        return ColumnRows(self, {name: np.asarray(column) for name, column in self._columns.items()})


class ColumnRows:
    """Some rows of a scorer's, in their order."""

    def __init__(self, whole: ScoreColumns, columns: Mapping[str, Numbers]) -> None:
        self._whole, self._columns = whole, columns

    def __len__(self) -> int:
        return len(self._columns["kind"])

    def _where(self, wanted: Numbers) -> ColumnRows:
        return ColumnRows(self._whole, {name: column[wanted] for name, column in self._columns.items()})

    def _of_kinds(self, test: Callable[[Kind], bool]) -> Numbers:
        return np.array([test(kind) for kind in self._whole.kinds.values], dtype=bool)[self._columns["kind"]]

    @property
    def scored(self) -> ColumnRows:
        """Those that have scores."""
        return self if (self._columns["scores"] != 0).all() else self._where(self._columns["scores"] != 0)

    def without(self, failure: str) -> ColumnRows:
        """Those that fall not into a class of failures."""
        return self._where(self._of_kinds(lambda kind: failure not in kind.failures))

    def at(self, wanted: Sequence[bool]) -> ColumnRows:
        """Those of which ``wanted`` is true."""
        return self._where(np.array(wanted, dtype=bool))

    def of_group(self, group: Mapping[str, str]) -> ColumnRows:
        """Those with these values in their fields."""
        groups = self._whole.groups.values
        return self._where(np.array([group.items() <= set(own) for own in groups], dtype=bool)[self._columns["group"]])

    def of_parts(self, *parts: int) -> ColumnRows:
        return self._where(np.isin(self._columns["part"], parts))

    def values(self) -> dict[str, list[str]]:
        """The different values of each field, sorted."""
        present = [self._whole.groups.values[number] for number in np.unique(self._columns["group"]).tolist()]
        values: dict[str, set[str]] = {}
        for name, value in chain.from_iterable(present):
            values.setdefault(name, set()).add(value)
        return {name: sorted(own) for name, own in sorted(values.items())}

    def kinds(self) -> Counter[Kind]:
        """How many rows are of each kind."""
        counts = np.bincount(self._columns["kind"]).tolist()
        return Counter({kind: n for kind, n in zip(self._whole.kinds.values, counts, strict=False) if n})

    def of_each_kind(self, what: Callable[[Kind], S]) -> list[S]:
        """``what`` is made of the kind of each row."""
        known = list(map(what, self._whole.kinds.values))
        return [known[number] for number in self._columns["kind"].tolist()]

    def statistics(self) -> list[Statistics]:
        """Of each of these rows, which must be :attr:`scored`."""
        return list(map(self._whole.statistics_at, self._columns["scores"].tolist()))

    def scores(self) -> list[Statistics | None]:
        """Of each of these rows; None for one without."""
        return [self._whole.statistics_at(place) if place else None for place in self._columns["scores"].tolist()]

    @property
    def repeat(self) -> bool:
        """Whether two of them are in one cluster."""
        return len(np.unique(self._columns["cluster"])) < len(self)

    def clusters(self) -> list[int]:
        """Numbers that are equal where clusters are."""
        _, numbers = np.unique(self._columns["cluster"], return_inverse=True)
        small: list[int] = numbers.tolist()  # of which few are objects of their own
        return small

    def answers(self) -> list[int | None]:
        """Numbers that are equal where the answers' values are; None for no value."""
        return [number or None for number in self._columns["value"].tolist()]

    @property
    def names(self) -> set[str]:
        """The names of all statistics of all rows."""
        return {name for shape in self._whole.shapes.values for name in shape}
