"""One sample as the page holds it: what the list is filtered by, and what its card shows, as short JSON texts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.metric import is_right
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.records.lines import BaselineAnswer, PredictionRow, Prompt
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.formatting import value_text
from pytest_audiobench.report.joined_samples import Joined, played
from pytest_audiobench.report.label_tables import answer_label
from pytest_audiobench.report.page.word_diff import word_diff, words_of

if TYPE_CHECKING:
    from pytest_audiobench.report.page.scenes import Scene

LONGEST_TEXT = 16_000
"""Characters of one text that are embedded; predictions.jsonl has the rest."""
LONGEST_NAME = 300
"""Characters of an id, a stage, a group's value and the like."""
LONGEST_LIST = 200
"""Choices, references, metadata fields, clips and parts of a prompt that are embedded of one sample."""
CHANGES = ("", "worse", "better", "same")
"""What became of a sample since the baseline; the first where that has no such sample."""

_REMEMBERED = 1_024

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class PageRow(NamedTuple):
    """A sample in one epoch."""

    sample_id: str
    epoch: int
    change: str
    is_lost: bool
    """Whether it became worse from right to wrong."""
    wording: tuple[str, ...]
    groups: str
    """JSON text: the groups by name."""
    kinds: tuple[str, ...]
    """JSON texts: [numbers of scorers, status, right] for each thing that scorers made of the answer."""
    orders: tuple[tuple[str, float], ...]
    """What the list can be sorted by in addition to the run's order, and the sample's number in it, the least first."""
    fields: tuple[str, ...]
    """JSON texts of what the card shows, as rows.js takes them apart: what other samples may well share (question,
    choices, references, names of metadata, prompt), then the rest (stages, error, what the scorers parsed, metadata,
    audio, the answer before, diff, diff before, scene)."""


class _Encoded:
    """JSON texts by what they are of, so that what stands in many rows is encoded once."""

    def __init__(self) -> None:
        self._texts: dict[Hashable, str] = {}

    def of(self, key: Hashable, value: Callable[[], Any]) -> str:
        """The JSON text of ``value()``, which is always the same for one ``key``."""
        text = self._texts.get(key)
        if text is None:
            if len(self._texts) >= _REMEMBERED:
                self._texts.clear()
            text = self._texts[key] = _encode(value())
        return text


class RowMaker:
    """Makes the rows of one item, no text of them longer than ``longest`` characters."""

    def __init__(self, item: ItemRecord, longest: int = LONGEST_TEXT) -> None:
        self._longest = longest
        self._scorers = {scorer.name: number for number, scorer in enumerate(item.scorers)}
        self._headline = next(iter(self._scorers), "")
        # The first metric of each, which its samples' own scores are of.
        self._metrics = {str(metric.scorer): metric.name for metric in reversed(item.metrics)}
        self._words = words_of(item)
        self._once = _Encoded()

    def row(self, sample: Joined) -> PageRow:
        """The row of a sample of the item."""
        cut, once = self._cut, self._once.of
        first, before = sample.predictions[0], sample.compared
        choices = tuple(first.choices[:LONGEST_LIST])
        references = tuple([text for text in (first.reference, *first.references) if text][:LONGEST_LIST])
        names = tuple(first.metadata)[:LONGEST_LIST]
        prompt = tuple([self._prompt(row, row.prompt) for row in sample.predictions if row.prompt])
        groups = tuple(sample.scored[0].groups.items()) if sample.scored else ()
        scene = _scene(sample)
        if scene is not None:
            references = ()  # they are the events of the scene
        kinds, results = self._results(sample)
        rest = [
            [
                [_name(row.stage), cut(output.text), output.finish, _role(row)]
                for row in sample.predictions
                for output in row.outputs[:LONGEST_LIST]
            ],
            # What a judge could not be asked is no failure of the sample's.
            cut(next((row.error for row in sample.predictions if row.error is not None and not _role(row)), None)),
            results,
            [cut(str(first.metadata[name])) for name in names],
            [
                [cut(clip.source), clip.duration_s, clip.truncated_s, clip.key is not None]
                for clip in played(sample).audio[:LONGEST_LIST]
            ],
            None if before is None else self._before(before.before, choices, references),
            # The headline's lines come first.
            self._diff(first.reference, sample.processed[0].value or "", sample.scored[0].scores)
            if sample.scored and sample.processed and scene is None
            else None,
            None
            if before is None or scene is not None
            else self._diff(first.reference, before.before.text, before.before.scores),
            None if scene is None else scene.card(self._longest),
        ]
        return PageRow(
            _name(first.sample_id),
            first.epoch,
            change_of(sample),
            is_lost(sample),
            wording(sample),
            once(("groups", groups), lambda: {_name(name): _name(value) for name, value in groups}),
            kinds,
            tuple(self._orders(sample, scene)),
            (
                once(first.question, lambda: cut(first.question)),
                once(("choices", choices), lambda: [cut(choice) for choice in choices]),
                once(("references", references), lambda: [cut(text) for text in dict.fromkeys(references)]),
                once(("names", names), lambda: [cut(name) for name in names]),
                once(("prompt", prompt), lambda: prompt),
                _encode(rest),
            ),
        )

    def _results(self, sample: Joined) -> tuple[tuple[str, ...], list[Any]]:
        """Kinds, and the value and own score of each, which is None where the scorer leaves the answer out."""
        scored = {row.scorer: row.scores for row in sample.scored}
        numbers: dict[tuple[Any, ...], list[int]] = {}
        for row in sample.processed:
            scores = scored.get(row.scorer)
            result = (
                row.status,
                None if row.details else row.value,
                None if scores is None else tuple(scores.items()),
                self._metrics.get(row.scorer, ""),
            )
            if row.scorer in self._scorers:
                numbers.setdefault(result, []).append(self._scorers[row.scorer])
        kinds, results = [], []
        for (status, value, scores, metric), scorers in numbers.items():
            kind = (tuple(scorers), status, None if scores is None else is_right(dict(scores)))
            kinds.append(self._once.of(("kind", kind), lambda kind=kind: kind))  # type: ignore[misc]
            results.append([self._cut(value_words(value)), None if scores is None else score_text(metric, scores)])
        return tuple(kinds), results

    def _orders(self, sample: Joined, scene: Scene | None) -> Iterator[tuple[str, float]]:
        scores = sample.scored[0].scores if sample.scored else None
        metric = self._metrics.get(self._headline, "")
        score = None if scores is None else own_score(metric, tuple(scores.items()))
        if score is not None:
            yield f"worst {metric}", round(score if metric_kind(metric).direction == "higher" else -score, 4)
        if scene is not None and scene.invented_share is not None:
            yield "most invented", round(-scene.invented_share, 4)

    def _diff(self, reference: str, answer: str | None, scores: Mapping[str, float] | None) -> Any:
        if answer is None or scores is None:
            return None
        diff = word_diff(reference, answer, self._headline, self._words, scores)
        return None if diff is None else [diff.by, diff.joint, [part for run in diff.runs for part in run]]

    def _before(self, before: BaselineAnswer, choices: Sequence[str], references: Sequence[str]) -> list[Any]:
        scores = before.scores
        return [
            before.status,
            self._cut(before.text),
            None if scores is None else score_text(self._metrics.get(self._headline, ""), tuple(scores.items())),
            [_name(name) for name in before.failures[:LONGEST_LIST]],
            None if scores is None else is_right(scores),
            self._cut(answer_label(before, choices, references)) if before.text is None else "",
        ]

    def _prompt(self, row: PredictionRow, prompt: Prompt) -> tuple[Any, ...]:
        """A stage's messages: each part is the number of a clip, or what ``_pieces`` makes of a text."""
        messages = [
            (role, tuple([part if isinstance(part, int) else self._pieces(part, row) for part in parts[:LONGEST_LIST]]))
            for role, parts in prompt[:LONGEST_LIST]
        ]
        return _name(row.stage), _role(row), tuple(messages)

    def _pieces(self, text: str, row: PredictionRow) -> tuple[str | int, ...]:
        """``text`` with 0 in place of the sample's question and n in place of its n-th choice, where they stand in it.

        So the prompts of most samples are one and the same template, which the page holds once. A last number below
        zero counts the characters that were cut off.
        """
        pieces: list[str | int] = []
        rest = text[: self._longest]
        for number, part in enumerate((row.question, *row.choices[:LONGEST_LIST])):
            if part and part in rest and len(part) <= self._longest:
                before, _, rest = rest.partition(part)
                pieces += [before, number]
        pieces.append(rest)
        if len(text) > self._longest:
            pieces.append(self._longest - len(text))
        return tuple(pieces)

    def _cut(self, text: str | None) -> str | list[Any] | None:
        if text is None or len(text) <= self._longest:
            return text
        return [text[: self._longest], len(text) - self._longest]


def _scene(sample: Joined) -> Scene | None:
    if not sample.processed or sample.processed[0].details is None:
        return None
    from pytest_audiobench.report.page.scenes import scene_of

    return scene_of(sample.processed[0].details)


def change_of(sample: Joined) -> str:
    """``worse``, ``better`` or ``same``; empty where the baseline has no such sample."""
    return sample.compared.change if sample.compared else ""


def is_lost(sample: Joined) -> bool:
    """Whether an answer that was right in the baseline is wrong, or has no value."""
    if sample.compared is None or sample.compared.change != "worse" or not sample.scored:
        return False
    before = sample.compared.before.scores
    return (
        before is not None and is_right(before) is True and is_wrong(sample.scored[0].status, sample.scored[0].scores)
    )


def wording(sample: Joined) -> tuple[str, ...]:
    """The classes of failures that every scorer sees; beyond them, each sees the one that is its status."""
    if not sample.scored:
        return ()
    others = [set(row.failures) for row in sample.scored[1:]]
    return tuple(name for name in sample.scored[0].failures if all(name in failures for failures in others))


def is_failure(sample: Joined) -> bool:
    """Whether the headline scorer counts the answer as wrong or could not parse it, or asking failed."""
    if not sample.scored:
        return any(row.error is not None for row in sample.predictions)
    return is_wrong(sample.scored[0].status, sample.scored[0].scores)


def is_wrong(status: str, scores: Mapping[str, float] | None) -> bool:
    """Whether an answer of this status and with these statistics is wrong, or could not be parsed."""
    return status != "parsed" or (scores is not None and is_right(scores) is False)


def value_words(value: str | None) -> str | None:
    """What was read, where that is a list or an object, as ``dog, cat`` or ``labels: dog, cat``; a text as it is."""
    if value is None or value[:1] not in ("[", "{"):
        return value
    try:
        parsed = json.loads(value)
        # A transcript may begin with a bracket: only what a scorer wrote itself is in just this form.
        is_ours = value in (json.dumps(parsed), json.dumps(parsed, ensure_ascii=False))
        return _spelled(parsed) if is_ours else value
    except (ValueError, RecursionError):
        return value


def _spelled(value: Any) -> str:
    if isinstance(value, dict):
        parts = ((name.replace("_", " "), _spelled(entry)) for name, entry in value.items())
        return "; ".join(f"{name}: {text}" for name, text in parts if text)
    if isinstance(value, list):
        return (" | " if any(isinstance(entry, dict) for entry in value) else ", ").join(map(_spelled, value))
    return "" if value is None else str(value)


@lru_cache(maxsize=4_096)
def score_text(metric: str, scores: tuple[tuple[str, float], ...]) -> str:
    """``wer 25.0 %``: a sample's own score; empty where it has none, or only says again that the answer is right."""
    score = own_score(metric, scores)
    return "" if score is None else f"{metric} {value_text(score, metric_kind(metric).unit)}"


@lru_cache(maxsize=4_096)
def own_score(metric: str, scores: tuple[tuple[str, float], ...]) -> float | None:
    """A sample's own score; None where it has none, or only says again that the answer is right."""
    kind, statistics = metric_kind(metric) if is_known(metric) else None, dict(scores)
    if kind is None or (kind.parts is None and kind.sample_score is None):
        return None
    try:
        top, whole = kind.parts(statistics) if kind.parts else (kind.sample_score(statistics), 1.0)  # type: ignore[misc]
        score = top / whole if whole > 0 else math.nan
    except (KeyError, ArithmeticError, ValueError, UsageError):
        return None  # statistics come from files that anyone may have edited
    return None if not math.isfinite(score) or score == statistics.get("correct") else score


def _role(row: PredictionRow) -> str:
    """Empty for the model, whose rows are most of them."""
    return "" if row.role == "subject" else row.role


def _name(text: str) -> str:
    return text[:LONGEST_NAME]
