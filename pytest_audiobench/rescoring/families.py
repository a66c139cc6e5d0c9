"""The protocol that recorded answers are read by: a family as it was called, or as a user names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.catalogue import check_options
from pytest_audiobench.protocols.prompt_variants import WORDING_SET, WORDINGS, recorded_protocol
from pytest_audiobench.protocols.protocol import Option, Protocol

_WORDS: Mapping[str, Option] = {"true": True, "false": False, "none": None}


def parse_family(written: str) -> tuple[str, dict[str, Option]]:
    """``translation,target=zh`` as a family's name and its options. Raises UsageError for what cannot be read."""
    name, *pairs = (part.strip() for part in written.split(","))
    options: dict[str, Option] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--family {written!r}: {pair!r} is no KEY=VALUE")
        options[key.strip()] = _value(value.strip())
    return name, options


def protocol_of(name: str, options: Mapping[str, Any]) -> Protocol:
    """The family ``name`` called with ``options``. Raises UsageError for a family or an option that there is not."""
    check_options(name, {option: value for option, value in options.items() if option not in (WORDINGS, WORDING_SET)})
    return recorded_protocol(name, options)


def _value(text: str) -> Option:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    return int(text) if text.removeprefix("-").isdecimal() else text
