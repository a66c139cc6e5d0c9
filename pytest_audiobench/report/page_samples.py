"""The samples that a page embeds: short rows of JSON text, as many as a budget of bytes allows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_audiobench.report.lines import Row
from pytest_audiobench.report.samples import Joined

BUDGET_BYTES = 5_000_000
"""A page of this size opens in a second on a laptop and can be attached to a message."""
LONGEST_TEXT = 16_000
"""Characters of one text that are embedded; predictions.jsonl has the rest."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


@dataclass
class Shown:
    """The embedded samples of item number ``index``, out of ``total`` (samples × epochs)."""

    index: int
    total: int
    share_bytes: int
    used_bytes: int = 0
    is_full: bool = False
    rows: list[str] = field(default_factory=list)


def page_samples(samples: Iterable[Joined], items: Sequence[Mapping[str, Any]], budget_bytes: int) -> list[Shown]:
    """Each item's first samples. The budget is shared evenly, and what an item leaves over goes to the later ones.

    ``samples`` are read no further than something could still be embedded.
    """
    places = {_owner(item): number for number, item in reversed(list(enumerate(items)))}
    totals: Counter[tuple[str, str]] = Counter()
    for item in items:
        totals[_owner(item)] += item["n"] * item["epochs"]
    shown: list[Shown] = []
    current = -1
    left, waiting = budget_bytes, sum(1 for item in items if item["n"])
    for one in samples:
        place = places.get(_owner(one.predictions[0]), -1)
        if place < 0:
            continue
        if place != current:
            left -= shown[-1].used_bytes if shown else 0
            shown.append(Shown(place, totals[_owner(items[place])], left // max(waiting, 1)))
            current, waiting = place, waiting - 1
        _add(shown[-1], one)
        if shown[-1].is_full and waiting <= 0:
            break
    return shown


def _owner(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["eval"], row["model"]


def _add(shown: Shown, one: Joined) -> None:
    if shown.is_full:
        return
    text = _encode(_row(one))
    if shown.used_bytes + len(text) <= shown.share_bytes:
        shown.used_bytes += len(text)
        shown.rows.append(text)
    else:
        shown.is_full = True


def _row(one: Joined) -> list[Any]:
    """As page.js takes it apart: id, epoch, question, choices, reference, stages, error, readings, groups, audio."""
    first = one.predictions[0]
    scored = {row["reading"]: row for row in one.scored}
    errors = [row["error"] for row in one.predictions if row["error"] is not None]
    return [
        first["sample_id"],
        first["epoch"],
        _cut(first["question"]),
        [_cut(choice) for choice in first["choices"]],
        _cut(first["reference"]),
        [[row["stage"], _cut(out["text"]), out["finish"]] for row in one.predictions for out in row["outputs"]],
        _cut(errors[0]) if errors else None,
        [_reading(row, scored.get(row["reading"], {})) for row in one.processed],
        one.scored[0]["groups"] if one.scored else {},
        [[clip["source"], clip["duration_s"], clip["truncated_s"]] for clip in first["audio"]],
    ]


def _reading(processed: Row, scored: Mapping[str, Any]) -> list[Any]:
    scores = scored.get("scores") or {}
    return [
        processed["reading"],
        processed["status"],
        _cut(processed["value"]),
        " ".join(f"{name}={value:g}" for name, value in scores.items()),
        _right(scores),
    ]


def _right(scores: Mapping[str, float]) -> bool | None:
    """Whether nothing was wrong with the answer: by ``correct``, else by word errors; None when neither is counted."""
    if "correct" in scores:
        return scores["correct"] >= 1
    errors = [scores[name] for name in ("S", "D", "I") if name in scores]
    return sum(errors) == 0 if errors else None


def _cut(text: str | None) -> str | list[Any] | None:
    """A text, or when it is too long its beginning and the number of characters left out."""
    if text is None or len(text) <= LONGEST_TEXT:
        return text
    return [text[:LONGEST_TEXT], len(text) - LONGEST_TEXT]
