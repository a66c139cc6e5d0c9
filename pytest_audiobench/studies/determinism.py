"""Does a model repeat itself? The same clips in other batches, and what that does to answers and score."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import pytest

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.rerun import RerunVariant, batches_of, of_option, repeated, rerun, reversed_order
from pytest_audiobench.evaluation.result import Result
from pytest_audiobench.evaluation.scoring import ScoredSample
from pytest_audiobench.metrics.metric import FRACTIONS, POINTS, SHARE
from pytest_audiobench.metrics.metric_drops import drop_of
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.value import Metric
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.records.run import NoiseMeasurement, NoiseShare
from pytest_audiobench.stats.drops import Question
from pytest_audiobench.stats.intervals import Interval, none, proportion, repeat
from pytest_audiobench.studies.evaluate import Evaluate, Evaluator, evaluator_of


class _Difference(NamedTuple):
    """What one condition changed, or several together."""

    answers: Sequence[float]
    """For each sample the share of its answers that are the same text as at first."""
    outcomes: Sequence[float]
    """The share of those that are scored the same."""
    shift: float
    """How far the headline metric moved, as a size."""
    ends: Interval
    """That of the shift."""


_BATCH_SIZES, _COPIES = range(1, 11), 4
_NEARLY = 0.75
"""Batches that hold less of their size than this on average are said to be smaller."""


def determinism(
    evaluate: Evaluate,
    dataset: Dataset,
    protocol: Protocol,
    *,
    samples: int | None = 50,
    batch_sizes: Sequence[int] = _BATCH_SIZES,
    copies: int = _COPIES,
    dtypes: Sequence[str] = (),
    kernels: Sequence[str] = (),
    paddings: Sequence[str] = (),
    at_once: Sequence[int] = (),
    clip: str | None = None,
    scorers: str | Sequence[str] | None = None,
) -> Mapping[str, Metric]:
    """Ask about ``samples`` of ``dataset`` as planned, then again under other conditions, and record what differs.

    The conditions: the same batches again; for models whose batches are planned also batches of each of
    ``batch_sizes`` in hash order, each clip ``copies`` times in one batch, and the planned batches in reversed order;
    for servers each number of requests ``at_once`` (``batch`` of an ``http`` model, ``concurrency`` of another): all
    else of a server is its own. Recorded are ``same_answers`` (the share of answers that are the same text),
    ``same_outcomes`` (that are scored the same) and ``score_shift`` (how far the headline metric moves, in points, as a
    size), by condition and over all: the mean of the former two, the largest of the latter. These are the model's noise
    floor, which is put on record. Also, and in no floor, since they make another model of it, an in-process
    model is asked in each of ``dtypes``, by each attention kernel of ``kernels`` and with prompts padded on each side
    of ``paddings``; what this machine or model cannot do is noted. Nothing is required: thresholds may be.

    With ``clip``, the id of one sample, that alone is asked, in batches of 1, 2, … of itself, one of each of
    ``batch_sizes``; the answers of each are printed with the seconds that they took, and no floor is put on record.

    ``scorers`` are as of :class:`Evaluate`. Skips the test for a model that is played no audio (a replay has answers to
    one asking only). Raises UsageError for dtypes, kernels and paddings of a model that has none, and for a clip that
    is not there.
    """
    evaluator = evaluator_of(evaluate)
    evaluator.asked_whole = "its answers are asked again"
    model = evaluator.handle
    if not model.listens:
        pytest.skip(f"{model.spec} is played no audio: there is nothing that it could repeat")
    for name, values in (("dtype", dtypes), ("kernel", kernels), ("padding", paddings)):
        if values and not model.planned:
            raise UsageError(f"{model.spec} has no {name} to choose: leave {name}s out")
    if clip is not None:
        if not model.planned:
            pytest.skip(f"{model.spec} forms its own batches: which answers it gave together is unknown")
        return _by_batch(evaluate, dataset, protocol, clip, batch_sizes)
    result = evaluate(dataset, protocol, samples=samples, scorers=scorers)
    if model.planned:
        for doubt in (*_beyond(model, batch_sizes), *_smaller(model, batch_sizes, result.n)):
            result.warn(doubt)
    same_model = [(condition, "", "") for condition in _conditions(model, batch_sizes, copies)]
    number = "batch" if model.spec.startswith("http:") else "concurrency"
    same_model += [(of_option(number, f"{most}"), number, f"{most}") for most in at_once]
    choices = (("dtype", dtypes), ("attn", kernels), ("padding", paddings))
    other_models = [(of_option(option, value), option, value) for option, values in choices for value in values]
    differences = {
        condition.name: _difference(evaluator, result, condition, {option: value} if option else {})
        for condition, option, value in (*same_model, *other_models)
    }
    measured = {name: difference for name, difference in differences.items() if difference is not None}
    floor = {condition.name: measured[condition.name] for condition, *_ in same_model if condition.name in measured}
    metrics = _record(evaluate, result, _together(list(floor.values())), {})
    shares = {
        name: NoiseShare(**{figure: float(metric) for figure, metric in recorded.items()})
        for name, difference in measured.items()
        if (recorded := _record(evaluate, result, difference, {"condition": name}))
    }
    evaluator.note_noise(
        NoiseMeasurement(
            **{figure: float(metric) for figure, metric in metrics.items()},
            dataset=result.record.dataset,
            n=result.n,
            metric=result.headline_metric,
            conditions={name: shares[name] for name in floor},
        )
    )
    return metrics


def repetitions(model: ModelHandle) -> int:
    """How often each question is asked again where nothing else is said."""
    return sum(condition.copies for condition in _conditions(model, _BATCH_SIZES, _COPIES)) if model.listens else 0


def _conditions(model: ModelHandle, batch_sizes: Sequence[int], copies: int) -> list[RerunVariant]:
    """Those under which a model should answer as it did."""
    if not model.planned:
        return [rerun()]
    sizes = [size for size in batch_sizes if size <= model.limits.max_batch]
    at_once = [repeated(copies)] if copies <= model.limits.max_batch else []
    return [rerun(), reversed_order(), *map(batches_of, sizes), *at_once]


def _beyond(model: ModelHandle, batch_sizes: Sequence[int]) -> Iterator[str]:
    """Of sizes that somebody wished for those that the model is not asked in."""
    most = model.limits.max_batch
    if batch_sizes is not _BATCH_SIZES and (
        beyond := ", ".join(f"batch-{size}" for size in batch_sizes if size > most)
    ):
        yield f"{beyond} not measured: the model's batch is {most}; write another batch= in its spec"


def _smaller(model: ModelHandle, batch_sizes: Sequence[int], n: int) -> Iterator[str]:
    """Of sizes that ``n`` samples do not fill what they were asked in."""
    for size in batch_sizes:
        batches = -(-n // size)
        if size <= model.limits.max_batch and n < _NEARLY * size * batches:
            last = n - (batches - 1) * size
            sizes = f"one of {last}" if batches == 1 else f"{batches - 1} of {size} and one of {last}"
            yield f"batch-{size} was asked in {sizes}: ask more samples for what batches of {size} do"


def _together(differences: Sequence[_Difference]) -> _Difference:
    """Of each sample the mean over the conditions; of the shifts the largest."""
    answers, outcomes = (
        [sum(shares) / len(differences) for shares in zip(*parts, strict=True)]
        for parts in ([each.answers for each in differences], [each.outcomes for each in differences])
    )
    shift = max(each.shift for each in differences)
    return _Difference(answers, outcomes, shift, Interval(None, None, "the largest of all conditions"))


def _record(evaluate: Evaluate, result: Result, difference: _Difference, group: Mapping[str, str]) -> dict[str, Metric]:
    clusters, metrics = [row.cluster for row in result.headline_rows[: result.n]], {}

    def record(name: str, value: float, ends: Interval, unit: str, what: str) -> None:
        metric = Metric(value, name=name, lower=ends.lower, upper=ends.upper, n=result.n, unit=unit)
        metric.direction, metric.method = metric_kind(name).direction, f"{what}: {ends.method}"
        metrics[name] = evaluate.record(name, metric, group=group)

    for what, shares in (("answers", difference.answers), ("outcomes", difference.outcomes)):
        interval = proportion(shares, clusters)
        record(f"same_{what}", sum(shares) / len(shares), interval, SHARE, f"share of the same {what} as at first")
    unit = metric_kind(result.headline_metric).unit
    what = "size of the headline metric's change"
    record("score_shift", difference.shift, difference.ends, POINTS if unit in FRACTIONS else unit, what)
    return metrics


def _difference(
    evaluator: Evaluator, result: Result, condition: RerunVariant, options: Mapping[str, str]
) -> _Difference | None:
    """What ``condition`` changes, over all copies; None where it is not available, of which the evaluator notes why."""
    before = result.headline_rows[: result.n]
    copies = evaluator.ask_again(result, condition, options)
    if not copies:
        return None
    shifts = [abs(result.estimate_of(rows) - result.estimate_of(before)) for rows in copies]
    if not all(map(math.isfinite, shifts)):
        first = next((row.answers.error for rows in [before, *copies] for row in rows if row.answers.error), "")
        what = f"{result.headline_metric} is not a number under {condition.name}"
        raise FatalError(f"{what}, so nothing can be said ({first})")
    return _Difference(
        _same(_texts, before, copies),
        _same(_outcome, before, copies),
        max(shifts),
        _ends(result.headline_metric, before, copies[shifts.index(max(shifts))]),
    )


def _same(
    what: Callable[[ScoredSample], object], before: Sequence[ScoredSample], copies: Sequence[Sequence[ScoredSample]]
) -> list[float]:
    """For each sample the share of its copies of which ``what`` is as before."""
    return [
        sum(what(row) == what(first) for row in rows) / len(copies)
        for first, *rows in zip(before, *copies, strict=True)
    ]


def _ends(metric: str, before: Sequence[ScoredSample], after: Sequence[ScoredSample]) -> Interval:
    """The interval of the size by which ``metric`` moves, by the test of pairs that a gate makes."""
    scored = [
        (first.scores, copy.scores, first.cluster)
        for first, copy in zip(before, after, strict=True)
        if first.scores is not None and copy.scores is not None
    ]
    if not scored:
        return none("no sample has a score in both runs")
    firsts, others, clusters = zip(*scored, strict=True)
    drop = drop_of(metric_kind(metric), firsts, others, clusters if repeat(clusters) else None, Question(0.0))
    if drop.lower is None or drop.upper is None:
        return none(drop.method)
    most, least = max(-drop.lower, drop.upper), max(0.0, drop.lower, -drop.upper)
    return Interval(least, most, drop.method)


def _by_batch(
    evaluate: Evaluate, dataset: Dataset, protocol: Protocol, clip: str, sizes: Sequence[int]
) -> dict[str, Metric]:
    """One sample with copies of itself: what each batch answers is printed, and how many as the first is recorded."""

    def read(places: Places) -> Sequence[Sample]:
        if chosen := [sample for sample in dataset.read(places) if sample.id == clip]:
            return chosen
        raise UsageError(f"{dataset.name} has no sample {clip!r}")

    result = evaluate(replace(dataset, name=f"{dataset.name}/{clip}", read=read), protocol, control=True)
    model, metrics = evaluator_of(evaluate).handle, dict[str, Metric]()
    for doubt in _beyond(model, sizes):
        result.warn(doubt)
    for size in (size for size in sizes if size <= model.limits.max_batch):
        rows = [row for copy in evaluator_of(evaluate).ask_again(result, repeated(size)) for row in copy]
        same = [_texts(row) == _texts(result.headline_rows[0]) for row in rows]
        taken_s = sum(each.share_s or 0.0 for row in rows for each in row.answers.responses.values())
        texts = [text for row in rows for text in _texts(row)]
        print(f"===== batch={size} =====", texts, f"elapsed {taken_s}s", sep="\n")
        share = Metric(sum(same) / size, name="same_answers", n=size, unit=SHARE, method="share of the batch")
        metrics[f"batch-{size}"] = evaluate.record("same_answers", share, group={"condition": f"batch-{size}"})
    return metrics


def _texts(row: ScoredSample) -> list[str]:
    """What was answered at every stage; an asking that failed is the same as nothing else."""
    if row.answers.error is not None:
        return [f"error {id(row)}"]
    return [output.text for response in row.answers.responses.values() for output in response.outputs]


def _outcome(row: ScoredSample) -> object:
    """What the headline made of the answer: its statistics, nothing of one that it leaves out."""
    return _texts(row) if row.answer is None else row.scores
