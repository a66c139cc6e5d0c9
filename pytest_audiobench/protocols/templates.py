"""Prompts with placeholders, taken apart once and filled for each sample."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence

from pytest_audiobench.errors import UsageError


def parsed(template: str, known: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of literal text and the placeholder behind it ("" at the end); ``{{`` and ``}}`` are braces.

    Raises UsageError for a template that cannot be read, and for a placeholder that is not ``known``.
    """
    try:
        pieces = list(string.Formatter().parse(template))
    except ValueError as error:
        raise UsageError(f"the prompt {template!r} cannot be read ({error}); write a brace as {{{{ or }}}}") from None
    for _, name, specification, conversion in pieces:
        if name is not None and (name not in known or specification or conversion):
            *others, last = (f"{{{one}}}" for one in known)
            are = f"known are {', '.join(others)} and {last}" if others else f"known is {last}"
            written = name + (f"!{conversion}" if conversion else "") + (f":{specification}" if specification else "")
            raise UsageError(f"the prompt {template!r} has the unknown placeholder {{{written}}}; {are}")
    return [(literal, name or "") for literal, name, _, _ in pieces]


def filled(template: Sequence[tuple[str, str]], values: Mapping[str, str]) -> str:
    """The text of a parsed template with each placeholder's value."""
    return "".join(literal + (values[name] if name else "") for literal, name in template)
