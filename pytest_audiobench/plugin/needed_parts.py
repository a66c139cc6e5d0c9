"""What the selected evals need on this machine, looked for before anything is asked: libraries, manifests, folders."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_audiobench.datasets.places import Places
from pytest_audiobench.errors import DataNotFound, FatalError, UsageError
from pytest_audiobench.evaluation.evaluate import check_scorers, with_named_scorers
from pytest_audiobench.io.mistakes import listed, near
from pytest_audiobench.plugin.error_mapping import harmless
from pytest_audiobench.plugin.eval_items import DECLARED, ITEM
from pytest_audiobench.plugin.session import EvalSession
from pytest_audiobench.plugin.workers import RUN, worker_input
from pytest_audiobench.protocols.prompt_variants import with_other_encoder

if TYPE_CHECKING:
    from pytest_audiobench.datasets.declaration import Declaration
    from pytest_audiobench.protocols.protocol import Protocol

_MOST_LINES = 10
_MOST_BYTES = 20_000_000
"""Of rows that are read only to know what lacks."""
_MOST_SAMPLES = 4_096
"""Whose audio is looked for."""
_MOST_MARKS = 3
"""Files that are named of those that a folder should hold."""
_MOST_NAMES = 10
"""Prompts that are named where another was asked for."""


def check_parts(shared: EvalSession, selected: Sequence[pytest.Item]) -> None:
    """Raises UsageError, once for all evals without code among ``selected``, for what is lacking of their data and
    scorers. What a test asks for in its body is not known before it runs: its eval fails.
    """
    if shared.options.prompt:
        _check_prompt(shared.options.prompt, selected)
    files: dict[Path, list[pytest.Item]] = {}
    for item in selected:
        if DECLARED in item.stash:
            files.setdefault(item.path, []).append(item)
    for path, items in files.items():
        places = shared.places(path.parent)
        _check_named_folder(shared, places, items)
        there = [item for item in items if _is_there(places, item)]
        tests = [getattr(item, "originalname", None) or item.name for item in there]
        for item in {(test, item.stash[ITEM].alias): item for test, item in zip(tests, there, strict=True)}.values():
            _check_protocol(shared, item)


def _check_prompt(name: str, selected: Sequence[pytest.Item]) -> None:
    """Refuses evals that have no published prompt ``name``: they would be asked in another without notice."""
    lacking, others = list[str](), set[str]()
    for item in selected:
        data = item.stash[DECLARED].data() if DECLARED in item.stash else None
        prompts = data.prompts if data else {}
        if name not in prompts:
            lacking.append(item.stash[ITEM].eval)
            others.update(prompts)
    if lacking:
        there = "here" if others else "of other evals"
        names = sorted(others or _published_prompts())
        nearest_first = list(dict.fromkeys([*near(name, names), *names]))
        raise UsageError(
            f"--ab-prompt={name[:60]}: {listed(lacking, 1)} has no published prompt of that name; published prompts "
            f"{there}: {listed(nearest_first, _MOST_NAMES)}; select others"
        )


def _published_prompts() -> set[str]:
    """The names of the published prompts of all declared benchmarks."""
    from pytest_audiobench.datasets.catalogue import LOADERS
    from pytest_audiobench.datasets.declaration import read_declarations

    files = [path for path in LOADERS.values() if isinstance(path, Path)]
    return {name for path in files for data in read_declarations(path).values() for name in data.prompts}


def is_absent(places: Places, items: Sequence[pytest.Item]) -> bool:
    """Whether nothing is on this machine of the data that the file of ``items`` declares."""
    for data in {id(data): data for item in items if (data := item.stash[DECLARED].data())}.values():
        try:
            cases = (case for given in data.ids() for case in data.cases(given))
            places.find(data.root, *(mark for case in cases for mark in data.files(case)))
        except DataNotFound:
            continue
        return False
    return True


def _check_named_folder(shared: EvalSession, places: Places, items: Sequence[pytest.Item]) -> None:
    """Refuses a folder that the command line gives for a file's data, and that holds nothing of it. One of another
    file's may hold what others of its evals need.
    """
    own = [item for item in items if (data := item.stash[DECLARED].data()) and not data.samples_of]
    roots = {data.root for item in own if (data := item.stash[DECLARED].data())}
    if roots & places.named.keys() and shared.config.getoption("--ab-data") is not None and is_absent(places, own):
        root = min(roots & places.named.keys())
        raise UsageError(
            f"--ab-data={root}={places.named[root]}: the folder holds nothing of {root}; {_wanted(root, own)}"
        )


def _wanted(root: str, items: Sequence[pytest.Item]) -> str:
    """What would lie in the folder ``root``, and how to come by it."""
    from pytest_audiobench.datasets.fetch_records import fetch_name

    every = (data for item in items if (data := item.stash[DECLARED].data()) and data.root == root)
    declared = list({id(data): data for data in every}.values())
    cases = [(data, case) for data in declared for given in data.ids() for case in data.cases(given)]
    marks = list(dict.fromkeys(mark for data, case in cases for mark in data.files(case)))
    more = f" or {len(marks) - _MOST_MARKS} more" if len(marks) > _MOST_MARKS else ""
    name = fetch_name(declared[0].set_name)
    how = f"fetch it by audiobench fetch {name}" if declared[0].fetch else f"see audiobench describe {name}"
    return f"looked for {' or '.join(marks[:_MOST_MARKS])}{more} in it; correct the path, or {how}"


def _is_there(places: Places, item: pytest.Item) -> bool:
    """Whether the eval has data and is not skipped. Raises UsageError for a manifest that is not there, and for data
    that cannot be read for lack of a library.
    """
    if text := lacking_manifest(item):
        raise UsageError(text)
    try:
        if data := item.stash[DECLARED].data():
            from pytest_audiobench.datasets.declared import check_libraries

            check_libraries(data, case_of(item), places)
    except DataNotFound:
        return False
    return True


def lacking_manifest(item: pytest.Item) -> str:
    """That the manifest of an eval without code is not there; "" where it is, or there is none."""
    manifest = item.stash[DECLARED].manifest() if DECLARED in item.stash else None
    if manifest is None or _exists(item.path.parent / Path(manifest).expanduser()):
        return ""
    where = item.nodeid.partition("::")[0]
    return f"{where}: there is no file or folder {item.path.parent / manifest}; correct the path"


def _exists(path: Path) -> bool:
    return path.exists() or ("*" in path.name and any(path.parent.glob(path.name)))


def _check_protocol(shared: EvalSession, item: pytest.Item) -> None:
    """Refuses a scorer whose libraries are lacking, where the model can do what is asked."""
    if (protocol := protocol_of(shared, item)) is not None:
        tasks = shared.handle(item.stash[ITEM].alias).limits.tasks
        if all(stage.task in tasks for stage in protocol.stages if stage.role == "subject"):
            check_scorers(protocol)


def protocol_of(shared: EvalSession, item: pytest.Item) -> Protocol | None:
    """How an eval without code is asked and read in this run; None for one whose test says it."""
    protocol = item.stash[DECLARED].protocol() if DECLARED in item.stash else None
    if protocol is not None:
        if shared.encoder:
            protocol = with_other_encoder(protocol, shared.encoder)
        protocol = with_named_scorers(protocol, shared.options.scorers)
    return protocol


def case_of(item: pytest.Item) -> dict[str, str]:
    """The values of the declaration's parameters that make the eval."""
    callspec = getattr(item, "callspec", None)
    case: dict[str, str] = dict(callspec.params.get("case", {})) if callspec else {}
    case.pop("perturbation", None)
    return case


def lacking_data(
    shared: EvalSession, selected: Sequence[pytest.Item]
) -> Iterator[tuple[pytest.Item, Declaration, list[dict[str, str]]]]:
    """What is not on this machine of the data of evals without code, and of the data that they need in addition: whose
    eval, the declaration, the parameters.
    """
    from pytest_audiobench.datasets.declared import is_there
    from pytest_audiobench.fetching.wanted_data import needs_of

    for item in selected:
        data = item.stash[DECLARED].data() if DECLARED in item.stash else None
        if data is None:
            continue
        places = shared.places(item.path.parent)
        for each, cases in [(data, data.cases(case_of(item))), *needs_of(data)]:
            if lacking_cases := [case for case in cases if not is_there(each, case, places)]:
                yield item, each, lacking_cases


def lacking_audio(shared: EvalSession, item: pytest.Item) -> tuple[str, str]:
    """What is wrong with the list of an eval without code, or with the files that it names; and what was not looked at.
    Of many files some are looked for, spread over all. Both are "" where there is nothing to say.
    """
    from pytest_audiobench.audio.index import unreachable
    from pytest_audiobench.datasets.dataset import samples_at
    from pytest_audiobench.datasets.declared import rows_bytes
    from pytest_audiobench.datasets.sample import spelling_note

    declared, places, name = item.stash[DECLARED], shared.places(item.path.parent), item.stash[ITEM].eval
    dataset, data = declared.dataset(case_of(item)), declared.data()
    if dataset is None or isinstance(dataset, str) or lacking_manifest(item):
        return "", ""
    try:
        if data is not None and rows_bytes(data, case_of(item), places) > _MOST_BYTES:
            return "", f"whether the audio of {name} is there was not looked at: its rows are over 20 MB"
        samples = dataset.read(places)
        step = -(-len(samples) // _MOST_SAMPLES)
        looked_at = samples_at(samples, range(0, len(samples), step))
        count, wrong, lines = unreachable([clip for sample in looked_at for clip in sample.clips])
    except DataNotFound:
        return "", ""
    except UsageError as error:
        return str(error), ""
    spelling = next((f"{name}: {note}" for sample in looked_at if (note := spelling_note(sample.choices))), "")
    some = f" that were looked for, spread over {len(samples):,} samples," if step > 1 else ""
    if wrong:
        listed = f" (lines {', '.join(map(str, lines[:_MOST_LINES]))}{', …' * (len(lines) > _MOST_LINES)})"
        listed *= len(lines) > 1
        return f"{len(wrong):,} of {count:,} files{some} cannot be read{listed}, the first: {wrong[0]}", spelling
    there = f"all {count:,} audio files of {name}{some} are there" if some else ""
    return "", "; ".join(filter(None, (spelling, there)))


def fetch_lacking(shared: EvalSession, selected: Sequence[pytest.Item]) -> list[str]:
    """Fetch what the selected evals lack of their data. Returns why something could not be fetched, a sentence each:
    its evals are skipped.

    Under xdist every worker asks for it, the first fetches, and the others wait for that.
    """
    from pytest_audiobench.fetching.wanted_data import WantedData
    from pytest_audiobench.fetching.work import Manner, fetch

    wanted: dict[str, WantedData] = {}
    for _, data, cases in lacking_data(shared, selected):
        if data.fetch and data.root not in shared.data_folders[0]:
            wanted.setdefault(data.root, WantedData(data.root)).add(data, cases)
    reporter: Any = shared.config.pluginmanager.get_plugin("terminalreporter")
    silent = RUN in worker_input(shared.config) or reporter is None or shared.config.get_verbosity() < 0
    manner = Manner(
        say=lambda line: None if silent else reporter.write_line(harmless(line)),
        progress=None if silent else sys.stderr,
        waits=True,
    )
    notes = list[str]()
    for lacking in wanted.values():
        try:
            fetch(lacking, shared.data_root, manner)
        except FatalError as error:
            notes.append(f"{lacking.root} was not fetched: {harmless(str(error))}")
    return notes
