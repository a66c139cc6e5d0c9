"""Which layout recorded answers are in: told by what a file holds, never by its name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pytest_audiobench.compat import audiobench_llm, beans_next
from pytest_audiobench.compat.audiobench import transcripts
from pytest_audiobench.compat.faithfulness_study import output_files
from pytest_audiobench.compat.faithfulness_study.replay import CRASHES, files_of_answers
from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import digest, file_digest
from pytest_audiobench.models.replay.recorded import records
from pytest_audiobench.rescoring import own_run
from pytest_audiobench.rescoring.recorded_answers import RecordedRow
from pytest_audiobench.rescoring.rescored_record import FILE, run_of

_MOST_BYTES = 256_000_000
"""A score file is one JSON text, which must be held whole; AudioBench's largest is under 10 MB."""
_LOOKED_FOR = (
    f"{own_run.LAYOUT}, {beans_next.LAYOUT}, {output_files.LAYOUT}, {audiobench_llm.LAYOUT}, {transcripts.LAYOUT}"
)


@dataclass(frozen=True)
class Source:
    """Recorded answers in a known layout.

    ``rows`` reads them anew each time, an eval's one after the other; ``run`` is the record of a run of ours, where its
    answers lie beside one; ``files`` are all that is read.
    """

    layout: str
    files: tuple[Path, ...]
    rows: Callable[[], Iterator[RecordedRow]]
    run: Mapping[str, Any] | None = None

    @property
    def fingerprint(self) -> dict[str, str]:
        """What tells these answers from any others."""
        answers = digest([[file.name, file_digest(file)] for file in self.files])
        return {"adapter": "recorded/1", "layout": self.layout, "answers": answers}


def source_of(target: Path, manifests: Path | None = None, crashes: str = CRASHES[0]) -> Source:
    """The answers at ``target``, a file or a folder of them.

    ``manifests`` is where the study's manifests lie, ``crashes`` what its crashes count as ("error" or "unanswered").

    Raises UsageError for one in no known layout, which says what was looked for.
    """
    if not target.exists():
        raise UsageError(f"there is nothing at {target} to score; name a run's folder or a file of answers")
    files = [target] if target.is_file() else _files(target)
    sources = [_of_file(file, partial(output_files.read, manifests=manifests, crashes=crashes)) for file in files]
    if len({source.layout for source in sources}) > 1:
        raise UsageError(
            f"{target} holds answers in several layouts ({', '.join(s.layout for s in sources)}): name one"
        )
    if len(sources) == 1:
        return sources[0]
    return Source(sources[0].layout, tuple(files), partial(_chained, sources))


def _chained(sources: list[Source]) -> Iterator[RecordedRow]:
    for source in sources:
        yield from source.rows()


def _files(folder: Path) -> list[Path]:
    own = folder / FILE
    if own.is_file():
        return [own]
    if (folder / "parts").is_dir():
        raise UsageError(f"{folder} is a run that crashed or is still going: the same command run again finishes it")
    found = sorted(path for path in folder.iterdir() if path.is_file())
    files = [path for path in found if path.suffix == ".jsonl"] or [path for path in found if path.suffix == ".json"]
    files = files or files_of_answers(folder)
    if not files:
        raise UsageError(f"{folder} holds no answers to score (looked for {FILE}, other *.jsonl, *.json)")
    return files


def _of_file(file: Path, read_study: Callable[[Path], Iterator[RecordedRow]]) -> Source:
    row = _first_object(file)
    if own_run.fits(row):
        return Source("run", (file,), partial(own_run.read, file), run_of(file))
    if output_files.fits(row):
        return Source("study", (file,), partial(read_study, file))
    if beans_next.fits(row):
        return Source("beans-next", (file,), partial(beans_next.read, file))
    for layout, name in ((audiobench_llm, "audiobench"), (transcripts, "thenirock")):
        if layout.fits(row):
            return Source(name, (file,), partial(layout.read, file, row))
    held = ", ".join(sorted(map(str, row))[:8])
    raise UsageError(f"{file} is in no layout that is known: it has {held}; looked for {_LOOKED_FOR}")


def _first_object(file: Path) -> Mapping[str, Any]:
    """The first row of a file of lines, or the whole of a file that is one JSON object."""
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
        raise UsageError(f"{file} is JSON but no object; looked for {_LOOKED_FOR}")
    return content
