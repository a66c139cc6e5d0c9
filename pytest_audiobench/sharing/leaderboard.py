"""A table of what models did on the same data, from verified submissions.

The numbers are computed again from the samples' statistics in each submission; what it states itself was compared with
them when it was verified. Models are in one table where everything that was asked is the same: the evals' data,
audio, prompts, settings and epochs, and the scorer by its signature.

The rule of ranks: the best value opens the first group, and every model whose difference to it is not shown stands in
that group too; the best of the rest opens the next group, and so on. A difference is shown where the paired test of
"it is not worse" gives p <= alpha / (k (k - 1)), k being the models of the table: each of them may be compared with
each other, in either direction, so that any false difference in a table has at most the probability alpha.

A model that has no value, or of which more than ``MOST_UNASKED`` of the samples could not be asked, has no rank: it
could lead by what it was spared, and no model could be compared with it.

Where one metric does not tell enough, ``COMPANIONS`` says what is next to it: a second metric, by which models are
ranked too, and one that must be above 0 for a rank. Both rankings then share alpha.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from pytest_audiobench.comparison.comparison_lines import estimate, parse_rate, pooled
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.scoring import SHARES
from pytest_audiobench.gate.regression import Line, Terms, regression_of
from pytest_audiobench.gate.thresholds import ALPHA, MOST_UNMATCHED
from pytest_audiobench.identity import digest
from pytest_audiobench.metrics.metric import Estimate, MetricKind
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.records.run import RegressionRecord
from pytest_audiobench.sharing.evidence import evals_read_by
from pytest_audiobench.sharing.submission_checks import Report
from pytest_audiobench.sharing.submission_collection import Collection, RejectedFile

MOST_UNASKED = MOST_UNMATCHED / 2
"""Of two models that are ranked no more samples are unmatched than a paired test allows."""


class Companions(NamedTuple):
    """What is next to a metric in the tables by it."""

    second: str
    """The metric that models are ranked by too."""
    listening: str
    """The metric that says whether a model listens: who has no interval of it above 0 has no rank."""
    columns: Sequence[str]


_OF_SCENES = ("iou", "wer_all", "how", "snd", "spk_acc", "halluc", "events_guessed", "events_true")
COMPANIONS: Mapping[str, Companions] = {
    "reward": Companions("scene_f1", "adds_over_other", _OF_SCENES),
    "scene_f1": Companions("reward", "adds_over_other", _OF_SCENES),
}

_ASKED = ("data", "audio", "prompts", "settings", "seeds")


class Measured(NamedTuple):
    """A submission as far as one table asks: the side that is compared, and its value on its own samples."""

    report: Report
    side: ComparableEval
    kind: MetricKind
    estimate: Estimate
    parse_rate: float | None

    def by(self, metric: str) -> Measured:
        """The same side by another metric of its scorer."""
        kind = metric_kind(metric)
        return self._replace(kind=kind, estimate=estimate(self.side, kind, self.side.headline, {}))


class Place(NamedTuple):
    """Where a model stands by one metric."""

    rank: int | None
    measured: Measured
    behind: RegressionRecord | None
    """The comparison of the best with it; None for the best itself."""


@dataclass(frozen=True)
class Row:
    """A model in a table."""

    place: Place
    unranked: str
    also: Sequence[str]
    """Other signers of the same answers."""
    superseded: Sequence[Measured]
    """Earlier submissions of the model by the same signers, with other answers."""
    second: Place | None = None
    """By the second of the table's companions; None where it has none."""
    columns: Mapping[str, Measured] = field(default_factory=dict)
    """The others of the companions."""
    is_listening: bool = True
    """Whether the companion that says so is above 0."""

    @property
    def measured(self) -> Measured:
        return self.place.measured


@dataclass(frozen=True)
class Table:
    """The models of one task: ``suite`` on the data of ``task``, by one metric and one scorer."""

    suite: str
    task: str
    kind: MetricKind
    scorer: str
    signature: str
    evals: Sequence[str]
    limit: int | None
    """Of limited runs; None for whole ones."""
    comparisons: int
    """Among how many alpha is divided."""
    rows: Sequence[Row]
    companions: Companions | None = None


@dataclass(frozen=True)
class Leaderboard:
    """All tables of ``source``, of so many ``submissions``, and what is in none, by reason."""

    source: str
    submissions: int
    tables: Sequence[Table]
    refused: Sequence[RejectedFile]
    alpha: float = ALPHA


def leaderboard(collection: Collection, metric: str = "") -> Leaderboard:
    """A table for each task, by ``metric`` (empty: each suite's first).

    Raises UsageError where no submission is verified, and where none measures that metric.
    """
    if not collection.verified:
        why = "".join(f"\n  {file.name}: {file.why}" for file in collection.refused[:10])
        suites = f"; it has submissions of {', '.join(collection.suites)}" if collection.suites else ""
        raise UsageError(f"{collection.source} has no verified submission of what was asked for{suites}{why}")
    refused = list(collection.refused)
    tasks: dict[tuple[str, ...], list[Measured]] = {}
    for report in collection.verified:
        try:
            measured = _measured(report, metric)
        except UsageError as error:
            refused.append(RejectedFile(report.name, str(error)))
            continue
        tasks.setdefault(_task(measured), []).append(measured)
    if not tasks:
        raise UsageError(f"no verified submission of {collection.source} has that: {refused[-1].why}")
    counted = sum(map(len, tasks.values()))
    return Leaderboard(collection.source, counted, [_table(key, tasks[key]) for key in sorted(tasks)], refused)


def _measured(report: Report, metric: str) -> Measured:
    """The suite by its headline's scorer, or by the first that has ``metric``. Raises UsageError where none has."""
    assert report.evidence is not None
    headline = report.submission.payload.headline
    name = metric or (headline.metric if headline else "")
    sides = list(report.evidence.sides.values())
    scorers = [
        pair for side in sides for pair in side.scorers.items() if name in (*side.metrics.get(pair[0], ()), *SHARES)
    ]
    first = (headline.scorer, headline.signature) if headline else None
    if not is_known(name) or not scorers:
        raise UsageError(f"it does not measure {name or 'anything over all its samples'}")
    scorer, signature = first if first in scorers else scorers[0]
    if not (read := evals_read_by(report.submission.payload.items, report.evidence, scorer, signature)):
        raise UsageError(f"its evidence lacks the statistics of {scorer}, which is not the first scorer of each eval")
    kind = metric_kind(name)
    if len(read) > 1 and not kind.poolable:
        raise UsageError(f"{name} has no value over several evals: its scores depend on the set they were scored in")
    # In the order of their names: that of a run is its own, and none of the task.
    suite = pooled(sorted(read, key=lambda side: side.eval), scorer) if len(read) > 1 else read[0]
    suite = replace(suite, scorers={scorer: signature})
    return Measured(report, suite, kind, estimate(suite, kind, scorer, {}), parse_rate(suite, scorer, {}))


def _task(measured: Measured) -> tuple[str, ...]:
    """What must agree for two submissions to are in one table."""
    payload = measured.report.submission.payload
    inputs = sorted(
        [item.eval, item.dataset, *[item.hashes.get(name, "") for name in _ASKED]] for item in payload.items
    )
    scorer = measured.side.headline
    return payload.suite, digest(inputs), measured.kind.name, scorer, measured.side.scorers[scorer]


def _table(task: tuple[str, ...], entries: Sequence[Measured]) -> Table:
    suite, inputs, metric, scorer, signature = task
    companions = COMPANIONS.get(metric)
    if companions and any(not {*companions[:2]} <= {*entry.side.metrics[scorer]} for entry in entries):
        companions = None
    runs = sorted(_of_signers(entries), key=lambda of_signer: _worth(of_signer[-1]))
    fit = [of_signer for of_signer in runs if not _unranked(of_signer[-1], companions)]
    runs = [*fit, *(of_signer for of_signer in runs if _unranked(of_signer[-1], companions))]
    newest = [of_signer[-1] for of_signer in runs]
    terms = Terms(ALPHA, max(1, len(fit) * (len(fit) - 1)) * (2 if companions else 1))
    places = _places(newest, len(fit), terms)
    seconds: list[Place | None] = [None] * len(runs)
    if companions:
        seconds[:] = _places([run.by(companions.second) for run in newest], len(fit), terms)
    rows = [_row(*entry, companions) for entry in zip(runs, places, seconds, strict=True)]
    any_ = newest[0].report.submission.payload
    evals = [entry.eval for entry in any_.items]
    limit = any_.limit if any_.limited else None
    return Table(suite, inputs, newest[0].kind, scorer, signature, evals, limit, terms.lines, rows, companions)


def _places(entries: Sequence[Measured], ranked: int, terms: Terms) -> list[Place]:
    """Where each of ``entries`` stands, the first ``ranked`` of which have a rank: the others are compared with the
    best of these, if they can be.
    """
    order = sorted(range(ranked), key=lambda at: _worth(entries[at]))
    placed = dict(zip(order, zip(*_ranked([entries[at] for at in order], terms), strict=True), strict=True))
    places = []
    for at, entry in enumerate(entries):
        rank, behind = placed.get(at, (None, None))
        if rank is None and order and not _unranked(entry):
            behind = _behind(entries[order[0]], entry, terms)
        places.append(Place(rank, entry, behind))
    return places


def _of_signers(entries: Sequence[Measured]) -> list[list[Measured]]:
    """The runs of one model by one signer, oldest first; those by several whose newest have the same answers together.

    Times are a signer's word, so that the newest supersedes what the same signer submitted, and no other's.
    """
    by_signer: dict[tuple[str, str | None], list[Measured]] = {}
    for entry in sorted(entries, key=_when):
        model = entry.report.submission.payload.model.digest
        by_signer.setdefault((model, entry.report.signer), []).append(entry)
    agreeing: dict[tuple[str, str], list[list[Measured]]] = {}
    for (model, _), runs in sorted(by_signer.items(), key=lambda item: _when(item[1][-1])):
        groups = agreeing.setdefault((model, _answers(runs[-1])[0]), [])
        # Equal hashes are a signer's word; that the samples' statistics are equal too is seen.
        same = next((group for group in groups if _answers(group[-1]) == _answers(runs[-1])), None)
        if same is None:
            groups.append(list(runs))
        else:
            same.extend(runs)
    return [group for groups in agreeing.values() for group in groups]


def _when(measured: Measured) -> tuple[str, str]:
    return measured.report.submission.payload.submitted_at, measured.report.name


def _unranked(measured: Measured, companions: Companions | None = None) -> str:
    rows, scorer = measured.side.rows, measured.side.headline
    if (failed := sum(row.statuses[scorer] == "error" for row in rows)) > MOST_UNASKED * len(rows):
        return (
            f"{failed} of {len(rows)} samples could not be asked, more than {100.0 * MOST_UNASKED:g} %: run it again, "
            "which asks only these"
        )
    if math.isnan(measured.estimate.value):
        return "it has no value"
    if companions and not _is_listening(measured, companions):
        added = measured.by(companions.listening).estimate
        why = f" ({added.method.rpartition('; ')[2]})" if added.lower is None else ""
        return f"it is not shown to listen: it has no interval of {companions.listening} above 0{why}"
    return ""


def _is_listening(measured: Measured, companions: Companions) -> bool:
    lower = measured.by(companions.listening).estimate.lower
    return lower is not None and lower > 0.0


def _worth(measured: Measured) -> tuple[bool, float, str]:
    value = measured.estimate.value
    if math.isnan(value):
        return True, 0.0, measured.report.name
    return False, -value if measured.kind.direction == "higher" else value, measured.report.name


def _ranked(entries: Sequence[Measured], terms: Terms) -> tuple[list[int], list[RegressionRecord | None]]:
    """The rank of each of ``entries``, which come best first, and the best compared with each (module docstring)."""
    ranks = [0] * len(entries)
    behind: list[RegressionRecord | None] = [None] * len(entries)
    rest, rank = list(range(len(entries))), 1
    while rest:
        leader, worse = rest[0], []
        for at in rest[1:]:
            record = _behind(entries[leader], entries[at], terms)
            behind[at] = behind[at] or record
            if record.status == "regressed":
                worse.append(at)
        tied = [at for at in rest if at not in worse]
        for at in tied:
            ranks[at] = rank
        rest, rank = worse, rank + len(tied)
    return ranks, behind


def _behind(best: Measured, entry: Measured, terms: Terms) -> RegressionRecord:
    line = Line(entry.kind.name, (("scorer", entry.side.headline),), "0")
    return regression_of(best.side, entry.side, line, terms)


def _row(all_: Sequence[Measured], place: Place, second: Place | None, companions: Companions | None) -> Row:
    measured = place.measured
    answers = _answers(measured)
    are_same = [_answers(run) == answers for run in all_]
    other = [run for run, is_same in zip(all_, are_same, strict=True) if not is_same]
    also = dict.fromkeys(str(run.report.signer) for run, is_same in zip(all_, are_same, strict=True) if is_same)
    others = [signer for signer in also if signer != measured.report.signer]
    names = [companions.listening, *companions.columns] if companions else []
    columns = {name: measured.by(name) for name in names if name in measured.side.metrics[measured.side.headline]}
    return Row(
        place,
        _unranked(measured, companions),
        others,
        other,
        second,
        columns,
        not companions or _is_listening(measured, companions),
    )


def _answers(measured: Measured) -> tuple[str, list[object]]:
    scorer = measured.side.headline
    rows: list[object] = [(row.identity, row.statuses[scorer], row.scores[scorer]) for row in measured.side.rows]
    return measured.report.submission.payload.hashes.run_hash, rows
