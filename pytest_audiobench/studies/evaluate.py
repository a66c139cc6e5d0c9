"""The ``evaluate`` that a test gets: what a test writer needs, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pytest_audiobench.models.model import Limits

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
    """What is behind an ``evaluate``: for studies and for the plugin, which has it."""

    asked_whole: str
    """Why its evaluations are not stopped early; "" where they may be."""

    @property
    def handle(self) -> ModelHandle: ...

    @property
    def style(self) -> Literal["plain", "af3", "qwen", "qwen2-audio", "salmonn"]: ...

    @property
    def results(self) -> list[Result]: ...

    def evaluate(
        self,
        dataset: Dataset | str,
        protocol: protocol.Protocol,
        name: str | None,
        samples: int | None,
        control: bool,
        scorers: str | Sequence[str] | None,
    ) -> Result: ...

    def record(self, name: str, value: Any, direction: Literal["higher", "lower"], unit: str, group: Any) -> Metric: ...

    def require(self, thresholds: Sequence[str]) -> None: ...

    def note_hearing(self, dataset: Dataset, hearing: Hearing) -> None: ...

    def note_noise(self, noise: NoiseMeasurement) -> None: ...

    def ask_again(
        self, result: Result, perturbation: RerunVariant, options: Mapping[str, str] | None = None
    ) -> Sequence[Sequence[ScoredSample]]: ...


class ModelFacts:
    """What a test may ask of the model of its run."""

    def __init__(self, handle: ModelHandle) -> None:
        self._handle = handle

    @property
    def name(self) -> str:
        """The model's alias in this run."""
        return self._handle.alias

    @property
    def spec(self) -> str:
        """What ``--ab-model`` named, such as ``hf:checkpoints/step-9``."""
        return self._handle.spec

    @property
    def device(self) -> str:
        """Where it runs, such as ``cuda:0``, ``cpu`` or a server's address."""
        return self._handle.device

    @property
    def limits(self) -> Limits:
        """Rate in Hz, window in seconds, the sizes of batches, and how many clips one request may hold."""
        return self._handle.limits

    @property
    def listens(self) -> bool:
        """Whether it is played audio: chance and a replay are not."""
        return self._handle.listens


class Evaluate:
    """``evaluate(dataset, protocol)`` asks the model of the run and returns the :class:`Result`.

    A test may evaluate several times when it names each: ``evaluate(…, name="noisy")``. Thresholds that are
    declared for the eval are checked when the test's body returns, whether or not it asserts anything.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def __call__(
        self,
        dataset: Dataset | str,
        protocol: protocol.Protocol,
        *,
        name: str | None = None,
        samples: int | None = None,
        control: bool = False,
        scorers: str | Sequence[str] | None = None,
    ) -> Result:
        """Evaluate the model on ``dataset`` (or the registered one of that name) by ``protocol``.

        With ``samples`` only the first so many are taken, in the order of their ids' hashes (and up to the end of a
        window where batches are planned): the same on every machine, with answers shared with evals of the whole. A
        ``control`` only serves a comparison: no threshold covers it unless one names it (``eval = "test:name"``), and
        it is not pooled. ``scorers`` replace the protocol's own, the first as the headline: "all" takes every
        one that this machine has the parts for, with a warning of the others; "style" those that belong to the model's
        :attr:`style` and the data set, for protocols that ask for reasoning; ``--ab-scorer`` takes precedence.

        Raises UsageError for a second evaluation without its own name, for sample ids that are not unique and for
        scorers that cannot be used; the test is skipped where the data is not on this machine (DataNotFound) or the
        model cannot do what is asked, and fails where a baseline is of another task.
        """
        return self._evaluator.evaluate(dataset, protocol, name, samples, control, scorers)

    @property
    def model(self) -> ModelFacts:
        """The model that is evaluated: its name, spec, device, limits, and whether it listens."""
        return ModelFacts(self._evaluator.handle)

    @property
    def results(self) -> list[Result]:
        """The results of this test so far, in order."""
        return self._evaluator.results

    @property
    def style(self) -> Literal["plain", "af3", "qwen", "qwen2-audio", "salmonn"]:
        """How the model reasons: by its spec's ``style``, the replayed run or its name. UsageError for no style."""
        return self._evaluator.style

    def record(
        self,
        name: str,
        value: Any,
        *,
        direction: Literal["higher", "lower"] = "higher",
        unit: str = "",
        group: Mapping[str, str] | None = None,
    ) -> Metric:
        """Record a number of the test's own with the eval's metrics; thresholds may name it once it is registered.

        ``group`` says for which part it holds, such as ``{"perturbation": "batch-3"}``. A :class:`Metric` (such as
        ``result.gain_over(silent)``) keeps its own interval, n, unit, direction and method. Raises UsageError for a
        value that is not a number. NaN and infinity are kept as "no number", on which every threshold fails.
        """
        return self._evaluator.record(name, value, direction, unit, group)

    def require(self, *thresholds: str) -> None:
        """Declare thresholds, such as ``"accuracy[hop=multi] >= 0.3"``. Raises UsageError for an unreadable one."""
        self._evaluator.require(thresholds)

    def require_audio(self) -> None:
        """Let the eval fail where the audio is not shown to add anything: ``audio_reliance.lower > 0``.

        That holds for the answers of the last result that are read without the audio. Where fewer than 20 and less than
        half are, of a model most of whose answers were read with the audio, a refusal is all that there is: nothing is
        required then, and the record says so. A model whose answers cannot be read with the audio either fails.
        """
        from pytest_audiobench.studies.faithfulness import require_audio

        require_audio(self._evaluator)


def evaluator_of(evaluate: Evaluate) -> Evaluator:
    """What is behind ``evaluate``, for studies."""
    return evaluate._evaluator
