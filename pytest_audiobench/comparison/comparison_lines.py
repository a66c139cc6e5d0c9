"""The lines of a comparison: one for each eval or suite, metric, scorer and group, with every contender's number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from msgspec import structs

from pytest_audiobench.comparison.contenders import Contender
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.comparable_samples import ComparableSample, in_columns
from pytest_audiobench.evaluation.perturbation_series import unperturbed
from pytest_audiobench.evaluation.scoring import SHARES
from pytest_audiobench.gate.pairing import ERRORS
from pytest_audiobench.gate.regression import Line, Terms, regression_of
from pytest_audiobench.gate.threshold_syntax import point
from pytest_audiobench.identity import digest_of_trusted
from pytest_audiobench.metrics.definitions.words import trimmed_names
from pytest_audiobench.metrics.metric import Estimate, MetricKind
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.records.run import RegressionRecord
from pytest_audiobench.stats.multiple_testing import holm_of_known

ALL, HEADLINE, NONE = "all", "headline", "none"
_SHARES = tuple(name for name in SHARES if name != ERRORS)
"""Shares of answers, which every run has; no pair holds a sample that could not be asked."""


class Selection(NamedTuple):
    """The selected lines: names of metrics, scorers and group fields, or the words all, headline and none."""

    metrics: Sequence[str] = (HEADLINE,)
    scorers: Sequence[str] = (HEADLINE,)
    groups: Sequence[str] = ()


@dataclass(frozen=True)
class PlannedLine:
    """A line before it is computed: ``sides`` are the contenders', None where one has no such eval."""

    suite: str
    name: str
    is_pooled: bool
    kind: MetricKind
    scorer: str
    group: Mapping[str, str]
    sides: Sequence[ComparableEval | None]

    @property
    def signature(self) -> str:
        """The rule behind the scorer's name."""
        return next(side.scorers[self.scorer] for side in self.sides if side is not None)

    @property
    def comparisons(self) -> int:
        return sum(side is not None for side in self.sides[1:]) if self.sides[0] is not None else 0


@dataclass(frozen=True)
class ComparedLine:
    """A line with its numbers, a place for each contender: None where it has no such eval."""

    plan: PlannedLine
    estimates: Sequence[Estimate | None]
    """Each over its contender's own samples."""
    parse_rates: Sequence[float | None]
    """The share of these samples whose answer could be read."""
    regressions: Sequence[RegressionRecord | None]
    """The comparison with the first; None for the first itself."""


def planned_lines(contenders: Sequence[Contender], chosen: Selection) -> tuple[list[PlannedLine], list[str]]:
    """All lines, each suite's pooled ones after its evals', and what there is to say of those that there are not.

    Raises UsageError for a metric, a scorer or a group that no eval has.
    """
    notes: dict[str, None] = {}
    lines: list[PlannedLine] = []
    suites: dict[str, list[str]] = {}
    all_sides = [side for contender in contenders for side in contender.sides.values()]
    for eval_, suite in {side.eval: side.suite for side in all_sides}.items():
        suites.setdefault(suite, []).append(eval_)
    for suite, evals in suites.items():
        for eval_ in evals:
            lines += _eval_lines(suite, [contender.sides.get(eval_) for contender in contenders], chosen, notes)
        lines += _suite_lines(suite, evals, contenders, chosen, notes)
    _check_selection(chosen, contenders)
    if not lines:
        raise UsageError("; ".join(notes) or "no eval has what was chosen: choose other metrics or scorers, or all")
    return lines, list(notes)


def compared_lines(lines: Sequence[PlannedLine], alpha: float, max_drop: str) -> list[ComparedLine]:
    """The lines with their numbers; alpha is divided by the number of comparisons among them.

    A metric whose scale has no hundredth cannot have a margin in points: it has none.
    Raises UsageError for a margin that is none.
    """
    terms = Terms(alpha, max(1, sum(line.comparisons for line in lines)))
    compared = []
    for line in lines:
        tests = [regression(line, at, terms, max_drop) if at else None for at in range(len(line.sides))]
        about = (line.scorer, line.group)
        estimates = [None if side is None else estimate(side, line.kind, *about) for side in line.sides]
        shares = [None if side is None else parse_rate(side, *about) for side in line.sides]
        compared.append(ComparedLine(line, estimates, shares, tests))
    return _with_adjusted_p(compared)


def margin(kind: MetricKind, max_drop: str) -> str:
    """``max_drop`` where the metric can have it, else no margin at all."""
    return max_drop if point(kind) is not None or not max_drop.strip().endswith("pp") else "0"


def regression(line: PlannedLine, at: int, terms: Terms, max_drop: str) -> RegressionRecord | None:
    """The comparison of the contender ``at`` with the first; None where either has no such line."""
    first, side = line.sides[0], line.sides[at]
    if first is None or side is None:
        return None
    group = (("scorer", line.scorer), *line.group.items())
    return regression_of(first, side, Line(line.kind.name, group, margin(line.kind, max_drop)), terms)


def _with_adjusted_p(lines: Sequence[ComparedLine]) -> list[ComparedLine]:
    tests = [record for line in lines for record in line.regressions if record is not None]
    worse, better = holm_of_known([test.p for test in tests]), holm_of_known([test.p_better for test in tests])
    triples = zip(tests, worse, better, strict=True)
    adjusted = iter([structs.replace(test, p_holm=p_holm, q_better=q) for test, p_holm, q in triples])
    return [replace(line, regressions=[record and next(adjusted) for record in line.regressions]) for line in lines]


def estimate(side: ComparableEval, kind: MetricKind, scorer: str, group: Mapping[str, str]) -> Estimate:
    """A metric over a side's own samples of ``group``, clustered where clusters repeat."""
    rows = side.columns.of_group(group)
    scored = rows if kind.name in SHARES else rows.where(rows.has_scores(scorer))
    return kind.estimate([each for each in scored.statistics(scorer, kind.name) if each is not None], scored.clusters())


def parse_rate(side: ComparableEval, scorer: str, group: Mapping[str, str]) -> float | None:
    """The share of a side's samples of ``group`` that ``scorer`` read an answer from; None where there are none."""
    rows = side.columns.of_group(group)
    parsed = rows.of_kinds(lambda kind: kind.status(scorer) == "parsed")
    return int(parsed.sum()) / len(rows) if len(rows) else None


def _eval_lines(
    suite: str, sides: Sequence[ComparableEval | None], chosen: Selection, notes: dict[str, None]
) -> Iterator[PlannedLine]:
    first = next(side for side in sides if side is not None)
    for scorer in selected_scorers(first, chosen.scorers):
        have = [side if side is not None and scorer in side.scorers else None for side in sides]
        yield from _lines(suite, first.eval, False, scorer, have, chosen, notes)


def _suite_lines(
    suite: str, evals: Sequence[str], contenders: Sequence[Contender], chosen: Selection, notes: dict[str, None]
) -> Iterator[PlannedLine]:
    common = [eval_ for eval_ in evals if all(eval_ in contender.sides for contender in contenders)]
    read: dict[tuple[str, str], list[str]] = {}
    for eval_ in common:
        side = contenders[0].sides[eval_]
        for scorer in selected_scorers(side, chosen.scorers):
            if all(scorer in contender.sides[eval_].scorers for contender in contenders):
                read.setdefault((scorer, side.scorers[scorer]), []).append(eval_)
    for (scorer, _), eval_names in read.items():
        if len(eval_names) > 1:
            sides = [pooled([contender.sides[eval_] for eval_ in eval_names], scorer) for contender in contenders]
            if len(common) < len(evals):
                notes[f"{suite} is pooled over the {len(eval_names)} evals that all have"] = None
            for name in dict.fromkeys(
                name for eval_ in eval_names for name in contenders[0].sides[eval_].metrics.get(scorer, ())
            ):
                if is_known(name) and not metric_kind(name).poolable and HEADLINE not in chosen.metrics:
                    notes[f"{name} of {suite} is not pooled: its scores depend on the set they were scored in"] = None
            yield from _lines(suite, sides[0].eval, True, scorer, sides, chosen, notes)


def _lines(
    suite: str,
    name: str,
    is_pooled: bool,
    scorer: str,
    sides: Sequence[ComparableEval | None],
    chosen: Selection,
    notes: dict[str, None],
) -> Iterator[PlannedLine]:
    for metric in _metrics([side for side in sides if side is not None], scorer, chosen.metrics):
        if not is_known(metric):
            notes[f"{metric} of {name} is not compared: it is registered by a conftest.py that is not read here"] = None
            continue
        # What is written into a run only where there is any, each run has.
        have = [
            side if side is not None and (metric in SHARES or metric in _measured(side, scorer)) else None
            for side in sides
        ]
        for group in ({}, *_groups([side for side in have if side is not None], chosen.groups)):
            if not group or metric not in SHARES:
                yield PlannedLine(suite, name, is_pooled, metric_kind(metric), scorer, group, have)


def selected_scorers(side: ComparableEval, wanted: Sequence[str]) -> list[str]:
    """The selected scorers of a side."""
    if HEADLINE in wanted:
        return [side.headline]
    return [name for name in side.scorers if ALL in wanted or name in wanted]


def _metrics(sides: Sequence[ComparableEval], scorer: str, wanted: Sequence[str]) -> list[str]:
    names = list(dict.fromkeys(name for side in sides for name in side.metrics.get(scorer, ())))
    if HEADLINE in wanted:
        return names[:1]
    others = (*_SHARES, *trimmed_names(names))
    wanted_names = (name for name in (*names, *others) if name in wanted or (ALL in wanted and name in names))
    return list(dict.fromkeys(wanted_names))


def _measured(side: ComparableEval, scorer: str) -> tuple[str, ...]:
    names = side.metrics.get(scorer, ())
    return *names, *trimmed_names(names)


def _groups(sides: Sequence[ComparableEval], wanted: Sequence[str]) -> Iterator[dict[str, str]]:
    values: dict[str, set[str]] = {}
    for side in sides:
        for name, own in side.columns.groups().items():
            values.setdefault(name, set()).update(own)
    for name in sorted(values):
        if (ALL in wanted or name in wanted) and len(values[name]) > 1:
            yield from ({name: value} for value in sorted(values[name]))


def group_fields(contenders: Sequence[Contender]) -> list[str]:
    """The metadata fields by which samples are grouped."""
    sides = [side for contender in contenders for side in contender.sides.values()]
    return sorted({name for side in sides for name in side.columns.groups()})


def group_choices(lines: Sequence[PlannedLine]) -> list[str]:
    """The fields by which the samples of these lines fall into several groups, so that there are lines of them."""
    compared = [[side for side in line.sides if side is not None] for line in lines if line.comparisons]
    return sorted({name for sides in compared for group in _groups(sides, (ALL,)) for name in group})


def _check_selection(chosen: Selection, contenders: Sequence[Contender]) -> None:
    sides = [side for contender in contenders for side in contender.sides.values()]
    scorers = {name for side in sides for name in side.scorers}
    metrics = {*_SHARES, *(name for side in sides for scorer in side.metrics for name in _measured(side, scorer))}
    for what, wanted, known in (
        ("scorer", chosen.scorers, scorers),
        ("metric", chosen.metrics, metrics),
        ("group", chosen.groups, set(group_fields(contenders)) if chosen.groups else set()),
    ):
        for name in wanted:
            if name not in known and name not in (ALL, HEADLINE, NONE):
                raise UsageError(f"no eval has the {what} {name!r}; there is {', '.join(sorted(known)) or 'none'}")


def pooled(sides: Sequence[ComparableEval], scorer: str) -> ComparableEval:
    """The evals ``sides`` of one suite, all read by ``scorer``, as one side with the metrics that can be pooled.

    A cluster that the data name holds across the suite; a sample's id is unique in its own data set only.
    """
    first = sides[0]
    names = dict.fromkeys(name for side in sides for name in side.metrics.get(scorer, ()))
    return ComparableEval(
        source=first.source,
        eval=f"{first.suite} (pooled)",
        suite=first.suite,
        model=first.model,
        spec=first.spec,
        dataset=" + ".join(side.dataset for side in sides),
        protocol=first.protocol,
        epochs=max(side.epochs for side in sides),
        limited=any(side.limited for side in sides),
        cluster=None,
        scorers={scorer: first.scorers[scorer]},
        metrics={scorer: [name for name in names if is_known(name) and metric_kind(name).poolable]},
        hashes=_pooled_hashes(sides),
        rows=in_columns(_pooled_row(side, row) for side in sides for row in side.rows),
    )


def _pooled_hashes(sides: Sequence[ComparableEval]) -> dict[str, str]:
    """What tells whether one model gave the same answers in all of them; empty where one of them does not know."""
    if not all("run_hash" in side.hashes for side in sides):
        return {}
    return {
        name: digest_of_trusted([[side.eval, side.hashes.get(name)] for side in sides])
        for name in ("run_hash", "verdicts")
    }


def _pooled_row(side: ComparableEval, row: ComparableSample) -> ComparableSample:
    is_own_cluster = row.cluster in (None, row.sample_id)
    return row._replace(
        sample_id=f"{side.eval} {row.sample_id}",
        cluster=f"{unperturbed(side.dataset, side.perturbation)} {row.sample_id}" if is_own_cluster else row.cluster,
    )
