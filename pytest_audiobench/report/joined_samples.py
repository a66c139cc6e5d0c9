"""A run's line files joined again: one record per sample and epoch, streamed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pytest_audiobench.errors import FatalError
from pytest_audiobench.protocols.protocol import first_wording_stages
from pytest_audiobench.report.json_lines import Row, read_lines
from pytest_audiobench.report.run_files import COMPARED_FILE, LINE_FILES

Key: TypeAlias = tuple[str, str, str, int]


class Joined(NamedTuple):
    """One sample in one epoch: its predictions by stage, and each scorer's line of what was read and scored.

    ``compared`` says by what the baseline's answer differs, where there is a baseline that has the sample.
    """

    predictions: list[Row]
    processed: list[Row]
    scored: list[Row]
    compared: Row | None = None


def joined(folder: Path) -> Iterator[Joined]:
    """The samples of a run in its order, with at most one of them in memory.

    All files hold one order of samples. Raises FatalError where they do not belong together.
    """
    processed = _Follower(folder / LINE_FILES["processed"])
    scored = _Follower(folder / LINE_FILES["scored"])
    compared = _Follower(folder / COMPARED_FILE) if (folder / COMPARED_FILE).exists() else None
    for key, rows in groupby(read_lines(folder / LINE_FILES["predictions"]), _key):
        before = next(iter(compared.take(key)), None) if compared else None
        yield Joined(list(rows), processed.take(key), scored.take(key), before)
    for follower in (processed, scored, *([compared] if compared else [])):
        follower.check_end()


def plain(one: Joined) -> dict[str, Any]:
    """A sample as one flat mapping: what was asked, what was answered, and what each scorer made of it."""
    # What a judge said of an answer is no answer.
    own = [row for row in one.predictions if "role" not in row]
    stages = {row["stage"]: row for row in own}
    first, last = own[0], stages[first_wording_stages(stages)[-1]]
    outputs = last["outputs"] or [{"text": None, "finish": None}]
    scored = {row["scorer"]: row for row in one.scored}
    return {
        **{
            name: first[name]
            for name in (
                "eval",
                "model",
                "dataset",
                "sample_id",
                "epoch",
                "question",
                "choices",
                "reference",
            )
        },
        "references": first.get("references", []),
        "text": outputs[0]["text"],
        "finish": outputs[0]["finish"],
        "error": next((row["error"] for row in own if row["error"] is not None), None),
        "stages": {row["stage"]: [output["text"] for output in row["outputs"]] for row in one.predictions},
        "audio": played(one)["audio"],
        "scorers": {
            row["scorer"]: {
                "status": row["status"],
                "value": row["value"],
                "scores": scored.get(row["scorer"], {}).get("scores") or {},
            }
            for row in one.processed
        },
        "groups": next((row["groups"] for row in one.scored), {}),
        "cluster": next((row["cluster"] for row in one.scored), None),
    }


def played(one: Joined) -> Row:
    """The row that says what was played: not of a stage that was played the clips as they were before a perturbation."""
    return next((row for row in one.predictions if not row.get("unchanged")), one.predictions[0])


class _Follower:
    """Reads a file beside the predictions: the rows of one sample at a time, when they are its next."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._groups = groupby(read_lines(path), _key)
        self._next: tuple[Key, Iterator[Row]] | None = next(self._groups, None)

    def take(self, key: Key) -> list[Row]:
        if self._next is None or self._next[0] != key:
            return []
        rows = list(self._next[1])
        self._next = next(self._groups, None)
        return rows

    def check_end(self) -> None:
        if self._next is not None:
            eval_, model, sample_id, epoch = self._next[0]
            raise FatalError(
                f"{self._path} holds {sample_id!r} of {eval_} by {model} (epoch {epoch}) where predictions.jsonl "
                "does not: the files are not of one run, or were sorted"
            )


def _key(row: Row) -> Key:
    return row["eval"], row["model"], row["sample_id"], row["epoch"]
