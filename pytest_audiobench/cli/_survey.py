"""What a folder of somebody's audio is: what lists it, which column is what, and how to ask about it."""

from __future__ import annotations

import argparse
import csv
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.datasets.audio_folders import metadata_of
from pytest_audiobench.datasets.columns import FROM_ANSWERS, Columns
from pytest_audiobench.datasets.manifest import manifest
from pytest_audiobench.datasets.manifest_formats import format_of
from pytest_audiobench.datasets.manifest_rows import stem
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.recordings import ENDINGS, recordings
from pytest_audiobench.datasets.sample import Sample, spelling_note
from pytest_audiobench.datasets.table_rows import jsonl_rows, texts
from pytest_audiobench.errors import UsageError
from pytest_audiobench.stats.paired import FEWEST

LOOKED_AT = 200
"""Rows whose columns are looked at, and clips whose headers are."""
_LISTS = (".csv", ".tsv", ".jsonl", ".ndjson", ".jsonl.gz", ".json", ".parquet")
_OWN_LIST = "labels.csv"
_TEXTS = (".txt", ".lab")
"""Of the files that have the words next to the recording."""
_CAPTIONS = ("caption", "captions", "description")
_ANSWERS = ("mood", "intent", "class", "category", "sentiment", "species", "genre", "event", "truth", "ground_truth")
"""Names of what is true that are too common to be guessed of a published list, but not of one's own."""
_CLUSTERS = (
    *("speaker", "speaker_id", "spk", "client_id", "actor", "actor_id", "singer", "subject", "subject_id"),
    *("participant", "patient", "caller", "user", "individual", "recording", "session", "dialogue", "video"),
)
_MOST_LABELS, _MOST_LINES, _FEW_WORDS = 1_000, 10, 3.0


@dataclass
class OwnEval:
    """What was understood of a folder: what its file says, and why."""

    manifest: Path
    keys: dict[str, Any] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)


# What lists the audio


def survey(place: Path, dry_run: bool = False) -> OwnEval | str:
    """What lists the audio of ``place``; or, where nothing does, a sentence on what is to be filled in.

    Where texts are next to recordings, or nothing does, a list is written into the folder; in a ``dry_run`` a sentence
    says so.
    """
    if (
        place.is_file()
        or format_of(place, DataRoot("own", place), lambda inner: f"audiobench init {place / inner}")
        or metadata_of(place)
    ):
        return OwnEval(place)
    lists = sorted(file for file in place.iterdir() if _is_list(file))
    if len(lists) > 1:
        names = ", ".join(repr(file.name) for file in lists[:10])
        raise UsageError(f"{place} holds several lists: {names}; name one: audiobench init {lists[0]}")
    if lists:
        return OwnEval(lists[0])
    audio = audio_files(place)
    if audio and (beside := _list_beside(place)):
        return beside
    if not audio:
        raise UsageError(f"{place} holds no audio and no list of any; name the folder that does")
    classes = {path.parts[0] for path in audio if len(path.parts) == 2}
    texts: dict[Path, Path | None] = {path: text for path in audio if (text := _text_beside(place / path))}
    if not texts and len(classes) > 1 and all(len(path.parts) == 2 for path in audio):
        return OwnEval(place)
    listing = place / _OWN_LIST
    if dry_run:
        return f"would be written first: {listing}, a list of {len(texts) or len(audio):,} recordings"
    with listing.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("audio", "answer"))
        listed = texts or dict.fromkeys(audio)
        writer.writerows((path.as_posix(), _words_in(text) if text else "") for path, text in listed.items())
    if not texts:
        return (
            f"{place} holds {len(audio):,} recordings and no file with their answers. They are listed in "
            f"{listing}: fill in its column 'answer' (what is said, or what is heard) and run this again."
        )
    left = f"; {len(audio) - len(texts):,} recordings without one are left out" if len(texts) < len(audio) else ""
    return OwnEval(listing, notes=[("written", f"{listing.name}, of {len(texts):,} texts beside recordings{left}")])


def _list_beside(folder: Path) -> OwnEval | None:
    """The list that is next to ``folder`` and names files in it: the one of its name, or the only one of another."""
    found: dict[Path, Path] = {}
    for file in sorted(file for file in folder.parent.iterdir() if _is_list(file)):
        try:
            _, rows = _head(file)
        except (OSError, UsageError):
            continue  # it is of something else
        texts = (value for row in rows for value in row.values() if isinstance(value, str))
        paths = [text for text in texts if text.lower().endswith(ENDINGS)]
        starts = [folder.parent, folder, *sorted(path for path in folder.iterdir() if path.is_dir())]
        root = next((start for start in starts for path in paths if _is_in(start / path, folder)), None)
        if root is not None:
            found[file] = root
    named = [file for file in found if stem(file) == folder.name] or [*found]
    if len(named) > 1:
        names = ", ".join(repr(file.name) for file in named[:10])
        raise UsageError(
            f"beside {folder} several lists name files in it: {names}; name one: audiobench init {named[0]}"
        )
    if not named:
        return None
    own = OwnEval(named[0], notes=[("beside", f"{named[0].name} beside the folder names the files in it")])
    if found[named[0]] != folder.parent:
        own.keys["root"] = str(found[named[0]])
    return own


def _is_in(file: Path, folder: Path) -> bool:
    return file.is_file() and file.resolve().is_relative_to(folder.resolve())


def _is_list(file: Path) -> bool:
    if not file.is_file() or file.name.startswith(".") or not file.name.lower().endswith(_LISTS):
        return False
    return file.suffix != ".json" or format_of(file, DataRoot("own", file.parent), str) is not None


def audio_files(folder: Path) -> list[Path]:
    """Those below a folder, from there, in order."""
    try:
        clips = recordings(Places(folder, {"own": folder}), "own")
    except UsageError:
        return []
    return [Path(clip.source.path) for clip in clips if hasattr(clip.source, "path")]


def _text_beside(audio: Path) -> Path | None:
    return next((text for end in _TEXTS if (text := audio.with_suffix(end)).is_file()), None)


def _words_in(file: Path) -> str:
    return " ".join(" ".join(line for _, line in texts(file)).split())


# What its columns are


def understood(own: OwnEval, args: argparse.Namespace) -> Sequence[Sample]:
    """The samples of the manifest, after its keys were filled in."""
    is_folder = own.manifest.is_dir()
    names, rows = _head(own.manifest)
    if names:
        _name_columns(own, args, names, rows)
    elif args.audio or args.answer or args.cluster:
        raise UsageError(f"{own.manifest} has a folder for each class, and no columns to name")
    else:
        own.notes.append(("answer", "the folder that a clip lies in"))
    samples = _read(own)
    answers = Counter(truth for sample in samples for truth in sample.truths)
    if set(answers) == {""}:
        raise UsageError(f"{own.manifest} has an empty answer in every row: fill them in, and run this again")
    _choose_protocol(own, args.protocol, samples, answers, is_folder and not names)
    _choose_cluster(own, args.cluster, samples)
    samples = _read(own)
    own.notes.insert(0, ("list", f"{own.manifest.name}, {len(samples):,} {'clips' if is_folder else 'rows'}"))
    return samples


def _read(own: OwnEval) -> Sequence[Sample]:
    keywords = {key: value for key, value in own.keys.items() if key not in ("protocol", "language")}
    return manifest(own.manifest, **keywords).read(Places(own.manifest.parent))


def _head(file: Path) -> tuple[list[str], list[Mapping[str, Any]]]:
    """The columns of a manifest and its first rows; none for a folder of classes."""
    root = DataRoot("own", file if file.is_dir() else file.parent)
    listing = format_of(file, root, str)
    rows: Iterator[Mapping[str, Any]]
    if listing:
        rows = (row for _, row in listing.rows(lambda _: None))
    else:
        if file.is_dir():
            metadata = metadata_of(file)
            if metadata is None:
                return [], []
            file = metadata[0]
        if ".csv" in file.suffixes or ".tsv" in file.suffixes:
            style: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if file.suffix == ".tsv" else {}
            rows = iter(csv.DictReader((line + "\n" for _, line in texts(file)), **style))
        else:
            rows = (row for _, row in jsonl_rows(file, lambda _: None))
    first = list(islice(rows, LOOKED_AT))
    return [str(name) for name in (first[0] if first else {}) if name], first


def _name_columns(own: OwnEval, args: argparse.Namespace, names: list[str], rows: Sequence[Mapping[str, Any]]) -> None:

    def is_audio(value: object) -> bool:
        return isinstance(value, Clip) or str(value).lower().endswith(ENDINGS)

    if any(name.lower().endswith(ENDINGS) for name in names):
        raise UsageError(f"{own.manifest} begins with a row; write a header above it, such as audio,answer")
    sounding = [name for name in names if any(is_audio(row.get(name)) for row in rows)]
    audio, why = args.audio, "as you said"
    if audio is None and sounding:
        usual = Columns.likely(["audio"], sounding, set())
        audio = "audio" if "audio" in sounding else usual.get("audio", sounding[0])
        why = "it has clips" if isinstance(rows[0].get(audio), Clip) else "its values are names of audio files"
    if audio is None:
        raise UsageError(
            f"{own.manifest} has no column of audio files (it has {', '.join(names)}); name it by --audio COLUMN"
        )
    if wrong := next((name for name in (audio, args.answer, args.cluster) if name and name not in names), ""):
        raise UsageError(f"{own.manifest} has no column {wrong!r}; it has {', '.join(names)}")
    paths = [str(value) for row in rows if not isinstance(value := row.get(audio), Clip)]
    if audio != "audio":
        own.keys["audio"] = audio
    own.notes.append(("audio", f"{audio}: {why}{_root_of(own, paths)}"))
    answer, why = args.answer, "as you said"
    others = [name for name in names if name not in (audio, "id", "question", "choices") and name not in sounding]
    if answer is None:
        answer = "answer" if "answer" in others else Columns.likely(["answer"], others, {audio}).get("answer")
        why = "what is true is usually called so"
    if answer is None:
        answer = next((name for usual in _ANSWERS for name in others if name.lower() == usual), None)
    if answer is None and len(others) == 1:
        answer, why = others[0], "the only other column"
    likely = [name for name in others if name.lower() not in _CLUSTERS and not _is_numeric(name, rows)]
    if answer is None and len(likely) == 1:
        answer, why = likely[0], "the only column of words that is no speaker or the like; another by --answer COLUMN"
    if answer is None:
        listed = ", ".join(others) or "nothing"
        example = (likely or others or [""])[0]
        command = f", such as audiobench init {args.folder} --answer {shlex.quote(example)}" * bool(example)
        raise UsageError(f"{own.manifest} has {listed} beside its audio; say what is true by --answer COLUMN{command}")
    if answer != "answer":
        own.keys["answer"] = answer
    own.notes.append(("answer", f"{answer}: {why}"))


def _is_numeric(name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the column holds numbers alone, as durations, takes and years are."""
    return all(re.fullmatch(r"\s*[-+]?[\d.,:]*\s*", str(row.get(name) or "")) for row in rows)


def _root_of(own: OwnEval, paths: Sequence[str]) -> str:
    """Where the audio is, if it is not next to the list: a folder in it that has the first of ``paths``."""
    here = own.manifest if own.manifest.is_dir() else own.manifest.parent
    if "root" in own.keys:
        return f", of files in {Path(own.keys['root']).name}"
    if not paths or (here / paths[0]).is_file():
        return ""
    for folder in sorted(path for path in here.iterdir() if path.is_dir()):
        if (folder / paths[0]).is_file():
            own.keys["root"] = str(folder)
            return f", of files in {folder.name}"
    return ""


# How it is asked


def _rarer_spellings(samples: Sequence[Sample], answers: Counter[str]) -> str:
    """The lines of the rows whose label is also written in another, more frequent way; "" where they have none."""
    usual: dict[str, str] = {}
    for label, _ in answers.most_common():
        usual.setdefault(" ".join(label.casefold().split()), label)
    rare = [s for s in samples if any(usual[" ".join(truth.casefold().split())] != truth for truth in s.truths)]
    lines = [
        f"{source.line} ({sample.reference})"
        for sample in rare
        for source in [clip.source for clip in sample.clips][:1]
        if isinstance(source, FileSource) and source.line
    ]
    more = f", and {len(lines) - _MOST_LINES:,} more" if len(lines) > _MOST_LINES else ""
    return f"; the rarer way: line {', '.join(lines[:_MOST_LINES])}{more}" if lines else ""


def _choose_protocol(
    own: OwnEval, named: str | None, samples: Sequence[Sample], answers: Counter[str], of_classes: bool
) -> None:
    column = str(own.keys.get("answer", "answer"))
    words = sum(len(answer.split()) * count for answer, count in answers.items()) / max(1, answers.total())
    few = 2 <= len(answers) <= _MOST_LABELS
    said = f"{len(answers):,} different answers of {len(samples):,} clips, {words:.1f} words each"
    if any(sample.choices for sample in samples) and not of_classes:
        protocol, why = "multiple_choice", "rows have choices of their own"
    elif any(len(sample.truths) > 1 for sample in samples) or column.lower() in _CAPTIONS:
        protocol, why = "captioning", "they are descriptions"
    elif of_classes or (few and words <= _FEW_WORDS and 2 * len(answers) <= len(samples)):
        protocol, why = "classification", said
    else:
        protocol, why = "transcription", said
    own.keys["protocol"] = named or protocol
    own.notes.append(("protocol", f"{own.keys['protocol']}: {'as you said' if named else why}"))
    asked = own.keys["protocol"]
    if asked in ("classification", "multiple_choice") and not samples[0].choices:
        own.keys["choices"] = FROM_ANSWERS
        if note := spelling_note(answers):
            own.notes.append(("labels", f"{note}{_rarer_spellings(samples, answers)}"))
    if asked in ("classification", "multiple_choice", "tagging") and not all(sample.question for sample in samples):
        own.keys["question"] = f"Which {column} is it?" if column != "answer" else "What is heard?"
        behind = " and all labels" * (asked == "classification")
        own.notes.append(("question", f"“{own.keys['question']}”{behind}: correct it in the file"))
    languages = {sample.metadata.get(key) for sample in samples for key in ("language", "lang")} - {None}
    if own.keys["protocol"] == "transcription" and len(languages) == 1:
        language = str(languages.pop())
        if re.fullmatch(r"[a-z]{2,3}", language):
            own.keys["language"] = language
            own.notes.append(("language", f"{language}, of every clip"))


def _choose_cluster(own: OwnEval, named: str | None, samples: Sequence[Sample]) -> None:
    columns = {key.lower(): key for key in samples[0].metadata}
    for name in [named] if named else [columns[usual] for usual in _CLUSTERS if usual in columns]:
        values = {sample.metadata.get(name) for sample in samples}
        if named or (not {None, ""} & values and 1 < len(values) < len(samples)):
            own.keys["cluster"] = name
            few = f"; no comparison is tested with fewer than {FEWEST}" * (len(values) < FEWEST)
            own.notes.append(("cluster", f"{name}: {len(values):,} of them, whose clips are alike{few}"))
            return
