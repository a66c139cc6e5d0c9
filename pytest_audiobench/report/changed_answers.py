"""What changed in each eval since the baseline: the first samples that became worse, and what became of all answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple, TypeAlias

from pytest_audiobench.protocols.answer_failures import FAILURES
from pytest_audiobench.records.lines import COMPARED_FILE, ComparedRow
from pytest_audiobench.report.joined_samples import Joined, joined
from pytest_audiobench.report.label_tables import answer_label

Owner: TypeAlias = tuple[str, str]
"""An eval and the model's alias."""


class SideAnswer(NamedTuple):
    """One side's answer: its text, what became of it, and how it failed."""

    text: str | None
    """None where it was not stored."""
    status: str
    failures: Sequence[str]
    label: str = ""
    """What was read, where the text was not stored and the label is known."""


@dataclass(frozen=True)
class Flip:
    """A sample whose own score became worse."""

    eval: str
    model: str
    sample_id: str
    epoch: int
    question: str
    reference: str
    before: SideAnswer
    now: SideAnswer


@dataclass
class Flips:
    """What changed in one eval: the first samples that became worse, and the paired answers by status and failure."""

    worse: list[Flip] = field(default_factory=list)
    count: int = 0
    """How many became worse."""
    before: Counter[str] = field(default_factory=Counter)
    now: Counter[str] = field(default_factory=Counter)
    pairs: int = 0

    @property
    def counts_text(self) -> str:
        """Statuses and classes of failures whose counts differ: ``parsed 80 → 31, unparsed 0 → 49``."""
        names = dict.fromkeys([*self.before, *self.now])
        counts = ((name.replace("_", " "), self.before[name], self.now[name]) for name in names)
        return ", ".join(f"{name} {before} → {now}" for name, before, now in counts if before != now)


def flips_of(folder: Path, most: int) -> dict[Owner, Flips]:
    """The changes of each eval of the run in ``folder``, with at most ``most`` flips of each, in the run's order.

    Empty for a run without a baseline. Raises FatalError where the line files are not those of one run.
    """
    by_owner: dict[Owner, Flips] = {}
    for sample in joined(folder) if (folder / COMPARED_FILE).exists() else ():
        count_flip(by_owner, sample, most)
    return by_owner


def count_flip(by_owner: dict[Owner, Flips], sample: Joined, most: int = 0) -> None:
    """Add a sample to the changes of its eval, where it is in the baseline too."""
    if sample.compared is None or not sample.scored:
        return
    row, first = sample.compared, sample.predictions[0]
    flips = by_owner.setdefault((row.eval, row.model), Flips())
    before, now = _side_answers(sample, row)
    flips.pairs += 1
    flips.before.update([before.status, *before.failures])
    flips.now.update([now.status, *now.failures])
    flips.count += row.change == "worse"
    if row.change == "worse" and len(flips.worse) < most:
        names = (first.eval, first.model, first.sample_id, first.epoch)
        flips.worse.append(Flip(*names, first.question, first.reference, before, now))


def in_turn(flips: Mapping[Owner, Flips], owners: Sequence[Owner], most: int) -> list[Flip]:
    """At most ``most`` flips: the first of each of ``owners``, then the second of each, and so on."""
    turns = zip_longest(*(flips[owner].worse for owner in owners if owner in flips))
    return [flip for turn in turns for flip in turn if flip is not None][:most]


def _side_answers(sample: Joined, compared: ComparedRow) -> tuple[SideAnswer, SideAnswer]:
    """The baseline's answer and this run's."""
    first, before = sample.predictions[0], compared.before
    references = (first.reference, *first.references)
    label = answer_label(before, first.choices, references) if before.text is None else ""
    last = [row for row in sample.predictions if row.role == "subject"][-1]
    scored = next((row for row in sample.scored if row.scorer == compared.scorer), sample.scored[0])
    # A status that is a class of failures too is counted once.
    was, now = (
        [name for name in FAILURES if name in side.failures and name != side.status] for side in (before, scored)
    )
    text = last.outputs[0].text if last.outputs else None
    return SideAnswer(before.text, before.status, was, label), SideAnswer(text, scored.status, now)
