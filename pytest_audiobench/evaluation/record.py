"""What a run leaves behind, as plain values: one record per item, one per run, one line per sample.

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
    """One number with its perturbations. ``scorer`` is None for a number that a test recorded itself."""

    name: str
    value: float | None
    lower: float | None
    upper: float | None
    n: int
    unit: str
    direction: Literal["higher", "lower"]
    method: str
    scorer: str | None = None
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
    """One metric held against the baseline's on the samples that both answered, and what became of it.

    ``drop`` is how much worse this run is than the baseline (positive is worse, whichever way the metric points), with
    its interval (``lower``, ``upper``) and the one-sided bound that "pass" rests on; all in the metric's own unit, as
    ``margin`` and ``detectable`` are. ``p`` is that of "the drop is at most the margin"; it is held against ``alpha``
    divided by ``lines``. ``p_holm`` is adjusted over the run's lines and changes no status. ``detectable`` is the
    smallest drop that this comparison would have called regressed four times in five.
    ``worse`` and ``better`` count the pairs whose own score moved; ``left_out`` the samples that are in no pair, by
    reason (only_here, only_in_baseline, audio, prompt, truth, errors, skipped), and ``examples`` names some of them.
    """

    status: RegressionStatus
    metric: str
    scorer: str
    group: Mapping[str, str]
    unit: str
    direction: Literal["higher", "lower"]
    baseline: float | None
    value: float | None
    drop: float | None
    lower: float | None
    upper: float | None
    bound: float | None
    margin: float | None
    p: float | None
    alpha: float
    lines: int
    detectable: float | None
    pairs: int
    clusters: int | None
    worse: int
    better: int
    left_out: Mapping[str, int]
    examples: Mapping[str, Sequence[str]]
    method: str
    detail: str
    p_holm: float | None = None


@dataclass(frozen=True)
class ScorerRecord:
    """A scorer's view of the answers, with the counts of what it made of them (epochs added up)."""

    name: str
    signature: str
    coverage: Mapping[str, int]


@dataclass(frozen=True)
class StageRecord:
    """A question of an eval as the hash of its settings covers it; ``judge`` is the alias of who is asked, "" for the
    model. ``version`` is that of a rewriter's prompt.
    """

    name: str
    role: str
    task: str
    settings: Mapping[str, str | int]
    judge: str = ""
    version: str = ""


@dataclass(frozen=True)
class PerturbationRecord:
    """What was done to an item's clips. Items of one suite, model and ``family`` that have a ``dose`` make a curve."""

    name: str
    family: str
    dose: float | None
    unit: str
    harder: Harder

    @classmethod
    def read(cls, told: Mapping[str, Any] | None) -> PerturbationRecord | None:
        """What a run.json says, which anyone may have edited. Raises KeyError or TypeError where it is no perturbation."""
        if told is None:
            return None
        texts = [told[name] for name in ("name", "family", "unit", "harder")]
        dose = told["dose"]
        if {type(text) for text in texts} != {str} or not (dose is None or is_dose(dose)):
            raise TypeError(
                "a perturbation has texts for name, family, unit and harder, and a number or null for its dose"
            )
        if told["harder"] not in get_args(Harder):
            raise TypeError("a perturbation's harder is higher, lower or empty")
        return cls(told["name"], told["family"], dose, told["unit"], told["harder"])


@dataclass(frozen=True)
class FindingsRecord:
    """Where one part of an eval's samples differs from all others, and whether that holds up on samples kept aside.

    ``findings`` come best first; ``top_finding`` is the id of the first that is no rejected one, else None;
    ``validation_summary`` counts them by status; ``findings_methods`` says how they were found. ``phrases`` are the
    texts that were answered most often on the samples that failed, with their counts.
    """

    findings: Sequence[Mapping[str, Any]]
    top_finding: str | None
    validation_summary: Mapping[str, int]
    findings_methods: Mapping[str, Any]
    phrases: Sequence[Mapping[str, Any]] = ()


@dataclass
class ItemRecord:
    """One eval × perturbation × model.

    ``coverage`` keys: n, parsed, unparsed, refused, empty, out_of_range, truncated, errors.
    ``hashes`` keys: data, audio, prompts, settings, seeds, model, input_hash, answers, run_hash, protocols, score_hash.
    ``asking`` counts: asked (in this run), known (found in the store), noise (asked again and different),
    repaired (texts with invalid characters), truncated_clips, oom_splits.
    ``judges`` holds the same counts for each judge and rewriter by its alias, and ``errors``: verdicts that could not
    be had.
    ``part`` counts the evaluations of one test from 0;
    ``control`` marks an evaluation that only serves another's comparison: no threshold holds it, no suite pools it.
    ``taken`` holds the sums that ``speed`` was drawn from (``evaluation/speed.py``).
    ``options`` are those that the protocol's family was called with; ``groups`` and ``cluster`` the metadata fields
    that its numbers are reported by and clustered on: what scoring the answers again must know. ``stages`` say how
    each question was asked, beside what.
    """

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
    asking: dict[str, int]
    errors: list[dict[str, str]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    agreement: dict[str, Any] | None = None
    taken: dict[str, float] = field(default_factory=dict)
    speed: list[MetricRecord] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    groups: list[str] = field(default_factory=list)
    cluster: str | None = None
    part: int = 0
    control: bool = False
    verdicts: list[VerdictRecord] = field(default_factory=list)
    regressions: list[RegressionRecord] = field(default_factory=list)
    outcome: Outcome = "passed"
    message: str = ""
    judges: dict[str, dict[str, int]] = field(default_factory=dict)
    perturbation: PerturbationRecord | None = None
    findings: FindingsRecord | None = None
    stages: list[StageRecord] = field(default_factory=list)

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
