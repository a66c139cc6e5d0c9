"""Edits, rules and recipes by name and version: the one that is meant, or what there is instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from pytest_audiobench.errors import UsageError

Kind = TypeVar("Kind")


def registered(what: str, kinds: Mapping[tuple[str, int], Kind], name: str, version: int) -> Kind:
    """The kind of that name and version; ``what`` says what it is one of. Raises UsageError, naming those there are."""
    kind = kinds.get((name, version))
    if kind is None:
        known = ", ".join(f"{one} version {number}" for one, number in sorted(kinds))
        raise UsageError(f"no {what} is named {name!r} in version {version}; there are {known}")
    return kind
