"""``audiobench setup-spice``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HELP = "fetch the two jars of Stanford CoreNLP 3.6.0 that SPICE needs, and hold them to their first digests"


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--from", dest="given", metavar="FILE", type=Path, help="Stanford's zip, or a folder of the jars; no network")
    add("--force", action="store_true", help="fetch them again, even if they are installed")


def run(args: argparse.Namespace) -> int:
    """0."""
    from pytest_audiobench.fetching.progress import Progress
    from pytest_audiobench.fetching.spice_jars import set_up_spice
    from pytest_audiobench.metrics.definitions.captions import lacks_spice
    from pytest_audiobench.metrics.spice_program import spice_folder

    folder = spice_folder()
    print(f"into {folder}")
    for line in set_up_spice(folder, args.given, args.force, lambda name: Progress(name, None, sys.stderr)):
        print(line)
    print(lacks_spice() or "SPICE can be computed here")
    return 0
