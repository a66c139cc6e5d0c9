"""How the baselines put an answer, or that they cannot tell."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_audiobench.models.messages import Response, choice_said

UNKNOWN = "I cannot tell."


def chosen(choices: Sequence[str], position: int) -> Response:
    """The option at ``position``: its letter, beyond Z its text, yes or no to a probe for a sound."""
    return Response.of(choice_said(choices, position))
