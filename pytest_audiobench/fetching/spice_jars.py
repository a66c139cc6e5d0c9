"""Stanford's two jars for SPICE: fetched once, and checked against the digests of that first fetch from then on."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_audiobench.datasets.declaration import Fetch
from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.fetching.download import UrlFile
from pytest_audiobench.fetching.progress import Progress, size_text
from pytest_audiobench.identity import file_digest
from pytest_audiobench.metrics.spice_program import STANFORD_JARS
from pytest_audiobench.report.atomic_files import write_text

MAVEN = "https://repo1.maven.org/maven2/edu/stanford/nlp/stanford-corenlp/3.6.0"
RECORD = "jars.json"
_INCOMING = "incoming"


def set_up_spice(folder: Path, given: Path | None, force: bool, progress: Callable[[str], Progress]) -> list[str]:
    """Bring the jars into ``folder``, from ``given`` (a folder of them, or Stanford's zip) or else by HTTPS.

    A jar that already exists is checked, and with ``force`` fetched again. Returns a line for each. Raises
    FatalError for one that is not that of the first fetch, and for what is no jar.
    """
    folder.mkdir(parents=True, exist_ok=True)
    record, lines = _read(folder / RECORD), []
    for name in STANFORD_JARS:
        jar = folder / name
        if jar.is_file() and not force:
            _check(jar, name, record, folder)
            _write(folder, record)
            lines.append(f"{name}: there, {size_text(jar.stat().st_size)}, as at its first fetch")
            continue
        incoming = folder / _INCOMING / name
        incoming.parent.mkdir(exist_ok=True)
        origin = _fetch(incoming, name, given, progress)
        if not zipfile.is_zipfile(incoming):
            incoming.unlink()
            raise FatalError(
                f"{origin} is not a jar: look at what is sent there, or take it from a file with --from FILE"
            )
        try:
            _check(incoming, name, record, folder, origin)
        except FatalError:
            incoming.unlink()
            raise
        _write(folder, record)
        os.replace(incoming, jar)
        lines.append(f"{name}: {size_text(jar.stat().st_size)} from {origin}, sha256 {record[name]['sha256'][:12]}…")
    shutil.rmtree(folder / _INCOMING, ignore_errors=True)
    return lines


def _fetch(file: Path, name: str, given: Path | None, progress: Callable[[str], Progress]) -> str:
    """Make ``file`` hold the jar; returns where it came from."""
    if given is None:
        place = UrlFile(Fetch(url=f"{MAVEN}/{name}"))
        count = progress(name)
        for download in place.downloads(place.listing(None), file.parent, count):
            download()
        count.end()
        return place.address
    if given.is_dir():
        if not (given / name).is_file():
            raise UsageError(f"{given} holds no {name}; name a folder with both jars, or Stanford's zip")
        shutil.copyfile(given / name, file)
        return str(given / name)
    try:
        with zipfile.ZipFile(given) as archive:
            members = [info for info in archive.infolist() if Path(info.filename).name == name]
            if len(members) != 1:
                raise UsageError(f"{given} holds {len(members)} files {name}, not one: name Stanford's own zip")
            with archive.open(members[0]) as content, file.open("wb") as target:
                shutil.copyfileobj(content, target)
    except (zipfile.BadZipFile, OSError) as error:
        raise UsageError(f"{given} cannot be read as a zip ({error}); name Stanford's, or a folder of jars") from None
    return f"{given}/{members[0].filename}"


def _check(jar: Path, name: str, record: dict[str, Any], folder: Path, origin: str = "") -> None:
    """Hold ``jar`` to the record, or enter it there where it is the first."""
    sha256 = file_digest(jar)
    first = record.setdefault(name, {"sha256": sha256, "bytes": jar.stat().st_size, "from": origin or "there before"})
    if first["sha256"] != sha256:
        raise FatalError(
            f"{origin or jar} is not the {name} of the first fetch (sha256 {sha256[:12]}…, and "
            f"{first['sha256'][:12]}… then): find out why, and remove {folder / RECORD} only if it may be another"
        )


def _write(folder: Path, record: dict[str, Any]) -> None:
    write_text(folder / RECORD, json.dumps(record, indent=1) + "\n")


def _read(file: Path) -> dict[str, Any]:
    try:
        record = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        record = None
    if not isinstance(record, dict) or not all(
        isinstance(entry, dict) and isinstance(entry.get("sha256"), str) for entry in record.values()
    ):
        raise FatalError(f"{file} is not a record of jars: remove it, and the next fetch counts as the first")
    return record
