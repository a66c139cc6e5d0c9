"""How the baselines put an answer: the option's letter, or that they cannot tell."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from pytest_audiobench.models.messages import Response

UNKNOWN = "I cannot tell."


def chosen(choices: Sequence[str], position: int) -> Response:
    """The letter of the option at ``position``; beyond Z its text."""
    return Response.of(ascii_uppercase[position] if position < len(ascii_uppercase) else choices[position])
