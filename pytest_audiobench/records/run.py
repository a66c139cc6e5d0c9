"""run.json: one finished run, with every number and the perturbations under which it was measured.

A folder without this file is a run that crashed or is still going. Nothing here is NaN: a value that is not a number is
None, and ``method`` says why. No path of this machine and no time enters what is hashed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import field

from pytest_audiobench.records.fields import (
    Count,
    Day,
    Digest,
    Direction,
    Harder,
    Name,
    Number,
    Positive,
    Record,
    Sentence,
    Time,
)

MOST_BYTES = 512 * 2**20
"""A larger file is not a run's record: samples lie in the line files."""

PASSED_OVER = " was passed over: "
"""Stands in the note of a file that holds answers and could not be read, before the reason."""
NOT_IN_BASELINE = "the baseline has no eval "
"""Begins the detail of a regression line that nothing was compared for."""
ALARM = "alarm:"
"""Begins a warning of an item that no reader may miss: reports show it where the verdict stands."""

Outcome: TypeAlias = Literal["passed", "failed", "skipped", "lost"]
RegressionStatus: TypeAlias = Literal["pass", "regressed", "inconclusive", "not_comparable"]
StopVerdict: TypeAlias = Literal["regressed", "passes"]
LineVerdict: TypeAlias = Literal["pass", "regressed", "inconclusive", "not_comparable", "improved"]


class MetricRecord(Record, frozen=True):
    """One number with its interval."""

    name: str
    value: Number | None
    lower: Number | None
    upper: Number | None
    n: Count
    unit: str
    direction: Direction
    method: str
    """How value and interval were estimated, or why there is none."""
    scorer: str | None = None
    """None for a number that a test recorded itself."""
    signature: str | None = None
    group: Mapping[str, str] = field(default_factory=dict)
    """The metadata that the samples share, or the kind of what is counted in them; empty for all samples."""


class VerdictRecord(Record, frozen=True):
    """A declared threshold and what became of it."""

    status: Literal["pass", "fail", "incomplete"]
    """incomplete: more samples could not be asked than are allowed."""
    threshold: str
    value: Number | None
    detail: str


class RegressionRecord(Record, frozen=True):
    """One metric compared with the baseline's on the samples that both answered; drops are in the metric's own unit.

    A drop is a difference in the worse direction: positive is worse, whichever way the metric points.
    """

    status: RegressionStatus
    """pass: bound < margin; regressed: p <= alpha / lines; else inconclusive; not_comparable where asking failed or the
    two sides do not match."""
    metric: Name
    scorer: Name
    group: Mapping[str, Sentence]
    unit: Name
    direction: Direction
    baseline: Number | None
    """The baseline's value on the pairs."""
    value: Number | None
    """This run's value on the pairs."""
    drop: Number | None
    lower: Number | None
    """With upper the drop's two-sided 95 % interval."""
    upper: Number | None
    bound: Number | None
    """The drop's one-sided upper bound at 1 - alpha, which "pass" rests on."""
    margin: Number | None
    """The largest drop that is no regression."""
    p: Number | None
    """Of "the drop is at most the margin"; compared with ``alpha`` divided by ``lines``."""
    alpha: Number
    lines: Positive
    """The run's lines, or more where a test made more lines than were counted for it."""
    detectable: Number | None
    """The smallest drop that this comparison would have called regressed four times in five."""
    pairs: Count
    clusters: Count | None
    """None where no cluster holds two pairs."""
    worse: Count
    """Pairs whose own score became worse."""
    better: Count
    left_out: Mapping[str, Count]
    """Samples in no pair, by reason (only_here, only_in_baseline, audio, prompt, truth, errors, skipped)."""
    examples: Mapping[str, Sequence[Sentence]]
    """Some of their ids."""
    method: Sentence
    detail: Sentence
    """The verdict in a sentence."""
    p_holm: Number | None = None
    """Adjusted over the run's lines by Holm's method; changes no status."""
    p_better: Number | None = None
    """Of "it is no better": p at a margin of 0 with the two sides exchanged."""
    q_better: Number | None = None
    """``p_better`` adjusted over the run's lines by Holm's method, apart from their regressions."""
    relative: bool = False
    """Whether drop, bounds and margin are shares of the baseline's value: those of what requests took are."""

    @property
    def is_unknown(self) -> bool:
        """Whether the baseline lacks the eval, so that it was measured and compared with nothing."""
        return self.status == "inconclusive" and self.detail.startswith(NOT_IN_BASELINE)

    @property
    def drop_unit(self) -> str:
        """The unit of drop, bounds and margin: "%" for what is ``relative``."""
        return "%" if self.relative else self.unit

    @property
    def verdict(self) -> LineVerdict:
        """The status; "improved" for a pass whose ``q_better`` is at most alpha, which decides over nothing else."""
        is_improved = self.status == "pass" and self.q_better is not None and self.q_better <= self.alpha
        return "improved" if is_improved else self.status


class CoverageRecord(Record, frozen=True):
    """How many answers a scorer parsed, and what became of the rest; samples times epochs."""

    n: Count
    parsed: Count
    unparsed: Count
    refused: Count
    empty: Count
    out_of_range: Count
    truncated: Count
    errors: Count
    """Those whose asking failed."""
    skipped: Count
    """Those that the scorer leaves out."""

    def __add__(self, other: CoverageRecord) -> CoverageRecord:
        sums = {name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        return CoverageRecord(**sums)


class ScorerRecord(Record, frozen=True):
    """A scorer's view of the answers."""

    name: str
    signature: str
    coverage: CoverageRecord


class StageRecord(Record, frozen=True):
    """A question of an eval as the hash of its settings covers it."""

    name: str
    role: Literal["subject", "judge", "extractor", "rewriter"]
    task: str
    settings: Mapping[str, str | int]
    judge: str = ""
    """The alias of who is asked; "" for the model."""
    version: str = ""
    """That of a rewriter's prompt, with the digest of its words."""


class PerturbationRecord(Record, frozen=True):
    """What was done to an item's clips. Items of one suite, model and ``family`` that have a ``dose`` make a curve."""

    name: str
    family: str
    dose: Number | None
    unit: str
    harder: Harder


class FindingSideRecord(Record, frozen=True):
    """One half of the split, discovery or holdout: a part's samples against all others."""

    clip_count_domain: Count
    clip_count_other: Count
    cluster_count_domain: Count
    cluster_count_other: Count
    domain_rate: Number | None
    other_rate: Number | None
    p_value: Number | None
    testable: bool
    clips: Sequence[str] | None
    """The ids of the part's samples; None for many, of which there is the digest."""
    clips_digest: str
    other_clips_digest: str


class HoldoutRecord(FindingSideRecord, frozen=True):
    """The half that was held out, with the effect on it and its 95 % interval."""

    effect_size: Number | None
    ci_lower: Number | None
    ci_upper: Number | None


class FindingRecord(Record, frozen=True):
    """One part of an eval's samples against all others: the effect is the part's rate less that of the others."""

    rank: Positive
    id: str
    title: str
    detector: str
    metric: str
    slice: Mapping[str, str]
    """The metadata field, and its value in this part."""
    status: Literal["validated", "candidate", "rejected", "untested"]
    validation_notes: str
    effect_size: Number | None
    ci_lower: Number | None
    ci_upper: Number | None
    p_value: Number | None
    adjusted_p_value: Number | None
    discovery: FindingSideRecord
    holdout: HoldoutRecord


class SplitRecord(Record, frozen=True):
    """How the clusters were split into discovery and holdout."""

    seed: str
    salt: str
    rule: str
    clusters: Count
    holdout_count: Count
    holdout: Sequence[str] | None
    """The holdout's clusters; None for many."""
    holdout_digest: str


class FindingMethodsRecord(Record, frozen=True):
    """How findings were found: levels, tests, and the split."""

    by: str
    """The metadata field that names a sample's part."""
    uplift: str
    test: str
    interval: str
    bootstrap_resamples: Count
    permutations: Count
    confidence: Number
    multiple_testing: str
    tested: Count
    alpha: Number
    discovery_alpha: Number
    holdout_alpha: Number
    holdout_fraction: Number
    fewest_clusters: Count
    split: SplitRecord
    clusters_are: Literal["sample_id", "cluster"]
    """What the clusters are called by."""


class PhraseRecord(Record, frozen=True):
    """A text that was answered on samples that failed, and how often in each part."""

    phrase: str
    count: Count
    domains: Mapping[str, Count]


class FindingsRecord(Record, frozen=True):
    """The parts of an eval's samples that differ from all others, each validated on a holdout."""

    findings: Sequence[FindingRecord]
    """Best first."""
    top_finding: str | None
    """The id of the first that is not rejected."""
    validation_summary: Mapping[str, Count]
    """Counts by status."""
    findings_methods: FindingMethodsRecord | None
    """None where no scorer measured what findings are of."""
    phrases: Sequence[PhraseRecord] = ()
    """The texts answered most often on the samples that failed, with their counts."""


class DrawRecord(Record, frozen=True):
    """What hypothesis drew for a test once, and what came of it."""

    arguments: Mapping[str, str | Mapping[str, Number]]
    """By the test's argument: the values of a perturbation by aspect (``snr_db``, …), else a text."""
    outcome: Literal["passed", "failed"]
    values: Mapping[str, Number | None]
    """The headline's metric of each evaluation, by the eval's name."""


class DrawsRecord(Record, frozen=True):
    """All that hypothesis drew for a test, of which the item is one: the mildest that failed, or the worst that passed.

    ``seed`` makes the same version of ``hypothesis`` draw the same.
    """

    summary: str
    seed: str
    hypothesis: str
    draws: Sequence[DrawRecord]
    """Each once, in the order of their first trial; those that the test assumed away are not among them."""


class AskingRecord(Record, frozen=True):
    """How asking went, in samples times stages."""

    asked: Count = 0
    """In this run."""
    known: Count = 0
    """In the store already."""
    again: Count = 0
    """Answers to the same asked again by a study, in this run; not among those that were asked."""
    reused: Count = 0
    """Answers of earlier runs, or of one that did not end: of those known, and of those to the same asked again."""
    oldest: Day | None = None
    """The day on which the first of them was asked for."""
    newest: Day | None = None
    """The day on which the last of them was asked for."""
    canaries: Count = 0
    """Of these the ones that were asked again (--ab-reuse)."""
    differing: Count = 0
    """Of these the ones that were answered by another text."""
    noise: Count = 0
    """Answers that differed when they were asked again."""
    damaged: Count = 0
    """Rows of the store that did not fit their digests: they were not used."""
    repaired: Count = 0
    """Texts with invalid characters, or too long."""
    oom_splits: Count = 0
    """Batches that were split for lack of memory."""
    truncated_clips: Count = 0
    """Samples whose clips were cut to the model's window."""
    failed_again: Count = 0
    """Askings that failed when a study, or for a canary, asked again."""
    errors: Count = 0
    """Verdicts of a judge that could not be had."""
    not_applicable: Count = 0
    """Samples for which the perturbation is not defined: a ratio to the level of a clip that is silent."""


class ErrorRecord(Record, frozen=True):
    """A sample whose asking failed, and why."""

    sample_id: str
    message: str


class AgreementRecord(Record, frozen=True):
    """How a metric and the answers agree over epochs; None where there is no number, as where an epoch has none."""

    metric: str
    epochs: Count
    mean: Number | None
    spread: Number | None
    """The sample standard deviation of the metric."""
    min: Number | None
    max: Number | None
    n: Count
    agreement: Number | None
    """The share of samples whose answer is the same in all epochs."""


class PublishedRecord(Record, frozen=True, kw_only=True):
    """A value that somebody published of an eval, as the benchmark's file declares it."""

    model: str
    metric: str
    value: Number
    """In the metric's own unit."""
    conditions: str
    source: str
    scorer: str | None = None
    """The scorer of ours that is the publisher's rule; None where the rule is not known."""
    n: Count | None = None
    average: str | None = None
    """The average of several evals that it is of, where it is of none alone."""
    perturbation: str | None = None
    """The perturbation that it was measured under; None for the data as they are."""


class ItemRecord(Record, frozen=True, kw_only=True):
    """One eval × perturbation × model."""

    index: Count
    """Its place in the collection."""
    nodeid: str
    eval: str
    suite: str
    model: str
    """The model's alias."""
    dataset: str = ""
    protocol: str = ""
    n: Count = 0
    """Samples, each counted once whatever the number of epochs."""
    epochs: Count = 0
    limited: bool = False
    size: Count | None = None
    """Of a limited evaluation, how many samples it would take otherwise."""
    stopped: StopVerdict | None = None
    """What was shown when it was stopped early, after ``n`` of ``size`` samples; it is then limited, too."""
    published: Sequence[PublishedRecord] = ()
    """What others published of the same samples."""
    averages: Mapping[str, Count] = field(default_factory=dict)
    """The averages of its suite that it counts in, the outermost first, each with the number of its parts."""
    pooled: bool = True
    """Whether its samples count in its suite's figures: not those of a second reading, or of a known defect."""
    scorers: Sequence[ScorerRecord] = ()
    """The first is the headline."""
    metrics: Sequence[MetricRecord] = ()
    hashes: Mapping[str, str] = field(default_factory=dict)
    """data, audio, prompts, settings, seeds, model → input_hash; answers → run_hash; protocols → score_hash."""
    asking: AskingRecord = AskingRecord()
    errors: Sequence[ErrorRecord] = ()
    """The first of them."""
    warnings: Sequence[str] = ()
    agreement: AgreementRecord | None = None
    """None for one epoch."""
    taken: Mapping[str, Number] = field(default_factory=dict)
    """What the answers took, as sums that may be added up over items (first_token_s and peak_memory_bytes: the
    largest), which ``speed`` is drawn from."""
    speed: Sequence[MetricRecord] = ()
    """Part of no hash."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Those that the protocol's family was called with."""
    groups: Sequence[str] = ()
    """The metadata fields that its numbers are reported by."""
    cluster: str | None = None
    """The metadata field that its numbers are clustered on; None for the clips."""
    part: Count = 0
    """Counts the evaluations of one test from 0."""
    control: bool = False
    """An evaluation that only serves another's comparison: no threshold applies to it, no suite pools it."""
    verdicts: Sequence[VerdictRecord] = ()
    regressions: Sequence[RegressionRecord] = ()
    """What became of the lines that were compared with the baseline; empty without one."""
    outcome: Outcome = "passed"
    message: str = ""
    judges: Mapping[str, AskingRecord] = field(default_factory=dict)
    """How asking went, by judge's or rewriter's alias."""
    perturbation: PerturbationRecord | None = None
    findings: FindingsRecord | None = None
    draws: DrawsRecord | None = None
    """None for a test that draws nothing."""
    stages: Sequence[StageRecord] = ()
    """How each question was asked: what the hash of the settings covers, and that of judges' verdicts."""

    @property
    def stop_text(self) -> str:
        """``stopped early after 1,536 of 10,000 samples: regressed``; "" where it was not."""
        return f"stopped early after {self.n:,} of {self.size:,} samples: {self.stopped}" if self.stopped else ""


class FigureRecord(Record, frozen=True):
    """A figure over perturbations with its 95 % interval; ``method`` says how, or why there is none."""

    value: Number | None
    lower: Number | None
    upper: Number | None
    method: str


class SlopeRecord(FigureRecord, frozen=True):
    """Least squares' slope of the points on the dose, all alike: the change of the metric per ``per`` units of dose.

    ``p`` is that of "no trend", as ``method`` says: of "no worse where the dose is harder" where it is known which way
    that is, else two-sided. ``p_holm`` is adjusted over the curves of one metric, scorer and series of evals.
    """

    per: Number = 1.0
    p: Number | None = None
    p_holm: Number | None = None


class PointRecord(Record, frozen=True):
    """One perturbation: the metric as its ``eval`` measured it over ``n`` samples."""

    perturbation: str
    family: str
    dose: Number | None
    eval: str
    value: Number | None
    lower: Number | None
    upper: Number | None
    n: Count
    answered: Number | None
    """The parse rate: the share of samples, times epochs, that an answer was parsed from."""
    method: str


class CurveRecord(Record, frozen=True):
    """A metric over the doses of one family of perturbations, easiest first where it is known which way is harder."""

    dataset: str
    """Its name before any perturbation."""
    series: str
    """The evals' names without the perturbation, where the data set has others under the same perturbations."""
    family: str
    metric: str
    scorer: str
    signature: str
    unit: str
    direction: Direction
    dose_unit: str
    harder: Harder
    points: Sequence[PointRecord]
    clean: PointRecord | None
    """The perturbation of that name, which is at no dose."""
    slope: SlopeRecord
    area: FigureRecord
    """The trapezoid's over the range of doses divided by the range: the metric's mean value over it."""


class DifferenceRecord(Record, frozen=True):
    """How much worse a metric is under ``perturbation`` than ``reference``, on the ``pairs`` scored under both."""

    perturbation: str
    reference: str
    drop: Number | None
    lower: Number | None
    upper: Number | None
    p: Number | None
    """Of "it is no worse"."""
    p_holm: Number | None
    """Adjusted over the differences of one metric, scorer and data set."""
    pairs: Count
    worse: Count
    """Pairs whose own score became worse."""
    better: Count
    method: str


class PerturbationsRecord(Record, frozen=True):
    """A metric over all perturbations of one data set: its mean by ``weights`` (adding up to 1), the differences."""

    dataset: str
    series: str
    metric: str
    scorer: str
    signature: str
    unit: str
    direction: Direction
    points: Sequence[PointRecord]
    weights: Mapping[str, Number]
    mean: FigureRecord
    differences: Sequence[DifferenceRecord]


class OrderRecord(FigureRecord, frozen=True):
    """The share that is right in the order of the options in which the fewest are."""

    order: str = ""
    """The perturbation's name."""


class PlaceRecord(Record, frozen=True):
    """How often the option in one place was said, and how often the right one stood there, over all orders."""

    letter: str
    said: Number | None
    """Of the answers that are an option; None where none is."""
    true: Number


class OrdersRecord(Record, frozen=True):
    """What the order of the options decides, over the samples that were answered in all orders."""

    dataset: str
    series: str
    scorer: str
    signature: str
    n: Count
    """Samples that were asked in every order, and have two orders or more."""
    mean: FigureRecord
    """The share of answers that are right, over all orders."""
    worst: OrderRecord
    every: FigureRecord
    """The share that is right in every order."""
    same: FigureRecord
    """The share of which the same option is said in every order, right or wrong."""
    places: Sequence[PlaceRecord]
    bias: Number | None
    """Half the sum over the places of |said - true|: 0 where no place is preferred, towards 1 where one is always said;
    each order of a sample counts once."""


class AspectRecord(FigureRecord, frozen=True):
    """One thing that answers hang on, over ``n`` samples that were asked with it and without it."""

    name: str
    """``whole_clip``: the share that is right on the whole clip and on none of its parts; ``some_part``: right on one
    of them at least. ``late_less_early``, ``mid_less_early``, ``noise_less_silence``: how much higher the metric is in
    these windows than in those. ``no_options``: right without the listed options, by the judge of ``scorer``.
    """
    dataset: str
    series: str
    metric: str
    scorer: str
    signature: str
    n: Count
    unit: str


class PooledHashes(Record, frozen=True):
    """SHA-256 over the items' sorted hashes; None when an item has none."""

    input_hash: Digest | None
    run_hash: Digest | None
    score_hash: Digest | None


class SuiteRecord(Record, frozen=True):
    """A suite's evals pooled for one model: over all samples, not a mean of means."""

    name: str
    model: str
    n: Count
    """Samples, each counted once."""
    evals: Positive
    limited: bool
    scorers: Sequence[ScorerRecord]
    metrics: Sequence[MetricRecord]
    """Over all samples, by each group field, and the suite's averages (``{"average": NAME}``)."""
    hashes: PooledHashes
    curves: Sequence[CurveRecord] = ()
    """One for each data set, family of perturbations, metric and scorer; empty where no family has two doses."""
    perturbations: Sequence[PerturbationsRecord] = ()
    """One for each data set (or series of evals of it), metric and scorer that several perturbations share."""
    orders: Sequence[OrdersRecord] = ()
    """One for each data set that was asked with its options in several orders."""
    aspects: Sequence[AspectRecord] = ()
    """Those of each data set that was asked in parts, in windows or without its options."""


class HearingRecord(Record, frozen=True):
    """Whether it is known that audio reaches the model, and by what."""

    status: Literal["proven", "unproven"]
    evidence: str


class NoiseShare(Record, frozen=True):
    """How far a model's repetitions differ: the share of same answers, the headline metric's shift, and the share of
    answers that are scored the same (None of an earlier version's).
    """

    same_answers: Number
    score_shift: Number
    same_outcomes: Number | None = None


class NoiseMeasurement(NoiseShare, frozen=True, kw_only=True):
    """One determinism eval: the means of the shares over its reruns, the largest of the shifts."""

    dataset: str
    n: Count
    metric: str
    conditions: Mapping[str, NoiseShare]
    """By what was done otherwise."""


class NoiseRecord(NoiseShare, frozen=True, kw_only=True):
    """The model's noise floor where determinism evals have measured it: the worst of them, and each."""

    measured: Sequence[NoiseMeasurement]


class ModelRecord(Record, frozen=True, kw_only=True):
    """A model of the run, evaluated or a judge."""

    alias: str
    spec: str
    role: Literal["subject", "judge"]
    """Whether it was evaluated, or weighed the answers of those that were."""
    batching: Literal["planned", "opaque"]
    device: str
    fingerprint: Mapping[str, str]
    heard: str
    """The rate and the window that it is played at. The model's digest is H{fingerprint, heard, batches}."""
    batches: str
    """The limits of its batches; empty where they change no answer."""
    hearing: HearingRecord | None
    """None for a model that is played none."""
    noise: NoiseRecord | None
    shared: bool = False
    """Whether the workers shared it in a process of its device."""
    speed: Sequence[MetricRecord] = ()
    """Over all evals of the run."""
    is_mere_name: bool = False
    """Whether its fingerprint would be the same with other weights."""
    note: str = ""
    """What its user says about it, such as the checkpoint behind a server."""


class RuntimeRecord(Record, frozen=True):
    """What may change a model's answers without changing what it was asked; not part of any hash."""

    python: str
    implementation: str
    platform: str
    packages: Mapping[str, str]


class BaselineRecord(Record, frozen=True, kw_only=True):
    """What every eval was compared with (--ab-baseline)."""

    source: str
    """As it was named."""
    digest: str
    """SHA-256 of the baseline's file, or of the run's run.json."""
    model: str | None
    """The model's alias there; None for several."""
    spec: str | None
    run: str
    """The run that the baseline was made of."""
    limit: Positive | None
    """That run's --ab-limit."""
    lines: Count
    """The regression lines of the run, m: known once the evals were selected."""


class CanaryRecord(Record, frozen=True):
    """A model's answers of earlier runs that were asked again, for its identity is a mere name (--ab-reuse)."""

    model: str
    asked: Count
    differing: Count
    """Those that were answered by another text."""
    allowed: Count
    """The most of which the noise floor is not refuted at 1 %, by the exact binomial test."""
    floor: Number
    """The share of texts that differ when exactly this model is asked again."""
    p: Number | None
    """Of as many, or more, at the noise floor; None where none was asked."""


class AnswersRecord(Record, frozen=True):
    """Where the answers of the evaluated models came from; verdicts of judges are not among them."""

    asked: Count
    """In this run."""
    stored: Count
    """In the store, of earlier runs or of one that did not end."""
    oldest: Day | None
    """The day on which the first of the stored ones was asked for."""
    newest: Day | None
    canaries: Sequence[CanaryRecord] = ()


class ShardRecord(Record, frozen=True):
    """One of ``count`` machines' shares of a run, counted from 1."""

    index: Positive
    count: Positive

    def __str__(self) -> str:
        return f"shard {self.index} of {self.count}"

    @staticmethod
    def of_window(window: int, first_id: bytes, count: int) -> int:
        """The shard, of ``count``, that asks about a window of a slice. The hash of the slice's first id says where to
        begin: of many small slices, each with few windows, the first ones are not all one shard's.
        """
        return (window + int.from_bytes(first_id[4:12], "big")) % count + 1


class RunRecord(Record, frozen=True, kw_only=True):
    """One finished run."""

    schema: Literal["audiobench.run/2"] = "audiobench.run/2"
    run: str
    """Its name, which is also its folder's."""
    started: Time
    finished: Time
    command: Sequence[str]
    commit: str = ""
    """The Git commit that was checked out where pytest ran, when it began; empty where there is none."""
    exit_status: Count
    """pytest's exit code: 0 passed, 1 failed, 2 interrupted, 5 nothing selected; 6 where everything that failed could
    not be compared or was lost with its worker."""
    limit: Positive | None
    """Samples per eval that were asked for at most; None for all. A limited run is never comparable with a full one."""
    epochs: Positive
    models: Sequence[ModelRecord]
    suites: Sequence[SuiteRecord] = ()
    items: Sequence[ItemRecord] = ()
    hashes: PooledHashes
    runtime: RuntimeRecord
    notes: list[str]
    """What a reader of the run must know; hooks may append to it."""
    unmeasured: Sequence[str] = field(default_factory=list)
    """What was required, or asked for by name, and has no result: a run with any is not green."""
    unavailable: Sequence[str] = field(default_factory=list)
    """The data sets of selected evals that are not on this machine."""
    baseline: BaselineRecord | None = None
    answers: AnswersRecord | None = None
    """None in records of releases that did not count them."""
    shard: ShardRecord | None = None
    """Of a run that asked a part of every eval and judged nothing."""
    extra: dict[str, Any] = field(default_factory=dict)
    """What hooks added: JSON values under names of their own."""
