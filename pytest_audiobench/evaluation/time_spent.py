"""What asking takes, added up while it goes on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_audiobench.models.model import Limits


@dataclass
class Time:
    """Seconds by the clock: ``loading_s`` within ``Model.load``, ``model_s`` within ``Model.ask``
    (without waiting for other workers where they share it), ``asking_s`` from the first to the last missing
    answer, without the loading.

    ``planned_s`` adds up the clips of all planned batches, ``filled_s`` what the front end makes of them.
    """

    loading_s: float = 0.0
    model_s: float = 0.0
    asking_s: float = 0.0
    planned_s: float = 0.0
    filled_s: float = 0.0

    def add_batch(self, durations_s: Sequence[float], limits: Limits) -> None:
        """Count a planned batch: every clip is filled up to the longest, or to the front end's own length."""
        window_s = limits.max_clip_s or float("inf")
        played = [min(duration_s, window_s) for duration_s in durations_s]
        self.planned_s += sum(played)
        self.filled_s += len(played) * max(limits.pads_to_s or 0.0, max(played, default=0.0))
