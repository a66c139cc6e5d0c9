"""One sample as the page holds it: what the list is filtered by, and what its card shows, as short JSON texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from pytest_audiobench.report.joined_samples import Joined, played
from pytest_audiobench.report.page.word_diff import Diff, unit_of, word_diff, words_of

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
    """A sample in one epoch.

    ``groups`` and ``kinds`` are JSON texts: the groups by name, and [numbers of scorers, status, right] for each thing
    that scorers made of the answer. ``fields`` are those of what the card shows, as page.rows.js takes them apart:
    what other samples may well share (question, choices, references, names of metadata, prompt), then the rest (stages,
    error, what the scorers read, metadata, audio, the answer before, diff, diff before).
    """

    sample_id: str
    epoch: int
    change: str
    wording: tuple[str, ...]
    groups: str
    kinds: tuple[str, ...]
    fields: tuple[str, ...]


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

    def __init__(self, item: Mapping[str, Any], longest: int = LONGEST_TEXT) -> None:
        self._longest = longest
        self._scorers = {scorer["name"]: number for number, scorer in enumerate(item["scorers"])}
        self._headline = next(iter(self._scorers), "")
        self._words = words_of(item)
        self._once = _Encoded()

    def row(self, one: Joined) -> PageRow:
        """The row of a sample of the item."""
        cut, once = self._cut, self._once.of
        first, before = one.predictions[0], one.compared
        choices = tuple(first["choices"][:LONGEST_LIST])
        references = tuple([text for text in (first["reference"], *first.get("references", ())) if text][:LONGEST_LIST])
        metadata = first.get("metadata", {})
        names = tuple(metadata)[:LONGEST_LIST]
        prompt = tuple([self._prompt(row) for row in one.predictions if row.get("prompt")])
        groups = tuple(one.scored[0]["groups"].items()) if one.scored else ()
        kinds, told = self._read(one)
        rest = [
            [
                [_name(row["stage"]), cut(output["text"]), _name(output["finish"]), _name(row.get("role", ""))]
                for row in one.predictions
                for output in row["outputs"][:LONGEST_LIST]
            ],
            # What a judge could not be asked is no failure of the sample's.
            cut(next((r["error"] for r in one.predictions if r["error"] is not None and "role" not in r), None)),
            told,
            [cut(str(metadata[name])) for name in names],
            [
                [cut(clip["source"]), clip["duration_s"], clip["truncated_s"], clip["key"] is not None]
                for clip in played(one)["audio"][:LONGEST_LIST]
            ],
            None if before is None else self._before(before["before"]),
            self._diff(one),
            None if before is None else self._diff_before(first["reference"], before["before"]),
        ]
        return PageRow(
            _name(first["sample_id"]),
            first["epoch"],
            change_of(one),
            wording(one),
            once(("groups", groups), lambda: {_name(name): _name(value) for name, value in groups}),
            kinds,
            (
                once(first["question"], lambda: cut(first["question"])),
                once(("choices", choices), lambda: [cut(choice) for choice in choices]),
                once(("references", references), lambda: [cut(text) for text in dict.fromkeys(references)]),
                once(("names", names), lambda: [cut(name) for name in names]),
                once(("prompt", prompt), lambda: prompt),
                _encode(rest),
            ),
        )

    def _read(self, one: Joined) -> tuple[tuple[str, ...], list[Any]]:
        """What the scorers made of the answer, what several say alike once: kinds, and value and statistics of each.

        The statistics are None where the protocol leaves the answer out.
        """
        scored = {row["scorer"]: row["scores"] for row in one.scored}
        found: dict[tuple[Any, ...], list[int]] = {}
        for row in one.processed:
            scores = scored.get(row["scorer"])
            said = (row["status"], row["value"], None if scores is None else tuple(scores.items()))
            if row["scorer"] in self._scorers:
                found.setdefault(said, []).append(self._scorers[row["scorer"]])
        kinds, told = [], []
        for (status, value, scores), own in found.items():
            kind = (tuple(own), _name(status), None if scores is None else right(dict(scores)))
            kinds.append(self._once.of(("kind", kind), lambda kind=kind: kind))  # type: ignore[misc]
            told.append([self._cut(value), None if scores is None else _scores(scores)])
        return tuple(kinds), told

    def _diff(self, one: Joined) -> Any:
        # The headline's lines come first.
        if not one.scored or not one.processed or unit_of(one.scored[0]["scores"]) is None:
            return None
        return self._drawn(one.predictions[0]["reference"], one.processed[0]["value"] or "", one.scored[0]["scores"])

    def _diff_before(self, reference: str, before: Mapping[str, Any]) -> Any:
        if before["text"] is None or before["scores"] is None or unit_of(before["scores"]) is None:
            return None
        return self._drawn(reference, before["text"], before["scores"])

    def _drawn(self, reference: str, answer: str, scores: Mapping[str, float]) -> Any:
        found: Diff | None = word_diff(reference, answer, self._headline, self._words, scores)
        return None if found is None else [found.by, found.joint, [part for run in found.runs for part in run]]

    def _before(self, before: Mapping[str, Any]) -> list[Any]:
        scores = before["scores"]
        return [
            _name(before["status"]),
            self._cut(before["text"]),
            None if scores is None else _scores(scores.items()),
            [_name(name) for name in before["failures"][:LONGEST_LIST]],
            None if scores is None else right(scores),
        ]

    def _prompt(self, row: Mapping[str, Any]) -> tuple[Any, ...]:
        """A stage's messages: each part is the number of a clip, or what ``_pieces`` makes of a text."""
        messages = [
            (
                _name(role),
                tuple([part if type(part) is int else self._pieces(part, row) for part in parts[:LONGEST_LIST]]),
            )
            for role, parts in row["prompt"][:LONGEST_LIST]
        ]
        return _name(row["stage"]), _name(row.get("role", "")), tuple(messages)

    def _pieces(self, text: str, row: Mapping[str, Any]) -> tuple[str | int, ...]:
        """``text`` with 0 in place of the sample's question and n in place of its n-th choice, where they stand in it.

        So the prompts of most samples are one and the same template, which the page holds once. A last number below
        zero counts the characters that were cut off.
        """
        pieces: list[str | int] = []
        rest = text[: self._longest]
        for number, part in enumerate((row["question"], *row["choices"][:LONGEST_LIST])):
            if part and part in rest and len(part) <= self._longest:
                before, _, rest = rest.partition(part)
                pieces += [before, number]
        pieces.append(rest)
        if len(text) > self._longest:
            pieces.append(self._longest - len(text))
        return tuple(pieces)

    def _cut(self, text: str | None) -> str | list[Any] | None:
        """A text, or when it is too long its beginning and the number of characters left out."""
        if text is None or len(text) <= self._longest:
            return text
        return [text[: self._longest], len(text) - self._longest]


def change_of(one: Joined) -> str:
    """``worse``, ``better`` or ``same``; empty where the baseline has no such sample."""
    change = one.compared["change"] if one.compared else ""
    return change if change in CHANGES else ""


def wording(one: Joined) -> tuple[str, ...]:
    """The classes of failures that every scorer sees; beyond them, each sees the one that is its status."""
    if not one.scored:
        return ()
    others = [set(row["failures"]) for row in one.scored[1:]]
    return tuple(name for name in one.scored[0]["failures"] if all(name in own for own in others))


def went_wrong(one: Joined) -> bool:
    """Whether the headline scorer counts the answer as wrong or could not read it, or asking failed."""
    if not one.scored:
        return any(row["error"] is not None for row in one.predictions)
    first = one.scored[0]
    return first["status"] != "parsed" or (first["scores"] is not None and right(first["scores"]) is False)


def right(scores: Mapping[str, float]) -> bool | None:
    """Whether nothing was wrong with the answer: by ``correct``, else by word errors; None when neither is counted."""
    if "correct" in scores:
        return scores["correct"] >= 1
    errors = [scores[name] for name in ("S", "D", "I") if name in scores]
    return sum(errors) == 0 if errors else None


def _name(text: str) -> str:
    return text[:LONGEST_NAME]


def _scores(scores: Iterable[tuple[str, float]]) -> str:
    return " ".join([f"{name}={value:g}" for name, value in scores])
