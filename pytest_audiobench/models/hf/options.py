"""The options of an ``hf:`` spec: their names, and how their values are read. Nothing here imports torch."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path

OPTIONS = (
    "attn",
    "batch",
    "device",
    "device_map",
    "download",
    "dtype",
    "max_s",
    "pad_s",
    "revision",
    "trust",
)
FAMILY_OPTIONS = ("beams", "labels", "language", "repetition_penalty", "template")
DEVICE_MAPS = ("auto", "balanced", "sequential")
DTYPES = ("float32", "bfloat16", "float16")


def split_target(target: str) -> tuple[str, str | None]:
    """Base and adapter of ``base+adapter``. A folder whose name holds a plus sign is no such pair."""
    base, plus, adapter = target.rpartition("+")
    if not (plus and base and adapter) or Path(target).expanduser().is_dir():
        return target, None
    return base, adapter


def has_cuda() -> bool:
    """A CUDA build of torch and a visible NVIDIA device; :meth:`HfModel.load` finds out whether they work."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1") or sys.platform == "darwin":
        return False
    try:
        build = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return False
    devices = (Path("/dev/nvidia0"), Path("/dev/nvidiactl"), Path("/dev/dxg"))
    return not build.endswith("+cpu") and (sys.platform == "win32" or any(device.exists() for device in devices))
