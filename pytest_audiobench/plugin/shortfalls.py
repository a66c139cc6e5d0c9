"""What a run has no result for: what was required or asked for by name, and failures that pytest did not see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pytest_audiobench.evaluation.answer_store import message
from pytest_audiobench.plugin.controller import Controller
from pytest_audiobench.records.run import ItemRecord
from pytest_audiobench.report.formatting import counted


def notes(controller: Controller) -> list[str]:
    """What the exit code does not show: thresholds of evals that were not selected, xfail, tries before the last."""
    expected = controller.expected
    names = [expected[nodeid].eval for nodeid in controller.xfailed if nodeid in controller.measured]
    excused = [f"failed as expected (xfail), which the exit code does not show: {', '.join(names)}"] * bool(names)
    repeated = [
        f"{expected[nodeid].eval} was run again after {len(reasons)} failed {'try' if len(reasons) == 1 else 'tries'}: "
        f"{message(reasons[0])}"
        for nodeid, reasons in controller.repeated.items()
    ]
    return [*(f"not checked: {line}" for line in controller.left_out), *excused, *repeated, *controller.cautions]


def shortfalls(controller: Controller, records: Sequence[ItemRecord], config: pytest.Config) -> list[str]:
    """A sentence for each; ``records`` are those that the tests left. A run with any does not end in 0."""
    return [
        *controller.missing,
        *_unchecked(controller, records),
        *_hidden_failures(controller, records),
        *_unmeasured_selections(controller, config),
    ]


def _unchecked(controller: Controller, records: Sequence[ItemRecord]) -> Iterator[str]:
    """Lines of the baseline and thresholds of tests that passed or were skipped without measuring them."""
    measured = {(record.eval, record.model) for record in records if record.scorers}
    for nodeid, expected in controller.expected.items():
        if nodeid in controller.xfailed or controller.outcomes.get(nodeid) not in ("passed", "skipped"):
            continue
        reason = message(controller.messages.get(nodeid, "its test did not evaluate it"))
        for eval_ in expected.in_baseline:
            if (eval_, expected.alias) not in measured:
                yield f"{eval_} ({expected.alias}), which the baseline holds, was not measured: {reason}"
        if expected.thresholds and controller.skipped(nodeid):
            what = counted(expected.thresholds, "threshold")
            yield f"{what} of {expected.eval} ({expected.alias}) not checked, since it was skipped: {reason}"


def _hidden_failures(controller: Controller, records: Sequence[ItemRecord]) -> Iterator[str]:
    """Tests whose record says failed, or that left none, and whose report does not: a hook or a wrapper changed it."""
    recorded = {record.nodeid for record in records}
    for nodeid, expected in controller.expected.items():
        if controller.outcomes.get(nodeid) == "passed" and nodeid not in recorded and nodeid not in controller.xfailed:
            yield f"{expected.eval} left no record, and something else in the run reported it as passed"
    failed = dict.fromkeys(record.nodeid for record in records if record.outcome == "failed")
    for nodeid in failed:
        outcome = controller.outcomes.get(nodeid, "not run")
        if nodeid in controller.expected and nodeid not in controller.xfailed and outcome != "failed":
            yield f"{controller.expected[nodeid].eval} failed, and something else in the run reported it as {outcome}"


def _unmeasured_selections(controller: Controller, config: pytest.Config) -> Iterator[str]:
    """What the command line names and of which nothing was measured."""
    names = config.args if config.args_source == pytest.Config.ArgsSource.ARGS else []
    for name in names:
        path, *inner = str(name).split("::")
        try:
            root = Path(config.invocation_params.dir, path).resolve().relative_to(config.rootpath.resolve())
        except ValueError:
            continue
        nodeids = [nodeid for nodeid in controller.expected if _is_within(nodeid, "::".join([root.as_posix(), *inner]))]
        if nodeids and all(map(controller.skipped, nodeids)) and not set(nodeids) & set(controller.xfailed):
            yield f"nothing of {name} was measured: {message(controller.messages.get(nodeids[0], ''))}"


def _is_within(nodeid: str, name: str) -> bool:
    """Whether a node is the one called ``name``, or below it: in a folder, a file, a class, or a test's parameters."""
    return nodeid == name or name == "." or nodeid.startswith((f"{name}/", f"{name}::", f"{name}["))
