"""Numbers that runs and studies record of the asking itself; no scorer yields them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.metric import Clusters, Direction, Estimate, MetricKind, Statistics
from pytest_audiobench.metrics.units import POINTS, SHARE


def not_of_samples(statistics: Sequence[Statistics], clusters: Clusters) -> Estimate:
    """The ``estimate`` of a metric that a run or a test records itself. Raises UsageError."""
    raise UsageError("this metric is recorded by the run, not estimated from samples: leave it out of a scorer")


KINDS = tuple(
    MetricKind(name, cast(Direction, direction), unit, not_of_samples, about=about)
    for name, direction, unit, about in (
        *(
            (f"adds_over_{control}", "higher", POINTS, f"What the real audio adds over the {control} control.")
            for control in ("silence", "swapped", "text")
        ),
        ("same_answers", "higher", SHARE, "The share of answers that come out the same when asked again."),
        ("score_shift", "lower", POINTS, "How far the score moves when the same is asked again."),
        ("samples_per_s", "higher", "samples/s", "Samples answered in a second of asking."),
        ("rtfx", "higher", "× real time", "Seconds of audio answered in a second of asking."),
        ("tokens_per_s", "higher", "tokens/s", "Tokens generated in a second of asking."),
        ("first_token_s", "lower", "s", "The median time to an answer's first token."),
        ("padding_waste", "lower", SHARE, "The share of what the front end is played that is padding."),
        ("model_share", "higher", SHARE, "The share of the asking's wall time within the model."),
        ("peak_memory_mb", "lower", "MB", "The most memory that the loaded model held."),
    )
)
