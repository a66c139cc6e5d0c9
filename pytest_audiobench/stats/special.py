"""The functions of ``scipy.special``, imported when the first is called: who only collects need not pay its 0.25 s."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any


def scipy_module(name: str) -> Any:
    """The module of scipy by that name."""
    module = import_module(f"scipy.{name}")
    # numpy.f2py, which scipy imports, leaves re 50 patterns to remember, fewer than normalisers have: Python 3.11 would
    # compile them again for each text.
    vars(re)["_MAXCACHE"] = max(512, vars(re).get("_MAXCACHE", 0))
    return module


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    function = globals()[name] = getattr(scipy_module("special"), name)
    return function
