"""The controlling process: which evals were to run, which reported back, and what a lost worker cannot say."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_audiobench.plugin.keys import CONTROLLER
from pytest_audiobench.plugin.worker import RUN

if TYPE_CHECKING:
    from pytest_audiobench.plugin.place import RunPlace
    from pytest_audiobench.plugin.progress import WorkersLine


class Expected(NamedTuple):
    """An eval that was chosen to run, and how many thresholds are declared for it."""

    nodeid: str
    eval: str
    alias: str
    thresholds: int


class Controller:
    """Registered as a plugin once an eval is to run: follows the reports, and ends the run."""

    def __init__(self, place: RunPlace) -> None:
        self.place = place
        self.expected: dict[str, Expected] = {}
        self.left_out: list[str] = []
        self.outcomes: dict[str, str] = {}
        self.started = time.time()
        self.run: dict[str, Any] | None = None
        self._line: WorkersLine | None = None

    def expect(self, evals: Sequence[Expected], left_out: Sequence[str]) -> None:
        """Every eval that will run; each of them must report."""
        self.expected.update((one.nodeid, one) for one in evals)
        self.left_out = list(left_out)

    @property
    def lost(self) -> list[Expected]:
        """Evals that were to run and never reported."""
        return [one for nodeid, one in self.expected.items() if nodeid not in self.outcomes]

    @property
    def all_skipped(self) -> bool:
        """Whether evals were to run and every single one was skipped."""
        return bool(self.expected) and all(self.outcomes.get(nodeid) == "skipped" for nodeid in self.expected)

    @property
    def left_out_notes(self) -> list[str]:
        """The declared thresholds that no chosen eval is held to."""
        return [f"not checked: {line}" for line in self.left_out]

    def watch(self, line: WorkersLine) -> None:
        self._line = line

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # A worker that dies is reported by xdist with when == "???", which is a report like any other.
        if report.nodeid in self.expected and (report.when != "teardown" or report.failed):
            worst = self.outcomes.get(report.nodeid)
            if report.when != "setup" or not report.passed:
                self.outcomes[report.nodeid] = "failed" if "failed" in (worst, report.outcome) else report.outcome

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        from pytest_audiobench.plugin import finish

        if self._line is not None:
            self._line.stop()
        finish.finish(session, self)

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        from pytest_audiobench.plugin import finish

        finish.summarise(terminalreporter, self)


def configure_node(node: Any) -> None:
    """Tell a new worker the run's name."""
    from pytest_audiobench.plugin.options import read_options
    from pytest_audiobench.plugin.place import RunPlace, new_run_name

    stash = node.config.stash
    if CONTROLLER not in stash:
        options = read_options(node.config)
        stash[CONTROLLER] = Controller(RunPlace(options.reports, options.run or new_run_name()))
        if options.run:
            stash[CONTROLLER].place.check_free()
    node.workerinput[RUN] = stash[CONTROLLER].place.run


def node_collected(config: pytest.Config) -> None:
    """A worker has collected: take over its evals, or the usage error that it met."""
    controller = config.stash[CONTROLLER]
    if not controller.place.opened:
        return
    for told in controller.place.announced():
        if "usage_error" in told:
            controller.place.discard()
            raise pytest.UsageError(told["usage_error"])
        controller.expect([Expected(*one) for one in told["expected"]], told["left_out"])
    if controller.expected and not config.pluginmanager.hasplugin("audiobench-controller"):
        config.pluginmanager.register(controller, "audiobench-controller")
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and config.get_verbosity() >= 0:
            from pytest_audiobench.plugin.progress import WorkersLine

            controller.watch(WorkersLine(reporter, controller.place.folder))
