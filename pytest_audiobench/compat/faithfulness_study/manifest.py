"""The data sets of the study, from its own manifests: SAKURA's four tracks, MMAU and MMAR.

A manifest is a file of lines: id, question, choices ("(A) dog (B) hen"), choices_list (MMAU's has none), audio_path
("{DATA_ROOT}/sakura/data/Animal/audio/cat0.wav"), answer ("(b) cat") and true_letter. The first manifests have an
instruction in place of question, choices and letter.

``faithfulness_letter`` in the metadata is the study's true letter, which is wrong for some of MMAR's questions
(``evals/mmar.audiobench.toml``): it is there only so that the study's figures can be repeated under its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places, relative_path
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.datasets.table_rows import jsonl_rows
from pytest_audiobench.datasets.transforms import split_options
from pytest_audiobench.errors import DataNotFound, UsageError

HOME, AUDIO = "faithfulness", "faithfulness-audio"
"""What ``--ab-data`` calls the study's folder, and the folder of its audio where that is another."""
SUFFIX = "_manifest"
"""How a manifest's name ends, behind the name of its data set."""

HOPS = ("single", "multi")
_FOLDERS = (
    *("", "manifests", "data/sakura/{name}", "data/{name}", "processed_input/sakura/{name}", "processed_input/{name}"),
    *("pooneh_version/data/sakura/{name}", "pooneh_version/data/{name}", "sakura/{name}", "{name}"),
)
"""Where manifests lie in the study's repository, in the commands of its documentation, and side by side."""
_GLOBS = ("*", "*/*", "*/*/*")
_LETTERED = re.compile(r"\s*\(([A-Za-z])\)\s*")
_ROOT = re.compile(r"\{\w+\}/*")
_NAME = re.compile(r"[\w-]{1,64}")


class Question(NamedTuple):
    """What a row of a manifest asks. ``audio`` is the path below the data root; what is true is not part of it."""

    id: str
    question: str
    choices: tuple[str, ...]
    audio: str

    @property
    def recording(self) -> str:
        """The audio's file name."""
        return self.audio.rpartition("/")[2]


class Row(NamedTuple):
    """A row of a manifest: the question, and all that it says; ``place`` names file and line."""

    question: Question
    fields: Mapping[str, Any]
    place: str


def faithfulness_study(name: str) -> Dataset:
    """One data set of the study: "animal", "emotion", "gender", "language", "mmau", "mmar", or any that has a manifest.

    ``NAME_manifest.jsonl`` is looked for in ``--ab-data=faithfulness=FOLDER``, in its layout or flat; the audio in
    ``--ab-data=faithfulness-audio=FOLDER`` where that is given, else in FOLDER, its ``data``, and folders of data sets
    (``--ab-data=FOLDER``). Ids are the study's. Metadata: track (``name``), hop where ids end in one, recording (the
    file's name: the cluster), faithfulness_letter. Raises UsageError for a name that no file could have.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name[:80]!r} is not a data set of the study; give one such as animal, mmau or mmar")
    return Dataset(f"{HOME}/{name}", partial(_samples, name), cluster="recording", groups=("hop",))


def rows(file: Path) -> Iterator[Row]:
    """The rows of a manifest.

    Raises UsageError, with the line, for one that asks nothing, or asks under the id of another: which of the two an
    answer belongs to could not be known.
    """
    known: dict[str, Question] = {}
    for line, fields in jsonl_rows(file):
        try:
            question, choices = _question_and_options(fields)
            id_, audio = fields["id"], fields["audio_path"]
            if not all(isinstance(text, str) for text in (id_, question, audio)):
                raise TypeError("id, question and audio_path must be texts")
            item = Question(id_, question, choices, _ROOT.sub("", audio, count=1))
        except (KeyError, ValueError, TypeError) as error:
            raise UsageError(f"{file}, line {line} is not a row of the study's manifests ({error!r})") from None
        if known.setdefault(item.id, item) != item:
            raise UsageError(f"{file}, line {line} asks something else under the id {item.id!r} of an earlier line")
        yield Row(item, fields, f"{file}, line {line}")


def sample_of(row: Row, clip: Clip) -> Sample:
    """A row as a sample that plays ``clip``. Raises UsageError where its answer is not one of the options."""
    question, letter = row.question, str(row.fields.get("true_letter") or "").strip()
    metadata: dict[str, str | None] = {"recording": question.recording, "faithfulness_letter": letter or None}
    if (hop := question.id.rpartition("_")[2]) in HOPS:
        metadata["hop"] = hop
    try:
        reference = _reference(str(row.fields.get("answer") or ""), letter, question.choices)
    except ValueError as error:
        raise UsageError(f"{row.place} is not a row of the study's manifests ({error!r})") from None
    return Sample(question.id, (clip,), question.question, question.choices, reference, metadata)


def options(listed: object, text: str) -> tuple[str, ...]:
    """The options, as listed or from a text such as ``(A) dog (B) hen``, whose letters must come in order.

    Raises ValueError for a text whose do not.
    """
    if isinstance(listed, list):
        return tuple(map(str, listed))
    starts: list[tuple[int, int]] = []
    for mark in _LETTERED.finditer(text):
        if mark[1].upper() == chr(ord("A") + len(starts)):
            starts.append(mark.span())
    if len(starts) < 2 or starts[0][0] != 0:
        raise ValueError(f"options {text[:80]!r} are not lettered from (A) on")
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return tuple(text[begin:end].strip() for (_, begin), end in zip(starts, ends, strict=True))


def _question_and_options(fields: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The question and its options; the study's first manifests have both in one text."""
    if "question" not in fields and isinstance(fields.get("instruction"), str):
        return split_options(fields["instruction"])
    return fields["question"], options(fields.get("choices_list"), str(fields["choices"]))


def lettered(choices: Sequence[str]) -> str:
    """Options as the study's manifests write them."""
    return " ".join(f"({chr(ord('A') + place)}) {choice}" for place, choice in enumerate(choices))


def manifests_in(folder: Path) -> list[Path]:
    """The manifests in ``folder``: all its files of lines, or else those so named at most two folders below."""
    flat = sorted(folder.glob("*.jsonl"))
    return flat or [file for glob in _GLOBS for file in sorted(folder.glob(f"{glob}{SUFFIX}.jsonl"))]


def name_of(manifest: Path) -> str:
    """The data set that a manifest is of, by its file's name."""
    return manifest.stem.removesuffix(SUFFIX).lower()


def audio_roots(places: Places) -> list[DataRoot]:
    """The folders on this machine below which the study's audio may lie, in the order in which they are looked in."""
    folders = []
    for name in (AUDIO, HOME):
        try:
            folder = places.find(name, ".").folder
        except DataNotFound:
            continue
        folders += [folder] if name == AUDIO else [folder, folder / "data"]
    return [DataRoot(AUDIO, folder.resolve()) for folder in (*folders, *places.shelves)]


def _samples(name: str, places: Places) -> list[Sample]:
    landmarks = [f"{folder}/{name}{SUFFIX}.jsonl".lstrip("/").format(name=name) for folder in _FOLDERS]
    home = places.find(HOME, *landmarks).folder
    file = next(home / landmark for landmark in landmarks if (home / landmark).exists())
    located = [(row, _path(row)) for row in rows(file)]
    roots = audio_roots(places)
    # Audio that is not here is each sample's error, which says where it was looked for.
    first = [path.rpartition("/")[0] for _, path in located[:1]]
    beneath = next((root for root in roots for folder in first if (root.folder / folder).is_dir()), roots[0])
    samples = [sample_of(row, Clip(FileSource(beneath, path))) for row, path in located]
    return [replace(sample, metadata={"track": name, **sample.metadata}) for sample in samples]


def _path(row: Row) -> str:
    try:
        return relative_path(row.question.audio)
    except ValueError as error:
        raise UsageError(f"{row.place} has an audio path that cannot be used: {error}") from None


def _reference(answer: str, letter: str, choices: Sequence[str]) -> str:
    """The option that the answer's text names, else its letter's: the study's letters are wrong for 13 questions."""
    mark = _LETTERED.match(answer)
    spelled = {choice.casefold(): choice for choice in reversed(choices)}
    for text in (answer, answer[mark.end() :] if mark else answer):
        if text.strip().casefold() in spelled:
            return spelled[text.strip().casefold()]
    place = ord(letter.upper()) - ord("A") if len(letter) == 1 else -1
    if not 0 <= place < len(choices):
        raise ValueError(f"answer {answer[:80]!r} is not one of the options")
    return choices[place]
