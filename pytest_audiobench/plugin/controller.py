"""The controlling process: which evals were to run, which reported back, and what a lost worker cannot say."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from pytest_audiobench.errors import AudiobenchError, FatalError, UsageError
from pytest_audiobench.plugin import model_server
from pytest_audiobench.plugin.error_mapping import user_errors
from pytest_audiobench.plugin.options import base, read_options
from pytest_audiobench.plugin.stash import CONTROLLER, INSTRUMENT, REQUIRED
from pytest_audiobench.plugin.worker import BASELINE, DEVICE, RUN

if TYPE_CHECKING:
    from pytest_audiobench.plugin.device_pool import DevicePool
    from pytest_audiobench.plugin.progress import WorkersLine
    from pytest_audiobench.plugin.run_folder import RunFolder


class Expected(NamedTuple):
    """An eval that was chosen to run; how many thresholds and regression lines are declared for it."""

    number: int
    nodeid: str
    eval: str
    suite: str
    alias: str
    thresholds: int
    lines: int = 0


class Controller:
    """Registered as a plugin once an eval is to run: follows the reports, and ends the run."""

    def __init__(self, place: RunFolder) -> None:
        self.place = place
        self.expected: dict[str, Expected] = {}
        self.left_out: list[str] = []
        self.cautions: list[str] = []
        self.outcomes: dict[str, str] = {}
        self.measured: set[str] = set()
        """The node ids of tests that measured something, also of those that skipped themselves afterwards."""
        self.xfailed: dict[str, None] = {}
        self.messages: dict[str, str] = {}
        self.located: dict[str, tuple[str, int | None]] = {}
        self.required: dict[str, int] = {}
        self.baseline: Mapping[str, Any] | None = None
        self.instruments = 0
        self.trouble = ""
        self.started = time.time()
        self.run: dict[str, Any] | None = None
        self._line: WorkersLine | None = None
        self._devices: DevicePool | None = None
        self._workers = 0
        self._last: str | None = None

    def expect(
        self,
        evals: Sequence[Expected],
        left_out: Sequence[str],
        cautions: Sequence[str],
        baseline: Mapping[str, Any] | None,
    ) -> None:
        """Every eval that will run; each of them must report. ``cautions`` are remarks on what was declared."""
        self.expected.update((one.nodeid, one) for one in evals)
        self.left_out, self.cautions, self.baseline = list(left_out), list(cautions), baseline

    def settled_baseline(self, config: pytest.Config) -> str | None:
        """What ``last`` stands for from here on, whatever finishes meanwhile; None for another baseline or for none."""
        options = read_options(config)
        if self._last is None and options.baseline.partition("#")[0] == "last":
            from pytest_audiobench.comparison.baseline_sources import baseline_from

            folder = base(config, "baseline")
            # Where there is none the first worker says so, if it has an eval at all.
            with suppress(UsageError):
                found = baseline_from(options.baseline, options.reports, folder, self.place.run, options.limit, False)
                self._last = found.place
        return self._last

    def device_of_next_worker(self, config: pytest.Config) -> list[str] | None:
        """The address of the process that a new worker shares; None where workers load their models themselves."""
        self._workers += 1
        if self._workers == 1 and (devices := shared_devices(config)):
            from pytest_audiobench.plugin.device_pool import DevicePool

            self._devices = DevicePool(devices, self.place)
        if self._devices is None:
            return None
        return list(self._devices.addresses[(self._workers - 1) % len(self._devices.addresses)])

    def start_devices(self, config: pytest.Config) -> None:
        """Start the processes that workers share, now that there are evals to run."""
        if self._devices is not None:
            named = {one.nodeid.partition("::")[0] for one in self.expected.values()}
            self._devices.start(config, [config.rootpath / name for name in sorted(named)])

    def close(self) -> None:
        """End the processes of this run."""
        if self._devices is not None:
            self._devices.close()
            self._devices = None

    @property
    def lost(self) -> list[Expected]:
        """Evals that were to run and never reported."""
        return [one for nodeid, one in self.expected.items() if nodeid not in self.outcomes]

    @property
    def all_skipped(self) -> bool:
        """Whether evals were to run and every single one was skipped before it measured anything."""
        return bool(self.expected) and all(map(self._skipped, self.expected))

    def _skipped(self, nodeid: str) -> bool:
        left_out = self.outcomes.get(nodeid) == "skipped" or nodeid in self.xfailed
        return left_out and nodeid not in self.measured

    @property
    def gated(self) -> bool:
        """Whether thresholds were asked for, by a file or in a test's code, or a baseline."""
        declared = any(one.thresholds for one in self.expected.values()) or any(self.required.values())
        return declared or self.baseline is not None

    @property
    def unchecked(self) -> list[str]:
        """The declared thresholds that no result was held to: no chosen eval matches, or it was skipped."""
        skipped = [one for nodeid, one in self.expected.items() if self._skipped(nodeid)]
        declared = [("threshold(s)", one.thresholds, one) for one in skipped]
        declared += [("regression line(s)", one.lines, one) for one in skipped]
        return [f"not checked: {line}" for line in self.left_out] + [
            f"not checked: {count} {what} of {one.eval} ({one.alias}), which was skipped"
            for what, count, one in declared
            if count
        ]

    @property
    def excused(self) -> list[str]:
        """The measured evals that failed as their tests expect, which pytest's exit code takes for no failure."""
        names = [self.expected[nodeid].eval for nodeid in self.xfailed if nodeid in self.measured]
        return [f"failed as expected (xfail), which the exit code does not show: {', '.join(names)}"] * bool(names)

    def watch(self, line: WorkersLine) -> None:
        self._line = line

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not hasattr(report, "wasxfail"):
            self.instruments += report.nodeid in self.expected and _of_instrument(report)
        # A worker that dies is reported by xdist with when == "???", which is a report like any other.
        if report.nodeid not in self.expected or (report.when == "teardown" and not report.failed):
            return
        self.located[report.nodeid] = report.location[:2]
        if report.when == "setup" and report.passed:
            return
        outcome = "passed" if hasattr(report, "wasxfail") else report.outcome
        if report.skipped and hasattr(report, "wasxfail"):
            self.xfailed[report.nodeid] = None
        self.outcomes[report.nodeid] = "failed" if "failed" in (self.outcomes.get(report.nodeid), outcome) else outcome
        if not report.passed:
            self.messages.setdefault(report.nodeid, _told(report))
        self.required[report.nodeid] = sum(name == REQUIRED for name, _ in report.user_properties)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        from pytest_audiobench.plugin import run_end

        if self._line is not None:
            self._line.stop()
        try:
            run_end.finish(session, self)
        except (AudiobenchError, OSError, ValueError) as error:
            # pytest's own summary must still be printed, whatever becomes of ours.
            self.trouble = f"the report could not be written: {error}"
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        from pytest_audiobench.plugin import run_end

        run_end.summarise(terminalreporter, self)


def shared_devices(config: pytest.Config) -> list[str]:
    """The devices on which in-process models are loaded once for all workers: those asked for, else every GPU.

    A kind of model that only a conftest.py of the evals' folders registers is not known here yet.
    """
    from pytest_audiobench.plugin.devices import chosen_devices, visible_gpus
    from pytest_audiobench.plugin.options import DEFAULT_MODEL

    options = read_options(config)
    if options.devices:
        return chosen_devices(options.devices)
    gpus = visible_gpus()
    if not gpus or (options.models == (DEFAULT_MODEL,) and not options.judges):
        return []
    from pytest_audiobench.models.registry import fills_a_device
    from pytest_audiobench.models.spec import parse_specs
    from pytest_audiobench.plugin.registration import Registration

    registration = Registration()
    config.hook.pytest_audiobench_register(registration=registration)
    named = (*parse_specs(options.models), *parse_specs(options.judges))
    specs = [spec for spec in named if spec.options.get("device") != "cpu"]
    return gpus if any(fills_a_device(spec, kinds=registration.kinds) for spec in specs) else []


def _of_instrument(report: pytest.TestReport) -> bool:
    """Whether a failure says nothing of the model: its worker died, or what it measured cannot be compared."""
    # xdist gives the test that a worker died in a report of its own, whose phase is "???".
    return str(report.when) == "???" or (report.when == "call" and (INSTRUMENT, "failed") in report.user_properties)


def _told(report: pytest.TestReport) -> str:
    """A report's reason in one line: a skip's own words, else the error's, else the last line of what went wrong."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None and crash.message.strip():
        return str(crash.message.strip().splitlines()[0])
    lines = [line for line in str(report.longrepr or "").splitlines() if line.strip()]
    return lines[-1].strip() if lines else report.outcome


def configure_node(node: Any) -> None:
    """Tell a new worker the run's name."""
    from pytest_audiobench.plugin.run_folder import RunFolder, new_run_name

    stash = node.config.stash
    if CONTROLLER not in stash:
        options = read_options(node.config)
        stash[CONTROLLER] = Controller(RunFolder(options.reports, options.run or new_run_name()))
        if options.run and not node.config.option.collectonly:
            with user_errors():
                stash[CONTROLLER].place.check_free()
    node.workerinput[RUN] = stash[CONTROLLER].place.run
    node.workerinput[BASELINE] = stash[CONTROLLER].settled_baseline(node.config)
    with user_errors():
        node.workerinput[DEVICE] = stash[CONTROLLER].device_of_next_worker(node.config)
    model_server.configure_node(node)


def node_collected(config: pytest.Config) -> None:
    """A worker has collected: take over its evals, or the usage error that it met."""
    controller = config.stash[CONTROLLER]
    if not controller.place.opened:
        return
    for told in controller.place.announced():
        if "usage_error" in told:
            controller.place.discard()
            raise pytest.UsageError(told["usage_error"])
        if controller.baseline and told["baseline"]["digest"] != controller.baseline["digest"]:
            from pytest_audiobench.comparison.baseline_sources import source_text

            raise pytest.UsageError(
                f"{source_text(controller.baseline['source'])} changed while the run went on, so that its workers hold "
                "their evals against different ones: run again"
            )
        controller.expect(
            [Expected(*one) for one in told["expected"]], told["left_out"], told["cautions"], told["baseline"]
        )
    if controller.expected:
        try:
            controller.start_devices(config)
        except FatalError as error:
            raise pytest.UsageError(str(error)) from error
    if controller.expected and not config.pluginmanager.hasplugin("audiobench-controller"):
        config.pluginmanager.register(controller, "audiobench-controller")
        model_server.start(config, controller.place)
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and config.get_verbosity() >= 0:
            from pytest_audiobench.plugin.progress import WorkersLine

            controller.watch(WorkersLine(reporter, controller.place.folder))
