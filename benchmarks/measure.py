"""What a command takes, measured the same way by all benchmarks."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Spent(NamedTuple):
    """Wall time and CPU time (all threads) in seconds, which a busy machine distorts less."""

    wall_s: float
    cpu_s: float

    def beyond(self, *others: Spent) -> Spent:
        """What is left when ``others`` are taken away."""
        return Spent(self.wall_s - sum(one.wall_s for one in others), self.cpu_s - sum(one.cpu_s for one in others))


def here(action: Callable[[], object]) -> Spent:
    """What ``action`` takes of this process."""
    return _spent(action, resource.RUSAGE_SELF)


def process(
    command: Sequence[str], folder: Path, bytecode: Path, *, statuses: Sequence[int] = (0,), **variables: str
) -> Spent:
    """What a process takes that ends with one of ``statuses``.

    ``bytecode`` keeps what it compiled, as an installed package does from its second start.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, "PYTHONPYCACHEPREFIX": str(bytecode), **variables}

    def run() -> None:
        done = subprocess.run(command, cwd=folder, env=environment, check=False, stdout=subprocess.DEVNULL)
        if done.returncode not in statuses:
            raise subprocess.CalledProcessError(done.returncode, command)

    return _spent(run, resource.RUSAGE_CHILDREN)


def yardstick() -> Spent:
    """A fixed loop of plain Python: its spread is the machine's, and its median says how slow the machine was."""

    def loop() -> None:
        total = 0
        for number in range(2_000_000):
            total += number

    return here(loop)


def keep(
    name: str, found: Sequence[Spent], scale: float, unit: str, limit: float | None = None, *, cpu: bool = True
) -> None:
    """Leave a figure for ``docs/performance.json``, where ``all.py`` asks for it; ``limit`` is in ``unit``."""
    times = {
        "CPU time": [one.cpu_s for one in found] if cpu else [],
        "wall time": [one.wall_s for one in found],
    }
    spreads = {
        time: [round(scale * each, 6) for each in (statistics.median(seconds), min(seconds), max(seconds))]
        if seconds
        else None
        for time, seconds in times.items()
    }
    _leave({"name": name, "unit": unit, "n": len(found), "limit": limit, **spreads})


def keep_left_out(why: str) -> None:
    """Say there and on the screen what could not be measured here, such as a peer that is not installed."""
    print(f"left out: {why}")
    _leave({"left_out": why})


def _leave(row: Mapping[str, object]) -> None:
    if path := os.environ.get("BENCHMARK_FIGURES"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def table_row(name: str, found: Sequence[Spent], scale: float, unit: str) -> str:
    """Medians with their range, wall time and CPU time; ``scale`` turns seconds into ``unit``."""
    cells = []
    for field in Spent._fields:
        values = [scale * getattr(one, field) for one in found]
        cells.append(f"{statistics.median(values):8.3f} ({min(values):.3f} to {max(values):.3f})")
    return f"{name:32} {unit:10} {cells[0]:30} {cells[1]:30} n={len(found)}"


def ratios(name: str, found: Sequence[Spent], limit_s: float) -> str:
    """The medians in units of their limit: below 1 is within."""
    wall, cpu = (statistics.median(getattr(one, field) for one in found) / limit_s for field in Spent._fields)
    return f"{name}, share of the limit: {wall:.2f} wall time, {cpu:.2f} CPU time"


def _spent(action: Callable[[], object], who: int) -> Spent:
    before, start = resource.getrusage(who), time.perf_counter()
    action()
    wall_s, after = time.perf_counter() - start, resource.getrusage(who)
    return Spent(wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
