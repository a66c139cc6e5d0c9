"""Any folder of recordings, and draws from it that hold on every machine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

from pytest_audiobench.audio.clip import Clip, FileSource
from pytest_audiobench.datasets.places import Places, relative_path
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import seed as seed_of

Item = TypeVar("Item")

ENDINGS = (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aiff", ".aif", ".au", ".caf", ".w64")

MOST_FILES = 100_000
_MOST_CHOICES = 1 << 48


def recordings(places: Places, name: str) -> tuple[Clip, ...]:
    """All audio files of the folder ``name`` (``--ab-data=name=FOLDER``) and its folders, in order of their paths.

    Files are recognised by their names' endings; hidden ones, and linked folders, are skipped. Nothing is
    opened. Raises DataNotFound where there is no such folder, UsageError for one without audio or of over 100,000
    files, and where a folder cannot be listed: other draws would be made of what is left.
    """
    root = places.find(name, ".")
    paths: list[str] = []
    for folder, inner, files in os.walk(root.folder, onerror=_refuse):
        inner[:] = [name for name in inner if not name.startswith(".")]
        within = Path(folder).relative_to(root.folder)
        paths += [
            (within / file).as_posix() for file in files if file.lower().endswith(ENDINGS) and not file.startswith(".")
        ]
        if len(paths) > MOST_FILES:
            raise UsageError(f"{root.folder} holds over {MOST_FILES:,} audio files; point {name} to a smaller folder")
    if not paths:
        raise UsageError(
            f"{root.folder} holds no audio file ({', '.join(ENDINGS)}); point {name} to a folder that does"
        )
    try:
        return tuple(Clip(FileSource(root, relative_path(path))) for path in sorted(paths))
    except ValueError as error:
        raise UsageError(f"{root.folder} holds a file that cannot be used: {error}; rename it") from None


def _refuse(error: OSError) -> NoReturn:
    raise UsageError(f"{error.filename} cannot be listed ({error.strerror}); correct its permissions") from None


def draw(items: Sequence[Item], count: int, *identity: str | int) -> list[Item]:
    """``count`` different ones of ``items``, which must hold as many, chosen by SHA-256 of ``identity``."""
    number, choices = seed_of(*identity), 1
    places: list[int] = []
    for left in range(len(items), len(items) - count, -1):
        # A number of 63 bits is used up by 6 of 1,000 items; where little of it is left, it favours some.
        choices *= left
        if choices > _MOST_CHOICES:
            number, choices = seed_of(*identity, "from", len(places)), left
        number, place = divmod(number, left)
        for earlier in sorted(places):
            place += place >= earlier
        places.append(place)
    return [items[place] for place in places]
