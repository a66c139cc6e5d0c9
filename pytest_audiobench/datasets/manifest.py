"""A user's own data set: a JSONL or CSV manifest beside its audio.

========  ============================================  =====================================
field     JSONL                                         CSV
========  ============================================  =====================================
id        text, unique                                  the same
audio     a path beside the manifest, or a list of      several paths are separated by ``;``
          them
question  text; absent where the manifest or the        the same
          protocol has one for all
choices   a list of texts; absent for an open question  separated by ``|``; empty for none
answer    one of the choices, or its letter; for an     the same
          open question the true text
metadata  an object of texts, numbers, booleans, null   every further column, as text
========  ============================================  =====================================
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_audiobench.audio.clip import DataRoot
from pytest_audiobench.datasets.dataset import Dataset, Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.datasets.sample_record import Row, Wrong, sample_of
from pytest_audiobench.datasets.table import csv_rows, jsonl_rows
from pytest_audiobench.errors import UsageError

_READERS = {".jsonl": jsonl_rows, ".ndjson": jsonl_rows, ".csv": csv_rows}


def manifest(
    path: str | Path,
    *,
    name: str | None = None,
    cluster: str | None = None,
    groups: tuple[str, ...] | None = None,
    question: str | None = None,
    data: str | None = None,
) -> Dataset:
    """The data set that the manifest at ``path`` lists; a relative path is read from the test file's folder, or with
    ``data`` from the folder of that name (``--ab-data NAME=FOLDER``), without which an eval is skipped.

    ``name`` is the manifest's file name without its suffix unless given; ``question`` is asked where a row has none,
    and where neither has one the protocol asks in words of its own, or refuses the sample; ``cluster`` and ``groups``
    name metadata fields. Nothing is read until an eval runs; then UsageError names the file, the line and the id of the
    first thing that is wrong.
    """
    file = Path(path)
    called = name or file.stem
    named = None if groups is None else tuple(groups)

    def read(places: Places) -> list[Sample]:
        folder = places.here if data is None else places.find(data, str(file)).folder
        return _read((folder / file.expanduser()).resolve(), called, cluster, named or (), question)

    return Dataset(called, read, cluster, named)


def _read(file: Path, name: str, cluster: str | None, groups: tuple[str, ...], question: str | None) -> list[Sample]:
    root = DataRoot(name, file.parent)
    samples: list[Sample] = []
    lines: dict[str, int] = {}
    for line, row in _rows(file):
        try:
            sample = sample_of(row, root, question)
            if cluster is not None and cluster not in sample.metadata:
                raise Wrong(f"has no {cluster!r}, which is the cluster; add it to its metadata")
        except Wrong as wrong:
            raise UsageError(f"{file}, line {line}{_id(row)} {wrong}") from None
        if sample.id in lines:
            raise UsageError(
                f"{file} has the id {sample.id!r} on line {lines[sample.id]} and on line {line}; make ids unique"
            )
        lines[sample.id] = line
        samples.append(sample)
    if not samples:
        raise UsageError(f"{file} lists no sample; write one on each line")
    _check_groups(file, samples, groups)
    return samples


def _rows(file: Path) -> Iterator[tuple[int, Row]]:
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise UsageError(f"{file} is no manifest: its name ends with none of {', '.join(_READERS)}")
    return reader(file)


def _id(row: Row) -> str:
    written = row.get("id")
    return f" (id {written[:80]!r})" if isinstance(written, str) else ""


def _check_groups(file: Path, samples: list[Sample], groups: tuple[str, ...]) -> None:
    for group in groups:
        if not any(group in sample.metadata for sample in samples):
            known = sorted({field for sample in samples for field in sample.metadata})
            raise UsageError(f"{file} has no metadata field {group!r} to group by; it has {', '.join(known) or 'none'}")
