"""``audiobench packs [PACK]``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_audiobench.cli._options import add_data, places
from pytest_audiobench.errors import UsageError

if TYPE_CHECKING:
    from pytest_audiobench.datasets.packs.pack import Pack
    from pytest_audiobench.datasets.places import Places

HELP = "list packs of sounds: where they lie, their labels, clips and licence, and their problems"

_MOST_WRONG, _MOST_GB = 20, 1_000_000


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("pack", nargs="?", metavar="PACK", help="show this pack, and check every label and clip of it")
    add_data(parser)
    add("--unpack", metavar="ARCHIVE", type=Path, help="unpack a .zip or .tar.* that holds a pack")
    add("--to", metavar="FOLDER", type=Path, help="the folder of packs that --unpack writes into")
    add("--most-gb", metavar="N", type=float, default=4.0, help="what --unpack may write in gigabytes (default 4)")


def run(args: argparse.Namespace) -> int:
    """0; 1 when the named pack has something wrong. Raises UsageError and DataNotFound for one that is none."""
    from pytest_audiobench.datasets.packs.archives import stem, unpack
    from pytest_audiobench.datasets.packs.discovery import check_own_name, find_pack

    if (args.unpack is None) != (args.to is None):
        raise UsageError("--unpack ARCHIVE and --to FOLDER go together: give both")
    if args.unpack is not None and args.pack is not None:
        raise UsageError(f"{args.pack} cannot be shown while --unpack unpacks: show it afterwards")
    if not 0.0 < args.most_gb <= _MOST_GB:
        raise UsageError(f"--most-gb {args.most_gb:g} is not a size; give gigabytes above 0 and up to {_MOST_GB:,}")
    if args.unpack is not None:
        check_own_name(stem(args.unpack), args.unpack)
        print(f"unpacked into {unpack(args.unpack, args.to, int(args.most_gb * 1e9))}")
        print(f"use it with --ab-data=packs={args.to}")
        return 0
    if args.pack is None:
        _list(places(args))
        return 0
    return _show(find_pack(args.pack, places(args)))


def _list(where: Places) -> None:
    from pytest_audiobench.datasets.packs.discovery import all_packs
    from pytest_audiobench.datasets.packs.pack import Pack
    from pytest_audiobench.report.formatting import printable

    print(f"{'pack':<16}{'labels':>7}{'clips':>7}  {'licence':<24}where")
    for name, at, pack in all_packs(where):
        if isinstance(pack, Pack):
            clips = sum(map(len, pack.clips.values()))
            licence = pack.manifest.license or "not said"
            print(printable(f"{name:<16}{len(pack.clips):>7}{clips:>7}  {licence:<24}{at}"))
        else:
            for sentence in str(pack).splitlines():
                print(printable(f"{name:<16}{'-':>7}{'-':>7}  skipped: {sentence}"))


def _show(pack: Pack) -> int:
    from pytest_audiobench.audio.combining import RATE_HZ
    from pytest_audiobench.datasets.packs.inspection import inspect_pack, probe_counts
    from pytest_audiobench.report.formatting import printable

    manifest, seen = pack.manifest, inspect_pack(pack)
    facts = {
        "title": manifest.title,
        "where": pack.where,
        "source": manifest.source,
        "licence": " · ".join(filter(None, dict.fromkeys((manifest.license, manifest.license_tag)))) or "not said",
        "scope": manifest.scope_note,
    }
    print(printable(pack.id))
    for what, text in facts.items():
        if text:
            print(printable(f"  {what:<9}{text}"))
    print(f"\n  {'label':<24}{'clips':>6}{'seconds':>9}  rates")
    for label in seen.labels:
        rates = ", ".join(f"{rate} Hz" for rate in sorted(label.rates_hz)) or "computed"
        print(printable(f"  {label.label:<24}{label.clips:>6}{label.duration_s:>9.1f}  {rates}"))
    print(f"\n  {'condition':<12}{'mixtures':>9}{'yes':>6}{'no':>6}")
    for condition, (mixtures, present, absent) in probe_counts(pack).items():
        beware = "" if absent else "  no false alarms can be measured: no absent sound is asked about"
        print(f"  {condition:<12}{mixtures:>9}{present:>6}{absent:>6}{beware}")
    rates_hz = seen.rates_hz
    if len(rates_hz) > 1:
        counted = ", ".join(f"{count} of {rate} Hz" for rate, count in sorted(rates_hz.items()))
        print(f"\n  its clips have different rates ({counted}); each is resampled to {RATE_HZ} Hz in a mixture")
    for sentence in seen.problems[:_MOST_WRONG]:
        print(printable(f"  wrong: {sentence}"))
    if len(seen.problems) > _MOST_WRONG:
        print(f"  wrong: {len(seen.problems) - _MOST_WRONG} more clips")
    return 1 if seen.problems else 0
