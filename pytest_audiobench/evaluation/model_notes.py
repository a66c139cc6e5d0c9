"""What runs found of a model beside its answers: whether it hears what it is played, how far it repeats itself.

Kept in the store under the model's digest, since a cached run loads no model and a gate asks about an earlier one. A
store may come from elsewhere, so a note that is not of the expected form counts as none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pytest_audiobench.evaluation.lazy_model import ModelHandle
from pytest_audiobench.evaluation.store import Store
from pytest_audiobench.identity import digest
from pytest_audiobench.models.model import Hearing, HearingStatus

_NOT_TOLD = Hearing("unproven", "it tells nothing of what it is played: run a listening eval")
_LOADING = "loading"
_LONGEST = 500
"""Characters of one piece of evidence."""


def known_hearing(store: Store, handle: ModelHandle) -> Hearing:
    """What is known of the model's hearing by now: by loading it, and by listening evals of this and earlier runs.

    One proof is enough; where a listening eval failed to show it, the evidence says so.
    """
    if handle.hearing is not None:
        keep_hearing(store, handle, _LOADING, handle.hearing)
    found = list(_hearings(store, handle))
    proofs = [one.evidence for one in found if one.status == "proven"]
    doubts = [one.evidence for one in found if one.status == "unproven"]
    if proofs:
        return Hearing("proven", "; ".join([proofs[-1], *doubts]))
    return Hearing("unproven", "; ".join(doubts)) if doubts else _NOT_TOLD


def keep_hearing(store: Store, handle: ModelHandle, by: str, hearing: Hearing) -> None:
    """Remember what ``by`` (loading, or a listening eval's data set) showed of exactly this model (its digest)."""
    name, text = f"hearing:{handle.digest}:{by}", json.dumps([hearing.status, hearing.evidence[:_LONGEST]])
    if dict(store.notes(name)).get(name) != text:
        store.keep_note(name, text)


def known_noise(store: Store, handle: ModelHandle) -> dict[str, Any] | None:
    """The model's noise floor, where determinism evals have measured it: the worst of them, and each."""
    measured = list(_noises(store, handle))
    if not measured:
        return None
    return {
        "same_answers": min(one["same_answers"] for one in measured),
        "score_shift": max(one["score_shift"] for one in measured),
        "measured": measured,
    }


def keep_noise(store: Store, handle: ModelHandle, noise: Mapping[str, Any]) -> None:
    """Remember how far exactly this model's repetitions differ, by data set, number of samples and conditions."""
    which = digest([noise["dataset"], noise["n"], sorted(noise["conditions"])])
    store.keep_note(f"noise:{handle.digest}:{which}", json.dumps(noise, allow_nan=False))


def _hearings(store: Store, handle: ModelHandle) -> Iterator[Hearing]:
    for _, text in store.notes(f"hearing:{handle.digest}:"):
        found = _read(text)
        if isinstance(found, list) and len(found) == 2 and found[0] in get_args(HearingStatus):
            yield Hearing(found[0], str(found[1])[:_LONGEST])


def _noises(store: Store, handle: ModelHandle) -> Iterator[dict[str, Any]]:
    for _, text in store.notes(f"noise:{handle.digest}:"):
        found = _read(text)
        if not isinstance(found, dict) or not isinstance(found.get("conditions"), dict):
            continue
        shares = [found, *found["conditions"].values()]
        if all(isinstance(one, dict) and _finite(one.get("same_answers"), one.get("score_shift")) for one in shares):
            yield found


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _finite(*values: object) -> bool:
    return all(isinstance(value, (int, float)) and math.isfinite(value) for value in values)
