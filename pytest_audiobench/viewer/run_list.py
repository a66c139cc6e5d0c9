"""What a list of runs says of each: read once, and again where its file has changed."""

from __future__ import annotations

import os
import shlex
import stat
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from pytest_audiobench.errors import AudiobenchError, UsageError
from pytest_audiobench.evaluation.garbage_collection import collector_paused
from pytest_audiobench.records.lines import COMPARED_FILE, LINE_FILES
from pytest_audiobench.records.reading import read_run
from pytest_audiobench.records.run import MOST_BYTES, ItemRecord, RunRecord, SuiteRecord
from pytest_audiobench.report import live_run
from pytest_audiobench.report.formatting import counted, interval_text, parse_rate_text, value_text
from pytest_audiobench.report.page.html import PAGE
from pytest_audiobench.report.run_writer import PARTS, RECORD
from pytest_audiobench.report.verdict import run_verdict

MOST_SCORES = 8
"""Scores of a run in the list; its page has all."""
_FILES = (RECORD, PAGE, *LINE_FILES.values(), COMPARED_FILE, live_run.STATE)
_FOLDERS = (PARTS, "collected")
_OUTCOMES = {"passed": ("✓", "good"), "failed": ("✗", "bad"), "lost": ("✗", "bad"), "skipped": ("!", "plain")}

_Mark = tuple[int, int, int]
"""What changes with a file: its time of change, its size, its inode."""


@dataclass(frozen=True)
class _Entry:
    mark: _Mark | None
    row: dict[str, Any]
    words: str
    """What the run is found by, in lower case."""


class RunList:
    """The runs of ``folder``: those in it, or the one that it is."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._named = folder.resolve(), str(folder)
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}

    def folders(self) -> dict[str, Path]:
        """The runs' folders by name. A link that leads out of the folder is none."""
        if _is_run(self.folder):
            return {self.folder.name: self.folder}
        found = {}
        with os.scandir(self.folder) as entries:
            for entry in entries:
                path = self.folder / entry.name
                inside = not entry.is_symlink() or path.resolve().is_relative_to(self.folder)
                if inside and entry.is_dir() and _is_run(path):
                    found[entry.name] = path
        return found

    def find(self, name: str) -> Path:
        """The folder of the run ``name``. Raises UsageError where there is none, or where a link in it leads away."""
        path = self.folders().get(name)
        if path is None:
            raise UsageError(f"there is no run {name!r} in {self.folder}")
        self._check_files(path)
        return path

    def rows(self, search: str = "", budget_s: float = 0.5) -> dict[str, Any]:
        """What the list shows of the runs that have all words of ``search``, the newest names first.

        Reading stops after ``budget_s``, so that a folder of thousands is shown while it is read: ``unread`` are left.
        """
        with self._lock:
            return self._rows(search, budget_s)

    def finished(self) -> list[Path]:
        """The folders of the runs that have ended and can be read."""
        with self._lock:
            self._rows("", float("inf"))
            folders = self.folders()
            finished = [name for name, entry in self._entries.items() if entry.row["state"] == "finished"]
            return [folders[name] for name in finished if name in folders]

    def _rows(self, search: str, budget_s: float) -> dict[str, Any]:
        folders = self.folders()
        self._entries = {name: entry for name, entry in self._entries.items() if name in folders}
        until, unread = time.monotonic() + budget_s, 0
        for name, path in sorted(folders.items(), reverse=True):
            mark, known = _mark(path), self._entries.get(name)
            if mark is not None and known is not None and known.mark == mark:
                continue
            if time.monotonic() > until:
                unread += known is None
            else:
                self._entries[name] = self._read(name, path, mark)
        words = search.lower().split()
        found = [entry.row for entry in self._entries.values() if all(word in entry.words for word in words)]
        return {"folder": self._named, "runs": found, "all": len(folders), "unread": unread}

    def _read(self, name: str, path: Path, mark: _Mark | None) -> _Entry:
        evals: Iterable[str]
        try:
            self._check_files(path)
            if mark is None:
                row, evals = live_row(name, path)
            else:
                with collector_paused():
                    record = _record(path / RECORD)
                row, evals = _finished_row(name, record), (item.eval for item in record.items)
        # Whatever an untrusted file does to a reader, the list of the others is shown.
        except (AudiobenchError, OSError, ValueError, TypeError) as error:
            row, evals = (
                _row(
                    name,
                    "broken",
                    _changed(path),
                    word="unreadable",
                    tone="warn",
                    error=str(error).replace(f"{path}/", ""),
                ),
                (),
            )
        texts = (row["name"], row["started"], row["command"], row["word"], row["state"], *row["specs"], *row["models"])
        return _Entry(mark, row, "\n".join(dict.fromkeys([*texts, *row["suites"], *evals])).lower())

    def _check_files(self, path: Path) -> None:
        for name in (*_FILES, *_FOLDERS):
            inner = path / name
            try:
                mode = inner.lstat().st_mode
                if stat.S_ISLNK(mode):
                    if not inner.resolve().is_relative_to(self.folder):
                        raise UsageError(f"{inner} is a link that leads out of {self.folder}: it is not read")
                    mode = inner.stat().st_mode
            except FileNotFoundError:
                continue
            if not (stat.S_ISDIR(mode) if name in _FOLDERS else stat.S_ISREG(mode)):
                raise UsageError(f"{inner} is no {'folder' if name in _FOLDERS else 'plain file'}: it is not read")


def _is_run(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in (RECORD, PARTS, *LINE_FILES.values()))


def _mark(folder: Path) -> _Mark | None:
    """None for a run that has not ended."""
    try:
        found = (folder / RECORD).lstat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _changed(folder: Path) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(live_run.last_change(folder)))


def _record(path: Path) -> RunRecord:
    """As :func:`read_run` gives it, in a sixth of the time; that reads what this cannot, or gives the error."""
    try:
        if path.stat().st_size <= MOST_BYTES:
            return msgspec.json.decode(path.read_bytes(), type=RunRecord)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    return read_run(path)


def _row(name: str, state: str, started: str, **known: Any) -> dict[str, Any]:
    texts = dict.fromkeys(("finished", "command", "mark", "word", "counts", "error"), "")
    lists: dict[str, Any] = {"models": [], "specs": [], "suites": [], "scores": [], "about": []}
    row = {"name": name, "state": state, "started": started, **texts, **lists, "n": 0, "evals": 0, "more": 0}
    return {**row, "tone": "plain", **known}


def _finished_row(name: str, record: RunRecord) -> dict[str, Any]:
    verdict = run_verdict(record)
    items = [item for item in record.items if not item.control]
    measured = [item for item in items if item.scorers]
    leading = {(item.suite, item.model, item.scorers[0].name) for item in measured}
    owners: list[tuple[SuiteRecord | ItemRecord, str]] = [
        (suite, scorer.name)
        for suite in record.suites
        for scorer in suite.scorers
        if (suite.name, suite.model, scorer.name) in leading
    ]
    # What is asked under perturbations alone is in no pooled suite.
    owners = owners or [(item, item.scorers[0].name) for item in measured]
    scores = [score for owner, scorer in owners if (score := _score(owner, scorer)) is not None]
    subjects = [model for model in record.models if model.role == "subject"]
    about = [f"first {counted(record.limit, 'sample')} of each eval"] if record.limit else []
    about += [f"{record.epochs} epochs"] if record.epochs > 1 else []
    about += [f"baseline {record.baseline.source}"] if record.baseline else []
    about += [str(record.shard)] if record.shard else []
    return _row(
        name,
        "finished",
        record.started,
        finished=record.finished,
        command=shlex.join(record.command),
        models=[model.alias for model in subjects] or list(dict.fromkeys(item.model for item in items)),
        specs=[model.spec for model in subjects],
        suites=list(dict.fromkeys(item.suite for item in measured)),
        n=sum(item.n for item in measured),
        evals=len(measured),
        scores=scores[:MOST_SCORES],
        more=max(0, len(scores) - MOST_SCORES),
        about=about,
        **{"mark": verdict.mark, "tone": verdict.tone, "word": verdict.word, "counts": verdict.counts},
    )


def _score(owner: SuiteRecord | ItemRecord, scorer: str) -> dict[str, Any] | None:
    metric = next((metric for metric in owner.metrics if metric.scorer == scorer and not metric.group), None)
    if metric is None:
        return None
    # Where samples were asked under several perturbations, the mean over these is the suite's number, as in the run.
    means = owner.perturbations if isinstance(owner, SuiteRecord) else ()
    own = [each.mean for each in means if (each.metric, each.scorer) == (metric.name, scorer)]
    if len(own) == 1 and own[0].value is not None:
        metric = replace(metric, value=own[0].value, lower=own[0].lower, upper=own[0].upper)
    name = owner.name if isinstance(owner, SuiteRecord) else owner.eval
    texts = {"value": value_text(metric.value, metric.unit), "interval": interval_text(metric, metric.unit)}
    # What it is sorted by: of error rates, too, the better one is the higher.
    at = None if metric.value is None else metric.value if metric.direction == "higher" else -metric.value
    return {"name": name, "model": owner.model, "metric": metric.name, **texts, "n": metric.n, "at": at}


# Runs that have not ended


def live_row(name: str, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """What the list shows of a run that has not ended, and the names of its evals."""
    done = live_evals(folder)
    running, alive = live_run.running_record(folder), live_run.is_alive(folder)
    planned = running.evals if running else ()
    scores = [row["score"] for row in done if row["score"]]
    tests, total = {row["nodeid"] for row in done}, len(planned)
    counts = f"{len(tests)} of {counted(total, 'eval')}" if total else counted(len(tests), "eval")
    row = _row(
        name,
        "running" if alive else "interrupted",
        running.started if running else _changed(folder),
        command=shlex.join(running.command) if running else "",
        models=list(dict.fromkeys([*(model for *_, model in planned), *(row["model"] for row in done)])),
        suites=list(dict.fromkeys(row["suite"] for row in done)),
        n=sum(row["n"] for row in done),
        evals=len(done),
        scores=scores[:MOST_SCORES],
        more=max(0, len(scores) - MOST_SCORES),
        mark="▶" if alive else "!",
        tone="plain" if alive else "warn",
        word="running" if alive else "interrupted",
        counts=f"{counts} done",
    )
    return {**row, "done": len(tests), "total": total}, [eval_ for _, eval_, _ in planned]


def live_page(name: str, folder: Path) -> dict[str, Any]:
    """All that is known of a run that has not ended."""
    row, _ = live_row(name, folder)
    running, done = live_run.running_record(folder), live_evals(folder)
    names = {(each["name"], each["model"]) for each in done}
    finished = {each["nodeid"] for each in done}
    work = [at for at in live_run.evals_at_work(folder) if at.eval not in {each for each, _ in names}]
    waiting = [
        {"name": eval_, "model": model}
        for nodeid, eval_, model in (running.evals if running else ())
        if nodeid not in finished
    ]
    return {
        **row,
        "plan": list(running.plan) if running else [],
        "rows": done,
        "work": [{"name": at.eval, "done": at.done, "total": at.total} for at in work]
        if row["state"] == "running"
        else [],
        "waiting": waiting[:200],
        "left": len(waiting),
        "changed": _changed(folder),
    }


def live_evals(folder: Path) -> list[dict[str, Any]]:
    """The evals that have ended, in the order of the collection."""
    rows = []
    # A run that ends removes the folder and its files while they are read.
    try:
        paths = sorted((folder / PARTS).glob("*.item.json"))
    except OSError:
        return []
    for path in paths:
        try:
            rows.append(_live_eval(path, path.stat().st_mtime_ns))
        except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError):
            continue
    return [row for row in rows if row is not None]


@lru_cache(maxsize=20_000)
def _live_eval(path: Path, changed: int) -> dict[str, Any] | None:
    item = msgspec.json.decode(path.read_bytes(), type=ItemRecord)
    if item.control:
        return None
    mark, tone = _OUTCOMES[item.outcome]
    return {
        **{"name": item.eval, "model": item.model, "suite": item.suite, "nodeid": item.nodeid, "n": item.n},
        "parseRate": parse_rate_text(item.scorers[0].coverage) if item.scorers else "",
        "score": _score(item, item.scorers[0].name) if item.scorers else None,
        **{"mark": mark, "tone": tone, "outcome": item.outcome},
        "message": item.message.strip().partition("\n")[0][:500],
    }
