"""Why a published rule found no option."""

from __future__ import annotations

from pytest_audiobench.models.messages import Finish
from pytest_audiobench.protocols.protocol import Answer


def unanswered(text: str, finish: Finish) -> Answer:
    """The status of ``text`` where a rule that knows no refusals found nothing in it."""
    if not text.strip():
        return Answer("empty")
    return Answer("truncated" if finish == "length" else "refused" if finish == "refusal" else "unparsed")
