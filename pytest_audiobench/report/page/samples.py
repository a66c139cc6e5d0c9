"""The samples that a page embeds: as many as a budget of bytes allows, those that changed or went wrong first."""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_audiobench.protocols.answer_failures import FAILURES
from pytest_audiobench.records.lines import PredictionRow
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.failure_breakdown import failure_classes
from pytest_audiobench.report.joined_samples import Joined
from pytest_audiobench.report.page.rows import CHANGES, PageRow, RowMaker, change_of, is_failure
from pytest_audiobench.report.page.sounds import PageSounds

BUDGET_BYTES = 15_000_000
"""The most that a page takes besides chosen audio: a browser opens it within two seconds, and it can be mailed."""
EXAMPLES = 3
"""Of each class of failures, so many answers are embedded before other wrong ones."""
CHUNK_BYTES = 300_000
"""Samples are parsed this much at a time, when one of them is looked at."""
LARGEST_ROW_BYTES = 150_000
SHORT_TEXT = 300
"""Characters of each text of a sample that is larger than ``LARGEST_ROW_BYTES``."""

RANKS = ("became worse", "became better", "are examples of failures", "failed", "are the rest")
"""Why a sample is embedded, the most wanted first."""

_INDEX_BYTES = 40
"""A row's entries in the lists that are filtered by, in addition to its id."""
_REFERENCE_BYTES = 8
_MEASURED = 500
"""Rows whose size tells how many will fit."""
_MARGIN = 1.2
_PLENTY = 3
"""The rank from which on samples are many."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Place(NamedTuple):
    """Where a sample stands among those of the page."""

    rank: int
    """Why it is wanted, by ``RANKS``."""
    nth: int
    """Its number among the item's of this rank."""
    item: int
    number: int
    """Its number among all of the item's."""

    @property
    def order(self) -> tuple[int, int, int]:
        """The order of the list: what became worse, what became better, then the run's order."""
        return min(self.rank, 2), self.item, self.number


@dataclass
class PageSamples:
    """The samples of a page: ``index`` is what they are filtered by, ``elements`` what their cards show."""

    rows: list[tuple[Place, PageRow]]
    """Best first."""
    owners: Sequence[tuple[str, str]]
    """Eval and model of each item."""
    totals: Mapping[int, int]
    by_rank: Mapping[int, int]
    """All samples of the run by rank, on the page or not."""

    def index(self, sounds: PageSounds) -> dict[str, Any]:
        """As rows.js takes it apart: by numbers into lists of what may be chosen."""
        wordings, groups, kinds, orders = (Numbered() for _ in range(4))
        rows = [
            [
                place.item,
                row.sample_id,
                row.epoch,
                len(CHANGES) if row.is_lost else CHANGES.index(row.change),
                wordings.of(_encode([FAILURES.index(name) for name in row.wording])),
                groups.of(row.groups),
                [kinds.of(kind) for kind in row.kinds],
                *([[orders.of(_encode(name)), number] for name, number in row.orders]),
            ]
            for place, row in self.rows
        ]
        ranks = Counter(place.rank for place, _ in self.rows)
        items = Counter(place.item for place, _ in self.rows)
        return {
            "rows": rows,
            "wordings": wordings.values,
            "groups": groups.values,
            "kinds": kinds.values,
            "orders": orders.values,
            "items": [[item, total, items[item]] for item, total in sorted(self.totals.items())],
            "ranks": [[why, self.by_rank.get(rank, 0), ranks[rank]] for rank, why in enumerate(RANKS)],
            "sounds": [
                [number, *sound]
                for number, (place, row) in enumerate(self.rows)
                for sound in sounds.of.get((*self.owners[place.item], row.sample_id), ())
            ],
            "sound_note": sounds.note,
        }

    def elements(self) -> Iterator[tuple[str, str]]:
        """Script elements that hold what cards show, in pieces: the attributes and the JSON text of each.

        The first is the list of what several samples share; the others are lists of rows, in the order of the index,
        in which a number in place of a field is a place in the first.
        """
        uses = Counter(field for _, row in self.rows for field in row.fields)
        shared = {text: number for number, text in enumerate(t for t, n in uses.items() if n > 1 and len(t) > 4)}
        yield 'type="application/json" id="shared"', f"[{','.join(shared)}]"
        rows: list[str] = []
        size = 0
        for number, (_, row) in enumerate(self.rows, start=1):
            rows.append(f"[{','.join(str(shared[text]) if text in shared else text for text in row.fields)}]")
            size += len(rows[-1])
            if size > CHUNK_BYTES or number == len(self.rows):
                yield f'type="application/json" class="rows" data-from="{number - len(rows)}"', f"[{','.join(rows)}]"
                rows, size = [], 0


def page_samples(samples: Iterable[Joined], items: Sequence[ItemRecord], budget_bytes: int) -> PageSamples:
    """The samples that fit into ``budget_bytes``, by ``RANKS``; within one, every item gives as many as another."""
    places = {_owner(item): number for number, item in reversed(list(enumerate(items)))}
    totals: Counter[int] = Counter()
    for item in items:
        if item.n:
            totals[places[_owner(item)]] += item.n * item.epochs
    selection = _Selection(budget_bytes, list(totals.values()))
    ranking: _Ranking | None = None
    for sample in samples:
        number = places.get(_owner(sample.predictions[0]), -1)
        if number < 0:
            continue
        if ranking is None or ranking.item != number:
            ranking = _Ranking(number, items[number])
        place = ranking.place(sample)
        if selection.has_room_for(place):
            selection.add(place, ranking.row(sample))
    return PageSamples(selection.in_order(), [_owner(item) for item in items], totals, dict(selection.by_rank))


def bytes_on_page(text: str) -> int:
    """Bytes of ``text`` on the page, where signs of markup are written as escapes of six characters."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return size + 5 * (text.count("<") + text.count(">") + text.count("&"))


class _Ranking:
    def __init__(self, item_number: int, item: ItemRecord) -> None:
        self.item = item_number
        self._examples_left = {failure.name: min(EXAMPLES, failure.answers) for failure in failure_classes(item)}
        self._maker, self._short = RowMaker(item), RowMaker(item, SHORT_TEXT)
        self._nth: Counter[int] = Counter()
        self._count = 0

    def place(self, sample: Joined) -> Place:
        rank = self._rank(sample)
        self._nth[rank] += 1
        self._count += 1
        return Place(rank, self._nth[rank], self.item, self._count)

    def row(self, sample: Joined) -> PageRow:
        row = self._maker.row(sample)
        return self._short.row(sample) if sum(map(len, row.fields)) > LARGEST_ROW_BYTES else row

    def _rank(self, sample: Joined) -> int:
        change = change_of(sample)
        if change in ("worse", "better"):
            return CHANGES.index(change) - 1
        failures = sample.scored[0].failures if sample.scored else ()
        shows = [name for name in failures if self._examples_left.get(name)]
        for name in shows:
            self._examples_left[name] -= 1
        return 2 if shows else 3 if is_failure(sample) else 4


class _Selection:
    """The best rows so far, within a budget: when it is exceeded the least wanted go.

    ``totals`` are the samples of each item. What could hardly stay is not taken: of a hundred thousand samples, making
    a row of each would take longer than all else.
    """

    def __init__(self, budget_bytes: int, totals: Sequence[int]) -> None:
        self._budget, self._totals, self._most = budget_bytes, totals, sum(totals)
        self._left = budget_bytes
        self._heap: list[tuple[tuple[int, ...], Place, PageRow]] = []
        self._uses: Counter[str] = Counter()
        self._is_full = False
        self.by_rank: Counter[int] = Counter()

    def has_room_for(self, place: Place) -> bool:
        self.by_rank[place.rank] += 1
        if place.rank >= _PLENTY and place.nth > self._most:
            return False
        return not self._is_full or not self._heap or place < self._heap[0][1]

    def add(self, place: Place, row: PageRow) -> None:
        # The heap's first is the least wanted.
        heapq.heappush(self._heap, (tuple(-number for number in place), place, row))
        self._left -= self._cost(row, 1)
        if len(self._heap) == _MEASURED:
            capacity = _MARGIN * _MEASURED * self._budget / max(1, self._budget - self._left)
            self._most = _evenly(self._totals, int(capacity))
        while self._left < 0 and self._heap:
            self._is_full = True
            self._left += self._cost(heapq.heappop(self._heap)[2], -1)

    def in_order(self) -> list[tuple[Place, PageRow]]:
        return sorted(((place, row) for _, place, row in self._heap), key=lambda entry: entry[0].order)

    def _cost(self, row: PageRow, by: int) -> int:
        """What ``row`` adds to the page, or what goes with it: a text that several rows share is there once."""
        cost = _INDEX_BYTES + bytes_on_page(row.sample_id)
        for text in (*row.fields, row.groups):
            before = self._uses[text]
            self._uses[text] += by
            is_shared = before > (0 if by > 0 else 1)
            cost += _REFERENCE_BYTES + (0 if is_shared else bytes_on_page(text))
            if not self._uses[text]:
                del self._uses[text]
        return cost


def _evenly(totals: Sequence[int], capacity: int) -> int:
    """How many of each item may be taken so that all together are ``capacity``, where some have fewer."""
    left = capacity
    for waiting, total in zip(range(len(totals), 0, -1), sorted(totals), strict=True):
        if total * waiting > left:
            return left // waiting
        left -= total
    return max(totals, default=0)


class Numbered:
    """Texts that many places share, each once: its number stands for it."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}

    def of(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    @property
    def values(self) -> list[Any]:
        return [json.loads(text) for text in self.texts]


def _owner(record: ItemRecord | PredictionRow) -> tuple[str, str]:
    return record.eval, record.model
