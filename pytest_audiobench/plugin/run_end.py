"""The end of a run, in the controlling process: what was lost, the run's files, the summary on the screen."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pytest_audiobench.errors import AudiobenchError, FatalError, InfrastructureError, UsageError, disk_errors
from pytest_audiobench.evaluation.answer_store import message
from pytest_audiobench.evaluation.suites import pooled_hashes
from pytest_audiobench.models.remote.budget import spent_note
from pytest_audiobench.plugin.controller import Controller, command_of
from pytest_audiobench.plugin.hookspecs import registration_of
from pytest_audiobench.plugin.options import read_options
from pytest_audiobench.plugin.run_folder import Expected
from pytest_audiobench.plugin.session import shard_of
from pytest_audiobench.plugin.shortfalls import notes, shortfalls
from pytest_audiobench.plugin.stash import INSTRUMENT
from pytest_audiobench.records.run import AnswersRecord, CanaryRecord, ItemRecord, ModelRecord, RunRecord
from pytest_audiobench.report import run_writer
from pytest_audiobench.report.formatting import no_command, wrapped
from pytest_audiobench.report.page.html import write_page
from pytest_audiobench.report.run_writer import Lines, iso, runtime, whole_parts, write_part
from pytest_audiobench.report.suite_rows import skip_lines
from pytest_audiobench.report.terminal import Line, summary_lines, verdict_lines
from pytest_audiobench.report.verdict import INSTRUMENT_FAILED

_ENDS = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
"""Those of a run that says something of the model; any other is to be run again, and asks for the rest only."""
_UNJUDGED = (pytest.ExitCode.OK, INSTRUMENT_FAILED)
_MOST_TOLD = 12
"""Lines on what a new baseline changes."""
_STOPPED = (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR)


def finish(session: pytest.Session, controller: Controller) -> None:
    """End the run. pytest's own summary is still printed, whatever becomes of ours."""
    controller.stop_progress()
    try:
        with disk_errors(controller.place.folder):
            _finish(session, controller)
    except (AudiobenchError, ValueError) as error:
        controller.trouble = f"the report could not be written: {error}"
        unjudged = isinstance(error, InfrastructureError) and session.exitstatus in _UNJUDGED
        if session.exitstatus != pytest.ExitCode.INTERNAL_ERROR:
            session.exitstatus = INSTRUMENT_FAILED if unjudged else pytest.ExitCode.TESTS_FAILED


def _finish(session: pytest.Session, controller: Controller) -> None:
    stopped = session.exitstatus in _STOPPED or (
        session.exitstatus != pytest.ExitCode.OK and bool(session.shouldstop or session.shouldfail)
    )
    if session.exitstatus == pytest.ExitCode.USAGE_ERROR:
        return
    broken = controller.internal_errors.seen or session.exitstatus == pytest.ExitCode.INTERNAL_ERROR
    if (
        session.exitstatus == pytest.ExitCode.INTERRUPTED
        and 0 < (session.config.option.maxfail or 0) <= session.testsfailed
    ):
        # xdist ends a run at --maxfail as if somebody had interrupted it.
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    # Under xdist nothing was collected here; pooled figures need the metrics that a conftest.py registers.
    registration_of(session.config)
    records = [part.item for part in whole_parts(controller.place.parts)]
    controller.measured = {record.nodeid for record in records if record.scorers}
    run_notes = notes(controller, records, session.config)
    if stopped and controller.lost:
        compared = ", nor compared with the baseline" if controller.collected.baseline is not None else ""
        count = len(controller.lost)
        run_notes.append(f"stopped early: {count} eval{'s were' if count > 1 else ' was'} not run{compared}")
    elif controller.lost:
        for expected in controller.lost:
            _report_lost(session, expected)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    all_failed_by_it = 0 < controller.infrastructure_errors == session.testsfailed
    if session.exitstatus == pytest.ExitCode.TESTS_FAILED and all_failed_by_it:
        session.exitstatus = INSTRUMENT_FAILED
    models = controller.place.models()
    unmeasured = [] if stopped else shortfalls(controller, records, session.config)
    canaries, outdated = _canaries(records, models)
    unmeasured += outdated
    # pytest.exit(returncode=0) ends a run in 0 whatever failed before, as does who resets pytest's count of failures.
    failed = session.testsfailed or "failed" in controller.outcomes.values()
    hidden = failed and session.exitstatus == pytest.ExitCode.OK
    if (unmeasured and session.exitstatus in _UNJUDGED) or (controller.nothing_measured and controller.gated) or hidden:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    options = read_options(session.config)
    # All that is here of a shard may be asked by another one.
    elsewhere = options.is_part and not controller.unavailable
    if controller.nothing_measured and not elsewhere and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED
    if session.exitstatus == INSTRUMENT_FAILED and controller.other_encoder:
        session.exitstatus = pytest.ExitCode.USAGE_ERROR
    if broken:
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
    # That of a shard ends when it is merged.
    begun = not options.is_part and (any(model.is_mere_name for model in models) or options.refresh)
    if begun and session.exitstatus in _ENDS and not controller.lost:
        from pytest_audiobench.plugin.earlier_answers import end_run

        end_run(session.config, controller.place)
    if (shard := shard_of(options)) is not None and session.exitstatus == pytest.ExitCode.OK:
        from pytest_audiobench.plugin.earlier_answers import end_shard

        end_shard(options, controller.place, shard)
    controller.place.open()
    _write_missing_records(controller, stopped)
    run_notes += spent_note(controller.place.folder)
    heading = _heading(session, controller, run_notes, unmeasured)
    heading = replace(heading, answers=_answers(records, canaries))
    run = run_writer.collect(controller.place.folder, heading)
    if (baseline := controller.collected.baseline) is not None:
        from pytest_audiobench.gate.regression_records import with_adjusted_p_values

        run = replace(run, items=with_adjusted_p_values(run.items, baseline.lines))
    _call_update_hooks(session.config, run)
    write_page(controller.place.folder, run)
    if options.update is not None:
        run = _update_baseline(session, controller, run, options.update)
    if len({item.model for item in run.items}) > 1:
        from pytest_audiobench.report.summary_table import write_summary

        write_summary(controller.place.folder, run)
    controller.place.forget()
    run_writer.finish(controller.place.folder, run)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        from pytest_audiobench.report.markdown import append_summary

        with disk_errors(Path(summary)):
            append_summary(Path(summary), run)
    controller.run = run
    _export(session, controller, run, options.exports)


def _export(session: pytest.Session, controller: Controller, run: RunRecord, texts: Sequence[str]) -> None:
    """Write the run to other tools. The record keeps the exit code of what was measured; the process ends in that of
    an instrument that failed where it would have been 0.
    """
    if not texts or run.shard is not None:
        return
    from pytest_audiobench.sharing.exporters import destination

    folder = controller.place.folder
    for text in texts:
        try:
            controller.exported += destination(text).export(run, folder)
        except AudiobenchError as error:
            remedy = f"audiobench export {_from_here(folder)} --to '{text}'"
            controller.unexported.append(f"{error}; the run is whole, and {remedy} tries again")
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = INSTRUMENT_FAILED


def _update_baseline(session: pytest.Session, controller: Controller, run: RunRecord, out: Path) -> RunRecord:
    """Write the run's baseline, or say what the run lacks for that; the run, which is not green then."""
    from pytest_audiobench.comparison.baseline_sources import baseline_from
    from pytest_audiobench.comparison.baseline_text import changes
    from pytest_audiobench.comparison.baseline_update import BaselineOptions, write_baseline

    folder = controller.place.folder
    try:
        run_writer.finish(folder, run)
        baseline = baseline_from(str(folder), folder.parent, Path.cwd(), texts=False)
        done = write_baseline(baseline, out, BaselineOptions(), keeps_evals=True)
    except UsageError as error:
        lines = f"baseline not written: {error}".splitlines()
        controller.baseline_lines = [(part, "red") for line in lines for part in wrapped(line)]
        if session.exitstatus != pytest.ExitCode.OK:
            return run
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        run = replace(run, exit_status=1, unmeasured=[*run.unmeasured, f"the baseline {out.name} was not written"])
        write_page(folder, run)
        return run
    told = [] if done.before is None else changes(done.before, done.contents)
    more = [f"and {len(told) - _MOST_TOLD} more: audiobench baseline show {out}"] * (len(told) > _MOST_TOLD)
    written = f"baseline written: {os.path.relpath(out)}, {done.contents.samples} samples; commit it"
    controller.baseline_lines = [(line, "") for line in (*wrapped(written), *told[:_MOST_TOLD], *more)]
    return run


def _canaries(records: Sequence[ItemRecord], models: Sequence[ModelRecord]) -> tuple[list[CanaryRecord], list[str]]:
    """The canaries of each model, and a sentence on each whose earlier answers are none of its own."""
    if not any(asking.canaries for record in records for asking in (record.asking, *record.judges.values())):
        return [], []
    from pytest_audiobench.gate.canaries import canary_records, refuted

    canaries = list(canary_records(records, models))
    return canaries, list(refuted(canaries))


def _answers(records: Sequence[ItemRecord], canaries: Sequence[CanaryRecord]) -> AnswersRecord:
    askings = [record.asking for record in records]
    return AnswersRecord(
        asked=sum(asking.asked + asking.again for asking in askings),
        stored=sum(asking.reused for asking in askings),
        oldest=min(filter(None, (asking.oldest for asking in askings)), default=None),
        newest=max(filter(None, (asking.newest for asking in askings)), default=None),
        canaries=canaries,
    )


def _call_update_hooks(config: pytest.Config, run: RunRecord) -> None:
    """Raises FatalError, which names the place, for a hook that fails, and for a note that is no text."""
    try:
        config.hook.pytest_audiobench_update_run(config=config, run=run)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error}"
        raise FatalError(f"pytest_audiobench_update_run failed at {place.filename}:{place.lineno}: {what}") from error
    for number, note in enumerate(run.notes):
        if not isinstance(note, str):
            raise FatalError(f"run.notes[{number}] is {note!r}: append texts in pytest_audiobench_update_run")


def summarise(reporter: Any, controller: Controller) -> None:
    """The table of the run, and where its report lies."""
    if controller.nothing_measured:
        reporter.write_sep("=", "audiobench", red=True)
        count = len(controller.expected)
        were = "the only eval was" if count == 1 else f"all {count} evals were"
        reporter.write_line(f"{were} skipped: nothing was measured (run with -rs for the reasons)", red=True)
        if controller.gated:
            reporter.write_line("thresholds or a baseline are declared, so this run fails", red=True)
        controller.write_cautions(reporter)
        _write(reporter, ((line, "") for line in skip_lines(controller.run, each=False)) if controller.run else ())
    if controller.trouble:
        reporter.write_line(controller.trouble, red=True)
    if controller.run is not None:
        if not controller.nothing_measured and controller.run.items:
            reporter.write_sep("=", "audiobench")
            verbosity = reporter.config.get_verbosity()
            _write(reporter, summary_lines(controller.run, reporter._tw.fullwidth, max(0, verbosity)))
        reporter.write_line(f"report: {_from_here(controller.place.folder / 'report.html')}")
        _write(reporter, controller.baseline_lines)
        _write(reporter, verdict_lines(controller.run, reporter._tw.fullwidth))
    for line in controller.exported:
        reporter.write_line(no_command(line))
    for line in controller.unexported:
        reporter.write_line(no_command(line), red=True)
    _annotate(reporter, controller)


def _from_here(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _annotate(reporter: Any, controller: Controller) -> None:
    """Write commands for a GitHub runner (it reads pytest's terminal), to show failures next to their tests' lines."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    from pytest_audiobench.report import github_annotations

    root = reporter.config.rootpath
    tests = github_annotations.places(controller.locations, root, Path(os.environ.get("GITHUB_WORKSPACE") or root))
    run = controller.run
    for command in github_annotations.commands(run, tests) if run else github_annotations.trouble(controller.trouble):
        reporter.write_line(command)


def _write(reporter: Any, lines: Iterable[Line]) -> None:
    for text, style in lines:
        reporter.write_line(no_command(text), **({style: True} if style else {}))


def _write_missing_records(controller: Controller, stopped: bool) -> None:
    """Write a record for every eval that left none: skipped, failed or lost; a note counts those not begun."""
    recorded = {part.item.nodeid for part in whole_parts(controller.place.parts)}
    for expected in controller.expected.values():
        if expected.nodeid in recorded or (stopped and expected.nodeid not in controller.outcomes):
            continue
        outcome = controller.outcomes.get(expected.nodeid, "lost")
        record = ItemRecord(
            index=expected.number,
            nodeid=expected.nodeid,
            eval=expected.eval,
            suite=expected.suite,
            model=expected.alias,
            outcome="skipped" if outcome == "skipped" else "lost" if outcome == "lost" else "failed",
            message=message(controller.messages.get(expected.nodeid, "collected and never reported")),
        )
        write_part(controller.place.parts, record, Lines())


def _report_lost(session: pytest.Session, expected: Expected) -> None:
    text = (
        f"{expected.eval} ({expected.alias}) was collected and never reported: its worker died or was stopped. "
        "What it had answered is kept; run again to go on."
    )
    report = pytest.TestReport(
        nodeid=expected.nodeid,
        location=(expected.nodeid.partition("::")[0], None, expected.nodeid.partition("::")[2]),
        keywords={},
        outcome="failed",
        longrepr=text,
        when="call",
        user_properties=[(INSTRUMENT, "failed")],
        sections=(),
        duration=0.0,
        start=time.time(),
        stop=time.time(),
    )
    session.config.hook.pytest_runtest_logreport(report=report)


def _heading(
    session: pytest.Session, controller: Controller, run_notes: Sequence[str], unmeasured: Sequence[str]
) -> RunRecord:
    """What the run knows of itself, before its evals are put into it."""
    options = read_options(session.config)
    return RunRecord(
        run=controller.place.run,
        started=iso(controller.place.started),
        finished=iso(time.time()),
        command=command_of(session.config),
        commit=controller.commit,
        exit_status=int(session.exitstatus),
        limit=options.limit,
        epochs=options.epochs,
        models=controller.place.models(),
        runtime=runtime(),
        notes=[*unmeasured, *run_notes],
        unmeasured=unmeasured,
        unavailable=sorted({name for names in controller.unavailable.values() for name in names}),
        hashes=pooled_hashes(()),
        baseline=controller.collected.baseline,
        shard=shard_of(options),
    )
