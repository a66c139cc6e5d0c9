"""Folders of audio that need no list: one for each class, or Hugging Face's audiofolder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from pytest_audiobench.datasets.recordings import ENDINGS
from pytest_audiobench.datasets.table_rows import Row
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes

MOST_ENTRIES = 500_000
"""Of all the folders that are listed, whatever they hold."""
METADATA = ("metadata.csv", "metadata.jsonl")
"""What ``datasets`` reads next to the audio of an audiofolder, but for Parquet."""
_SPLITS = frozenset(("train", "training", "validation", "valid", "dev", "val", "test", "testing", "eval", "evaluation"))
"""The names by which it knows a folder as a split."""


def metadata_of(folder: Path) -> tuple[Path, str] | None:
    """The file that lists an audiofolder's audio, with the beginning of the paths in it that are the folder's.

    It lies in the folder, or above one that is a split. None where there is none. Raises UsageError for two, and for
    one in a format that is not read.
    """
    for above in (folder, *(folder.parents[:2] if is_split(folder.name) else ())):
        files = [above / name for name in METADATA if (above / name).is_file()]
        if len(files) > 1:
            raise UsageError(f"{above} holds both {' and '.join(METADATA)}; name the one to read")
        if files:
            within = folder.relative_to(above).as_posix()
            return files[0], "" if within == "." else f"{within}/"
        if (above / "metadata.parquet").exists():
            raise UsageError(
                f"{above} lists its audio in metadata.parquet, which is not read; save it as {METADATA[1]}"
            )
    return None


def is_split(name: str) -> bool:
    """Whether a folder of that ``name`` is one of a data set's splits."""
    return name.lower() in _SPLITS


def splits_in(path: str) -> set[str]:
    """The folders in a file's ``path`` that begin with what is a split."""
    parts = path.split("/")
    return {"/".join(parts[: number + 1]) for number, part in enumerate(parts[:-1]) if is_split(part)}


def class_rows(folder: Path, call: Callable[[str], str]) -> Iterator[tuple[str, Row]]:
    """A row for each audio file of the folders in ``folder``, whose names are the answers, in order of their paths.

    Hidden entries and files that are not audio are skipped. ``call`` says how a folder inside it would be read.
    Raises UsageError with all that does not fit.
    """
    entries = _Entries(folder)
    inner: list[os.DirEntry[str]] = []
    loose: list[str] = []
    mistakes = Mistakes()
    for entry in entries.within(folder):
        if entry.is_dir():
            inner.append(entry)
        elif entry.name.lower().endswith(ENDINGS):
            loose.append(entry.name)
    names = sorted(entry.name for entry in inner)
    if names and not loose and all(map(is_split, names)):
        listed = ", ".join(map(repr, names))
        raise UsageError(f"{folder} holds the splits {listed}; name one: {call(names[0])}")
    if not inner:
        what = "audio, but neither a list of it nor" if loose else "neither audio files in"
        raise UsageError(f"{folder} holds {what} a folder for each class; write a CSV of file and answer beside it")
    if loose:
        mistakes.add(f"{folder} holds {min(loose)!r} beside the folders of its classes; move it into one of them")
    rows: list[tuple[str, Row]] = []
    for entry in sorted(inner, key=lambda entry: entry.name):
        if entry.is_symlink():
            mistakes.add(f"{entry.path} is a symbolic link; put the folder itself there")
            continue
        for file in entries.within(Path(entry.path)):
            if file.is_dir():
                advice = call(entry.name)
                mistakes.add(f"{entry.path} holds the folder {file.name!r}, so it is not a class; perhaps {advice}?")
                break
            if file.name.lower().endswith(ENDINGS):
                path = f"{entry.name}/{file.name}"
                rows.append((path, {"audio": path, "answer": entry.name}))
    mistakes.check()
    yield from sorted(rows, key=lambda row: row[0])


class _Entries:
    """The entries of folders, counted over all of them."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0

    def within(self, folder: Path) -> Iterator[os.DirEntry[str]]:
        """Those of ``folder`` that are not hidden."""
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._count += 1
                    if self._count > MOST_ENTRIES:
                        advice = "list the files to read in a CSV"
                        raise UsageError(f"{self._folder} holds over {MOST_ENTRIES:,} entries; {advice}")
                    if not entry.name.startswith("."):
                        yield entry
        except OSError as error:
            raise UsageError(f"{folder} cannot be listed ({error.strerror}); correct its permissions") from None
