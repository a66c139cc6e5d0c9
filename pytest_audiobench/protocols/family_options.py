"""Options of families as they are written down: in a file, on the command line, in the record of a run."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.catalogue import FAMILIES, function_of


def check_options(name: str, options: Mapping[str, object]) -> None:
    """Raises UsageError for a family that there is not, and for options written down that it does not take."""
    if name not in FAMILIES:
        raise UsageError(f"no family of protocols is called {name!r}; there are {', '.join(FAMILIES)}")
    known = options_of(name)
    for option, value in options.items():
        if option not in known:
            raise UsageError(f"{name} has no option {option!r}; it has {', '.join(known)}")
        if not any(_is(value, kind) for kind in known[option]):
            wanted = " or ".join(dict.fromkeys(map(_in_words, known[option])))
            raise UsageError(f"{name} takes {wanted} as its {option}, not {value!r}")


def options_of(name: str) -> dict[str, tuple[Any, ...]]:
    """The family's options that can be written down, each with the types or literals that it takes."""
    function = inspect.unwrap(function_of(name))
    hints = get_type_hints(function)
    named = [one.name for one in inspect.signature(function).parameters.values() if one.kind is one.KEYWORD_ONLY]
    kinds = {option: tuple(kind for kind in _kinds(hints[option]) if _in_words(kind)) for option in named}
    return {option: found for option, found in kinds.items() if found != () and set(found) != {type(None)}}


def _kinds(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in (Union, UnionType):
        return tuple(kind for one in get_args(hint) for kind in _kinds(one))
    return get_args(hint) if get_origin(hint) is Literal else (hint,)


def _in_words(kind: Any) -> str:
    known = {str: "a string", int: "a whole number", bool: "true or false", type(None): "none"}
    if isinstance(kind, str):
        return repr(kind)
    return "a list of strings" if kind == Sequence[str] else known.get(kind, "")


def _is(value: object, kind: Any) -> bool:
    if isinstance(kind, str):
        return value == kind
    if kind == Sequence[str]:
        return isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)
    return type(value) is kind
