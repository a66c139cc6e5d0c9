"""Extensions in other installed packages, and things that are asked for by name: found, called, or refused in words.

A package names its extension under the entry point group ``pytest_audiobench.extensions``. None is looked for before
somebody asks for a name that this package does not have.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from pytest_audiobench.errors import AudiobenchError, UsageError
from pytest_audiobench.io.mistakes import nearest

GROUP = "pytest_audiobench.extensions"
CONTRACT = 1
"""The version of what ``pytest_audiobench.ext`` promises; an extension says for which it was written."""

_MOST_LISTED = 40
_LONGEST_REASON = 300
_state: dict[str, list[str]] = {}

T = TypeVar("T")


def load() -> Sequence[str]:
    """Let every installed extension register what it adds, once in a process; a sentence on each that could not."""
    if "problems" not in _state:
        # Set first: an extension that asks for an unknown name while it registers must not begin again.
        problems = _state["problems"] = []
        for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
            problems += _problems(point)
    return _state["problems"]


def _problems(point: EntryPoint) -> list[str]:
    package = f" ({point.dist.name} {point.dist.version})" if point.dist else ""
    what = f"the extension {point.name!r}{package}"
    try:
        extension = point.load()
        contract = getattr(extension, "contract", None)
        if contract is None:
            return [f"{what} is not a pytest_audiobench.ext.Extension: name one in its entry point"]
        if contract != CONTRACT:
            versions = f"contract {contract!r} of pytest_audiobench.ext, and here is contract {CONTRACT}"
            return [f"{what} is written for {versions}: install a version of it for this one"]
        extension.load()
    except AudiobenchError as error:
        return [f"{what} cannot be used: {error}"]
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return [f"{what} cannot be loaded: {reason[:_LONGEST_REASON]}"]
    return []


def lookup(table: Mapping[str, T], name: str, what: str) -> T:
    """What ``table`` has under ``name``, when need be after the extensions are loaded, which may add to it.

    Raises UsageError, with the names nearest to it and what is wrong with extensions, for a name that is not there.
    """
    if name not in table:
        load()
    if name not in table:
        raise UsageError(f"no {what} is called {name[:60]!r}; {suggestion(name, table)}")
    return table[name]


def suggestion(name: str, names: Iterable[str]) -> str:
    """The end of a sentence that refuses ``name``: the nearest of ``names`` or all, and extensions that are missing."""
    known = sorted(names)
    return "; ".join([nearest(name, known, f"there are {', '.join(known[:_MOST_LISTED])}"), *load()])


def imported(place: str) -> Any:
    """What ``module:attribute`` names, with the module's path inside this package."""
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(f"{__package__}.{module}"), attribute)


def call_named(name: str, function: Callable[..., T], arguments: Sequence[Any], options: Mapping[str, Any]) -> T:
    """``function`` called. Raises UsageError, with the arguments that it takes, where these do not fit."""
    signature = inspect.signature(function)
    try:
        signature.bind(*arguments, **options)
    except TypeError as error:
        taken = ", ".join(map(_in_words, signature.parameters.values()))
        raise UsageError(f"{name} takes ({taken}): {error}") from None
    return function(*arguments, **options)


def _in_words(parameter: inspect.Parameter) -> str:
    star = "*" * ((parameter.kind is parameter.VAR_POSITIONAL) + 2 * (parameter.kind is parameter.VAR_KEYWORD))
    if parameter.default is parameter.empty:
        return f"{star}{parameter.name}"
    plain = parameter.default is None or isinstance(parameter.default, (str, int, float, bool, tuple))
    default = repr(parameter.default) if plain else "…"
    return f"{parameter.name}={default if len(default) <= 40 else '…'}"
