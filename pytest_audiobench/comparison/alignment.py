"""Evals fitted to be compared: on the samples that all have, and past the mismatches that a user allows."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from pytest_audiobench.comparison.contenders import Contender
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.hashes import ABSENT
from pytest_audiobench.evaluation.score_columns import Numbers

_DIGESTS = {"audio": "audio", "prompt": "prompts", "truth": "data"}


def aligned(
    contenders: Sequence[Contender], limited: Collection[str], allowed: Mapping[str, Collection[str]]
) -> list[Contender]:
    """The contenders with sides that a test of pairs accepts.

    Evals in ``limited``, and those whose data are ``allowed`` to differ, keep the samples that all have who have the
    eval. ``allowed`` holds, by eval, the components that differ and may: audio or prompts that differ are no longer
    compared pair by pair, other settings, epochs or scorers count as the first's.
    """
    sides: list[dict[str, ComparableEval]] = [dict(contender.sides) for contender in contenders]
    for eval_ in dict.fromkeys(name for contender in contenders for name in contender.sides):
        sharing = [evals for evals in sides if eval_ in evals]
        evals = [contender[eval_] for contender in sharing]
        differing = allowed.get(eval_, ())
        epochs = min(side.epochs for side in evals)
        shared_ids = None
        if eval_ in limited or "data" in differing:
            shared_ids = reduce(np.intersect1d, (side.columns.ids for side in evals))
        for contender, side in zip(sharing, evals, strict=True):
            contender[eval_] = _aligned_side(side, evals[0], epochs, shared_ids, differing)
    return [replace(contender, sides=evals) for contender, evals in zip(contenders, sides, strict=True)]


def _aligned_side(
    side: ComparableEval,
    first: ComparableEval,
    epochs: int,
    shared_ids: Numbers | None,
    differing: Collection[str],
) -> ComparableEval:
    rows = side.columns
    if shared_ids is not None:
        rows = rows.where(np.isin(rows.ids, shared_ids))
    if "seeds" in differing:
        rows = rows.where(rows.of_kinds(lambda kind: kind.epoch < epochs))
    if not {"audio", "prompts"}.isdisjoint(differing):
        rows = rows.without(*(name for name, component in _DIGESTS.items() if component in differing))
    scorers, hashes = side.scorers, side.hashes
    if "protocols" in differing:
        scorers = {name: first.scorers.get(name, signature) for name, signature in scorers.items()}
        # The same answers read another way are not the same scores.
        hashes = {name: value for name, value in hashes.items() if name != "run_hash"}
    if "settings" in differing or hashes.get("settings") in (None, ABSENT):
        hashes = {**hashes, "settings": first.hashes.get("settings", ABSENT)}
    return replace(
        side,
        rows=rows,
        dataset=first.dataset if "data" in differing else side.dataset,
        epochs=epochs if "seeds" in differing else side.epochs,
        scorers=scorers,
        hashes=hashes,
        limited=side.limited or shared_ids is not None,
    )
