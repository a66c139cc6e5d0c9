"""The checkpoints of a training: found in their folders, asked by runs of pytest, each compared with the best before.

A look at k runs spends alpha / (k (k - 1)) of the level, so that all looks of a training together, however many there
are, spend alpha at most. ``comparison/track.py`` divides a look's share among its curves and its possible bests.
"""

from __future__ import annotations

import glob
import itertools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.comparison.baseline_sources import missing_parts
from pytest_audiobench.comparison.comparison_lines import Selection
from pytest_audiobench.comparison.run_series import Names, by_words, ordered_points, steps
from pytest_audiobench.comparison.table_cells import table_lines, value_cell
from pytest_audiobench.comparison.track import Curve, Track, TrackOptions, track
from pytest_audiobench.comparison.track_page import write_page
from pytest_audiobench.comparison.track_text import name as curve_name
from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.regression_text import change_texts
from pytest_audiobench.gate.threshold_syntax import read_margin
from pytest_audiobench.report.run_reader import load_run
from pytest_audiobench.report.run_writer import RECORD

TRAINER_STATE = "trainer_state.json"
"""What transformers' Trainer writes last into a checkpoint."""

_CHECKPOINT = "{checkpoint}"
_OF_ONE_PROCESS = re.compile(r"(LOCAL_|GROUP_|ROLE_)?(RANK|WORLD_SIZE)|ROLE_NAME|MASTER_(ADDR|PORT)|TORCHELASTIC_\w+")
"""What torchrun tells a process of a training; a run of pytest is not one of them."""


class Checkpoint(NamedTuple):
    """A folder that a training saved at a step."""

    step: float
    folder: Path

    @property
    def label(self) -> str:
        return f"{self.step:.15g}"

    def saved(self) -> float:
        """When its youngest file was written, in seconds of the epoch; 0 where it was removed meanwhile."""
        try:
            return max((file.stat().st_mtime for file in self.folder.iterdir() if file.is_file()), default=0.0)
        except FileNotFoundError:
            return 0.0

    def is_whole(self, settle_s: float) -> bool:
        """Whether nothing more will be written: Trainer has said so, or all weights lie here and no file changed for
        ``settle_s`` seconds.
        """
        if (self.folder / TRAINER_STATE).is_file():
            return True
        names = {file.name for file in self.folder.glob("*.safetensors")}
        try:
            for index in self.folder.glob("*.safetensors.index.json"):
                names -= {""} if names >= set(json.loads(index.read_bytes())["weight_map"].values()) else names
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return False
        return bool(names) and time.time() - self.saved() >= settle_s


def checkpoints(pattern: str, settle_s: float) -> tuple[list[Checkpoint], list[Checkpoint]]:
    """The checkpoints that ``pattern`` names (a folder's name with ``*``), by step: the whole ones, and the others.

    Raises UsageError for a folder without a step in its name, and for two of one step.
    """
    by_step: dict[float, Path] = {}
    for folder in sorted(Path(name) for name in glob.glob(os.path.expanduser(pattern))):
        if not folder.is_dir():
            continue
        (step,) = steps([Names(folder.name, "", "")], by_words)
        if step is None:
            raise UsageError(f"no step is in the name of {folder}: a checkpoint's folder is called checkpoint-2000")
        if step in by_step:
            raise UsageError(f"{by_step[step]} and {folder} are both of step {step:.15g}: name the folders of one run")
        by_step[step] = folder
    whole: list[Checkpoint] = []
    others: list[Checkpoint] = []
    for checkpoint in (Checkpoint(step, folder) for step, folder in sorted(by_step.items())):
        (whole if checkpoint.is_whole(settle_s) else others).append(checkpoint)
    return whole, others


class Look(NamedTuple):
    """What became known when a checkpoint had been asked."""

    checkpoint: Checkpoint
    exit_status: int
    """Of its run of pytest."""
    missing: Sequence[str]
    """Why it is not a measurement, a sentence each; empty where it is one."""
    track: Track | None
    """The curves up to it; None for the first, and where it is not a measurement."""

    @property
    def own_curves(self) -> list[Curve]:
        """The curves that end with this checkpoint."""
        points = self.track.points if self.track else ()
        at = next((at for at, point in enumerate(points) if point.step == self.checkpoint.step), None)
        return [] if self.track is None or at is None else [curve for curve in self.track.curves if curve.last == at]

    @property
    def regressed(self) -> list[Curve]:
        """The curves that this checkpoint ends significantly below their best."""
        return [
            curve
            for curve in self.own_curves
            if curve.since_best is not None and curve.since_best.status == "regressed"
        ]

    def lines(self) -> Iterator[str]:
        """What to read of it, a row a curve in 80 columns."""
        if self.missing:
            yield f"step {self.checkpoint.label}: not measured: {self.missing[0]}"
        elif self.track is None:
            yield f"step {self.checkpoint.label}: the first; the next is compared with it"
        else:
            rows = [self._cells(self.track, curve) for curve in self.own_curves]
            head = (f"step {self.checkpoint.label}, against the best so far", "value", "change", "since", "")
            yield from table_lines(head, (), [("", rows)])

    def _cells(self, curves: Track, curve: Curve) -> tuple[str, ...]:
        estimate = curve.values[curve.last]
        assert estimate is not None
        head = (curve_name(curve), value_cell(estimate, curve.unit))
        if curve.since_best is None:
            return (*head, "", "", "best")
        change, _ = change_texts(curve.since_best)
        return (*head, change, curves.points[curve.best].label, "✗ worse" if curve in self.regressed else "")


@dataclass
class Follower:
    """Asks the checkpoints of one training by runs of pytest, which are called ``name-step``.

    ``model`` is a spec in which ``{checkpoint}`` stands for the folder; ``arguments`` are those of pytest. ``page`` is
    drawn again behind each look.
    """

    name: str
    arguments: Sequence[str]
    model: str = f"hf:{_CHECKPOINT}"
    reports: Path = Path("reports")
    page: Path | None = None
    max_drop: str = "1pp"
    alpha: float = 0.05
    looks: list[Look] = field(default_factory=list)

    def __post_init__(self) -> None:
        read_margin(self.max_drop)
        if _CHECKPOINT not in self.model:
            raise UsageError(f"the model {self.model!r} does not say where the checkpoint goes: hf:{_CHECKPOINT}")
        if not re.fullmatch(r"[\w.+-]+", self.name):
            raise UsageError(f"{self.name!r} cannot be the name of runs: use letters, digits, dots and hyphens")

    def is_measured(self, checkpoint: Checkpoint) -> bool:
        """Whether a whole run of it by the same arguments lies in the reports that began after it was saved."""
        folder = self._folder(checkpoint)
        if not (folder / RECORD).is_file():
            return False
        record, own = load_run(folder).record, self._arguments(checkpoint)
        # A run notes the second in which it began, and reads the weights later.
        if datetime.fromisoformat(record.started).timestamp() + 1.0 <= checkpoint.saved():
            return False
        return list(record.command[1 : 1 + len(own)]) == own and not _missing(folder, checkpoint)

    def _arguments(self, checkpoint: Checkpoint) -> list[str]:
        """Those of pytest that say what is asked of which model."""
        model = self.model.replace(_CHECKPOINT, str(checkpoint.folder.resolve()))
        return [*self.arguments, f"--ab-model={_alias(checkpoint)}={model}"]

    def ask(self, checkpoint: Checkpoint) -> Look:
        """Run pytest on it and compare it with the best so far. Raises UsageError where the questions differ."""
        run = self._folder(checkpoint)
        options = [*self._arguments(checkpoint), f"--ab-run={run.name}", f"--ab-reports={self.reports}"]
        environment = {name: value for name, value in os.environ.items() if not _OF_ONE_PROCESS.fullmatch(name)}
        command = [sys.executable, "-m", "pytest", *options]
        if (run / RECORD).is_file():
            # Of another state of the folder, or no measurement.
            earlier = (run.with_name(f"{run.name}.earlier-{number}") for number in itertools.count(1))
            run.rename(next(folder for folder in earlier if not folder.exists()))
        status = subprocess.run(command, env=environment, check=False).returncode
        if not (run / RECORD).is_file():
            missing: Sequence[str] = (f"pytest ended with exit code {status} and left no run",)
        else:
            missing = _missing(run, checkpoint)
        self.looks.append(Look(checkpoint, status, missing, None if missing else self._track(checkpoint)))
        return self.looks[-1]

    def look(self, checkpoint: Checkpoint) -> Look:
        """What is known of a checkpoint that was measured before."""
        self.looks.append(Look(checkpoint, 0, (), self._track(checkpoint)))
        return self.looks[-1]

    def pass_over(self, checkpoint: Checkpoint, why: str) -> Look:
        """Note why a checkpoint is not asked."""
        self.looks.append(Look(checkpoint, 0, (why,), None))
        return self.looks[-1]

    def _track(self, checkpoint: Checkpoint) -> Track | None:
        """The curves of the runs up to this step."""
        places = []
        for folder in sorted(self.reports.glob(f"{glob.escape(self.name)}-*")):
            (step,) = steps([Names(folder.name.removeprefix(f"{self.name}-"), "", "")], by_words)
            if step is not None and step <= checkpoint.step and (folder / RECORD).is_file():
                places += [folder] * (not _missing(folder, Checkpoint(step, folder)))
        if len(places) < 2:
            return None
        points, model, notes = ordered_points(places, "", by_words, "step")
        alpha = self.alpha / (len(points) * (len(points) - 1))
        curves = track(model, points, TrackOptions(Selection(), "*", alpha, self.max_drop), notes)
        if self.page is not None:
            write_page(self.page, curves)
        return curves

    def figures(self, checkpoint: Checkpoint) -> dict[str, float]:
        """The first metric of each eval as ``audiobench/EVAL/METRIC``; empty where it was not measured."""
        folder = self._folder(checkpoint)
        items = load_run(folder).record.items if (folder / RECORD).is_file() else ()
        return {
            f"audiobench/{item.eval}/{item.metrics[0].name}": float(item.metrics[0].value)
            for item in items
            if item.metrics and not item.control and item.metrics[0].value is not None
        }

    def _folder(self, checkpoint: Checkpoint) -> Path:
        return self.reports / f"{self.name}-{checkpoint.label}"

    def exit_status(self) -> int:
        """1 where the last measured checkpoint is significantly below the best, 6 where it is not and one of those
        looked at was not measured, else 0.
        """
        measured = [look for look in self.looks if not look.missing]
        if measured and measured[-1].regressed:
            return 1
        return 6 if len(measured) < len(self.looks) else 0


def _missing(run: Path, checkpoint: Checkpoint) -> tuple[str, ...]:
    """Why a finished run is not a measurement of the checkpoint, a sentence each."""
    record, alias = load_run(run).record, _alias(checkpoint)
    measured = any(item.scorers and not item.control for item in record.items if item.model == alias)
    return missing_parts(record, alias) or (() if measured else ("no eval of it was measured",))


def _alias(checkpoint: Checkpoint) -> str:
    return f"step-{checkpoint.label}"
