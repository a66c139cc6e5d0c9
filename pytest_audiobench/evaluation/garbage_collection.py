"""Python's garbage collector, told that a long list of answers is not garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLDS = (50_000, 50, 100)
"""Objects between collections. The default walks every sample again and again while they are made: 11 % of a run."""


@contextmanager
def collector_paused() -> Iterator[None]:
    """Collect garbage seldom within the block, and as before behind it."""
    before = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
