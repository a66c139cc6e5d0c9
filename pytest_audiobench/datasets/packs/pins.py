"""Which clip a recipe pins."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import PurePosixPath

from pytest_audiobench.audio.clip import Clip, FileSource
from pytest_audiobench.datasets.packs.labels import nearest
from pytest_audiobench.datasets.packs.recipes import Recipe
from pytest_audiobench.errors import UsageError


def pinned(recipe: Recipe, label: str, clips: Sequence[Clip]) -> int:
    """The number of the clip that ``recipe`` pins for ``label``: the one of that path or file name.

    Any other text stands for one of them by the first eight digits of its SHA-256 modulo their number, as published
    (github THENIROCK/audiobench, suites/sound_id.py). Raises UsageError for a path that none of them has, and for a
    file name that several have.
    """
    value = recipe.pins[label]
    paths = [PurePosixPath(clip.source.path if isinstance(clip.source, FileSource) else "") for clip in clips]
    named = [n for n, path in enumerate(paths) if value in (str(path), path.name)]
    if len(named) == 1:
        return named[0]
    if named:
        raise UsageError(f"{recipe.where}: its 'pin' of {label} is {value!r}, as {len(named)} clips are; give the path")
    if "/" in value or PurePosixPath(value).suffix:
        known = nearest(value, [path.name for path in paths])
        raise UsageError(f"{recipe.where}: its 'pin' of {label} is {value[:80]!r}, which is none of its clips; {known}")
    return int(hashlib.sha256(value.encode()).hexdigest()[:8], 16) % len(clips)
