"""The workers of a run and the devices that each process sees, decided before anything imports torch."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_audiobench.errors import UsageError, install_command
from pytest_audiobench.plugin.options import read_options
from pytest_audiobench.plugin.stash import CHOSEN

RUN = "audiobench_run"
"""The key in ``workerinput`` under which the controller names the run."""

DEVICES = "audiobench_devices"
"""The key under which it gives a worker the addresses of the devices' processes, its own device's first."""

STARTED = "audiobench_started"
"""The key under which it says when the run started, in seconds since 1970."""

BASELINE = "audiobench_baseline"
"""The key under which it says what ``last`` has become, so that all workers compare with the same run."""

CPU = "cpu"
_GPU = re.compile(r"(?:cuda:)?(\d+)")


def worker_input(config: pytest.Config) -> dict[str, Any]:
    """What the controller gave this worker, under xdist's keys and ours; empty outside xdist's workers."""
    values: dict[str, Any] = getattr(config, "workerinput", {})
    return values


def process_name(config: pytest.Config) -> str:
    """This process as xdist calls it; "main" outside xdist's workers."""
    return str(worker_input(config).get("workerid", "main"))


def is_first(config: pytest.Config) -> bool:
    """Whether this is the process that does what one must do: of xdist's workers the first."""
    return process_name(config) in ("main", "gw0")


def place_on_device(config: pytest.Config) -> None:
    """See what the device's process sees (a model's dtype follows from its device), without workers the first of
    ``--ab-devices`` (UsageError for a GPU and the CPU); else share the cores.
    """
    values = worker_input(config)
    if read_options(config).ray:
        if values or config.getoption("dist", "no") != "no" or read_options(config).devices:
            raise UsageError("--ab-ray has the replicas of a model on its own: leave out -n and --ab-devices")
        if importlib.util.find_spec("ray") is None:
            raise UsageError(f"--ab-ray needs Ray: {install_command('ray')}")
        return
    if shared := values.get(DEVICES):
        os.environ.update(environment_of(shared[0][2]))
    elif values:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        os.environ.setdefault("AUDIOBENCH_THREADS", str(max(1, cores // int(values["workercount"]))))
    elif config.getoption("dist", "no") == "no":
        devices = chosen_devices(read_options(config).devices)
        if CPU in devices and {*devices} != {CPU}:
            raise UsageError("--ab-devices names a GPU and cpu, where answers differ: name one kind, or add -n")
        config.stash[CHOSEN] = devices  # of those that are visible now
        os.environ.update(environment_of(devices[0]))


def visible_gpus() -> list[str]:
    """The NVIDIA devices that this process may use, as CUDA_VISIBLE_DEVICES names them; without importing torch."""
    if (listed := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return [name.strip() for name in listed.split(",") if name.strip() not in ("", "-1")]
    folder = Path("/proc/driver/nvidia/gpus")
    return [str(i) for i in range(len(list(folder.iterdir())))] if folder.is_dir() else []


def chosen_devices(names: Sequence[str]) -> list[str]:
    """The devices that ``--ab-devices`` names ("cpu", or places among visible GPUs), as CUDA_VISIBLE_DEVICES names
    them. Raises UsageError for a device that is not visible, or named twice.
    """
    gpus = visible_gpus()
    devices: list[str] = []
    for name in names:
        match = _GPU.fullmatch(name)
        if name != CPU and (match is None or int(match[1]) >= len(gpus)):
            there = f"{len(gpus)} visible GPU(s), 0 to {len(gpus) - 1}" if gpus else "no visible GPU"
            raise UsageError(f"--ab-devices names {name!r}, and there is {there}; write 0, cuda:1 or cpu")
        device = CPU if match is None else gpus[int(match[1])]
        if device != CPU and device in devices:
            raise UsageError(f"--ab-devices names the GPU {device} twice: one process for each device is enough")
        devices.append(device)
    return devices


def environment_of(device: str) -> dict[str, str]:
    """The variables under which a process sees this one device."""
    return {"CUDA_VISIBLE_DEVICES": "" if device == CPU else device}


def gpu_missing() -> str | None:
    """Why no GPU can be used here, or None when one can."""
    if importlib.util.find_spec("torch") is None:
        return f"needs a GPU, and torch is not installed ({install_command('hf')})"
    import torch

    if torch.cuda.is_available() or torch.backends.mps.is_available():
        return None
    return "needs a GPU, and torch finds none"
