"""Which requests sit in one batch: a property of the data, never of the run.

The unit of planning is the requests of one stage, one selection, one model and one epoch. A sample's *window* is the
top bits of the SHA-256 of its id; within a window, requests sort by (duration bucket, that hash), and batches are cut
at the adapter's limits and at bucket edges. Since outputs of real models change with the batch they sit in, this is
what makes a run that was selected with ``-k``, limited, spread over workers, or killed and resumed equal to a whole
one. Nothing of it depends on the model or the epoch: two checkpoints, and two epochs, are asked in the same batches.
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
from pytest_audiobench.models.model import Limits

WINDOW_SAMPLES = 32
"""Windows hold 32 to 64 samples on average: a few batches, and the grain of a limited run."""


Hashes: TypeAlias = Sequence[bytes] | npt.NDArray[np.bytes_]
"""Those of samples, of 32 bytes each."""
_ID_BYTES = 16
"""Of an id's hash in a plan: no two ids have them in common, and they have the order of the whole."""
Positions: TypeAlias = Sequence[int] | npt.NDArray[np.intp]


class PlannedRequest(NamedTuple):
    """A request as the plan sees it: the bucket of its duration, the window of its sample, the hash of its id."""

    key: bytes
    bucket: int
    window: int
    duration_s: float
    id_hash: bytes


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
        self._buckets, self._windows, self._durations = array("h"), array("I"), array("d")
        for request in requests:
            self.append(request)

    def append(self, request: PlannedRequest) -> None:
        self.keys.append(request.key)
        self._id_hashes.append(request.id_hash[:_ID_BYTES])
        self._buckets.append(request.bucket)
        self._windows.append(request.window)
        self._durations.append(request.duration_s)

    def __len__(self) -> int:
        return len(self.keys)

    def element(self, place: int) -> PlannedRequest:
        return PlannedRequest(
            self.keys[place], self._buckets[place], self._windows[place], self._durations[place], self._id_hashes[place]
        )


def sample_hash(sample_id: str) -> bytes:
    """The SHA-256 of a sample's id: the order in which a limited run takes samples."""
    return hashlib.sha256(sample_id.encode()).digest()


def window_bits(slice_size: int) -> int:
    """How many top bits name a window in a slice of ``slice_size`` samples."""
    return max(0, int(math.log2(slice_size / WINDOW_SAMPLES))) if slice_size > WINDOW_SAMPLES else 0


def window_of(id_hash: bytes, bits: int) -> int:
    return int.from_bytes(id_hash[:4], "big") >> (32 - bits)


def duration_bucket(duration_s: float | None) -> int:
    """0 for unknown or up to one second, then one bucket for each doubling."""
    return 0 if duration_s is None or duration_s <= 1.0 else math.ceil(math.log2(duration_s))


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
    """The positions of ``requests``, cut into batches by window and duration."""
    places = (r.window.to_bytes(4, "big") + r.bucket.to_bytes(2, "big") + r.id_hash for r in requests)
    order = np.argsort(np.fromiter(places, dtype="S38", count=len(requests)), kind="stable")
    batches: list[array[int]] = []
    seconds, edge = 0.0, None
    for position in map(int, order):
        request = requests[position]
        here = (request.window, request.bucket)
        full = bool(batches) and (
            len(batches[-1]) >= limits.max_batch or seconds + request.duration_s > limits.max_batch_s
        )
        if here != edge or full:
            batches.append(array("I"))
            seconds, edge = 0.0, here
        batches[-1].append(position)
        seconds += request.duration_s
    return batches


def full_batches(positions: Sequence[int], requests: Sequence[PlannedRequest], limits: Limits) -> list[array[int]]:
    """``positions`` in batches as full as the limits allow, for models whose batches are nobody's business."""
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
