"""Which device a worker uses, decided before anything imports torch."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest


def visible_gpus() -> list[str]:
    """The NVIDIA devices that this process may use, as CUDA_VISIBLE_DEVICES names them; without importing torch."""
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is not None:
        return [name.strip() for name in listed.split(",") if name.strip() not in ("", "-1")]
    folder = Path("/proc/driver/nvidia/gpus")
    return [str(i) for i in range(len(list(folder.iterdir())))] if folder.is_dir() else []


def place_worker(worker: int, workers: int, in_process: bool) -> None:
    """Give xdist worker number ``worker`` of ``workers`` its device, or its share of the cores.

    Raises pytest.UsageError when in-process models would share a GPU.
    """
    gpus = visible_gpus()
    if in_process and gpus:
        if workers > len(gpus):
            raise pytest.UsageError(
                f"{workers} workers would share {len(gpus)} visible GPU(s), each with a model of its own: "
                f"use -n {len(gpus)}, hide the GPUs with CUDA_VISIBLE_DEVICES= to run on the CPU, "
                "or put the model behind a server"
            )
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus[worker]
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
