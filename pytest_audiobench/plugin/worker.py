"""An xdist worker's part: its device, before anything imports torch."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_audiobench.plugin import options
from pytest_audiobench.plugin.devices import place_worker

RUN = "audiobench_run"
"""The key in ``workerinput`` under which the controller names the run."""


def run_of(config: pytest.Config) -> str | None:
    """The run's name as the controller gave it; None outside xdist's workers."""
    given: dict[str, Any] = getattr(config, "workerinput", {})
    return given.get(RUN)


def place_on_device(config: pytest.Config) -> None:
    given: dict[str, Any] = config.workerinput  # type: ignore[attr-defined]
    number = int(str(given["workerid"]).removeprefix("gw"))
    workers = int(given["workercount"])
    models = options.read_options(config).models
    in_process = any("hf:" in model.partition(",")[0] for model in models)
    place_worker(number % workers, workers, in_process)
