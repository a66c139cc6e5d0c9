"""Corrections of a data set: a file of ids, reasons and new references, and the data set as it is with them.

A row without a reference leaves its sample out. What is corrected is another data set, with a name and hashes of its
own, which is next to the published one and never in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.datasets.table_rows import csv_rows, jsonl_rows
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes

CORRECTED = "corrected"
"""What the eval and the data set are called with their corrections."""

_FIELDS = ("id", "reason", "reference", "eval")
_REMARKS = ("published", "models", "strength")
"""Columns of an audit's files that say what a listener needs."""
_NAMED = 20


class Correction(NamedTuple):
    """What is to become of one sample."""

    id: str
    reason: str
    reference: str
    """Empty where the sample is to be left out."""


@dataclass(frozen=True)
class Corrections:
    """The rows of a file for one eval."""

    file: Path
    rows: Mapping[str, Correction]
    """By id."""

    def note(self) -> str:
        """What is corrected and left out, and why."""
        parts = [
            f"{name} ({row.reason}; {f'now {row.reference!r}' if row.reference else 'left out'})"
            for name, row in list(self.rows.items())[:_NAMED]
        ]
        more = f", and {len(self.rows) - _NAMED} more" if len(self.rows) > _NAMED else ""
        left_out = sum(not row.reference for row in self.rows.values())
        counts = f"{len(self.rows) - left_out} references corrected and {left_out} samples left out"
        return f"{counts} by {self.file.name}: {', '.join(parts)}{more}"


def read_corrections(file: Path, eval_: str) -> Corrections:
    """The corrections of the eval called ``eval_`` in a CSV, TSV or JSONL ``file``.

    Rows whose ``eval`` is another are skipped. Raises UsageError, with the lines, for what is wrong: no row, no
    reason, an id twice, an unknown column.
    """
    mistakes = Mistakes()
    rows: dict[str, Correction] = {}
    others: dict[str, None] = {}
    for number, row in _rows(file, mistakes):
        place = f"{file}, line {number}"
        texts = {name: _text(row.get(name), name, place, mistakes) for name in _FIELDS}
        if texts["eval"] and texts["eval"] != eval_:
            others.setdefault(texts["eval"])
            continue
        for name, advice in (("id", "name the sample"), ("reason", "say why, since it is shown with the scores")):
            if not texts[name]:
                mistakes.add(f"{place} has no {name}; {advice}")
        if texts["id"] in rows:
            mistakes.add(f"{place} has the id {texts['id'][:80]!r} a second time; leave one row of it")
        rows[texts["id"]] = Correction(texts["id"], texts["reason"], texts["reference"])
    mistakes.check()
    if not rows:
        elsewhere = f": its rows are of {', '.join([*others][:3])}" if others else ""
        raise UsageError(f"{file} has no correction of {eval_}{elsewhere}; leave the option out, or write one")
    return Corrections(file, rows)


def corrected(dataset: Dataset, corrections: Corrections) -> Dataset:
    """``dataset`` with its ``corrections``. Reading it raises UsageError for ids that it does not have, and for
    references that cannot be its samples'.
    """
    if dataset.withheld:
        raise UsageError(f"{corrections.file} corrects {dataset.name}, whose publisher withholds the references")
    if dataset.is_timed:
        raise UsageError(
            f"{corrections.file} corrects {dataset.name}, whose references are lists of events: correct the data"
        )

    left_out = frozenset(row.id for row in corrections.rows.values() if not row.reference)

    def read(places: Places) -> Sequence[Sample]:
        mistakes, seen = Mistakes(), set[str]()
        samples = []
        for sample in dataset.read(places):
            row = corrections.rows.get(sample.id)
            if row is not None:
                seen.add(sample.id)
            if row is not None and row.reference:
                sample = _corrected(sample, row, corrections.file, mistakes)
            samples.append(sample)
        for id_ in corrections.rows.keys() - seen:
            mistakes.add(f"{corrections.file} corrects {id_[:80]!r}, which {dataset.name} does not have")
        mistakes.check()
        if len(left_out) == len(samples):
            raise UsageError(f"{corrections.file} leaves out every sample of {dataset.name}")
        return samples

    return replace(
        dataset,
        name=f"{dataset.name}+{CORRECTED}",
        read=read,
        note="; ".join(filter(None, (dataset.note, corrections.note()))),
        perturbation=None,
        published=(),
        averages={},
        pooled=False,
        left_out=left_out,
        submission=None,
    )


def _corrected(sample: Sample, row: Correction, file: Path, mistakes: Mistakes) -> Sample:
    reference = row.reference
    if sample.choices:
        same = [choice for choice in sample.choices if tidy_caseless(choice) == tidy_caseless(reference)]
        if not same:
            sentence = f"{file} gives {sample.id!r} the reference {reference[:80]!r}, which is not one of its choices"
            mistakes.add(sentence, reference, sample.choices)
            return sample
        reference = reference if reference in same else same[0]
    if sample.truths == (reference,):
        mistakes.add(f"{file} gives {sample.id!r} the reference that it has, {reference[:80]!r}; remove the row")
    return replace(sample, reference=reference, references=())


def _rows(file: Path, mistakes: Mistakes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    known = (*_FIELDS, *_REMARKS)

    def columns(place: str, header: Sequence[str], unit: str, in_header: Mistakes) -> Mapping[str, str]:
        in_header.check_keys(place, dict.fromkeys(header), known)
        return {name: name for name in known if name in header}

    if file.is_file() and not file.stat().st_size:
        raise UsageError(f"{file} is empty; write a row with id, reason and reference for each correction")
    if file.suffix.lower() in (".csv", ".tsv"):
        yield from csv_rows(file, mistakes.add, columns, tabs=file.suffix.lower() == ".tsv")
        return
    for number, row in jsonl_rows(file, mistakes.add):
        mistakes.check_keys(f"{file}, line {number}", row, known)
        yield number, row


def _text(written: object, name: str, place: str, mistakes: Mistakes) -> str:
    if written is not None and not isinstance(written, str):
        mistakes.add(f"{place} has a {name} that is not text; write it in quotes")
        return ""
    return (written or "").strip()
