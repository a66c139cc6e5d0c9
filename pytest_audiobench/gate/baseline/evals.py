"""One eval of a baseline read back: its scorers, their values, and a line for each sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable import ComparableEval, ComparableSample
from pytest_audiobench.evaluation.scoring import SHARES, STATUSES
from pytest_audiobench.gate.baseline.contents import COMMON, LONGEST_TEXT, Figure
from pytest_audiobench.gate.baseline.fields import Fields, Wrong, count, items, number, shown, text, texts
from pytest_audiobench.metrics.metric import MetricKind, Statistics
from pytest_audiobench.metrics.registry import is_known, metric_kind

_EVAL = (
    *("eval", "suite", "dataset", "protocol", "epochs", "limited", "cluster", "hashes"),
    *("scorers", "groups", "prompt", "samples"),
)
_READING = ("name", "signature", "statistics", "metrics")
_COLUMNS = ("id", "epoch", "scores", "audio", "prompt", "cluster", "groups", "truth")
_UNCOMMON = ("statuses", "failures", "text")
_ERROR = "error"


class Whose(NamedTuple):
    """What all sides of one baseline share."""

    source: str
    model: str
    spec: str
    noise: Mapping[str, Any] | None


class _Scorer(NamedTuple):
    """``statistics`` are the names that all samples share, None where each has its own; ``scores`` names the place."""

    name: str
    signature: str
    statistics: list[str] | None
    figures: list[Figure]
    scores: str


class _Shared(NamedTuple):
    """What the lines of one eval's samples refer to."""

    scorers: Sequence[_Scorer]
    groups: Mapping[str, Mapping[str, str]]
    prompt: str | None
    epochs: int


def side_of(value: object, place: str, whose: Whose) -> tuple[ComparableEval, dict[str, Sequence[Figure]]]:
    """The side and the figures by scorer that ``value`` holds; ``place`` names it until its own name is known."""
    head = Fields(value, place, _EVAL)
    head.place = place = f"eval {shown(head.text('eval'))}"
    scorers = [_reading(one, place) for one in head.items("scorers")]
    names = [one.name for one in scorers]
    if not names or len(set(names)) < len(names):
        raise Wrong(f"{place}, scorers", "must name at least one, and each once")
    if not isinstance(head["groups"], dict):
        raise Wrong(head.at("groups"), f"must be an object, not {shown(head['groups'])}")
    groups = {key: texts(one, f"{place}, groups, {shown(key)}") for key, one in head["groups"].items()}
    epochs = head.count("epochs", 1)
    shared = _Shared(scorers, groups, head.text_or_null("prompt"), epochs)
    rows = list(_rows(head.items("samples"), place, shared))
    _check_once(rows, place)
    figures = {one.name: one.figures for one in scorers if one.figures}
    side = ComparableEval(
        **whose._asdict(),
        eval=head.text("eval"),
        suite=head.text("suite"),
        dataset=head.text("dataset"),
        protocol=head.text("protocol"),
        epochs=epochs,
        limited=head.flag("limited"),
        cluster=head.text_or_null("cluster"),
        scorers={one.name: one.signature for one in scorers},
        metrics={name: [one.name for one in own] for name, own in figures.items()},
        hashes=head.texts("hashes"),
        rows=rows,
    )
    for one in scorers:
        _check_statistics(one, rows, place)
    return side, dict(figures)


def _reading(value: object, place: str) -> _Scorer:
    head = Fields(value, f"{place}, a scorer", _READING)
    place = head.place = f"{place}, scorer {shown(head.text('name'))}"
    listed = None if head["statistics"] is None else head.items("statistics")
    names = None if listed is None else [text(one, head.at("statistics")) for one in listed]
    if names is not None and len(set(names)) < len(names):
        raise Wrong(head.at("statistics"), "must name each once")
    figures = [_figure(one, place) for one in head.items("metrics")]
    if len({one.name for one in figures}) < len(figures):
        raise Wrong(head.at("metrics"), "must name each once")
    return _Scorer(head.text("name"), head.text("signature"), names, figures, f"scores by {shown(head['name'])}")


def _figure(value: object, place: str) -> Figure:
    head = Fields(value, f"{place}, a metric", Figure._fields)
    head.place = f"{place}, metric {shown(head.text('name'))}"
    direction = head["direction"]
    if direction not in ("higher", "lower"):
        raise Wrong(head.at("direction"), f'must be "higher" or "lower", not {shown(direction)}')
    return Figure(
        head.text("name"),
        head.number_or_null("value"),
        head.number_or_null("lower"),
        head.number_or_null("upper"),
        head.count("n"),
        head.text("unit"),
        direction,
    )


def _rows(lines: Sequence[object], place: str, shared: _Shared) -> Iterator[ComparableSample]:
    for at, line in enumerate(lines, 1):
        try:
            yield _row(line, shared)
        except Wrong as error:
            known = isinstance(line, list) and line and isinstance(line[0], str)
            which = f"sample {shown(line[0])}" if known else f"sample number {at}"  # type: ignore[index]
            raise Wrong(f"{place}, {which},", str(error)) from None


def _row(value: object, shared: _Shared) -> ComparableSample:
    line = items(value, "its line")
    if not len(_COLUMNS) <= len(line) <= len(_COLUMNS) + 1:
        columns = f"{len(_COLUMNS)} entries ({', '.join(_COLUMNS)})"
        raise Wrong("its line", f"must have {columns} and perhaps an object, not {len(line)}")
    sample_id, epoch, scores, audio, prompt, cluster, key, truth = line[: len(_COLUMNS)]
    if count(epoch, "epoch") >= shared.epochs:
        raise Wrong("epoch", f"must be below the eval's {shared.epochs} epochs, not {epoch}")
    if prompt == COMMON and shared.prompt is None:
        raise Wrong("prompt", "is the eval's, which has none")
    if key is not None and (not isinstance(key, str) or key not in shared.groups):
        raise Wrong("groups", f"must be null or a key of the eval's groups, not {shown(key)}")
    if len(items(scores, "scores")) != len(shared.scorers):
        raise Wrong("scores", f"must have an entry for each of the {len(shared.scorers)} scorers")
    uncommon = _uncommon(line[len(_COLUMNS) :], len(shared.scorers))
    found = {one.name: _scores(own, one) for one, own in zip(shared.scorers, scores, strict=True)}
    statuses = {one.name: own for one, own in zip(shared.scorers, uncommon.statuses, strict=True)}
    for name, status in statuses.items():
        if status == _ERROR and found[name] is not None:
            raise Wrong("scores", "must be null where the status is error")
    return ComparableSample(
        sample_id=text(sample_id, "id"),
        epoch=epoch,
        audio=_text_or_null(audio, "audio"),
        prompt=shared.prompt if prompt == COMMON else _text_or_null(prompt, "prompt"),
        cluster=_text_or_null(cluster, "cluster"),
        groups={} if key is None else shared.groups[key],
        statuses=statuses,
        scores=found,
        failures=uncommon.failures,
        text=uncommon.text,
        truth=_text_or_null(truth, "truth"),
    )


class _Uncommon(NamedTuple):
    statuses: Sequence[str]
    failures: tuple[str, ...]
    text: str | None


def _uncommon(rest: Sequence[object], scorers: int) -> _Uncommon:
    """What a line says behind its columns: what most samples do not have."""
    if not rest:
        return _Uncommon(["parsed"] * scorers, (), None)
    value = rest[0]
    head = Fields(
        {**dict.fromkeys(_UNCOMMON), **value} if isinstance(value, dict) else value, "its last entry", _UNCOMMON
    )
    statuses = ["parsed"] * scorers if head["statuses"] is None else head.items("statuses")
    for one in statuses:
        if one not in (*STATUSES, _ERROR):
            raise Wrong(head.at("statuses"), f"must be of {', '.join(STATUSES)} and error, not {shown(one)}")
    if len(statuses) != scorers:
        raise Wrong(head.at("statuses"), f"must be {scorers}, one for each scorer")
    failures = [] if head["failures"] is None else head.items("failures")
    said = None if head["text"] is None else text(head["text"], head.at("text"), LONGEST_TEXT)
    return _Uncommon(statuses, tuple(text(one, head.at("failures")) for one in failures), said)


def _scores(value: object, scorer: _Scorer) -> Statistics | None:
    if value is None:
        return None
    place = scorer.scores
    if scorer.statistics is None:
        if not isinstance(value, dict):
            raise Wrong(place, f"must be an object, since the scorer's statistics are null, not {shown(value)}")
        return {text(name, place): number(one, place) for name, one in value.items()}
    if len(items(value, place)) != len(scorer.statistics):
        raise Wrong(place, f"must be {len(scorer.statistics)} numbers ({', '.join(scorer.statistics)[:200]})")
    return {name: number(one, place) for name, one in zip(scorer.statistics, items(value, place), strict=True)}


def _check_once(rows: Sequence[ComparableSample], place: str) -> None:
    found = set()
    for row in rows:
        if row.identity in found:
            raise Wrong(f"{place}, sample {shown(row.sample_id)}", f"is there twice (epoch {row.epoch})")
        found.add(row.identity)


def _check_statistics(scorer: _Scorer, rows: Sequence[ComparableSample], place: str) -> None:
    """Refuse samples that lack what a metric of the scorer is made of, as far as this process knows the metric."""
    for figure in scorer.figures:
        if figure.name in SHARES or not is_known(figure.name):
            continue
        kind = metric_kind(figure.name)
        for row in rows:
            scores = row.scores[scorer.name]
            if scores is None:
                continue
            if missing := _missing(kind, scores):
                raise Wrong(
                    f"{place}, sample {shown(row.sample_id)}",
                    f"has no {shown(missing)}, of which {figure.name} by {shown(scorer.name)} is made",
                )
            if scorer.statistics is not None or not (kind.parts or kind.summed):
                break


class _Probe(dict[str, float]):
    """A sample's statistics that remember what was asked of them and is not there."""

    missing: str | None = None

    def __missing__(self, name: str) -> float:
        self.missing = self.missing or name
        return 1.0


def _missing(kind: MetricKind, scores: Statistics) -> str | None:
    """A statistic that ``kind`` takes of a sample and ``scores`` lacks."""
    probe = _Probe(scores)
    # Whether the numbers make a value is for a comparison to say; here they need only be there.
    with suppress(ArithmeticError, LookupError, ValueError, UsageError):
        for of_one in (kind.parts, kind.sample_score):
            if of_one is not None:
                of_one(probe)
        of_all = kind.summed or kind.whole
        if of_all is not None:
            of_all([probe])
        elif kind.parts is None:
            kind.estimate([probe], None)
    return probe.missing


def _text_or_null(value: object, place: str) -> str | None:
    return None if value is None else text(value, place)
