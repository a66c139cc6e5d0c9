"""SAKURA: what is heard in a clip (single hop), and what follows from it (multi hop).

Yang et al., "SAKURA: On the Multi-hop Reasoning of Large Audio-Language Models Based on Speech and Audio
Information", Interspeech 2025; github.com/ckyang1124/SAKURA. Four tracks of 500 clips; each clip is asked
about twice, so a clip is a statistical cluster.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import partial
from typing import Literal, TypeAlias, get_args

from pytest_audiobench.audio.clip import DataRoot
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.published_layouts import Entry, read_json
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError

Track: TypeAlias = Literal["animal", "emotion", "gender", "language"]
Hop: TypeAlias = Literal["single", "multi"]

_OPTION = re.compile(r"\s*\(([a-z])\)\s*")


def sakura(track: Track, hop: Hop | None = None) -> Dataset:
    """One track of SAKURA at one hop, or at both, from its own layout: ``data/<Track>/metadata.json`` (or .csv) and
    ``audio/``.

    Metadata: track, hop, label (what the clip is of), recording (its file: the cluster).
    Raises UsageError for a track or hop that SAKURA does not have.
    """
    hops: tuple[Hop, ...] = get_args(Hop)
    for what, value, known in (("track", track, get_args(Track)), ("hop", hop, (*hops, None))):
        if value not in known:
            raise UsageError(f"SAKURA has no {what} {value!r}; it has {', '.join(filter(None, known))}")
    chosen = hops if hop is None else (hop,)
    name = f"sakura/{track}" if hop is None else f"sakura/{track}/{hop}"
    return Dataset(name, partial(_read, track, chosen), cluster="recording", groups=("track", "hop", "label"))


def split_options(instruction: str) -> tuple[str, tuple[str, ...]]:
    """A question and its options, from an instruction such as ``Which animal? (a) dog (b) hen``.

    The options are those from the last "(a)" on. Raises ValueError when they are not lettered a, b, c, … in order.
    """
    start = instruction.rfind("(a)")
    if start < 0:
        raise ValueError("it has no option (a)")
    parts = _OPTION.split(instruction[start:].strip())
    letters, options = parts[1::2], tuple(parts[2::2])
    if letters != [chr(ord("a") + i) for i in range(len(letters))] or not all(options):
        raise ValueError(f"its options are lettered {', '.join(letters)}")
    return instruction[:start].strip(), options


def _read(track: Track, hops: tuple[Hop, ...], places: Places) -> list[Sample]:
    folder = f"data/{track.capitalize()}"
    root = places.find("sakura", f"{folder}/metadata.json", f"{folder}/metadata.csv")
    return [_sample(track, hop, root, path, entry) for path, entry in _entries(root, folder) for hop in hops]


def _entries(root: DataRoot, folder: str) -> Iterator[tuple[str, Entry]]:
    published = root.folder / folder / "metadata.json"
    if published.exists():
        entries = read_json(published)
        if not isinstance(entries, dict):
            raise UsageError(f"{published} is no object of clips; fetch it again")
        for path, entry in entries.items():
            yield path, Entry(f"{published}, {path!r}", entry)
        return
    table = published.with_suffix(".csv")
    try:
        with table.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                entry = Entry(f"{table}, {row.get('file')!r}", row)
                yield f"{folder}/audio/{entry.text('file')}", entry
    except (OSError, ValueError, csv.Error) as error:
        raise UsageError(f"{table} cannot be read ({error}); fetch it again") from None


def _sample(track: Track, hop: Hop, root: DataRoot, path: str, entry: Entry) -> Sample:
    answer = entry.text(f"{hop}_answer")
    try:
        question, options = split_options(entry.text(f"{hop}_instruction"))
    except ValueError as error:
        raise entry.wrong(f"has an instruction that cannot be split: {error}") from None
    lettered = {f"({chr(ord('a') + i)}) {option}": option for i, option in enumerate(options)}
    if answer not in lettered:
        raise entry.wrong(f"has the answer {answer!r}, which is none of its options")
    recording = path.rpartition("/")[2]
    return Sample(
        id=f"{track}/{recording}/{hop}",
        clips=(entry.clip(root, path),),
        question=question,
        choices=options,
        reference=lettered[answer],
        metadata={"track": track, "hop": hop, "label": entry.text("attribute_label"), "recording": recording},
    )
