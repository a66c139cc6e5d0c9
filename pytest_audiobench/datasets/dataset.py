"""A data set slice by name, read only when an eval runs, and the places where data may lie."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audiobench.audio.clip import DataRoot
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import DataNotFound, UsageError

if TYPE_CHECKING:
    from pytest_audiobench.datasets.perturbations.perturbation import Perturbation


@dataclass(frozen=True, slots=True)
class Places:
    """Where data may lie on this machine.

    ``named`` are folders given for one data set (``--ab-data sakura=/data/SAKURA``), ``shelves`` are
    folders that hold data sets by name (``--ab-data /data``), in order; ``here`` is the folder of the
    test file, from which a manifest's relative path is read. ``mixes`` are the mixtures of sounds that the run asks
    for, in a line or by a file (``--ab-mix``). ``kept`` is a folder in which what is made for the data may be kept from
    run to run: that of the answer store.
    """

    here: Path
    named: Mapping[str, Path] = field(default_factory=dict)
    shelves: Sequence[Path] = ()
    mixes: Sequence[str] = ()
    kept: Path | None = None

    def find(self, name: str, *landmarks: str) -> DataRoot:
        """The folder of data set ``name``: the first that holds any of ``landmarks``.

        Raises DataNotFound, which says where it was looked for and how to point to it.
        """
        candidates = [self.named[name]] if name in self.named else [shelf / name for shelf in self.shelves]
        for folder in candidates:
            if any((folder / landmark).exists() for landmark in landmarks):
                return DataRoot(name, folder.resolve())
        looked = ", ".join(_lacking(folder, landmarks[0]) for folder in candidates) or "nowhere: no data folder is set"
        raise DataNotFound(
            f"{name} is not on this machine (looked for {looked}); point to it with --ab-data {name}=FOLDER"
        )


@dataclass(frozen=True)
class Dataset:
    """A slice of a data set: the unit of planning. ``read`` yields its samples, in any order.

    ``cluster`` names the metadata field whose values are the statistical clusters (one recording asked
    twice, one speaker); ``groups`` the metadata fields reported on; None means the fields with few values.
    ``note`` is what a reader of its numbers must know; it is printed with them. ``perturbation`` is what was done to the
    clips, where it is the point of a curve or one of several perturbations that a suite compares.
    """

    name: str
    read: Callable[[Places], Sequence[Sample]]
    cluster: str | None = None
    groups: tuple[str, ...] | None = None
    note: str = ""
    perturbation: Perturbation | None = None

    @property
    def unperturbed(self) -> str:
        """The name of the data set that the perturbation was put upon."""
        return self.name if self.perturbation is None else self.name.removesuffix(f"+{self.perturbation.name}")


def folders(entries: Sequence[str], base: Path, option: str) -> tuple[dict[str, Path], list[Path]]:
    """The folders that ``[NAME=]FOLDER`` entries of ``option`` name: those of one data set, and shelves of many.

    Relative ones start at ``base``. Raises UsageError for what is no folder on this machine.
    """
    named, shelves = {}, []
    for entry in entries:
        name, equals, written = entry.partition("=")
        is_named = bool(equals) and os.sep not in name
        path = base / Path(written if is_named else entry).expanduser()
        if not path.is_dir():
            raise UsageError(f"{option} {entry}: {path} is not a folder on this machine")
        if is_named:
            named[name] = path
        else:
            shelves.append(path)
    return named, shelves


def _lacking(folder: Path, landmark: str) -> str:
    return f"{folder}, which has no {landmark}" if folder.is_dir() else str(folder)
