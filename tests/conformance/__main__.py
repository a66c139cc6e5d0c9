"""Compares every scorer with reference cases: ``python -m tests.conformance FOLDER``, from the root.

Exit codes: 0 where every case in scope agrees or is explained, 1 where one differs, 4 for a user's mistake.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

from pytest_audiobench.errors import UsageError

from .table import tallies

EXTRAS = {
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

MOST_DIFFERENCES = 10


def compare(folder: Path) -> int:
    """Print the table of ``folder``; the exit code. Raises UsageError where a scorer lacks its parts."""
    if missing := sorted({extra for module, extra in EXTRAS.items() if importlib.util.find_spec(module) is None}):
        raise UsageError(
            "reference cases are for every scorer, and some lack their parts here: "
            f"pip install 'pytest-audiobench[{','.join(missing)}]'"
        )
    print(f"{'file':<32}{'cases':>7}{'agree':>7}{'explained':>11}{'out':>6}{'differ':>8}")
    differing = 0
    notes: list[str] = []
    for tally in tallies(folder):
        counts = tally.counts
        print(
            f"{tally.file:<32}{sum(counts.values()):>7}{counts['agrees']:>7}{counts['explained']:>11}"
            f"{counts['out']:>6}{counts['differs']:>8}",
            flush=True,
        )
        differing += counts["differs"]
        notes += [f"{tally.file} {what}: {why}" for what, why in tally.notes.items()]
        notes += [f"{tally.file} {case.id} differs: {case.detail[:300]}" for case in tally.differing[:MOST_DIFFERENCES]]
    for note in notes:
        print(note)
    return 1 if differing else 0


parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
parser.add_argument("folder", metavar="FOLDER", type=Path, help="the folder of reference cases (*.json)")
try:
    sys.exit(compare(parser.parse_args().folder))
except UsageError as error:
    print(f"conformance: {error}", file=sys.stderr)
    sys.exit(4)
