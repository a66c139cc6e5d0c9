"""``audiobench init FOLDER``."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_audiobench.errors import AudioError, UsageError
from pytest_audiobench.io.mistakes import listed

if TYPE_CHECKING:
    from pytest_audiobench.cli._survey import OwnEval
    from pytest_audiobench.datasets.sample import Sample

HELP = "look at a folder of audio, or at a list of it, and write an eval file that runs, and rules for it"

SUFFIX = ".audiobench.toml"
_GATE, _IGNORED = Path("gate.toml"), ("reports/", ".audiobench/")
_MOST_LISTED, _MOST_UNNAMED = 10, 5
_WORKFLOW = Path(".github/workflows/audiobench.yml")
_LABELS_BEHIND = '  # all labels follow it; to send it alone: prompt = "{question}"'
_OTHER_PROTOCOL = '  # or "multiple_choice": options as letters, as most published prompts do'
_RULES = """\
# What {eval} must reach: pytest {target} --ab-config={gate}
# Exit code 1 where a line is not reached. All keys: docs/thresholds.md of pytest-audiobench.

[[threshold]]
eval = "{eval}"
require = [
    "errors <= 0",  # every sample can be asked
    # Nothing is required of the score yet.
    # Once a run has shown what the model reaches, take away the # of the next line, or of both:
    # "{metric}",  # the headline metric
    # "coverage >= 0.9",  # the parse rate: the share of answers that can be parsed
]
# How much worse than the baseline of --ab-baseline=FILE|RUN|last the headline metric may be:
# max_drop = "{max_drop}"
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folder", metavar="FOLDER", type=Path, help="a folder of audio, or a manifest: CSV, TSV, JSONL, Parquet, …")
    add("--answer", metavar="COLUMN", help="the column of what is true")
    add("--audio", metavar="COLUMN", help="the column of the audio's paths")
    add("--cluster", metavar="COLUMN", help="the column of what clips share, such as the speaker: intervals respect it")
    add("--protocol", metavar="NAME", help="how to ask: audiobench list protocols")
    add("--ci", action="store_true", help=f"write a workflow for GitHub too, {_WORKFLOW}")
    add("--dry-run", action="store_true", help="say what would be written, and write nothing")
    add("--output", metavar="FILE", type=Path, help="the file to write (default: FOLDER.audiobench.toml, here)")


def run(args: argparse.Namespace) -> int:
    """0; 1 where answers are to be filled in first. Raises UsageError for what is no eval, and never overwrites."""
    from pytest_audiobench.cli._survey import survey, understood
    from pytest_audiobench.cli._text import labelled, wrapped
    from pytest_audiobench.datasets.manifest_rows import stem

    place = args.folder.expanduser().resolve()
    name = re.sub(r"[^\w.-]+", "_", stem(place)).strip("._-") or "own"
    target = args.output or Path(f"{name}{SUFFIX}")
    if not target.name.endswith(SUFFIX):
        raise UsageError(f"{target} would not be collected: let its name end with {SUFFIX}")
    if target.exists() and not args.dry_run:
        raise UsageError(
            f"{target} already exists, and nothing is overwritten. After the data was corrected it is still right: run "
            f"pytest {target}; look again by audiobench init {args.folder} --dry-run; to write it again, delete it or "
            "name another by --output FILE"
        )
    if not place.exists():
        raise UsageError(f"there is no file or folder {args.folder}; correct the path")
    own = survey(place, args.dry_run)
    if isinstance(own, str):
        print(wrapped(own))
        return 0 if args.dry_run else 1
    samples = understood(own, args)
    title = f"{name}: {_sounds(samples)}"
    files = {target: _eval_text(target, name, own), _GATE: _rules_text(target, own)}
    if args.ci:
        files[_WORKFLOW] = _workflow_text(target)
    # Rules that are there already are of other evals, and are refused with this one.
    rules = "" if _GATE.exists() else f" --ab-config={_GATE}"
    said = ["would be written:" if args.dry_run else "written:"]
    said += [f"  {_put(file, text, args.dry_run)}" for file, text in files.items()]
    said += [f"  {line}" for line in _ignore(args.dry_run)]
    own.notes += _unnamed(place, samples)
    lines = [wrapped(title), *labelled(own.notes), *said]
    lines += [
        "run it by the bundled listener, which knows the bundled labels alone, or yours:",
        f"  pytest {target}{rules}",
    ]
    lines += [f"  pytest {target}{rules} --ab-model=hf:FOLDER"]
    if args.ci:
        lines += ["the workflow needs OWNER, TAG and the model, and a baseline in git:"]
        lines += ["  audiobench baseline update last --out baselines/main.json"]
    print("\n".join(lines))
    return 0


# What is said and written


def _sounds(samples: Sequence[Sample]) -> str:
    """How many clips there are, how long, and at which rates, by the headers of some. Raises UsageError."""
    from pytest_audiobench.audio.index import unreachable
    from pytest_audiobench.cli._survey import LOOKED_AT

    clips = [clip for sample in samples for clip in sample.clips]
    step = max(1, len(clips) // LOOKED_AT)
    looked_at = {getattr(clip.source, "path", str(clip.source)): _header(clip) for clip in clips[::step]}
    headers = [header for header in looked_at.values() if header]
    unread = [name for name, header in looked_at.items() if not header]
    if not headers:
        raise UsageError(
            f"none of the {len(clips):,} clips can be read, such as {unread[0]}: correct the paths, or name the column "
            "of audio files by --audio COLUMN"
        )
    from pytest_audiobench.cli.describe import duration

    seconds = sum(length for length, _, _ in headers) / len(headers) * len(clips)
    rates = ", ".join(f"{rate:,} Hz" for rate in sorted({rate for _, rate, _ in headers}))
    channels = "mono" if {count for _, _, count in headers} == {1} else "some of several channels"
    _, missing, lines = unreachable(clips)
    wrong = f"; {len(unread)} of {len(looked_at)} cannot be read, such as {unread[0]}" if unread else ""
    if lines and len(lines) == len(missing):
        listed = [
            *map(str, lines[:_MOST_LISTED]),
            *([f"{len(lines) - _MOST_LISTED:,} more"] * (len(lines) > _MOST_LISTED)),
        ]
        several = (
            f"lines {', '.join(listed[:-1])} and {listed[-1]} name" if len(listed) > 1 else f"line {listed[0]} names"
        )
        wrong = f"; {several} no file{f', such as {unread[0]}' if unread else ''}"
        if len(lines) == len(unread) == 1:
            wrong = f"; {several} {unread[0]}, which is not there"
    return f"{len(clips):,} clips, {'about ' if step > 1 else ''}{duration(seconds)}, {rates}, {channels}{wrong}"


def _unnamed(folder: Path, samples: Sequence[Sample]) -> list[tuple[str, str]]:
    """The audio in ``folder`` that no row names, the first of it by name."""
    from pytest_audiobench.audio.clip import FileSource
    from pytest_audiobench.cli._survey import audio_files

    if not folder.is_dir():
        return []
    sources = [clip.source for sample in samples for clip in sample.clips if isinstance(clip.source, FileSource)]
    named = {os.path.realpath(source.location) for source in sources}
    others = [file.as_posix() for file in audio_files(folder) if os.path.realpath(folder / file) not in named]
    if not sources or not others:
        return []
    are = "are" if len(others) > 1 else "is"
    return [("not named", f"{listed(others, _MOST_UNNAMED)} {are} in the folder and in no row")]


def _header(clip: Any) -> tuple[float, int, int] | None:
    """Seconds, rate and channels of a clip's source; None where it cannot be read."""
    import soundfile

    from pytest_audiobench.audio.clip import CellSource, FileSource
    from pytest_audiobench.audio.parquet_cells import read_cell

    source: Any = clip.source
    data: Any = None
    try:
        if isinstance(source, CellSource):
            cell = read_cell(source, str(source.file.location))
            if not isinstance(cell, bytes):
                return len(cell) / (source.rate_hz or 1), source.rate_hz or 1, 1
            data = BytesIO(cell)
        elif isinstance(source, FileSource):
            data = source.location
        info = soundfile.info(data)
    except (AudioError, OSError, RuntimeError, TypeError):
        return None
    return info.frames / max(1, info.samplerate), info.samplerate, info.channels


def _eval_text(target: Path, name: str, own: OwnEval) -> str:
    here = target.resolve().parent
    paths = {"manifest": str(own.manifest)} | {key: own.keys[key] for key in ("root",) if key in own.keys}
    keys = {**own.keys, **{key: Path(os.path.relpath(path, here)).as_posix() for key, path in paths.items()}}
    lines = [f"# {name}, as audiobench init understood it: correct what is not so."]
    is_labelled = keys.get("protocol") == "classification" and "choices" in keys
    notes = {"protocol": _OTHER_PROTOCOL, "question": _LABELS_BEHIND} if is_labelled else {}
    lines += [
        f"{key} = {json.dumps(keys[key], ensure_ascii=False)}{notes.get(key, '')}"
        for key in dict.fromkeys(["manifest", *keys])
    ]
    if "cluster" not in keys and not own.manifest.is_dir():
        lines.append('# cluster = "speaker"  # the column of what clips share: intervals are too narrow without it')
    return "\n".join(lines) + "\n"


def _rules_text(target: Path, own: OwnEval) -> str:
    from pytest_audiobench.metrics.registry import metric_kind
    from pytest_audiobench.metrics.value import PERCENT_UNITS
    from pytest_audiobench.protocols.catalogue import protocol

    asked = protocol(own.keys["protocol"], **{"language": own.keys["language"]} if "language" in own.keys else {})
    kind = metric_kind(asked.scorers[0].metrics[0])
    share = kind.unit in PERCENT_UNITS
    metric = f"{kind.name} {'>= 0.8' if kind.direction == 'higher' else '<= 0.2'}" if share else f"{kind.name} >= 1"
    name = target.name.removesuffix(SUFFIX)
    return _RULES.format(eval=name, target=target, gate=_GATE, metric=metric, max_drop="2pp" if share else "none")


def _workflow_text(target: Path) -> str:
    """That of examples/ci, which a wheel has inside the package and a checkout next to it, for this eval."""
    package = Path(__file__).resolve().parents[1]
    files = (folder / "examples/ci/audiobench.yml" for folder in (package, package.parent))
    text = next(file for file in files if file.is_file()).read_text(encoding="utf-8")
    return text.replace("args: evals ", f"args: {target.as_posix()} --ab-config={_GATE} ")


def _put(file: Path, text: str, dry_run: bool) -> str:
    """Write a file that is not there; what to say of it."""
    if file.exists():
        return f"{file}: there already, and left as it is"
    if not dry_run:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    return str(file)


def _ignore(dry_run: bool) -> list[str]:
    """Have git ignore what runs write, where there is git; what to say of it."""
    here, file = Path.cwd(), Path(".gitignore")
    if not any((folder / ".git").exists() for folder in (here, *here.parents)):
        return []
    before = file.read_text(encoding="utf-8") if file.is_file() else ""
    lacking = [line for line in _IGNORED if line not in before.split()]
    if lacking and not dry_run:
        with file.open("a", encoding="utf-8") as opened:
            opened.write("\n" * (bool(before) and not before.endswith("\n")) + "".join(f"{line}\n" for line in lacking))
    return [f"{file}: {' and '.join(lacking)}"] if lacking else []
