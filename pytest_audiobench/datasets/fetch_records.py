"""The records of what was fetched, which lie in the data root next to the data sets' folders."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from pytest_audiobench.datasets.catalogue import LOADERS, SUFFIX
from pytest_audiobench.errors import DataNotFound
from pytest_audiobench.io.strict_json import FileKind
from pytest_audiobench.records import reading
from pytest_audiobench.records.fetch import MOST_BYTES, FetchRecord

_RECORD = ".fetch.json"
_KIND = FileKind(
    "record of a fetch", "audiobench fetch", "remove it with audiobench fetch NAME --remove and fetch again"
)


def record_file(root: Path, name: str) -> Path:
    return root / f"{name}{_RECORD}"


def recorded_names(root: Path) -> list[str]:
    """The data sets of which something was fetched into ``root``."""
    return sorted(file.name.removesuffix(_RECORD) for file in root.glob(f"*{_RECORD}"))


def read_record(root: Path, name: str) -> FetchRecord | None:
    """What was fetched of a data set; None for nothing. Raises UsageError for a file that is not a record."""
    file = record_file(root, name)
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    return _read(file, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)  # every eval of a benchmark asks
def _read(file: Path, _mtime_ns: int, _size: int) -> FetchRecord:
    return reading.read_file(file, _KIND, FetchRecord, MOST_BYTES)


def check_complete(folder: Path, root: str, benchmark: str, case: Mapping[str, str]) -> None:
    """Raises DataNotFound where a fetch into ``folder`` was started, and has not brought all that an eval needs."""
    record = read_record(folder.parent, root) if folder.name == root else None
    if record and any(part.is_of(benchmark, case) and not part.complete for part in record.parts):
        command = f"audiobench fetch {fetch_name(benchmark)} --data-root {folder.parent}"
        raise DataNotFound(f"{folder} is not complete, since its fetch did not end; run {command} again", root)


def fetch_name(benchmark: str) -> str:
    """What ``audiobench fetch`` calls the file of a benchmark, whose name may be that of one of its tasks."""
    suite = benchmark.partition("/")[0]
    return suite if isinstance(LOADERS.get(suite), Path) else f"{suite}{SUFFIX}"
