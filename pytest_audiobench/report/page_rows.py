"""One sample as the page holds it: what the list is filtered by, and what its card shows, as short JSON texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from pytest_audiobench.report.samples import Joined
from pytest_audiobench.report.word_diff import Diff, unit_of, word_diff, words_of

LONGEST_TEXT = 16_000
"""Characters of one text that are embedded; predictions.jsonl has the rest."""
LONGEST_NAME = 300
"""Characters of an id and of a group's value."""
LONGEST_LIST = 200
"""Choices, references, metadata fields, clips and parts of a prompt that are embedded of one sample."""
CHANGES = ("", "worse", "better", "same")
"""What became of a sample since the baseline; the first where that has no such sample."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class PageRow(NamedTuple):
    """A sample in one epoch.

    ``kinds`` are JSON texts of [numbers of readings, status, right], for each thing that readings made of the answer.
    ``fields`` are the JSON texts of what the card shows, as page.samples.js takes them apart: question, choices,
    references, stages, error, what the readings read, prompt, names of metadata, metadata, audio, the answer before,
    diff, diff before.
    """

    sample_id: str
    epoch: int
    change: str
    wording: tuple[str, ...]
    groups: str
    kinds: tuple[str, ...]
    fields: tuple[str, ...]


class RowMaker:
    """Makes the rows of one item, no text of them longer than ``longest`` characters."""

    def __init__(self, item: Mapping[str, Any], longest: int = LONGEST_TEXT) -> None:
        self._longest = longest
        self._readings = {reading["name"]: number for number, reading in enumerate(item["readings"])}
        self._headline = next(iter(self._readings), "")
        self._words = words_of(item)

    def row(self, one: Joined) -> PageRow:
        """The row of a sample of the item."""
        cut = self._cut
        first, before = one.predictions[0], one.compared
        # What a judge said of an answer is none, and what a judge could not be asked is no failure of the sample's.
        error = next((r["error"] for r in one.predictions if r["error"] is not None and "role" not in r), None)
        groups = one.scored[0]["groups"] if one.scored else {}
        kinds, told = self._read(one)
        references = [text for text in (first["reference"], *first.get("references", ())) if text]
        metadata = dict(list(first.get("metadata", {}).items())[:LONGEST_LIST])
        fields = (
            cut(first["question"]),
            [cut(choice) for choice in first["choices"][:LONGEST_LIST]],
            [cut(text) for text in dict.fromkeys(references[:LONGEST_LIST])],
            [
                [row["stage"], cut(output["text"]), output["finish"], row.get("role", "")]
                for row in one.predictions
                for output in row["outputs"][:LONGEST_LIST]
            ],
            cut(error),
            told,
            [self._prompt(row) for row in one.predictions if row.get("prompt")],
            [cut(name) for name in metadata],
            [cut(str(value)) for value in metadata.values()],
            [
                [cut(clip["source"]), clip["duration_s"], clip["truncated_s"], clip["key"] is not None]
                for clip in first["audio"][:LONGEST_LIST]
            ],
            None if before is None else self._before(before["before"]),
            self._diff(one),
            None if before is None else self._diff_before(first["reference"], before["before"]),
        )
        return PageRow(
            first["sample_id"][:LONGEST_NAME],
            first["epoch"],
            change_of(one),
            wording(one),
            _encode({name: value[:LONGEST_NAME] for name, value in groups.items()}),
            tuple(map(_encode, kinds)),
            tuple(map(_encode, fields)),
        )

    def _read(self, one: Joined) -> tuple[list[Any], list[Any]]:
        """What the readings made of the answer, what several say alike once: kinds, and value and statistics of each.

        The statistics are None where the protocol leaves the answer out.
        """
        scored = {row["reading"]: row["scores"] for row in one.scored}
        found: dict[tuple[Any, ...], list[int]] = {}
        for row in one.processed:
            scores = scored.get(row["reading"])
            said = (row["status"], row["value"], None if scores is None else tuple(scores.items()))
            if row["reading"] in self._readings:
                found.setdefault(said, []).append(self._readings[row["reading"]])
        kinds = [
            [own, status, None if scores is None else right(dict(scores))] for (status, _, scores), own in found.items()
        ]
        told = [[self._cut(value), None if scores is None else _scores(dict(scores))] for _, value, scores in found]
        return kinds, told

    def _diff(self, one: Joined) -> Any:
        read = next((row for row in one.processed if row["reading"] == self._headline), None)
        scores = next((row["scores"] for row in one.scored if row["reading"] == self._headline), None)
        if read is None or scores is None or unit_of(scores) is None:
            return None
        return self._drawn(one.predictions[0]["reference"], read["value"] or "", scores)

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
            before["status"],
            self._cut(before["text"]),
            None if scores is None else _scores(scores),
            list(before["failures"]),
            None if scores is None else right(scores),
        ]

    def _prompt(self, row: Mapping[str, Any]) -> list[Any]:
        """A stage's messages: each part is the number of a clip, or what ``_pieces`` makes of a text."""
        messages = [
            [role, [part if isinstance(part, int) else self._pieces(part, row) for part in parts[:LONGEST_LIST]]]
            for role, parts in row["prompt"][:LONGEST_LIST]
        ]
        return [row["stage"], row.get("role", ""), messages]

    def _pieces(self, text: str, row: Mapping[str, Any]) -> list[str | int]:
        """``text`` with 0 in place of the sample's question and n in place of its n-th choice, where they stand in it.

        So the prompts of most samples are one and the same template, which the page holds once. A last number below
        zero counts the characters that were cut off.
        """
        pieces: list[str | int] = []
        rest = text[: self._longest]
        known = [(0, row["question"] or ""), *enumerate(row["choices"][:LONGEST_LIST], start=1)]
        for number, part in known:
            before, found, after = rest.partition(part) if 0 < len(part) <= self._longest else (rest, "", "")
            if found:
                pieces += [before, number]
                rest = after
        pieces.append(rest)
        if len(text) > self._longest:
            pieces.append(self._longest - len(text))
        return pieces

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
    """The classes of failures that every reading sees; beyond them, each sees the one that is its status."""
    if not one.scored:
        return ()
    others = [set(row["failures"]) for row in one.scored[1:]]
    return tuple(name for name in one.scored[0]["failures"] if all(name in own for own in others))


def went_wrong(one: Joined) -> bool:
    """Whether the headline reading counts the answer as wrong or could not read it, or asking failed."""
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


def _scores(scores: Mapping[str, float]) -> str:
    return " ".join(f"{name}={value:g}" for name, value in scores.items())
