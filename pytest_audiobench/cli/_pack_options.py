"""What the verbs on packs share: where packs lie."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_audiobench.datasets.places import Places


def add_data(parser: argparse.ArgumentParser) -> None:
    """Declare ``--data``."""
    parser.add_argument(
        "--data",
        metavar="[NAME=]FOLDER",
        action="append",
        default=[],
        help="where packs lie, as --ab-data: packs=FOLDER for a folder of packs, PACK=FOLDER for one; repeatable",
    )


def places(args: argparse.Namespace) -> Places:
    """The places that ``--data`` names. Raises UsageError for what is no folder."""
    from pytest_audiobench.datasets.places import Places, folders

    here = Path.cwd()
    named, shelves = folders(args.data, here, "--data")
    return Places(here, named, [*shelves, here / "data"])
