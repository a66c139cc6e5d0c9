"""``audiobench conformance FOLDER``."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path

PARTS = {
    "MeCab": "ja",
    "meeteval": "meeting",
    "nltk": "captions",
    "num2words": "asr",
    "pycocoevalcap": "captions",
    "rouge_score": "captions",
    "sklearn": "classification",
    "zhconv": "asr",
}
"""What the scorers in scope lean on, and the extra that brings it."""

HELP = "hold every scorer to reference cases, and print where they agree"

_SHOWN = 10


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the folder of reference cases (*.json)")


def run(args: argparse.Namespace) -> int:
    """0 when every case in scope agrees or is explained, else 1. Raises UsageError where a scorer lacks its parts."""
    from pytest_audiobench.conformance.table import tallies
    from pytest_audiobench.errors import UsageError

    if missing := sorted({extra for module, extra in PARTS.items() if importlib.util.find_spec(module) is None}):
        raise UsageError(
            "reference cases are for every scorer, and some lack their parts here: "
            f"pip install 'pytest-audiobench[{','.join(missing)}]'"
        )
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
