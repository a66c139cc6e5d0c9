"""What terminal and summary say below their tables: scorers side by side, failures, signatures, models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_audiobench.evaluation.speed import time_text, together
from pytest_audiobench.evaluation.wording_figures import votes
from pytest_audiobench.metrics.definitions.soundscape import NOT_SHOWN
from pytest_audiobench.records.run import HearingRecord, ItemRecord, MetricRecord, ModelRecord, RunRecord
from pytest_audiobench.report import view_model
from pytest_audiobench.report.failure_breakdown import failure_sentence
from pytest_audiobench.report.formatting import eval_name, value_text
from pytest_audiobench.report.scene_columns import main_metrics
from pytest_audiobench.report.scorer_comparison import ScorerComparison, ScorerRow, ScorerTable

_SPEED_WORDS = {
    "first_token_s": "first token after ",
    "padding_waste": "padding ",
    "batch_fill": "batches full to ",
    "model_share": "in the model ",
    "peak_memory_mb": "peak memory ",
}
_LITTLE = 0.5


@dataclass(frozen=True)
class ModelFacts:
    """What a run's record says of a model in addition to its answers; empty texts where it says nothing."""

    alias: str
    speed: str
    time: str
    """Where the time of asking it went."""
    hearing: str
    """Whether it hears the audio, before its name; ``grounding`` is what that rests on."""
    grounding: str
    """Whether it is proven to use the audio, and the evidence."""
    device: str
    judging: str = ""
    note: str = ""
    """What its user says about it."""


def _remedy(figure: MetricRecord, model: ModelRecord) -> str:
    """What to do about a figure of a model on a card."""
    little = figure.name == "batch_fill" and figure.value is not None and figure.value < _LITTLE
    if little and model.device.startswith("cuda"):
        return " (raise batch=, by audiobench tune)"
    return ""


class NamedTable(NamedTuple):
    """A table of scorers: whose numbers it holds, and the mark of the scorer that is the headline."""

    owner: str
    table: ScorerTable
    marks: Mapping[str, str]


def scorer_tables(record: RunRecord) -> list[NamedTable]:
    """The leading metrics by many scorers: of suites, and of evals that no suite pools."""
    pooled = _pooled(record)
    owners = [(_name(record, suite), suite.comparisons) for suite in view_model.suites(record)]
    alone = [item for item in _evals(record) if (item.suite, item.model) not in pooled]
    owners += [(_name(record, item), item.comparisons) for item in alone]
    return [
        NamedTable(name, each.table, {row.scorer: _mark(row) for row in each.table.rows if each.is_headline(row)})
        for name, comparisons in owners
        for each in _folding(comparisons)
    ]


def _mark(row: ScorerRow) -> str:
    wordings = votes(row.signature)
    return f"headline scorer, the vote of {wordings} wordings" if wordings else "headline scorer"


def scorer_lines(record: RunRecord) -> list[str]:
    """How far many scorers lie apart in each eval that a suite pools."""
    pooled = _pooled(record)
    return [
        f"{_name(record, item)}: {comparison.sentence}"
        for item in _evals(record)
        if (item.suite, item.model) in pooled
        for comparison in _folding(item.comparisons)
    ]


def failure_lines(record: RunRecord) -> list[str]:
    """A line for each eval with failures: the class that moves its score most."""
    return [
        f"failures in {_name(record, item)}: {failure_sentence(item.failures)}"
        for item in _evals(record)
        if item.failures
    ]


def interval_lines(record: RunRecord) -> list[str]:
    """Why headlines' metrics have no interval where there are too few samples for one, and what lies not above the
    floor of answers to other clips; the same once.
    """
    evals: dict[tuple[str, str, str], dict[str, None]] = {}
    for item in record.items:
        headline = item.scorers[0].name if item.scorers and not item.control else None
        shown = main_metrics(metric.name for metric in item.metrics)
        for metric in item.metrics:
            method = metric.method.removeprefix(f"{NOT_SHOWN}; ")
            reason = method.removeprefix("no interval: ")
            # What never has an interval, such as a count, has no number that would be needed.
            is_headline = headline is not None and metric.scorer == headline and not metric.group
            if is_headline and metric.value is not None and method != metric.method:
                evals.setdefault((metric.name, f"{NOT_SHOWN}: no interval of ", " is above 0"), {})[item.eval] = None
            if is_headline and metric.name in shown and reason.endswith(" needed"):
                evals.setdefault((metric.name, "no interval of ", f": {reason}"), {})[item.eval] = None
    metrics: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for (name, before, after), places in evals.items():
        metrics.setdefault((before, after, tuple(places)), []).append(name)
    return [
        f"{places[0] if len(places) == 1 else f'{len(places)} evals'}: {before}{', '.join(names)}{after}"
        for (before, after, places), names in metrics.items()
    ]


def signatures(record: RunRecord) -> dict[str, list[str]]:
    """The signatures of all scorers, by name."""
    by_name: dict[str, dict[str, None]] = {}
    for item in record.items:
        for scorer in item.scorers:
            by_name.setdefault(scorer.name, {})[scorer.signature] = None
    return {name: list(texts) for name, texts in by_name.items()}


def answers_line(record: RunRecord) -> str:
    """How many answers were asked now, how many came from the store and of which days; of canaries what they said."""
    answers = record.answers
    if answers is None or not any(item.scorers for item in record.items):
        return ""
    days = " to ".join(dict.fromkeys(filter(None, (answers.oldest, answers.newest))))
    several = len(answers.canaries) > 1
    canaries = [
        f"; {canary.asked} asked again{f' of {canary.model}' * several}: {canary.differing} differ, "
        f"{canary.allowed} may"
        for canary in answers.canaries
    ]
    stored = f"{answers.stored} from the store{f' (of {days})' if days else ''}"
    return f"answers: {answers.asked} asked now, {stored}{''.join(canaries)}"


def models(record: RunRecord, is_brief: bool = False) -> list[ModelFacts]:
    """The models that were asked: how fast they answered, and whether they are known to use the audio; ``is_brief``: of
    their speed no more than samples and sound in a second, and what to do about the rest; nothing of the day on which
    stored answers were asked.
    """
    is_stored = is_brief and record.answers is not None and not record.answers.asked
    return [
        ModelFacts(
            alias=model.alias,
            speed=", ".join(
                f"{_SPEED_WORDS.get(figure.name, '')}{value_text(figure.value, figure.unit)}{_remedy(figure, model)}"
                for figure in (() if is_stored else model.speed)
                if not is_brief or figure.name not in _SPEED_WORDS or _remedy(figure, model)
            ),
            time=time_text(together([item.taken for item in record.items if item.model == model.alias])),
            hearing=_hearing(model.hearing) if model.hearing else "",
            grounding=model.hearing.evidence if model.hearing else "",
            device=f"{model.device}, shared by the workers" if model.shared else "",
            judging=_judging(model, record.items) if model.role == "judge" else "",
            note=model.note,
        )
        for model in record.models
    ]


def model_lines(record: RunRecord, judging: str, is_brief: bool = False) -> list[tuple[str, str]]:
    """The same in lines: of what it is (``judging`` of a judge), and the text with the model's alias; ``is_brief``:
    without where the time went and on which device.
    """
    return [
        (subject, f"{facts.alias}: {text}")
        for facts in models(record, is_brief)
        for subject, text in (
            *((judging, facts.judging), ("speed of", facts.speed)),
            *(() if is_brief else (("time of", facts.time), ("device of", facts.device))),
            (facts.hearing, facts.grounding),
            ("note on", facts.note),
        )
        if text
    ]


def _hearing(hearing: HearingRecord) -> str:
    if hearing.status == "unproven":
        return "audio not shown to be heard by"
    # That the audio makes the prompt longer shows no more than that it gets there.
    return (
        "audio reaches" if hearing.evidence.startswith(("one second of audio", "prompt_tokens")) else "audio heard by"
    )


def _judging(model: ModelRecord, items: Sequence[ItemRecord]) -> str:
    counts = [item.judges[model.alias] for item in items if model.alias in item.judges]
    asked, known, errors = (sum(getattr(count, name) for count in counts) for name in ("asked", "known", "errors"))
    roles = {stage.role for item in items for stage in item.stages if stage.judge == model.alias}
    noun = "rewritings" if roles == {"rewriter"} else "texts" if "rewriter" in roles else "verdicts"
    return f"{model.spec}, {asked} {noun} asked, {known} known" + (f", {errors} could not be had" * bool(errors))


def _evals(record: RunRecord) -> list[view_model.Eval]:
    return [item for item in view_model.evals(record) if not item.control]


def _pooled(record: RunRecord) -> set[tuple[str, str]]:
    return {(suite.name, suite.model) for suite in view_model.suites(record)}


def _folding(comparisons: tuple[ScorerComparison, ...]) -> list[ScorerComparison]:
    return [comparison for comparison in comparisons if comparison.folds and comparison.leading]


def _name(record: RunRecord, owner: view_model.Eval | view_model.Suite) -> str:
    name = f"{owner.name} (pooled)" if isinstance(owner, view_model.Suite) else owner.name
    return eval_name(name, owner.model, len(view_model.aliases(record)) > 1)
