"""What runs found of a model beside its answers is kept for later runs, and believed only in the expected form."""

import json

import pytest
from msgspec import structs

from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.evaluation.model_handle import (
    ModelHandle,
    store_hearing,
    store_noise,
    stored_hearing,
    stored_noise,
)
from pytest_audiobench.models.model import Hearing
from pytest_audiobench.records.fields import plain
from pytest_audiobench.records.run import NoiseMeasurement, NoiseRecord, NoiseShare

from .meter import Meter


@pytest.fixture
def handle():
    return ModelHandle("m", Meter())


def of_loading(evidence, status="proven"):
    model = Meter()
    model.hearing = Hearing(status, evidence)
    return ModelHandle("m", model)


def test_of_a_model_that_tells_nothing_nothing_is_proven(store, handle):
    status, evidence = stored_hearing(store, handle)
    assert status == "unproven"
    assert "run evals/test_listening.py too" in evidence


def test_what_loading_showed_is_known_in_a_run_that_loads_nothing(store, handle):
    stored_hearing(store, of_loading("two tones told apart"))
    assert stored_hearing(store, handle) == ("proven", "two tones told apart")


def test_loading_alone_may_leave_it_unproven(store):
    assert stored_hearing(store, of_loading("its template drops audio", "unproven")) == (
        "unproven",
        "its template drops audio",
    )


def test_one_proof_is_enough_and_what_failed_to_show_it_is_said(store, handle):
    store_hearing(store, handle, "tones", Hearing("unproven", "no better than without audio"))
    store_hearing(store, handle, "speech", Hearing("proven", "better with the right audio"))
    store_hearing(store, handle, "noise", Hearing("unproven", "too few samples"))
    assert stored_hearing(store, handle) == (
        "proven",
        "better with the right audio; no better than without audio; too few samples",
    )


def test_of_several_proofs_the_last_is_told(store, handle):
    for data in ("tones", "speech"):
        store_hearing(store, handle, data, Hearing("proven", f"by {data}"))
    assert stored_hearing(store, handle) == ("proven", "by speech")


def test_doubts_without_a_proof_are_all_told(store, handle):
    for data in ("tones", "speech"):
        store_hearing(store, handle, data, Hearing("unproven", f"not by {data}"))
    assert stored_hearing(store, handle) == ("unproven", "not by tones; not by speech")


def test_a_later_eval_of_the_same_data_replaces_what_was_known_by_it(store, handle):
    store_hearing(store, handle, "tones", Hearing("proven", "then"))
    store_hearing(store, handle, "tones", Hearing("unproven", "now"))
    assert stored_hearing(store, handle) == ("unproven", "now")


def test_what_is_known_is_of_exactly_this_model(store, handle):
    store_hearing(store, handle, "tones", Hearing("proven", "heard"))
    store_noise(store, handle, measurement())
    other = ModelHandle("m", Meter(name="other"))
    assert stored_hearing(store, other).status == "unproven"
    assert stored_noise(store, other) is None


def test_evidence_is_kept_in_few_words(store, handle):
    store_hearing(store, handle, "tones", Hearing("proven", "x" * 1000))
    assert stored_hearing(store, handle).evidence == "x" * 500


def test_evidence_of_another_store_is_cut_too(store, handle):
    store.keep_note(f"hearing:{handle.digest}:tones", json.dumps(["proven", "x" * 1000]))
    assert stored_hearing(store, handle).evidence == "x" * 500


def test_what_is_known_already_is_not_written_again(tmp_path, handle):
    with Store(tmp_path / "team", "one") as team:
        store_hearing(team, handle, "tones", Hearing("proven", "heard"))
    with Store(tmp_path / "mine", "two", extras=[tmp_path / "team"]) as mine:
        store_hearing(mine, handle, "tones", Hearing("proven", "heard"))
    with Store(tmp_path / "mine", "three") as mine:
        assert mine.notes("hearing:") == []


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "3", '"proven"', "[]", '["proven"]', '["proven", "a", "b"]', '["surely", "a"]', "[" * 100_000],
)
def test_a_note_of_another_form_proves_nothing(store, handle, text):
    store.keep_note(f"hearing:{handle.digest}:tones", text[:65536])
    assert stored_hearing(store, handle).status == "unproven"
    store.keep_note(f"noise:{handle.digest}:tones", text[:65536])
    assert stored_noise(store, handle) is None


def measurement(same=0.9, shift=0.1, dataset="tones", n=10, **conditions):
    each = conditions or {"again": NoiseShare(same, shift)}
    return NoiseMeasurement(same, shift, dataset=dataset, n=n, metric="accuracy", conditions=each)


def test_the_noise_floor_is_the_worst_that_was_measured(store, handle):
    first, second = measurement(0.9, 0.01), measurement(0.95, 0.2, "speech")
    store_noise(store, handle, first)
    store_noise(store, handle, second)
    assert stored_noise(store, handle) == NoiseRecord(0.9, 0.2, measured=[first, second])


def test_the_outcomes_of_an_earlier_version_that_counted_none_are_not_the_worst(store, handle):
    store_noise(store, handle, measurement(0.9, 0.01))
    assert stored_noise(store, handle).same_outcomes is None
    for dataset, outcomes in (("speech", 0.98), ("sounds", 0.96)):
        store_noise(store, handle, structs.replace(measurement(0.9, 0.01, dataset), same_outcomes=outcomes))
    assert stored_noise(store, handle).same_outcomes == 0.96


def test_noise_measured_again_in_the_same_way_replaces_what_was_known(store, handle):
    store_noise(store, handle, measurement(0.5))
    store_noise(store, handle, measurement(0.9))
    assert stored_noise(store, handle).same_answers == 0.9


@pytest.mark.parametrize(
    "other",
    [{"n": 20}, {"dataset": "speech"}, {"reversed": NoiseShare(1.0, 0.0)}],
)
def test_noise_measured_in_another_way_stands_beside(store, handle, other):
    store_noise(store, handle, measurement(0.5))
    store_noise(store, handle, measurement(0.9, **other))
    assert len(stored_noise(store, handle).measured) == 2


@pytest.mark.parametrize(
    "damage",
    [
        {"conditions": None},
        {"conditions": {"again": None}},
        {"conditions": {"again": {"same_answers": 1.0}}},
        {"same_answers": None},
        {"same_answers": "0.9"},
        {"score_shift": float("nan")},
        {"score_shift": float("inf")},
    ],
)
def test_a_damaged_measurement_counts_as_none(store, handle, damage):
    store.keep_note(f"noise:{handle.digest}:x", json.dumps(plain(measurement()) | damage))
    store_noise(store, handle, measurement(0.8))
    assert stored_noise(store, handle).measured == [measurement(0.8)]


def test_a_measurement_that_is_no_number_is_not_kept(store, handle):
    with pytest.raises(ValueError, match="JSON compliant"):
        store_noise(store, handle, measurement(float("nan")))
