"""``audiobench inspect RUN [--clip ID]``."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from pytest_audiobench.cli._options import add_data_folders, add_reports, add_selection, count, place
from pytest_audiobench.cli._text import say
from pytest_audiobench.errors import AudiobenchError, AudioError, DataNotFound, FatalError, UsageError

if TYPE_CHECKING:
    from pytest_audiobench.records.run import ItemRecord
    from pytest_audiobench.report.joined_samples import Joined
    from pytest_audiobench.report.run_reader import Run

HELP = "list what a run's models got wrong, or show one sample: what was played, asked, answered; and hear it"

_PLAYERS = (("ffplay", "-nodisp", "-autoexit", "-loglevel", "error"), ("aplay", "-q"), ("paplay",), ("afplay",))
_MOST_SAMPLES = 200
_MOST_NAMES = 10_000
_MOST_LISTED = 10


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="RUN", help="a run's folder, its name under --reports, or last")
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--clip", metavar="ID", help="the sample of this id or file; an id's beginning, or a file's name, is enough"
    )
    which.add_argument("--mixture", metavar="ID", help="the mixture of this name, with all that was asked of it")
    which.add_argument(
        "--changed", action="store_true", help="list what became worse or better than in the run's baseline"
    )
    add_selection(parser, "--eval", "--model")
    add("--most", metavar="N", type=count, default=20, help="how many samples are listed (default 20)")
    add("--wav", metavar="FILE", type=place, help="write what was played into this file, as 32-bit floats")
    add("--play", action="store_true", help="play it, by ffplay, aplay, paplay or afplay")
    about = "where the audio of this data set lies, for --wav and --play, if not where the run had it; repeatable"
    add_data_folders(parser, about)
    add_reports(parser, "where runs are (default reports)")


def run(args: argparse.Namespace) -> int:
    """0; 1 where what was played cannot be made again here. Raises UsageError where the run has no such sample."""
    from pytest_audiobench.report.run_reader import load_run
    from pytest_audiobench.report.sample_text import mixture_lines, recorded_recipes, sample_lines

    loaded = load_run(args.source, args.reports)
    if args.clip is None and args.mixture is None:
        if args.wav is not None or args.play:
            raise UsageError("--wav and --play want one sample: name it by --clip or --mixture")
        print("\n".join(_listed(loaded, args)))
        return 0
    chosen = _chosen(loaded, args)
    models = {model.alias: model for model in loaded.record.models}
    # A sample's recipes are in its first epoch alone.
    recipes: dict[tuple[str, str, str], Any] = {}
    for _, sample in chosen:
        recipes.setdefault(_place(sample), recorded_recipes(sample.predictions))
    groups: dict[tuple[str, ...], list[tuple[ItemRecord, Joined]]] = {}
    for item, sample in chosen:
        first = sample.predictions[0]
        key = (item.eval, item.model, str(first.epoch), "" if args.mixture is not None else first.sample_id)
        groups.setdefault(key, []).append((item, sample))
    for number, group in enumerate(groups.values()):
        item, sample = group[0]
        heard = models[item.model].heard if item.model in models else ""
        made = recipes[_place(sample)]
        print(*[""] * bool(number), sep="\n", end="\n" * bool(number))
        if args.mixture is not None:
            lines = mixture_lines([each for _, each in group], item, made, heard)
        else:
            lines = sample_lines(sample, item, made, heard, _file_finder(args, _folders(loaded, item)))
        print("\n".join(lines))
    if args.wav is not None or args.play:
        item, sample = chosen[0]
        heard = models[item.model].heard if item.model in models else ""
        return _sounds(args, sample, recipes[_place(sample)], heard, len(groups), _folders(loaded, item))
    return 0


def _place(sample: Joined) -> tuple[str, str, str]:
    first = sample.predictions[0]
    return first.eval, first.model, first.sample_id


def _items(loaded: Run, args: argparse.Namespace) -> list[ItemRecord]:
    """Those of the evals and models that are asked for. Raises UsageError where there is none."""
    from pytest_audiobench.gate.config import chosen

    aliases = chosen(args.model, (item.model for item in loaded.record.items), f"model of {loaded.folder}")
    items = [item for item in loaded.record.items if item.model in aliases]
    names = chosen(args.eval, (item.eval for item in items), f"eval of {loaded.folder}")
    return [item for item in items if item.eval in names]


def _samples(loaded: Run, items: Sequence[ItemRecord]) -> Iterator[tuple[ItemRecord, Joined]]:
    from pytest_audiobench.report.joined_samples import joined

    by_name = {(item.eval, item.model): item for item in items}
    for sample in joined(loaded.folder):
        first = sample.predictions[0]
        if item := by_name.get((first.eval, first.model)):
            yield item, sample


def _file_finder(args: argparse.Namespace, others: Sequence[Path]) -> Callable[[str], str]:
    """Says where a file that a record names lies on this machine."""
    from pytest_audiobench.verifier.clip_checks import Folders

    places, here = Folders(dict(args.data), others), Path.cwd()

    def find(source: str) -> str:
        try:
            found = places.file(source)
        except LookupError:
            return f"{source}, not found here: say where it lies by --data {source.partition(':')[0]}=FOLDER"
        path = found.root.folder / found.path
        return str(path.relative_to(here) if path.is_relative_to(here) else path)

    return find


def _listed(loaded: Run, args: argparse.Namespace) -> list[str]:
    """The first samples that were answered wrong, or otherwise than in the baseline, and how to see all, and one."""
    from pytest_audiobench.report.sample_text import Listing, list_lines
    from pytest_audiobench.report.verdict import is_control

    if args.changed and loaded.record.baseline is None:
        raise UsageError(f"{args.source} was compared with no baseline: run it again with --ab-baseline=FILE or RUN")

    command = ["audiobench", "inspect", args.source]
    if args.reports != Path("reports"):
        command += ["--reports", str(args.reports)]
    items = _items(loaded, args)
    items = [item for item in items if not is_control(item)] or items
    choice = ["--changed"] * args.changed
    for option, patterns in (("--eval", args.eval), ("--model", args.model)):
        choice += [word for pattern in patterns for word in (option, pattern)]
    evals = list(dict.fromkeys(item.eval for item in items))
    models = list(dict.fromkeys(item.model for item in items))
    listing = Listing(command, choice, args.most, evals, models)
    lines = list(list_lines(_samples(loaded, items), listing, args.changed))
    if not lines:
        whose = "the baseline" if args.changed else str(loaded.folder)
        names = ", ".join(evals[:_MOST_LISTED]) + ", …" * (len(evals) > _MOST_LISTED)
        why = next((f": {item.message}" for item in items if item.message), "")
        raise UsageError(f"{whose} has no answers of {names}{why}")
    return lines


def _chosen(loaded: Run, args: argparse.Namespace) -> list[tuple[ItemRecord, Joined]]:
    """Those that are called as asked for; else the one of the file so called; else the one whose id so begins."""
    from pytest_audiobench.io.mistakes import nearest
    from pytest_audiobench.report.formatting import printable

    name = args.clip if args.mixture is None else args.mixture
    what = "sample" if args.mixture is None else "mixture"
    chosen: list[tuple[ItemRecord, Joined]] = []
    likely: tuple[dict[str, list[tuple[ItemRecord, Joined]]], ...] = ({}, {})
    known: dict[str, None] = {}
    for item, sample in _samples(loaded, _items(loaded, args)):
        first = sample.predictions[0]
        own = first.sample_id if args.mixture is None else str(first.metadata.get("mixture") or "")
        files = list(_sources(sample)) if args.mixture is None else []
        paths = [PurePosixPath(file.partition(":")[2]) for file in files]
        stems = [text for path in paths for text in (path.stem, path.name)]
        if name in (own, *files):
            chosen.append((item, sample))
            if len(chosen) == _MOST_SAMPLES:
                say(f"note: the first {_MOST_SAMPLES} are shown; --eval and --model choose")
                break
        elif own and len(known) < _MOST_NAMES:
            known[own] = None
            if name in stems or (name and own.startswith(name)):
                of_name = likely[name not in stems].setdefault(own, [])
                if len(of_name) < _MOST_SAMPLES:
                    of_name.append((item, sample))
    named = next((names for names in likely if names), {})
    if chosen or len(named) == 1:
        return chosen or next(iter(named.values()))
    if not named:
        hint = nearest(name, known, f"one is {printable(next(iter(known)))!r}") if known else "it has none"
        raise UsageError(f"{loaded.folder} has no {what} {name!r} ({hint})")
    how = "of the file" if named is likely[0] else "that begin with"
    more = f", … and {len(named) - _MOST_LISTED:,} more" if len(named) > _MOST_LISTED else ""
    ids = ", ".join(printable(own) for own in sorted(named)[:_MOST_LISTED])
    raise UsageError(f"{loaded.folder} has {len(named):,} {what}s {how} {name!r}: write one of {ids}{more}")


def _sources(sample: Joined) -> Iterator[str]:
    return (clip.source for row in sample.predictions for clip in row.audio)


def _folders(loaded: Run, item: ItemRecord) -> list[Path]:
    """Where the run may have had its data: in folders that it was given, those of its test, the usual ones."""
    from pytest_audiobench.datasets.places import data_root

    option = "--ab-data="
    given = [word.removeprefix(option) for word in loaded.record.command if word.startswith(option)]
    given += filter(None, os.environ.get("AUDIOBENCH_DATA", "").split(os.pathsep))
    inner = [entry.rpartition("=")[2] for entry in given]
    inner += [str(PurePosixPath(item.nodeid.partition("::")[0]).parent), "data"]
    # Reports lie at the root of the tests, unless they were sent elsewhere.
    roots = (Path.cwd(), loaded.folder.resolve().parent.parent)
    return [*(root / Path(folder).expanduser() for folder in inner for root in roots), data_root()]


def _sounds(
    args: argparse.Namespace, sample: Joined, recipes: Any, heard: str, shown: int, others: Sequence[Path]
) -> int:
    """Write and play the clips of ``sample``."""
    from pytest_audiobench.audio.decode import decode
    from pytest_audiobench.audio.wav import wav_bytes
    from pytest_audiobench.report.joined_samples import played
    from pytest_audiobench.verifier.clip_checks import rebuilt_clip

    rate = re.match(r"(\d+) Hz", heard)
    if rate is None:
        raise UsageError(f"{args.source} does not say at which rate its model was played: {heard!r}")
    if shown > 1:
        say("note: the sound is that of the first that is shown; --eval and --model choose")
    player = next(([program, *rest] for name, *rest in _PLAYERS if (program := shutil.which(name))), None)
    if args.play and player is None:
        raise UsageError(f"there is no {', '.join(name for name, *_ in _PLAYERS)} to play it by: --wav FILE writes it")
    row = played(sample)
    for number, clip in enumerate(row.audio):
        try:
            made = rebuilt_clip(clip, recipes[number] if recipes else None, args.data, others)
            window_s = None if not clip.truncated_s or clip.duration_s is None else clip.duration_s - clip.truncated_s
            sound = decode(made, int(rate[1]), window_s)
        except (AudioError, DataNotFound) as error:
            raise FatalError(str(error)) from None
        content = wav_bytes(sound.samples, sound.rate_hz, "float32")
        if args.wav is not None:
            file = args.wav if not number else args.wav.with_stem(f"{args.wav.stem}-{number + 1}")
            file.write_bytes(content)
            say(f"written to {file}: {sound.duration_s:.2f} s at {sound.rate_hz} Hz, SHA-256 {sound.pcm_digest}")
        if args.play and player is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "played.wav"
                path.write_bytes(content)
                if subprocess.run([*player, str(path)], check=False).returncode:
                    raise AudiobenchError(f"{player[0]} could not play it: --wav FILE writes it")
    return 0
