"""Hooks for a conftest.py or another plugin, and the object that the first is given. Light: every run imports it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    from pytest_audiobench.records.run import RunRecord


def pytest_audiobench_register(registration: Registration) -> None:
    """Add kinds of models, families of transformers models, data sets and metrics, before any eval runs.

    Called once in every process that runs evals, after collection and before the first request::

        def pytest_audiobench_register(registration):
            registration.model("lab", LabModel)              # --ab-model lab:checkpoint-7
            registration.family("lab_audio", Family(window_s=20.0))   # hf: checkpoints of that model_type
            registration.dataset("lab-calls", lab_calls())   # evaluate("lab-calls", …)
            registration.metric(MetricKind("latency", "lower", "s", estimate_latency))
    """


def pytest_audiobench_metric_recorded(item: pytest.Item, metric: Metric) -> None:
    """A test recorded a number of its own with ``evaluate.record``; called in the process that runs the test."""


def pytest_audiobench_result_ready(item: pytest.Item, result: Result) -> None:
    """An eval has its result (not to be changed), before the test's body sees it and thresholds are checked."""


def pytest_audiobench_update_run(config: pytest.Config, run: RunRecord) -> None:
    """Read the run's record once, in the controller, before it is written, and add to it.

    ``run.notes`` takes sentences that the summary shows; ``run.extra`` JSON values under names of their own::

        def pytest_audiobench_update_run(config, run):
            run.extra["checkpoint"] = {"step": 12_000, "accuracy": run.suites[0].metrics[0].value}
    """


class Registration:
    """Adds kinds of models, families of ``hf:`` models, data sets by name, and metrics."""

    def __init__(self) -> None:
        from pytest_audiobench.models.registry import KINDS

        self.datasets: dict[str, Dataset] = {}
        self.kinds: dict[str, str | Factory] = dict(KINDS)

    def model(self, kind: str, factory: Callable[[str, Mapping[str, str]], Model]) -> None:
        """Make ``--ab-model KIND:TARGET,KEY=VALUE`` call ``factory(target, options)``."""
        if kind in self.kinds:
            from pytest_audiobench.errors import UsageError

            raise UsageError(f"the kind of model {kind!r} is there already: register yours under another name")
        self.kinds[kind] = factory

    def family(self, name: str, family: Family) -> None:
        """Make ``hf:`` load checkpoints of the model type or architecture ``name`` as ``family`` says."""
        from pytest_audiobench.models.hf.families import register_family

        register_family(name, family)

    def dataset(self, name: str, dataset: Dataset) -> None:
        """Make ``evaluate("NAME", …)`` and ``dataset = "NAME"`` in a declarative file mean ``dataset``."""
        if name in self.datasets and self.datasets[name] is not dataset:
            from pytest_audiobench.errors import UsageError

            raise UsageError(f"two data sets are registered as {name!r}: {self.datasets[name]!r} and {dataset!r}")
        self.datasets[name] = dataset

    def metric(self, kind: MetricKind) -> None:
        """Make ``kind.name`` a metric that thresholds may name and scorers may yield."""
        from pytest_audiobench.metrics.registry import register

        register(kind)


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
