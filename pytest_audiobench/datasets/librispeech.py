"""LibriSpeech: sentences read from English audio books.

Panayotov et al., "LibriSpeech: An ASR corpus based on public domain audio books", ICASSP 2015; openslr.org/12. Its
README.TXT, section 2.1, has the layout: ``<split>/<speaker>/<chapter>/`` holds an utterance in each ``.flac``, and in
``<speaker>-<chapter>.trans.txt`` a line for each, its id and its words in capitals.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.published_layouts import Entry
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.datasets.table_rows import texts
from pytest_audiobench.errors import UsageError

LibriSpeechSplit: TypeAlias = Literal[
    "test-clean", "test-other", "dev-clean", "dev-other", "train-clean-100", "train-clean-360", "train-other-500"
]


def librispeech(split: LibriSpeechSplit) -> Dataset:
    """One split of LibriSpeech, from its own layout. Metadata: speaker (the cluster), chapter.

    Raises UsageError for a split that LibriSpeech does not have.
    """
    if split not in get_args(LibriSpeechSplit):
        raise UsageError(f"LibriSpeech has no split {split!r}; it has {', '.join(get_args(LibriSpeechSplit))}")
    return Dataset(f"librispeech/{split}", partial(_read, split), cluster="speaker", groups=())


def _read(split: str, places: Places) -> list[Sample]:
    # The archives unpack into a folder LibriSpeech: either that one or the one around it is pointed to.
    root = places.find("librispeech", split, f"LibriSpeech/{split}")
    inside = split if (root.folder / split).is_dir() else f"LibriSpeech/{split}"
    samples = [
        Sample(
            id=utterance,
            clips=(entry.clip(root, f"{transcripts.parent.relative_to(root.folder).as_posix()}/{utterance}.flac"),),
            question="",
            reference=entry.text("words"),
            metadata={"speaker": transcripts.parts[-3], "chapter": transcripts.parts[-2]},
        )
        for transcripts in _transcripts(root.folder / inside)
        for utterance, entry in _utterances(transcripts)
    ]
    if not samples:
        raise UsageError(
            f"{root.folder / inside} holds no <speaker>/<chapter>, which is not the published layout; "
            "unpack LibriSpeech's archive again"
        )
    return samples


def _transcripts(split: Path) -> Iterator[Path]:
    for chapter in sorted(path for path in split.glob("*/*") if path.is_dir()):
        transcripts = chapter / f"{chapter.parent.name}-{chapter.name}.trans.txt"
        if not transcripts.is_file():
            raise UsageError(
                f"there is no {transcripts}, and its chapter must not be left out; unpack the archive again"
            )
        yield transcripts


def _utterances(transcripts: Path) -> Iterator[tuple[str, Entry]]:
    for number, line in texts(transcripts):
        utterance, _, words = line.strip().partition(" ")
        if utterance:
            yield utterance, Entry(f"{transcripts}, line {number}", {"words": words})
