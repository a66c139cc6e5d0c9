"""Confusion matrices: answers by true label, the tables of a page, counted as its samples pass by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from pytest_audiobench.datasets.sample import tidy_caseless
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.confusion import NO_ANSWER, OTHER, LabelledAnswer, Tally
from pytest_audiobench.metrics.label_statistics import SAID, label_statistics
from pytest_audiobench.protocols.protocol import WITHHELD, gives_letters
from pytest_audiobench.records.lines import BaselineAnswer
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.joined_samples import Joined

MOST_LABELS = 40
"""A larger table is not readable: the rarest labels share a row and a column."""
LEAST_A_LABEL = 3
"""Answers for each label; where there are fewer, questions have options of their own, and a table says nothing."""
LONGEST_LABEL = 60
BEYOND = "a label outside the list"

Counts: TypeAlias = tuple[tuple[int, ...], ...]


class LabelTable(NamedTuple):
    """Counts of one item by its headline scorer, a row for each of ``labels`` and a column for each of ``columns``."""

    item: int
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    folded: int
    """Labels that share the last row."""
    counts: Counts
    change: Counts | None
    """What this run has more than the baseline on the ``pairs`` that both answered; None without a baseline, or where
    its file does not tell the label."""
    pairs: int


@dataclass
class _ItemCounts:
    number: int
    scorer: str
    tally: Tally
    change: Counter[tuple[str, str]] = field(default_factory=Counter)
    pairs: int = 0
    is_over: bool = False


class LabelCounts:
    """Counts the answers of every item, as long as its samples have one true label each of a list."""

    def __init__(self, items: Sequence[ItemRecord]) -> None:
        self._by_item = {
            (item.eval, item.model): _ItemCounts(number, head.name, Tally(gives_letters(head.signature)))
            for number, item in reversed(list(enumerate(items)))
            for head in item.scorers[:1]
            if not head.signature.endswith(WITHHELD)
        }

    def watch(self, samples: Iterable[Joined]) -> Iterator[Joined]:
        """``samples`` as they are, each counted before it is passed on."""
        for sample in samples:
            self._count(sample)
            yield sample

    def tables(self) -> list[LabelTable]:
        """One for each item whose labels repeat, in the items' order."""
        items = sorted(self._by_item.values(), key=lambda counts: counts.number)
        tables = (_table(counts) for counts in items if not counts.is_over)
        return [table for table in tables if table is not None]

    def _count(self, joined: Joined) -> None:
        first = joined.predictions[0]
        counts = self._by_item.get((first.eval, first.model))
        if counts is None or counts.is_over:
            return
        sample = _sample(joined, counts.scorer)
        try:
            counts.tally.add(sample)
        except UsageError:
            counts.is_over = True
            return
        if joined.compared is not None and sample.error is None:
            labels = labels_before(joined.compared.before, sample.choices)
            if labels is not None:
                before = (labels[0] or OTHER) if labels else NO_ANSWER
                counts.pairs += 1
                true = counts.tally.true(sample)
                counts.change[true, counts.tally.said(sample)] += 1
                counts.change[true, before] -= 1


def _sample(joined: Joined, scorer: str) -> LabelledAnswer:
    rows = [row for row in joined.predictions if row.role == "subject"]
    return LabelledAnswer(
        rows[0].sample_id,
        rows[0].choices,
        rows[0].reference,
        rows[0].references,
        value=next((row.value for row in joined.processed if row.scorer == scorer), None),
        error=next((row.error for row in rows if row.error is not None), None),
    )


def labels_before(before: BaselineAnswer, choices: Sequence[str]) -> list[str | None] | None:
    """The labels of ``choices`` that the baseline's statistics tell, None for one beyond them.

    None where the statistics show no label, or of another list.
    """
    scores = before.scores
    if not scores or "label_list" not in scores:
        return None
    listed = {tidy_caseless(choice): choice for choice in reversed(choices)}
    if scores["label_list"] != label_statistics(listed, (), ())["label_list"]:
        return None
    places = {f"{SAID}{place}": listed[name] for place, name in enumerate(sorted(listed))}
    return [places.get(name) for name, count in scores.items() if name.startswith(SAID) and count]


def answer_label(before: BaselineAnswer, choices: Sequence[str], references: Sequence[str]) -> str:
    """What the baseline's answer was read as, where it keeps no texts and its statistics tell; else empty."""
    labels = labels_before(before, choices)
    if labels:
        return ", ".join(label or BEYOND for label in labels)
    distinct = [text for text in dict.fromkeys(references) if text]
    is_right = before.scores is not None and before.scores.get("correct", 0.0) >= 1.0
    return distinct[0] if choices and len(distinct) == 1 and is_right else ""


def _table(item: _ItemCounts) -> LabelTable | None:
    labels, counts = item.tally.labels, item.tally.counts
    if len(labels) < 2 or sum(counts.values()) < LEAST_A_LABEL * len(labels):
        return None
    frequency = Counter(dict.fromkeys(labels, 0))
    for pair, count in counts.items():
        for label in labels.intersection(pair):
            frequency[label] += count
    frequent = sorted(labels)
    if len(labels) > MOST_LABELS:
        frequent = sorted(sorted(labels, key=lambda label: (-frequency[label], label))[: MOST_LABELS - 1])
    answers = {answer for _, answer in (*counts, *item.change)}
    beyond = [label for label in (OTHER, NO_ANSWER) if label in answers - labels]
    fold = [f"({len(labels) - len(frequent)} other labels)"] * (len(frequent) < len(labels))
    names = [*(label[:LONGEST_LABEL] + "…" * (len(label) > LONGEST_LABEL) for label in frequent), *fold]
    rows = {label: min(place, len(names) - 1) for place, label in enumerate([*frequent, *(labels - set(frequent))])}
    columns = rows | {label: len(names) + place for place, label in enumerate(beyond)}
    shape = (len(names), len(names) + len(beyond))
    return LabelTable(
        item=item.number,
        labels=tuple(names),
        columns=(*names, *beyond),
        folded=len(labels) - len(frequent),
        counts=_matrix(counts, rows, columns, shape),
        change=_matrix(item.change, rows, columns, shape) if item.pairs else None,
        pairs=item.pairs,
    )


def _matrix(
    counts: Counter[tuple[str, str]], rows: Mapping[str, int], columns: Mapping[str, int], shape: tuple[int, int]
) -> Counts:
    table = [[0] * shape[1] for _ in range(shape[0])]
    for (true, answer), count in counts.items():
        # A reference that is not a label of its list has no row.
        if true in rows:
            table[rows[true]][columns[answer]] += count
    return tuple(map(tuple, table))
