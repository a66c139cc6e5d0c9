"""Paths that others wrote: relative, with forward slashes, and never leading out of their folder."""

from __future__ import annotations

import re
from pathlib import PurePosixPath, PureWindowsPath

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")

_HALF = re.compile(r"[\ud800-\udfff]")
_PLAIN = re.compile(r"[\w-](?:[^/\\:\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|/(?=[\w-]))*")
"""Paths that need no closer look: every part begins with a letter, digit, underscore or hyphen."""


def relative_path(written: str) -> str:
    """``written`` in its one form (``./a//b.wav`` is ``a/b.wav``).

    Raises ValueError, which says what is wrong, for a path that is no path inside a folder. Whether a
    symbolic link leads out of the folder is seen when the file is read.
    """
    if _PLAIN.fullmatch(written):
        return written
    if CONTROL.search(written):
        raise ValueError(f"the path {written!r} holds a control character")
    if _HALF.search(written):
        raise ValueError(f"the path {written!r} is not UTF-8")
    if "\\" in written:
        raise ValueError(f"the path {written!r} holds a backslash; write it with forward slashes")
    path = PurePosixPath(written)
    if path.is_absolute() or PureWindowsPath(str(path)).drive or ".." in path.parts:
        raise ValueError(f"the path {written!r} leaves its folder; write it relative to the folder, without ..")
    if not path.parts:
        raise ValueError("the path is empty")
    return str(path)
