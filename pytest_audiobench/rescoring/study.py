"""The layout of the faithfulness study: rows of raw model outputs, joined to the manifests beside them by id.

github.com/lovenya/Measuring-Faithfulness-of-CoT-Reasoning-LALMs; see ``models/replay/study.py`` for the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.replay.join import manifests_beside
from pytest_audiobench.models.replay.recorded import records
from pytest_audiobench.models.replay.study import CRASH, CRASHES, FIELDS, texts_of, variant_of
from pytest_audiobench.rescoring.recorded import RecordedRow, clip_named

LAYOUT = "the faithfulness study's rows (id and " + " or ".join(FIELDS) + ")"

_SUFFIX = "_manifest"
_LETTERED = re.compile(r"\s*\(([A-Za-z])\)\s*")
_HOPS = ("single", "multi")


def fits(row: Mapping[str, Any]) -> bool:
    """Whether ``row`` is a row of the study's answers."""
    return "id" in row and any(field in row for field in FIELDS)


def read(file: Path, manifests: Path | None = None, crashes: str = CRASHES[0]) -> Iterator[RecordedRow]:
    """The answers of one file, epoch by epoch: as many epochs as every row has texts.

    A row that says that the asking crashed, or holds null, is a sample whose asking failed, or with
    ``crashes="unanswered"`` an empty answer, as the study counts it. Raises UsageError for a row whose question is in
    no manifest.
    """
    asked = _asked(manifests or manifests_beside(file.parent))
    variant = variant_of(file, frozenset(one.dataset for one in asked.values()))
    rows = [(line, row, texts_of(file, line, row)) for line, row in records(file)]
    epochs = min((len(texts) for _, _, texts in rows), default=0)
    most = max((len(texts) for _, _, texts in rows), default=0)
    note = f"some rows hold {most} answers; the first {epochs} of each are scored" if most > epochs else ""
    for epoch in range(epochs):
        for line, row, texts in rows:
            question = asked.get(str(row.get("id")))
            if question is None:
                raise UsageError(f"{file}, line {line}: no manifest asks {row.get('id')!r}, so its options are unknown")
            text, crashed = texts[epoch] or "", texts[epoch] is None or str(texts[epoch]).startswith(CRASH)
            failed = crashed and crashes == "error"
            yield RecordedRow(
                sample=question.sample,
                responses={} if failed else {"answer": Response.of("" if crashed else text, "unknown")},
                epoch=epoch,
                error=f"the recorded run crashed there ({(text or 'null')[:200]})" if failed else None,
                eval=f"{question.dataset}[{variant}]",
                dataset=f"faithfulness/{question.dataset}",
                model=file.resolve().parent.name,
                stored={name: row[name] for name in ("predicted_letters", "accuracy", "is_correct") if name in row},
                family="multiple_choice",
                groups=question.groups,
                cluster="recording",
                note=note,
            )


class _Asked(NamedTuple):
    dataset: str
    sample: Sample
    groups: tuple[str, ...]


def _asked(folder: Path) -> dict[str, _Asked]:
    """What the manifests ask, by id."""
    found: dict[str, _Asked] = {}
    for file in sorted(folder.glob("*.jsonl")):
        dataset = file.stem.removesuffix(_SUFFIX).lower()
        for line, row in records(file):
            try:
                sample = _sample(row)
            except (KeyError, ValueError, TypeError, AttributeError) as error:
                raise UsageError(f"{file}, line {line} is no row of the study's manifests ({error!r})") from None
            found[sample.id] = _Asked(dataset, sample, ("hop",) if "hop" in sample.metadata else ())
    if not found:
        raise UsageError(f"{folder} holds no manifests (*.jsonl)")
    return found


def _sample(row: Mapping[str, Any]) -> Sample:
    letter = str(row["true_letter"]).strip()
    choices = _options(row)
    recording = str(row["audio_path"]).rpartition("/")[2]
    metadata: dict[str, str | None] = {"recording": recording, "faithfulness_letter": letter or None}
    hop = str(row["id"]).rpartition("_")[2]
    if hop in _HOPS:
        metadata["hop"] = hop
    return Sample(
        id=str(row["id"]),
        clips=(clip_named(recording),),
        question=str(row["question"]),
        choices=choices,
        reference=_reference(str(row["answer"]), letter, choices),
        metadata=metadata,
    )


def _options(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The options, as listed or from a text such as ``(A) dog (B) hen``, whose letters must come in order."""
    if isinstance(listed := row.get("choices_list"), list):
        return tuple(map(str, listed))
    text = str(row["choices"])
    starts: list[tuple[int, int]] = []
    for mark in _LETTERED.finditer(text):
        if mark[1].upper() == chr(ord("A") + len(starts)):
            starts.append(mark.span())
    if len(starts) < 2 or starts[0][0] != 0:
        raise ValueError(f"options {text[:80]!r} are not lettered from (A) on")
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return tuple(text[begin:end].strip() for (_, begin), end in zip(starts, ends, strict=True))


def _reference(answer: str, letter: str, choices: Sequence[str]) -> str:
    """The option that the answer's text names, else its letter's: the study's letters are wrong for 13 questions."""
    mark = _LETTERED.match(answer)
    spelled = {choice.casefold(): choice for choice in reversed(choices)}
    for text in (answer, answer[mark.end() :] if mark else answer):
        if text.strip().casefold() in spelled:
            return spelled[text.strip().casefold()]
    place = ord(letter.upper()) - ord("A") if len(letter) == 1 else -1
    if not 0 <= place < len(choices):
        raise ValueError(f"answer {answer[:80]!r} is none of the options")
    return choices[place]
