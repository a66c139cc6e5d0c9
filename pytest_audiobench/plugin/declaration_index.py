"""What collection needs of declarative files, kept in pytest's cache: a file that is not selected is not read again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest

from pytest_audiobench.plugin.stash import INDEX
from pytest_audiobench.plugin.workers import is_first
from pytest_audiobench.records.fields import Record

_KEY = "audiobench/declarations"
_SETTLED_NS = 2_000_000_000
"""A file younger than this may change once more and look the same: clocks of file systems are coarse."""

Appearance: TypeAlias = tuple[int, int, int]
"""A file's size, when it was last written, and when anything of it changed, which no editor can set back."""


class Outline(Record, frozen=True):
    """A task as collection shows it."""

    cases: tuple[dict[str, str], ...] = ({},)
    """Of each eval the values of its parameters, and its perturbation."""
    title: str | None = None
    words: tuple[str, ...] = ()
    suites: tuple[tuple[str, ...], ...] = ((),)
    """Of each eval the named suites that have it."""
    thresholds: int = 0
    lines: int = 0
    """Regression lines among the thresholds."""
    perturbations: tuple[str, ...] = ()
    """Those that each eval is asked under too."""


Outlines: TypeAlias = Mapping[str, Outline]


class _Entry(Record, frozen=True):
    appearance: Appearance
    tasks: dict[str, Outline]


class _Index(Record, frozen=True):
    package: str
    """What read the files: another version may read them otherwise."""
    files: dict[str, _Entry] = msgspec.field(default_factory=dict)


def appearance(path: Path) -> Appearance:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _package() -> str:
    """This package as it lies here: its folder, and when a file of it, or its own benchmark, was last written."""
    folder = Path(__file__).parents[1]
    files = [*folder.rglob("*.py"), *(folder.parent / "evals").glob("*.toml"), *(folder / "evals").glob("*.toml")]
    return f"{folder} {max(file.stat().st_mtime_ns for file in files)}"


def index_of(config: pytest.Config) -> DeclarationIndex:
    """This process's index, read on first use."""
    if INDEX not in config.stash:
        config.stash[INDEX] = DeclarationIndex(config)
    index: DeclarationIndex = config.stash[INDEX]
    return index


class DeclarationIndex:
    """The outlines of files that were read without a mistake, and have not changed since."""

    def __init__(self, config: pytest.Config) -> None:
        # Without pytest's cache (-p no:cacheprovider) there is nothing to remember.
        self._config, self._cache = config, getattr(config, "cache", None)
        self._index, self._changed = _Index(_package()), False
        try:
            known = msgspec.convert(self._cache.get(_KEY, None), _Index) if self._cache else self._index
        except msgspec.ValidationError:  # damaged, or of a version that kept something else
            return
        if known.package == self._index.package:
            self._index = known

    def find(self, path: Path) -> Outlines | None:
        """The outlines of ``path``; None where it must be read."""
        entry = self._index.files.get(str(path))
        return entry.tasks if entry and entry.appearance == appearance(path) else None

    def add(self, path: Path, seen: Appearance, outlines: Outlines) -> None:
        """Remember a file that is right and looked like ``seen`` before it was read."""
        if time.time_ns() - seen[1] > _SETTLED_NS:
            self._index.files[str(path)] = _Entry(seen, dict(outlines))
            self._changed = True

    def save(self) -> None:
        """Write what was added; of several workers one does."""
        if self._changed and self._cache and is_first(self._config):
            files = {path: entry for path, entry in self._index.files.items() if Path(path).exists()}
            self._cache.set(_KEY, msgspec.to_builtins(_Index(self._index.package, files)))
