"""What is checked when the evals are collected and nothing has been asked yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.plugin import model_server, progress, worker
from pytest_audiobench.plugin.controller import Controller, Expected
from pytest_audiobench.plugin.declarative import DECLARED, DECLARED_LINES
from pytest_audiobench.plugin.error_mapping import harmless
from pytest_audiobench.plugin.eval_items import EvalItem, name_evals
from pytest_audiobench.plugin.options import read_options
from pytest_audiobench.plugin.run_folder import RunFolder, new_run_name, process_name
from pytest_audiobench.plugin.session import EvalSession
from pytest_audiobench.plugin.stash import CONTROLLER, ITEM, SESSION
from pytest_audiobench.report.atomic_files import write_text

_LISTING = "AUDIOBENCH_LIST_EVALS_TO"
"""Set for the process that only lists the whole benchmark: the file that it writes the evals' names to."""
_CHECKING_WORKER = "gw0"


def session_of(config: pytest.Config) -> EvalSession:
    """This process's session, made on first use."""
    if SESSION not in config.stash:
        options = read_options(config)
        run = worker.run_of(config)
        if run is not None:
            place = RunFolder(options.reports, run)
            shown = progress.to_file(place.folder / f"progress-{process_name(config)}")
        else:
            place = config.stash.setdefault(
                CONTROLLER, Controller(RunFolder(options.reports, options.run or new_run_name()))
            ).place
            shown = _terminal_progress(config)
        config.stash[SESSION] = EvalSession(config, options, place, shown)
    return config.stash[SESSION]


def check(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Name the evals and check what the user declared about them.

    A mistake ends the run before the first request: as a usage error here, or, in a worker, which xdist
    would take for a crash, through the controller, which is told and gets nothing to run.
    """
    try:
        named = name_evals(items)
        listing = os.environ.get(_LISTING)
        if listing:
            write_text(Path(listing), json.dumps([one.eval for one in named]))
            return
        ours = session_of(config)
        ours.check_models()
        _ = ours.rules, ours.gate, ours.prompts, ours.style
        if process_name(config) in ("main", _CHECKING_WORKER):
            _check_rules(ours, named)
        if ours.options.run and process_name(config) == "main" and not config.option.collectonly:
            ours.place.check_free()
        ours.collected = [one.eval for one in named]
        ours.checked = True
    except (FatalError, pytest.UsageError) as error:
        _refuse(config, items, error)


def _refuse(config: pytest.Config, items: list[pytest.Item], error: Exception) -> None:
    if worker.run_of(config) is None:
        raise pytest.UsageError(harmless(str(error))) from error
    place = RunFolder(read_options(config).reports, str(worker.run_of(config)))
    place.open()
    place.announce(process_name(config), {"usage_error": harmless(str(error))})
    items[:] = []


def finish(session: pytest.Session) -> None:
    """Tell the controller which evals are to run here, now that ``-k`` and its like have chosen."""
    config = session.config
    ours = config.stash[SESSION]
    chosen = [item for item in session.items if ITEM in item.stash]
    # pytest finishes a collection that ended in a usage error, too.
    idle = config.option.collectonly or config.getoption("setuponly", False)
    if not chosen or not ours.checked or idle:
        return
    expected = [_expected(ours, item) for item in session.items if ITEM in item.stash]
    left_out = ours.rules.left_out([(one.eval, one.alias) for one in expected])
    cautions, baseline = ours.rules.cautions(), None
    if ours.gate is None:
        left_out += [f"{text}, for there is no --ab-baseline" for text in ours.rules.about_drops()]
    else:
        ours.gate.lines = sum(ours.gate.counted(one.lines) for one in expected)
        baseline = {**ours.gate.baseline.entry(), "lines": ours.gate.lines}
        try:
            cautions += ours.gate.notes([one.eval for one in expected], ours.collected, _whole(config))
        except FatalError as error:
            _refuse(config, session.items, error)
            return
    if worker.run_of(config) is None:
        config.stash[CONTROLLER].expect(expected, left_out, cautions, baseline)
        config.pluginmanager.register(config.stash[CONTROLLER], "audiobench-controller")
        model_server.start(config, config.stash[CONTROLLER].place)
    else:
        ours.place.open()
        told = {"expected": [list(one) for one in expected], "left_out": left_out, "cautions": cautions}
        ours.place.announce(process_name(config), {**told, "baseline": baseline})


def _whole(config: pytest.Config) -> bool:
    """Whether nothing on the command line leaves evals out, so that one that is not there is there no more."""
    chosen = ("keyword", "markexpr", "lf", "deselect", "ignore", "ignore_glob", "stepwise")
    given = config.args_source == pytest.Config.ArgsSource.ARGS
    return not given and not any(config.getoption(name, None) for name in chosen)


def _expected(ours: EvalSession, item: pytest.Item) -> Expected:
    one = item.stash[ITEM]
    alias = one.alias or next(iter(ours.specs))
    declared = sum(len(rule.require) for rule in ours.rules.for_test(one.eval, alias))
    function = getattr(item, "function", None)
    own, own_lines = getattr(function, DECLARED, 0), getattr(function, DECLARED_LINES, 0)
    lines = ours.gate.declared(one.eval, alias, own_lines) if ours.gate else 0
    return Expected(one.number, one.nodeid, one.eval, one.suite, alias, declared + own - own_lines, lines)


def _check_rules(ours: EvalSession, named: Sequence[EvalItem]) -> None:
    unmatched = ours.rules.unmatched([one.eval for one in named])
    # --lf collects nothing else of a file than what failed in it.
    if unmatched and not ours.config.getoption("lf", False):
        everything = [*(one.eval for one in named), *_whole_benchmark(ours.config)]
        unmatched = ours.rules.unmatched(everything)
        if unmatched:
            raise UsageError(unmatched[0])


def _whole_benchmark(config: pytest.Config) -> list[str]:
    """The names of all evals in the folders of ``ab_evals``, listed by a process of its own.

    Only asked for when a threshold matches nothing that was collected: the user may have named one file.
    """
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
        found: list[str] = json.loads(listing.read_text(encoding="utf-8"))
        return found


def _terminal_progress(config: pytest.Config) -> progress.Progress:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or config.get_verbosity() < 0:
        return progress.silent()
    return progress.on_terminal(reporter, config.pluginmanager.get_plugin("capturemanager"))
