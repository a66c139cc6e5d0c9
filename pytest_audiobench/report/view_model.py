"""What a reader should see of a run, drawn once from its record: tables of texts for page, terminal and summary."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from pytest_audiobench.evaluation.perturbation_series import unperturbed
from pytest_audiobench.evaluation.scoring import SHARES
from pytest_audiobench.metrics.metric import FRACTIONS
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.records.run import FigureRecord, ItemRecord, MetricRecord, RunRecord, ScorerRecord, SuiteRecord
from pytest_audiobench.report import formatting, scorer_comparison
from pytest_audiobench.report.failure_breakdown import FailureClass, failure_classes, is_without
from pytest_audiobench.report.scene_columns import MAIN, OF_OTHERS, is_of_scenes, main_metrics
from pytest_audiobench.report.verdict import failed_otherwise, fails_by_numbers, is_control, is_gated, stopped_text

SAME = "consistency"
"""The metric that says how many answers stayed the same (``metrics/definitions/faithfulness.py``)."""


SAME_ANSWERS, CONDITION = "same_answers", "condition"
"""The metric and the group of what each condition of a determinism eval changed (``studies/determinism.py``)."""


AVERAGE = "average"
"""The group of a suite's declared averages (``evaluation/suites.py``)."""

CONTROL, PERTURBED = "control", "perturbed"
"""The verdicts of evals that are asked for another's comparison alone, where no threshold names them."""
NOT_GATED = "not gated"
"""The verdict of an eval of whose score nothing is required: no threshold is on it, and no baseline holds it."""


@dataclass(frozen=True)
class Figure:
    """A number with all that belongs to it, as texts."""

    metric: str
    value: str
    interval: str
    n: int
    group: str
    scorer: str
    signature: str
    method: str
    unit: str
    at: float | None
    """Where it is drawn, in ``unit``, as ``low`` and ``high`` for the interval."""
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Block:
    """The figures of one eval or suite by one scorer."""

    scorer: str
    """Empty for what a test recorded itself."""
    signature: str
    parse_rate: str
    skipped: str
    unparsed: str
    folded: bool
    """Whether it is in the table of scorers side by side only, and not among the main figures."""
    figures: tuple[Figure, ...]
    groups: tuple[Figure, ...]
    columns: tuple[Figure, ...] = ()
    """All figures where these are too many for the main tables, in which only ``figures`` stand then."""
    variant: tuple[str, ...] = ()
    """What its signature says and that of another scorer of its name does not, such as "reasoning:no"."""
    evals: int = 0
    """Of a suite how many evals its numbers are of."""

    @property
    def title(self) -> str:
        """``letters``, or ``letters, reasoning:no`` with another of that name; empty for a test's own figures."""
        return ", ".join(filter(None, (self.scorer, *self.variant)))

    @property
    def parse_rate_and_skipped(self) -> str:
        """``97.0 %``, and what the scorer left out where it did: ``97.0 %, 12 skipped``."""
        return ", ".join(filter(None, (self.parse_rate, self.skipped)))


@dataclass(frozen=True)
class Check:
    """A threshold and its verdict."""

    mark: str
    """Repeats in a sign what ``tone`` says in colour."""
    tone: formatting.Tone
    status: str
    threshold: str
    detail: str


@dataclass(frozen=True)
class Eval:
    """One item: its verdict in a word and a mark, and its numbers."""

    name: str
    model: str
    suite: str
    control: bool
    mark: str
    verdict: str
    tone: formatting.Tone
    checks: tuple[Check, ...]
    blocks: tuple[Block, ...]
    """The headline scorer's first."""
    comparisons: tuple[scorer_comparison.ScorerComparison, ...]
    failures: tuple[FailureClass, ...]


@dataclass(frozen=True)
class Suite:
    """Evals pooled."""

    name: str
    model: str
    evals: int
    blocks: tuple[Block, ...]
    comparisons: tuple[scorer_comparison.ScorerComparison, ...]
    fields: frozenset[str]
    """The metadata fields in which its evals differ, which none of them reports by."""
    leads: bool
    """Whether its first scorer is the first of one of its evals, whose figures go without the scorer's name."""

    @property
    def averages(self) -> dict[str, list[tuple[Block, Figure]]]:
        """Of each declared average, the outermost first, its figure by every scorer among the main ones."""
        by_name: dict[str, list[tuple[Block, Figure]]] = {}
        for block in map(leading, unfolded(self.blocks)):
            for figure in block.groups:
                field, _, name = figure.group.partition("=")
                if field == AVERAGE:
                    by_name.setdefault(name, []).append((block, figure))
        return dict(reversed(by_name.items()))


@dataclass(frozen=True)
class Banner:
    """What must be known before any number is read."""

    tone: formatting.Tone
    text: str


def has_perturbations(record: RunRecord) -> bool:
    return any(suite.perturbations or suite.aspects for suite in record.suites)


def has_comparisons(record: RunRecord) -> bool:
    """Whether any answer of the run was compared with another, such as that to the clean clip."""
    return any(metric.name == SAME for item in record.items for metric in item.metrics)


def has_conditions(record: RunRecord) -> bool:
    """Whether any eval asked the same again under other conditions."""
    return any(
        metric.name == SAME_ANSWERS and CONDITION in metric.group for item in record.items for metric in item.metrics
    )


def has_findings(record: RunRecord) -> bool:
    return any(item.findings is not None for item in record.items)


def evals(record: RunRecord) -> list[Eval]:
    """The run's items, in their order."""
    # Page, terminal and Markdown show the same record one after the other.
    if not _last or _last[0] is not record:
        tests = {item.nodeid for item in failed_otherwise(record)}
        _last[:] = [record, [_eval(item, item.nodeid in tests) for item in record.items]]
    return [*_last[1]]


_last: list[Any] = []
"""The record that was shown last, and its evals."""


def suites(record: RunRecord) -> list[Suite]:
    """The run's suites of several evals, of those that are read alike."""
    members: dict[tuple[str, str], list[ItemRecord]] = {}
    for item in record.items:
        members.setdefault((item.suite, item.model), []).append(item)
    every = (_suite(suite, members.get((suite.name, suite.model), [])) for suite in record.suites if suite.evals > 1)
    return [suite for suite in every if suite.blocks]


def leading(block: Block) -> Block:
    """Of a pooled block its first metric, and those that only several evals have: each eval's table has the others."""
    if not block.scorer:
        return block
    first = block.figures[0].metric if block.figures else ""
    figures = tuple(figure for figure in block.figures if figure.metric == first or _is_across(figure.metric))
    return replace(block, figures=figures, groups=tuple(group for group in block.groups if group.metric == first))


def unfolded(blocks: Sequence[Block]) -> list[Block]:
    """Those that stand among the main figures."""
    return [block for block in blocks if not block.folded]


def aliases(record: RunRecord) -> list[str]:
    """The models that appear in the run, in order."""
    return list(dict.fromkeys(item.model for item in record.items))


def cautions(record: RunRecord) -> Iterator[Banner]:
    """Limited, incomplete, empty: why the numbers may not be what they seem, other than alarms."""
    items = record.items
    lost = sum(item.outcome == "lost" for item in items)
    errors = sum(item.scorers[0].coverage.errors - item.asking.not_applicable for item in items if item.scorers)
    if all(item.outcome == "skipped" and not item.scorers for item in items):
        yield Banner("bad", "Nothing was measured: every eval was skipped or none was selected.")
    if lost:
        yield Banner("bad", f"Incomplete: {formatting.counted(lost, 'eval')} began and never reported.")
    if record.shard is not None:
        yield Banner("warn", f"{str(record.shard).capitalize()}: a part of every eval was asked, and nothing judged.")
    elif text := stopped_text(items):
        never = "A stopped run is never compared with anything; run it again without the option to ask the rest."
        yield Banner("bad", f"{text[:1].upper()}{text[1:]}. {never}")
    elif record.limit is not None or any(item.limited for item in items):
        use = "The baseline is compared on these alone" if record.baseline else "Never comparable with a full run"
        yield Banner("bad", f"Limited: only part of the samples was asked. {use}.{_distance_to_whole(items)}")
    if errors:
        yield Banner(
            "bad", f"Incomplete: asking failed for {formatting.counted(errors, 'sample')}, left out of every score."
        )


def _distance_to_whole(items: Sequence[ItemRecord]) -> str:
    """How far the limited headline values are from those of the whole sets, of the one that is furthest.

    An interval holds for samples not yet seen; here it is narrowed by the share of its set that was seen (the
    correction for a finite population; Cochran, Sampling Techniques, 1977, section 2.6).
    """
    distances = []
    for item in items:
        metric = next((metric for metric in item.metrics if not metric.group), None)
        if metric is not None and item.size and not item.control and metric.unit in FRACTIONS:
            value = float(metric.value or 0)
            ends = [abs(float(end) - value) for end in (metric.lower, metric.upper) if end is not None]
            distances += [(max(ends) * math.sqrt(1 - item.n / item.size), item)] if ends else []
    if not distances:
        return ""
    reach, item = max(distances, key=lambda distance: distance[0])
    each = (
        f" ({item.n} of {item.size} samples of {item.eval})" if len(distances) == 1 else f" ({item.eval} the furthest)"
    )
    return f" 19 times in 20 a whole set's value lies within {100 * reach:.1f} pp of that here{each}."


def _eval(item: ItemRecord, fails_otherwise: bool) -> Eval:
    mark, tone, verdict = _verdict(item, fails_otherwise)
    return Eval(
        name=item.eval,
        model=item.model,
        suite=item.suite,
        control=item.control,
        mark=mark,
        verdict=verdict,
        tone=tone,
        checks=tuple(Check(*formatting.VERDICTS[each.status], each.threshold, each.detail) for each in item.verdicts),
        blocks=_blocks(item, [item]),
        comparisons=_comparisons(item),
        failures=failure_classes(item),
    )


def _suite(suite: SuiteRecord, members: Sequence[ItemRecord]) -> Suite:
    pooled = [item for item in members if item.pooled and not item.control]
    # Of what a single eval was read by there is nothing to pool: its own table has the same numbers.
    readers = Counter(key for item in pooled for key in _readers(item))
    alone = {key for key, count in readers.items() if count == 1}
    # The same samples asked under several perturbations are no larger set: what is made of those compares them.
    repeated = {key for key in readers if _asks_again([item for item in pooled if key in _readers(item)])}
    metrics = [
        metric
        for metric in suite.metrics
        if (metric.scorer, metric.signature) not in (alone if _is_across(metric.name) else alone | repeated)
    ]
    kept = {(metric.scorer, metric.signature) for metric in metrics}
    scorers = [scorer for scorer in suite.scorers if (scorer.name, scorer.signature) in kept]
    suite = msgspec.structs.replace(suite, scorers=scorers, metrics=metrics)
    parts = scorer_comparison.by_answers(suite, pooled)
    return Suite(
        name=suite.name,
        model=suite.model,
        evals=suite.evals,
        blocks=tuple(replace(block, evals=readers[block.scorer, block.signature]) for block in _blocks(suite, parts)),
        comparisons=tuple(comparison for part in parts for comparison in _comparisons(part)),
        fields=frozenset(_fields(suite).difference(*map(_fields, members))),
        leads=any(item.scorers[0].name == scorer.name for item in pooled if item.scorers for scorer in scorers[:1]),
    )


def _readers(item: ItemRecord) -> list[tuple[str, str]]:
    return [(scorer.name, scorer.signature) for scorer in item.scorers]


def _asks_again(items: Sequence[ItemRecord]) -> bool:
    """Whether any of ``items`` asks the samples of another under another perturbation."""
    conditions = {
        (unperturbed(item.dataset, item.perturbation), item.perturbation is None or item.perturbation.name)
        for item in items
    }
    return len(conditions) > len({dataset for dataset, _ in conditions})


def _comparisons(owner: scorer_comparison.Owner) -> tuple[scorer_comparison.ScorerComparison, ...]:
    comparisons = scorer_comparison.scorer_comparisons(owner)
    main = main_metrics(metric.name for metric in owner.metrics)
    return tuple(comparison for comparison in comparisons if comparison.table.metric in main)


def _fields(owner: scorer_comparison.Owner) -> set[str]:
    groups = [metric.group for metric in owner.metrics]
    return {field for group in groups if not is_without(group) for field in group}


def _blocks(owner: scorer_comparison.Owner, parts: Sequence[scorer_comparison.Owner]) -> tuple[Block, ...]:
    """The figures by scorer, then those that a test recorded itself; ``parts`` are of scorers of the same answers."""
    main = {key for part in parts for key in scorer_comparison.main_scorers(part)}
    metrics: dict[tuple[str | None, str | None], list[MetricRecord]] = {}
    for metric in owner.metrics:
        metrics.setdefault((metric.scorer, metric.signature), []).append(metric)
    blocks: list[Block] = []
    for scorer in owner.scorers:
        key = (scorer.name, scorer.signature)
        shared = set.intersection(*({*each.signature.split("|")} for each in owner.scorers if each.name == scorer.name))
        variant = tuple(part for part in scorer.signature.split("|") if part not in shared)
        block = replace(_block(scorer, metrics.get(key, []), folded=key not in main), variant=variant)
        blocks.append(_shortened(block, is_first=not blocks))
    if recorded := [metric for metric in owner.metrics if metric.scorer is None]:
        blocks.append(_block(None, recorded, folded=False))
    return tuple(blocks)


def _shortened(block: Block, is_first: bool) -> Block:
    if not is_of_scenes({figure.metric for figure in block.figures}):
        return block
    main = sorted((figure for figure in block.figures if figure.metric in MAIN), key=lambda f: MAIN.index(f.metric))
    few = tuple(figure for figure in main if is_first or figure.metric in OF_OTHERS)
    groups = tuple(figure for figure in block.groups if is_first and figure.metric in OF_OTHERS)
    return replace(block, figures=few, groups=groups, columns=block.figures)


def _verdict(item: ItemRecord, fails_otherwise: bool) -> formatting.Sign:
    """What became of an item; ``FAIL`` where a threshold, or something else than its numbers, failed it.

    One whose test failed by another eval's numbers has the verdict of its own.
    """
    if item.outcome in ("lost", "skipped"):
        return (
            formatting.Sign("✗", "bad", "lost") if item.outcome == "lost" else formatting.Sign("!", "warn", "skipped")
        )
    # What the baseline does not know is measured, and gated by nothing unless that is to fail.
    lines = [line for line in item.regressions if not line.is_unknown or item.outcome == "failed"]
    statuses = {*(check.status for check in item.verdicts), *(line.verdict for line in lines)}
    if all(line.verdict == "improved" for line in lines) and lines:
        statuses.discard("pass")  # thresholds that are met take nothing from what improved
    if "fail" in statuses or (item.outcome == "failed" and fails_otherwise):
        return formatting.Sign("✗", "bad", "FAIL")
    worst = next((sign for status, sign in formatting.VERDICTS.items() if status in statuses), None)
    if worst is None or (worst.tone == "good" and not is_gated(item)):
        # In addition to itself an eval is asked under controls, which must come out badly, and under what need not.
        beside = CONTROL if is_control(item) else PERTURBED
        return formatting.Sign("", "plain", beside if item.control else NOT_GATED)
    return worst._replace(tone="bad") if fails_by_numbers(item) else worst


def _block(scorer: ScorerRecord | None, metrics: Sequence[MetricRecord], folded: bool) -> Block:
    """``scorer`` is None for what a test recorded itself."""
    scores = [metric for metric in metrics if metric.name not in SHARES]
    # Where the references are withheld nothing else is measured.
    scores = scores or [metric for metric in metrics if metric.name == SHARES[0]]
    scores = [metric for metric in scores if metric.value is not None or not _is_across(metric.name)]
    return Block(
        scorer=scorer.name if scorer else "",
        signature=scorer.signature if scorer else "",
        parse_rate=formatting.parse_rate_text(scorer.coverage) if scorer else "",
        skipped=formatting.skipped_text(scorer.coverage) if scorer else "",
        unparsed=formatting.unparsed_text(scorer.coverage) if scorer else "",
        folded=folded,
        figures=tuple(_figure(metric) for metric in scores if not metric.group),
        groups=tuple(_figure(metric) for metric in scores if metric.group and not is_without(metric.group)),
    )


def _is_across(name: str) -> bool:
    """Whether a metric compares perturbations: an eval of one of them has none, and no line says so."""
    return is_known(name) and metric_kind(name).across


def mean_figure(name: str, mean: FigureRecord, unit: str) -> Figure:
    """The mean of a metric over perturbations; its n is 0, since each sample counts in several of its parts."""
    return _figure(MetricRecord(name, mean.value, mean.lower, mean.upper, 0, unit, "higher", mean.method))


def _figure(metric: MetricRecord) -> Figure:
    return Figure(
        metric=metric.name,
        value=formatting.value_text(metric.value, metric.unit),
        interval=formatting.interval_text(metric, metric.unit),
        n=metric.n,
        group=formatting.group_text(metric.group),
        scorer=metric.scorer or "",
        signature=metric.signature or "",
        method=metric.method,
        unit=formatting.unit_text(metric.unit),
        at=formatting.axis_value(metric.value, metric.unit),
        low=formatting.axis_value(metric.lower, metric.unit),
        high=formatting.axis_value(metric.upper, metric.unit),
    )
