"""The folder of a run: agreed on by the controller and its workers, made when an eval is about to run."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from pytest_audiobench.errors import UsageError, disk_errors
from pytest_audiobench.identity import seed
from pytest_audiobench.models.remote import budget
from pytest_audiobench.records.fields import Record, plain
from pytest_audiobench.records.lines import COMPARED_FILE, LINE_FILES
from pytest_audiobench.records.run import BaselineRecord, ModelRecord
from pytest_audiobench.report import live_run
from pytest_audiobench.report.atomic_files import write_text


def new_run_name() -> str:
    """Date, time and a random end: sorts by time, and two runs started at once differ."""
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"


class Expected(NamedTuple):
    """An eval that was chosen to run, with the numbers of thresholds and of regression lines declared for it."""

    number: int
    nodeid: str
    eval: str
    suite: str
    alias: str
    thresholds: int
    lines: int = 0
    in_baseline: Sequence[str] = ()
    """The evaluations of it that the baseline holds."""
    beside: bool = False
    """Whether it only asks another eval under a perturbation, so that no line can be on it."""


class Planned(NamedTuple):
    """What an eval is to be asked."""

    answers: int
    known: int = 0
    """Those that the store holds."""


class Announcement(Record, frozen=True):
    """What one process of the run collected, or the usage error that it met."""

    expected: Sequence[Expected] = ()
    left_out: Sequence[str] = ()
    """Declared thresholds that no chosen eval matches."""
    cautions: Sequence[str] = ()
    plan: Sequence[str] = ()
    """What is to be asked of each model, a line each."""
    planned: Mapping[str, Planned] = msgspec.field(default_factory=dict)
    """The same of each eval by node id, where it is known."""
    missing: Sequence[str] = ()
    """What the baseline holds and was not collected, a sentence each."""
    unknown_data: Sequence[str] = ()
    """Names of ``--ab-data=NAME=FOLDER`` that nothing is known to look up."""
    baseline: BaselineRecord | None = None
    named: Mapping[str, Sequence[str]] = msgspec.field(default_factory=dict)
    """The node ids of the evals of each path and node id of the command line that has some."""
    usage_error: str = ""


class RunFolder:
    """The folder ``reports/<run>`` and the small files through which the processes of a run speak."""

    def __init__(self, reports: Path, run: str, started: float | None = None) -> None:
        self.run = run
        self.started = time.time() if started is None else started
        """In seconds since 1970: the same in all processes of the run."""
        self.folder = reports / run
        self.parts = self.folder / "parts"
        self._collected = self.folder / "collected"
        self._models: dict[str, ModelRecord] = {}
        """As this process announced them last."""
        self.shared: set[str] = set()
        """The aliases of models that this process shares with others of the run, by a device's process."""
        self._running: live_run.RunningRecord | None = None
        self._descriptor: int | None = None
        """Of the file that is locked while the run lasts."""

    def check_free(self) -> str:
        """Remove what a crashed run of this name left, or one that measured nothing, which the returned line says.

        Raises UsageError for a run that holds answers, or anything else there.
        """
        if (self.folder / "run.json").exists():
            if self._measured_nothing():
                self.discard()
                return f"{self.folder} is replaced: nothing was measured in that run"
            raise UsageError(
                f"{self.folder} already holds a finished run: leave --ab-run out, and audiobench finds the new run as "
                "last, choose another name, or remove that folder"
            )
        if self.folder.exists() and not (self.parts.is_dir() and self._collected.is_dir()):
            raise UsageError(f"{self.folder} already exists and is not a run: choose another name with --ab-run NAME")
        self.discard()
        return ""

    def _measured_nothing(self) -> bool:
        """Whether it holds no answer, and no file but a run's own."""
        from pytest_audiobench.report.summary_table import SUMMARY

        own = {"run.json", "report.html", SUMMARY, COMPARED_FILE, *LINE_FILES.values()}
        files = {file.name: file for file in self.folder.iterdir()}
        lines = files.get(LINE_FILES["predictions"])
        return files.keys() <= own and lines is not None and lines.stat().st_size == 0

    def discard(self) -> None:
        """Remove the folder and all that is in it."""
        if self.folder.is_dir():
            shutil.rmtree(self.folder, ignore_errors=True)

    def open(self) -> None:
        """Make the folder."""
        with disk_errors(self.folder):
            keep_out_of_git(self.folder.parent)
            self.parts.mkdir(parents=True, exist_ok=True)
            self._collected.mkdir(exist_ok=True)
            if self._running is not None and self._descriptor is None:
                self._descriptor = live_run.hold(self.folder, self._running)

    def begin(self, running: live_run.RunningRecord) -> None:
        """Say what the run is to do, and that it is running, in the folder once there is one."""
        self._running = running
        if self.opened:
            self.open()

    @property
    def opened(self) -> bool:
        return self.parts.is_dir()

    def announce(self, process: str, announcement: Announcement) -> None:
        """Tell the controller what this process collected."""
        with disk_errors(self.folder):
            write_text(self._collected / f"{process}.json", json.dumps(plain(announcement)))

    def announce_model(self, model: ModelRecord) -> None:
        """Write what a model of this run is; all processes that use it say the same."""
        path = self.folder / f"model-{seed(model.alias):x}.json"
        if self._models.get(model.alias) == model and path.exists():
            return
        with disk_errors(self.folder):
            write_text(path, json.dumps(plain(model)))
        self._models[model.alias] = model

    def models(self) -> list[ModelRecord]:
        """The models that were used, by alias, and behind them the judges."""
        files = self.folder.glob("model-*.json")
        models = [msgspec.convert(json.loads(file.read_bytes()), ModelRecord) for file in files]
        return sorted(models, key=lambda model: (model.role == "judge", model.alias))

    def announced(self) -> list[Announcement]:
        """What the processes of this run have announced, in the order of their names."""
        paths = sorted(self._collected.glob("*.json"))
        return [msgspec.convert(json.loads(path.read_bytes()), Announcement) for path in paths]

    def forget(self) -> None:
        """Remove the files that only the processes of the run needed."""
        patterns = ("progress-*", "model-*.json", live_run.STATE, live_run.AT, budget.FILE)
        for path in [*self._collected.glob("*"), *(path for kind in patterns for path in self.folder.glob(kind))]:
            path.unlink(missing_ok=True)
        if self._collected.is_dir():
            self._collected.rmdir()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            self._running = None


def keep_out_of_git(folder: Path) -> None:
    """Make ``folder`` with a .gitignore of its own, as pytest does for its cache; an existing folder is left alone."""
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("# made by pytest-audiobench\n*\n", encoding="utf-8")
