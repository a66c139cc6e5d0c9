"""BEANS-Zero's Parquet, whose audio is lists of floats, asked of a model that answers at once, over its number of rows.

Run ``python benchmarks/beans_zero.py [--rows N …] [--seconds S] [--group ROWS] [--rounds N]``. Each number of rows is a
process of its own, which reads the declared data set, plays every clip in hash order and scores the answers; its memory
is that of its largest moment, interpreter and libraries included. Limits: 500 MB for any, and from the fewest rows to
the most 30 kB a row, half of what a decoded second is.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
from measure import yardstick

from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.datasets.declaration import read_declarations
from pytest_audiobench.datasets.declared import declared_dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.evaluation.batch_executor import BatchLocks
from pytest_audiobench.evaluation.evaluate import EvalSpec, RunContext, evaluate
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.models.messages import Ask, Response
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.catalogue import protocol

EVALS = Path(__file__).parents[1] / "evals"
LABELS = ("dog", "rooster", "pig", "cow")
RATE_HZ = 16_000
LIMIT_MB, LIMIT_ROW_KB = 500, 30


class Constant:
    """A model that says the same of every clip, as soon as it was played."""

    spec, device, batching, listens, limits = "made:constant", "cpu", "planned", True, Limits()

    def fingerprint(self) -> dict[str, str]:
        return {}

    def load(self) -> None:
        """There is nothing to load."""

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        return [Response.of(LABELS[0]) for _ in batch]

    def close(self) -> None:
        """There is nothing to free."""


def make_shard(file: Path, rows: int, seconds: float, group_rows: int) -> None:
    """``rows`` of noise in the published columns."""
    import pyarrow as pa  # here alone: whoever measures has no noise in memory
    import pyarrow.parquet as pq

    texts = ["id", "file_name", "source_dataset", "dataset_name", "task", "instruction", "instruction_text", "output"]
    texts += ["license", "created_at", "metadata"]
    schema = pa.schema([*((name, pa.string()) for name in texts), ("audio", pa.list_(pa.float64()))])
    noise, frames = np.random.default_rng(0), round(seconds * RATE_HZ)
    with pq.ParquetWriter(file, schema) as writer:
        for start in range(0, rows, group_rows):
            numbers = range(start, min(start + group_rows, rows))
            column = {name: ["x"] * len(numbers) for name in texts}
            column["id"] = [f"{number:08d}" for number in numbers]
            column["dataset_name"] = ["esc50"] * len(numbers)
            column["output"] = [LABELS[number % len(LABELS)] for number in numbers]
            wave = noise.uniform(-0.5, 0.5, len(numbers) * frames).astype(np.float32).astype(np.float64)
            ends = np.arange(0, len(wave) + 1, frames, dtype=np.int32)
            columns = [*map(pa.array, column.values()), pa.ListArray.from_arrays(ends, pa.array(wave))]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=group_rows)


def ask_all(folder: Path) -> float:
    """Ask the shard in ``folder`` as ``beans_zero[esc50]``, of any number of rows; the accuracy."""
    published = read_declarations(EVALS / "beans_zero.audiobench.toml")["esc50"]
    declared = msgspec.structs.replace(published, data=msgspec.structs.replace(published.data, count=None))
    spec = EvalSpec(0, "t.py::test", "t", "t", Places(folder, named={"beans_zero": folder}))
    with ExitStack() as stack:
        store = stack.enter_context(Store(folder / "store.sqlite", "run"))
        locks = stack.enter_context(BatchLocks(folder / "locks"))
        context = RunContext("run", store, locks, stack.enter_context(AudioIndex(None)))
        done = evaluate(
            context, ModelHandle("model", Constant()), spec, declared_dataset(declared, {}), protocol("bioacoustic")
        )
        return float(done.result["accuracy"])


def peak_mb() -> float:
    """The largest memory of this process: its own, unlike ru_maxrss, which starts at its parent's."""
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmHWM:") + 1]) / 1024


def stage(folder: Path) -> None:
    started = time.process_time()
    accuracy = ask_all(folder)
    print(accuracy, peak_mb(), time.process_time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--group", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stage", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.stage:
        stage(given.stage)
        return
    print(f"yardstick {yardstick().cpu_s:.3f} s")
    peaks = {}
    for rows in given.rows:
        figures = []
        for _ in range(given.rounds):
            with TemporaryDirectory(prefix="audiobench-") as folder:
                shard = Path(folder) / "shard_0.parquet"
                make_shard(shard, rows, given.seconds, given.group)
                size_mb = shard.stat().st_size / 1e6
                command = [sys.executable, __file__, "--stage", folder]
                printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
                figures.append([float(figure) for figure in printed.split()])
        _, peak, cpu_s = (statistics.median(column) for column in zip(*figures, strict=True))
        peaks[rows] = peak
        shares = f"{peak / LIMIT_MB:.2f} of the limit"
        print(f"{rows:>9,} rows of {given.seconds:g} s ({size_mb:,.0f} MB): {peak:.0f} MB, {shares}, {cpu_s:.1f} s")
    few, many = min(peaks), max(peaks)
    if few < many:
        growth_kb = 1024 * (peaks[many] - peaks[few]) / (many - few)
        print(f"growth: {growth_kb:.1f} kB a row, {growth_kb / LIMIT_ROW_KB:.2f} of the limit")


if __name__ == "__main__":
    main()
