"""``audiobench soundscape make`` and ``audiobench soundscape look``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audiobench.errors import UsageError

if TYPE_CHECKING:
    from pytest_audiobench.datasets.soundscape.pieces import Pools

HELP = "make soundscapes with their answer keys, and look at those that are there"
_MOST_REFUSED = 1000


def arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(metavar="VERB", required=True, dest="soundscape_verb")
    make = verbs.add_parser("make", help="write clips and their answer keys, as SoundScape-Bench publishes them")
    add = make.add_argument
    add("--pools", metavar="FOLDER", type=Path, help="what they are put together from (default: the bundled pools)")
    add("--scenes", metavar="N", type=_count, default=200, help="how many (default 200)")
    add("--seed", metavar="TEXT", default="1", help="another seed makes other clips (default 1)")
    add("--profile", metavar="NAME", default="published", help="what they are like (default published)")
    add("--shortest", metavar="SECONDS", type=float, help="the shortest clip (default: the profile's)")
    add("--longest", metavar="SECONDS", type=float, help="the longest clip (default: the profile's)")
    add("--out", metavar="FOLDER", type=Path, required=True, help="a new folder, which --ab-data=soundscape= takes")
    add("--clean-licences", action="store_true", help="take only pieces that anyone may use, with attribution at most")
    add(
        "--mp3", action="store_true", help="write MP3 instead of FLAC: smaller, and no longer sample by sample the same"
    )
    look = verbs.add_parser("look", help="count what is in a folder of clips or of pools, and name what is refused")
    look.add_argument("folder", metavar="FOLDER", type=Path)


def run(args: argparse.Namespace) -> int:
    """0; 1 where clips that were looked at are refused. Raises UsageError for what is no folder, profile or pool."""
    return _make(args) if args.soundscape_verb == "make" else _look(args.folder)


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) < 7 else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of clips: write one from 1 to 999999")
    return number


def _make(args: argparse.Namespace) -> int:
    from pytest_audiobench.datasets.soundscape.folder_pools import cleanly_licensed
    from pytest_audiobench.datasets.soundscape.making import write_scenes
    from pytest_audiobench.datasets.soundscape.plans import Planner, profile_of
    from pytest_audiobench.datasets.soundscape.scenes import pools_of

    profile = profile_of(args.profile)
    shortest_s, longest_s = args.shortest or profile.longest_s[0], args.longest or profile.longest_s[1]
    if not 1.0 <= shortest_s <= longest_s <= 600.0:
        raise UsageError(f"clips of {shortest_s:g} to {longest_s:g} s are none: give 1 to 600 s")
    if args.out.exists() and any(args.out.iterdir()):
        raise UsageError(f"{args.out} exists and is not empty; name a new folder")
    pools = pools_of(profile, args.pools)
    pools = cleanly_licensed(pools) if args.clean_licences else pools
    planner = Planner(pools, profile, args.seed, shortest_s, longest_s)
    write_scenes(planner, args.scenes, args.out, "mp3" if args.mp3 else "flac")
    _print(f"{args.scenes} clips and their answer keys written to {args.out}")
    refused = [*pools.refused, *(f"{source}: {reason}" for source, reason in planner.refused.items())]
    (args.out / "refused.txt").write_text("".join(f"{line}\n" for line in refused), encoding="utf-8")
    return _look(args.out)


def _look(folder: Path) -> int:
    from pytest_audiobench.datasets.soundscape.folder_pools import folder_pools
    from pytest_audiobench.datasets.soundscape.making import counts_of
    from pytest_audiobench.datasets.soundscape.pieces import LAYERS
    from pytest_audiobench.datasets.soundscape.published import clip_documents
    from pytest_audiobench.io.mistakes import Mistakes

    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder on this machine")
    if any((folder / name).exists() for layer in LAYERS for name in (layer, f"{layer}.jsonl")):
        return _look_at_pools(folder_pools(folder.resolve()))
    mistakes = Mistakes(_MOST_REFUSED)
    documents = list(clip_documents(folder, mistakes))
    if not documents and not mistakes:
        raise UsageError(f"{folder} holds neither answer keys of clips nor pools")
    for what, counts in counts_of(documents).items():
        listed = ", ".join(f"{name}: {count}" for name, count in sorted(counts.items()))
        _print(f"{what:<10}{listed or 'none'}")
    refused = folder / "refused.txt"
    for line in refused.read_text(encoding="utf-8").splitlines() if refused.is_file() else ():
        _print(f"left out: {line}")
    for sentence in mistakes.sentences:
        _print(f"refused: {sentence}")
    if len(mistakes) > _MOST_REFUSED:
        _print(f"refused: {len(mistakes) - _MOST_REFUSED:,} more")
    return 1 if mistakes else 0


def _look_at_pools(pools: Pools) -> int:
    for layer, pieces in pools.layers.items():
        known = {
            "voices": len({piece.speaker for piece in pieces} - {""}),
            "languages": len({piece.language for piece in pieces} - {""}),
            "labels": len({piece.label for piece in pieces} - {""}),
            "with something else in them": sum(piece.mixes_types(layer) for piece in pieces),
            "captions made of labels": pools.needs_caption.get(layer, 0),
        }
        more = ", ".join(f"{count} {what}" for what, count in known.items() if count)
        _print(f"{layer:<10}{len(pieces)} pieces" + (f": {more}" if more else ""))
    for line in pools.refused:
        _print(f"left out: {line}")
    return 0


def _print(text: str) -> None:
    from pytest_audiobench.report.formatting import printable

    for line in text.splitlines():
        print(printable(line))
