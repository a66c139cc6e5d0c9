from pathlib import Path
from typing import get_args

import pytest

from pytest_audiobench.datasets.bundled import Task, bundled, bundled_folder, fixtures_folder
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import UsageError


@pytest.mark.parametrize("task", get_args(Task))
def test_every_bundled_task_reads_and_has_its_audio(task):
    dataset = bundled(task)
    samples = dataset.read(Places(here=Path()))
    assert (dataset.name, dataset.cluster) == (f"bundled/{task}", "recording")
    assert len(samples) >= 50
    assert all(clip.source.location.is_file() for sample in samples for clip in sample.clips)
    assert all(bool(sample.choices) != (task == "transcription") for sample in samples)


def test_the_bundled_folder_lies_in_the_fixtures():
    assert bundled_folder() == fixtures_folder() / "bundled"


def test_an_unknown_task_is_refused():
    with pytest.raises(UsageError, match="digits, emotion"):
        bundled("chess")  # type: ignore[arg-type]
