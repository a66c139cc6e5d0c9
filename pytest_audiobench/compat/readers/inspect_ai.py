"""The logs of inspect_ai (github.com/UKGovernmentBEIS/inspect_ai): ``.eval``, a zip of JSON, and ``.json``."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import IO, Any

from pytest_audiobench.compat.answer_fields import breakdowns, dictionary, number
from pytest_audiobench.compat.answer_files import AnswerFile, Reader, RecordedAnswer
from pytest_audiobench.errors import UsageError, install_command
from pytest_audiobench.models.messages import Finish

_HEADER = "header.json"
_ZSTANDARD = 93
_LOCAL = 30
"""Bytes of a member's own header before its name."""
_MOST_BYTES = 256_000_000
_FINISHES: Mapping[str, Finish] = {"stop": "stop", "max_tokens": "length", "content_filter": "refusal"}
_MARKS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""What inspect_ai counts them for: correct, incorrect, partial, no answer."""
_SCORERS = {"includes": "ultraeval-exists"}


def fits(file: AnswerFile) -> bool:
    """Whether it is the log of a task, in either format."""
    if file.path.suffix == ".eval":
        try:
            return _HEADER in _names(file.path)
        except zipfile.BadZipFile:
            return False
    return {"eval", "plan", "status"} <= file.first.keys()


def rows(file: AnswerFile) -> Iterator[RecordedAnswer]:
    """The samples of a log. Raises UsageError for one that kept none, and for a sample that has lost its target."""
    zipped = file.path.suffix == ".eval"
    log = json.loads(_member(file.path, _HEADER)) if zipped else file.first
    samples = _samples(file.path) if zipped else log.get("samples") or []
    if not samples:
        raise UsageError(f"{file.path} ended with {log.get('status')!r} and holds no samples, so nothing was answered")
    scores = dictionary(log.get("results")).get("scores") or []
    figures = {
        name: metric["value"] for name, metric in (scores[0]["metrics"] if scores else {}).items() if name != "stderr"
    }
    groups = breakdowns(dictionary(sample.get("metadata")) for sample in samples)
    ran = dictionary(log.get("eval"))
    for sample in samples:
        place = f"{file.path}, sample {sample.get('id')!r}"
        asked, own = _asked(place, sample), _own(sample)
        output = (dictionary(sample.get("output")).get("choices") or [{}])[0]
        failed = dictionary(sample.get("error")).get("message", "")
        yield RecordedAnswer(
            id=str(sample["id"]),
            answer=None if failed else _words(dictionary(output.get("message")).get("content")),
            error=str(failed),
            epoch=int(sample.get("epoch") or 1) - 1,
            finish=_FINISHES.get(str(output.get("stop_reason")), "unknown"),
            groups={name: sample["metadata"][name] for name in groups},
            own=own,
            eval=str(ran.get("task") or file.path.stem),
            model=str(ran.get("model") or ""),
            figures=figures,
            scorer="" if asked["options"] else next((_SCORERS[name] for name in list(own)[:1] if name in _SCORERS), ""),
            **asked,
        )


def _asked(place: str, sample: Mapping[str, Any]) -> dict[str, Any]:
    """Question, options and reference; a choice's target is a letter."""
    if "id" not in sample or "target" not in sample:
        raise UsageError(f"{place}: it has no 'id' and 'target'")
    options = tuple(map(str, sample.get("choices") or ()))
    targets = sample["target"] if isinstance(sample["target"], list) else [sample["target"]]
    reference = tuple(map(str, targets))
    if options:
        if len(reference) > 1:
            raise UsageError(f"{place}: {len(reference)} of its options are right together, which no scorer here reads")
        listed = dict(zip(ascii_uppercase, options, strict=False))
        if (reference := tuple(listed[letter] for letter in reference if letter in listed)) == ():
            raise UsageError(f"{place}: its target {targets[0]!r} is not one of its options")
    judged = any(name.startswith("model_graded") for name in dictionary(sample.get("scores")))
    return {
        "question": _words(sample.get("input")),
        "options": options,
        "reference": reference if len(reference) > 1 else reference[0],
        "audio": _audio(sample.get("input")),
        "family": "multiple_choice" if options else "judged" if judged else "spoken_questions",
    }


def _own(sample: Mapping[str, Any]) -> dict[str, Any]:
    """Each scorer's mark as a number, and the first one's as accuracy as well."""
    scores = {name: dictionary(score).get("value") for name, score in dictionary(sample.get("scores")).items()}
    marks = {name: _MARKS.get(str(value), number(value)) for name, value in scores.items()}
    return {**marks, "accuracy": next(iter(marks.values()))} if marks else {}


def _parts(said: Any) -> Iterator[Mapping[str, Any]]:
    """The parts of a text, a message's content or a list of messages."""
    if isinstance(said, str):
        yield {"type": "text", "text": said}
    for part in said if isinstance(said, list) else ():
        yield from _parts(part["content"]) if "content" in part else [part]


def _words(said: Any) -> str:
    return "\n".join(str(part.get("text", "")) for part in _parts(said) if part.get("type") == "text")


def _audio(said: Any) -> str:
    """The first clip's path; one that the log holds itself is called by its attachment's digest."""
    return next((str(part.get("audio", ""))[:200] for part in _parts(said) if part.get("type") == "audio"), "")


def _samples(path: Path) -> list[Mapping[str, Any]]:
    names = sorted(name for name in _names(path) if name.startswith("samples/"))
    kept = ("id", "epoch", "input", "choices", "target", "metadata", "scores", "output", "error")
    read = (json.loads(_member(path, name)) for name in names)
    return [{name: sample[name] for name in kept if name in sample} for sample in read]


def _names(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as log:
        return log.namelist()


def _member(path: Path, name: str) -> bytes:
    """A member of the zip; Python knows its Zstandard from 3.14 on. Raises UsageError for one of more than 256 MB."""
    with zipfile.ZipFile(path) as log, path.open("rb") as file:
        info = log.getinfo(name)
        if info.file_size > _MOST_BYTES:
            raise UsageError(f"{path}: {name} has {info.file_size / 1e6:.0f} MB, too much to hold")
        try:
            return _unpacked(path, file, info) if info.compress_type == _ZSTANDARD else log.read(info)
        except (OSError, zipfile.BadZipFile) as error:
            raise UsageError(f"{path}: {name} is damaged ({error}): copy the log again") from None


def _unpacked(path: Path, file: IO[bytes], info: zipfile.ZipInfo) -> bytes:
    try:
        import pyarrow
    except ImportError:
        raise UsageError(f"{path} is packed with Zstandard: {install_command('parquet')}") from None
    file.seek(info.header_offset)
    head = file.read(_LOCAL)
    file.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
    packed = pyarrow.BufferReader(file.read(info.compress_size))
    return bytes(pyarrow.CompressedInputStream(packed, "zstd").read(info.file_size))


READERS = (
    Reader(
        name="inspect",
        about="inspect_ai's logs (.eval, or JSON with eval, plan and samples)",
        origin="written by the tool",
        fits=fits,
        rows=rows,
        endings=(".eval", ".json"),
    ),
)
