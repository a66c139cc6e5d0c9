"""The ``evaluate`` that a test hands to a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pytest_audiobench.datasets.dataset import Dataset
    from pytest_audiobench.evaluation.model_handle import ModelHandle
    from pytest_audiobench.evaluation.rerun import RerunVariant
    from pytest_audiobench.evaluation.result import Result
    from pytest_audiobench.evaluation.scoring import ScoredSample
    from pytest_audiobench.metrics.value import Metric
    from pytest_audiobench.models.model import Hearing
    from pytest_audiobench.protocols import protocol
    from pytest_audiobench.records.run import NoiseMeasurement


class Evaluator(Protocol):
    """What studies use of :class:`pytest_audiobench.plugin.evaluate_fixture.Evaluator`, which documents each part."""

    @property
    def model(self) -> ModelHandle: ...

    @property
    def results(self) -> list[Result]: ...

    def __call__(
        self,
        dataset: Dataset,
        protocol: protocol.Protocol,
        *,
        name: str | None = None,
        samples: int | None = None,
        control: bool = False,
    ) -> Result: ...

    def record(self, name: str, value: Any, *, group: Mapping[str, str] | None = None) -> Metric: ...

    def require(self, *thresholds: str) -> None: ...

    def note_hearing(self, dataset: Dataset, hearing: Hearing) -> None: ...

    def note_noise(self, noise: NoiseMeasurement) -> None: ...

    def ask_again(
        self, result: Result, perturbation: RerunVariant, options: Mapping[str, str] | None = None
    ) -> Sequence[Sequence[ScoredSample]]: ...
