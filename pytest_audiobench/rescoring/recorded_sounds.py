"""What recorded answers were about, where the user says in which folder the audio lies: excerpts for the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.clip_record import recipe_of
from pytest_audiobench.datasets.recordings import ENDINGS
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.scoring import ScoredSample
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.page.rows import is_wrong
from pytest_audiobench.report.page.sounds import write_clips
from pytest_audiobench.rescoring.recorded_answers import RecordedRow

EXAMPLES = 12
"""Of one eval, wrong answers first, since there is no baseline."""


class RecordedSounds:
    """The samples of one eval that are to be heard, gathered from its rows as they come.

    ``folder`` is where the user says that the audio lies. A file names it by a path of another machine, whose end
    counts: ``/data/clean/a.wav`` is ``clean/a.wav`` or ``a.wav`` in the folder, and nothing outside it. A row without
    a name is looked for by its id. Raises UsageError for a folder that is not there.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"--audio {folder}: there is no such folder")
        self._root = DataRoot("audio", folder.resolve())
        self._wrong: list[tuple[Sample, list[Clip]]] = []
        self._others: list[tuple[Sample, list[Clip]]] = []
        self._missing = 0

    def add(self, rows: Sequence[RecordedRow], scored: Sequence[ScoredSample]) -> None:
        """Take in rows, and what the first scorer made of them."""
        for row, score in zip(rows, scored, strict=True):
            wrong = score.answer is not None and is_wrong(score.answer.status, score.scores)
            wanted = self._wrong if wrong else self._others
            if row.epoch or row.unchanged or len(wanted) >= EXAMPLES:
                continue
            clips = [clip for name in _names(row.sample) if (clip := self._clip(name))]
            if clips:
                wanted.append((row.sample, clips))
            else:
                self._missing += 1

    def write(self, parts: Path, record: ItemRecord) -> Iterator[str]:
        """Write the excerpts next to the eval's rows; yields what could not be found or decoded, in sentences."""
        samples = list(islice([*self._wrong, *self._others], EXAMPLES))
        clips = [(sample.id, number, 2, clip) for sample, clips in samples for number, clip in enumerate(clips)]
        yield from write_clips(parts, record, clips)
        if not samples and self._missing:
            yield f"{record.eval}: --audio {self._root.folder} holds no audio of its answers"

    def _clip(self, name: str) -> Clip | None:
        parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", "..")]
        for start in range(len(parts)):
            path = PurePosixPath(*parts[start:])
            for ending in ("", *ENDINGS):
                file = self._root.folder / f"{path}{ending}"
                if (
                    file.suffix.lower() in ENDINGS
                    and file.is_file()
                    and file.resolve().is_relative_to(self._root.folder)
                ):
                    return Clip(FileSource(self._root, f"{path}{ending}"))
        return None


def _names(sample: Sample) -> list[str]:
    """Of a sample whose clips were changed none: what was played is not a file."""
    if any(recipe_of(clip) is not None for clip in sample.clips):
        return []
    return [str(clip) for clip in sample.clips] or [sample.id]
