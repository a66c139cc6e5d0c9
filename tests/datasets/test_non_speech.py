"""Clips in which nobody speaks: what is generated, and how a folder of recordings is read."""

import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile

from pytest_audiobench.audio.decode import decode
from pytest_audiobench.datasets.non_speech import DOMAINS, non_speech, non_speech_recordings
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import DataNotFound, UsageError

DATA = Path(__file__).parents[3] / "shared" / "data"
NOWHERE = Places(Path())


def placed(folder):
    return Places(Path(), named={"non-speech": Path(folder)})


def test_every_domain_has_as_many_clips_of_each_length():
    samples = non_speech(lengths_s=(0.5, 1), clips=3).read(NOWHERE)
    assert len(samples) == len(DOMAINS) * 2 * 3 == len({one.id for one in samples})
    assert {one.metadata["domain"] for one in samples} == set(DOMAINS)
    assert {one.reference for one in samples} == {""}
    assert len(non_speech().read(NOWHERE)) == 128


def test_a_clip_stays_what_it_is_when_others_are_added():
    few = {one.id: one.clips for one in non_speech("hum", lengths_s=(1,), clips=1).read(NOWHERE)}
    more = {one.id: one.clips for one in non_speech("cafe", "hum", lengths_s=(0.5, 1), clips=3).read(NOWHERE)}
    assert few["hum/1s/0"] == more["hum/1s/0"]
    assert non_speech("hum", lengths_s=(1,), clips=1, seed=1).read(NOWHERE)[0].clips != few["hum/1s/0"]


def test_what_is_chosen_is_in_the_data_sets_name():
    sets = [non_speech(), non_speech("hum"), non_speech(lengths_s=(1,)), non_speech(clips=2), non_speech(seed=3)]
    assert len({one.name for one in sets}) == 5


def test_every_domain_sounds_for_as_long_as_it_says():
    for sample in non_speech(lengths_s=(0.5,), clips=1).read(NOWHERE):
        heard = decode(sample.clips[0], 16_000, None)
        assert len(heard.samples) == 8_000
        assert np.abs(heard.samples).max() > 0


def test_mistakes_are_one_sentence():
    for wrong, match in (
        (lambda: non_speech("rain"), "no non-speech domain 'rain'"),
        (lambda: non_speech(clips=0), "make no clips"),
        (lambda: non_speech(lengths_s=(0.0,)), "make no clips"),
        (lambda: non_speech_recordings(lengths_s=(1e9,)), "give lengths of 0.1 to 600 s"),
    ):
        with pytest.raises(UsageError, match=match):
            wrong()


def recordings(folder, *paths):
    for number, path in enumerate(paths):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(file, 0.1 * np.sin(np.arange(800 + number)), 16_000)


def test_a_folder_is_a_domain_and_a_folder_in_it_is_a_recording(tmp_path):
    recordings(tmp_path, "street/a.wav", "street/tape/1.flac", "street/tape/2.ogg", "lift/b.mp3", "street/.x.wav")
    (tmp_path / "street" / "readme.txt").write_text("no sound")
    samples = non_speech_recordings().read(placed(tmp_path))
    found = {one.id: (one.metadata["domain"], one.metadata["recording"]) for one in samples}
    assert found == {
        "lift/b.mp3": ("lift", "lift/b.mp3"),
        "street/a.wav": ("street", "street/a.wav"),
        "street/tape/1.flac": ("street", "street/tape"),
        "street/tape/2.ogg": ("street", "street/tape"),
    }


def test_lengths_cut_from_one_recording_are_one_cluster(tmp_path):
    recordings(tmp_path, "street/a.wav")
    samples = non_speech_recordings(lengths_s=(0.2, 0.1)).read(placed(tmp_path))
    assert [one.id for one in samples] == ["street/a.wav@0.1s", "street/a.wav@0.2s"]
    assert len({one.metadata["recording"] for one in samples}) == 1


def test_an_absent_folder_is_a_skip_and_an_empty_one_a_mistake(tmp_path):
    with pytest.raises(DataNotFound, match="--ab-data=non-speech=FOLDER"):
        non_speech_recordings().read(NOWHERE)
    with pytest.raises(UsageError, match="no recordings in sub-folders"):
        non_speech_recordings().read(placed(tmp_path))


def test_a_recording_beside_the_domains_folders_is_not_left_out_silently(tmp_path):
    recordings(tmp_path, "street/a.wav", "stray.wav")
    with pytest.raises(UsageError, match=r"holds 'stray\.wav' itself"):
        non_speech_recordings().read(placed(tmp_path))


def test_a_recording_whose_name_cannot_be_shown_is_one_sentence(tmp_path):
    recordings(tmp_path, "street/a\nb.wav")
    with pytest.raises(UsageError, match="control character"):
        non_speech_recordings().read(placed(tmp_path))


@pytest.mark.skipif(not (DATA / "esc50").is_dir(), reason="real noises lie in ../shared/data, which is not here")
def test_real_noises_are_read_by_domain(tmp_path):
    shutil.copytree(DATA / "noise", tmp_path / "noise")
    shutil.copytree(DATA / "esc50", tmp_path / "esc50")
    samples = non_speech_recordings().read(placed(tmp_path))
    assert [one.metadata["domain"] for one in samples] == ["esc50"] * 5 + ["noise"] * 5
    assert all(np.isfinite(decode(one.clips[0], 16_000, None).samples).all() for one in samples)
