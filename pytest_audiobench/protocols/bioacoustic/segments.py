"""What a post-processing step makes of the pieces of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_audiobench.errors import UsageError


class PipelineError(UsageError):
    """A post-processing step that is unknown, or that cannot work with the parameters it was given."""


class Segments(NamedTuple):
    """The pieces of an answer, and what a step had to say about those it could not keep."""

    segments: tuple[str, ...]
    warnings: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The pieces in one line, as BEANS-Next stores and scores them."""
        return ", ".join(self.segments)


def need_labels(step: str, labels: Sequence[str]) -> None:
    if not labels:
        raise PipelineError(f"{step} needs at least one label")
