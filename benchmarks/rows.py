"""A million rows of a table, read and planned, whatever its format; and clips in Parquet cells, played.

Run ``python benchmarks/rows.py [--rows N] [--clips N] [--rounds N] [--only STAGE …]``. Each stage is a process of its
own, whose memory is that of its largest moment, interpreter and libraries included. Limit: 300 MB for any.

- manifest.csv and others: the data set read, as a manifest and as a declared set; behind a plus what an eval does
  before its first request: ``+some`` of the first 1,000 samples in hash order, ``+all`` of every one;
- rows: every row of Parquet files, its place and four columns; where: one of each thousand, chosen by a value;
- keys: all embedded clips identified, with no index; again: with one;
- played: the first 500 clips in hash order decoded;
- shard, shard-one: half as many clips, of 5 s, decoded in hash order, from row groups of 100 and from a single one;
- sounds: as many decoded in the same way from memory; bare: by soundfile from pyarrow's batches, in the file's order.
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
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import soundfile
from measure import yardstick

from pytest_audiobench.audio.clip import DataRoot
from pytest_audiobench.audio.decode import decode, decode_bytes
from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.audio.source_samples import SETTLE_S
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.declared import declared_loader
from pytest_audiobench.datasets.manifest import manifest
from pytest_audiobench.datasets.parquet_rows import parquet_files, parquet_rows
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import FatalError
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.evaluation.batch_executor import BatchLocks
from pytest_audiobench.evaluation.evaluate import EvalSpec, RunContext, evaluate
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice

LIMIT_MB = 300
TEXTS = ["id", "question", "label", "choices"]
SETS = ["manifest.csv", "manifest.tsv", "manifest.jsonl"]
SETS += ["declared.csv", "declared.tsv", "declared.jsonl", "declared.parquet"]
STAGES = [f"{name}{plan}" for name in SETS for plan in ("", "+some", "+all")]
STAGES += ["rows", "where", "keys", "again", "played", "shard", "shard-one", "sounds", "bare"]
CHOICES = ["cat", "dog", "bird"]
FILES = 100
SOUNDS = 200
DECLARATION = """
[data]
root = "made"
rows = "{file}"
[sample]
id = "{{id}}"
audio = "{{audio}}"
question = "{{question}}"
choices = ["cat", "dog", "bird"]
answer = "{{answer}}"
metadata = ["part"]
"""


class Silent:
    """A model that is never asked: the first request ends the eval."""

    spec, device, batching, listens, limits = "made:silent", "cpu", "planned", True, Limits()

    def fingerprint(self) -> dict[str, str]:
        return {}

    def load(self) -> None:
        raise FatalError("everything is planned")

    def close(self) -> None:
        """There is nothing to free."""


def row_of(number: int) -> dict[str, str]:
    return {
        "id": f"sample-{number:07d}",
        "audio": f"clips/{number % FILES}.wav",
        "question": f"Which of these animals is heard in recording {number}?",
        "answer": CHOICES[number % 3],
        "part": str(number % 1000),
    }


def make_rows(folder: Path, rows: int) -> None:
    """Tables of the same rows; of Parquet two shards, one of them a single row group, as pyarrow writes by itself."""
    import pyarrow as pa  # here and below: whoever reads no Parquet has no pyarrow in memory
    import pyarrow.parquet as pq

    (folder / "clips").mkdir()
    for number in range(FILES):
        soundfile.write(folder / f"clips/{number}.wav", np.full(1600, number / FILES), 16_000)
    jsonl, csv, tsv = (folder / f"rows.{ending}" for ending in ("jsonl", "csv", "tsv"))
    with jsonl.open("w") as objects, csv.open("w") as commas, tsv.open("w") as tabs:
        for number in range(rows):
            row = row_of(number)
            for file, mark in ((commas, ","), (tabs, "\t")):
                if not number:
                    file.write(mark.join([*row, "choices"]) + "\n")
                file.write(mark.join([*row.values(), "|".join(CHOICES)]) + "\n")
            part = row.pop("part")
            objects.write(json.dumps({**row, "choices": CHOICES, "metadata": {"part": part}}) + "\n")
    for shard, group_rows in ((0, rows), (1, 1000)):
        here = list(map(row_of, range(shard * rows // 2, (shard + 1) * rows // 2)))
        columns = {name: [row[name] for row in here] for name in here[0] if name != "part"}
        columns |= {"label": columns["answer"], "choices": [CHOICES] * len(here)}
        table = pa.table({**columns, "part": [int(row["part"]) for row in here]})
        pq.write_table(table, folder / f"rows-{shard:05d}-of-00002.parquet", row_group_size=group_rows)


def dataset_of(name: str, folder: Path) -> Dataset:
    kind, _, ending = name.partition(".")
    if kind == "manifest":
        return manifest(folder / f"rows.{ending}", name="made")
    declaration = folder / f"{ending}.audiobench.toml"
    declaration.write_text(DECLARATION.format(file=f"rows-*.{ending}" if ending == "parquet" else f"rows.{ending}"))
    return declared_loader(declaration)()


def plan(dataset: Dataset, places: Places, folder: Path, samples: int | None) -> int:
    planned: list[int] = []
    spec = EvalSpec(
        0, "t.py::test", "t", "t", places, samples, ready=lambda selection, _: planned.append(len(selection.samples))
    )
    with (
        TemporaryDirectory(dir=folder) as store,
        Store(Path(store) / "store.sqlite", "run") as answers,
        BatchLocks(Path(store) / "locks") as locks,
        AudioIndex(folder / "index.sqlite", settle_s=0) as index,
        suppress(FatalError),
    ):
        handle = ModelHandle("silent", Silent())  # type: ignore[arg-type]
        evaluate(RunContext("run", answers, locks, index), handle, spec, dataset, multiple_choice())
    return planned[0]


def make_clips(path: Path, clips: int, group_rows: int, files: Iterator[bytes]) -> None:
    """Hugging Face's datasets write row groups of 100 for audio."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("id", pa.string()), ("audio", pa.struct([("bytes", pa.binary()), ("path", pa.string())]))])
    # A page ends with a batch: of 1,024 cells, as pyarrow has it, one is 131 MB, and read packed and unpacked at once.
    with pq.ParquetWriter(path, schema, use_dictionary=False, write_batch_size=100) as writer:
        for start in range(0, clips, group_rows):
            numbers = range(start, min(start + group_rows, clips))
            cells = [{"bytes": next(files), "path": f"{number}.flac"} for number in numbers]
            names = [f"clip-{number:07d}" for number in numbers]
            writer.write_table(pa.table({"id": names, "audio": cells}, schema=schema), row_group_size=group_rows)


def noises(frames: int) -> Iterator[bytes]:
    """FLAC files of noise."""
    random = np.random.default_rng(0)
    while True:
        file = io.BytesIO()
        soundfile.write(file, random.normal(0, 0.05, frames), 16_000, format="FLAC", subtype="PCM_16")
        yield file.getvalue()


def long_noises() -> Iterator[bytes]:
    """The same files of 5 s over and over."""
    return cycle(list(islice(noises(80_000), SOUNDS)))


def stage(name: str, folder: Path, rows: int, clips: int) -> int:
    """What a process does; how many rows, samples or clips it had."""
    root = DataRoot("made", folder)
    if name == "make":  # in a process of its own: those that follow are charged with the memory of what started them
        make_rows(folder, rows)
        make_clips(folder / "clips.parquet", clips, 100, noises(8000))
        make_clips(folder / "shard.parquet", clips // 2, 100, long_noises())
        make_clips(folder / "shard-one.parquet", clips // 2, clips // 2, long_noises())
        time.sleep(SETTLE_S)  # what changed just now might change unseen, and is read again each time
        return rows + clips
    if name in ("rows", "where"):
        where = {"part": 7} if name == "where" else None
        return sum(1 for _ in parquet_rows(parquet_files(root, "rows-*.parquet"), TEXTS, where))
    if "." in name:
        name, _, planned = name.partition("+")
        places = Places(here=folder, named={"made": folder})
        if planned:
            return plan(dataset_of(name, folder), places, folder, 1000 if planned == "some" else None)
        return len(dataset_of(name, folder).read(places))
    if name in ("sounds", "bare"):
        import pyarrow.parquet as pq

        shard = pq.ParquetFile(folder / "shard.parquet")
        cells = (
            cell for batch in shard.iter_batches(100, columns=["audio.bytes"]) for cell in batch.column(0).field(0)
        )
        if name == "bare":
            return sum(len(soundfile.read(io.BytesIO(cell.as_buffer()), dtype="float32")[0]) > 0 for cell in cells)
        sounds = [cell.as_py() for cell in islice(cells, SOUNDS)]
        decoded = (
            decode_bytes("noise", sound, 16_000, None) for sound in islice(cycle(sounds), shard.metadata.num_rows)
        )
        return sum(len(sound.samples) > 0 for sound in decoded)
    file = f"{name}.parquet" if name.startswith("shard") else "clips.parquet"
    table = parquet_rows(parquet_files(root, file), ["id"], audio={"audio": None})
    played = [row["audio"] for _, row in sorted(table, key=lambda row: hashlib.sha256(row[1]["id"].encode()).digest())]
    if name == "played" or name.startswith("shard"):
        some = played[:500] if name == "played" else played
        return sum(len(decode(clip, 16_000, None).samples) > 0 for clip in some)
    with AudioIndex(folder / "index.sqlite" if name == "again" else None, settle_s=0) as index:
        return len({facts.digest for facts in index.facts_of(played)})  # type: ignore[union-attr]


def own_peak_mb() -> float:
    """A child's ru_maxrss starts at its parent's; VmHWM is its own."""
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmHWM:") + 1]) / 1024


def measured(folder: Path, name: str, *made: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--stage", name, "--folder", str(folder)]
    command += [f"--{what}={count}" for what, count in zip(("rows", "clips"), made, strict=False)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)  # type: ignore


def report(folder: Path, rounds: int, only: list[str]) -> Iterator[str]:
    measured(folder, "again")  # the index learns
    for name in (stage for stage in STAGES if not only or any(stage.startswith(one) for one in only)):
        runs = [measured(folder, name) for _ in range(rounds)]
        cpu, wall = ([run[key] for run in runs] for key in ("cpu_s", "wall_s"))
        most = max(run["memory_mb"] for run in runs)
        times = (
            f"{statistics.median(wall):7.2f} s ({min(wall):.2f} to {max(wall):.2f}), {statistics.median(cpu):6.2f} cpu"
        )
        yield f"{name:24} {runs[0]['count']:9.0f}  {times}, n={rounds}; {most:.0f} MB, {most / LIMIT_MB:.2f} of it"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--clips", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--stage")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.stage:
        start = time.perf_counter()
        count = stage(options.stage, options.folder, options.rows, options.clips)
        used = resource.getrusage(resource.RUSAGE_SELF)
        spent = {"wall_s": time.perf_counter() - start, "cpu_s": used.ru_utime + used.ru_stime}
        print(json.dumps({"count": count, **spent, "memory_mb": own_peak_mb()}))
        return
    with TemporaryDirectory() as name:
        folder = Path(name)
        measured(folder, "make", options.rows, options.clips)
        sizes = {path.name: path.stat().st_size // 1_000_000 for path in sorted(folder.iterdir())}
        print(f"yardstick {yardstick().cpu_s:.3f} s; MB of the files: {sizes}")
        for line in report(folder, options.rounds, options.only):
            print(line, flush=True)


if __name__ == "__main__":
    main()
