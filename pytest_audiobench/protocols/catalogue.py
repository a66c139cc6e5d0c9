"""The families of protocols there are, a way of asking each, with all their readings."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType

from pytest_audiobench.protocols.protocol import Protocol

FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        "judged": "Answers in words, weighed by another model",
        "multiple_choice": "One option of a list",
        "transcription": "The words of speech",
    }
)
"""A family's name, which is also its module's and its function's, and what it asks for."""


def family(name: str) -> Protocol:
    """The family's protocol as it comes, with every reading it has among ``available``."""
    module = importlib.import_module(f"pytest_audiobench.protocols.{name}")
    made: Protocol = getattr(module, name)()
    return made


def known_readings() -> frozenset[str]:
    """The names of all readings of all families."""
    return frozenset(name for one in FAMILIES for name in family(one).available)
