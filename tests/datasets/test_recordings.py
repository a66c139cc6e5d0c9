"""A folder of recordings is listed alike on every machine, and draw from by identities alone."""

import os
from collections import Counter

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.datasets import recordings as module
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.recordings import draw, recordings
from pytest_audiobench.errors import DataNotFound, UsageError


def folder_of(folder, *paths):
    for path in paths:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(folder / path, np.full(100, 0.1), 16_000, format="WAV")
    return Places(here=folder, named={"noise": folder})


def listed(places):
    return [str(clip) for clip in recordings(places, "noise")]


def test_all_audio_of_a_folder_and_its_folders_is_listed_in_order(tmp_path):
    places = folder_of(tmp_path, "b/2.wav", "b/10.WAV", "a.flac", "c/d/e.mp3", ".hidden.wav", ".git/f.wav")
    (tmp_path / "readme.txt").write_text("no sound")
    assert listed(places) == ["noise:a.flac", "noise:b/10.WAV", "noise:b/2.wav", "noise:c/d/e.mp3"]


def test_the_order_is_not_the_file_systems(tmp_path, monkeypatch):
    places = folder_of(tmp_path, *(f"{place % 3}/{place}.wav" for place in range(12)))
    expected = listed(places)
    walk = module.os.walk

    def backwards(folder, onerror):
        for inside, inner, files in walk(folder):
            inner.sort(reverse=True)
            yield inside, inner, sorted(files, reverse=True)

    monkeypatch.setattr(module.os, "walk", backwards)
    assert listed(places) == expected


def test_a_folder_that_is_not_here_says_how_to_point_to_it(tmp_path):
    with pytest.raises(DataNotFound, match="point to it with --ab-data=noise=FOLDER"):
        recordings(Places(here=tmp_path, shelves=[tmp_path]), "noise")


def test_a_folder_without_audio_is_a_mistake(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(UsageError, match="holds no audio file"):
        recordings(folder_of(tmp_path), "noise")


def test_a_folder_of_too_many_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_FILES", 3)
    with pytest.raises(UsageError, match="over 3 audio files"):
        recordings(folder_of(tmp_path, *(f"{place}.wav" for place in range(4))), "noise")


def test_a_name_with_a_control_character_is_refused(tmp_path):
    with pytest.raises(UsageError, match="holds a file that cannot be used"):
        recordings(folder_of(tmp_path, "line\nbreak.wav"), "noise")


@given(st.integers(1, 40), st.integers(0, 8), st.text(st.characters(exclude_categories=["Cs"]), max_size=5))
def test_draws_are_different_things_and_repeat(size, count, identity):
    things = [f"thing {place}" for place in range(size)]
    chosen = draw(things, min(size, count), "test", identity)
    assert len(set(chosen)) == len(chosen) == min(size, count)
    assert chosen == draw(things, min(size, count), "test", identity)


def test_draws_are_the_same_on_every_machine():
    assert draw(range(1000), 3, "test", "sample-1") == [352, 597, 815]


def test_everything_is_drawn_about_equally_often():
    counts = Counter(one for place in range(4000) for one in draw(range(20), 2, "test", place))
    assert set(counts) == set(range(20))
    assert all(300 < count < 500 for count in counts.values())


def test_each_of_many_things_is_drawn_at_each_place_about_equally_often():
    draws = [draw(range(1000), 8, "test", place) for place in range(2000)]
    for place in range(8):
        counts = Counter(draw[place] for draw in draws)
        assert len(counts) > 800
        assert max(counts.values()) < 14


def test_a_name_that_is_not_utf_8_is_refused(tmp_path):
    places = folder_of(tmp_path, "a.wav")
    (tmp_path / "a.wav").rename(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.wav"))
    with pytest.raises(UsageError, match=r"holds a file that cannot be used: the path '\\udcff.wav' is not UTF-8"):
        recordings(places, "noise")


def test_a_folder_that_cannot_be_listed_is_not_passed_over(tmp_path, monkeypatch):
    places = folder_of(tmp_path, "a.wav", "closed/b.wav")
    scandir = os.scandir

    def closed(path):
        if os.fspath(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    with pytest.raises(UsageError, match=r"closed cannot be listed \(Permission denied\)"):
        recordings(places, "noise")
