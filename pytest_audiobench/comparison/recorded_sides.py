"""Answers that other tools recorded, as the sides of a comparison.

Compared with other answers, or alone, they are scored as their file says (:func:`rescored_run`). Compared with an
eval they are read as that eval reads its own: by its samples, its references and its scorers (:class:`RecordedSides`).
"""

from __future__ import annotations

import atexit
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from msgspec import structs

from pytest_audiobench.audio.clip import FileSource
from pytest_audiobench.datasets.sample import Sample, tidy_caseless
from pytest_audiobench.errors import NotComparable, UsageError
from pytest_audiobench.evaluation.answer_collection import SampleAnswers
from pytest_audiobench.evaluation.comparable_eval import ComparableEval, comparable_rows
from pytest_audiobench.evaluation.comparable_samples import in_columns
from pytest_audiobench.evaluation.scoring import scored_rows
from pytest_audiobench.evaluation.selection import Selection, clusters
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.run_reader import Run, load_run
from pytest_audiobench.rescoring import own_run
from pytest_audiobench.rescoring.layouts import Source
from pytest_audiobench.rescoring.output import write_rescored_run
from pytest_audiobench.rescoring.recorded_answers import RecordedRow
from pytest_audiobench.rescoring.rescore import ScoringOptions

_SHOWN = 60
"""Characters of a reference that a message quotes."""


def rescored_run(source: Source, name: str) -> Run:
    """The answers of ``source`` scored into the files of a run called ``name``, which last as long as this process.

    Raises UsageError where nothing can be scored.
    """
    place = Path(tempfile.mkdtemp(prefix="audiobench-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    folder = place / (Path(name).name or "answers")
    write_rescored_run(folder, source, ScoringOptions(), ["audiobench"], page=False)
    run = load_run(folder)
    return replace(run, record=structs.replace(run.record, run=name))


def in_place_of(run: Run, source: Source) -> Source:
    """The answers of ``source`` to what ``run`` asked: its samples and references, by its protocols and scorers.

    Of one eval in ``source`` the answers are to all evals of the run that have samples of their ids, of several to the
    evals of their names. Raises UsageError where no sample of the run is answered.
    """
    answers = Answers.of(source)
    file = run.folder / own_run.FILE
    asked = {row.model for row in own_run.read(file)}
    # All models were asked the same.
    first = next(iter(item.model for item in run.record.items if item.model in asked), "")
    samples: dict[str, list[Sample]] = {}
    for row in own_run.read(file):
        if row.model == first and row.epoch == 0:
            samples.setdefault(row.eval, []).append(row.sample)
    wrong = {
        (model, eval_): why
        for eval_, asked_of in samples.items()
        for model in answers.models
        if (why := answers.of_other_samples(model, eval_, asked_of))
    }

    def rows() -> Iterator[RecordedRow]:
        for model in answers.models:
            for row in own_run.read(file):
                is_asked = row.model == first and (model, row.eval) not in wrong
                response = answers.response(model, row.eval, row.sample.id, row.epoch) if is_asked else None
                if response is not None:
                    stage = [*row.responses, "answer"][-1] if row.responses else "answer"
                    yield replace(
                        row, model=model, responses={stage: response}, error=response.error, verdicts={}, rewritten={}
                    )

    if next(rows(), None) is None:
        if wrong:
            raise UsageError(f"{source.files[0]} answers other samples than {run.folder}: {next(iter(wrong.values()))}")
        raise UsageError(f"{source.files[0]} answers no sample of {run.folder}: its ids are others")
    items = [
        structs.replace(item, model=model)
        for item in run.record.items
        if item.model == first
        for model in answers.models
    ]
    return replace(source, layout="run", rows=rows, run=structs.replace(run.record, items=items, models=[]))


@dataclass(frozen=True)
class Answers:
    """Recorded answers by model, eval, sample and epoch."""

    rows: Mapping[str, Mapping[str, Mapping[tuple[str, int], RecordedRow]]]

    @classmethod
    def of(cls, source: Source) -> Answers:
        """All answers of ``source``. Raises UsageError for what cannot be read."""
        rows: dict[str, dict[str, dict[tuple[str, int], RecordedRow]]] = {}
        for row in source.rows():
            rows.setdefault(row.model, {}).setdefault(row.eval, {})[row.sample.id, row.epoch] = row
        return cls(rows)

    @property
    def models(self) -> Sequence[str]:
        return list(self.rows)

    def of_eval(self, model: str, eval_: str) -> Mapping[tuple[str, int], RecordedRow] | None:
        """The answers to ``eval_``: those of the only eval there is, or of the one that is called so."""
        evals = self.rows[model]
        if len(evals) == 1:
            return next(iter(evals.values()))
        names = (eval_, eval_.partition(":")[0], eval_.rpartition("/")[2])
        return next((evals[name] for name in names if name in evals), None)

    def response(self, model: str, eval_: str, sample_id: str, epoch: int) -> Response | None:
        """The answer to a sample; None where there is none."""
        row = (self.of_eval(model, eval_) or {}).get((sample_id, epoch))
        return None if row is None else _response(row)

    def of_other_samples(self, model: str, eval_: str, asked: Sequence[Sample]) -> str:
        """How the files show that ids of ``asked`` are others' in them, by a reference or a recording; else ""."""
        rows = self.of_eval(model, eval_) or {}
        both = [(sample, rows[sample.id, 0].sample) for sample in asked if (sample.id, 0) in rows]
        for what, marks in (("reference", _references), ("recording", _recordings)):
            # What no sample has is written otherwise, and says nothing.
            known = {mark for sample in asked for mark in marks(sample)}
            others = [
                (here.id, marks(there), marks(here))
                for here, there in both
                if known.intersection(marks(there)) and not set(marks(there)).intersection(marks(here))
            ]
            for id_, there, here in others[:1]:
                return (
                    f"{len(others)} of {len(both)} ids of {eval_} have another sample's {what}, such as {id_!r}: "
                    f"{there[0][:_SHOWN]!r} in the file, {here[0][:_SHOWN]!r} here; give its answers this data's ids"
                )
        return ""


def _response(row: RecordedRow) -> Response:
    return Response(error=row.error) if row.error is not None else [*row.responses.values()][-1]


def _references(sample: Sample) -> list[str]:
    return [plain for text in sample.truths if (plain := tidy_caseless(text))] or [""]


def _recordings(sample: Sample) -> list[str]:
    # A recorded name has its root before a colon.
    paths = [clip.source.path for clip in sample.clips if isinstance(clip.source, FileSource)]
    return [re.split(r"[/\\:]", path)[-1] for path in paths] or [""]


@dataclass(frozen=True)
class RecordedSides:
    """Recorded answers that an eval of this run is compared with."""

    source: Source
    name: str

    @cached_property
    def answers(self) -> Answers:
        return Answers.of(self.source)

    def covers(self, eval_: str, model: str) -> bool:
        """Whether there are answers to ``eval_``."""
        return self.answers.of_eval(model, eval_) is not None

    def side(self, here: ComparableEval, selection: Selection, protocol: Protocol, model: str) -> ComparableEval | None:
        """The answers by ``model`` to what ``here`` asks, scored as it will be; None where there are none.

        Raises NotComparable for an eval that asks in several stages, of which one text does not say all.
        """
        answers = self.answers.of_eval(model, here.eval)
        if answers is None:
            return None
        asked = [selected.sample for selected in selection.samples]
        if why := self.answers.of_other_samples(model, here.eval, asked):
            raise NotComparable(f"{self.name}: {why}")
        stages = [stage for stage in protocol.stages if stage.role == "subject"]
        if len(stages) != 1:
            raise NotComparable(
                f"{here.eval} asks in {len(stages)} stages, and {self.name} holds one text of each sample: compare it "
                "with a run"
            )
        protocol = replace(
            protocol,
            stages=tuple(stages),
            scorers=tuple(scorer for scorer in protocol.scorers if not scorer.judge),
            judgings=(),
        )
        epochs = 1 + max((epoch for _, epoch in answers), default=0)
        names = clusters(selection) or [selected.sample.id for selected in selection.samples]
        taken, of_clusters = list[SampleAnswers](), list[str]()
        for epoch in range(epochs):
            for selected, cluster in zip(selection.samples, names, strict=True):
                if (row := answers.get((selected.sample.id, epoch))) is None:
                    continue
                response = _response(row)
                said = {} if response.error is not None else {stages[0].name: response}
                taken.append(SampleAnswers(selected, epoch, said, {}, {}, response.error))
                of_clusters.append(cluster)
        record = ItemRecord(
            index=0,
            nodeid="",
            eval=here.eval,
            suite=here.suite,
            model=model,
            dataset=here.dataset,
            protocol=here.protocol,
            groups=list(selection.groups),
            cluster=here.cluster,
        )
        return replace(
            here,
            source=self.name,
            model=model,
            spec=f"recorded:{self.source.layout}",
            epochs=epochs,
            scorers={scorer.name: here.scorers[scorer.name] for scorer in protocol.scorers},
            metrics={scorer.name: scorer.metrics for scorer in protocol.scorers},
            rows=in_columns(comparable_rows(record, scored_rows(protocol, taken, of_clusters))),
        )
