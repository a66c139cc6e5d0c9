"""An xdist worker's part: its device, before anything imports torch."""

from __future__ import annotations

import os
from typing import Any

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.plugin.devices import chosen_devices, environment_of, share_cores
from pytest_audiobench.plugin.options import read_options

RUN = "audiobench_run"
"""The key in ``workerinput`` under which the controller names the run."""

DEVICE = "audiobench_device"
"""The key under which it gives a worker the address of its device's process."""

BASELINE = "audiobench_baseline"
"""The key under which it says what ``last`` has become, so that all workers hold their evals against the same run."""


def run_of(config: pytest.Config) -> str | None:
    """The run's name as the controller gave it; None outside xdist's workers."""
    given: dict[str, Any] = getattr(config, "workerinput", {})
    return given.get(RUN)


def device_of(config: pytest.Config) -> list[str] | None:
    """The address of the process that holds this worker's models; None where the worker loads its own."""
    given: dict[str, Any] = getattr(config, "workerinput", {})
    return given.get(DEVICE)


def baseline_of(config: pytest.Config) -> str | None:
    """What the controller found for a baseline that may mean another run by now; None where it found none."""
    given: dict[str, Any] = getattr(config, "workerinput", {})
    return given.get(BASELINE)


def place_on_device(config: pytest.Config) -> None:
    """See what the device's process sees (a model's dtype follows from its device); else share the cores.

    Without workers the run itself takes the one device of ``--ab-devices``. Raises UsageError for several.
    """
    given: dict[str, Any] = getattr(config, "workerinput", {})
    shared = device_of(config)
    if shared is not None:
        os.environ.update(environment_of(shared[2]))
    elif given:
        share_cores(int(given["workercount"]))
    elif config.getoption("dist", "no") == "no":
        devices = chosen_devices(read_options(config).devices)
        if len(devices) > 1:
            raise UsageError(f"--ab-devices names {len(devices)} devices for a run without workers: add -n")
        os.environ.update(environment_of(devices[0]))
