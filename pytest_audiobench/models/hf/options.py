"""The options of an ``hf:`` spec: their names, and how their values are read. Nothing here imports torch."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from pytest_audiobench.errors import UsageError

OPTIONS = (
    *("attn", "batch", "batch_s", "compile", "device", "device_map", "download", "dtype"),
    *("pad_s", "padding", "revision", "trust"),
)
FAMILY_OPTIONS = ("beams", "labels", "language", "repetition_penalty", "template", "voice")
SPEAKERS = "spk_dict.safetensors"
"""Next to the weights of a model that speaks: ``NAME.bos_token``, ``NAME.cond`` and ``NAME.ref_mel`` of each voice."""
DEVICE_MAPS = ("auto", "balanced", "sequential")
DTYPES = ("float32", "bfloat16", "float16")
PADDINGS = ("left", "right")
NO_ROOM = "runs out of memory on this request alone"
"""The end of the error of a request that cannot be halved any further."""


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


def tidy(name: str) -> str:
    """A label or option without case, punctuation and underscores, as two spellings of it are compared."""
    return " ".join(re.sub(r"[\W_]+", " ", name.casefold()).split())


def label_map(text: str) -> Mapping[str, str]:
    """``LABEL:OPTION|LABEL:OPTION`` as a dictionary of tidy names. Raises UsageError when it cannot be read."""
    meant = {}
    for pair in filter(None, text.split("|")):
        label, colon, option = pair.partition(":")
        if not (colon and tidy(label) and tidy(option)):
            raise UsageError(f"labels={text} of an hf model cannot be read; write LABEL:OPTION|LABEL:OPTION")
        meant[tidy(label)] = tidy(option)
    return meant


def check_template(text: str) -> None:
    """Raise UsageError when ``text`` has not one ``{}``, where an option's name is put."""
    if text.count("{}") != 1 or text.count("{") != 1 or text.count("}") != 1:
        raise UsageError(f"template={text} of an hf model has to hold {{}} once, for the option")
