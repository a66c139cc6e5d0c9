"""Requests and their keys: what exactly is asked, named so that an answer can be found again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_audiobench.evaluation.answer_store import KEY_SCHEME
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.selection import SelectedSample
from pytest_audiobench.identity import Payload, digest
from pytest_audiobench.models.messages import AudioSlot, Message, Request
from pytest_audiobench.protocols.protocol import Earlier, Stage

_encode = json.JSONEncoder(separators=(",", ":")).encode


class Requester:
    """Makes the requests of one stage, data slice, model and epoch.

    A key is the SHA-256 of a context (model, settings, task: hashed once) and a small payload (messages,
    clips, choices). Where a model does not listen, or the audio is absent, the sample itself stands for its clips.
    A judge and an extractor are played a clip only where their prompt has a place for one.
    """

    def __init__(self, handle: ModelHandle, stage: Stage, dataset: str, epoch: int) -> None:
        self._stage, self._dataset, self._epoch, self._listens = stage, dataset, epoch, handle.listens
        self._context = request_context(handle.digest, stage.task, settings_payload(stage), epoch)

    def request(self, selected: SelectedSample, earlier: Earlier) -> Request:
        sample, of_subject = selected.sample, self._stage.role == "subject"
        messages = self._stage.messages(sample, earlier)
        played = of_subject or any(isinstance(part, AudioSlot) for message in messages for part in message.parts)
        heard: object = selected.clip_keys if played else ()
        if not self._listens or heard is None:
            heard = [self._dataset, sample.id, self._stage.name]
        choices = self._stage.choices(sample)
        return Request(
            key=request_key(self._context, messages_payload(messages), heard, choices),
            dataset=self._dataset,
            sample_id=sample.id,
            stage=self._stage.name,
            task=self._stage.task,
            messages=messages,
            clips=sample.clips if played else (),
            choices=choices,
            settings=self._stage.settings,
            epoch=self._epoch,
        )


def request_context(model: str, task: str, settings: Mapping[str, str | int], epoch: int) -> bytes:
    """What all requests of one stage and epoch to the model of the digest ``model`` share of their keys."""
    context: Payload = {"keys": KEY_SCHEME, "model": model, "task": task, "settings": settings, "epoch": epoch}
    return bytes.fromhex(digest(context))


def request_key(context: bytes, messages: object, heard: object, choices: Sequence[str]) -> str:
    """The key of a request: ``messages`` as plain lists; ``heard`` the clips' keys, or what replaces them."""
    return hashlib.sha256(context + _encode([messages, heard, choices]).encode()).hexdigest()


def messages_payload(messages: Sequence[Message]) -> list[Any]:
    """Messages as plain lists: text parts as strings, an audio slot as the number of its clip."""
    return [[role, [part.clip if isinstance(part, AudioSlot) else part for part in parts]] for role, parts in messages]


def settings_payload(stage: Stage) -> dict[str, str | int]:
    settings = stage.settings
    payload: dict[str, str | int] = {"max_new_tokens": settings.max_new_tokens, "temperature": settings.temperature}
    payload["top_p"] = settings.top_p
    if settings.speech:  # what was asked before anything could speak keeps its keys
        payload["answer"] = "speech"
    return payload
