"""The study's answers read for scoring: rows of raw model outputs, joined to the manifests next to them by id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.compat.faithfulness_study.manifest import HOPS as HOPS
from pytest_audiobench.compat.faithfulness_study.manifest import manifests_in, name_of, rows, sample_of
from pytest_audiobench.compat.faithfulness_study.question_join import manifests_beside
from pytest_audiobench.compat.faithfulness_study.replay import CRASH, CRASHES, FIELDS, texts_of
from pytest_audiobench.compat.faithfulness_study.replay import files_of_answers as files_of_answers
from pytest_audiobench.compat.faithfulness_study.variants import folder_of, variant_of
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.replay.recorded_run import records
from pytest_audiobench.rescoring.recorded_answers import RecordedRow, clip_named

LAYOUT = "the faithfulness study's rows (id and " + " or ".join(FIELDS) + ")"


def fits(row: Mapping[str, Any]) -> bool:
    """Whether ``row`` is a row of the study's answers."""
    return "id" in row and any(field in row for field in FIELDS)


def read(file: Path, manifests: Path | None = None, crashes: str = CRASHES[0]) -> Iterator[RecordedRow]:
    """The answers of one file, epoch by epoch: as many epochs as every row has texts.

    A row that says that the asking crashed, or holds null, is a sample whose asking failed, or with
    ``crashes="unanswered"`` an empty answer, as the study counts it. Raises UsageError for a row whose question is in
    no manifest.
    """
    samples = _asked_samples(manifests or manifests_beside(file.parent))
    datasets = frozenset(sample.dataset for sample in samples.values())
    folder = folder_of(file, datasets)
    variant = variant_of(file.resolve(), folder, datasets)
    answers = [(line, row, texts_of(file, line, row)) for line, row in records(file)]
    _check_once(file, answers)
    epochs = min((len(texts) for _, _, texts in answers), default=0)
    most = max((len(texts) for _, _, texts in answers), default=0)
    note = f"some rows hold {most} answers; the first {epochs} of each are scored" if most > epochs else ""
    for epoch in range(epochs):
        for line, row, texts in answers:
            if (question := samples.get(str(row.get("id")))) is None:
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
                model=folder.name,
                stored={name: row[name] for name in ("predicted_letters", "accuracy", "is_correct") if name in row},
                family="multiple_choice",
                groups=question.groups,
                cluster="recording",
                note=note,
            )


def _check_once(file: Path, answers: Iterable[tuple[int, Mapping[str, Any], object]]) -> None:
    first: dict[str, int] = {}
    for line, row, _ in answers:
        if (before := first.setdefault(str(row.get("id")), line)) != line:
            raise UsageError(
                f"{file}, line {line}: {row.get('id')!r} is answered in line {before} already: "
                "rows of two runs lie in one file; take them apart"
            )


class _AskedSample(NamedTuple):
    dataset: str
    sample: Sample
    groups: tuple[str, ...]


def _asked_samples(folder: Path) -> dict[str, _AskedSample]:
    samples: dict[str, _AskedSample] = {}
    for file in manifests_in(folder):
        for row in rows(file):
            sample = sample_of(row, clip_named(row.question.recording))
            samples[sample.id] = _AskedSample(name_of(file), sample, ("hop",) if "hop" in sample.metadata else ())
    if not samples:
        raise UsageError(f"{folder} holds no manifests (*.jsonl)")
    return samples
