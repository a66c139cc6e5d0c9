"""How far repetitions of the same questions agree."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from pytest_audiobench.errors import UsageError


def across_epochs(
    values_by_epoch: Sequence[float | None], answers_by_epoch: Sequence[Sequence[str | None]]
) -> dict[str, float | int | None]:
    """Mean and spread of a metric over epochs, and the agreement of the answers.

    ``values_by_epoch`` holds the metric of each epoch (None or NaN where it was no number),
    ``answers_by_epoch`` each epoch's answers, the same samples in the same order, None where an answer was
    not parsed. Returns JSON-ready values: ``epochs``, ``mean``, ``spread`` (the sample standard deviation
    over epochs), ``min``, ``max``, ``n`` (samples), ``agreement``: the share of samples whose answer is the
    same in all epochs. An unparsed answer agrees with nothing, not even with another unparsed one: two
    texts that could not be read are not known to say the same. None stands for what has no value: the
    spread of fewer than two numbers, the agreement of fewer than two epochs or of no samples, every number
    when an epoch has none. Raises UsageError when epochs differ in their samples.
    """
    epochs = len(answers_by_epoch)
    sizes = {len(answers) for answers in answers_by_epoch}
    if len(values_by_epoch) != epochs or len(sizes) > 1:
        raise UsageError(
            f"epochs cannot be compared: {len(values_by_epoch)} values, "
            f"and answers to {[len(answers) for answers in answers_by_epoch]} samples"
        )
    n = sizes.pop() if sizes else 0
    same = sum(len(set(answers)) == 1 and None not in answers for answers in zip(*answers_by_epoch, strict=True))
    values = [value for value in values_by_epoch if value is not None and math.isfinite(value)]
    whole = bool(values) and len(values) == epochs
    return {
        "epochs": epochs,
        "mean": statistics.fmean(values) if whole else None,
        "spread": statistics.stdev(values) if whole and epochs > 1 else None,
        "min": min(values) if whole else None,
        "max": max(values) if whole else None,
        "n": n,
        "agreement": same / n if n and epochs > 1 else None,
    }
