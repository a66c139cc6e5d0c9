"""Which requests sit in one batch: a property of the data, never of the run.

The unit of planning is the requests of one stage, one selection, one model and one epoch. A sample's *window* follows
from the top bits of the SHA-256 of its id; within a window, requests sort by size, the largest first, and batches are
cut at the adapter's limits. Since outputs of real models change with the batch they sit in, this is what makes a run
that was selected with ``-k``, limited, spread over workers, or killed and resumed equal to a whole one. Windows depend
on the data alone, batches on the data and the limits: two checkpoints with the same limits, and two epochs, are asked
in the same batches.
"""

from __future__ import annotations

import hashlib
import math
from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.datasets.spool import LazySequence
from pytest_audiobench.models.messages import Request
from pytest_audiobench.models.model import Limits

PLAN = "2"
"""The version of these rules: part of the identity of every model whose batches are planned."""
WINDOW_SAMPLES = 32
"""The first windows hold 32 to 64 samples on average: the grain of a run that is limited to little."""
_MOST_PARTS = 16
"""The largest windows are as large as so many of the first: a window's last batch, which is not full, is one of many,
and a run that is limited to thousands asks not far more of them."""
CHARACTERS_PER_S = 100
"""So much of a prompt's text counts as a second of audio: 25 tokens of either, as most encoders have it."""
_TENTHS = 10
"""Sizes count by tenths of a second, so that the last digits of a header's length decide nothing."""
_LARGEST = 2**32 - 1

Hashes: TypeAlias = Sequence[bytes] | npt.NDArray[np.bytes_]
"""Those of samples, of 32 bytes each."""
_ID_BYTES = 16
"""Of an id's hash in a plan: no two ids have them in common, and they have the order of the whole."""
Positions: TypeAlias = Sequence[int] | npt.NDArray[np.intp]


class PlannedRequest(NamedTuple):
    """A request as the plan sees it."""

    key: bytes
    window: int
    """Its sample's."""
    duration_s: float
    """What is played of its clips, added up; 0 for what is unknown."""
    size_s: float
    """The same as the front end fills it up, and its text as seconds: what a batch has room for."""
    id_hash: bytes
    """Of its sample's id."""


class Digests(LazySequence[bytes]):
    """Digests of ``size`` bytes each, without an object for each: of a million they would be most of a plan."""

    def __init__(self, digests: Iterable[bytes] = (), size: int = 32) -> None:
        self._size = size
        self._content = bytearray()
        for digest in digests:
            self.append(digest)

    def append(self, digest: bytes) -> None:
        self._content += digest

    def __len__(self) -> int:
        return len(self._content) // self._size

    def element(self, place: int) -> bytes:
        start = place * self._size
        return bytes(self._content[start : start + self._size])

    def __setitem__(self, position: int, digest: bytes) -> None:
        self._content[position * self._size : (position + 1) * self._size] = digest

    def beginnings(self) -> npt.NDArray[np.uint64]:
        """The first eight bytes of each, as numbers."""
        return np.frombuffer(self._content, dtype="u8")[:: self._size // 8].copy()

    def first_of_each(self) -> Sequence[int]:
        """Where each digest stands first, ascending."""
        beginnings = np.sort(self.beginnings())
        if not (beginnings[1:] == beginnings[:-1]).any():  # so it is nearly always, and little memory is taken
            return range(len(self))
        _, first = np.unique(np.frombuffer(self._content, dtype=f"S{self._size}"), return_index=True)
        return array("I", sorted(first.tolist()))


class PlannedRequests(LazySequence[PlannedRequest]):
    """Requests as the plan sees them, in arrays."""

    def __init__(self, requests: Iterable[PlannedRequest] = ()) -> None:
        self.keys, self._id_hashes = Digests(), Digests(size=_ID_BYTES)
        self._windows, self._durations, self._sizes = array("I"), array("d"), array("d")
        for request in requests:
            self.append(request)

    def append(self, request: PlannedRequest) -> None:
        self.keys.append(request.key)
        self._id_hashes.append(request.id_hash[:_ID_BYTES])
        self._windows.append(request.window)
        self._durations.append(request.duration_s)
        self._sizes.append(request.size_s)

    def __len__(self) -> int:
        return len(self.keys)

    def element(self, place: int) -> PlannedRequest:
        key, id_hash = self.keys.element(place), self._id_hashes.element(place)
        return PlannedRequest(key, self._windows[place], self._durations[place], self._sizes[place], id_hash)


def sample_hash(sample_id: str) -> bytes:
    """The SHA-256 of a sample's id: the order in which a limited run takes samples."""
    return hashlib.sha256(sample_id.encode()).digest()


def window_bits(slice_size: int) -> int:
    """How many top bits tell the parts of a slice of ``slice_size`` samples apart, of which windows are made."""
    return max(0, int(math.log2(slice_size / WINDOW_SAMPLES))) if slice_size > WINDOW_SAMPLES else 0


def window_of(id_hash: bytes, bits: int) -> int:
    """The number of a sample's window. In hash order windows are of 1, 1, 2, 4, 8, 16, 16, … parts: a run that is
    limited to little asks little more, and of a large one nearly all is in windows large enough for full batches.
    """
    part = int.from_bytes(id_hash[:4], "big") >> (32 - bits)
    return part.bit_length() if part < _MOST_PARTS else _MOST_PARTS.bit_length() + part // _MOST_PARTS - 1


def planned_request(
    request: Request, durations_s: Iterable[float | None], window: int, limits: Limits
) -> PlannedRequest:
    """``request`` as the plan sees it; ``durations_s`` are those of its clips, None where unknown."""
    longest_s, pads_to_s = limits.window_s(request.task) or math.inf, limits.pads_to_s
    played_s = [min(each or 0.0, longest_s) for each in durations_s] if request.clips else []
    filled_s = [pads_to_s * max(1, math.ceil(each / pads_to_s)) for each in played_s] if pads_to_s else played_s
    text = sum(len(part) for message in request.messages for part in message.parts if isinstance(part, str))
    return PlannedRequest(
        key=bytes.fromhex(request.key),
        window=window,
        duration_s=sum(played_s),
        size_s=sum(filled_s) + text / CHARACTERS_PER_S,
        id_hash=sample_hash(request.sample_id),
    )


def packed_hashes(sample_ids: Iterable[str]) -> Hashes:
    """The samples' hashes: of a million of them, as objects, most of a plan's memory would be."""
    return np.fromiter(map(sample_hash, sample_ids), dtype="S32")


def hash_order(hashes: Hashes) -> npt.NDArray[np.intp]:
    """The positions of all samples in the order of their hashes."""
    return np.argsort(np.asarray(hashes, dtype="S32"), kind="stable")


def first_repeated(hashes: Hashes, order: npt.NDArray[np.intp]) -> int | None:
    """The first position whose hash another has too; ``order`` is the :func:`hash_order`."""
    ordered = np.asarray(hashes, dtype="S32")[order]
    repeated = np.flatnonzero(ordered[1:] == ordered[:-1])
    return min((int(order[position]) for position in repeated), default=None)


def limited_positions(
    hashes: Hashes, limit: int | None, whole_windows: bool, order: npt.NDArray[np.intp] | None = None
) -> Positions:
    """The positions of the samples that a run takes, in hash order: all without a limit, else the first ``limit``, with
    ``whole_windows`` (where batches are planned) to the end of the last one's window, so that batches are a full run's.
    ``order`` is the :func:`hash_order` where that is known.
    """
    order = hash_order(hashes).tolist() if order is None else order
    if limit is None or limit >= len(order):
        return order
    end = limit
    if whole_windows:
        bits = window_bits(len(order))
        last = window_of(hashes[order[limit - 1]], bits)
        while end < len(order) and window_of(hashes[order[end]], bits) == last:
            end += 1
    return order[:end]


def planned_batches(requests: Sequence[PlannedRequest], limits: Limits) -> list[array[int]]:
    """The positions of ``requests``, cut into batches by window and size: each is as large as the largest next to it,
    which comes first, so that a window's last batch, which may not be full, holds the smallest.
    """
    places = (
        r.window.to_bytes(4, "big") + _descending(r.size_s) + _descending(r.duration_s) + r.id_hash for r in requests
    )
    order = np.argsort(np.fromiter(places, dtype="S44", count=len(requests)), kind="stable")
    batches: list[array[int]] = []
    largest, window = 0, -1
    for position in map(int, order):
        request = requests[position]
        full = bool(batches) and (
            len(batches[-1]) >= limits.max_batch or (len(batches[-1]) + 1) * largest > limits.max_batch_s * _TENTHS
        )
        if request.window != window or full:
            batches.append(array("I"))
            largest, window = _tenths(request.size_s), request.window
        batches[-1].append(position)
    return batches


def fill(batch: Sequence[PlannedRequest], limits: Limits) -> float:
    """How much of the seconds that the limits allow a batch takes up, from 0 to 1."""
    return min(1.0, len(batch) * max(request.size_s for request in batch) / limits.max_batch_s)


def _tenths(seconds: float) -> int:
    return min(math.ceil(seconds * _TENTHS), _LARGEST)


def _descending(seconds: float) -> bytes:
    return (_LARGEST - _tenths(seconds)).to_bytes(4, "big")


def full_batches(positions: Sequence[int], requests: Sequence[PlannedRequest], limits: Limits) -> list[array[int]]:
    """``positions`` in batches as full as the limits allow, for models whose batches are not planned."""
    batches: list[array[int]] = []
    seconds = 0.0
    for position in positions:
        seconds += requests[position].duration_s
        if not batches or len(batches[-1]) >= limits.max_batch or seconds > limits.max_batch_s:
            batches.append(array("I"))
            seconds = requests[position].duration_s
        batches[-1].append(position)
    return batches


def batch_key(keys: Sequence[bytes]) -> bytes:
    """A batch's identity: the keys of its requests, in order."""
    return hashlib.sha256(b"".join(keys)).digest()


def answer_key(request_key: bytes, batch: bytes) -> bytes:
    """The identity of the answer to a request within a planned batch."""
    return hashlib.sha256(request_key + batch).digest()
