"""A model that guesses: the floor under every other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pytest_audiobench.identity import seed
from pytest_audiobench.models.baseline.letters import chosen
from pytest_audiobench.models.messages import Ask, Request, Response
from pytest_audiobench.models.model import Limits


class Chance:
    """Takes an option with equal probability, by a seed made from what is asked; transcribes nothing."""

    spec = "baseline:chance"
    batching: Literal["planned", "opaque"] = "opaque"
    limits = Limits(max_batch=1024, max_batch_s=1e9, max_clips=64)
    listens = False
    device = "cpu"

    def fingerprint(self) -> Mapping[str, str]:
        return {"baseline": "chance/1"}

    def load(self) -> None:
        """Nothing to load."""

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        return [_guess(ask.request) for ask in batch]

    def close(self) -> None:
        """Nothing to free."""


def _guess(request: Request) -> Response:
    if not request.choices:
        return Response.of("")
    return chosen(request.choices, seed("chance", request.key) % len(request.choices))
