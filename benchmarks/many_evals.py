"""What one eval costs beside its samples: a run of many small evals, less a run of one eval with as many samples.

Run ``python benchmarks/many_evals.py [--evals N] [--samples N] [--rounds N]``. Each eval is a case of one parametrised
test with a manifest of its own over 200 shared files, asked of a model that answers at once; the digests of the files
are known. A round runs both with an empty store and again with every answer known. ``--keep FOLDER`` keeps the files.
The limit is 4 ms an eval.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness import make, run
from measure import Spent, keep, ratios, table_row, yardstick

EVALS = """
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("number", range({evals}))
def test_many(evaluate, number):
    evaluate(manifest(f"many-{{number}}.jsonl"), multiple_choice())
"""
FILES, LIMIT_S = 200, 0.004


def make_evals(folder: Path, evals: int, samples: int) -> None:
    """The same questions as one eval and as ``evals`` of ``samples`` each."""
    make(folder, FILES)
    rows = [json.loads(line) for line in (folder / "all.jsonl").read_text().splitlines()]
    (folder / "test_many.py").write_text(EVALS.format(evals=evals))
    lines = []
    for number in range(evals * samples):
        row = {**rows[number % FILES], "id": f"s{number}", "question": f"Which of these fits clip {number} best?"}
        lines.append(json.dumps(row))
    for number in range(evals):
        (folder / f"many-{number}.jsonl").write_text("\n".join(lines[number * samples : (number + 1) * samples]))
    (folder / "all.jsonl").write_text("\n".join(lines) + "\n")


def one_round(folder: Path, names: Sequence[str]) -> dict[str, Spent]:
    found = {"yardstick": yardstick()}
    for name in names:
        found[f"{name}: first"] = run(folder, name, "deaf", "store")
        found[f"{name}: cached"] = run(folder, name, "deaf")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evals", type=int, default=2_000)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_evals(folder, options.evals, options.samples)
        run(folder, "one", "deaf")
        rounds = [one_round(folder, ("many", "all")) for _ in range(options.rounds)]
    print(f"{options.evals} evals of {options.samples}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    stages = {name: [one[name] for one in rounds] for name in rounds[0]}
    for name, found in stages.items():
        print(table_row(name, found, 1.0, "s"))
    for when in ("first", "cached"):
        pairs = zip(stages[f"many: {when}"], stages[f"all: {when}"], strict=True)
        beyond = [many.beyond(one) for many, one in pairs]
        print(table_row(f"an eval beside its samples, {when}", beyond, 1000 / options.evals, "ms"))
        print(ratios(f"an eval, {when}", beyond, LIMIT_S * options.evals))
        keep(
            f"an eval of {options.samples}, {when}, beside its samples",
            beyond,
            1000 / options.evals,
            "ms",
            1000 * LIMIT_S,
        )


if __name__ == "__main__":
    main()
