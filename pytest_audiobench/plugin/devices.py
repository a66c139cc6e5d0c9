"""Which devices a run uses, decided before anything imports torch."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Sequence
from pathlib import Path

from pytest_audiobench.errors import UsageError

CPU = "cpu"
_GPU = re.compile(r"(?:cuda:)?(\d+)")


def visible_gpus() -> list[str]:
    """The NVIDIA devices that this process may use, as CUDA_VISIBLE_DEVICES names them; without importing torch."""
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is not None:
        return [name.strip() for name in listed.split(",") if name.strip() not in ("", "-1")]
    folder = Path("/proc/driver/nvidia/gpus")
    return [str(i) for i in range(len(list(folder.iterdir())))] if folder.is_dir() else []


def chosen_devices(named: Sequence[str]) -> list[str]:
    """The devices that ``--ab-devices`` names: "cpu", or visible GPUs by their places among the caller's.

    Returned as CUDA_VISIBLE_DEVICES names them. Raises UsageError for a device that is not visible, or named twice.
    """
    gpus, found = visible_gpus(), []
    for name in named:
        match = _GPU.fullmatch(name)
        if name != CPU and (match is None or int(match[1]) >= len(gpus)):
            there = f"{len(gpus)} visible GPU(s), 0 to {len(gpus) - 1}" if gpus else "no visible GPU"
            raise UsageError(f"--ab-devices names {name!r}, and there is {there}; write 0, cuda:1 or cpu")
        found.append(CPU if match is None else gpus[int(match[1])])
    twice = [name for name in found if name != CPU and found.count(name) > 1]
    if twice:
        raise UsageError(f"--ab-devices names the GPU {twice[0]} twice: one process for each device is enough")
    return found


def environment_of(device: str) -> dict[str, str]:
    """The variables under which a process sees this one device."""
    return {"CUDA_VISIBLE_DEVICES": "" if device == CPU else device}


def share_cores(workers: int) -> None:
    """Tell in-process models of this worker how many threads are its own."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    os.environ.setdefault("AUDIOBENCH_THREADS", str(max(1, cores // workers)))


def gpu_missing() -> str | None:
    """Why no GPU can be used here, or None when one can."""
    if importlib.util.find_spec("torch") is None:
        return "needs a GPU, and torch is not installed (pip install 'pytest-audiobench[hf]')"
    import torch

    if torch.cuda.is_available() or torch.backends.mps.is_available():
        return None
    return "needs a GPU, and torch sees none"
