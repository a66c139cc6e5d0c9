"""What one model of a run comes to, as other tools take it: numbers, names and digests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pytest_audiobench.comparison.run_series import Names, by_words, steps
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.result import metric_key
from pytest_audiobench.records.lines import LINE_FILES
from pytest_audiobench.records.run import ItemRecord, MetricRecord, RunRecord
from pytest_audiobench.report.run_writer import RECORD
from pytest_audiobench.report.verdict import run_verdict

ATTACH = ("none", "report", "answers")
SCORE_HASH = "score_hash"
_REPORT = "report.html"


@dataclass(frozen=True)
class ExportedModel:
    """What one model of a run comes to."""

    run: str
    model: str
    step: float | None
    """That of its checkpoint, by the names of model and run; None where no name has one."""
    verdict: str
    """The run's, in a word."""
    scalars: Mapping[str, float]
    """``EVAL/METRIC/value``, and ``/lower``, ``/upper`` and ``/n``; those of suites begin with ``suite:``."""
    config: Mapping[str, str]
    """What the numbers were measured of and by: model, hashes, signatures, versions."""
    headlines: Sequence[Headline]
    folder: Path
    finished: str
    record: RunRecord
    items: Sequence[ItemRecord]
    """Its measured evals, without those that only serve another's comparison."""

    @property
    def name(self) -> str:
        return self.run if self.run == self.model else f"{self.run} {self.model}"

    def attached(self, attach: str) -> list[Path]:
        """The files of the run that ``attach`` asks for."""
        names = [_REPORT] * (attach != ATTACH[0])
        names += [RECORD, *LINE_FILES.values()] if attach == ATTACH[2] else []
        return [self.folder / name for name in names if (self.folder / name).exists()]


class Headline(NamedTuple):
    """The first metric of an eval."""

    eval: str
    dataset: str
    protocol: str
    metric: MetricRecord
    hashes: Mapping[str, str]


def exported_models(record: RunRecord, folder: Path, alias: str = "") -> list[ExportedModel]:
    """The measured models of a run, or the one called ``alias``. Raises UsageError where there is none."""
    measured = [item for item in record.items if item.scorers and not item.control]
    aliases = [name for name in dict.fromkeys(item.model for item in measured) if alias in ("", name)]
    if not aliases:
        raise UsageError(f"nothing of {alias or 'any model'} was measured in the run {record.run}")
    return [_exported(record, folder, name) for name in aliases]


def _exported(record: RunRecord, folder: Path, alias: str) -> ExportedModel:
    model = next(model for model in record.models if model.alias == alias)
    scalars: dict[str, float] = {}
    config = {
        "model": model.alias,
        "spec": model.spec,
        **{f"model.{name}": value for name, value in model.fingerprint.items()},
        "run": record.run,
        "finished": record.finished,
        "limit": str(record.limit or "none"),
        "epochs": str(record.epochs),
        "python": record.runtime.python,
        **{f"version.{name}": version for name, version in record.runtime.packages.items()},
    }
    headlines = []
    items = [item for item in record.items if item.model == alias and item.scorers and not item.control]
    for item in items:
        headline = item.scorers[0].name
        for metric in item.metrics:
            scalars |= _numbers(f"{item.eval}/{metric_key(metric, headline)}", metric)
        hashes = {name: item.hashes[name] for name in ("input_hash", SCORE_HASH) if name in item.hashes}
        config |= {f"{item.eval}/{name}": value for name, value in hashes.items()}
        config |= {f"{item.eval}/signature/{scorer.name}": scorer.signature for scorer in item.scorers}
        if first := next((metric for metric in item.metrics if metric.scorer == headline and not metric.group), None):
            headlines.append(Headline(item.eval, item.dataset, item.protocol, first, item.hashes))
    for suite in record.suites:
        if suite.model == alias:
            for metric in suite.metrics:
                scalars |= _numbers(f"suite:{suite.name}/{metric_key(metric, suite.scorers[0].name)}", metric)
    (step,) = steps([Names(alias, model.spec, record.run)], by_words)
    return ExportedModel(
        record.run,
        alias,
        step,
        run_verdict(record).word,
        scalars,
        config,
        headlines,
        folder,
        record.finished,
        record,
        items,
    )


def _numbers(name: str, metric: MetricRecord) -> dict[str, float]:
    """Value, interval and n behind ``name``; nothing for what is no number."""
    if metric.value is None:
        return {}
    numbers = {"value": metric.value, "lower": metric.lower, "upper": metric.upper, "n": float(metric.n)}
    return {f"{name}/{of}": number for of, number in numbers.items() if number is not None}
