"""Does a model repeat itself? The same clips in other batches, and what that does to answers and score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.evaluation.rerun import RerunVariant, batches_of, of_dtype, repeated, rerun, reversed_order
from pytest_audiobench.evaluation.result import Result
from pytest_audiobench.evaluation.scoring import ScoredSample
from pytest_audiobench.metrics.metric import POINTS, SHARE
from pytest_audiobench.metrics.value import Metric
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.records.run import NoiseMeasurement, NoiseShare
from pytest_audiobench.studies.evaluate import Evaluate, Evaluator, evaluator_of


def determinism(
    evaluate: Evaluate,
    dataset: Dataset,
    protocol: Protocol,
    *,
    samples: int | None = 50,
    batch_sizes: Sequence[int] = range(1, 11),
    copies: int = 4,
    dtypes: Sequence[str] = (),
) -> Mapping[str, Metric]:
    """Ask about ``samples`` of ``dataset`` as planned, then again under other conditions, and record what differs.

    The conditions: the same batches again; for models whose batches are planned also batches of each of
    ``batch_sizes`` in hash order, each clip ``copies`` times in one batch, and the planned batches in reversed order;
    and the model in each of ``dtypes`` (in-process models only). Recorded are ``same_answers`` (the share of answers
    that are the same text) and ``score_shift`` (how far the headline metric moves, in points, as a size), by condition
    and over all: the mean of the former, the largest of the latter. These are the model's noise floor, which is put on
    record. Nothing is required: thresholds may be. Skips the test for a model that is played no audio (a replay has
    answers to one asking only). Raises UsageError for dtypes of a model that has none.
    """
    evaluator = evaluator_of(evaluate)
    model = evaluator.handle
    if not model.listens:
        pytest.skip(f"{model.spec} is played no audio: there is nothing that it could repeat")
    result = evaluate(dataset, protocol, samples=samples)
    conditions = [rerun()]
    if model.planned:
        sizes = [size for size in batch_sizes if size <= model.limits.max_batch]
        conditions += [reversed_order(), *map(batches_of, sizes)]
        conditions += [repeated(copies)] if copies <= model.limits.max_batch else []
    if dtypes and not model.planned:
        raise UsageError(f"{model.spec} has no dtype to choose: leave dtypes out")
    variants: list[tuple[RerunVariant, Mapping[str, str]]] = [(variant, {}) for variant in conditions]
    variants += [(of_dtype(dtype), {"dtype": dtype}) for dtype in dtypes]
    differences = {variant.name: _difference(evaluator, result, variant, options) for variant, options in variants}
    shares, shifts = zip(*differences.values(), strict=True)
    same, shift = _record_difference(evaluate, result.n, sum(shares) / len(shares), max(shifts), {})
    for name, (share, shift_) in differences.items():
        _record_difference(evaluate, result.n, share, shift_, {"condition": name})
    evaluator.note_noise(
        NoiseMeasurement(
            dataset=dataset.name,
            n=result.n,
            metric=result.headline_metric,
            same_answers=float(same),
            score_shift=float(shift),
            conditions={name: NoiseShare(*difference) for name, difference in differences.items()},
        )
    )
    return {"same_answers": same, "score_shift": shift}


def _record_difference(
    evaluate: Evaluate, n: int, share: float, shift: float, group: Mapping[str, str]
) -> tuple[Metric, Metric]:
    same = Metric(share, name="same_answers", n=n, unit=SHARE, method="share of answers of the same text as at first")
    moved = Metric(
        shift, name="score_shift", n=n, unit=POINTS, direction="lower", method="size of the headline metric's change"
    )
    return evaluate.record("same_answers", same, group=group), evaluate.record("score_shift", moved, group=group)


def _difference(
    evaluator: Evaluator, result: Result, condition: RerunVariant, options: Mapping[str, str]
) -> tuple[float, float]:
    """The share of same answers, over all copies, and the largest shift of the headline metric by a copy."""
    before = result.headline_rows[: result.n]
    copies = evaluator.ask_again(result, condition, options)
    same = [_texts(first) == _texts(copy) for rows in copies for first, copy in zip(before, rows, strict=True)]
    shifts = [abs(result.estimate_of(rows) - result.estimate_of(before)) for rows in copies]
    if not all(map(math.isfinite, shifts)):
        first = next((row.answers.error for rows in [before, *copies] for row in rows if row.answers.error), "")
        what = f"{result.headline_metric} is no number under {condition.name}"
        raise FatalError(f"{what}, so nothing can be said ({first})")
    return sum(same) / len(same), max(shifts)


def _texts(row: ScoredSample) -> list[str]:
    """What was answered at every stage; an asking that failed is the same as nothing else."""
    if row.answers.error is not None:
        return [f"error {id(row)}"]
    return [output.text for response in row.answers.responses.values() for output in response.outputs]
