"""The records of a run, as plain values: one per item, one per run, one line per sample.

Everything here is JSON-ready: no NaN (a value that is no number is None, and ``method`` says why), no
paths of this machine, no times inside what is hashed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from pytest_audiobench.datasets.perturbations.perturbation import Harder, is_dose

SCHEMA = "audiobench.run/1"

ALARM = "alarm:"
"""Begins a warning of an item that no reader may miss: reports show it where the verdict stands."""

Outcome: TypeAlias = Literal["passed", "failed", "skipped", "lost"]
RegressionStatus: TypeAlias = Literal["pass", "regressed", "inconclusive", "not_comparable"]


@dataclass(frozen=True)
class MetricRecord:
    """One number with its interval."""

    name: str
    value: float | None
    lower: float | None
    upper: float | None
    n: int
    unit: str
    direction: Literal["higher", "lower"]
    method: str
    scorer: str | None = None
    """None for a number that a test recorded itself."""
    signature: str | None = None
    group: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class VerdictRecord:
    """A declared threshold and what became of it."""

    status: Literal["pass", "fail", "not_comparable"]
    threshold: str
    value: float | None
    detail: str


@dataclass(frozen=True)
class RegressionRecord:
    """One metric compared with the baseline's on the samples that both answered; drops are in the metric's own unit."""

    status: RegressionStatus
    metric: str
    scorer: str
    group: Mapping[str, str]
    unit: str
    direction: Literal["higher", "lower"]
    baseline: float | None
    value: float | None
    drop: float | None
    """How much worse this run is: positive is worse, whichever way the metric points."""
    lower: float | None
    upper: float | None
    bound: float | None
    """The one-sided bound that "pass" rests on."""
    margin: float | None
    p: float | None
    """Of "the drop is at most the margin"; compared with ``alpha`` divided by ``lines``."""
    alpha: float
    lines: int
    detectable: float | None
    """The smallest drop that this comparison would have called regressed four times in five."""
    pairs: int
    clusters: int | None
    worse: int
    """Pairs whose own score became worse."""
    better: int
    left_out: Mapping[str, int]
    """Samples in no pair, by reason (only_here, only_in_baseline, audio, prompt, truth, errors, skipped)."""
    examples: Mapping[str, Sequence[str]]
    """Some of their ids."""
    method: str
    detail: str
    p_holm: float | None = None
    """Adjusted over the run's lines; changes no status."""


@dataclass(frozen=True)
class ScorerRecord:
    """A scorer's view of the answers."""

    name: str
    signature: str
    coverage: Mapping[str, int]
    """n, parsed, unparsed, refused, empty, out_of_range, truncated, errors, skipped; epochs added up."""


@dataclass(frozen=True)
class StageRecord:
    """A question of an eval as the hash of its settings covers it."""

    name: str
    role: str
    task: str
    settings: Mapping[str, str | int]
    judge: str = ""
    """The alias of who is asked; "" for the model."""
    version: str = ""
    """That of a rewriter's prompt."""


@dataclass(frozen=True)
class PerturbationRecord:
    """What was done to an item's clips. Items of one suite, model and ``family`` that have a ``dose`` make a curve."""

    name: str
    family: str
    dose: float | None
    unit: str
    harder: Harder

    @classmethod
    def read(cls, value: Mapping[str, Any] | None) -> PerturbationRecord | None:
        """The record in a run.json, which anyone may have edited. Raises KeyError or TypeError where it is none."""
        if value is None:
            return None
        texts = [value[name] for name in ("name", "family", "unit", "harder")]
        dose = value["dose"]
        if {type(text) for text in texts} != {str} or not (dose is None or is_dose(dose)):
            raise TypeError(
                "a perturbation has texts for name, family, unit and harder, and a number or null for its dose"
            )
        if value["harder"] not in get_args(Harder):
            raise TypeError("a perturbation's harder is higher, lower or empty")
        return cls(value["name"], value["family"], dose, value["unit"], value["harder"])


@dataclass(frozen=True)
class FindingsRecord:
    """The parts of an eval's samples that differ from all others, each validated on a holdout."""

    findings: Sequence[Mapping[str, Any]]
    """Best first."""
    top_finding: str | None
    """The id of the first that is not rejected."""
    validation_summary: Mapping[str, int]
    """Counts by status."""
    findings_methods: Mapping[str, Any]
    phrases: Sequence[Mapping[str, Any]] = ()
    """The texts answered most often on the samples that failed, with their counts."""


@dataclass(frozen=True)
class DrawRecord:
    """What hypothesis drew for a test once, and what came of it."""

    arguments: Mapping[str, str | Mapping[str, float]]
    """By the test's argument: the values of a perturbation by aspect (``snr_db``, …), else a text."""
    outcome: Literal["passed", "failed"]
    values: Mapping[str, float | None]
    """The headline's metric of each evaluation, by the eval's name."""


@dataclass(frozen=True)
class DrawsRecord:
    """All that hypothesis drew for a test, of which the item is one: the mildest that failed, or the worst that passed.

    ``seed`` makes the same version of ``hypothesis`` draw the same.
    """

    summary: str
    seed: str
    hypothesis: str
    draws: Sequence[DrawRecord]
    """Each once, in the order of their first trial; those that the test assumed away are not among them."""


@dataclass
class ItemRecord:
    """One eval × perturbation × model."""

    index: int
    nodeid: str
    eval: str
    suite: str
    model: str
    dataset: str
    protocol: str
    n: int
    epochs: int
    limited: bool
    scorers: list[ScorerRecord]
    metrics: list[MetricRecord]
    hashes: dict[str, str]
    """data, audio, prompts, settings, seeds, model, input_hash, answers, run_hash, protocols, score_hash."""
    asking: dict[str, int]
    """asked (in this run), known (in the store), noise, repaired (invalid characters), truncated_clips, oom_splits."""
    errors: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    agreement: dict[str, Any] | None = None
    taken: dict[str, float] = field(default_factory=dict)
    """The sums that ``speed`` is drawn from (``evaluation/speed.py``)."""
    speed: list[MetricRecord] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    """Those that the protocol's family was called with."""
    groups: list[str] = field(default_factory=list)
    """The metadata fields that its numbers are reported by."""
    cluster: str | None = None
    """The metadata field that its numbers are clustered on."""
    part: int = 0
    """Counts the evaluations of one test from 0."""
    control: bool = False
    """An evaluation that only serves another's comparison: no threshold applies to it, no suite pools it."""
    verdicts: list[VerdictRecord] = field(default_factory=list)
    regressions: list[RegressionRecord] = field(default_factory=list)
    outcome: Outcome = "passed"
    message: str = ""
    judges: dict[str, dict[str, int]] = field(default_factory=dict)
    """The counts of ``asking`` by judge's or rewriter's alias, and ``errors``: verdicts that could not be had."""
    perturbation: PerturbationRecord | None = None
    findings: FindingsRecord | None = None
    stages: list[StageRecord] = field(default_factory=list)
    draws: DrawsRecord | None = None

    @classmethod
    def without_result(cls, *, index: int, nodeid: str, eval: str, suite: str, model: str) -> ItemRecord:
        """The record of an eval that measured nothing."""
        return cls(
            index=index,
            nodeid=nodeid,
            eval=eval,
            suite=suite,
            model=model,
            dataset="",
            protocol="",
            n=0,
            epochs=0,
            limited=False,
            scorers=[],
            metrics=[],
            hashes={},
            asking={},
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
