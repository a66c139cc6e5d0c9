"""Miniatures of benchmarks: the published layout of each with a few rows, what a model answers to them, and what the
run must report. ``miniatures/NAME.json`` holds one, of a ``[[task]]`` ``FILE-TASK.json``.
"""

import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import soundfile

from pytest_audiobench.datasets.declaration import Declaration

HERE = Path(__file__).parent
EVALS = HERE.parents[1] / "evals"
RATE_HZ = 16_000
_COUNT = re.compile(r"^(data\.)?count = .*\n", re.MULTILINE)
SECONDS = 0.2
FORMATS = {".wav": "WAV", ".flac": "FLAC", ".mp3": "MP3", ".ogg": "OGG", ".opus": "OGG", ".sph": "NIST", ".au": "AU"}
CONFTEST = '''
"""A model that answers each sample by what a file says of it, and a judge that does."""

import json
from pathlib import Path

from pytest_audiobench.ext import Limits, Response


class Recorded:
    batching, listens, device, limits = "opaque", True, "cpu", Limits(max_clips=64)

    def __init__(self, target, options):
        self.spec = f"recorded:{target}"
        self._answers = json.loads(Path(target).read_text())

    def fingerprint(self):
        return {"adapter": "recorded", "answers": str(len(self._answers))}

    def load(self):
        pass

    def ask(self, batch):
        answers = [self._answers[f"{a.request.dataset} {a.request.sample_id}"] for a in batch]
        return [Response.of(*([answer] if isinstance(answer, str) else answer)) for answer in answers]

    def close(self):
        pass


def pytest_audiobench_register(registration):
    registration.model("recorded", Recorded)
'''


class Miniature:
    """One file of ``miniatures/``."""

    def __init__(self, path: Path) -> None:
        content = json.loads(path.read_text(encoding="utf-8"))
        self.name = path.stem
        self.benchmark, _, self.task = path.stem.partition("-")
        self.eval = "/".join(filter(None, (self.benchmark, self.task)))
        self.files: Mapping[str, Any] = content["files"]
        self.audio = content.get("audio", [])
        self.parameters: Mapping[str, str] = content.get("parameters", {})
        self.layout: str = content.get("layout", "")
        """Which of the layouts of its file it has, where they cannot lie in one folder."""
        self.samples: list[Mapping[str, Any]] = content["samples"]
        self.count: int = content["count"]
        self.responses: Mapping[str, str | list[str]] = content["responses"]
        """By sample a text, or a text and how it ended."""
        self.judge_responses: Mapping[str, str] = content.get("judge_responses", {})
        self.expected: Mapping[str, Mapping[str, float]] = content["expected"]

    @property
    def other_folders(self) -> set[str]:
        """The folders of other data sets that it writes to: ``../librispeech/…``."""
        return {Path(path).parts[1] for path in (*self.files, *self.audio) if path.startswith("../")}

    def put(self, folder: Path, others: Sequence["Miniature"] = ()) -> None:
        """Write its files below the data set's folder; a table that ``others`` have too has the rows of all."""
        lengths = self.audio if isinstance(self.audio, Mapping) else dict.fromkeys(self.audio, SECONDS)
        for path, seconds in lengths.items():
            tone(folder / path, seconds, folder.parent)
        for path, rows in self.files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(rows, list):
                every = [row for miniature in (*others, self) for row in miniature.files.get(path, ())]
                rows = [row for number, row in enumerate(every) if row not in every[:number]]
            if file.suffix == ".parquet":
                _write_parquet(file, rows, folder.parent)
            else:
                file.write_text(_text(file, rows), encoding="utf-8")


def in_part(declared: Declaration) -> Declaration:
    """``declared`` of any number of rows: a miniature has fewer than its benchmark."""
    return msgspec.structs.replace(declared, data=msgspec.structs.replace(declared.data, count=None))


def text_in_part(file: Path) -> str:
    """What :func:`in_part` is of a declaration's file."""
    return _COUNT.sub("", file.read_text(encoding="utf-8"))


def miniatures() -> dict[str, Path]:
    """The miniatures that there are, by name."""
    return {path.stem: path for path in sorted((HERE / "miniatures").glob("*.json"))}


def tone(file: Path, seconds: float, root: Path) -> None:
    """Write a tone in noise of its own, which are those of its path below ``root``: clips of the same bytes are one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    wave = _wave(file.relative_to(root).as_posix(), seconds)
    subtype = "OPUS" if file.suffix == ".opus" else None
    soundfile.write(file, wave, RATE_HZ, format=FORMATS[file.suffix.lower()], subtype=subtype)


def _wave(name: str, seconds: float) -> np.ndarray:
    digest = zlib.crc32(name.encode())
    time_s = np.arange(int(RATE_HZ * seconds)) / RATE_HZ
    noise = np.random.default_rng(digest).normal(0, 0.05, len(time_s))
    return 0.3 * np.sin(2 * np.pi * (200 + digest % 3000) * time_s) + noise


def _text(file: Path, rows: Any) -> str:
    if file.suffix in {".jsonl", ".ndjson"} and isinstance(rows, list):
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return rows if isinstance(rows, str) else json.dumps(rows, ensure_ascii=False)


def _write_parquet(file: Path, rows: list[dict[str, Any]], root: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: list(_cells(file, [row.get(name) for row in rows], root)) for name in names}
    pyarrow.parquet.write_table(pyarrow.table(columns), file)


def _cells(file: Path, cells: list[Any], root: Path) -> Iterator[Any]:
    for number, cell in enumerate(cells):
        yield _cell(file, number, cell, root)


def _cell(file: Path, number: int, cell: Any, root: Path) -> Any:
    if isinstance(cell, list):
        return [_cell(file, number * 100 + part, content, root) for part, content in enumerate(cell)]
    if isinstance(cell, dict) and set(cell) == {"audio"}:
        clip = file.with_name(f"{number}-{Path(cell['audio']).name}")
        tone(clip, SECONDS, root)
        content = clip.read_bytes()
        clip.unlink()
        return {"bytes": content, "path": cell["audio"]}
    if isinstance(cell, dict) and set(cell) == {"waveform"}:
        return _wave(f"{file.as_posix()} {number}", cell["waveform"]).astype(np.float32).tolist()
    return cell
