"""Which device a worker uses, decided before anything imports torch."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

PLACED = "AUDIOBENCH_PLACED"
"""Set in a worker that was given its one device."""


def visible_gpus() -> list[str]:
    """The NVIDIA devices that this process may use, as CUDA_VISIBLE_DEVICES names them; without importing torch."""
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is not None:
        return [name.strip() for name in listed.split(",") if name.strip() not in ("", "-1")]
    folder = Path("/proc/driver/nvidia/gpus")
    return [str(i) for i in range(len(list(folder.iterdir())))] if folder.is_dir() else []


def place_worker(slot: int, workers: int, in_process: bool) -> None:
    """Give the xdist worker in ``slot`` its device, or its share of the cores. With too few devices it is given none.

    Only the worker that runs evals can refuse, and does so when it has collected: a suite without evals is no
    business of ours.
    """
    gpus = visible_gpus()
    if in_process and gpus and workers <= len(gpus):
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus[slot]
        os.environ[PLACED] = "1"
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
