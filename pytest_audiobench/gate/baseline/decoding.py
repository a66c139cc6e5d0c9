"""A baseline's bytes read back, trusting nothing: each problem is a sentence with the file, the place and a remedy.

The records say what a field may hold; what is checked here is how fields belong together.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval, eval_facts
from pytest_audiobench.evaluation.comparable_samples import ComparableSample, in_columns
from pytest_audiobench.evaluation.scoring import SHARES
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.io.strict_json import FileKind, short_repr, strict_json
from pytest_audiobench.metrics.metric import MetricKind, Statistics
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.records.baseline import (
    COMMON,
    MOST_BYTES,
    BaselineEval,
    BaselineFile,
    BaselineHead,
    BaselineModel,
    BaselineScorer,
    SampleLine,
)
from pytest_audiobench.records.fields import Status
from pytest_audiobench.records.reading import check_schema, convert

_FILE = FileKind(
    "baseline",
    "audiobench baseline update RUN",
    "put it back from git, or write it again with audiobench baseline update RUN",
)
_OTHER_FILES = {
    "audiobench.run/": "a run's record, not a baseline: give the run's whole folder, or write a baseline of it "
    "(audiobench baseline update FOLDER)",
    "audiobench.submission/": "a submission, which holds a baseline as text: write its payload.evidence into a file, "
    "and name that",
}


class _Mistake(Exception):
    """``place`` in a baseline does not fit to the rest of it; the message says how."""

    def __init__(self, place: str, says: str) -> None:
        super().__init__(f"{place} {says}")


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
    schema = value.get("schema") if isinstance(value, dict) else None
    for prefix, what in _OTHER_FILES.items():
        if isinstance(schema, str) and schema.startswith(prefix):
            raise UsageError(f"{name} is {what}")
    check_schema(value, name, _FILE, BaselineFile)
    file = convert(value, name, _FILE, BaselineFile)
    try:
        _check_unique("eval", [entry.eval for entry in file.evals])
        return Contents(
            msgspec.convert(file, BaselineHead, from_attributes=True),
            sides={entry.eval: _comparable_eval(entry, file.model, name) for entry in file.evals},
            figures={
                entry.eval: {scorer.name: scorer.metrics for scorer in entry.scorers if scorer.metrics}
                for entry in file.evals
            },
        )
    except _Mistake as error:
        raise UsageError(f"{name}: {error}: {_FILE.remedy}") from None


def _comparable_eval(entry: BaselineEval, model: BaselineModel, source: str) -> ComparableEval:
    place = f"eval {short_repr(entry.eval)}"
    _check_unique(f"{place}, scorer", [scorer.name for scorer in entry.scorers])
    for scorer in entry.scorers:
        _check_unique(f"{place}, scorer {short_repr(scorer.name)}, statistic", scorer.statistics or ())
        _check_unique(f"{place}, scorer {short_repr(scorer.name)}, metric", [figure.name for figure in scorer.metrics])
    # Most samples were parsed by every scorer: one mapping says so for all of them.
    parsed: Mapping[str, Status] = {scorer.name: "parsed" for scorer in entry.scorers}
    rows = []
    for line in entry.samples:
        try:
            rows.append(_row(line, entry, parsed))
        except _Mistake as error:
            raise _Mistake(f"{place}, sample {short_repr(line.id)},", str(error)) from None
    _check_unique(f"{place}, sample and epoch", [row.identity for row in rows])
    for scorer in entry.scorers:
        _check_statistics(scorer, rows, place)
    return ComparableEval(
        source=source,
        model=model.alias,
        spec=model.spec,
        **eval_facts(entry),
        scorers={scorer.name: scorer.signature for scorer in entry.scorers},
        metrics={scorer.name: [figure.name for figure in scorer.metrics] for scorer in entry.scorers if scorer.metrics},
        rows=in_columns(rows),
        noise=model.noise,
    )


def _check_unique(what: str, names: Iterable[Hashable]) -> None:
    known: set[Hashable] = set()
    for name in names:
        if name in known:
            shown = f"{short_repr(name[0])} (epoch {name[1]})" if isinstance(name, tuple) else short_repr(name)
            raise _Mistake(f"{what} {shown}", "is there twice")
        known.add(name)


def _row(line: SampleLine, entry: BaselineEval, parsed: Mapping[str, Status]) -> ComparableSample:
    if line.epoch >= entry.epochs:
        raise _Mistake("epoch", f"must be below the eval's {entry.epochs} epochs, not {line.epoch}")
    if line.prompt == COMMON and entry.prompt is None:
        raise _Mistake("prompt", "is the eval's, which has none")
    if line.groups is not None and line.groups not in entry.groups:
        raise _Mistake("groups", f"must be null or a key of the eval's groups, not {short_repr(line.groups)}")
    statuses = line.uncommon.statuses
    for name, entries in (("scores", line.scores), ("statuses", statuses)):
        if entries is not None and len(entries) != len(entry.scorers):
            raise _Mistake(name, f"must have an entry for each of the {len(entry.scorers)} scorers")
    scores = {
        scorer.name: _statistics(entries, scorer) for scorer, entries in zip(entry.scorers, line.scores, strict=True)
    }
    by_scorer = parsed if statuses is None else dict(zip(parsed, statuses, strict=True))
    if any(status == "error" and scores[name] is not None for name, status in by_scorer.items()):
        raise _Mistake("scores", "must be null where the status is error")
    return ComparableSample(
        sample_id=line.id,
        epoch=line.epoch,
        audio=line.audio,
        prompt=entry.prompt if line.prompt == COMMON else line.prompt,
        cluster=line.cluster,
        groups={} if line.groups is None else entry.groups[line.groups],
        statuses=by_scorer,
        scores=scores,
        failures=tuple(line.uncommon.failures),
        text=line.uncommon.text,
        truth=line.truth,
    )


def _statistics(entries: Sequence[float] | Mapping[str, float] | None, scorer: BaselineScorer) -> Statistics | None:
    if entries is None:
        return None
    place, names = f"scores by {short_repr(scorer.name)}", scorer.statistics
    if isinstance(entries, Mapping):
        if names is not None:
            raise _Mistake(place, "must be a list, since the scorer names the statistics")
        return entries
    if names is None:
        raise _Mistake(place, "must be an object, since the scorer's statistics are null, not a list")
    if len(entries) != len(names):
        raise _Mistake(place, f"must be {len(names)} numbers ({', '.join(names)[:200]})")
    return dict(zip(names, entries, strict=True))


def _check_statistics(scorer: BaselineScorer, rows: Sequence[ComparableSample], place: str) -> None:
    """Refuse samples that lack what a metric of the scorer is made of, as far as this process knows the metric."""
    scored = [(row, scores) for row in rows if (scores := row.scores[scorer.name]) is not None]
    for figure in scorer.metrics:
        if figure.name in SHARES or not is_known(figure.name):
            continue
        kind = metric_kind(figure.name)
        varies = scorer.statistics is None and (kind.parts or kind.summed)
        for row, scores in scored if varies else scored[:1]:
            if missing := _missing_statistic(kind, scores):
                raise _Mistake(
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
