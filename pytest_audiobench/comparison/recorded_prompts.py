"""What a run's folder says of the samples of chosen evals, as they were asked: the texts behind the hashes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.messages import Settings
from pytest_audiobench.report.json_lines import read_lines
from pytest_audiobench.report.run_files import LINE_FILES
from pytest_audiobench.report.run_reader import load_run

Samples: TypeAlias = dict[str, dict[str, Any]]
"""By sample id, what the hashes of an eval cover of it."""

DATA = ("question", "choices", "reference", "references", "metadata")


def recorded(folder: Path, model: str, evals: Collection[str]) -> dict[str, Samples]:
    """By eval, the samples that ``model`` was asked: first epoch, first stage under the eval's own perturbation.

    ``prompt`` and ``audio`` are None where the run does not know them. Raises FatalError for a file that was cut,
    UsageError for one that was edited.
    """
    found: dict[str, Samples] = {eval_: {} for eval_ in evals}
    path = folder / LINE_FILES["predictions"]
    try:
        for row in read_lines(path):
            if row.get(
                "unchanged"
            ):  # the clips as they were before a perturbation tell nothing of what it made of them
                continue
            if row["eval"] in found and row["model"] == model and row["epoch"] == 0 and "role" not in row:
                found[row["eval"]].setdefault(row["sample_id"], _sample(row))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{path} has a row that is none of a run's ({type(error).__name__}: {error}): it was edited; run again, "
            "which asks no model"
        ) from error
    return found


def generation(folder: Path, model: str) -> dict[str, dict[str, Any]]:
    """By eval, how answers were generated, as far as the options of its protocol say: settings are hashed, not kept."""
    names = [field.name for field in fields(Settings)]
    items = [item for item in load_run(folder).record["items"] if item["model"] == model]
    options = {item["eval"]: item.get("options", {}) for item in items}
    return {eval_: {name: own[name] for name in names if name in own} for eval_, own in options.items()}


def _sample(row: Mapping[str, Any]) -> dict[str, Any]:
    clips = [{"key": clip["key"], "source": clip["source"]} for clip in row["audio"]]
    return {
        **{name: row.get(name) for name in DATA},
        "audio": None if any(clip["key"] is None for clip in clips) else clips,
        "prompt": _messages(row.get("prompt")),
    }


def _messages(prompt: Any) -> list[dict[str, Any]] | None:
    """A prompt with names in it, so that a place in it can be read: ``prompt[1].parts[0].text``."""
    if prompt is None:
        return None
    return [
        {"role": role, "parts": [{"text": part} if isinstance(part, str) else {"clip": part} for part in parts]}
        for role, parts in prompt
    ]
