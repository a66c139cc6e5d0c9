"""MMAR: deep reasoning over speech, sounds, music and their mixtures.

Ma et al., "MMAR: A Challenging Benchmark for Deep Reasoning in Speech, Audio, Music, and Their Mix", 2025;
github.com/ddlBoJack/MMAR. 1,000 questions, each on a clip of its own; a few ids differ from their file's name.

The published reasoning, cues and rubrics give the answers away: they are not read.

``faithfulness_letter`` in the metadata is the letter that the faithfulness study (Mousavi et al., arXiv 2509.22363)
took for true: the first option that contains the answer, whatever its case. It is wrong for 13 questions
("Affected" lies in "Not affected"), and is there only so that the study's figures can be repeated under its name.
"""

from __future__ import annotations

from string import ascii_uppercase

from pytest_audiobench.audio.clip import DataRoot
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.published_layouts import Entry
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.datasets.table_rows import jsonl_rows

_FILE = "MMAR-meta.jsonl"
_METADATA = ("modality", "category", "sub-category", "language", "source")


def mmar() -> Dataset:
    """MMAR's ``MMAR-meta.jsonl`` with its ``audio/``; metadata as published."""
    return Dataset("mmar", _read, groups=("modality", "category"))


def _read(places: Places) -> list[Sample]:
    root = places.find("mmar", _FILE)
    file = root.folder / _FILE
    return [_sample(root, Entry(f"{file}, line {number}", row)) for number, row in jsonl_rows(file)]


def _sample(root: DataRoot, entry: Entry) -> Sample:
    choices, answer = entry.texts("choices"), entry.text("answer")
    lettered = zip(ascii_uppercase, choices, strict=False)
    containing = next((letter for letter, choice in lettered if answer.lower() in choice.lower()), None)
    return Sample(
        id=entry.text("id"),
        clips=(entry.clip(root, entry.text("audio_path")),),
        question=entry.text("question"),
        choices=choices,
        reference=answer,
        metadata={field: entry.optional(field) for field in _METADATA} | {"faithfulness_letter": containing},
    )
