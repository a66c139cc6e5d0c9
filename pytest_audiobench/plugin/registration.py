"""What ``pytest_audiobench_register`` is given: the places where strangers may add things."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics import registry as metrics
from pytest_audiobench.metrics.metric import MetricKind
from pytest_audiobench.models import registry as models
from pytest_audiobench.models.model import Model

if TYPE_CHECKING:
    from pytest_audiobench.models.hf.families import Family


class Registration:
    """Adds kinds of models, families of ``hf:`` models, data sets by name, and metrics."""

    def __init__(self) -> None:
        self.datasets: dict[str, Dataset] = {}
        self.kinds: dict[str, str | models.Factory] = dict(models.KINDS)

    def model(self, kind: str, factory: Callable[[str, Mapping[str, str]], Model]) -> None:
        """Make ``--ab-model KIND:TARGET,KEY=VALUE`` call ``factory(target, options)``."""
        if kind in self.kinds:
            raise UsageError(f"the kind of model {kind!r} is there already: register yours under another name")
        self.kinds[kind] = factory

    def family(self, name: str, family: Family) -> None:
        """Make ``hf:`` load checkpoints of the model type or architecture ``name`` as ``family`` says."""
        from pytest_audiobench.models.hf.families import register_family

        register_family(name, family)

    def dataset(self, name: str, dataset: Dataset) -> None:
        """Make ``evaluate("NAME", …)`` and ``dataset = "NAME"`` in a declarative file mean ``dataset``."""
        if name in self.datasets and self.datasets[name] is not dataset:
            raise UsageError(f"two data sets are registered as {name!r}: {self.datasets[name]!r} and {dataset!r}")
        self.datasets[name] = dataset

    def metric(self, kind: MetricKind) -> None:
        """Make ``kind.name`` a metric that thresholds may name and scorers may yield."""
        metrics.register(kind)
