"""The baseline that ``--ab-baseline`` names: a file, a run, ``last``, a file in git, or answers of another tool.

A finished run gives the contents of baselines, one for each model; and what keeps it from being whole.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import convert

from pytest_audiobench.comparison.recorded_sides import RecordedSides, rescored_run
from pytest_audiobench.compat.answer_files import NO_TERMS, ReadingTerms
from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.suites import pooled_hashes
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.gate.baseline.decoding import decode_baseline, read_bounded
from pytest_audiobench.identity import digest
from pytest_audiobench.io.mistakes import nearest
from pytest_audiobench.metrics.tokenizers import library_version
from pytest_audiobench.records.baseline import MOST_BYTES, BaselineFigure, BaselineHead, BaselineModel
from pytest_audiobench.records.run import BaselineRecord, RunRecord
from pytest_audiobench.report.comparable_runs import read_comparable_evals
from pytest_audiobench.report.run_reader import Run, load_run
from pytest_audiobench.report.run_writer import RECORD
from pytest_audiobench.rescoring.layouts import Source, holds_answers, source_of

_ENDED = (0, 1, 6)
"""Exit codes of a run that came to its end: passed, failed, failed for its instruments only."""

STOPPED = "is never compared with anything"

_LONGEST = 200
"""Characters of a fingerprint's value: digests and versions are shorter."""


def contents_of(run: Run, source: str, texts: bool) -> dict[str, Contents]:
    """What each model of ``run`` did, by its alias; ``source`` names the run for people, ``texts`` keeps the answers.

    Raises UsageError for a run in which nothing was measured, or that was stopped early, or whose files were edited or
    cut.
    """
    if item := next((item for item in run.record.items if item.stopped), None):
        raise UsageError(
            f"{source} {STOPPED}: {item.eval} {item.stop_text}; run it again without --ab-early-stop, which asks only "
            "what is not answered"
        )
    try:
        sides = read_comparable_evals(run.folder, run.record, source, texts)
        by_alias: dict[str, dict[str, ComparableEval]] = {}
        for (name, alias), side in sides.items():
            by_alias.setdefault(alias, {})[name] = side
        contents = {alias: _contents(run.record, alias, evals) for alias, evals in by_alias.items()}
    except FatalError as error:
        raise UsageError(f"the run {run.folder} cannot be read: {error}") from error
    except (LookupError, OSError) as error:
        raise UsageError(
            f"the run {run.folder} cannot be read ({type(error).__name__}: {error}): its files were edited or cut; run "
            "again, which asks no model"
        ) from error
    if not contents:
        raise UsageError(f"the run {run.folder} measured nothing, so nothing can be compared with it: name another")
    for (name, alias), side in sides.items():
        if side.columns.repeat:
            raise UsageError(
                f"the run {run.folder} has samples of {name} by {alias} twice: two evals of one name; rename one"
            )
    return contents


def missing_parts(record: RunRecord, alias: str) -> tuple[str, ...]:
    """What the run is short of for this model, a sentence each: it ended early, or evals of it are not a measurement.

    Skipped evals are not among it: that their data are not here was no accident of the run.
    """
    missing = [] if record.exit_status in _ENDED else [f"the run was interrupted (exit code {record.exit_status})"]
    missing += [note for note in record.notes if note.startswith("stopped early:")]
    for item in record.items:
        if item.model != alias or item.control or item.outcome == "skipped":
            continue
        if item.outcome == "lost":
            missing.append(f"{item.eval} was lost with its worker")
        elif item.stopped:
            missing.append(f"{item.eval} {item.stop_text}")
        elif not item.scorers:
            missing.append(f"{item.eval} failed before it measured anything")
        else:
            failed = [verdict.detail for verdict in item.verdicts if verdict.status == "incomplete"]
            missing += [f"{item.eval} is incomplete: {detail}" for detail in failed[:1]]
    return tuple(missing)


def _contents(record: RunRecord, alias: str, sides: Mapping[str, ComparableEval]) -> Contents:
    items = {item.eval: item for item in record.items if item.model == alias and item.eval in sides}
    model = next((model for model in record.models if model.alias == alias), None)
    fingerprint = {} if model is None else model.fingerprint
    head = BaselineHead(
        version=library_version("pytest-audiobench"),
        run=record.run,
        finished=record.finished,
        hashes=record.hashes,
        model=BaselineModel(
            alias=alias,
            spec="" if model is None else model.spec,
            digest=next(iter(sides.values())).hashes.get("model", ""),
            fingerprint={name: value[:_LONGEST] for name, value in fingerprint.items()},
            noise=None if model is None else model.noise,
        ),
        limit=record.limit,
        epochs=record.epochs,
        missing=missing_parts(record, alias),
    )
    figures: dict[str, dict[str, list[BaselineFigure]]] = {name: {} for name in sides}
    for name in sides:
        for metric in items[name].metrics:
            if metric.scorer is not None and not metric.group:
                figure = convert(metric, BaselineFigure, from_attributes=True)
                figures[name].setdefault(metric.scorer, []).append(figure)
    return Contents(head, sides, figures)


LAST = "last"
_RUN, _MODEL = "the run ", "the model "
_FORMS = "a baseline's FILE, a RUN's folder or name, last, REF:PATH in git, or a file of recorded answers"
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


@dataclass(frozen=True)
class Baseline:
    """What a run is compared with."""

    source: str
    """What was taken, for people."""
    place: str
    """What :func:`baseline_from` gives the same for again: ``last`` has become that run, a ref of git its commit."""
    digest: str
    """The SHA-256 of the file, or of the run's run.json."""
    models: Mapping[str, Contents]
    """By alias."""
    passed_over: Sequence[str] = ()
    """Files of answers that could not be read, a sentence each."""
    notes: Sequence[str] = ()
    """What a reader of answers took for granted."""
    recorded: RecordedSides | None = None
    """Answers that another tool recorded, to be read as the eval reads its own; the models have no sides then."""
    is_asked: bool = False
    """Whether it is a model of the same run, whose sides are there when its answers are."""
    pair: tuple[str, str] | None = None
    """Of a run by ``--ab-gate`` the aliases of its candidate and of its base."""

    @property
    def only(self) -> Contents | None:
        """The one model; None where there are several."""
        return next(iter(self.models.values())) if len(self.models) == 1 else None

    def of(self, alias: str) -> Contents:
        """What the model called ``alias`` is compared with: the only model there is, else the one of that alias.

        Raises UsageError where there are several and none of that alias.
        """
        if self.only is not None:
            return self.only
        if alias not in self.models:
            raise UsageError(
                f"{source_text(self.source)} has no model {alias!r}, it has {', '.join(sorted(self.models))}: choose "
                f"one for all by {self.place}#ALIAS, or give the model one of these aliases (--ab-model=ALIAS=…)"
            )
        return self.models[alias]

    def side(self, eval: str, alias: str) -> ComparableEval | None:
        """What ``eval`` by the model called ``alias`` is compared with; None where the baseline lacks that eval."""
        return self.of(alias).sides.get(eval)

    def record(self, lines: int) -> BaselineRecord:
        """What the record of a run with ``lines`` keeps of its baseline; model and spec are None for several."""
        head = next(iter(self.models.values())).head
        return BaselineRecord(
            source=self.source,
            digest=self.digest,
            model=head.model.alias if self.only else None,
            spec=head.model.spec if self.only else None,
            run=head.run,
            limit=head.limit,
            lines=lines,
        )


def source_text(source: str) -> str:
    """``the baseline main.json``, ``the run main``, or ``the model base``."""
    return source if source.startswith((_RUN, _MODEL)) else f"the baseline {source}"


def baseline_of_model(handle: ModelHandle, run: str, limit: int | None, epochs: int) -> Baseline:
    """A model that ``run`` asks itself as a baseline, of which nothing is known yet."""
    alias, text = handle.alias, digest(handle.spec)
    model = BaselineModel(alias=alias, spec=handle.spec, digest=text, fingerprint={}, noise=None)
    head = BaselineHead(
        version=library_version("pytest-audiobench"),
        run=run,
        finished="",
        hashes=pooled_hashes(()),
        model=model,
        limit=limit,
        epochs=epochs,
        missing=(),
    )
    return Baseline(f"{_MODEL}{alias}", alias, text, {alias: Contents(head, {}, {})}, is_asked=True)


def baseline_from(
    text: str,
    reports: Path,
    folder: Path,
    own_run: str | None = None,
    limit: int | None = None,
    texts: bool = True,
    terms: ReadingTerms | None = NO_TERMS,
) -> Baseline:
    """The baseline that ``text`` names: ``FILE``, ``RUN`` (a folder, its run.json, or a name under ``reports``),
    ``last``, or ``REF:PATH``; a run with several models may have ``#ALIAS`` behind it. What exists goes first, so a
    file's name may hold a colon. A file or folder of answers that another tool recorded is scored by what the ``terms``
    say; for None it is left to be read as each eval reads its own.

    Relative paths and git begin at ``folder``. ``last`` is the run that finished last of those under ``reports`` that
    came to their end whole and measured something, other than ``own_run``; limited ones only where their limit is
    ``limit``. ``texts`` keeps the answers of runs.

    Raises UsageError, a sentence that says what to do, for whatever is not there or cannot be read.
    """
    if "\0" in text or not text.strip():
        raise UsageError(f"{text!r} names no baseline: give {_FORMS}")
    if text == LAST or text.startswith(f"{LAST}#"):
        alias = text.partition("#")[2]
        return _single_model(_of_run(_last(reports, own_run, limit), texts), alias)
    if (whole := _existing(text, reports, folder, texts, terms)) is not None:
        return whole
    before, mark, alias = text.rpartition("#")
    if mark and before and (whole := _existing(before, reports, folder, texts, terms)) is not None:
        return _single_model(whole, alias)
    ref, colon, path = text.partition(":")
    if colon and ref and path and not _DRIVE.match(text):
        commit, content = git_blob(ref, path, folder, MOST_BYTES)
        return _of_file(content, f"{text} ({commit[:12]})", f"{commit}:{path}", text)
    likely = nearest(text, (path.parent.name for path in reports.glob(f"*/{RECORD}")), f"give {_FORMS}")
    raise UsageError(
        f"there is no baseline or run {text!r}: neither {folder / text} nor the run {reports / text} exists; {likely}"
    )


def _existing(text: str, reports: Path, folder: Path, texts: bool, terms: ReadingTerms | None) -> Baseline | None:
    try:
        places = [place for place in (folder / text, reports / text) if place.exists()]
    except (OSError, ValueError):
        return None
    if not places:
        return None
    # A folder that merely has the name of a run does not stand before it.
    place = next((place for place in places if place.is_file() or (place / RECORD).exists()), places[0])
    if holds_answers(place):
        if terms is None:
            return _unread_answers(source_of(place, needs_references=False), text)
        return baseline_of_answers(source_of(place, terms=terms), text, texts)
    if place.is_dir() or place.name == RECORD:
        return _of_run(load_run(place if place.is_dir() else place.parent), texts)
    return _of_file(read_bounded(place), text, str(place), text)


def _of_file(content: bytes, source: str, place: str, name: str) -> Baseline:
    contents = decode_baseline(content, name)
    return Baseline(source, place, hashlib.sha256(content).hexdigest(), {contents.head.model.alias: contents})


def _of_run(run: Run, texts: bool) -> Baseline:
    source = f"{_RUN}{run.folder.name}"
    models = contents_of(run, source, texts)
    digest = hashlib.sha256((run.folder / RECORD).read_bytes()).hexdigest()
    other, pair = run.record.baseline, None
    if other is not None and other.model in models and other.source == f"{_MODEL}{other.model}":
        pair = next(((alias, str(other.model)) for alias in models if alias != other.model), None)
    return Baseline(source, str(run.folder), digest, models, pair=pair)


def baseline_of_answers(source: Source, name: str, texts: bool = False) -> Baseline:
    """The answers of ``source``, which the user calls ``name``, scored as they say themselves."""
    run = rescored_run(source, name)
    models = contents_of(run, name, texts)
    notes = dict.fromkeys(row.note for row in source.rows() if row.note)
    passed_over = tuple(map(str, source.passed_over))
    return Baseline(name, str(run.folder), source.fingerprint["answers"], models, passed_over, tuple(notes))


def _unread_answers(source: Source, name: str) -> Baseline:
    """The same, before any eval has read them."""
    sides = RecordedSides(source, name)
    digest = source.fingerprint["answers"]
    heads = {
        alias: BaselineHead(
            version=library_version("pytest-audiobench"),
            run=name,
            finished="",
            hashes=pooled_hashes(()),
            model=BaselineModel(
                alias=alias, spec=f"recorded:{source.layout}", digest=digest, fingerprint={}, noise=None
            ),
            limit=None,
            epochs=1,
            missing=tuple(map(str, source.passed_over)),
        )
        for alias in sides.answers.models
    }
    models = {alias: Contents(head, {}, {}) for alias, head in heads.items()}
    return Baseline(name, str(source.files[0]), digest, models, recorded=sides)


def _single_model(baseline: Baseline, alias: str) -> Baseline:
    if not alias:
        return baseline
    if alias not in baseline.models:
        raise UsageError(
            f"{source_text(baseline.source)} has no model {alias!r}: it has {', '.join(sorted(baseline.models))}"
        )
    return replace(
        baseline,
        source=f"{baseline.source} ({alias})",
        place=f"{baseline.place}#{alias}",
        models={alias: baseline.models[alias]},
    )


def _last(reports: Path, own_run: str | None, limit: int | None) -> Run:
    passed_over = []
    runs = []
    for path in reports.glob(f"*/{RECORD}"):
        # Another version's run, or one that was cut, is nothing to compare with.
        with suppress(UsageError):
            runs.append(load_run(path.parent))
    runs.sort(key=lambda run: (run.record.finished, run.record.started, run.folder.name))
    for run in reversed(runs):
        if run.folder.name == own_run:
            continue
        if (why := _unfit_reason(run, limit)) is None:
            return run
        passed_over.append(f"{run.folder.name} {why}")
    others = f" ({'; '.join(passed_over[:3])})" if passed_over else ""
    raise UsageError(
        f"last finds no whole run in {reports}{others}: run once without a baseline, or name a file or a run"
    )


def _unfit_reason(run: Run, limit: int | None) -> str | None:
    record = run.record
    if record.limit not in (None, limit):
        return f"was limited to {record.limit}"
    if not (aliases := {item.model for item in record.items if item.scorers and not item.control}):
        return "measured nothing"
    missing = [part for alias in sorted(aliases) for part in missing_parts(record, alias)]
    return f"is not whole: {missing[0]}" if missing else None


_GIT_TIMEOUT_S = 60.0


def git_blob(ref: str, path: str, folder: Path, most_bytes: int) -> tuple[str, bytes]:
    """The commit that ``ref`` stands for, and the file ``path`` (from the top, or "./…" from ``folder``) as of it.

    Raises UsageError, with what to do, where there is no git, no repository, no such ref or path, and for a file of
    more than ``most_bytes``.
    """
    whole = f"{ref}:{path}"
    if ref.startswith("-"):
        raise UsageError(f"{whole!r} names no baseline: a ref of git does not begin with a dash")
    place = folder.resolve()
    if _git(folder, "rev-parse", "--git-dir").returncode:
        raise UsageError(
            f"there is no file {whole!r}, and {place} is in no git repository that could have it: correct the path"
        )
    resolved = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}").stdout.strip()
    if not resolved:
        raise UsageError(
            f"the git repository of {place} knows no {ref!r}, of {whole!r}: fetch it ({_fetching(ref)}; a CI checkout "
            "holds one commit unless told otherwise), or correct it"
        )
    commit = resolved.decode("ascii", "replace")
    name = f"{commit}:{path}"
    size = _git(folder, "cat-file", "-s", name).stdout.strip()
    if _git(folder, "cat-file", "-t", name).stdout.strip() != b"blob" or not size.isdigit():
        raise UsageError(
            f"git has no file {path!r} at {ref}: name it from the repository's top, or with ./ before from {place}"
        )
    if int(size) > most_bytes:
        raise UsageError(f"{whole} holds more than {most_bytes / 1e6:.0f} MB, which no baseline does: correct the path")
    done = _git(folder, "cat-file", "blob", name)
    if done.returncode:
        errors = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise UsageError(f"git cannot read {whole} ({errors[-1][:200]}): check the repository with git fsck")
    return commit, done.stdout


def _fetching(ref: str) -> str:
    """The command that brings ``origin/main``, or a branch or tag of origin, into a checkout of one commit."""
    branch = ref.removeprefix("origin/")
    into = ref if branch == ref else f"refs/remotes/origin/{branch}"
    return shlex.join(["git", "fetch", "origin", f"{branch}:{into}"])


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    # No shell, no prompt for a password, no fetching.
    environment = {**os.environ, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1"}
    try:
        return subprocess.run(
            ["git", "-C", str(folder), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment,
            timeout=_GIT_TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError:
        raise UsageError("git is not installed here, so no baseline can be read from it: give a file") from None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"git cannot be asked for a baseline ({error}): give a file") from None
