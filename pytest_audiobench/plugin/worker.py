"""An xdist worker's part: its device, before anything imports torch."""

from __future__ import annotations

import os
from typing import Any

import pytest

from pytest_audiobench.plugin import options
from pytest_audiobench.plugin.devices import PLACED, place_worker, visible_gpus

RUN = "audiobench_run"
"""The key in ``workerinput`` under which the controller names the run."""

SLOT = "audiobench_slot"
"""The key under which it gives a worker its device's place among the visible ones."""


def run_of(config: pytest.Config) -> str | None:
    """The run's name as the controller gave it; None outside xdist's workers."""
    given: dict[str, Any] = getattr(config, "workerinput", {})
    return given.get(RUN)


def place_on_device(config: pytest.Config) -> None:
    given: dict[str, Any] = config.workerinput  # type: ignore[attr-defined]
    place_worker(int(given[SLOT]), int(given["workercount"]), on_gpu(config))


def on_gpu(config: pytest.Config) -> bool:
    """Whether this run has a model that would be loaded onto a GPU by each worker."""
    models = options.read_options(config).models
    return any("hf:" in model.partition(",")[0] and "device=cpu" not in model for model in models)


def too_many(config: pytest.Config) -> str | None:
    """Why this run's workers cannot each have a GPU of their own, or None when they can."""
    given: dict[str, Any] = getattr(config, "workerinput", {})
    workers, gpus = int(given.get("workercount", 1)), len(visible_gpus())
    if not on_gpu(config) or not gpus or workers <= gpus or PLACED in os.environ:
        return None
    return (
        f"{workers} workers would share {gpus} visible GPU(s), each with a model of its own: use -n {gpus}, "
        "add device=cpu to the model, or put it behind a server"
    )
