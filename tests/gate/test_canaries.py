"""Canaries against noise floors: what may differ, and what refutes the floor."""

import pytest
from scipy.stats import binom

from pytest_audiobench.gate.canaries import LEAST_FLOOR, canary_records, refuted
from pytest_audiobench.records.run import AskingRecord, ItemRecord, ModelRecord, NoiseRecord


def model(alias="m", same_answers=None, role="subject"):
    noise = None if same_answers is None else NoiseRecord(same_answers=same_answers, score_shift=0.0, measured=[])
    return ModelRecord(
        alias=alias,
        spec="openai:m",
        role=role,
        batching="opaque",
        device="server",
        fingerprint={},
        heard="",
        batches="",
        hearing=None,
        noise=noise,
    )


def item(alias="m", judges=(), **asking):
    return ItemRecord(
        index=0, nodeid="t", eval="t", suite="t", model=alias, asking=AskingRecord(**asking), judges=dict(judges)
    )


def canary(asked, differing, same_answers=None):
    records = list(canary_records([item(canaries=asked, differing=differing)], [model(same_answers=same_answers)]))
    return records[0], bool(list(refuted(records)))


@pytest.mark.parametrize(("asked", "allowed"), [(60, 4), (40, 3), (10, 2), (2, 1), (1, 0)])
def test_without_a_measured_noise_floor_two_in_a_hundred_may_differ(asked, allowed):
    record, fails = canary(asked, allowed)
    assert (record.floor, record.allowed, fails) == (LEAST_FLOOR, allowed, False)
    record, fails = canary(asked, allowed + 1)
    assert fails
    assert record.p == pytest.approx(binom.sf(allowed, asked, LEAST_FLOOR), rel=1e-12)


def test_a_model_whose_noise_was_measured_may_differ_as_much_as_it_does_from_itself():
    assert canary(60, 10, same_answers=0.9)[0].allowed == binom.isf(0.01, 60, 0.1) == 12
    assert not canary(60, 12, same_answers=0.9)[1]
    assert canary(60, 13, same_answers=0.9)[1]


def test_a_model_that_never_repeats_itself_fails_where_nothing_is_the_same():
    assert canary(60, 60, same_answers=0.0)[1]
    assert not canary(60, 59, same_answers=0.0)[1]


def test_a_model_that_always_repeated_itself_has_the_least_floor_all_the_same():
    assert canary(60, 4, same_answers=1.0)[0].floor == LEAST_FLOOR


def test_the_canaries_of_all_evals_of_a_model_are_one_sample_and_a_judges_are_its_own():
    verdicts = {"judge": AskingRecord(canaries=60, differing=6)}
    items = [item(canaries=30, differing=2), item(canaries=30, differing=2, judges=verdicts), item(alias="other")]
    records = list(canary_records(items, [model(), model("other"), model("judge", role="judge")]))
    assert [(each.model, each.asked, each.differing) for each in records] == [("m", 60, 4), ("judge", 60, 6)]
    (sentence,) = refuted(records)
    assert sentence == (
        "the stored answers of judge are not what it answers now (6 of 60 that were asked again differ, and its noise "
        "explains 4): ask again with --ab-refresh"
    )
