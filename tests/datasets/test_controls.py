"""The same questions without their sound."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.perturbations.interventions import with_silence, with_swapped_clips, without_audio
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError


def _dataset(tmp_path, counts):
    root = DataRoot("set", tmp_path)
    samples = [
        Sample(f"s{n}", tuple(Clip(FileSource(root, f"{n}-{k}.wav")) for k in range(count)), f"Question {n}?")
        for n, count in enumerate(counts)
    ]
    return Dataset("set", lambda places: samples), samples, Places(tmp_path)


def test_silence_keeps_every_clip_and_its_length(tmp_path):
    dataset, samples, places = _dataset(tmp_path, [1, 2])
    found = with_silence(dataset)
    assert found.name == "set+silence"
    for before, after in zip(samples, found.read(places), strict=True):
        assert [clip.source for clip in after.clips] == [clip.source for clip in before.clips]
        assert all(clip.edits[-1].name == "silence" for clip in after.clips)
        assert after.question == before.question


def test_the_text_alone_has_no_clip(tmp_path):
    dataset, _, places = _dataset(tmp_path, [1, 1])
    assert [one.clips for one in without_audio(dataset).read(places)] == [(), ()]


@given(counts=st.lists(st.sampled_from([1, 2]), min_size=4, max_size=40).filter(lambda c: min(map(c.count, c)) > 1))
def test_swapping_gives_every_sample_the_clips_of_another_with_as_many(tmp_path_factory, counts):
    dataset, samples, places = _dataset(tmp_path_factory.getbasetemp(), counts)
    found = with_swapped_clips(dataset).read(places)
    assert [one.id for one in found] == [one.id for one in samples]
    assert all(after.clips != before.clips for before, after in zip(samples, found, strict=True))
    assert [len(one.clips) for one in found] == counts
    assert sorted(str(one.clips) for one in found) == sorted(str(one.clips) for one in samples)  # each lent once


def test_swapping_does_not_depend_on_the_order_in_which_samples_are_read(tmp_path):
    dataset, samples, places = _dataset(tmp_path, [1] * 9)
    backwards = Dataset("set", lambda places: samples[::-1])
    there, back = ({one.id: one.clips for one in with_swapped_clips(of).read(places)} for of in (dataset, backwards))
    assert there == back


def test_a_sample_that_no_other_can_lend_to_is_named(tmp_path):
    dataset, _, places = _dataset(tmp_path, [1, 1, 3])
    with pytest.raises(UsageError, match=r"no sample of set has other clips than 's2' and as many \(3\)"):
        with_swapped_clips(dataset).read(places)


def test_questions_about_one_clip_are_never_lent_it_and_all_lent_the_same(tmp_path):
    _, samples, places = _dataset(tmp_path, [1] * 5)
    hops = [replace(one, id=f"{one.id}/{hop}") for one in samples for hop in ("single", "multi")]
    for name in "abcdefgh":
        found = with_swapped_clips(Dataset(name, lambda places: hops)).read(places)
        assert all(after.clips != before.clips for before, after in zip(hops, found, strict=True))
        assert all(one.clips == other.clips for one, other in zip(found[::2], found[1::2], strict=True))


def test_swapping_draws_what_it_has_always_drawn(tmp_path):
    """Answers that are stored were given to these clips."""
    dataset, _, places = _dataset(tmp_path, [1] * 6)
    assert [str(one.clips[0].source) for one in with_swapped_clips(dataset).read(places)] == [
        f"set:{n}-0.wav" for n in (1, 2, 4, 0, 5, 3)
    ]


def test_questions_without_a_clip_stay_so(tmp_path):
    dataset, _, places = _dataset(tmp_path, [0, 1, 0, 1])
    assert [len(one.clips) for one in with_swapped_clips(dataset).read(places)] == [0, 1, 0, 1]


def test_samples_that_all_have_one_clip_have_nobody_to_swap_with(tmp_path):
    _, samples, places = _dataset(tmp_path, [1])
    twice = [samples[0], replace(samples[0], id="other")]
    with pytest.raises(UsageError, match="has other clips than"):
        with_swapped_clips(Dataset("set", lambda places: twice)).read(places)
