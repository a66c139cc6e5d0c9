"""The folder that scoring again leaves: the files of a run, written into a folder that held nothing before."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.suites import pooled_hashes
from pytest_audiobench.records.run import ModelRecord, RunRecord
from pytest_audiobench.report import run_writer
from pytest_audiobench.report.page.html import write_page
from pytest_audiobench.report.run_writer import collect, finish, iso, runtime
from pytest_audiobench.rescoring.layouts import Source
from pytest_audiobench.rescoring.rescore import RescoredEval, ScoringOptions, rescore


def write_rescored_run(
    folder: Path, source: Source, wanted: ScoringOptions, command: Sequence[str], page: bool = True
) -> RescoredEval:
    """Score ``source`` and write run.json, the line files and, by default, report.html into ``folder``.

    Raises UsageError for a folder that holds anything: rows of two runs never lie in one. What was written is removed
    when scoring fails.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} already exists and is not empty: name an empty folder, rows are never added to")
    is_new = not folder.exists()
    (folder / run_writer.PARTS).mkdir(parents=True)
    started = time.time()
    try:
        rescored = rescore(source, wanted, folder / run_writer.PARTS)
        known = {model.alias: model for model in source.run.models} if source.run else {}
        aliases = dict.fromkeys(item.model for item in rescored.items)
        heading = RunRecord(
            run=folder.resolve().name,
            started=iso(started),
            finished=iso(time.time()),
            command=command,
            exit_status=0,
            limit=source.run.limit if source.run else None,
            epochs=max(item.epochs for item in rescored.items),
            models=[known.get(alias) or _model(source, alias) for alias in aliases],
            runtime=runtime(),
            notes=[
                f"scored again, without asking, from {', '.join(file.name for file in source.files)}",
                *rescored.notes,
            ],
            hashes=pooled_hashes(()),
        )
        record = collect(folder, heading)
        if page:
            write_page(folder, record)
        finish(folder, record)
    except BaseException:
        shutil.rmtree(folder if is_new else folder / run_writer.PARTS, ignore_errors=True)
        raise
    return RescoredEval(list(record.items), list(record.suites), rescored.notes, rescored.majorities, rescored.left_out)


def _model(source: Source, alias: str) -> ModelRecord:
    return ModelRecord(
        alias=alias,
        spec=f"recorded:{source.layout}",
        role="subject",
        batching="opaque",
        device="recorded",
        fingerprint={**source.fingerprint, "model": alias},
        heard="",
        batches="",
        hearing=None,
        noise=None,
    )
