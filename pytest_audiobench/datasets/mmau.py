"""MMAU: expert questions on speech, sounds and music.

Sakshi et al., "MMAU: A Massive Multi-Task Audio Understanding and Reasoning Benchmark", ICLR 2025;
github.com/Sakshi113/MMAU. Answers are published for test-mini alone.

27 of its 1,000 questions offer one text twice. All are kept: an option is right when its text equals the
answer, so both of two equal options are. An answer that no option equals (earlier versions of the file have
such) leaves nothing that is right, and the sample is kept too: dropping it would change what is compared.
"""

from __future__ import annotations

from functools import partial

from pytest_audiobench.audio.clip import DataRoot
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.published_layouts import Entry, read_json
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError

_METADATA = ("task", "category", "sub-category", "difficulty", "dataset")


def mmau(split: str = "test-mini") -> Dataset:
    """MMAU's ``mmau-test-mini.json`` with its ``test-mini-audios/``; metadata as published.

    Raises UsageError for another split: their answers are not published.
    """
    if split != "test-mini":
        raise UsageError(f"MMAU publishes no answers for {split!r}; use 'test-mini'")
    return Dataset(f"mmau/{split}", partial(_read, split), groups=("task", "difficulty"))


def _read(split: str, places: Places) -> list[Sample]:
    root = places.find("mmau", f"mmau-{split}.json")
    file = root.folder / f"mmau-{split}.json"
    entries = read_json(file)
    if not isinstance(entries, list):
        raise UsageError(f"{file} is no list of questions; fetch it again")
    return [_sample(root, Entry(f"{file}, entry {i}", entry)) for i, entry in enumerate(entries)]


def _sample(root: DataRoot, entry: Entry) -> Sample:
    return Sample(
        id=entry.text("id"),
        clips=(entry.clip(root, entry.text("audio_id")),),
        question=entry.text("question"),
        choices=entry.texts("choices"),
        reference=entry.text("answer"),
        metadata={field: entry.optional(field) for field in _METADATA},
    )
