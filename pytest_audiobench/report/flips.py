"""What changed between a run and its baseline, sample by sample: which answers flipped, which statuses moved."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.protocols.failures import FAILURES
from pytest_audiobench.report.joined_samples import Joined, joined
from pytest_audiobench.report.json_lines import Row
from pytest_audiobench.report.run_files import COMPARED_FILE

Owner: TypeAlias = tuple[str, str]
"""An eval and the model's alias."""


class Said(NamedTuple):
    """One side's answer: its text (None where it was not kept), what became of it, and how it went wrong."""

    text: str | None
    status: str
    scores: Mapping[str, float] | None
    failures: Sequence[str]


@dataclass(frozen=True)
class Flip:
    """A sample whose own score became worse; ``truth`` is its reference as text."""

    eval: str
    model: str
    sample_id: str
    epoch: int
    question: str
    truth: str
    before: Said
    now: Said


@dataclass
class Flips:
    """What moved in one eval: the first samples that became worse, and the paired answers by status and failure."""

    worse: list[Flip] = field(default_factory=list)
    before: Counter[str] = field(default_factory=Counter)
    now: Counter[str] = field(default_factory=Counter)

    @property
    def moved(self) -> dict[str, tuple[int, int]]:
        """Statuses and classes of failures whose counts differ: (in the baseline, now)."""
        names = dict.fromkeys([*self.before, *self.now])
        return {name: (self.before[name], self.now[name]) for name in names if self.before[name] != self.now[name]}


def flips_of(folder: Path, most: int) -> dict[Owner, Flips]:
    """The changes of each eval of the run in ``folder``, with at most ``most`` flips of each, in the run's order.

    Empty for a run without a baseline. Raises FatalError where the line files are not those of one run.
    """
    found: dict[Owner, Flips] = {}
    if not (folder / COMPARED_FILE).exists():
        return found
    for one in joined(folder):
        if one.compared is None:
            continue
        row, first = one.compared, one.predictions[0]
        flips = found.setdefault((row["eval"], row["model"]), Flips())
        before, now = _before(row), _now(one, row["scorer"])
        flips.before.update([before.status, *before.failures])
        flips.now.update([now.status, *now.failures])
        if row["change"] == "worse" and len(flips.worse) < most:
            flips.worse.append(_flip(first, before, now))
    return found


def in_turn(flips: Mapping[Owner, Flips], owners: Sequence[Owner], most: int) -> list[Flip]:
    """At most ``most`` flips: the first of each of ``owners``, then the second of each, and so on."""
    turns = zip_longest(*(flips[one].worse for one in owners if one in flips))
    return [flip for turn in turns for flip in turn if flip is not None][:most]


def _flip(row: Row, before: Said, now: Said) -> Flip:
    return Flip(
        eval=row["eval"],
        model=row["model"],
        sample_id=row["sample_id"],
        epoch=row["epoch"],
        question=_text(row["question"]),
        truth=_text(row["reference"]),
        before=before,
        now=now,
    )


def _before(row: Row) -> Said:
    one = row["before"]
    # A status that is a class of failures too is counted once.
    return Said(one["text"], one["status"], one["scores"], _classes(one["failures"], one["status"]))


def _now(one: Joined, scorer: str) -> Said:
    last = [row for row in one.predictions if "role" not in row][-1]
    scored = next((row for row in one.scored if row["scorer"] == scorer), one.scored[0])
    text = last["outputs"][0]["text"] if last["outputs"] else None
    return Said(text, scored["status"], scored["scores"], _classes(scored["failures"], scored["status"]))


def _classes(failures: Sequence[str], status: str) -> list[str]:
    return [name for name in FAILURES if name in failures and name != status]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
