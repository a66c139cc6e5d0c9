"""Batches belong to the data: what is chosen, limited or asked before does not change them."""

import hashlib
import random as randomness
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.audio.clip import ArraySource, Clip
from pytest_audiobench.evaluation.batch_plan import (
    WINDOW_SAMPLES,
    PlannedRequest,
    answer_key,
    batch_key,
    fill,
    full_batches,
    limited_positions,
    planned_batches,
    planned_request,
    sample_hash,
    window_bits,
    window_of,
)
from pytest_audiobench.models.messages import AudioSlot, Message, Request, Settings
from pytest_audiobench.models.model import Limits

ids = st.lists(st.text(min_size=1, max_size=8).filter(str.isprintable), min_size=1, max_size=300, unique=True)
durations = st.sampled_from([None, 0.3, 1.0, 1.5, 4.0, 29.0, 300.0])


def plan_of(names, lengths, bits, chosen):
    return [
        PlannedRequest(
            hashlib.sha256(names[i].encode()).digest(),
            window_of(sample_hash(names[i]), bits),
            lengths[i] or 0.0,
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


sized = st.lists(st.tuples(st.integers(0, 3), st.floats(0.0, 40.0), st.floats(0.0, 10.0)), max_size=80)
"""Window, seconds of audio and seconds of text of some requests."""


def sized_requests(each):
    return [
        PlannedRequest(i.to_bytes(32, "big"), window, length, length + text, hashlib.sha256(bytes([i])).digest())
        for i, (window, length, text) in enumerate(each)
    ]


@given(sized, st.integers(1, 12), st.floats(1.0, 100.0))
def test_every_request_is_in_one_batch_which_keeps_to_the_limits_as_it_is_filled_up(each, max_batch, max_batch_s):
    requests = sized_requests(each)
    cut = planned_batches(requests, Limits(max_batch=max_batch, max_batch_s=max_batch_s))
    assert sorted(i for batch in cut for i in batch) == list(range(len(requests)))
    for batch in cut:
        assert 1 <= len(batch) <= max_batch
        assert len(batch) == 1 or len(batch) * max(requests[i].size_s for i in batch) <= max_batch_s
        assert len({requests[i].window for i in batch}) == 1


@given(sized, st.sets(st.integers(0, 3)), st.randoms())
def test_what_is_asked_of_other_windows_and_in_which_order_changes_no_batch(each, chosen, random):
    limits = Limits(max_batch=5, max_batch_s=60.0)

    def batches(requests):
        return [tuple(requests[i].key for i in batch) for batch in planned_batches(requests, limits)]

    requests = sized_requests(each)
    windows = {request.key: request.window for request in requests}
    part = [request for request in requests if request.window in chosen]
    random.shuffle(part)
    assert batches(part) == [batch for batch in batches(requests) if windows[batch[0]] in chosen]


@given(sized, st.integers(1, 9))
def test_within_a_window_no_batch_ends_before_it_is_full(each, max_batch):
    requests = sized_requests(each)
    cut = planned_batches(requests, Limits(max_batch=max_batch, max_batch_s=50.0))
    for batch, following in pairwise(cut):
        if requests[batch[0]].window == requests[following[0]].window:
            largest = max(requests[i].size_s for i in batch)
            assert len(batch) == max_batch or (len(batch) + 1) * (largest + 0.1) > 50.0


@pytest.mark.parametrize("size", [3_000, 10_000])
@pytest.mark.parametrize(
    "limits",
    [
        Limits(max_batch=16, max_batch_s=480.0),
        Limits(max_batch=64, max_batch_s=480.0),
        Limits(max_batch=64, max_batch_s=1920.0),
        Limits(max_batch=64, max_batch_s=1920.0, pads_to_s=30.0),
    ],
    ids=["16", "64 and seconds", "64", "64 filled up"],
)
def test_clips_of_one_to_thirty_seconds_fill_nine_tenths_of_what_a_batch_may_hold(size, limits):
    random = randomness.Random(0)
    bits = window_bits(size)
    hashes = [sample_hash(f"clip-{i}") for i in range(size)]
    lengths = [min(30.0, max(1.0, random.lognormvariate(1.8, 0.7))) for _ in hashes]
    requests = [
        PlannedRequest(hashed, window_of(hashed, bits), length, limits.pads_to_s or length, hashed)
        for hashed, length in zip(hashes, lengths, strict=True)
    ]
    cut = [[requests[i] for i in batch] for batch in planned_batches(requests, limits)]
    filled = [max(len(batch) / limits.max_batch, fill(batch, limits)) for batch in cut]
    assert sum(filled) / len(filled) >= 0.9
    if limits.pads_to_s is None and size == 10_000:
        computed = sum(len(batch) * max(request.duration_s for request in batch) for batch in cut)
        assert 1 - sum(lengths) / computed <= 0.25


def test_the_fill_of_a_batch_is_the_share_of_its_seconds_that_are_taken_up():
    requests = requests_of(2.0, 1.0, 1.0)
    assert fill(requests, Limits(max_batch_s=12.0)) == 0.5
    assert fill(requests, Limits(max_batch_s=1.0)) == 1.0


def a_request(*lengths, text="", task="open"):
    parts = (*(AudioSlot(i) for i in range(len(lengths))), text)
    clips = tuple(Clip(ArraySource.of([0.0], 16_000)) for _ in lengths)
    return Request("ab" * 32, "d", "s", "answer", task, (Message("user", parts),), clips, (), Settings())


def planned(*lengths, limits, text="", task="open"):
    return planned_request(a_request(*lengths, text=text, task=task), lengths, 3, limits)


def test_a_requests_size_is_its_clips_as_they_are_filled_up_and_its_text():
    text = "x" * 250
    plain = planned(4.0, 40.0, limits=Limits(max_clip_s=30.0), text=text)
    assert (plain.window, plain.duration_s, plain.size_s) == (3, 34.0, 36.5)
    assert plain.id_hash == sample_hash("s")
    filled = planned(4.0, 40.0, limits=Limits(max_clip_s=30.0, pads_to_s=30.0), text=text)
    assert (filled.duration_s, filled.size_s) == (34.0, 62.5)
    several = planned(70.0, limits=Limits(max_clip_s=600.0, pads_to_s=30.0))
    assert (several.duration_s, several.size_s) == (70.0, 90.0)


def test_what_is_cut_into_pieces_counts_whole_and_what_is_unknown_not_at_all():
    limits = Limits(max_clip_s=30.0, chunked_tasks=("transcription",))
    assert planned(95.0, limits=limits, task="transcription").duration_s == 95.0
    assert planned(None, 5.0, limits=limits).duration_s == 5.0
    # Who is played nothing is asked about a sample whose clips have lengths all the same.
    assert planned_request(a_request(text="x" * 30), (9.0,), 0, limits)[2:4] == (0.0, 0.3)


def test_without_planned_batches_a_limit_is_exact():
    hashes = [sample_hash(str(i)) for i in range(500)]
    chosen = limited_positions(hashes, 10, whole_windows=False)
    assert [hashes[i] for i in chosen] == sorted(hashes)[:10]


def test_windows_double_from_the_first_to_the_largest():
    names = [sample_hash(str(i)) for i in range(20_000)]
    bits = window_bits(len(names))
    windows = [window_of(hashed, bits) for hashed in sorted(names)]
    assert windows == sorted(windows)
    sizes = [windows.count(window) for window in range(max(windows) + 1)]
    part = len(names) / 2**bits
    assert 32 <= part < 64
    assert len(sizes) == 5 + 2**bits // 16 - 1
    for size, parts in zip(sizes, [1, 1, 2, 4, 8, *[16] * len(sizes)], strict=False):
        assert abs(size - parts * part) < 5 * (parts * part) ** 0.5


seconds = st.floats(0.0, 40.0)


def requests_of(*lengths, window=0):
    """Requests of these lengths that come in this order, all in one window."""
    return [
        PlannedRequest(bytes([i]) * 32, window, length, length, i.to_bytes(32, "big"))
        for i, length in enumerate(lengths)
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
    assert fill([], limits) == []


def test_what_is_longer_than_a_batch_may_be_is_asked_by_itself():
    limits = Limits(max_batch=8, max_batch_s=6.0)
    requests = requests_of(1.0, 50.0, 1.0, 1.0)
    assert [list(batch) for batch in planned_batches(requests, limits)] == [[1], [0, 2, 3]]
    assert [list(batch) for batch in full_batches(range(4), requests, limits)] == [[0], [1], [2, 3]]
    assert [list(batch) for batch in full_batches(range(2), requests_of(50.0, 1.0), limits)] == [[0], [1]]


def test_batches_without_a_plan_count_the_seconds_that_are_played():
    limits = Limits(max_batch=3, max_batch_s=6.0)
    assert sizes(full_batches(range(5), requests_of(5.0, 1.0, 5.0, 1.0, 1.0), limits)) == [2, 2, 1]


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


def test_a_planned_batch_ends_where_a_window_does_and_begins_with_the_largest():
    def request(window, size, hashed, length=1.0):
        return PlannedRequest(bytes([hashed]) * 32, window, length, size, bytes([hashed]))

    requests = [
        request(1, 1.0, 9),
        request(0, 3.0, 2),
        request(0, 0.5, 3),
        request(0, 4.0, 1),
        request(1, 1.0, 8),
        request(1, 1.0, 10, length=2.0),
    ]
    assert [list(batch) for batch in planned_batches(requests, Limits())] == [[3, 1, 2], [5, 4, 0]]


def test_a_window_follows_from_the_top_bits_of_a_samples_hash():
    assert window_of(b"\xff" * 32, 0) == 0
    assert window_of(b"\x80" + bytes(31), 1) == 1
    assert window_of(b"\x7f" + b"\xff" * 31, 1) == 0
    parts = [window_of(bytes([part << 3]) + bytes(31), 5) for part in range(32)]
    assert parts == [0, 1, 2, 2, *[3] * 4, *[4] * 8, *[5] * 16]


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
    hashes = [sample_hash(str(i)) for i in range(300)]
    windows = [window_of(hashed, window_bits(300)) for hashed in sorted(hashes)]
    assert len(set(windows)) == 4
    for limit in range(1, 300):
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
