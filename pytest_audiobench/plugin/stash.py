"""Where this plugin keeps its state on pytest's objects. Light: imported by every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_audiobench.plugin.controller import Controller
    from pytest_audiobench.plugin.eval_items import EvalItem
    from pytest_audiobench.plugin.evaluator import Evaluator
    from pytest_audiobench.plugin.session import EvalSession

SESSION: pytest.StashKey[EvalSession] = pytest.StashKey()
"""On config: what the evals of this process share. Present once an eval was collected."""

CONTROLLER: pytest.StashKey[Controller] = pytest.StashKey()
"""On config, never in a worker: what becomes of the evals. Present once an eval was collected, or with xdist."""

ITEM: pytest.StashKey[EvalItem] = pytest.StashKey()
"""On an item: its name as an eval."""

EVALUATOR: pytest.StashKey[Evaluator] = pytest.StashKey()
"""On an item: its ``evaluate``, once the fixture was set up."""

REQUIRED = "eval.required"
"""The property of a test's report that says how many thresholds its code has declared so far."""

INSTRUMENT = "eval.instrument"
"""The property of a failed test that fails for nothing but what could not be compared."""
