"""What was said for what was true, label by label: the tables of a page, counted as its samples pass by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.datasets.sample import tidy_caseless
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.confusion import NO_ANSWER, OTHER, Tally, gives_letters
from pytest_audiobench.metrics.labels import OTHER as SAID_OTHER
from pytest_audiobench.metrics.labels import SAID, label_statistics
from pytest_audiobench.report.joined_samples import Joined

MOST_LABELS = 40
"""A table of more is read by nobody: the rarest labels share a row and a column."""
LEAST_A_LABEL = 3
"""Answers for each label; where there are fewer, questions have options of their own, and a table says nothing."""
LONGEST_LABEL = 60
"""Characters of a label that are shown."""

Json: TypeAlias = Mapping[str, Any]
Counts: TypeAlias = tuple[tuple[int, ...], ...]


class LabelTable(NamedTuple):
    """Counts of one item by its headline protocol, a row for each of ``labels`` and a column for each of ``columns``.

    ``folded`` counts the labels that share the last row. ``change`` is what this run has more than the baseline on the
    ``pairs`` that both answered; None without a baseline, or where its file does not tell what was said.
    """

    item: int
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    folded: int
    counts: Counts
    change: Counts | None
    pairs: int


@dataclass
class _Own:
    """What has been counted of one item; ``is_over`` once it is known that it gets no table."""

    number: int
    scorer: str
    tally: Tally
    change: Counter[tuple[str, str]] = field(default_factory=Counter)
    pairs: int = 0
    is_over: bool = False


class LabelCounts:
    """Counts the answers of every item, as long as its samples have one true label each of a list."""

    def __init__(self, items: Sequence[Json]) -> None:
        self._own = {
            (item["eval"], item["model"]): _Own(number, head["name"], Tally(gives_letters(head["signature"])))
            for number, item in reversed(list(enumerate(items)))
            for head in item["scorers"][:1]
        }

    def watch(self, samples: Iterable[Joined]) -> Iterator[Joined]:
        """``samples`` as they are, each counted before it is passed on."""
        for one in samples:
            self._count(one)
            yield one

    def tables(self) -> list[LabelTable]:
        """One for each item whose labels repeat, in the items' order."""
        found = (_table(own) for own in sorted(self._own.values(), key=lambda own: own.number) if not own.is_over)
        return [table for table in found if table is not None]

    def _count(self, one: Joined) -> None:
        first = one.predictions[0]
        own = self._own.get((first["eval"], first["model"]))
        if own is None or own.is_over:
            return
        sample = _sample(one, own.scorer)
        try:
            own.tally.add(sample)
        except UsageError:
            own.is_over = True
            return
        if one.compared is not None and sample["error"] is None:
            said = _said_before(one.compared["before"], sample["choices"])
            if said is not None:
                own.pairs += 1
                true = own.tally.true(sample)
                own.change[true, own.tally.said(sample)] += 1
                own.change[true, said] -= 1


def _sample(one: Joined, scorer: str) -> dict[str, Any]:
    own = [row for row in one.predictions if "role" not in row]
    return {
        "sample_id": own[0]["sample_id"],
        "choices": own[0]["choices"],
        "reference": own[0]["reference"],
        "references": own[0].get("references", ()),
        "value": next((row["value"] for row in one.processed if row["scorer"] == scorer), None),
        "error": next((row["error"] for row in own if row["error"] is not None), None),
    }


def _said_before(before: Json, choices: Sequence[str]) -> str | None:
    """The label that the baseline's statistics tell; None where they tell of no label, or of another list."""
    scores = before.get("scores")
    if not scores or "label_list" not in scores:
        return None
    listed = {tidy_caseless(choice): choice for choice in reversed(choices)}
    if scores["label_list"] != label_statistics(listed, (), ())["label_list"]:
        return None
    said = [name for name in scores if name.startswith(SAID)]
    if not said:
        return NO_ANSWER
    if said[0] == SAID_OTHER or not (place := said[0].removeprefix(SAID)).isdecimal() or int(place) >= len(listed):
        return OTHER
    return listed[sorted(listed)[int(place)]]


def _table(own: _Own) -> LabelTable | None:
    labels, counts = own.tally.labels, own.tally.counts
    if len(labels) < 2 or sum(counts.values()) < LEAST_A_LABEL * len(labels):
        return None
    often = Counter(dict.fromkeys(labels, 0))
    for pair, count in counts.items():
        for label in labels.intersection(pair):
            often[label] += count
    kept = sorted(labels)
    if len(labels) > MOST_LABELS:
        kept = sorted(sorted(labels, key=lambda label: (-often[label], label))[: MOST_LABELS - 1])
    said = {said for _, said in (*counts, *own.change)}
    beyond = [what for what in (OTHER, NO_ANSWER) if what in said - labels]
    fold = [f"({len(labels) - len(kept)} other labels)"] * (len(kept) < len(labels))
    named = [*map(_short, kept), *fold]
    rows = {label: min(place, len(named) - 1) for place, label in enumerate([*kept, *(labels - set(kept))])}
    columns = rows | {what: len(named) + place for place, what in enumerate(beyond)}
    shape = (len(named), len(named) + len(beyond))
    return LabelTable(
        item=own.number,
        labels=tuple(named),
        columns=(*named, *beyond),
        folded=len(labels) - len(kept),
        counts=_matrix(counts, rows, columns, shape),
        change=_matrix(own.change, rows, columns, shape) if own.pairs else None,
        pairs=own.pairs,
    )


def _matrix(
    counts: Counter[tuple[str, str]], rows: Mapping[str, int], columns: Mapping[str, int], shape: tuple[int, int]
) -> Counts:
    table = [[0] * shape[1] for _ in range(shape[0])]
    for (true, said), count in counts.items():
        # A reference that is no label of its list has no row.
        if true in rows:
            table[rows[true]][columns[said]] += count
    return tuple(map(tuple, table))


def _short(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else label[:LONGEST_LABEL] + "…"
