"""What ``--ab-baseline`` names, read: one model's evals, or several models', as sides that a run is held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.report.load import load
from pytest_audiobench.report.sides import sides_of
from pytest_audiobench.runs.sides import Side


@dataclass(frozen=True)
class Baseline:
    """``sides`` are by eval and by model alias; ``header`` is what a run's record says of its baseline."""

    source: str
    header: Mapping[str, Any]
    sides: Mapping[str, Mapping[str, Side]]

    def side(self, eval_: str, alias: str) -> Side | None:
        """The side of an eval: of its only model, else of the model of that alias. None where there is none.

        Raises UsageError where it is by several models, none of them of that alias.
        """
        own = self.sides.get(eval_, {})
        if len(own) > 1 and alias not in own:
            raise UsageError(
                f"{self.source} holds {eval_} by several models ({', '.join(own)}) and none is called {alias!r}: give "
                f"the model one of these names, as --ab-model {next(iter(own))}=KIND:TARGET"
            )
        return own.get(alias) or next(iter(own.values()), None)


def read_baseline(text: str, reports: Path) -> Baseline:
    """The baseline that ``text`` names. Raises UsageError where there is none, or where it cannot be read."""
    run = load(text, reports)
    found: dict[str, dict[str, Side]] = {}
    for (eval_, alias), side in sides_of(run.folder, run.record, text).items():
        found.setdefault(eval_, {})[alias] = side
    models = [model for model in run.record["models"] if model["role"] == "subject"]
    header = {
        "source": text,
        "digest": run.record["hashes"]["score_hash"],
        "model": ", ".join(model["alias"] for model in models),
        "spec": ", ".join(model["spec"] for model in models),
        "run": run.record["run"],
        "limit": run.record["limit"],
    }
    return Baseline(text, header, found)
