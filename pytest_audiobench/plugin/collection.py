"""The collection of the evals: their names, and all checks that can be made before anything is asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression

from pytest_audiobench.errors import FatalError, InfrastructureError, UsageError
from pytest_audiobench.gate.config import rules_file
from pytest_audiobench.io.mistakes import Mistakes
from pytest_audiobench.plugin.controller import controller_of, settle_name
from pytest_audiobench.plugin.error_mapping import harmless
from pytest_audiobench.plugin.eval_items import (
    DECLARED,
    ITEM,
    MARKER,
    DeclaredEval,
    EvalItem,
    is_beside,
    is_part,
    name_evals,
    named_evals,
    named_place,
)
from pytest_audiobench.plugin.options import ASKING, read_options
from pytest_audiobench.plugin.progress import to_file
from pytest_audiobench.plugin.run_folder import Announcement, Expected, Planned, RunFolder
from pytest_audiobench.plugin.session import EvalSession
from pytest_audiobench.plugin.stash import DESELECTED, INSTRUMENT, SESSION
from pytest_audiobench.plugin.workers import RUN, STARTED, is_first, process_name, worker_input
from pytest_audiobench.report.atomic_files import write_text
from pytest_audiobench.report.formatting import counted

_READ_HERE = {"baseline", "hf", "replay"}
"""The kinds of models whose fingerprint is of what they are made of: other weights are other models."""

_SHOWING = ("collectonly", "setuponly", "showfixtures", "show_fixtures_per_test")
_LISTING = "AUDIOBENCH_LIST_EVALS_TO"
"""Set for the process that only lists the whole benchmark: the file that it writes the evals' names to."""


def session_of(config: pytest.Config) -> EvalSession:
    """This process's session, made on first use."""
    if SESSION not in config.stash:
        options = read_options(config)
        if run := worker_input(config).get(RUN):
            place = RunFolder(options.reports, run, worker_input(config)[STARTED])
            line = to_file(place.folder / f"progress-{process_name(config)}")
        else:
            controller = controller_of(config)
            place, line = controller.place, controller.progress(config)
        config.stash[SESSION] = session = EvalSession(config, options, place, line)
        if not run and config.getoption("dist", "no") == "no":
            controller = controller_of(config)
            session.devices_here = partial(controller.devices_without_workers, config)
            session.start_devices = partial(controller.start_devices, config)
    known: EvalSession = config.stash[SESSION]
    return known


def check(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Name the evals and check what the user declared about them.

    A mistake ends the run before the first request: as a usage error here, or, in a worker, which xdist
    would take for a crash, through the controller, which reads it and gets nothing to run.
    """
    try:
        evals = name_evals(items)
        if listing := os.environ.get(_LISTING):
            write_text(Path(listing), json.dumps([item.eval for item in evals]))
            return
        shared = session_of(config)
        shared.check_models()
        _check_rules_files(shared, items)
        _ = shared.rules, shared.encoder, shared.gate, shared.prompts, shared.data_folders, shared.exports
        options = shared.options
        if options.scorers or options.required or shared.data_folders[0] or shared.corrections:
            from pytest_audiobench.plugin.given_names import check_names

            check_names(shared, items, partial(_whole_benchmark, config))
        if is_first(config):
            _check_rules(shared, evals)
        if shared.options.run and process_name(config) == "main" and not config.option.collectonly:
            settle_name(config, shared.place)
        shared.collected = [item for item in items if ITEM in item.stash]
        if shared.options.select:
            chosen = {*named_evals(shared.collected, shared.options.select)}
            _narrow(config, items, [item for item in shared.collected if item.stash[ITEM].eval in chosen])
        shared.checked = True
    except (FatalError, pytest.UsageError) as error:
        _refuse(config, items, error)


@contextmanager
def marker_is_no_keyword(config: pytest.Config, items: Sequence[pytest.Item]) -> Iterator[None]:
    """Within it pytest selects. To ``-k`` the name of a marker is one of the test: ``-k audiobench`` would select every
    eval whose suite is named, so that the marker is aside meanwhile, unless ``-m`` asks for it.
    """
    hides = config.option.keyword and MARKER not in config.option.markexpr
    nodes = {node for item in items for node in item.listchain()} if hides else ()
    marked = [(node, node.own_markers) for node in nodes if any(mark.name == MARKER for mark in node.own_markers)]
    for node, marks in marked:
        node.own_markers = [mark for mark in marks if mark.name != MARKER]
    try:
        yield
    except BaseException:
        # Pytest refused the selection, and finishes the collection all the same.
        session_of(config).checked = False
        raise
    finally:
        for node, marks in marked:
            node.own_markers = marks


def _check_rules_files(shared: EvalSession, items: Sequence[pytest.Item]) -> None:
    """Raises UsageError for thresholds next to the evals, or where pytest was called, that are not those in force."""
    root = shared.config.rootpath
    if shared.options.config is not None:
        return
    for start in dict.fromkeys([shared.config.invocation_params.dir, *(item.path.parent for item in items)]):
        for folder in (start, *start.parents):
            # A project below another one may declare thresholds of its own.
            if folder == root and shared.rules:
                break
            if folder != root and (file := rules_file(folder)):
                raise UsageError(
                    f"the thresholds of {file} are not in force: pytest's root is {root}, and those are read; "
                    f"move the file there, or name it with --ab-config={file}"
                )
            if (folder / ".git").exists():
                break


def _refuse(config: pytest.Config, items: list[pytest.Item], error: Exception) -> None:
    if (run := worker_input(config).get(RUN)) is None:
        raise pytest.UsageError(harmless(str(error))) from error
    _tell(config, items, RunFolder(read_options(config).reports, run), Announcement(usage_error=harmless(str(error))))
    items[:] = []


def _tell(config: pytest.Config, items: list[pytest.Item], place: RunFolder, announcement: Announcement) -> None:
    """Tell the controller by a file; where the disk is full, as xdist tells how a worker ended, having run nothing."""
    try:
        place.open()
        place.announce(process_name(config), announcement)
    except FatalError as error:
        items[:] = []
        config.workeroutput[INSTRUMENT] = harmless(str(error))  # type: ignore[attr-defined]


def finish(session: pytest.Session, has_evals: bool) -> None:
    """Tell the controller which evals are to run here, now that ``-k`` and its like have chosen."""
    config = session.config
    shared = session_of(config)
    # pytest finishes a collection that ended in a usage error, too.
    if not shared.checked and has_evals:
        return
    studies, notes = list[pytest.Item](), list[str]()
    # What is selected by its own name is asked for.
    if not shared.options.select and any(item.get_closest_marker("study") for item in session.items):
        from pytest_audiobench.plugin.study_selection import StudySelection, note

        studies = StudySelection(config, shared.gate).left_out(session.items, next(iter(shared.specs)))
        _deselect(session, set(studies))
        notes += [note(studies)] if studies else []
    selected = [item for item in session.items if ITEM in item.stash]
    idle = any(config.getoption(name, False) for name in _SHOWING)
    asking = [option for option in ASKING if config.getoption(option) is not None]
    if not selected and not idle and not session.testsfailed and asking:
        what = f"the {len(session.items)} tests selected are none" if session.items else "no test is selected"
        _refuse(config, session.items, UsageError(f"{asking[0]} is about evals, and {what}; name or select evals"))
        return
    if not selected or idle:
        if notes:
            _announce(shared, session.items, Announcement(cautions=notes))
        return
    try:
        _ = shared.bench
    except InfrastructureError:
        # Each eval fails by it, which says nothing of the model.
        pass
    except FatalError as error:
        _refuse(config, session.items, error)
        return
    try:
        shared.check_libraries({_alias(shared, item) for item in selected})
        if shared.options.fetch:
            from pytest_audiobench.plugin.needed_parts import fetch_lacking

            notes += fetch_lacking(shared, selected)
        if shared.options.prompt or any(DECLARED in item.stash for item in selected):
            from pytest_audiobench.plugin.needed_parts import check_parts

            check_parts(shared, selected)
        expected = _expected_evals(shared, session, selected)
    except UsageError as error:
        _refuse(config, session.items, error)
        return
    if not {spec.kind for spec in (*shared.specs.values(), *shared.judge_specs.values())} <= _READ_HERE:
        from pytest_audiobench.plugin.earlier_answers import decide

        decide(shared, expected, selected)
    left_out = [] if shared.options.is_part else _rules_left_out(shared, expected, studies)
    cautions, missing, baseline = [*notes, *shared.rules.cautions()], list(_missing(shared, session)), None
    if shared.options.is_part:
        pass  # nothing is compared
    elif shared.gate is None:
        left_out += [f"{text}, for there is no --ab-baseline or --ab-gate" for text in shared.rules.about_drops()]
    else:
        shared.gate.share(expected)
        baseline = shared.gate.baseline.record(shared.gate.lines)
        try:
            selected_evals = [eval_.eval for eval_ in expected]
            notes, uncollected = shared.gate.coverage(
                selected_evals, [item.stash[ITEM].eval for item in shared.collected], shared.specs, *_narrowing(config)
            )
            cautions, missing = cautions + notes, missing + uncollected
        except FatalError as error:
            _refuse(config, session.items, error)
            return
    unknown = shared.unknown_data
    by_name = _items_by_name(config, [item for item in session.items if ITEM in item.stash])
    named = {name: [item.nodeid for item in items] for name, items in by_name.items() if items}
    lines, planned = list[str](), dict[str, Planned]()
    if is_first(config) and config.get_verbosity() >= 0:
        from pytest_audiobench.plugin.run_plan import plan, sight_lines

        lines, planned = plan(shared, selected, _READ_HERE)
        if shared.shard is not None:
            lines = [f"{line}; here {shared.shard} of that" for line in lines]
            planned = {
                nodeid: Planned(*(count // shared.shard.count for count in size)) for nodeid, size in planned.items()
            }
        if shared.gate is not None:
            lines += shared.gate.unknown(expected)
            lines += sight_lines(
                shared.gate.sights((eval_.eval, eval_.alias) for eval_ in expected if not eval_.beside)
            )
    announcement = Announcement(expected, left_out, cautions, lines, planned, missing, unknown, baseline, named)
    _announce(shared, session.items, announcement)


def _announce(shared: EvalSession, items: list[pytest.Item], announcement: Announcement) -> None:
    if RUN in worker_input(shared.config):
        _tell(shared.config, items, shared.place, announcement)
        return
    controller = controller_of(shared.config)
    controller.expect(announcement)
    if announcement.expected:
        controller.register(shared.config)


def _rules_left_out(shared: EvalSession, expected: Sequence[Expected], studies: Sequence[pytest.Item]) -> list[str]:
    """The rules that cover nothing selected, and why where they are about studies that nothing asked for."""
    pairs = [(eval_.eval, eval_.alias) for eval_ in expected]
    others = shared.rules.left_out([*pairs, *[(item.stash[ITEM].eval, _alias(shared, item)) for item in studies]])
    reason = "; its evals are of studies that were not asked for"
    return [text if text in others else f"{text}{reason}" for text in shared.rules.left_out(pairs)]


def _deselect(session: pytest.Session, items: Collection[pytest.Item]) -> None:
    _narrow(session.config, session.items, [item for item in session.items if item not in items])


def _narrow(config: pytest.Config, items: list[pytest.Item], kept: Collection[pytest.Item]) -> None:
    """Deselect all other items."""
    if others := [item for item in items if item not in kept]:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item in kept]


def _missing(shared: EvalSession, session: pytest.Session) -> Iterator[str]:
    """What the command line names and nothing was collected of; evals that something removed, and left required."""
    present = {*session.items, *session.config.stash.get(DESELECTED, ())}
    for name, items in _items_by_name(session.config, present).items():
        # --lf collects no file without a failure.
        if not items and not session.config.getoption("lf", False):
            yield f"nothing of {name} was measured: it holds no test"
    for item in shared.collected:
        thresholds = _expected(shared, item).thresholds
        if thresholds and item not in present:
            what = counted(thresholds, "threshold")
            yield f"{what} of {item.stash[ITEM].eval} not checked: something removed it and did not deselect it"


def _items_by_name(config: pytest.Config, items: Collection[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """What each path and node id of the command line means of ``items``: in a folder, a file, a class, or a test's
    parameters, also by a link, by the name of a package, or outside of pytest's root.
    """
    names = map(str, config.args) if config.args_source == pytest.Config.ArgsSource.ARGS else ()
    places = {item.path: item.path.resolve() for item in items}
    by_name = {}
    for name in names:
        place, part = named_place(config, name)
        by_name[name] = [item for item in items if places[item.path].is_relative_to(place) and is_part(item, part)]
    return by_name


def _narrowing(config: pytest.Config) -> tuple[bool, Callable[[str], bool]]:
    """Whether the command line deselects evals, other than by naming paths, and whether so with one not collected."""
    # -m is no reason why an eval was not collected: what it leaves out was.
    files = any(config.getoption(name, None) for name in ("lf", "ignore_glob"))
    ignored = [config.invocation_params.dir / path for path in config.getoption("ignore") or ()]
    deselecting = ("keyword", "deselect", "stepwise", "markexpr")
    some = files or bool(ignored) or any(config.getoption(name, None) for name in deselecting)
    some = some or bool(read_options(config).select)
    keyword = config.option.keyword

    def leaves_out(eval_: str) -> bool:
        def is_part(word: str, /, **_: object) -> bool:
            return word.lower() in eval_.lower()

        if files or any(_may_hold(path, eval_) for path in ignored):
            return True
        return bool(keyword and not Expression.compile(keyword).evaluate(is_part))

    return some, leaves_out


def _may_hold(path: Path, eval_: str) -> bool:
    """Whether a file at or below ``path`` is called as the suite of an eval, or has its name within."""
    suite = eval_.partition("/")[0].partition("[")[0]
    files = [path] if path.is_file() else [*path.rglob("*.py"), *path.rglob("*.audiobench.toml")]
    return any(suite in file.name or suite.encode() in file.read_bytes() for file in files)


def _expected_evals(shared: EvalSession, session: pytest.Session, selected: Sequence[pytest.Item]) -> list[Expected]:
    """What is to run. Of those of a file whose data is not on this machine that is one eval alone, which is skipped:
    those of which nothing is required are deselected.
    """
    expected = {item: _expected(shared, item) for item in selected}
    files: dict[tuple[Path, str], list[pytest.Item]] = {}
    for item in selected:
        if data := item.stash.get(DECLARED, DeclaredEval()).data():
            files.setdefault((item.path, data.root), []).append(item)
    needless: set[pytest.Item] = set()
    if files:
        from pytest_audiobench.plugin.needed_parts import is_absent
    for (path, _), items in files.items():
        required = {item for item in items if expected[item].thresholds or expected[item].lines}
        if len(items) > 1 and is_absent(shared.places(path.parent), items):
            needless.update(set(items) - (required or {items[0]}))
    _deselect(session, needless)
    return [eval_ for item, eval_ in expected.items() if item not in needless]


def _expected(shared: EvalSession, item: pytest.Item) -> Expected:
    own = item.stash[ITEM]
    alias = _alias(shared, item)
    declared = sum(len(rule.require) for rule in shared.rules.for_test(own.eval, alias))
    in_file = item.stash.get(DECLARED, DeclaredEval())
    beside = is_beside(item)
    lines = shared.gate.declared(own.eval, alias, in_file.lines) if shared.gate and not beside else 0
    thresholds = declared + in_file.thresholds - in_file.lines
    in_baseline = shared.gate.evaluations_of(own.eval, alias) if shared.gate else ()
    return Expected(own.number, own.nodeid, own.eval, own.suite, alias, thresholds, lines, in_baseline, beside)


def _alias(shared: EvalSession, item: pytest.Item) -> str:
    return item.stash[ITEM].alias or next(iter(shared.specs))


def _check_rules(shared: EvalSession, evals: Sequence[EvalItem]) -> None:
    names = [item.eval for item in evals]
    unmatched = shared.rules.unmatched(names)
    # --lf collects nothing else of a file than what failed in it.
    if unmatched and not shared.config.getoption("lf", False):
        mistakes = Mistakes()
        for sentence in shared.rules.unmatched([*names, *_whole_benchmark(shared.config)]):
            mistakes.add(sentence)
        mistakes.check()


def _whole_benchmark(config: pytest.Config) -> list[str]:
    """The evals in the folders of ``ab_evals``, listed by its own process: the user may have named one file."""
    folders = [folder for folder in config.getini("ab_evals") if (config.rootpath / folder).is_dir()]
    if not folders:
        return []
    with tempfile.TemporaryDirectory() as temporary:
        listing = Path(temporary) / "evals.json"
        command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider", *folders]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")} | {_LISTING: str(listing)}
        subprocess.run(command, cwd=config.rootpath, env=environment, capture_output=True, check=False)
        if not listing.exists():
            raise UsageError(f"the evals in {', '.join(folders)} cannot be collected: see {' '.join(command[1:])}")
        names: list[str] = json.loads(listing.read_text(encoding="utf-8"))
        return names
