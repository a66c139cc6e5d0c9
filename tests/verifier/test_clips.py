"""Which folders are still to be named before the keys of a run's clips can be made again."""

from __future__ import annotations

from pytest_audiobench.audio import combining, synthesis
from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.clip_record import recipe_of
from pytest_audiobench.datasets.bundled import bundled_folder
from pytest_audiobench.verifier.clip_checks import Folders, check_clips
from pytest_audiobench.verifier.prediction_rows import RecordedClip

FILE = Clip(FileSource(DataRoot("mine/here", bundled_folder()), "audio/digit-0000.flac"))


def recorded(clip: Clip) -> RecordedClip:
    return RecordedClip("a", str(clip), "0" * 64, recipe_of(clip) or str(clip))


def test_the_folder_that_is_named_is_that_of_the_first_file_of_a_recipe_that_nobody_knows() -> None:
    clips = [FILE, combining.overlaid(FILE, Clip(synthesis.tone(440, 1.0))), combining.mixture([FILE, FILE], [0, 0])]
    check = check_clips([recorded(clip) for clip in clips], Folders({}))
    assert check.detail == "the files of 3 of 3 clips were not looked at; --data mine/here=FOLDER does"
