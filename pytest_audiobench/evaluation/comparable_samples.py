"""The samples of one eval as a comparison reads them, of any length: what is counted in columns, texts in a file.

A row takes some fifty bytes. Ids, digests and clusters are known by eight bytes each, which two of a million do not
have in common; the row itself is made of the file again where it is shown or written.
"""

from __future__ import annotations

import os
import pickle
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import eq
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import numpy as np

from pytest_audiobench.datasets.spool import MOST_IN_MEMORY, LazySequence, room_for_samples
from pytest_audiobench.evaluation.score_columns import Numbered, Numbers, StatisticsPool
from pytest_audiobench.evaluation.scoring import SHARES, share_statistics
from pytest_audiobench.metrics.metric import Statistics
from pytest_audiobench.protocols.answer_failures import WORDINGS
from pytest_audiobench.records.fields import Status

_BLOCK = 64
"""Rows that are written and read at once."""
_SPREAD = 0x1E3779B97F4A7C15
_DIGESTS = ("audio", "prompt", "truth")


class ComparableSample(NamedTuple):
    """One sample in one epoch."""

    sample_id: str
    epoch: int
    audio: str | None
    """The digest of its clips' keys; None where they are not known, as in a replay without audio."""
    prompt: str | None
    """The digest of the first stage's messages (in each wording); None for a sample that could not be asked."""
    cluster: str | None
    groups: Mapping[str, str]
    statuses: Mapping[str, Status]
    """By scorer; "error" where the asking failed."""
    scores: Mapping[str, Statistics | None]
    """By scorer; None where the asking failed or the scorer leaves the answer out."""
    failures: tuple[str, ...] = ()
    """The classes that the headline scorer sees."""
    text: str | None = None
    """The answer, where the source keeps texts."""
    truth: str | None = None
    """The digest of its choices and references."""

    @property
    def identity(self) -> tuple[str, int]:
        return self.sample_id, self.epoch

    def is_in(self, group: Mapping[str, str]) -> bool:
        """Whether the sample is in the group of these fields and values."""
        return all(self.groups.get(field) == value for field, value in group.items())


def statistics_of(row: ComparableSample, scorer: str, metric: str) -> Statistics | None:
    """What ``metric`` is made of in a sample, as ``scorer`` saw it: its scores, None where it has none; for one of
    :data:`pytest_audiobench.evaluation.scoring.SHARES` how it was answers.
    """
    scores = row.scores.get(scorer)
    return scores if metric not in SHARES else _share(row.statuses[scorer], row.failures, scores is None)


def _share(status: str, failures: Sequence[str], is_without: bool) -> Statistics:
    # The other classes are what the headline made of the answer, which this scorer may read otherwise.
    wordings = tuple(name for name in failures if name in WORDINGS)
    return share_statistics("errors" if status == "error" else status, status != "error" and is_without, wordings)


class Kind(NamedTuple):
    """What many rows have in common."""

    epoch: int
    groups: tuple[tuple[str, str], ...]
    statuses: tuple[tuple[str, Status], ...]
    failures: tuple[str, ...]

    def status(self, scorer: str) -> Status | None:
        return next((status for name, status in self.statuses if name == scorer), None)

    def is_in(self, group: Mapping[str, str]) -> bool:
        """Whether its samples are in the group of these fields and values."""
        own = dict(self.groups)
        return all(own.get(field) == value for field, value in group.items())


class ComparableColumns:
    """All rows of a source, as they come."""

    def __init__(self) -> None:
        self.kinds = Numbered[Kind]()
        self.columns = {name: array("q") for name in ("id", "cluster", *_DIGESTS)}
        self.columns["kind"] = array("I")
        self.scores: dict[str, array[int]] = {}
        self.pools: dict[str, StatisticsPool] = {}
        self._blocks: list[bytes] = []
        self._ends = array("Q", [0])
        self._rows: list[tuple[Any, ...]] = []
        self._read: tuple[int, list[tuple[Any, ...]]] = (-1, [])

    def __len__(self) -> int:
        return len(self.columns["kind"])

    def add(self, row: ComparableSample) -> None:
        """Raises UsageError where the file cannot be written."""
        sample_id, epoch, audio, prompt, cluster, groups, statuses, scores, failures, text, truth = row
        columns, before = self.columns, len(self)
        columns["id"].append(hash(sample_id))
        for name, digest in (("audio", audio), ("prompt", prompt), ("truth", truth)):
            columns[name].append(0 if digest is None else hash(digest) or 1)
        columns["cluster"].append((hash(cluster) or 1) if cluster else 0)
        kind = Kind(epoch, tuple(groups.items()), tuple(statuses.items()), tuple(failures))
        columns["kind"].append(self.kinds.of(kind))
        for name, own in scores.items():
            if name not in self.scores:
                self.scores[name], self.pools[name] = array("i", bytes(4 * before)), StatisticsPool()
            self.scores[name].append(0 if own is None else self.pools[name].place_of(own))
        for column in self.scores.values():
            if len(column) == before:
                column.append(0)
        plain = {name: None if own is None else dict(own) for name, own in scores.items()}
        self._rows.append((sample_id, audio, prompt, cluster, plain, text, truth))
        if len(self._rows) == _BLOCK:
            self._write()

    def _write(self) -> None:
        block, self._rows = pickle.dumps(self._rows, pickle.HIGHEST_PROTOCOL), []
        if len(self._blocks) < MOST_IN_MEMORY // _BLOCK:
            self._blocks.append(block)
            return
        with room_for_samples():
            if len(self._ends) == 1:
                self._file = TemporaryFile()  # noqa: SIM115 - it lasts as long as the rows
            self._file.write(block)
        self._ends.append(self._ends[-1] + len(block))

    def rows(self) -> ComparableRows:
        """All of them; nothing is added any more. Raises UsageError as :meth:`add` does."""
        if self._rows:
            self._write()
        if len(self._ends) > 1:
            with room_for_samples():
                self._file.flush()
        return ComparableRows(self)

    def row(self, place: int) -> ComparableSample:
        number, at = divmod(place, _BLOCK)
        if self._read[0] != number:
            self._read = number, pickle.loads(self._block(number))
        sample_id, audio, prompt, cluster, scores, text, truth = self._read[1][at]
        epoch, groups, statuses, failures = self.kinds.values[self.columns["kind"][place]]
        known = (sample_id, epoch, audio, prompt, cluster, dict(groups), dict(statuses), scores, failures, text, truth)
        return ComparableSample(*known)

    def _block(self, number: int) -> bytes:
        if number < len(self._blocks):
            return self._blocks[number]
        start, end = (self._ends[number - len(self._blocks) + more] for more in (0, 1))
        return os.pread(self._file.fileno(), end - start, start)


class ComparableRows(LazySequence[ComparableSample]):
    """Some rows of a source, in their order; each id is in each epoch once."""

    def __init__(self, store: ComparableColumns, places: Numbers | None = None, unknown: Sequence[str] = ()) -> None:
        self._store, self._places, self._unknown = store, places, unknown

    def __len__(self) -> int:
        return len(self._store if self._places is None else self._places)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def element(self, place: int) -> ComparableSample:
        row = self._store.row(place if self._places is None else int(self._places[place]))
        unknown: dict[str, Any] = dict.fromkeys(self._unknown)
        return row._replace(**unknown) if unknown else row

    def at(self, places: Numbers) -> ComparableRows:
        """Those that stand at ``places``."""
        own = places if self._places is None else self._places[places]
        return ComparableRows(self._store, own.astype(np.int32), self._unknown)

    def where(self, wanted: Numbers) -> ComparableRows:
        """Those of which ``wanted`` is true."""
        return self if wanted.all() else self.at(np.flatnonzero(wanted))

    def without(self, *digests: str) -> ComparableRows:
        """The same, of which these digests are not known."""
        return ComparableRows(self._store, self._places, (*self._unknown, *digests))

    def _column(self, column: array[int]) -> Numbers:
        whole = np.asarray(column)
        return whole if self._places is None else whole[self._places]

    def digests(self, name: str) -> Numbers:
        """Numbers that are equal where the digests are; 0 where one is not known."""
        return np.zeros(len(self), np.int64) if name in self._unknown else self._column(self._store.columns[name])

    @property
    def ids(self) -> Numbers:
        """Numbers that are equal where the samples' ids are."""
        return self._column(self._store.columns["id"])

    @property
    def identities(self) -> Numbers:
        """Numbers that are equal where the ids and the epochs are."""
        spread = np.array([kind.epoch * _SPREAD % 2**63 for kind in self._store.kinds.values], np.int64)
        return self.ids + spread[self._column(self._store.columns["kind"])] if spread.any() else self.ids

    def places_in(self, other: ComparableRows) -> Numbers:
        """Where each of these samples is in ``other``, in the same epoch; -1 for one that is not there."""
        wanted, there = self.identities, other.identities
        if np.array_equal(wanted, there):
            return np.arange(len(wanted))
        if not len(there):
            return np.full(len(wanted), -1)
        order = np.argsort(there, kind="stable")
        places: Numbers = order[np.minimum(np.searchsorted(there, wanted, sorter=order), len(there) - 1)]
        places[there[places] != wanted] = -1
        return places

    @property
    def repeat(self) -> bool:
        """Whether a sample is there twice in one epoch."""
        return len(np.unique(self.identities)) < len(self)

    def of_kinds(self, test: Callable[[Kind], bool]) -> Numbers:
        """Of each row whether its kind passes."""
        passed = np.array([test(kind) for kind in self._store.kinds.values], dtype=bool)
        return passed[self._column(self._store.columns["kind"])]

    def kinds(self) -> Counter[Kind]:
        """How many rows are of each kind."""
        counts = np.bincount(self._column(self._store.columns["kind"])).tolist()
        return Counter({kind: n for kind, n in zip(self._store.kinds.values, counts, strict=False) if n})

    def groups(self) -> dict[str, dict[str, None]]:
        """The different values of each field, both in the order of the kinds."""
        groups: dict[str, dict[str, None]] = {}
        for kind in self.kinds():
            for name, value in kind.groups:
                groups.setdefault(name, {})[value] = None
        return groups

    def of_group(self, group: Mapping[str, str]) -> ComparableRows:
        """Those with these values in their fields."""
        return self.where(self.of_kinds(lambda kind: kind.is_in(group))) if group else self

    def has_scores(self, scorer: str) -> Numbers:
        """Of each row whether the scorer gave it any."""
        column = self._store.scores.get(scorer)
        return np.zeros(len(self), bool) if column is None else self._column(column) != 0

    def scores(self, scorer: str) -> list[Statistics | None]:
        """Those that the scorer gave each row."""
        if (column := self._store.scores.get(scorer)) is None:
            return [None] * len(self)
        at = self._store.pools[scorer].statistics_at
        return [at(place) if place else None for place in self._column(column).tolist()]

    def statistics(self, scorer: str, metric: str) -> list[Statistics | None]:
        """Of each row what :func:`statistics_of` gives."""
        if metric not in SHARES:
            return self.scores(scorer)
        numbers = 2 * self._column(self._store.columns["kind"]) + ~self.has_scores(scorer)
        known: dict[int, Statistics] = {}
        for number in np.unique(numbers).tolist():
            kind = self._store.kinds.values[number // 2]
            known[number] = _share(dict(kind.statuses)[scorer], kind.failures, bool(number % 2))
        return [known[number] for number in numbers.tolist()]

    def clusters(self, others: ComparableRows | None = None) -> list[int] | None:
        """Numbers that are equal where clusters are, which a sample without one is itself; None where none is twice.

        A row without one has that of its place in ``others``; no id is then taken for a cluster's name.
        """
        own = self._column(self._store.columns["cluster"])
        if others is not None:
            own = np.where(own != 0, own, others._column(others._store.columns["cluster"]))
            own = np.where(own != 0, own ^ _SPREAD, 0)
        different, numbers = np.unique(np.where(own != 0, own, self.ids), return_inverse=True)
        if len(different) == len(own):
            return None
        known = list(range(len(different)))  # each an object once
        return [known[number] for number in numbers.tolist()]


def in_columns(rows: Iterable[ComparableSample]) -> ComparableRows:
    """The same rows. Raises UsageError where those of a large number cannot be written to a temporary file."""
    if isinstance(rows, ComparableRows):
        return rows
    columns = ComparableColumns()
    for row in rows:
        columns.add(row)
    return columns.rows()


def joined(parts: Sequence[ComparableRows]) -> ComparableRows:
    """The rows of all parts, in their order. Raises UsageError as :func:`in_columns` does."""
    return parts[0] if len(parts) == 1 else in_columns(row for part in parts for row in part)
