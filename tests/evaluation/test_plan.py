"""Batches belong to the data: what is chosen, limited or asked before does not change them."""

import hashlib

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.evaluation.batching import (
    Planned,
    batches,
    duration_bucket,
    sample_hash,
    taken,
    window_bits,
    window_of,
)
from pytest_audiobench.models.model import Limits

ids = st.lists(st.text(min_size=1, max_size=8).filter(str.isprintable), min_size=1, max_size=300, unique=True)
durations = st.sampled_from([None, 0.3, 1.0, 1.5, 4.0, 29.0, 300.0])


def plan_of(names, lengths, bits, chosen):
    return [
        Planned(
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
    chosen = taken(hashes, limit, whole_windows=True)
    everything = taken(hashes, None, whole_windows=True)
    full = plan_of(names, lengths, bits, everything)
    part = plan_of(names, lengths, bits, chosen)
    full_batches = [tuple(full[i].key for i in batch) for batch in batches(full, limits)]
    part_batches = [tuple(part[i].key for i in batch) for batch in batches(part, limits)]
    assert part_batches == full_batches[: len(part_batches)]
    assert len(chosen) >= min(limit, len(names))


@given(ids, st.randoms())
def test_the_order_of_the_data_does_not_matter(names, random):
    def whole(order):
        requests = plan_of(order, [1.0] * len(order), window_bits(len(order)), range(len(order)))
        return [tuple(requests[i].key for i in batch) for batch in batches(requests, Limits(max_batch=8))]

    shuffled = list(names)
    random.shuffle(shuffled)
    assert whole(names) == whole(shuffled)


@given(ids, st.integers(1, 12), st.floats(1.0, 100.0))
def test_batches_keep_to_the_limits_and_lose_nothing(names, max_batch, max_batch_s):
    requests = plan_of(names, [2.0] * len(names), window_bits(len(names)), range(len(names)))
    cut = batches(requests, Limits(max_batch=max_batch, max_batch_s=max_batch_s))
    assert sorted(i for batch in cut for i in batch) == list(range(len(names)))
    for batch in cut:
        assert len(batch) <= max_batch
        assert len(batch) == 1 or sum(requests[i].duration_s for i in batch) <= max_batch_s
        assert len({(requests[i].window, requests[i].bucket) for i in batch}) == 1


def test_without_planned_batches_a_limit_is_exact():
    hashes = [sample_hash(str(i)) for i in range(500)]
    chosen = taken(hashes, 10, whole_windows=False)
    assert [hashes[i] for i in chosen] == sorted(hashes)[:10]


def test_windows_hold_a_few_batches():
    for size in (40, 100, 500, 1000, 90_000):
        assert size <= 64 or 32 <= size / 2 ** window_bits(size) < 64


def test_duration_buckets_double():
    assert [duration_bucket(s) for s in (None, 0.2, 1.0, 1.1, 2.0, 2.1, 4.0, 30.0)] == [0, 0, 0, 1, 1, 2, 2, 5]
