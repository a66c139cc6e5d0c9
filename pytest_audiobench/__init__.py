"""Benchmarks for audio-language models that are ordinary pytest tests.

What a test file needs is imported from here, what an extension needs from ``pytest_audiobench.ext``; every other module
is private. Each name is loaded when it is first used, since pytest imports this package in every run that it is
installed for.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

_IMPORT = re.compile(r"^from (\S+) import (\w+) as \2$", re.M)


def _public_names(module: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of ``module`` for the names that the stub next to its ``file`` imports."""
    places = {name: home for home, name in _IMPORT.findall(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))}

    def loaded(name: str) -> Any:
        if name == "__all__":
            return sorted(places)
        if name not in places:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home = importlib.import_module(places[name])
        return getattr(home, name) if hasattr(home, name) else importlib.import_module(f"{places[name]}.{name}")

    return loaded, lambda: sorted(places)


__getattr__, __dir__ = _public_names(__name__, __file__)
