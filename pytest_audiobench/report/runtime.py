"""What a run's record says of the machine that made it: nothing of this enters a hash."""

from __future__ import annotations

import platform
import sys
import time
from importlib import metadata
from typing import Any

_PACKAGES = (
    "pytest-audiobench",
    "pytest",
    "numpy",
    "soundfile",
    "soxr",
    "jiwer",
    "sacrebleu",
    "torch",
    "transformers",
    "pocketsphinx",
)


def runtime() -> dict[str, Any]:
    """Python, platform and the versions of what may change a number."""
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "platform": platform.platform(),
        "packages": _versions(),
    }


def iso(seconds: float) -> str:
    """A time since the epoch as ISO 8601 in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
