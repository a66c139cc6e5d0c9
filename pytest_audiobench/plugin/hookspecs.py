"""Hooks that a conftest.py or another plugin may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_audiobench.evaluation.result import Result
    from pytest_audiobench.metrics.value import Metric
    from pytest_audiobench.plugin.registration import Registration


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
    """An eval has its result, before the test body sees it and before thresholds are checked.

    Called in the process that runs the test. The result is not to be changed.
    """


def pytest_audiobench_update_run(config: pytest.Config, run: dict[str, Any]) -> None:
    """Amend the run record in place before it is written: add what a reader should know to ``run["notes"]``.

    Called once, in the controlling process, at the end of a run. What is added must be plain JSON values.
    """
