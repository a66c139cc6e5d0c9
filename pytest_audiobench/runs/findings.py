"""What runs found of a model beside its answers: whether it hears what it is played, how far it repeats itself.

Kept in the store under the model's digest, since a cached run loads no model and a gate asks about an earlier one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_audiobench.models.model import Hearing
from pytest_audiobench.runs.handle import Handle
from pytest_audiobench.runs.store import Store

_NOT_PLAYED = Hearing("unproven", "it is played no audio")
_NOT_TOLD = Hearing("unproven", "it tells nothing of what it is played: run a listening eval")


def known_hearing(store: Store, handle: Handle) -> Hearing:
    """What is known of the model's hearing by now, from this run's loading of it or from an earlier proof."""
    if not handle.listens:
        return _NOT_PLAYED
    written = store.note(_name(handle))
    earlier = Hearing(*json.loads(written)) if written else None
    now = handle.hearing
    if now is None or (earlier is not None and earlier.status == "proven"):
        return earlier or _NOT_TOLD
    if now != earlier:
        keep_hearing(store, handle, now)
    return now


def keep_hearing(store: Store, handle: Handle, hearing: Hearing) -> None:
    """Remember what was found of exactly this model (its digest)."""
    store.keep_note(_name(handle), json.dumps(list(hearing)))


def known_noise(store: Store, handle: Handle) -> dict[str, Any] | None:
    """The model's noise floor, where it was measured."""
    written = store.note(f"noise:{handle.digest}")
    found: dict[str, Any] | None = json.loads(written) if written else None
    return found


def keep_noise(store: Store, handle: Handle, noise: Mapping[str, Any]) -> None:
    """Remember how far exactly this model's (its digest's) repetitions differ."""
    store.keep_note(f"noise:{handle.digest}", json.dumps(noise, allow_nan=False))


def _name(handle: Handle) -> str:
    return f"hearing:{handle.digest}"
