"""The layouts of recorded answers: which of them a file is in, by what it holds and never by its name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import digest, file_digest
from pytest_audiobench.models.replay.recorded_run import records
from pytest_audiobench.records.run import RunRecord
from pytest_audiobench.rescoring.own_run import FILE, run_of
from pytest_audiobench.rescoring.recorded_answers import RecordedRow

_RUN, _STUDY, _BEANS_NEXT = "run", "study", "beans-next"
_OF_LINES = (_RUN, _STUDY, _BEANS_NEXT)
_MODULES: Mapping[str, str] = {
    _RUN: "rescoring.own_run",
    _STUDY: "compat.faithfulness_study.recorded_answers",
    _BEANS_NEXT: "compat.beans_next",
    "audiobench": "compat.audiollms_audiobench",
    "thenirock": "compat.thenirock_audiobench.recorded_answers",
}
"""The module of each layout, in the order of asking: ``LAYOUT`` describes it, ``fits`` knows its first object, ``read``
gives its rows. By name, since readers of other tools' files are built on this part.
"""
_MOST_BYTES = 256_000_000
"""A score file is one JSON text, which must be held whole; AudioBench's largest is under 10 MB."""


@dataclass(frozen=True)
class Source:
    """Recorded answers in a known layout.

    ``rows`` reads them anew each time, an eval's one after the other; ``run`` is the record of a run of ours, where its
    answers lie beside one; ``files`` are all that is read.
    """

    layout: str
    files: tuple[Path, ...]
    rows: Callable[[], Iterator[RecordedRow]]
    run: RunRecord | None = None

    @property
    def fingerprint(self) -> dict[str, str]:
        """What tells these answers from any others."""
        answers = digest([[file.name, file_digest(file)] for file in self.files])
        return {"adapter": "recorded/1", "layout": self.layout, "answers": answers}


def source_of(
    target: Path,
    manifests: Path | None = None,
    crashes: str = "error",
    labels: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    task_type: str = "",
) -> Source:
    """The answers at ``target``, a file or a folder of them.

    ``manifests`` is where the study's manifests lie, ``crashes`` what its crashes count as ("error" or "unanswered").
    ``labels`` are label lists by task, ``task_type`` the kind of BEANS-Next's tasks that say none.

    Raises UsageError for one in no known layout, which says what was looked for.
    """
    if not target.exists():
        raise UsageError(f"there is nothing at {target} to score; name a run's folder or a file of answers")
    files = [target] if target.is_file() else _files(target)
    sources = [
        _of_file(file, {"manifests": manifests, "crashes": crashes}, {"labels": labels, "task_type": task_type})
        for file in files
    ]
    if len({source.layout for source in sources}) > 1:
        layouts = ", ".join(source.layout for source in sources)
        raise UsageError(f"{target} holds answers in several layouts ({layouts}): name one")
    if len(sources) == 1:
        return sources[0]
    return Source(sources[0].layout, tuple(files), lambda: chain.from_iterable(source.rows() for source in sources))


def _files(folder: Path) -> list[Path]:
    predictions = folder / FILE
    if predictions.is_file():
        return [predictions]
    if (folder / "parts").is_dir():
        raise UsageError(f"{folder} is a run that crashed or is still going: the same command run again finishes it")
    inside = sorted(path for path in folder.iterdir() if path.is_file())
    files = [path for path in inside if path.suffix == ".jsonl"] or [path for path in inside if path.suffix == ".json"]
    # BEANS-Next leaves a folder for each task of a suite.
    of_tasks = (path for path in folder.rglob(FILE) if path.is_file() and not path.with_name("run.json").exists())
    files = files or sorted(of_tasks)
    files = files or list(_module(_STUDY).files_of_answers(folder))
    if not files:
        raise UsageError(f"{folder} holds no answers to score (looked for {FILE}, other *.jsonl, *.json)")
    return files


def _of_file(file: Path, of_study: Mapping[str, Any], of_beans_next: Mapping[str, Any]) -> Source:
    first = _first_object(file)
    if (layout := next((name for name in _MODULES if _module(name).fits(first)), None)) is None:
        keys = ", ".join(sorted(map(str, first))[:8])
        raise UsageError(f"{file} is in no layout that is known: it has {keys}; looked for {_descriptions()}")
    read = partial(_module(layout).read, file)
    if layout == _STUDY:
        read = partial(read, **of_study)
    elif layout == _BEANS_NEXT:
        read = partial(read, **of_beans_next)
    elif layout not in _OF_LINES:
        read = partial(read, first)
    return Source(layout, (file,), read, run_of(file) if layout == _RUN else None)


def _module(layout: str) -> Any:
    return import_module(f"pytest_audiobench.{_MODULES[layout]}")


def _descriptions() -> str:
    return ", ".join(_module(layout).LAYOUT for layout in _MODULES)


def _first_object(file: Path) -> Mapping[str, Any]:
    try:
        for _, row in records(file):
            return row
    except UsageError as error:
        not_lines = error
    else:
        raise UsageError(f"{file} is empty: there is nothing to score")
    if file.stat().st_size > _MOST_BYTES:
        raise not_lines
    try:
        content = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        raise UsageError(f"{file} is neither JSON lines nor one JSON object ({not_lines})") from None
    if not isinstance(content, dict):
        raise UsageError(f"{file} is JSON but no object; looked for {_descriptions()}")
    return content
