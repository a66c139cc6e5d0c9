"""How the C library keeps the memory that tensors free."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # the names in malloc.h
_KEPT_BYTES = 256 << 20
_LARGEST_BYTES = 32 << 20
"""The most that glibc takes; larger tensors still go back to the system when they are freed."""


def keep_freed_memory() -> None:
    """Let the process keep up to 256 MiB that tensors freed, where the C library is glibc.

    Without it glibc gives the top of the heap back to the system after each batch and asks for it again in the
    next: with small models a fifth of the time goes into having the pages zeroed.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST_BYTES)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
