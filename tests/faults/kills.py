"""kill -9 of a run or of one of its workers, at drawn moments and numbers of answers, until it is run to its end."""

from __future__ import annotations

import json
import os
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.forks import Forks

from .suite_files import LAB, lab
from .tally import Tally

NAME = "kills"
PROMISE = (
    "A run that was killed continues where it was: it ends in the files of an undisturbed one, byte for byte, and asks "
    "again at most what each process had in flight."
)
SAMPLES, EVALS, BATCH, MOST_RUNS = 40, 3, 4, 9
LIMIT_S = 120

_EVALS = """
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("n", range(3))
def test_tones(evaluate, n):
    evaluate(manifest(f"data/tones{n}.jsonl"), multiple_choice())
"""

_KILLER = '''

import threading


def pytest_configure(config):
    """Kill this process, if it is the one that was drawn, at the drawn time or once so many answers were given."""
    drawn = json.loads(os.environ["DRAWN_KILL"])
    if drawn["who"] == getattr(config, "workerinput", {}).get("workerid", "controller"):
        threading.Thread(target=_wait_and_kill, args=(drawn,), daemon=True).start()


def _wait_and_kill(drawn):
    log = Path(__file__).with_name(drawn["log"])
    end = time.monotonic() + drawn["after_s"]
    while time.monotonic() < end or (log.read_bytes().count(b"\\n") if log.exists() else 0) < drawn["after_answers"]:
        time.sleep(0.001)
    Path(__file__).with_name(drawn["log"] + ".killed").open("a").write("x")
    os.kill(os.getpid(), signal.SIGKILL)
'''


def run(seeds: Iterable[int]) -> Tally:
    """A sequence of kills for each seed."""
    total, started = Tally(), time.monotonic()
    forks = Forks()
    memory = Path("/dev/shm")
    try:
        with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as name:
            folder = Path(name)
            _write(folder)
            status, undisturbed = _start(forks, folder, "undisturbed", 0, None)
            assert status == 0, "the undisturbed run failed"
            for seed in seeds:
                total.add(_sequence(forks, folder, seed, undisturbed))
    finally:
        forks.close()
    total.seconds = time.monotonic() - started
    return total


def _sequence(forks: Forks, folder: Path, seed: int, undisturbed: Any) -> Tally:
    """Runs that are killed, and a last one that is not."""
    drawn, tally = random.Random(f"kills {seed}"), Tally()
    workers = drawn.choice([0, 0, 0, 0, 0, 2])
    name, kills = f"s{seed}", drawn.randint(1, 5)
    answers = EVALS * SAMPLES
    for number in range(MOST_RUNS):
        kill = None
        if number < kills:
            by_time = drawn.random() < 0.5
            kill = {
                "who": drawn.choice(["controller", "gw0"]) if workers else "controller",
                "after_s": drawn.uniform(0, 1.5 if not workers else 6) if by_time else 0,
                "after_answers": 0 if by_time else drawn.randint(1, answers),
                "log": f"{name}.log",
            }
        status, results = _start(forks, folder, name, workers, kill)
        if status == -14:
            tally.hangs += 1
        if status == 0 and kill is None:
            break
        if status == 0 and results != undisturbed:
            tally.mistakes.append(f"seed {seed}: a run between kills ended in 0 with other files")
            tally.false_greens += 1
    killed = folder / f"{name}.log.killed"
    tally.tried = len(killed.read_text()) if killed.exists() else 0
    if status != 0 or results != undisturbed:
        tally.lost += 1
        tally.mistakes.append(f"seed {seed}: exit {status}, and other files than those of an undisturbed run")
    asked = Counter((folder / f"{name}.log").read_text().split())
    asked.pop("load", None)
    tally.asked_twice = sum(asked.values()) - answers
    allowed = BATCH * tally.tried * max(1, workers)
    if tally.asked_twice > allowed:
        tally.lost += tally.asked_twice - allowed
        tally.mistakes.append(f"seed {seed}: {tally.asked_twice} answers asked twice after {tally.tried} kills")
    return tally


def _start(forks: Forks, folder: Path, name: str, workers: int, kill: dict[str, Any] | None) -> tuple[int, Any]:
    """The exit status of a run, and the hashes and scored answers that it left, if it left any."""
    nobody = {"who": "nobody", "after_s": 0, "after_answers": 0, "log": ""}
    path = os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "DRAWN_KILL": json.dumps(kill or nobody)}
    reports = folder / "reports" / name
    status, *_ = forks.run(
        [
            "-p",
            "no:cacheprovider",
            "-p",
            "no:hypothesispytest",
            "-p",
            "no:anyio",
            f"--ab-model=tone:one,log={name}.log,sleepy=0.01",
            f"--ab-store={name}/store.sqlite",
            f"--ab-reports=reports/{name}",
            *([f"-n{workers}"] if workers else []),
        ],
        folder,
        environment,
        folder / "streams",
        LIMIT_S,
    )
    records = sorted(reports.glob("*/run.json"), key=lambda path: path.stat().st_mtime_ns)
    if not records or status != 0:
        return status, None
    hashes = [(item["eval"], item["hashes"]) for item in json.loads(records[-1].read_text())["items"]]
    return status, (hashes, records[-1].with_name("scored_predictions.jsonl").read_bytes())


def _write(folder: Path) -> None:
    (folder / "streams").mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(LAB.read_text() + _KILLER)
    (folder / "test_tones.py").write_text(_EVALS)
    text = lab().make_tones(folder / "data", SAMPLES).read_text()
    for number in range(EVALS):
        renamed = text.replace("tone-", f"tone{number}-").replace("is heard", f"is heard in {number}")
        (folder / "data" / f"tones{number}.jsonl").write_text(renamed)
