"""The keys under which this plugin keeps its state on pytest's objects, and in reports. Light: every run imports it.

Values are Any here, since naming their classes would import their modules in a circle.
"""

from __future__ import annotations

from typing import Any

import pytest

SESSION: pytest.StashKey[Any] = pytest.StashKey()
"""On config: the ``EvalSession`` that the evals of this process share. Present once an eval was collected."""

CONTROLLER: pytest.StashKey[Any] = pytest.StashKey()
"""On config, never in a worker: the ``Controller``. Present once an eval was collected, or with xdist."""

RUNNING = "audiobench-controller"
"""The name under which the controller is registered as a plugin, once an eval is to run."""

INDEX: pytest.StashKey[Any] = pytest.StashKey()
"""On config: the ``DeclarationIndex``. Present once a file without code was collected."""

CHOSEN: pytest.StashKey[list[str]] = pytest.StashKey()
"""On config: the devices of ``--ab-devices`` in a run without workers."""

RUN_FILE: pytest.StashKey[list[str]] = pytest.StashKey()
"""On config: lines about the run file of ``--ab-config``, the first of which says what it gave."""

DESELECTED: pytest.StashKey[list[pytest.Item]] = pytest.StashKey()
"""On config: what was deselected, by pytest's options."""

THRESHOLDS: pytest.StashKey[tuple[int, int, int]] = pytest.StashKey()
"""On config: those of the garbage collector before evals were collected."""

EVALUATOR: pytest.StashKey[Any] = pytest.StashKey()
"""On an item: its ``Evaluator``, once the fixture was set up."""

REQUIRED = "eval.required"
"""The property of a test's report that says how many thresholds its code has declared so far."""

INSTRUMENT = "eval.instrument"
"""The property of a failed test that fails for nothing but what could not be compared."""

LOOKED_UP = "eval.data"
"""The property of a test's report that names a folder of ``--ab-data=NAME=FOLDER`` that its evaluations looked up."""

OTHER_ENCODER = "eval.encoder"
"""The property of a test's report that names a data set whose figures in the baseline are by another text encoder."""

UNAVAILABLE = "eval.unavailable"
"""The property of a test's report that names a data set of its evaluations that is not on this machine."""
