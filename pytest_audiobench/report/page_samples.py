"""The samples that a page embeds: short rows of JSON text, as many as a budget of bytes allows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_audiobench.report.samples import Joined
from pytest_audiobench.report.went_wrong import failure_classes

BUDGET_BYTES = 5_000_000
"""A page of this size opens in a second on a laptop and can be attached to a message."""
LONGEST_TEXT = 16_000
"""Characters of one text that are embedded; predictions.jsonl has the rest."""
EXAMPLES = 3
"""Of each class of failures, so many answers are embedded if the budget allows."""
EXAMPLE_BYTES = 8_000
"""What is kept back for each, before it is known how long it is."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


@dataclass
class Shown:
    """The embedded samples of item number ``index``, out of ``total`` (samples × epochs).

    ``rows`` are its ``first`` samples, then those beyond that were taken as examples of what went wrong; ``wanted``
    counts the examples of each class that are still missing.
    """

    index: int
    total: int
    share_bytes: int
    readings: Mapping[str, int]
    wanted: dict[str, int]
    seen: int = 0
    first: int = 0
    used_bytes: int = 0
    is_full: bool = False
    rows: list[str] = field(default_factory=list)

    @property
    def kept_back_bytes(self) -> int:
        """What the first samples leave for the examples that are still missing."""
        return min(self.share_bytes // 4, EXAMPLE_BYTES * sum(self.wanted.values()))


def page_samples(samples: Iterable[Joined], items: Sequence[Mapping[str, Any]], budget_bytes: int) -> list[Shown]:
    """Each item's first samples, and three examples of each class of its failures wherever they stand.

    The budget is shared evenly, and what an item leaves over goes to the later ones. ``samples`` are read no further
    than something could still be embedded.
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
            shown.append(_begun(place, items[place], totals[_owner(items[place])], left // max(waiting, 1)))
            current, waiting = place, waiting - 1
        _add(shown[-1], one)
        if shown[-1].is_full and waiting <= 0:
            break
    return shown


def bytes_on_page(text: str) -> int:
    """Bytes of ``text`` on the page, where signs of markup are written as escapes of six characters."""
    return len(text.encode("utf-8", "surrogatepass")) + 5 * sum(map(text.count, "<>&"))


def _owner(row: Mapping[str, Any]) -> tuple[str, str]:
    return row["eval"], row["model"]


def _begun(place: int, item: Mapping[str, Any], total: int, share_bytes: int) -> Shown:
    wanted = {one.name: min(EXAMPLES, one.answers) for one in failure_classes(item)}
    readings = {reading["name"]: number for number, reading in enumerate(item["readings"])}
    return Shown(place, total, share_bytes, readings, wanted)


def _add(shown: Shown, one: Joined) -> None:
    shown.seen += 1
    is_next = shown.first == shown.seen - 1
    shows = [name for name in (one.scored[0]["failures"] if one.scored else ()) if shown.wanted.get(name)]
    if not is_next and not shows:
        return
    text = _encode(_row(one, shown.readings))
    used = shown.used_bytes + bytes_on_page(text) + len(",")
    is_first = is_next and used <= shown.share_bytes - shown.kept_back_bytes
    if is_first or (shows and used <= shown.share_bytes):
        shown.first += is_first
        shown.used_bytes = used
        shown.rows.append(text)
        for name in shows:
            shown.wanted[name] -= 1
    shown.is_full = shown.first < shown.seen and not any(shown.wanted.values())


def _row(one: Joined, readings: Mapping[str, int]) -> list[Any]:
    """As page.samples.js takes it apart: id, epoch, question, choices, reference, stages, error, readings, failures,
    groups, audio.
    """
    first = one.predictions[0]
    # What a judge said of an answer is none, and what a judge could not be asked is no failure of the sample's.
    errors = [row["error"] for row in one.predictions if row["error"] is not None and "role" not in row]
    stages = [
        [row["stage"], _cut(output["text"]), output["finish"], row.get("role", "")]
        for row in one.predictions
        for output in row["outputs"]
    ]
    return [
        first["sample_id"],
        first["epoch"],
        _cut(first["question"]),
        [_cut(choice) for choice in first["choices"]],
        _cut(first["reference"]),
        stages,
        _cut(errors[0]) if errors else None,
        _readings(one, readings),
        _wording(one),
        one.scored[0]["groups"] if one.scored else {},
        [[clip["source"], clip["duration_s"], clip["truncated_s"]] for clip in first["audio"]],
    ]


def _readings(one: Joined, numbers: Mapping[str, int]) -> list[list[Any]]:
    """Numbers of readings, status, value, statistics and whether it was right; what several say alike stands once.

    The statistics are None where the protocol leaves the answer out.
    """
    scored = {row["reading"]: row["scores"] for row in one.scored}
    found: dict[tuple[Any, ...], list[int]] = {}
    for row in one.processed:
        scores = scored.get(row["reading"])
        said = (row["status"], row["value"], None if scores is None else tuple(scores.items()))
        if row["reading"] in numbers:
            found.setdefault(said, []).append(numbers[row["reading"]])
    return [[own, status, _cut(value), *_scores(scores)] for (status, value, scores), own in found.items()]


def _scores(scores: tuple[tuple[str, float], ...] | None) -> tuple[str | None, bool | None]:
    if scores is None:
        return None, None
    return " ".join(f"{name}={value:g}" for name, value in scores), _right(dict(scores))


def _wording(one: Joined) -> list[str]:
    """The classes of failures that every reading sees; beyond them, each sees the one that is its status."""
    if not one.scored:
        return []
    others = [set(row["failures"]) for row in one.scored[1:]]
    return [name for name in one.scored[0]["failures"] if all(name in own for own in others)]


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
