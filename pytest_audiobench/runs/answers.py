"""All answers of one eval: every stage of every sample in every epoch, asked for or found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pytest_audiobench.models.messages import Message, Request, Response
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.runs.ask import Asker
from pytest_audiobench.runs.handle import Handle
from pytest_audiobench.runs.plan import Planned, duration_bucket
from pytest_audiobench.runs.requests import Requester
from pytest_audiobench.runs.slices import Slice, Taken


class Answered(NamedTuple):
    """One sample in one epoch: its responses by stage, the keys and messages they were asked with, or its error."""

    taken: Taken
    epoch: int
    responses: Mapping[str, Response]
    keys: Mapping[str, str]
    messages: Mapping[str, tuple[Message, ...]]
    error: str | None

    @property
    def sample_id(self) -> str:
        return self.taken.sample.id


def gather(slice_: Slice, protocol: Protocol, handle: Handle, asker: Asker, epochs: int) -> list[Answered]:
    """Ask every stage in turn, epoch by epoch, in hash order; a sample that failed is not asked in the next stage."""
    return [one for epoch in range(epochs) for one in _epoch(slice_, protocol, handle, asker, epoch)]


def _epoch(slice_: Slice, protocol: Protocol, handle: Handle, asker: Asker, epoch: int) -> Iterator[Answered]:
    responses: list[dict[str, Response]] = [{} for _ in slice_.taken]
    keys: list[dict[str, str]] = [{} for _ in slice_.taken]
    messages: list[dict[str, tuple[Message, ...]]] = [{} for _ in slice_.taken]
    errors = [taken.error for taken in slice_.taken]
    for stage in protocol.stages:
        requester = Requester(handle, stage, slice_.dataset.name, epoch)
        asked = [i for i, error in enumerate(errors) if error is None]
        made = [requester.request(slice_.taken[i], responses[i]) for i in asked]
        for i, request in zip(asked, made, strict=True):
            keys[i][stage.name], messages[i][stage.name] = request.key, request.messages
        # Samples come in hash order, so a repeated request belongs to the first window that holds it.
        first = {
            request.key: (request, slice_.taken[i]) for i, request in reversed(list(zip(asked, made, strict=True)))
        }
        unique = list(first.values())
        got = asker.responses([request for request, _ in unique], _planned(unique))
        for i, request in zip(asked, made, strict=True):
            response = got[request.key]
            if response.error is not None:
                errors[i] = response.error
            else:
                responses[i][stage.name] = response
    for i, taken in enumerate(slice_.taken):
        yield Answered(taken, epoch, responses[i], keys[i], messages[i], errors[i])


def _planned(unique: Sequence[tuple[Request, Taken]]) -> list[Planned]:
    return [
        Planned(bytes.fromhex(request.key), duration_bucket(taken.duration_s), taken.window, taken.duration_s or 0.0)
        for request, taken in unique
    ]
