"""What people said about answers, read from a file, and compared with what judges say about them."""

from __future__ import annotations

import csv
import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.datasets.table_rows import jsonl_rows, texts
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.scoring import ScoredSample
from pytest_audiobench.io.mistakes import Mistakes
from pytest_audiobench.metrics.definitions.human_labels import (
    ALPHA,
    CORRECTED,
    CORRELATED,
    KAPPA,
    METRICS,
    RANDOM,
    SEPARATE,
    UNSTATED,
)
from pytest_audiobench.metrics.value import interval_text, value_text
from pytest_audiobench.protocols.judged.people import (
    AGAINST,
    SIGNATURE,
    PeoplesVerdict,
    against_people,
    measures_points,
)
from pytest_audiobench.protocols.protocol import Protocol, Scorer
from pytest_audiobench.records.run import MetricRecord

FORM = "FILE[,chosen=random|separate][,scale=LOW-HIGH]"
_CHOSEN = {"": UNSTATED, "random": RANDOM, "separate": SEPARATE}
_FIELDS = ("eval", "model", "annotator", "answer")
_ID = ("id", "sample_id")
_YES, _NO = frozenset({"yes", "true", "right", "correct"}), frozenset({"no", "false", "wrong", "incorrect"})
_NAMED = 3
_EVA_RATINGS = (1.0, 3.0)
_SCALE = "scale of this layout"


class HumanLabel(NamedTuple):
    """What one person said about one answer."""

    id: str
    value: float
    """From 0 to 1: the label over the upper end of its scale, as judges' ratings are made points."""
    eval: str
    """An eval or a suite; "" for whichever has the id."""
    model: str
    annotator: str
    answer: str
    """The text that was labelled, where the file says it."""


@dataclass(frozen=True)
class HumanLabels:
    """The labels of one file."""

    file: str
    digest: str
    """SHA-256 of the file."""
    chosen: str
    """How the labelled answers were chosen: "random" among those that are judged, "separate", or not said."""
    scale: tuple[float, float]
    labels: Sequence[HumanLabel]

    def of(self, names: Collection[str], model: str, ids: Collection[str] | None = None) -> EvalLabels | None:
        """Those of an eval by ``names`` (its own, its suite's) and of a model; None where there is none, and where
        ``ids`` are known and none of them has one.
        """
        by_id: dict[str, list[HumanLabel]] = {}
        for label in self.labels:
            if label.eval in ("", *names) and label.model in ("", model):
                by_id.setdefault(label.id, []).append(label)
        there = by_id.keys() if ids is None else by_id.keys() & ids
        return EvalLabels(self, by_id) if there else None


@dataclass(frozen=True)
class EvalLabels:
    """The labels of one eval by one model."""

    whole: HumanLabels
    by_id: Mapping[str, Sequence[HumanLabel]]
    outdated: set[str] = field(default_factory=set)
    """Ids of labels that are of other answers than were given."""
    tied: set[str] = field(default_factory=set)

    def label_of(self, sample_id: str, text: str) -> PeoplesVerdict | None:
        """The mean of an answer's labels; of yes and no the majority. None without a label of that text."""
        given = self.by_id.get(sample_id, ())
        labels = [label.value for label in given if not label.answer or label.answer.strip() == text.strip()]
        if len(labels) < len(given):
            self.outdated.add(sample_id)
        if not labels:
            return None
        mean = math.fsum(labels) / len(labels)
        several = labels if len(labels) > 1 else ()
        if self.whole.scale != (0.0, 1.0) or not set(labels) <= {0.0, 1.0}:
            return PeoplesVerdict(mean, several)
        if mean == 0.5:
            self.tied.add(sample_id)
            return PeoplesVerdict(None, several)
        return PeoplesVerdict(float(mean > 0.5), several)

    def beside(self, protocol: Protocol) -> Protocol:
        """``protocol`` with a scorer that compares with people for the first scorer of each of its judges."""
        first: dict[str, Scorer] = {}
        for scorer in protocol.scorers:
            if measures_points(scorer):
                first.setdefault(scorer.judge, scorer)
        low, high = self.whole.scale
        chosen = self.whole.chosen
        about = f"chosen:{chosen or 'unstated'}|scale:{low:g}-{high:g}|labels:{self.whole.digest}"
        answer = protocol.answering.name
        metrics = self._metrics()
        added = [
            against_people(each, answer, self.label_of, _CHOSEN[chosen], about, metrics) for each in first.values()
        ]
        return replace(protocol, scorers=(*protocol.scorers, *added))

    def _metrics(self) -> tuple[str, ...]:
        given = self.by_id.values()
        omitted = {
            CORRELATED: len({label.value for labels in given for label in labels}) <= 2,
            ALPHA: all(len(labels) < 2 for labels in given),
        }
        return tuple(name for name in METRICS if not omitted.get(name))

    def notes(
        self, metrics: Sequence[MetricRecord], rows: Mapping[str, Sequence[ScoredSample]], scorers: Sequence[Scorer]
    ) -> Iterator[str]:
        """What became of the labels, and what they say of each judge, in sentences."""
        file = self.whole.file
        taken = {row.answers.sample_id for each in rows.values() for row in each}
        unknown = [sample_id for sample_id in self.by_id if sample_id not in taken]
        for ids, what in (
            (unknown, f"labels of {file} of ids that this eval has not, or did not take"),
            (sorted(self.outdated), f"labels of {file} of other answers than were given, left out"),
            (sorted(self.tied), f"answers labelled right by as many as wrong in {file}, left out"),
        ):
            if ids:
                more = ", …" if len(ids) > _NAMED else ""
                yield f"{what} ({len(ids)}): {', '.join(ids[:_NAMED])}{more}"
        for scorer in scorers:
            if not scorer.signature.startswith(SIGNATURE):
                continue
            if unread := sum(row.scores is None and row.answers.sample_id in self.by_id for row in rows[scorer.name]):
                yield f"labelled answers without a readable verdict of {scorer.judge}, left out: {unread}"
            yield from _summary(scorer, metrics)


def is_by_people(signature: str) -> bool:
    """Whether a scorer's signature is of one that compares a judge with human labels."""
    return signature.startswith(SIGNATURE)


def _summary(scorer: Scorer, metrics: Sequence[MetricRecord]) -> Iterator[str]:
    own = {metric.name: metric for metric in metrics if metric.scorer == scorer.name and not metric.group}
    corrected, kappa = own[CORRECTED], own[KAPPA]
    judge = scorer.name.removesuffix(AGAINST)
    figures = [
        f"{each.name} {value_text(each.value)} {interval_text(each.lower, each.upper)}".rstrip()
        if each.value is not None
        else f"{each.name} {each.method}"
        for each in (corrected, kappa)
    ]
    raw = next((metric for metric in metrics if metric.scorer == judge and not metric.group), None)
    score = f"{judge}: judge score {value_text(raw.value)}" if raw is not None else judge
    yield f"{score}, corrected by {kappa.n} human labels: {'; '.join(figures)}"


def read_human_labels(written: str, folder: Path = Path()) -> HumanLabels:
    """The labels of ``FILE[,chosen=random|separate][,scale=LOW-HIGH]``, relative to ``folder``.

    Raises UsageError, with all mistakes of the file, for labels without an id, outside the scale, or given twice.
    """
    name, *options = (part.strip() for part in written.split(","))
    chosen, scale = "", None
    for option in options:
        key, _, given = option.partition("=")
        if key == "chosen" and given in _CHOSEN and given:
            chosen = given
        elif key == "scale":
            scale = _scale(given)
        else:
            raise UsageError(f"human labels are {FORM}, which {option[:80]!r} is not part of")
    path = folder / Path(name).expanduser()
    rows = list(_rows(path))
    scale = scale or next((row[_SCALE] for _, row in rows if _SCALE in row), (0.0, 1.0))
    mistakes, labels, seen = Mistakes(), list[HumanLabel](), Counter[tuple[str, ...]]()
    for line, row in rows:
        place = f"{path}, line {line}"
        sample_id = next((row[key] for key in _ID if row.get(key) not in (None, "")), None)
        if sample_id is None or isinstance(sample_id, (dict, list)):
            mistakes.add(f"{place} has no id of a sample: give it one in the field 'id'")
            continue
        value = mistakes.attempt(0.0, _value, row.get("label"), scale, place)
        eval_, model, annotator, answer = (str(row.get(key) or "") for key in _FIELDS)
        label = HumanLabel(str(sample_id), value, eval_, model, annotator, answer)
        about = (label.id, label.eval, label.model, label.annotator)
        seen[about] += 1
        if seen[about] == 2:
            who = f" by {label.annotator!r}" if label.annotator else ""
            mistakes.add(f"{place} labels {label.id!r}{who} again: name who labelled it in the field 'annotator'")
        labels.append(label)
    mistakes.check()
    if not labels:
        raise UsageError(f"{path} holds no label; write one a line with the fields id and label")
    return HumanLabels(path.name, hashlib.sha256(path.read_bytes()).hexdigest(), chosen, scale, labels)


def _scale(text: str) -> tuple[float, float]:
    low, _, high = text.partition("-")
    try:
        ends = float(low), float(high)
    except ValueError:
        ends = math.nan, math.nan
    if not 0.0 <= ends[0] < ends[1] < math.inf:
        raise UsageError(f"the scale of human labels is LOW-HIGH from 0 up, as 0-5, not {text[:80]!r}")
    return ends


def _value(label: object, scale: tuple[float, float], place: str) -> float:
    low, high = scale
    text = str(label).strip().lower() if label is not None else ""
    if scale == (0.0, 1.0) and text in _YES | _NO:
        return float(text in _YES)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        words = ", or yes or no" if scale == (0.0, 1.0) else ""
        what = "has no label" if not text else f"has the label {text[:80]!r}, which is outside the scale"
        raise UsageError(f"{place} {what}: write a number from {low:g} to {high:g}{words}, or state the scale")
    return value / high


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if path.suffix.lower() in (".csv", ".tsv"):
        lines = texts(path)
        reader = csv.DictReader((text for _, text in lines), dialect="excel-tab" if path.suffix == ".tsv" else "excel")
        header = [str(name).strip() for name in reader.fieldnames or ()]
        if "label" not in header or not set(_ID) & set(header):
            raise UsageError(f"{path} has the columns {', '.join(header[:10])}: name two of them id and label")
        reader.fieldnames = header
        yield from ((reader.line_num, row) for row in reader)
        return
    for number, row in jsonl_rows(path):
        yield from ((number, label) for label in _labels_of(row, number))


def _labels_of(row: Mapping[str, Any], number: int) -> Iterable[Mapping[str, Any]]:
    """The labels of a row: itself, or those in a row of the sets that EVA (github ServiceNow/eva) publishes.

    Of its ratings of turns the id is CONVERSATION/POSITION, of its entities ROW/TURN/NUMBER, with rows from 1 and
    numbers from 0.
    """
    if isinstance(turns := row.get("conv_turns"), list):
        return [
            {
                "id": f"{row.get('conversation_id', row.get('id'))}/{turn.get('position')}",
                "label": turn["expected_rating"],
                "answer": turn.get("content"),
                _SCALE: _EVA_RATINGS,
            }
            for turn in turns
            if isinstance(turn, dict) and turn.get("expected_rating") is not None
        ]
    if isinstance(turns := row.get("labels"), list) and "transcription" in row:
        return [
            {"id": f"{number}/{turn.get('turn_id')}/{place}", "label": entity.get("correct")}
            for turn in turns
            if isinstance(turn, dict)
            for place, entity in enumerate(turn.get("entities") or ())
            if isinstance(entity, dict)
        ]
    return [row]
