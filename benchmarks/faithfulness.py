"""The grid of the faithfulness suite over 400 real clips, asked of a model that is played each and answers at once.

Run ``python benchmarks/faithfulness.py [--data FOLDER] [--rounds N]`` where SAKURA lies (``data/<Track>/audio``: 400
clips of four tracks, each asked about twice). ``evals/test_faithfulness.py`` is run by two workers, all of it that
needs no other model: masks, noise, controls, injections, reasoning put back as it was and changed. No answer is known
before. The time is that of the whole pytest process, its start, the hashing of the files and the report included.
Beside it: how often a worker decoded a file, the largest worker and the controller, and the same for the baseline
alone, which is what the workers' memory would be if it were flat. Limits: 60 s of wall time; each file decoded once a
worker.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from measure import Spent, process, table_row, yardstick

LIMIT_S = 60.0
WORKERS = 2
CONFTEST = """
import atexit, json, os, resource
from collections import Counter
from pathlib import Path
from pytest_audiobench.audio import source_samples
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits

class Instant:
    batching, device, listens, spec, limits = "planned", "cpu", True, "instant:one", Limits()
    def __init__(self, target, options): pass
    def fingerprint(self): return {"instant": "1"}
    def load(self): pass
    def close(self): pass
    def ask(self, batch):
        return [Response.of(self.answer(request)) for request, audio in batch]
    def answer(self, request):
        letter = "ABCD"[int(request.key[0], 16) % len(request.choices)]
        return f"Something like {request.key[:8]} is heard. It is heard again. So it is the last.\\n\\nAnswer: {letter}"

def pytest_audiobench_register(registration):
    registration.model("instant", Instant)

decoded, read_file = Counter(), source_samples.read_file

def counted(source, *rest):
    decoded[str(source)] += 1
    return read_file(source, *rest)

source_samples.read_file = counted

@atexit.register
def write_process():
    mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    works = "PYTEST_XDIST_WORKER" in os.environ
    Path(f"process-{os.getpid()}.json").write_text(json.dumps({"decoded": decoded, "mb": mb, "works": works}))
"""
EVALS = Path(__file__).parents[1] / "evals" / "test_faithfulness.py"
GRID = "(animal or emotion or gender or language) and not paraphrased and not mistaken"
"""What asks about SAKURA and needs no other model."""
PYTEST = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]) not in (0, 1))"
"""The controls must fail: a model that answers at once has not listened."""


class Round(NamedTuple):
    """What one run took; ``decoded`` counts pairs of a file and a worker, by how often the one decoded the other."""

    spent: Spent
    items: int
    files: int
    decoded: Counter[int]
    worker_mb: float
    controller_mb: float


def run(folder: Path, data: Path, *arguments: str) -> Round:
    """One pytest run in which nothing is known, not even the files' digests."""
    for left in ("reports", ".audiobench"):
        shutil.rmtree(folder / left, ignore_errors=True)
    for left in folder.glob("process-*.json"):
        left.unlink()
    command = [sys.executable, "-c", PYTEST, "-q", "-p", "no:cacheprovider", "-p", "xdist", f"-n{WORKERS}", "-mstudy"]
    command += ["-p", "pytest_audiobench.plugin", "--ab-model=instant:one", "--ab-run=r", f"--ab-data=sakura={data}"]
    spent = process([*command, *arguments], folder, folder / "bytecode", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    processes = [json.loads(file.read_text()) for file in folder.glob("process-*.json")]
    workers = [facts for facts in processes if facts["works"]]
    (controller,) = (facts for facts in processes if not facts["works"])
    return Round(
        spent,
        len(json.loads((folder / "reports" / "r" / "run.json").read_text())["items"]),
        len({name for worker in workers for name in worker["decoded"]}),
        Counter(times for worker in workers for times in worker["decoded"].values()),
        max(worker["mb"] for worker in workers),
        controller["mb"],
    )


def main() -> None:
    measure(__doc__, {EVALS.name: EVALS.read_text()}, {"the baseline alone": f"{GRID} and baseline", "the grid": GRID})


def measure(about: str | None, files: Mapping[str, str], selections: Mapping[str, str]) -> None:
    """Run each of ``selections`` of the evals in ``files`` in every round, and print what each took; the last one has
    the limit.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data" / "sakura")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if not (options.data / "data").is_dir():
        sys.exit(f"{options.data} has no folder data; name SAKURA's folder with --data")
    taken: dict[str, list[Round]] = {name: [] for name in selections}
    marks = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name, text in {"conftest.py": CONFTEST, "pytest.ini": "[pytest]\n", **files}.items():
            (folder / name).write_text(text)
        for _ in range(options.rounds):
            marks.append(yardstick())
            for name, words in selections.items():
                taken[name].append(run(folder, options.data.resolve(), "-k", words))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {WORKERS} workers; median (min to max)")
    print(table_row("yardstick", marks, 1.0, "s"))
    for name, rounds in taken.items():
        print(table_row(name, [one.spent for one in rounds], 1.0, "s"))
        last = rounds[-1]
        often = ", ".join(f"{times} times by {n} pairs" for times, n in sorted(last.decoded.items()))
        print(f"  {last.items} items, {last.files} files; decoded, by pairs of a file and a worker: {often}")
        largest = (statistics.median(getattr(one, name) for one in rounds) for name in ("worker_mb", "controller_mb"))
        print("  largest worker {:.0f} MB, controller {:.0f} MB".format(*largest))
    wall_s, cpu_s = (statistics.median(values) for values in zip(*(one.spent for one in rounds), strict=True))
    print(f"{name}, share of the limit of {LIMIT_S:.0f} s: {wall_s / LIMIT_S:.2f} of wall time, ", end="")
    print(f"{cpu_s / LIMIT_S / WORKERS:.2f} of {WORKERS} processors")


if __name__ == "__main__":
    main()
