"""``audiobench init FOLDER``."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_audiobench.errors import AudioError, UsageError

if TYPE_CHECKING:
    from pytest_audiobench.cli._survey import OwnEval
    from pytest_audiobench.datasets.sample import Sample

HELP = "look at a folder of audio, or at a list of it, and write an eval file that runs"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", metavar="FOLDER", type=Path, help="a folder of audio, or a manifest: CSV, TSV, JSONL, Parquet, …")
    add("--answer", metavar="COLUMN", help="the column of what is true")
    add("--audio", metavar="COLUMN", help="the column of the audio's paths")
    add("--protocol", metavar="NAME", help="how to ask: audiobench list protocols")
    add("--output", metavar="FILE", type=Path, help="the file to write (default: FOLDER.audiobench.toml, here)")


def run(args: argparse.Namespace) -> int:
    """0; 1 where answers are to be filled in first. Raises UsageError for what is no eval, and never overwrites."""
    from pytest_audiobench.cli._survey import survey, understood
    from pytest_audiobench.cli._text import labelled, wrapped
    from pytest_audiobench.datasets.manifest_rows import stem

    place = args.folder.expanduser().resolve()
    name = re.sub(r"[^\w.-]+", "_", stem(place)).strip("._-") or "own"
    target = args.output or Path(f"{name}.audiobench.toml")
    if not target.name.endswith(".audiobench.toml"):
        raise UsageError(f"{target} would not be collected: let its name end with .audiobench.toml")
    if target.exists():
        raise UsageError(f"{target} already exists, and nothing is overwritten: name another by --output")
    if not place.exists():
        raise UsageError(f"there is no file or folder {args.folder}; correct the path")
    own = survey(place)
    if isinstance(own, str):
        print(wrapped(own))
        return 1
    samples = understood(own, args)
    title = f"{name}: {_sounds(samples)}"
    _write(target, title, own)
    lines = [wrapped(title), *labelled(own.notes), f"written to {target}"]
    lines += ["run it by the bundled baseline, or by a model of yours:", f"  pytest {target}"]
    print("\n".join([*lines, f"  pytest {target} --ab-model=hf:FOLDER"]))
    return 0


# What is said and written


def _sounds(samples: Sequence[Sample]) -> str:
    """How many clips there are, how long, and at which rates, by the headers of some."""
    from pytest_audiobench.cli._survey import LOOKED_AT

    clips = [clip for sample in samples for clip in sample.clips]
    step = max(1, len(clips) // LOOKED_AT)
    headers = [header for clip in clips[::step] if (header := _header(clip))]
    if not headers:
        return f"{len(clips):,} clips, of which none can be read"
    from pytest_audiobench.cli.describe import duration

    seconds = sum(length for length, _, _ in headers) / len(headers) * len(clips)
    rates = ", ".join(f"{rate:,} Hz" for rate in sorted({rate for _, rate, _ in headers}))
    channels = "mono" if {count for _, _, count in headers} == {1} else "some of several channels"
    unread = len(clips[::step]) - len(headers)
    wrong = f"; {unread} of {len(clips[::step])} cannot be read" if unread else ""
    return f"{len(clips):,} clips, {'about ' if step > 1 else ''}{duration(seconds)}, {rates}, {channels}{wrong}"


def _header(clip: Any) -> tuple[float, int, int] | None:
    """Seconds, rate and channels of a clip's source; None where it cannot be read."""
    import soundfile

    from pytest_audiobench.audio.clip import CellSource, FileSource
    from pytest_audiobench.audio.parquet_cells import read_cell

    source: Any = clip.source
    data: Any = None
    try:
        if isinstance(source, CellSource):
            cell = read_cell(source, str(source.file.location))
            if not isinstance(cell, bytes):
                return len(cell) / (source.rate_hz or 1), source.rate_hz or 1, 1
            data = BytesIO(cell)
        elif isinstance(source, FileSource):
            data = source.location
        info = soundfile.info(data)
    except (AudioError, OSError, RuntimeError, TypeError):
        return None
    return info.frames / max(1, info.samplerate), info.samplerate, info.channels


def _write(target: Path, title: str, own: OwnEval) -> None:
    from pytest_audiobench.protocols.catalogue import protocol

    protocol(own.keys["protocol"], **{"language": own.keys["language"]} if "language" in own.keys else {})
    here = target.resolve().parent
    paths = {"manifest": str(own.manifest)} | {key: own.keys[key] for key in ("root",) if key in own.keys}
    keys = {**own.keys, **{key: Path(os.path.relpath(path, here)).as_posix() for key, path in paths.items()}}
    lines = [f"# {title}", "# As audiobench init understood it: correct what is not so."]
    lines += [f"{key} = {json.dumps(keys[key], ensure_ascii=False)}" for key in dict.fromkeys(["manifest", *keys])]
    with target.open("x", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
