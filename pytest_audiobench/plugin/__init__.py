"""The pytest plugin. Imports the standard library and pytest only: a suite without evals pays for no more."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from pytest_audiobench.plugin import options
from pytest_audiobench.plugin.eval_items import ITEM, MARKER, PERTURBATION, is_eval, marked
from pytest_audiobench.plugin.stash import (
    CONTROLLER,
    DESELECTED,
    EVALUATOR,
    INDEX,
    INSTRUMENT,
    RUN_FILE,
    RUNNING,
    SESSION,
    THRESHOLDS,
)

if TYPE_CHECKING:
    from pytest_audiobench.audio.audio_fixture import AudioFixture
    from pytest_audiobench.plugin.evaluate_fixture import Evaluator
    from pytest_audiobench.plugin.model_fixture import ModelFixture
    from pytest_audiobench.plugin.session import EvalSession
    from pytest_audiobench.studies.evaluate import Evaluate


_NO_ARGUMENT = "ask for `evaluate` as an argument of the test, not by getfixturevalue"
_Wrapper: TypeAlias = "Generator[None, pytest.TestReport, pytest.TestReport]"


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from pytest_audiobench.plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "audiobench(suite=NAME, gpu=True, perturbations=[NAME, …]): name the suite that an eval belongs to; skip it "
        "where there is no GPU; ask it under these perturbations too, as --ab-perturbations does",
    )
    config.addinivalue_line(
        "markers",
        "study: an eval of a grid that is too large to run unless it is asked for: by -m study, by its file or test in "
        "-k or as a path, or by --ab-baseline",
    )
    config.addinivalue_line(
        "markers",
        f"{options.QUICK}: every declared benchmark; -m {options.QUICK} asks {options.QUICK_SAMPLES} samples of each, "
        "unless --ab-limit says otherwise",
    )
    arguments = (*map(str, config.invocation_params.args), *os.environ.get("PYTEST_ADDOPTS", "").split())
    if any(argument.startswith("--ab-") for argument in arguments):
        from pytest_audiobench.plugin.root_folder import check_root

        check_root(config)
    options.check_names(config)
    config.stash[RUN_FILE] = options.apply_run_file(config)
    if not hasattr(config, "workerinput"):
        options.check_update(config)
    given = options.read_options(config)
    if perturbations := options.perturbations_of(config):
        from pytest_audiobench.plugin.error_mapping import user_errors

        with user_errors():
            from pytest_audiobench.datasets.perturbations.catalogue import with_clean

            with_clean(perturbations)
    named = given.models != (options.DEFAULT_MODEL,) or given.judges
    placed = hasattr(config, "workerinput") or given.devices or given.ray
    if named or placed:
        from pytest_audiobench.plugin import error_mapping, workers

        with error_mapping.user_errors():
            if named:
                from pytest_audiobench.models.spec import parse_specs

                parse_specs(given.models)
                parse_specs(given.judges)
            if placed:
                workers.place_on_device(config)


def pytest_report_header(config: pytest.Config) -> list[str]:
    return [f"run file {line}" for line in config.stash.get(RUN_FILE, [])]


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    from pytest_audiobench.plugin import controller

    controller.configure_node(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    from pytest_audiobench.plugin import controller

    controller.node_collected(node.config)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    if trouble := getattr(node, "workeroutput", {}).get(INSTRUMENT):
        from pytest_audiobench.report.verdict import INSTRUMENT_FAILED

        pytest.exit(trouble, INSTRUMENT_FAILED)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not file_path.name.endswith(".audiobench.toml"):
        return None
    from pytest_audiobench.plugin.declarative import DeclarativeFile, register_words

    _collect_garbage_seldom(parent.config)
    # Not by its file's name: -k audiobench and -k toml would select every file's evals.
    name = file_path.name.split(".")[0]
    register_words(parent.config, [name])
    return DeclarativeFile.from_parent(parent, path=file_path, name=name)


def _has_grid(test: pytest.Item) -> bool:
    """Whether a file makes an eval of each of its perturbations: no other is asked in addition."""
    cases = (case for mark in test.iter_markers("parametrize") if mark.args[:1] == ("case",) for case in mark.args[1])
    values = (getattr(case, "values", None) for case in cases)
    return any(
        isinstance(each, tuple) and each and isinstance(each[0], dict) and "perturbation" in each[0] for each in values
    )


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "_audiobench_model" not in metafunc.fixturenames:
        return
    _collect_garbage_seldom(metafunc.config)
    names = options.perturbations_of(metafunc.config, metafunc.definition)
    if names and not _has_grid(metafunc.definition):
        from pytest_audiobench.plugin.error_mapping import user_errors

        with user_errors():
            from pytest_audiobench.datasets.perturbations.catalogue import with_clean

            names = with_clean(names)
        # The eval as it is keeps its name, by which baselines and thresholds know it.
        ids = [pytest.HIDDEN_PARAM, *names[1:]]
        metafunc.parametrize(PERTURBATION, names, ids=ids, indirect=True)
    models = options.models_of(metafunc.config)
    if len(models) > 1 and options.gate_of(metafunc.config) is None:
        from pytest_audiobench.plugin.error_mapping import user_errors

        with user_errors():
            from pytest_audiobench.models.spec import parse_specs

            aliases = [spec.alias for spec in parse_specs(models)]
        metafunc.parametrize("_audiobench_model", aliases, ids=aliases, indirect=True, scope="session")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    if not any(map(is_eval, items)):
        return (yield)
    from pytest_audiobench.plugin import collection

    collection.check(session, config, items)
    with collection.marker_is_no_keyword(config, items):
        return (yield)


def pytest_deselected(items: list[pytest.Item]) -> None:
    if items:
        items[0].config.stash.setdefault(DESELECTED, []).extend(items)


@pytest.hookimpl(tryfirst=True)  # before an xdist worker tells the controller, which then reads what we announce
def pytest_collection_finish(session: pytest.Session) -> None:
    if INDEX in session.config.stash:
        session.config.stash[INDEX].save()
    has_evals = SESSION in session.config.stash
    if has_evals or any(session.config.getoption(option) is not None for option in options.ASKING):
        from pytest_audiobench.plugin import collection

        collection.finish(session, has_evals)
    if before := session.config.stash.get(THRESHOLDS, None):
        # Modules and tests last to the end: each walk over them takes as long as many an eval. Those of an earlier
        # session of this process do not.
        if _FROZEN:
            gc.unfreeze()
            gc.collect()
        _FROZEN.append(session.name)
        gc.freeze()
        gc.set_threshold(*before)


_FROZEN: list[str] = []
"""The sessions of this process whose tests were set apart as lasting."""


def _collect_garbage_seldom(config: pytest.Config) -> None:
    """While evals are collected, which makes much and leaves no garbage."""
    if THRESHOLDS not in config.stash:
        config.stash[THRESHOLDS] = gc.get_threshold()
        gc.set_threshold(50_000, 50, 100)


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    from pytest_audiobench.plugin.stash import CONTROLLER

    if (controller := config.stash.get(CONTROLLER, None)) is None:
        return []
    return list(controller.on_terminal(controller.collected.plan, config.pluginmanager.get_plugin("terminalreporter")))


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers(MARKER):
        if marker.args or set(marker.kwargs) - {"suite", "gpu", "perturbations"}:
            takes = "takes suite=NAME, gpu=True and perturbations=[NAME, …], nothing else"
            raise pytest.UsageError(f"{item.nodeid}: the audiobench marker {takes}")
    if marked(item, "gpu"):
        from pytest_audiobench.plugin.workers import gpu_missing

        if reason := gpu_missing():
            pytest.skip(reason)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    evaluator: Evaluator | None = item.stash.get(EVALUATOR, None)
    if evaluator is None:
        result = yield
        if EVALUATOR in item.stash:  # refused, and the test continued
            pytest.fail(_NO_ARGUMENT, pytrace=False)
        return result
    with evaluator.settled():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> _Wrapper:
    report = yield
    evaluator: Evaluator | None = item.stash.get(EVALUATOR, None)
    if evaluator is not None and call.when == "call" and report.failed:
        evaluator.describe(report)
    if evaluator is not None and call.when == "setup":
        evaluator.setup_outcome = report.outcome
    if call.excinfo is not None and (report.failed or hasattr(report, "wasxfail")):
        settled = evaluator is not None and call.when == "call" and evaluator.settled_at_end
        failure = evaluator if settled else call.excinfo.value
        if getattr(failure, "of_instrument", False):
            if not report.failed:
                # What was expected (xfail) is that the model fails, and it was not asked.
                report.outcome = "failed"
                del report.wasxfail
            # On this report alone: a test's own properties are those of its teardown, and of another try, too.
            report.user_properties.append((INSTRUMENT, "failed"))
    return report


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    if (module := sys.modules.get("pytest_audiobench.metrics.value")) is None:
        return None
    for side in (left, right):
        if isinstance(side, module.Metric):
            return [f"{left!r} {op} {right!r}", *side.explain()]
    return None


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if controller := session.config.pluginmanager.get_plugin(RUNNING):
        from pytest_audiobench.plugin import run_end

        run_end.finish(session, controller)
    elif (controller := session.config.stash.get(CONTROLLER, None)) and controller.internal_errors.seen:
        # No worker has said that it runs an eval; where they break xdist may end in 0.
        session.exitstatus = session.exitstatus or pytest.ExitCode.INTERNAL_ERROR


@pytest.hookimpl(tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if controller := config.pluginmanager.get_plugin(RUNNING):
        from pytest_audiobench.plugin import run_end

        run_end.summarise(terminalreporter, controller)
    elif CONTROLLER in config.stash:
        config.stash[CONTROLLER].write_cautions(terminalreporter)


def pytest_unconfigure(config: pytest.Config) -> None:
    if SESSION in config.stash:
        config.stash[SESSION].close()
    if CONTROLLER in config.stash:
        config.stash[CONTROLLER].close()


@pytest.fixture(scope="session")
def _audiobench_session(pytestconfig: pytest.Config) -> EvalSession:
    from pytest_audiobench.plugin import collection

    return collection.session_of(pytestconfig)


@pytest.fixture(scope="session")
def _audiobench_model(request: pytest.FixtureRequest) -> str | None:
    return getattr(request, "param", None)


@pytest.fixture
def _audiobench_perturbation(request: pytest.FixtureRequest) -> str | None:
    return getattr(request, "param", None)


@pytest.fixture
def _audiobench_evaluator(
    request: pytest.FixtureRequest,
    _audiobench_session: EvalSession,
    _audiobench_model: str | None,
    _audiobench_perturbation: str | None,
) -> Iterator[Evaluator]:
    from pytest_audiobench.plugin.error_mapping import test_errors
    from pytest_audiobench.plugin.evaluate_fixture import Evaluator

    item: pytest.Item = request.node
    with test_errors():
        handle = _audiobench_session.handle(_audiobench_model)
    if ITEM not in item.stash:
        item.stash[EVALUATOR] = None
        pytest.fail(_NO_ARGUMENT, pytrace=False)
    shared, eval_item = _audiobench_session, item.stash[ITEM]
    if isinstance(item, pytest.Function) and getattr(item.function, "is_hypothesis_test", False):
        from pytest_audiobench.plugin.drawn_evaluations import drawn_evaluations

        with drawn_evaluations(shared, item, eval_item, handle) as item.stash[EVALUATOR]:
            yield item.stash[EVALUATOR]
    else:
        item.stash[EVALUATOR] = evaluator = Evaluator(shared, item, eval_item, handle, _audiobench_perturbation)
        yield evaluator
        evaluator.end()
    # Items live as long as the session; thousands of answers need not.
    del item.stash[EVALUATOR]


@pytest.fixture
def evaluate(_audiobench_evaluator: Evaluator) -> Evaluate:
    """Measure the model of this run: ``evaluate(dataset, protocol)``; thresholds are checked at the test's end."""
    from pytest_audiobench.studies.evaluate import Evaluate

    return Evaluate(_audiobench_evaluator)


@pytest.fixture
def model(_audiobench_session: EvalSession, _audiobench_model: str | None) -> ModelFixture:
    """The model of this run, for a plain test: ``model.ask(clip, "What is heard?").text``; its device and limits."""
    from pytest_audiobench.plugin.error_mapping import test_errors
    from pytest_audiobench.plugin.model_fixture import ModelFixture

    with test_errors():
        return ModelFixture(_audiobench_session, _audiobench_session.handle(_audiobench_model))


@pytest.fixture
def audio(request: pytest.FixtureRequest) -> Iterator[AudioFixture]:
    """Clips for one's own test: load (paths are read from the test file's folder), synthesise, edit."""
    from pytest_audiobench.audio.audio_fixture import AudioFixture
    from pytest_audiobench.audio.index import AudioIndex

    with AudioIndex(None) as index:
        yield AudioFixture(request.path.parent, index)
