"""``audiobench conformance FOLDER``."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "hold every scorer to reference cases, and print where they agree"

_SHOWN = 10


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the folder of reference cases (*.json)")


def run(args: argparse.Namespace) -> int:
    """0 when every case in scope agrees or is explained, else 1."""
    from pytest_audiobench.conformance.table import tallies

    print(f"{'file':<32}{'cases':>7}{'agree':>7}{'explained':>11}{'out':>6}{'differ':>8}")
    differing = 0
    notes: list[str] = []
    for tally in tallies(args.folder):
        counts = tally.counts
        print(
            f"{tally.file:<32}{sum(counts.values()):>7}{counts['agrees']:>7}{counts['explained']:>11}"
            f"{counts['out']:>6}{counts['differs']:>8}",
            flush=True,
        )
        differing += counts["differs"]
        notes += [f"{tally.file} {what}: {why}" for what, why in tally.notes.items()]
        notes += [f"{tally.file} {case.id} differs: {case.detail[:300]}" for case in tally.differing[:_SHOWN]]
    for note in notes:
        print(note)
    return 1 if differing else 0
