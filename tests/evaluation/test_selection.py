"""Which samples an eval takes, in which order, and what is known of their clips before anything is asked."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.edits import gain
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.datasets.dataset import Dataset, perturb
from pytest_audiobench.datasets.perturbations.perturbation import Perturbation, per_clip
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.batch_plan import WINDOW_SAMPLES, window_bits, window_of
from pytest_audiobench.evaluation.selection import Selection, clusters, select
from pytest_audiobench.models.model import Limits

from .tiny import HERE, Speaker, clip, dataset, handle, sample, samples

GONE = Clip(FileSource(DataRoot("calls", Path("/nowhere")), "gone.wav"))
QUIET = Perturbation("quiet", "gain", per_clip(lambda places: lambda clip, place: clip.edited(gain(-20.0))))
QUIETER = Perturbation("quieter", "gain", per_clip(lambda places: lambda clip, place: clip.edited(gain(-40.0))))


def slice_of(
    own: list[Sample] | Dataset, model: Speaker | None = None, limit: int | None = None, wanted: int | None = None
) -> Selection:
    data = own if isinstance(own, Dataset) else dataset(own)
    with AudioIndex(None) as index:
        return select(data, HERE, index, handle(model or Speaker()), limit, wanted)


def ids(selection: Selection) -> list[str]:
    return [taken.sample.id for taken in selection.samples]


def by_hash(own: list[Sample]) -> list[str]:
    return sorted((one.id for one in own), key=lambda name: hashlib.sha256(name.encode()).digest())


CLIP = clip("any")
names = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5), min_size=1, unique=True)


@given(names, st.randoms(use_true_random=False), st.none() | st.integers(1, 50), st.none() | st.integers(1, 50))
def test_samples_are_taken_in_the_order_of_their_ids_hashes_however_they_were_read(drawn, random, limit, wanted):
    own = [sample(name, clips=(CLIP,)) for name in drawn]
    shuffled = random.sample(own, len(own))
    here, there = slice_of(own, None, limit, wanted), slice_of(shuffled, None, limit, wanted)
    least = min(number for number in (limit, wanted, len(own)) if number is not None)
    assert ids(here) == ids(there) == by_hash(own)[:least]
    assert here.samples == there.samples


def test_a_planned_model_is_asked_whole_windows_so_that_a_limited_run_is_a_prefix_of_a_whole_one():
    own = samples(300, clips=(CLIP,))
    planned = Speaker(batching="planned")
    whole = slice_of(own, planned)
    assert {one.window for one in whole.samples} == set(range(1 + window_bits(300)))
    for limit in (1, 20, 150, 299):
        part = slice_of(own, planned, limit)
        assert part.samples == whole.samples[: len(part.samples)]
        assert len(part.samples) >= limit
        last = part.samples[-1].window
        assert sum(one.window == last for one in part.samples) == sum(one.window == last for one in whole.samples)
        assert len({one.window for one in part.samples[:limit]}) == len({one.window for one in part.samples})
        assert slice_of(own, planned, wanted=limit).samples == part.samples
        assert len(slice_of(own, Speaker(), limit).samples) == limit


def test_the_windows_are_those_of_the_whole_data_set_whatever_is_taken_of_it():
    own = samples(4 * WINDOW_SAMPLES, clips=(CLIP,))
    for one in slice_of(own, Speaker(), 3).samples:
        assert one.window == window_of(hashlib.sha256(one.sample.id.encode()).digest(), 2)


def test_only_the_runs_limit_makes_an_eval_a_limited_one():
    own = samples(10)
    assert [slice_of(own, None, *both).limited for both in ((None, None), (None, 4), (4, None), (4, 4), (3, 4))] == [
        *(False, False, True, False, True)
    ]
    assert [slice_of(own, None, *both).size for both in ((None, None), (None, 4), (3, 4), (3, None))] == [10, 4, 4, 10]


def test_an_empty_data_set_and_one_whose_ids_repeat_are_refused_by_name():
    with pytest.raises(UsageError, match="animals holds no sample"):
        slice_of([])
    with pytest.raises(UsageError, match="animals holds the id 's1' more than once"):
        slice_of([*samples(3), sample("s1", clips=(clip("other"),))])
    # Also where a limit would not take the second one.
    with pytest.raises(UsageError, match="more than once"):
        slice_of([*samples(30), sample("s1")], limit=1)


def test_a_clip_that_cannot_be_found_is_an_error_of_its_sample_for_a_model_that_listens():
    here, gone = sample("here"), sample("gone", clips=(clip("a"), GONE))
    taken = {one.sample.id: one for one in slice_of([here, gone], Speaker(limits=Limits(max_clips=2))).samples}
    assert taken["here"].error is None
    assert taken["gone"].clip_keys is None
    assert "gone.wav" in (taken["gone"].error or "")
    assert taken["gone"].duration_s is None


def test_a_clip_that_cannot_be_found_is_no_error_for_a_replay_but_a_note():
    replay = Speaker(listens=False)
    some = slice_of([sample("here"), sample("gone", clips=(GONE,))], replay)
    assert [one.error for one in some.samples] == [None, None]
    assert some.notes == ["1 of 2 samples have no audio on this machine"]
    # Where no audio is here, no sample is an exception.
    assert slice_of(samples(2, clips=(GONE,)), replay).notes == []
    assert slice_of([sample("here"), sample("gone", clips=(GONE,))]).notes == []


@pytest.mark.parametrize(
    ("limits", "count", "error"),
    [
        (Limits(), 1, None),
        (Limits(), 0, None),
        (Limits(), 2, "tiny:speaker takes 1 clip(s) at once, and the sample has 2"),
        (Limits(min_clips=1), 0, "tiny:speaker takes 1 clip(s) at once, and the sample has 0"),
        (Limits(min_clips=2, max_clips=4), 1, "tiny:speaker takes 2 to 4 clip(s) at once, and the sample has 1"),
        (Limits(min_clips=2, max_clips=4), 4, None),
        (Limits(min_clips=2, max_clips=4), 5, "tiny:speaker takes 2 to 4 clip(s) at once, and the sample has 5"),
    ],
)
def test_a_sample_of_more_or_fewer_clips_than_the_model_takes_fails_and_says_so(limits, count, error):
    own = [sample("s", clips=tuple(clip(f"c{number}") for number in range(count)))]
    assert slice_of(own, Speaker(limits=limits)).samples[0].error == error
    assert slice_of(own, Speaker(limits=limits, listens=False)).samples[0].error is None


def test_a_samples_length_is_that_of_all_its_clips():
    own = sample("s", clips=(clip("a", 0.5), clip("b", 0.25)))
    (taken,) = slice_of([own], Speaker(limits=Limits(max_clips=2))).samples
    assert taken.durations_s == (0.5, 0.25)
    assert taken.duration_s == 0.75
    assert taken._replace(durations_s=(0.5, None)).duration_s is None


def test_a_perturbation_keeps_the_recording_and_the_clips_that_were_there_before_it():
    (plain,) = slice_of(samples(1)).samples
    (quiet,) = slice_of(perturb(dataset(samples(1)), QUIET)).samples
    assert plain.unchanged is None
    assert (plain.clip_keys,) == ((plain.recording,),)
    assert quiet.clip_keys != plain.clip_keys
    assert quiet.recording == plain.recording
    assert quiet.unchanged is not None
    assert quiet.unchanged.clip_keys == plain.clip_keys
    assert quiet.unchanged.sample.clips == plain.sample.clips


def test_of_two_perturbations_the_recording_is_the_first_clip_and_before_is_what_the_second_changed():
    (plain,) = slice_of(samples(1)).samples
    (quiet,) = slice_of(perturb(dataset(samples(1)), QUIET)).samples
    (both,) = slice_of(perturb(perturb(dataset(samples(1)), QUIET), QUIETER)).samples
    assert both.recording == plain.recording
    assert both.unchanged is not None
    assert both.unchanged.clip_keys == quiet.clip_keys
    assert len({both.clip_keys, quiet.clip_keys, plain.clip_keys}) == 3


def test_a_perturbation_that_changes_no_clip_leaves_no_other_sample_behind():
    nothing = Perturbation("clean", "clean", per_clip(lambda places: lambda clip, place: clip))
    (plain,) = slice_of(samples(1)).samples
    (clean,) = slice_of(perturb(dataset(samples(1)), nothing)).samples
    assert (clean.unchanged, clean.clip_keys, clean.recording) == (None, plain.clip_keys, plain.recording)


def test_samples_of_one_recording_are_one_cluster_also_under_a_perturbation():
    own = [sample("a"), sample("b", clips=(clip("a"),)), sample("c")]
    for data in (dataset(own), perturb(dataset(own), QUIET)):
        selection = slice_of(data)
        found = dict(zip(ids(selection), clusters(selection) or [], strict=True))
        assert found["a"] == found["b"] != found["c"]
    assert clusters(slice_of(samples(3))) is None


def test_a_data_set_names_its_clusters_by_a_field_and_a_sample_without_it_stands_alone():
    own = [sample(str(number), metadata={"speaker": speaker}) for number, speaker in enumerate((7, "7", 8))]
    own.append(sample("3"))
    selection = slice_of(dataset(own, cluster="speaker"))
    assert dict(zip(ids(selection), clusters(selection) or [], strict=True)) == {"0": "7", "1": "7", "2": "8", "3": "3"}
    # One recording asked twice is of no matter where the data set says what belongs together.
    apart = [sample(str(number), clips=(CLIP,), metadata={"speaker": str(number)}) for number in range(3)]
    assert clusters(slice_of(dataset(apart, cluster="speaker"))) is None


def test_samples_without_any_clip_are_each_a_cluster_of_their_own():
    assert clusters(slice_of(samples(3, clips=()))) is None


def test_fields_with_few_values_are_reported_by_group_unasked():
    own = [
        sample(
            f"s{number}",
            metadata={
                "zone": "ab"[number % 2],
                "animal": str(number % 12),
                "place": str(number % 13),
                "alone": "same",
                "loud": number % 2 == 0,
                "year": 2000 + number % 2,
                "gone": None,
            },
        )
        for number in range(26)
    ]
    assert slice_of(own).groups == ("animal", "loud", "zone")
    assert slice_of(dataset(own, groups=("place",))).groups == ("place",)
    assert slice_of(dataset(own, groups=())).groups == ()


def test_notes_say_what_the_data_set_says_and_how_many_samples_are_in_doubt():
    own = [replace(one, doubt="its label is disputed") if number < 2 else one for number, one in enumerate(samples(4))]
    assert slice_of(dataset(own, note="recorded indoors")).notes == [
        "recorded indoors",
        "of 2 of 4 samples: its label is disputed",
    ]


def test_labels_that_differ_only_in_case_or_white_space_are_named_once():
    own = samples(3, choices=("Angry", "sad song", "angry", "sad  song", "calm"), reference="calm")
    assert slice_of(own).notes == [
        "'Angry' and 'angry' differ only in case or white space and are offered as two labels, and 1 more so: "
        "write them in one way"
    ]
    assert slice_of(samples(3, choices=("Angry", "sad", "calm"), reference="calm")).notes == []


def test_a_data_set_is_read_where_the_eval_looks_for_it_and_absent_audio_is_counted_where_it_is_not_played() -> None:
    seen = []
    gone = sample("gone", clips=(Clip(FileSource(DataRoot("calls", Path("/nowhere")), "gone.wav")),))

    def read(places: Places) -> list[Sample]:
        seen.append(places)
        return [*samples(3), gone]

    with AudioIndex(None) as index:
        notes = select(Dataset("animals", read), HERE, index, handle(Speaker(listens=False))).notes
    assert seen == [HERE]
    assert "1 of 4 samples have no audio on this machine" in notes
