"""Measure the figures of ``docs/performance.json`` again, and write the tables of ``docs/performance.md``.

Run ``python benchmarks/all.py [--only SCRIPT …] [-- ARGUMENT …]``, with arguments for the scripts. Each script is a
process of its own, as if it were run by hand, and leaves its figures in the file that ``BENCHMARK_FIGURES`` names.
Date, commit, machine, load and yardstick are put beside them. What is not measured keeps its figures of before. Peers
run in environments of their own, named as ``peers.py`` says; an absent one is left out with a line.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import figures
from measure import yardstick

SCRIPTS = ("harness", "many_evals", "startup", "report_page", "peers")


def machine() -> str:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, {platform.machine()}, Python {platform.python_version()}"


def commit() -> str:
    """The commit that was measured; "" where files differ from it."""

    def git(*args: str) -> str:
        done = subprocess.run(["git", *args], cwd=figures.ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "pytest_audiobench", "benchmarks", "evals")
    return "" if changed else git("rev-parse", "--short=8", "HEAD")


def measured(script: str, arguments: list[str]) -> dict[str, Any]:
    """What a script measures. Raises CalledProcessError where it fails."""
    before, sticks = os.getloadavg()[0], [yardstick().cpu_s]
    with tempfile.TemporaryDirectory() as temporary:
        rows = Path(temporary) / "figures.jsonl"
        command = [sys.executable, str(figures.ROOT / "benchmarks" / f"{script}.py"), *arguments]
        subprocess.run(command, env={**os.environ, "BENCHMARK_FIGURES": str(rows)}, check=True)
        found = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    sticks.append(yardstick().cpu_s)
    return {
        "script": script,
        "arguments": arguments,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit(),
        "machine": machine(),
        "load": [round(before, 2), round(os.getloadavg()[0], 2)],
        "yardstick_s": [round(stick, 4) for stick in sorted(sticks)],
        "figures": [row for row in found if "name" in row],
        "left_out": [row["left_out"] for row in found if "left_out" in row],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=SCRIPTS, default=SCRIPTS)
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    for script in options.only:
        others = [entry for entry in figures.read() if entry["script"] != script]
        figures.write([*others, measured(script, options.arguments)])
        figures.main()


if __name__ == "__main__":
    main()
