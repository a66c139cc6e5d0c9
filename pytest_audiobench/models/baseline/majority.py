"""A model that has seen the labels and hears nothing: what the prior alone is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

from pytest_audiobench.identity import digest
from pytest_audiobench.models.baseline.letters import chosen
from pytest_audiobench.models.baseline.trained import normalised, read_description
from pytest_audiobench.models.messages import Ask, Request, Response
from pytest_audiobench.models.model import Limits


class Majority:
    """Takes the option that answers most questions of the bundled training split, the first among equals."""

    spec = "baseline:majority"
    batching: Literal["planned", "opaque"] = "opaque"
    limits = Limits(max_batch=1024, max_batch_s=1e9, max_clips=64)
    listens = False
    device = "cpu"

    def fingerprint(self) -> Mapping[str, str]:
        return {"baseline": "majority/1", "counts": digest(self._counts)}

    def load(self) -> None:
        """The counts are read when they are first needed."""

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        return [self._answer(ask.request) for ask in batch]

    def close(self) -> None:
        """Nothing to free."""

    def _answer(self, request: Request) -> Response:
        if not request.choices:
            return Response.of("")
        counts = [self._counts.get(normalised(option), 0) for option in request.choices]
        return chosen(request.choices, counts.index(max(counts)))

    @cached_property
    def _counts(self) -> dict[str, int]:
        """How many questions of the training split have which answer."""
        counts: dict[str, int] = read_description()["answers"]
        return counts
