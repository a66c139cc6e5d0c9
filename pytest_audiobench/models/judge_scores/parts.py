"""A rubric's prompt as one message in parts of a fixed order, so that a judge_scores_v1 server can be sent them apart.

A judge that takes text gets the parts one after the other. Their place identifies them, never what they say, so
that no answer can pass itself off as another part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_audiobench.models.messages import Message

JUDGING = "rubric"
"""The one judging whose prompt is made so."""


class RubricParts(NamedTuple):
    """The parts of a rubric's prompt."""

    rubric: str
    """Leads up to the reference."""
    reference: str
    between: str
    """Stands before the candidate."""
    candidate: str
    reply: str
    """How to answer; a server that is sent the parts apart has its own way, and is not sent it."""

    def message(self) -> Message:
        return Message("user", tuple(self))

    @property
    def rendered(self) -> str:
        """The rubric with reference and candidate filled in."""
        return "".join(self[:-1])


def parts_of(messages: Sequence[Message]) -> RubricParts | None:
    """The parts that :meth:`RubricParts.message` made a message of; None for any other messages."""
    if len(messages) != 1 or messages[0].role != "user":
        return None
    texts = [part for part in messages[0].parts if isinstance(part, str)]
    return RubricParts(*texts) if len(texts) == len(messages[0].parts) == len(RubricParts._fields) else None
