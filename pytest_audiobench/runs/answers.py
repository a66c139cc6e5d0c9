"""All answers of one eval: every stage of every sample in every epoch, asked for or found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from pytest_audiobench.models.messages import Message, Request, Response
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.runs.ask import Asker
from pytest_audiobench.runs.handle import Handle
from pytest_audiobench.runs.plan import Planned, duration_bucket, sample_hash
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


Arrange: TypeAlias = Callable[[Sequence[Planned]], Sequence[Sequence[int]]]
"""Cuts one ask set's requests into batches of its own, as positions, in place of the plan."""


def gather(slice_: Slice, protocol: Protocol, handle: Handle, asker: Asker, epochs: int) -> list[Answered]:
    """Ask every stage in turn, epoch by epoch, in hash order; a sample that failed is not asked in the next stage."""
    return [one for epoch in range(epochs) for one in ask_set(slice_, protocol, handle, asker, [epoch])]


def ask_set(
    slice_: Slice,
    protocol: Protocol,
    handle: Handle,
    asker: Asker,
    epochs: Sequence[int],
    arrange: Arrange | None = None,
) -> list[Answered]:
    """Ask every stage of the slice in each of ``epochs``, the epochs of a stage together in one ask set.

    Returns the samples in hash order, epoch by epoch.
    """
    asked = [(epoch, taken) for epoch in epochs for taken in slice_.taken]
    responses: list[dict[str, Response]] = [{} for _ in asked]
    keys: list[dict[str, str]] = [{} for _ in asked]
    messages: list[dict[str, tuple[Message, ...]]] = [{} for _ in asked]
    errors = [taken.error for _, taken in asked]
    for stage in protocol.stages:
        requesters = {epoch: Requester(handle, stage, slice_.dataset.name, epoch) for epoch in epochs}
        open_ = [i for i, error in enumerate(errors) if error is None]
        made = [requesters[asked[i][0]].request(asked[i][1], responses[i]) for i in open_]
        for i, request in zip(open_, made, strict=True):
            keys[i][stage.name], messages[i][stage.name] = request.key, request.messages
        # Samples come in hash order, so a repeated request belongs to the first window that holds it.
        first: dict[str, tuple[Request, Taken]] = {}
        for i, request in zip(open_, made, strict=True):
            first.setdefault(request.key, (request, asked[i][1]))
        unique = list(first.values())
        planned = _planned(unique)
        cut = arrange(planned) if arrange else None
        got = asker.responses([request for request, _ in unique], planned, cut)
        for i, request in zip(open_, made, strict=True):
            response = got[request.key]
            if response.error is not None:
                errors[i] = response.error
            else:
                responses[i][stage.name] = response
    return [
        Answered(taken, epoch, responses[i], keys[i], messages[i], errors[i]) for i, (epoch, taken) in enumerate(asked)
    ]


def _planned(unique: Sequence[tuple[Request, Taken]]) -> list[Planned]:
    return [
        Planned(
            key=bytes.fromhex(request.key),
            bucket=duration_bucket(taken.duration_s),
            window=taken.window,
            duration_s=taken.duration_s or 0.0,
            hashed=sample_hash(taken.sample.id),
        )
        for request, taken in unique
    ]
