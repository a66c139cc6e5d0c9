"""Batches belong to the data: what is chosen, limited or asked before does not change them."""

import hashlib
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.evaluation.batch_plan import (
    WINDOW_SAMPLES,
    PlannedRequest,
    answer_key,
    batch_key,
    duration_bucket,
    full_batches,
    limited_positions,
    planned_batches,
    sample_hash,
    window_bits,
    window_of,
)
from pytest_audiobench.models.model import Limits

ids = st.lists(st.text(min_size=1, max_size=8).filter(str.isprintable), min_size=1, max_size=300, unique=True)
durations = st.sampled_from([None, 0.3, 1.0, 1.5, 4.0, 29.0, 300.0])


def plan_of(names, lengths, bits, chosen):
    return [
        PlannedRequest(
            hashlib.sha256(names[i].encode()).digest(),
            duration_bucket(lengths[i]),
            window_of(sample_hash(names[i]), bits),
            lengths[i] or 0.0,
            sample_hash(names[i]),
        )
        for i in chosen
    ]


@given(ids, st.data(), st.integers(1, 40), st.integers(1, 400))
@settings(max_examples=60)
def test_a_limited_runs_batches_are_among_the_full_runs(names, data, max_batch, limit):
    lengths = [data.draw(durations) for _ in names]
    limits = Limits(max_batch=max_batch, max_batch_s=60.0)
    bits = window_bits(len(names))
    hashes = [sample_hash(name) for name in names]
    chosen = limited_positions(hashes, limit, whole_windows=True)
    everything = limited_positions(hashes, None, whole_windows=True)
    full = plan_of(names, lengths, bits, everything)
    part = plan_of(names, lengths, bits, chosen)
    full_batches = [tuple(full[i].key for i in batch) for batch in planned_batches(full, limits)]
    part_batches = [tuple(part[i].key for i in batch) for batch in planned_batches(part, limits)]
    assert part_batches == full_batches[: len(part_batches)]
    assert len(chosen) >= min(limit, len(names))


@given(ids, st.randoms())
def test_the_order_of_the_data_does_not_matter(names, random):
    def whole(order):
        requests = plan_of(order, [1.0] * len(order), window_bits(len(order)), range(len(order)))
        return [tuple(requests[i].key for i in batch) for batch in planned_batches(requests, Limits(max_batch=8))]

    shuffled = list(names)
    random.shuffle(shuffled)
    assert whole(names) == whole(shuffled)


@given(ids, st.integers(1, 12), st.floats(1.0, 100.0))
def test_batches_keep_to_the_limits_and_lose_nothing(names, max_batch, max_batch_s):
    requests = plan_of(names, [2.0] * len(names), window_bits(len(names)), range(len(names)))
    cut = planned_batches(requests, Limits(max_batch=max_batch, max_batch_s=max_batch_s))
    assert sorted(i for batch in cut for i in batch) == list(range(len(names)))
    for batch in cut:
        assert len(batch) <= max_batch
        assert len(batch) == 1 or sum(requests[i].duration_s for i in batch) <= max_batch_s
        assert len({(requests[i].window, requests[i].bucket) for i in batch}) == 1


def test_without_planned_batches_a_limit_is_exact():
    hashes = [sample_hash(str(i)) for i in range(500)]
    chosen = limited_positions(hashes, 10, whole_windows=False)
    assert [hashes[i] for i in chosen] == sorted(hashes)[:10]


def test_windows_hold_a_few_batches():
    for size in (40, 100, 500, 1000, 90_000):
        assert size <= 64 or 32 <= size / 2 ** window_bits(size) < 64


def test_duration_buckets_double():
    assert [duration_bucket(s) for s in (None, 0.2, 1.0, 1.1, 2.0, 2.1, 4.0, 30.0)] == [0, 0, 0, 1, 1, 2, 2, 5]


seconds = st.floats(0.0, 40.0)


def requests_of(*lengths, window=0):
    """Requests of these lengths that come in this order, all in one window and, where that is not told, one bucket."""
    return [
        PlannedRequest(bytes([i]) * 32, 0, window, length, i.to_bytes(32, "big")) for i, length in enumerate(lengths)
    ]


def sizes(cut):
    return [len(batch) for batch in cut]


@pytest.mark.parametrize(
    "fill", [planned_batches, lambda requests, limits: full_batches(range(len(requests)), requests, limits)]
)
def test_a_batch_may_be_exactly_as_large_as_its_limits(fill):
    limits = Limits(max_batch=3, max_batch_s=6.0)
    assert sizes(fill(requests_of(*[1.0] * 7), limits)) == [3, 3, 1]
    assert sizes(fill(requests_of(*[3.0] * 5), limits)) == [2, 2, 1]
    assert sizes(fill(requests_of(*[3.5] * 3), limits)) == [1, 1, 1]
    assert sizes(fill(requests_of(5.0, 1.0, 5.0, 1.0, 1.0), limits)) == [2, 2, 1]
    assert fill([], limits) == []


@pytest.mark.parametrize(
    "fill", [planned_batches, lambda requests, limits: full_batches(range(len(requests)), requests, limits)]
)
def test_what_is_longer_than_a_batch_may_be_is_asked_by_itself(fill):
    limits = Limits(max_batch=8, max_batch_s=6.0)
    assert [list(batch) for batch in fill(requests_of(1.0, 50.0, 1.0, 1.0), limits)] == [[0], [1], [2, 3]]
    assert [list(batch) for batch in fill(requests_of(50.0, 1.0), limits)] == [[0], [1]]


@given(st.lists(seconds, max_size=60), st.integers(1, 12), st.floats(1.0, 100.0), st.randoms())
def test_batches_that_are_nobodys_business_are_as_full_as_the_limits_allow(lengths, max_batch, max_batch_s, random):
    requests = requests_of(*lengths)
    positions = random.sample(range(len(lengths)), random.randint(0, len(lengths)))
    cut = full_batches(positions, requests, Limits(max_batch=max_batch, max_batch_s=max_batch_s))
    assert [i for batch in cut for i in batch] == positions
    lengths_of = [sum(lengths[i] for i in batch) for batch in cut]
    for batch, length in zip(cut, lengths_of, strict=True):
        assert 1 <= len(batch) <= max_batch
        assert len(batch) == 1 or length <= max_batch_s * (1 + 1e-9)
    for (batch, following), length in zip(pairwise(cut), lengths_of, strict=False):
        assert len(batch) == max_batch or length + lengths[following[0]] > max_batch_s * (1 - 1e-9)


def test_a_planned_batch_ends_where_a_window_or_a_bucket_does():
    def request(window, length, hashed):
        return PlannedRequest(bytes([hashed]) * 32, duration_bucket(length), window, length, bytes([hashed]))

    requests = [request(1, 1.0, 9), request(0, 3.0, 2), request(0, 0.5, 3), request(0, 4.0, 1), request(1, 1.0, 8)]
    assert [list(batch) for batch in planned_batches(requests, Limits())] == [[2], [3, 1], [4, 0]]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), seconds), max_size=60, unique=True), st.integers(1, 9))
def test_within_a_window_and_a_bucket_no_batch_ends_before_it_is_full(each, max_batch):
    requests = [
        PlannedRequest(bytes(32), bucket, window, length, i.to_bytes(2, "big"))
        for i, (window, bucket, length) in enumerate(each)
    ]
    cut = planned_batches(requests, Limits(max_batch=max_batch, max_batch_s=50.0))
    assert sorted(i for batch in cut for i in batch) == list(range(len(requests)))
    for batch, following in pairwise(cut):
        last, first = requests[batch[-1]], requests[following[0]]
        if (last.window, last.bucket) == (first.window, first.bucket):
            length = sum(requests[i].duration_s for i in batch)
            assert len(batch) == max_batch or length + first.duration_s > 50.0 * (1 - 1e-9)


def test_a_window_is_the_top_bits_of_a_samples_hash():
    assert window_of(b"\xff" * 32, 0) == 0
    assert window_of(b"\x80" + bytes(31), 1) == 1
    assert window_of(b"\x7f" + b"\xff" * 31, 1) == 0
    assert window_of(b"\xa5\xc0" + bytes(30), 10) == 0b1010010111


def test_a_small_slice_is_one_window():
    assert [window_bits(size) for size in (1, WINDOW_SAMPLES, 63, 64, 127, 128)] == [0, 0, 0, 1, 1, 2]


@given(ids, st.integers(1, 400))
def test_a_limited_run_takes_the_first_in_hash_order_and_finishes_its_last_window(names, limit):
    hashes = [sample_hash(name) for name in names]
    bits = window_bits(len(names))
    chosen, exact = (
        limited_positions(hashes, limit, whole_windows=True),
        limited_positions(hashes, limit, whole_windows=False),
    )
    everything = sorted(range(len(names)), key=hashes.__getitem__)
    assert exact == everything[:limit]
    last = window_of(hashes[exact[-1]], bits)
    assert chosen == [i for i in everything if window_of(hashes[i], bits) <= last]


def test_a_limit_that_ends_with_a_window_takes_nothing_of_the_next():
    hashes = [sample_hash(str(i)) for i in range(200)]
    windows = [window_of(hashed, window_bits(200)) for hashed in sorted(hashes)]
    assert len(set(windows)) == 4
    for limit in range(1, 200):
        chosen = len(limited_positions(hashes, limit, whole_windows=True))
        assert chosen == limit + windows[limit:].count(windows[limit - 1])


def test_an_answers_identity_is_its_request_and_its_batch_in_order():
    first, second = bytes(32), b"\x01" * 32
    assert batch_key([first, second]) != batch_key([second, first])
    assert answer_key(first, batch_key([first])) != answer_key(first, batch_key([first, second]))
    assert answer_key(first, second) != answer_key(second, first)
    # Stores that were written by other releases hold these keys.
    assert batch_key([first, second]) == hashlib.sha256(first + second).digest()
    assert answer_key(first, second) == hashlib.sha256(first + second).digest()
