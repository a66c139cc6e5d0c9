"""Recorded answers given to judges while they are scored again: what a judge said is next to each answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.judging import check_judge, judging_stage
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.requests import Requester
from pytest_audiobench.models.messages import Ask, Request, Response
from pytest_audiobench.models.model import Hearing, Limits
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.spec import parse_spec
from pytest_audiobench.protocols.judged.default_judgings import extract_judging, rubric_judging, yes_no_judging
from pytest_audiobench.protocols.judged.extractions import extraction
from pytest_audiobench.protocols.judged.task import shipped
from pytest_audiobench.protocols.protocol import Judging
from pytest_audiobench.rescoring.recorded_answers import RECORDED_JUDGE, RecordedRow, verdict_stage
from pytest_audiobench.rescoring.recorded_rows import sample_answers

_CHUNK = 256


@dataclass
class Judge:
    """A judge and what it is asked: ``judging`` names that, ``scorers`` those of its verdicts."""

    handle: ModelHandle
    judging: str
    scorers: tuple[str, ...]
    _verdicts: dict[str, Response] = field(default_factory=dict)
    asked: int = 0
    """Of how many answers it was to say something."""
    failures: list[str] = field(default_factory=list)
    """Why a verdict could not be had, for each that could not."""
    unread: int = 0

    @property
    def stage(self) -> str:
        """The name under which its verdicts are next to an answer."""
        return f"{self.judging}@{self.handle.alias}"

    def scorers_for(self, row: RecordedRow) -> tuple[str, ...]:
        """Those of its scorers that read such a row: what is extracted of lists and sentences is in files alone."""
        return self.scorers if self.judging != "extract" or task_kind(row) == "classification" else ()

    def judging_for(self, row: RecordedRow) -> Judging:
        """What it is asked of one row: an extractor is asked by the kind of task."""
        if self.judging == "extract":
            # One label would be the answer.
            kind = task_kind(row) if len(set(row.sample.choices)) > 1 else "open_ended"
            return extract_judging() if kind in ("", "classification") else extraction(kind)
        return rubric_judging(rubric_for(row)) if self.judging == "rubric" else yes_no_judging()

    def shortfalls(self) -> list[str]:
        """Sentences on the verdicts that could not be had and on those that are none."""
        name, of_all = self.handle.alias, f"of {self.asked} verdicts of"
        lost = [f"{len(self.failures)} {of_all} {name} could not be had: {why}" for why in self.failures[:1]]
        return lost + [f"{self.unread} {of_all} {name} could not be read"] * bool(self.unread)

    def verdicts(self, rows: Sequence[RecordedRow]) -> list[Response]:
        """What it says of the answers of ``rows``; nothing is asked twice."""
        requests = [self._request(row) for row in rows]
        new = list({request.key: request for request in requests if request.key not in self._verdicts}.values())
        # As many as a server is asked at once: the last requests of fewer would leave its turns unused.
        most = self.handle.limits.max_batch * self.handle.in_flight
        for start in range(0, len(new), most):
            batch = new[start : start + most]
            responses = self.handle.ready().ask([Ask(request, ()) for request in batch])
            self._verdicts.update(zip((request.key for request in batch), responses, strict=True))
        verdicts = [self._verdicts[request.key] for request in requests]
        for row, verdict in zip(rows, verdicts, strict=True):
            self._count(row, verdict)
        return verdicts

    def _count(self, row: RecordedRow, verdict: Response) -> None:
        judging = self.judging_for(row)
        self.asked += 1
        if verdict.error is not None:
            self.failures.append(verdict.error)
        elif judging.scorers[0].parse(row.sample, {**row.responses, judging.name: verdict}).status != "parsed":
            self.unread += 1

    def _request(self, row: RecordedRow) -> Request:
        stage = judging_stage(self.judging_for(row), self.handle.alias, next(reversed([*row.responses])))
        return Requester(self.handle, stage, row.dataset, row.epoch).request(
            sample_answers(row).selected, row.responses
        )


def judges_of(judge: str, extractor: str) -> tuple[Judge, ...]:
    """The judges behind ``judge`` and ``extractor``, each a server's URL or a model's spec; nothing for "".

    A URL is asked by predictions_v1, with or without its ``/predict``; one ending with ``/judge`` scores by a rubric.
    Raises UsageError for what cannot judge.
    """
    written = (("judge", judge, "yes-no"), ("extractor", extractor, "extract"))
    return tuple(_judge(alias, spec, judging) for alias, spec, judging in written if spec)


def _judge(alias: str, written: str, judging: str) -> Judge:
    model = make(parse_spec(f"{alias}={written}"))
    if hasattr(model, "hearing") and not isinstance(getattr(type(model), "hearing", None), property):
        model.hearing = Hearing("unproven", "a judge is played nothing")
    if why := getattr(model, "missing_parts", str)():
        raise UsageError(why)
    if known := getattr(model, "judgings", ()):
        if judging == "extract":
            raise UsageError(f"{written} scores by a rubric and extracts nothing: name a server of predictions_v1")
        judging = known[0]
    else:
        # Of two judges each is asked its own question alone.
        vars(model)["judgings"] = (judging,)
    handle = ModelHandle(alias, model)
    check_judge(handle)
    return Judge(handle, judging, ("yes-no", "beans-yes-no") if judging == "yes-no" else (judging,))


def rubric_for(row: RecordedRow) -> str:
    """The name of the rubric that fits what was asked."""
    return "counts" if row.family.partition(",")[0] == "bioacoustic_counts" else "facts"


def task_kind(row: RecordedRow) -> str:
    """The kind of a bioacoustic task as BEANS-Next calls it, "" for another family.

    Numbers and lists of species are classifications there.
    """
    family, *options = row.family.split(",")
    named = [option.removeprefix("task=") for option in options if option.startswith("task=")]
    if family.partition("_")[0] != "bioacoustic":
        return ""
    kind = family.partition("_")[2] or str(row.options.get("task") or (named[0] if named else "classification"))
    return "classification" if kind in ("number", "list", "counts") else kind


def with_verdicts(rows: Iterator[RecordedRow], judges: Sequence[Judge]) -> Iterator[RecordedRow]:
    """``rows`` with what the judges say of each answer; an extractor's samples have the task's labels as choices."""
    while chunk := list(islice(rows, _CHUNK)):
        if any(judge.judging == "extract" for judge in judges):
            chunk = [replace(row, sample=_offered(row.sample, _labels_of(row))) for row in chunk]
        said: list[dict[str, Response]] = [{} for _ in chunk]
        asked = [number for number, row in enumerate(chunk) if row.error is None and row.responses]
        for judge in judges:
            for number, verdict in zip(asked, judge.verdicts([chunk[number] for number in asked]), strict=True):
                said[number][judge.stage] = verdict
        for row, verdicts in zip(chunk, said, strict=True):
            yield replace(row, verdicts={**row.verdicts, **verdicts})


def _labels_of(row: RecordedRow) -> Sequence[str]:
    """The task's labels: its list, else all that its targets name."""
    labels = row.options.get("labels") or row.stored.get("labels_of_targets") or ()
    return labels if isinstance(labels, (list, tuple)) else ()


def _offered(sample: Sample, labels: Sequence[str]) -> Sample:
    return sample if sample.choices or not labels else replace(sample, choices=tuple(labels))


def recorded_judges(row: RecordedRow, wanted: Sequence[str] = ()) -> tuple[Judge, ...]:
    """The judge whose verdicts are next to ``row`` and its like, with the ``wanted`` of its scorers, or all."""
    of_stages = {verdict_stage(judging.name): judging for judging in shipped()}
    return tuple(
        Judge(
            ModelHandle(RECORDED_JUDGE, _RecordedJudge(judging.name, row.dataset.partition("/")[0])),
            judging.name,
            tuple(name for name in names if name in wanted) or names,
        )
        for stage, judging in of_stages.items()
        if stage in row.verdicts
        for names in [tuple(scorer.name for scorer in judging.scorers if not scorer.further_judges)]
    )


class _RecordedJudge:
    """A judge that is known by what it said alone, and is never asked."""

    batching: Literal["planned", "opaque"] = "opaque"
    limits = Limits()
    listens = False
    device = ""

    def __init__(self, judging: str, tool: str) -> None:
        self.spec = f"recorded:{tool}"
        self.judgings = (judging,)

    def fingerprint(self) -> Mapping[str, str]:
        return {"adapter": "recorded/1", "judge": self.spec}

    def load(self) -> None:
        """Nothing is loaded."""

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        return [Response(error="what this judge said is in the file") for _ in batch]

    def close(self) -> None:
        """Nothing was loaded."""
