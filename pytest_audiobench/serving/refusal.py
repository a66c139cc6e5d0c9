"""A call that is refused as a whole, with its HTTP status."""

from __future__ import annotations


class Refused(Exception):
    """``status`` is the answer's; ``retry_after_s`` tells a client when to come back, where that may help."""

    def __init__(self, status: int, message: str, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after_s = status, message, retry_after_s


class TurnedAway(Refused):
    """Refused at the door, before the body was read."""
