"""The controlling process: which evals were to run, which reported back, and what a lost worker cannot say."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.evaluation.answer_store import repaired
from pytest_audiobench.io.plain_signs import write_plainly
from pytest_audiobench.plugin.error_mapping import user_errors
from pytest_audiobench.plugin.hookspecs import call_register_hooks
from pytest_audiobench.plugin.options import DEFAULT_MODEL, base, read_options
from pytest_audiobench.plugin.run_folder import Announcement, Expected, Planned, RunFolder, new_run_name
from pytest_audiobench.plugin.stash import (
    CHOSEN,
    CONTROLLER,
    INSTRUMENT,
    LOOKED_UP,
    OTHER_ENCODER,
    REQUIRED,
    RUNNING,
    UNAVAILABLE,
)
from pytest_audiobench.plugin.workers import BASELINE, CPU, DEVICES, RUN, STARTED, chosen_devices, visible_gpus

if TYPE_CHECKING:
    from pytest_audiobench.models.device.client import Address
    from pytest_audiobench.plugin.device_pool import DevicePool
    from pytest_audiobench.plugin.progress import Progress, RunProgress
    from pytest_audiobench.records.run import RunRecord
    from pytest_audiobench.report.terminal import Line


class InternalErrors:
    """Whether pytest broke in its own code, here or, as xdist tells, in a worker, after which xdist continues."""

    seen = False

    @pytest.hookimpl
    def pytest_internalerror(self) -> None:
        self.seen = True


class Controller:
    """What becomes of the evals of a run. Registered as a plugin once one is to run, since it follows the reports."""

    def __init__(self, place: RunFolder, commit: str) -> None:
        self.place, self.commit = place, commit
        self.expected: dict[str, Expected] = {}
        """The evals that are to run, by node id, as are the tables that follow."""
        self.outcomes: dict[str, str] = {}
        self.measured: set[str] = set()
        """The tests that measured something, also those that skipped themselves afterwards."""
        self.xfailed: dict[str, None] = {}
        self.messages: dict[str, str] = {}
        """Why a test did not pass, in one line."""
        self.locations: dict[str, tuple[str, int | None]] = {}
        self.collected = Announcement()
        """The last process's: all but the evals is the same in each."""
        self.plan: Sequence[str] = ()
        """What is to be asked of each model, as sent to the workers."""
        self._unsaid = True
        """Whether these lines wait until xdist has ended its own, on which it counts workers and tests."""
        self.planned: dict[str, Planned] = {}
        self.lookups: set[str] = set()
        """The names of ``--ab-data=NAME=FOLDER`` that an evaluation looked up."""
        self.unavailable: dict[str, set[str]] = {}
        """The data sets that are not on this machine, by the tests that need them."""
        self.required: dict[str, int] = {}
        """How many thresholds the code of a test has declared before it ended."""
        self.repeated: dict[str, list[str]] = {}
        """Why earlier tries of a test failed that was run again, by a plugin that reruns tests."""
        self.infrastructure_errors = 0
        """Failures that say nothing of the model."""
        self.other_encoder = False
        """Whether an eval's figures in the baseline are by another text encoder."""
        self.internal_errors = InternalErrors()
        self.trouble = ""
        """Why the report could not be written."""
        self.baseline_lines: list[Line] = []
        """What became of the baseline that the run was to write."""
        self.exported: list[str] = []
        """What was written to other tools, a sentence each."""
        self.unexported: list[str] = []
        """What could not be, and why."""
        self.run: RunRecord | None = None
        """The run's record, once it is written."""
        self._reporter: Any = None
        self._progress: RunProgress | None = None
        self._devices: DevicePool | None = None
        self._workers = 0
        self._last: str | None = None

    def expect(self, collected: Announcement) -> None:
        """Every eval that will run; each of them must report."""
        self.expected.update((expected.nodeid, expected) for expected in collected.expected)
        self.planned.update(collected.planned)
        self.collected = collected

    def settled_baseline(self, config: pytest.Config) -> str | None:
        """The run that ``last`` stands for, whatever finishes from here on; None for another baseline or for none."""
        options = read_options(config)
        if self._last is None and options.baseline.partition("#")[0] == "last":
            from pytest_audiobench.comparison.baseline_sources import baseline_from

            folder = base(config, "baseline")
            # Where there is none the first worker says so, if it has an eval at all.
            with suppress(UsageError):
                last = baseline_from(options.baseline, options.reports, folder, self.place.run, options.limit, False)
                self._last = last.place
        return self._last

    def devices_of_next_worker(self, config: pytest.Config) -> list[Address]:
        """The addresses of the processes that a new worker shares, that of its own device first, and of others of that
        kind, whose answers are the same; none where workers load their models themselves.
        """
        self._workers += 1
        if self._workers == 1:
            self._choose(shared_devices(config))
        if self._devices is None:
            return []
        own = (self._workers - 1) % len(self._devices.addresses)
        addresses = [*self._devices.addresses[own:], *self._devices.addresses[:own]]
        return [address for address in addresses if (address.device == CPU) == (addresses[0].device == CPU)]

    def devices_without_workers(self, config: pytest.Config) -> list[Address]:
        """The addresses of the processes that this one asks, where several devices are named; else none."""
        if self._devices is None and len(devices := config.stash.get(CHOSEN, [])) > 1:
            self._choose(devices)
        return [] if self._devices is None else self._devices.addresses

    def _choose(self, devices: Sequence[str]) -> None:
        if devices:
            from pytest_audiobench.plugin.device_pool import DevicePool

            self._devices = DevicePool(devices, self.place)

    def start_devices(self, config: pytest.Config) -> None:
        """Start the devices' processes, now that there are evals to run, or answers to ask for."""
        if self._devices is not None:
            files = {nodeid.partition("::")[0] for nodeid in self.expected}
            self._devices.start(config, [config.rootpath / name for name in sorted(files)])

    def close(self) -> None:
        """End the processes of this run; where its workers had no eval to run, nothing is left of it."""
        if self._workers and not self.expected:
            self.place.discard()
        if self._devices is not None:
            self._devices.close()
            self._devices = None

    @property
    def lost(self) -> list[Expected]:
        """Evals that were to run and never reported."""
        return [expected for nodeid, expected in self.expected.items() if nodeid not in self.outcomes]

    @property
    def nothing_measured(self) -> bool:
        """Whether evals were to run and every single one was skipped before it measured anything."""
        return bool(self.expected) and all(map(self.skipped, self.expected))

    def skipped(self, nodeid: str) -> bool:
        """Whether a test was skipped, failed as it expects, or passes by some hook's word, and measured nothing."""
        return self.outcomes.get(nodeid) in ("skipped", "passed") and nodeid not in self.measured

    @property
    def gated(self) -> bool:
        """Whether thresholds were declared, in a file or in a test's code, or a baseline given."""
        declared = any(expected.thresholds for expected in self.expected.values())
        return declared or bool(self.required) or self.collected.baseline is not None

    def write_cautions(self, reporter: Any) -> None:
        """Say them in the terminal where no table does."""
        for caution in self.collected.cautions:
            reporter.write_line(f"note: {caution}", yellow=True)

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not hasattr(report, "wasxfail"):
            # xdist gives the test that a worker died in its own report, whose phase is "???".
            died = str(report.when) == "???" and report.nodeid in self.expected
            self.infrastructure_errors += died or (INSTRUMENT, "failed") in report.user_properties
        if report.nodeid not in self.expected or (report.when == "teardown" and not report.failed):
            return
        self.locations[report.nodeid] = report.location[:2]
        if report.when == "setup" and report.passed:
            return
        if str(report.outcome) == "rerun":  # as pytest-rerunfailures says it
            self.repeated.setdefault(report.nodeid, []).append(_reason(report))
            return
        outcome = "passed" if hasattr(report, "wasxfail") else report.outcome
        if report.skipped and hasattr(report, "wasxfail"):
            self.xfailed[report.nodeid] = None
        self.outcomes[report.nodeid] = "failed" if "failed" in (self.outcomes.get(report.nodeid), outcome) else outcome
        if not report.passed:
            self.messages.setdefault(report.nodeid, _reason(report))
        for name, value in report.user_properties:
            if name == LOOKED_UP:
                self.lookups.add(str(value))
            elif name == OTHER_ENCODER:
                self.other_encoder = True
            elif name == UNAVAILABLE:
                self.unavailable.setdefault(report.nodeid, set()).add(str(value))
            elif name == REQUIRED:
                self.required[report.nodeid] = int(str(value))

    @staticmethod
    def on_terminal(lines: Sequence[str], reporter: Any) -> Sequence[str]:
        """The lines, which a terminal would break in the middle of words."""
        if not getattr(reporter, "isatty", False):
            return lines
        width = reporter._tw.fullwidth
        return [part for line in lines for part in textwrap.wrap(line, width, subsequent_indent="  ")]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self) -> None:
        if self.plan and self._unsaid and self._reporter is not None:
            self._unsaid = False
            self._reporter.write_line("\n".join(self.on_terminal(self.plan, self._reporter)))

    def register(self, config: pytest.Config) -> None:
        """Follow the reports from here on, and end the run; start the servers that the evals are to ask."""
        from pytest_audiobench.report.live_run import RunningRecord
        from pytest_audiobench.report.run_writer import iso

        config.pluginmanager.register(self, RUNNING)
        self.place.begin(
            RunningRecord(
                iso(self.place.started),
                command_of(config),
                self.plan or self.collected.plan,
                [(eval_.nodeid, eval_.eval, eval_.alias) for eval_ in self.expected.values()],
            )
        )
        self._reporter = config.pluginmanager.get_plugin("terminalreporter")
        if self._reporter is not None:
            write_plainly(self._reporter._tw._file)
        if read_options(config).starts_servers:
            from pytest_audiobench.plugin import model_server

            model_server.start(config, self.place)

    def progress(self, config: pytest.Config) -> Progress:
        """What counts the answers of a run without workers, and shows how far it is."""
        from pytest_audiobench.plugin.progress import Progress, silent

        whole = self._run_progress(config)
        return silent() if whole is None else Progress(whole.show, whole.every_s)

    def watch_progress(self, config: pytest.Config) -> None:
        """Show how far all workers are."""
        if (whole := self._run_progress(config)) is not None:
            whole.watch(self.place.folder)

    def _run_progress(self, config: pytest.Config) -> RunProgress | None:
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and config.get_verbosity() >= 0:
            from pytest_audiobench.plugin.progress import RunProgress

            capture = config.pluginmanager.get_plugin("capturemanager")
            self._progress = RunProgress(reporter, capture, self.expected, self.outcomes, self.planned)
        return self._progress

    def stop_progress(self) -> None:
        if self._progress is not None:
            self._progress.stop()


def command_of(config: pytest.Config) -> list[str]:
    """The command line of the run; a path need be no valid text."""
    return ["pytest", *(repaired(os.fspath(each))[0] for each in config.invocation_params.args)]


def controller_of(config: pytest.Config) -> Controller:
    """This process's controller, made on first use."""
    options = read_options(config)
    controller: Controller | None = config.stash.get(CONTROLLER, None)
    if controller is None:
        from pytest_audiobench.plugin.earlier_answers import commit_of

        place = RunFolder(options.reports, options.run or new_run_name())
        controller = config.stash[CONTROLLER] = Controller(place, commit_of(config.rootpath))
        config.pluginmanager.register(controller.internal_errors)
    return controller


def shared_devices(config: pytest.Config) -> list[str]:
    """The devices on which in-process models are loaded once for all workers: those asked for, else every GPU."""
    options = read_options(config)
    if options.devices:
        return chosen_devices(options.devices)
    gpus = visible_gpus()
    if not gpus or (options.models == (DEFAULT_MODEL,) and not options.judges):
        return []
    from pytest_audiobench.models.registry import fills_a_device
    from pytest_audiobench.models.spec import parse_specs

    # A kind of model that only a conftest.py of the evals' folders registers is not known here yet.
    kinds = call_register_hooks(config).kinds
    specs = (*parse_specs(options.models), *parse_specs(options.judges))
    on_gpu = [spec for spec in specs if spec.options.get("device") != "cpu"]
    return gpus if any(fills_a_device(spec, kinds=kinds) for spec in on_gpu) else []


def _reason(report: pytest.TestReport) -> str:
    """A report's reason in one line: a skip's own words, else the error's, else its last line."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None and crash.message.strip():
        return str(crash.message.strip().splitlines()[0])
    lines = [line for line in str(report.longrepr or "").splitlines() if line.strip()]
    return lines[-1].strip() if lines else report.outcome


def settle_name(config: pytest.Config, place: RunFolder) -> None:
    """See that the folder of a named run is free, and say what had to give way. Raises UsageError where it is not."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if (replaced := place.check_free()) and reporter is not None:
        reporter.write_line(replaced)


def configure_node(node: Any) -> None:
    """Tell a new worker what it shares with the others: the run, what ``last`` means, its device, servers' ports."""
    options = read_options(node.config)
    is_new = CONTROLLER not in node.config.stash
    controller = controller_of(node.config)
    if is_new and options.run and not node.config.option.collectonly:
        with user_errors():
            settle_name(node.config, controller.place)
    node.workerinput[RUN] = controller.place.run
    node.workerinput[STARTED] = controller.place.started
    node.workerinput[BASELINE] = controller.settled_baseline(node.config)
    with user_errors():
        node.workerinput[DEVICES] = list(map(list, controller.devices_of_next_worker(node.config)))
    if options.starts_servers:
        from pytest_audiobench.plugin import model_server

        model_server.configure_node(node)


def node_collected(config: pytest.Config) -> None:
    """A worker has collected: take over its evals, or the usage error that it met."""
    controller = controller_of(config)
    if not controller.place.opened:
        return
    for collected in controller.place.announced():
        if collected.usage_error:
            controller.place.discard()
            raise pytest.UsageError(collected.usage_error)
        before, digest = controller.collected.baseline, collected.baseline and collected.baseline.digest
        if before and digest != before.digest:
            from pytest_audiobench.comparison.baseline_sources import source_text

            raise pytest.UsageError(
                f"{source_text(before.source)} changed while the run continued, so that its workers "
                "compare their evals with different ones: run again"
            )
        controller.expect(collected)
        if collected.plan and not controller.plan:
            controller.plan = collected.plan
    if controller.expected:
        try:
            controller.start_devices(config)
        except FatalError as error:
            raise pytest.UsageError(str(error)) from error
    if controller.expected and not config.pluginmanager.hasplugin(RUNNING):
        controller.register(config)
        controller.watch_progress(config)
