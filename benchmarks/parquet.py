"""Rows of Parquet files: a million without audio, read and planned, and 20,000 with small audio, identified and played.

Run ``python benchmarks/parquet.py [--rows N] [--clips N] [--rounds N]``. Each stage is a process of its own, whose
memory is that of its largest moment, interpreter and libraries included. Limit: 300 MB for any.

- rows: every row read, its place and four columns;
- where: one row of each thousand, chosen by a value;
- plan: what an eval of the first 1,000 samples in hash order takes of the whole, before anything is asked;
- keys: all embedded clips identified, with no index; again: with one;
- played: the first 500 clips in hash order decoded.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import soundfile
from measure import yardstick

from pytest_audiobench.audio.clip import DataRoot
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.parquet_rows import ParquetSamples, RowPlace, parquet_files, parquet_rows
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.evaluation.selection import select
from pytest_audiobench.models.model import Limits

LIMIT_MB = 300
TEXTS = ["id", "question", "label", "choices"]


class Deaf:
    """As much of a model's handle as a selection reads."""

    listens, planned, limits = False, True, Limits()


def make_rows(folder: Path, rows: int) -> None:
    """Two shards, one of them a single row group, as pyarrow writes by itself."""
    for number, group_rows in ((0, rows), (1, 1000)):
        here = range(number * rows // 2, (number + 1) * rows // 2)
        table = pa.table(
            {
                "id": [f"sample-{row:07d}" for row in here],
                "question": [f"Which of these animals is heard in recording {row}?" for row in here],
                "label": [("cat", "dog", "bird")[row % 3] for row in here],
                "choices": [["cat", "dog", "bird"]] * len(here),
                "part": [row % 1000 for row in here],
            }
        )
        pq.write_table(table, folder / f"rows-{number:05d}-of-00002.parquet", row_group_size=group_rows)


def make_clips(folder: Path, clips: int) -> None:
    """Half a second of noise each as FLAC, in row groups of 100, which Hugging Face's datasets write for audio."""
    random = np.random.default_rng(0)
    schema = pa.schema([("id", pa.string()), ("audio", pa.struct([("bytes", pa.binary()), ("path", pa.string())]))])
    with pq.ParquetWriter(folder / "clips.parquet", schema) as writer:
        for start in range(0, clips, 100):
            cells = [{"bytes": flac(random), "path": f"{row}.flac"} for row in range(start, start + 100)]
            names = [f"clip-{row:07d}" for row in range(start, start + 100)]
            writer.write_table(pa.table({"id": names, "audio": cells}, schema=schema))


def flac(random: np.random.Generator) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, random.normal(0, 0.05, 8000), 16_000, format="FLAC", subtype="PCM_16")
    return file.getvalue()


def stage(name: str, folder: Path, rows: int, clips: int) -> int:
    """What a process does; how many rows, samples or clips it had."""
    root = DataRoot("made", folder)
    if name == "make":  # in a process of its own: those that follow are charged with the memory of what started them
        make_rows(folder, rows)
        make_clips(folder, clips)
        return rows + clips
    if name in ("rows", "where", "plan"):
        files = parquet_files(root, "rows-*.parquet")
        if name != "plan":
            where = {"part": 7} if name == "where" else None
            return sum(1 for _ in parquet_rows(files, TEXTS, where))
        samples = ParquetSamples(files, TEXTS, choice_sample)
        with AudioIndex(None) as index:
            dataset = Dataset("made", lambda places: samples)
            selection = select(dataset, Places(here=folder), index, Deaf(), limit=1000)  # type: ignore[arg-type]
        return selection.size
    table = parquet_rows(parquet_files(root, "clips.parquet"), ["id"], audio={"audio": None})
    played = [row["audio"] for _, row in sorted(table, key=lambda row: hashlib.sha256(row[1]["id"].encode()).digest())]
    if name == "played":
        return sum(len(decode(clip, 16_000, None).samples) > 0 for clip in played[:500])
    with AudioIndex(folder / "index.sqlite" if name == "again" else None, settle_s=0) as index:
        return len({facts.digest for facts in index.facts_of(played)})  # type: ignore[union-attr]


def choice_sample(place: RowPlace, row: dict[str, object]) -> Sample:
    return Sample(str(row["id"]), (), str(row["question"]), tuple(row["choices"]), str(row["label"]))  # type: ignore


def measured(folder: Path, name: str, *made: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--stage", name, "--folder", str(folder)]
    command += [f"--{what}={count}" for what, count in zip(("rows", "clips"), made, strict=False)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)  # type: ignore


def report(folder: Path, rounds: int) -> Iterator[str]:
    measured(folder, "again")  # the index learns
    for name in ("rows", "where", "plan", "keys", "again", "played"):
        runs = [measured(folder, name) for _ in range(rounds)]
        cpu, wall = ([run[key] for run in runs] for key in ("cpu_s", "wall_s"))
        most = max(run["memory_mb"] for run in runs)
        times = (
            f"{statistics.median(wall):7.2f} s ({min(wall):.2f} to {max(wall):.2f}), {statistics.median(cpu):6.2f} cpu"
        )
        yield f"{name:8} {runs[0]['count']:9.0f}  {times}, n={rounds}; {most:.0f} MB, {most / LIMIT_MB:.2f} of it"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--clips", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stage")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.stage:
        start = time.perf_counter()
        count = stage(options.stage, options.folder, options.rows, options.clips)
        used = resource.getrusage(resource.RUSAGE_SELF)
        spent = {"wall_s": time.perf_counter() - start, "cpu_s": used.ru_utime + used.ru_stime}
        print(json.dumps({"count": count, **spent, "memory_mb": used.ru_maxrss / 1024}))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        measured(folder, "make", options.rows, options.clips)
        sizes = {path.name: path.stat().st_size // 1_000_000 for path in sorted(folder.iterdir())}
        print(f"yardstick {yardstick().cpu_s:.3f} s; MB of the files: {sizes}")
        for line in report(folder, options.rounds):
            print(line, flush=True)


if __name__ == "__main__":
    main()
