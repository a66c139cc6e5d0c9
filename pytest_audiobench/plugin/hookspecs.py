"""Hooks for a conftest.py or another plugin, and the object that the first is given. Light: every run imports it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_audiobench.datasets.dataset import Dataset
    from pytest_audiobench.evaluation.result import Result
    from pytest_audiobench.metrics.metric import MetricKind
    from pytest_audiobench.metrics.value import Metric
    from pytest_audiobench.models.hf.families import Family
    from pytest_audiobench.models.model import Model
    from pytest_audiobench.models.registry import Factory
    from pytest_audiobench.protocols.protocol import Protocol, Scorer
    from pytest_audiobench.records.run import RunRecord


def pytest_audiobench_register(registration: Registration) -> None:
    """Add models, protocols, scorers, metrics and data sets, before any eval runs.

    Called in every process that runs evals, after collection and before the first request (and while files without
    code are collected, for a protocol that only a conftest.py knows)::

        def pytest_audiobench_register(registration):
            registration.model("lab", LabModel)              # --ab-model=lab:checkpoint-7
            registration.family("lab_audio", Family(window_s=20.0))   # hf: checkpoints of that model_type
            registration.dataset("lab-calls", lab_calls())   # evaluate("lab-calls", …)
            registration.protocol(call_reason, "Why somebody calls")    # protocol("call_reason")
            registration.scorer("transcription", lab_wer)    # transcription("lab-wer"), --ab-scorer=lab-wer
            registration.metric(MetricKind("latency", "lower", "s", estimate_latency))
    """


def pytest_audiobench_metric_recorded(item: pytest.Item, metric: Metric) -> None:
    """A test recorded its own number with ``evaluate.record``; called in the process that runs the test."""


def pytest_audiobench_result_ready(item: pytest.Item, result: Result) -> None:
    """An eval has its result (not to be changed), before the test's body sees it and thresholds are checked."""


def pytest_audiobench_update_run(config: pytest.Config, run: RunRecord) -> None:
    """Read the run's record once, in the controller, before it is written, and add to it.

    ``run.notes`` takes sentences that the summary shows; ``run.extra`` JSON values under names of their own::

        def pytest_audiobench_update_run(config, run):
            run.extra["checkpoint"] = {"step": 12_000, "accuracy": run.suites[0].metrics[0].value}
    """


class Registration:
    """What adds models, protocols, scorers, metrics and data sets to those of this package, each under a name."""

    def __init__(self, *, installed: bool = False) -> None:
        from pytest_audiobench.models.registry import KINDS

        self._datasets: dict[str, Dataset | Callable[..., Dataset]] = {}
        # What is installed is there for every run of this process; what a conftest.py adds, for its own.
        self.kinds: dict[str, str | Factory] = KINDS if installed else dict(KINDS)

    def model(self, kind: str, factory: Callable[[str, Mapping[str, str]], Model]) -> None:
        """Make ``--ab-model=KIND:TARGET,KEY=VALUE`` call ``factory(target, options)``.

        ``factory`` must be cheap and raises UsageError for options that it does not know. Raises UsageError for a kind
        that already exists.
        """
        if kind in self.kinds:
            from pytest_audiobench.errors import UsageError

            raise UsageError(f"the kind of model {kind!r} already exists: register yours under another name")
        self.kinds[kind] = factory

    def family(self, name: str, family: Family) -> None:
        """Make ``hf:`` load checkpoints of the model type or architecture ``name`` as ``family`` says.

        It takes precedence over a family of this package.
        """
        from pytest_audiobench.models.hf.families import register_family

        register_family(name, family)

    def dataset(self, name: str, dataset: Dataset | Callable[..., Dataset]) -> None:
        """Make ``evaluate("NAME", …)`` and ``dataset = "NAME"`` in a declarative file mean ``dataset``.

        A function that makes a data set is called by ``dataset("NAME", …)`` with what stands behind the name. Raises
        UsageError for a name of this package, and for one that is given twice.
        """
        if self._datasets.setdefault(name, dataset) is not dataset:
            from pytest_audiobench.errors import UsageError

            raise UsageError(f"two data sets are registered as {name!r}: {self._datasets[name]!r} and {dataset!r}")
        from pytest_audiobench.datasets.catalogue import register_dataset

        register_dataset(name, dataset)

    def metric(self, kind: MetricKind) -> None:
        """Make ``kind.name`` a metric that thresholds may name and scorers may yield.

        Raises UsageError for a name that no threshold could hold, and for one that means another metric.
        """
        from pytest_audiobench.metrics.registry import register

        register(kind)

    def protocol(self, family: Callable[..., Protocol], about: str) -> None:
        """Make ``protocol("NAME", …)`` and ``protocol = "NAME"`` in a declarative file call ``family``.

        NAME is the function's own and that of the Protocol that it returns; ``about`` says in some words what is asked
        for. It takes scorers by name and options by keyword: those that are texts, whole numbers, booleans or lists of
        texts by their annotations can be written into a declarative file. Raises UsageError for a name that is there.
        """
        from pytest_audiobench.protocols.catalogue import register_family

        register_family(family, about)

    def scorer(self, family: str, scorer: Scorer) -> None:
        """Make ``scorer`` one of the protocol ``family``'s, of this package or of another.

        What it reads is what that protocol's stages answer, by their names. Its signature stands with every number;
        ``audiobench describe`` shows the docstring of its ``parse`` as its rule. Raises UsageError for a name that
        means another scorer of the family; a scorer of this package keeps its name.
        """
        from pytest_audiobench.protocols.protocol import register_scorer

        register_scorer(family, scorer)


@dataclass(frozen=True)
class Extension:
    """What a package's entry point in the group ``pytest_audiobench.extensions`` names.

    ``contract`` is the version of ``pytest_audiobench.ext`` that it is written for, a number: one for another version
    is left out, and a name that is not there is an error. ``register`` is called once in a process,
    when a run or a command asks for a name that this package does not have.
    """

    contract: int
    register: Callable[[Registration], None]

    def load(self) -> None:
        """Let it register what it adds."""
        self.register(Registration(installed=True))


_REGISTRATION: pytest.StashKey[Registration] = pytest.StashKey()


def registration_of(config: pytest.Config) -> Registration:
    """What conftest.py files and plugins registered in this process, asked for once they are all loaded."""
    if _REGISTRATION not in config.stash:
        config.stash[_REGISTRATION] = call_register_hooks(config)
    return config.stash[_REGISTRATION]


def call_register_hooks(config: pytest.Config) -> Registration:
    """What those register that are loaded by now."""
    registration = Registration()
    config.hook.pytest_audiobench_register(registration=registration)
    return registration
