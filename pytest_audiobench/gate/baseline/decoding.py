"""A baseline's bytes read back, trusting nothing: each problem is a sentence with the file, the place and a remedy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval, ComparableSample
from pytest_audiobench.evaluation.scoring import SHARES, STATUSES
from pytest_audiobench.evaluation.suites import HASHES
from pytest_audiobench.gate.baseline.contents import COMMON, LONGEST_TEXT, MOST_BYTES, SCHEMA, Contents, Figure
from pytest_audiobench.io.strict_json import (
    FieldError,
    Fields,
    FileKind,
    count,
    items,
    number,
    short_repr,
    strict_json,
    text,
    text_or_null,
    texts,
)
from pytest_audiobench.metrics.metric import MetricKind, Statistics
from pytest_audiobench.metrics.registry import is_known, metric_kind

_HEAD = ("schema", "version", "run", "finished", "hashes", "model", "limit", "epochs", "missing", "evals")
_MODEL = ("alias", "spec", "digest", "fingerprint", "noise")

_FILE = FileKind(
    "baseline",
    "audiobench baseline update RUN",
    "put it back from git, or write it anew with audiobench baseline update RUN",
)


def read_bounded(path: Path) -> bytes:
    """The bytes of a baseline's file. Raises UsageError where it cannot be read or is larger than a baseline may be."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): name a baseline's file that can be") from None
    if len(content) > MOST_BYTES:
        raise UsageError(f"{path} holds more than {MOST_BYTES / 1e6:.0f} MB, which no baseline does: correct the path")
    return content


def decode_baseline(content: bytes, name: str) -> Contents:
    """The baseline whose file, called ``name`` in messages, holds ``content``. Raises UsageError for any other."""
    value = strict_json(content, name, _FILE)
    _check_schema(value, name)
    try:
        return _contents(value, name)
    except FieldError as error:
        raise UsageError(f"{name}: {error}: {_FILE.remedy}") from None


def _check_schema(value: object, name: str) -> None:
    if (schema := value.get("schema") if isinstance(value, dict) else None) == SCHEMA:
        return
    kind = schema.rpartition("/")[0] if isinstance(schema, str) else ""
    if kind == "audiobench.run":
        raise UsageError(
            f"{name} is a run's record, not a baseline: give the run's whole folder, or write a baseline of it "
            "(audiobench baseline update FOLDER)"
        )
    if kind == "audiobench.submission":
        raise UsageError(
            f"{name} is a submission, which holds a baseline as text: write its payload.evidence into a file, and name "
            "that"
        )
    if kind == SCHEMA.rpartition("/")[0]:
        raise UsageError(
            f"{name} has the schema {short_repr(schema)} and this version reads {SCHEMA!r}: update pytest-audiobench, "
            "or write the baseline anew with this version (audiobench baseline update RUN)"
        )
    raise UsageError(
        f"{name} is no baseline: it has {'no schema' if schema is None else f'the schema {short_repr(schema)}'} where "
        f"{SCHEMA!r} is expected; write one with audiobench baseline update RUN"
    )


def _contents(value: object, source: str) -> Contents:
    head = Fields(value, "the baseline", _HEAD)
    model = Fields(head["model"], "model", _MODEL)
    alias, spec = model.text("alias"), model.text("spec")
    noise = _noise(model["noise"])
    hashes = Fields(head["hashes"], "hashes", HASHES)
    sides: dict[str, ComparableEval] = {}
    figures: dict[str, Mapping[str, Sequence[Figure]]] = {}
    common = {"source": source, "model": alias, "spec": spec, "noise": noise}
    for index, entry in enumerate(head.items("evals"), 1):
        side, eval_figures = _comparable_eval(entry, f"eval number {index}", common)
        if side.eval in sides:
            raise FieldError(f"eval {short_repr(side.eval)}", "is there twice")
        sides[side.eval], figures[side.eval] = side, eval_figures
    return Contents(
        version=head.text("version"),
        run=head.text("run"),
        finished=head.text("finished"),
        hashes={name: hashes.text_or_null(name) for name in HASHES},
        alias=alias,
        spec=spec,
        digest=model.text("digest"),
        fingerprint=model.texts("fingerprint"),
        noise=noise,
        limit=None if head["limit"] is None else head.count("limit", 1),
        epochs=head.count("epochs", 1),
        sides=sides,
        figures=figures,
        missing=tuple(text(entry, "missing") for entry in head.items("missing")),
    )


def _noise(value: object) -> Mapping[str, Any] | None:
    if value is None:
        return None
    head = Fields(value, "model, noise", ("same_answers", "score_shift", "measured"))
    for name in ("same_answers", "score_shift"):
        number(head[name], head.at(name))
    for measurement in head.items("measured"):
        _check_finite(measurement, head.at("measured"))
    return dict(value) if isinstance(value, dict) else None


def _check_finite(value: object, place: str) -> None:
    if isinstance(value, dict):
        for name, item in value.items():
            _check_finite(item, f"{place}, {short_repr(name)}")
    elif isinstance(value, list):
        for item in value:
            _check_finite(item, place)
    elif isinstance(value, float):
        number(value, place)


_EVAL = (
    *("eval", "suite", "dataset", "protocol", "epochs", "limited", "cluster", "hashes"),
    *("scorers", "groups", "prompt", "samples"),
)
_READING = ("name", "signature", "statistics", "metrics")
_COLUMNS = ("id", "epoch", "scores", "audio", "prompt", "cluster", "groups", "truth")
_OPTIONAL = ("statuses", "failures", "text")
_ERROR = "error"


class _Scorer(NamedTuple):
    """``statistics`` are the names that all samples share, None where each has its own; ``scores`` names the place."""

    name: str
    signature: str
    statistics: list[str] | None
    figures: list[Figure]
    scores: str


class _Shared(NamedTuple):
    scorers: Sequence[_Scorer]
    groups: Mapping[str, Mapping[str, str]]
    prompt: str | None
    epochs: int


def _comparable_eval(
    value: object, place: str, common: Mapping[str, Any]
) -> tuple[ComparableEval, dict[str, Sequence[Figure]]]:
    """The side and the figures by scorer in ``value``, called ``place`` until its own name is known."""
    head = Fields(value, place, _EVAL)
    head.place = place = f"eval {short_repr(head.text('eval'))}"
    scorers = [_scorer(entry, place) for entry in head.items("scorers")]
    if not scorers or len({entry.name for entry in scorers}) < len(scorers):
        raise FieldError(f"{place}, scorers", "must name at least one, and each once")
    if not isinstance(head["groups"], dict):
        raise FieldError(head.at("groups"), f"must be an object, not {short_repr(head['groups'])}")
    groups = {key: texts(entry, f"{place}, groups, {short_repr(key)}") for key, entry in head["groups"].items()}
    epochs = head.count("epochs", 1)
    shared = _Shared(scorers, groups, head.text_or_null("prompt"), epochs)
    rows = []
    for at, line in enumerate(head.items("samples"), 1):
        try:
            rows.append(_row(line, shared))
        except FieldError as error:
            known = isinstance(line, list) and line and isinstance(line[0], str)
            which = f"sample {short_repr(line[0])}" if known else f"sample number {at}"
            raise FieldError(f"{place}, {which},", str(error)) from None
    identities = set()
    for row in rows:
        if row.identity in identities:
            raise FieldError(f"{place}, sample {short_repr(row.sample_id)}", f"is there twice (epoch {row.epoch})")
        identities.add(row.identity)
    figures = {entry.name: entry.figures for entry in scorers if entry.figures}
    side = ComparableEval(
        **common,
        eval=head.text("eval"),
        suite=head.text("suite"),
        dataset=head.text("dataset"),
        protocol=head.text("protocol"),
        epochs=epochs,
        limited=head.flag("limited"),
        cluster=head.text_or_null("cluster"),
        scorers={entry.name: entry.signature for entry in scorers},
        metrics={name: [entry.name for entry in listed] for name, listed in figures.items()},
        hashes=head.texts("hashes"),
        rows=rows,
    )
    for entry in scorers:
        _check_statistics(entry, rows, place)
    return side, dict(figures)


def _scorer(value: object, place: str) -> _Scorer:
    head = Fields(value, f"{place}, a scorer", _READING)
    place = head.place = f"{place}, scorer {short_repr(head.text('name'))}"
    entries = [] if head["statistics"] is None else head.items("statistics")
    names = None if head["statistics"] is None else [text(entry, head.at("statistics")) for entry in entries]
    if names is not None and len(set(names)) < len(names):
        raise FieldError(head.at("statistics"), "must name each once")
    figures = [_figure(entry, place) for entry in head.items("metrics")]
    if len({entry.name for entry in figures}) < len(figures):
        raise FieldError(head.at("metrics"), "must name each once")
    return _Scorer(head.text("name"), head.text("signature"), names, figures, f"scores by {short_repr(head['name'])}")


def _figure(value: object, place: str) -> Figure:
    head = Fields(value, f"{place}, a metric", Figure._fields)
    head.place = f"{place}, metric {short_repr(head.text('name'))}"
    direction = head["direction"]
    if direction not in ("higher", "lower"):
        raise FieldError(head.at("direction"), f'must be "higher" or "lower", not {short_repr(direction)}')
    return Figure(
        head.text("name"),
        head.number_or_null("value"),
        head.number_or_null("lower"),
        head.number_or_null("upper"),
        head.count("n"),
        head.text("unit"),
        direction,
    )


def _row(value: object, shared: _Shared) -> ComparableSample:
    line = items(value, "its line")
    if not len(_COLUMNS) <= len(line) <= len(_COLUMNS) + 1:
        columns = f"{len(_COLUMNS)} entries ({', '.join(_COLUMNS)})"
        raise FieldError("its line", f"must have {columns} and perhaps an object, not {len(line)}")
    sample_id, epoch, scores, audio, prompt, cluster, key, truth = line[: len(_COLUMNS)]
    if count(epoch, "epoch") >= shared.epochs:
        raise FieldError("epoch", f"must be below the eval's {shared.epochs} epochs, not {epoch}")
    if prompt == COMMON and shared.prompt is None:
        raise FieldError("prompt", "is the eval's, which has none")
    if key is not None and (not isinstance(key, str) or key not in shared.groups):
        raise FieldError("groups", f"must be null or a key of the eval's groups, not {short_repr(key)}")
    if len(items(scores, "scores")) != len(shared.scorers):
        raise FieldError("scores", f"must have an entry for each of the {len(shared.scorers)} scorers")
    statuses_, failures, answer = _optional_entries(line[len(_COLUMNS) :], len(shared.scorers))
    statistics = {scorer.name: _scores(value_, scorer) for scorer, value_ in zip(shared.scorers, scores, strict=True)}
    statuses = {scorer.name: status for scorer, status in zip(shared.scorers, statuses_, strict=True)}
    if any(status == _ERROR and statistics[name] is not None for name, status in statuses.items()):
        raise FieldError("scores", "must be null where the status is error")
    return ComparableSample(
        sample_id=text(sample_id, "id"),
        epoch=epoch,
        audio=text_or_null(audio, "audio"),
        prompt=shared.prompt if prompt == COMMON else text_or_null(prompt, "prompt"),
        cluster=text_or_null(cluster, "cluster"),
        groups={} if key is None else shared.groups[key],
        statuses=statuses,
        scores=statistics,
        failures=failures,
        text=answer,
        truth=text_or_null(truth, "truth"),
    )


def _optional_entries(rest: Sequence[object], scorers: int) -> tuple[Sequence[str], tuple[str, ...], str | None]:
    """The statuses, the failures and the text that a line may have behind its columns, and most lines have not."""
    if not rest:
        return ["parsed"] * scorers, (), None
    value = rest[0]
    filled = {**dict.fromkeys(_OPTIONAL), **value} if isinstance(value, dict) else value
    head = Fields(filled, "its last entry", _OPTIONAL)
    statuses = ["parsed"] * scorers if head["statuses"] is None else head.items("statuses")
    for item in statuses:
        if item not in (*STATUSES, _ERROR):
            raise FieldError(head.at("statuses"), f"must be of {', '.join(STATUSES)} and error, not {short_repr(item)}")
    if len(statuses) != scorers:
        raise FieldError(head.at("statuses"), f"must be {scorers}, one for each scorer")
    failures = [] if head["failures"] is None else head.items("failures")
    answer = None if head["text"] is None else text(head["text"], head.at("text"), LONGEST_TEXT)
    return statuses, tuple(text(item, head.at("failures")) for item in failures), answer


def _scores(value: object, scorer: _Scorer) -> Statistics | None:
    if value is None:
        return None
    place = scorer.scores
    if scorer.statistics is None:
        if not isinstance(value, dict):
            says = f"must be an object, since the scorer's statistics are null, not {short_repr(value)}"
            raise FieldError(place, says)
        return {text(name, place): number(item, place) for name, item in value.items()}
    if len(items(value, place)) != len(scorer.statistics):
        raise FieldError(place, f"must be {len(scorer.statistics)} numbers ({', '.join(scorer.statistics)[:200]})")
    return {name: number(item, place) for name, item in zip(scorer.statistics, items(value, place), strict=True)}


def _check_statistics(scorer: _Scorer, rows: Sequence[ComparableSample], place: str) -> None:
    """Refuse samples that lack what a metric of the scorer is made of, as far as this process knows the metric."""
    scored = [(row, scores) for row in rows if (scores := row.scores[scorer.name]) is not None]
    for figure in scorer.figures:
        if figure.name in SHARES or not is_known(figure.name):
            continue
        kind = metric_kind(figure.name)
        varies = scorer.statistics is None and (kind.parts or kind.summed)
        for row, scores in scored if varies else scored[:1]:
            if missing := _missing_statistic(kind, scores):
                raise FieldError(
                    f"{place}, sample {short_repr(row.sample_id)}",
                    f"has no {short_repr(missing)}, of which {figure.name} by {short_repr(scorer.name)} is made",
                )


class _Probe(dict[str, float]):
    """A sample's statistics that remember what was asked of them and is not there."""

    missing: str | None = None

    def __missing__(self, name: str) -> float:
        self.missing = self.missing or name
        return 1.0


def _missing_statistic(kind: MetricKind, scores: Statistics) -> str | None:
    probe = _Probe(scores)
    # Whether the numbers make a value is for a comparison to say; here they need only be there.
    with suppress(ArithmeticError, LookupError, ValueError, UsageError):
        for of_sample in filter(None, (kind.parts, kind.sample_score)):
            of_sample(probe)
        of_all = kind.summed or kind.whole
        if of_all is not None:
            of_all([probe])
        elif kind.parts is None:
            kind.estimate([probe], None)
    return probe.missing
