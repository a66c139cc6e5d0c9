"""The campaign of faults: every class of this folder, over drawn seeds, and the table of what came of it.

python -m tests.faults                                     all classes, ten minutes each in turns
python -m tests.faults --minutes 90 --seed 5000            for so long, from that seed on
python -m tests.faults --only runs --seed 137 --count 1    one seed again; of a whole run it prints all there is to see
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections import Counter
from pathlib import Path

from .tally import FaultClass, Tally

_TURN_S = 60.0
"""For how long one class has the machine before the next one's turn; less where the minutes are few."""
_COLUMNS = ("class", "tried", "lost", "asked twice", "false greens", "tracebacks", "hangs", "seconds")


def classes() -> dict[str, FaultClass]:
    """The classes of the campaign: all modules of this folder that have what one needs."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    modules = [
        importlib.import_module(f"{__package__}.{name}")
        for name in names
        if not name.startswith(("_", "test_", "conftest"))
    ]
    needed = ("NAME", "PROMISE", "run")
    return {module.NAME: module for module in modules if all(hasattr(module, name) for name in needed)}


def table(tallies: dict[str, Tally], promises: dict[str, str]) -> str:
    """The table of docs/reliability.md."""
    rows = [
        (name, *map(str, (t.tried, t.lost, t.asked_twice, t.false_greens, t.raw, t.hangs, round(t.seconds))))
        for name, t in tallies.items()
    ]
    lines = [_COLUMNS, ("---",) * len(_COLUMNS), *rows]
    sentences = [f"- **{name}**: {promises[name]}" for name in tallies]
    return "\n".join(["| " + " | ".join(line) + " |" for line in lines] + ["", *sentences])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__.partition("\n")[0])
    known = classes()
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=100_000)
    parser.add_argument("--count", type=int, default=0, help="so many seeds of each class, however long they take")
    parser.add_argument("--only", nargs="+", choices=list(known), default=list(known), metavar="CLASS")
    options = parser.parse_args()
    tallies = {name: Tally() for name in options.only}
    if options.count == 1 and options.only == ["runs"]:
        from . import whole_runs

        tallies["runs"] = whole_runs.run([options.seed], talks=True)
    elif options.count:
        for name in options.only:
            tallies[name] = known[name].run(range(options.seed, options.seed + options.count))
    else:
        _until(time.monotonic() + 60 * options.minutes, options.seed, known, tallies)
    for name, tally in tallies.items():
        if tally.notes:
            print(f"{name}:", ", ".join(f"{text} ×{count}" for text, count in Counter(tally.notes).most_common()))
        print(*(f"{name}: {mistake}" for mistake in tally.mistakes), sep="\n", end="\n" if tally.mistakes else "")
    print(table(tallies, {name: known[name].PROMISE for name in tallies}))
    return 1 if any(tally.mistakes for tally in tallies.values()) else 0


def _until(end: float, seed: int, known: dict[str, FaultClass], tallies: dict[str, Tally]) -> None:
    """Each class in its turn, with more seeds where they are quick."""
    batches = dict.fromkeys(tallies, 1)
    seeds = dict.fromkeys(tallies, seed)
    turn = min(_TURN_S, (end - time.monotonic()) / len(tallies) / 3)
    while time.monotonic() < end:
        for name, tally in tallies.items():
            started = time.monotonic()
            while time.monotonic() - started < turn and time.monotonic() < end:
                batch = known[name].run(range(seeds[name], seeds[name] + batches[name]))
                seeds[name] += batches[name]
                tally.add(batch)
                for mistake in batch.mistakes:
                    print(f"{name}: {mistake}", flush=True)
                if batch.seconds < turn / 4:
                    batches[name] *= 2


if __name__ == "__main__":
    raise SystemExit(main())
