"""A finished run read back: its record, its samples one by one, and pandas frames for those who want them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import asdict

from pytest_audiobench.errors import UsageError, install_command
from pytest_audiobench.evaluation.answer_store import repaired
from pytest_audiobench.evaluation.confusion import LabelledAnswer, confusion
from pytest_audiobench.evaluation.garbage_collection import collector_paused
from pytest_audiobench.protocols.protocol import gives_letters
from pytest_audiobench.records import run as records
from pytest_audiobench.records.fields import plain
from pytest_audiobench.records.lines import LINE_FILES, SampleRecord
from pytest_audiobench.records.reading import read_run
from pytest_audiobench.report import run_writer
from pytest_audiobench.report.joined_samples import joined, sample_record
from pytest_audiobench.report.run_writer import RECORD

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Run:
    """A finished run, as :func:`load_run` gives it.

    A column of the frames holds values of one kind, so that Parquet and databases take them as they are.
    """

    folder: Path
    """Where its files lie."""
    record: records.RunRecord = field(repr=False)
    """Its run.json, whose schema is docs/run.schema.json: ``run.record.items[0].metrics[0].value``."""

    def _repr_html_(self) -> str:
        from pytest_audiobench.evaluation.notebook import HEADS, item_rows, table
        from pytest_audiobench.report.verdict import run_verdict

        verdict = run_verdict(self.record)
        title = ", ".join(filter(None, (self.record.run, self.record.started, verdict.word, verdict.counts)))
        items = (item for item in self.record.items if not item.control)
        return table(title, HEADS, [row for item in items for row in item_rows(item, is_whole=False)])

    def rows(self) -> Iterator[SampleRecord]:
        """One record per sample and epoch, in the run's order, with at most one in memory; needs no pandas."""
        return map(sample_record, joined(self.folder))

    def confusion(self, eval: str, model: str | None = None) -> DataFrame:
        """Answers by true label in one eval, as its headline scorer parsed them.

        ``model`` is needed where several did it. Raises UsageError where there is no such eval or no one model, and
        where its samples have no list of labels with one true.
        """
        matches = [item for item in self.record.items if item.eval == eval and model in (None, item.model)]
        if len(matches) != 1 or not matches[0].scorers:
            listed = ", ".join(f"{item.eval} by {item.model}" for item in self.record.items)
            wanted = eval if model is None else f"{eval} by {model}"
            raise UsageError(f"{len(matches)} measured evals of this run are {wanted!r}; it holds {listed}")
        item = matches[0]
        scorer = item.scorers[0]
        rows = (row for row in self.rows() if (row.eval, row.model) == (item.eval, item.model))
        samples = (
            LabelledAnswer(
                row.sample_id,
                row.choices,
                row.reference,
                row.references,
                row.scorers[scorer.name].value if scorer.name in row.scorers else None,
                row.error,
            )
            for row in rows
        )
        return cast("DataFrame", confusion(samples, gives_letters(scorer.signature)))

    @cached_property
    def items(self) -> DataFrame:
        """One row per eval × model; columns such as ``hashes.input_hash``, ``asking.asked``, ``coverage.parsed``."""
        return _frame(map(_item_row, self.record.items))

    @cached_property
    def metrics(self) -> DataFrame:
        """One row per number: an eval's, a group's where ``group`` is not empty, a suite's where ``eval`` is None."""
        of_items = [(item.eval, item.suite, item.model, item.metrics) for item in self.record.items]
        of_suites = [(None, suite.name, suite.model, suite.metrics) for suite in self.record.suites]
        return _frame(
            {"eval": eval_, "suite": suite, "model": model, **_grouped(metric)}
            for eval_, suite, model, metrics in [*of_items, *of_suites]
            for metric in metrics
        )

    @cached_property
    def regressions(self) -> DataFrame:
        """One row per line that was compared with the baseline; columns as :class:`RegressionRecord` has them."""
        return _frame(
            {
                **_of_item(item),
                **_without(_grouped(line), "left_out", "examples"),
                **_prefixed("left_out", line.left_out),
            }
            for item in self.record.items
            for line in item.regressions
        )

    @cached_property
    def findings(self) -> DataFrame:
        """One row per part of an eval that was compared with all others; columns such as ``holdout.effect_size``.

        ``top`` marks the eval's top finding; ``domain`` (or what the eval's findings are by) says which part it is.
        """
        with_findings = [(item, item.findings) for item in self.record.items if item.findings is not None]
        return _frame(
            {
                **_of_item(item),
                "top": finding.id == findings.top_finding,
                **_without(asdict(finding), "slice", "discovery", "holdout"),
                **finding.slice,
                **_prefixed("discovery", {**asdict(finding.discovery), "clips": _option_text(finding.discovery.clips)}),
                **_prefixed("holdout", {**asdict(finding.holdout), "clips": _option_text(finding.holdout.clips)}),
            }
            for item, findings in with_findings
            for finding in findings.findings
        )

    @cached_property
    def curves(self) -> DataFrame:
        """One row per point of a curve; ``slope.value``, ``area.lower`` and their like are the whole curve's."""
        return _frame(
            {
                **_owner(suite, curve),
                **asdict(point),
                **_prefixed("slope", asdict(curve.slope)),
                **_prefixed("area", asdict(curve.area)),
            }
            for suite in self.record.suites
            for curve in suite.curves
            for point in curve.points
        )

    @cached_property
    def perturbations(self) -> DataFrame:
        """One row per perturbation and metric, with its ``weight`` in ``mean.value`` and, where it is compared with
        another, the ``drop`` from its ``reference``; what says how is in ``drop.method`` and its like.
        """
        return _frame(
            _perturbation_row(suite, summary, point)
            for suite in self.record.suites
            for summary in suite.perturbations
            for point in summary.points
        )

    @cached_property
    def samples(self) -> DataFrame:
        """One row per sample × epoch × scorer; statistics as ``score.correct``, group fields as ``group.hop``.

        A stage's outputs are in ``stage.answer``. There are texts, numbers, lists of texts and, in ``audio``, lists
        of objects with the same keys: ``run.samples.to_parquet("samples.parquet")`` holds them all (with pyarrow).
        """
        return _frame(self._sample_rows())

    def sample_chunks(self, rows: int = 50_000) -> Iterator[DataFrame]:
        """The frame :attr:`samples` in parts of at most ``rows`` rows, with one of them in memory.

        A column that no sample of a part has is not in that part.
        """
        remaining = self._sample_rows()
        while part := list(islice(remaining, rows)):
            yield _frame(part)

    def _sample_rows(self) -> Iterator[dict[str, Any]]:
        return (row for sample in self.rows() for row in _sample_rows(sample))


def load_run(run: str | Path, reports: str | Path = "reports") -> Run:
    """The run in the folder ``run``, or of that name under ``reports``; ``last`` is the one written there last.

    Raises UsageError when there is none, when it never finished, or when another version wrote it.
    """
    folder = next((path for path in (Path(run), Path(reports) / run) if path.is_dir()), None)
    if folder is None and str(run) == "last":
        written = [path for path in Path(reports).glob(f"*/{RECORD}") if path.is_file()]
        folder = max(written, key=lambda path: path.stat().st_mtime_ns).parent if written else None
    if folder is None:
        raise UsageError(f"there is no run {str(run)!r}: neither the folder {run} nor {Path(reports) / run} exists")
    path = folder / RECORD
    if not path.exists():
        raise UsageError(f"{folder} has no {RECORD}: {_unfinished(folder)}")
    with collector_paused():
        return Run(folder, read_run(path))


def _unfinished(folder: Path) -> str:
    done = len(list((folder / run_writer.PARTS).glob("*.item.json")))
    merged = [name for name in LINE_FILES.values() if (folder / name).exists()]
    if not done and not merged and not (folder / run_writer.PARTS).is_dir():
        return "it is not the folder of a run"
    left = (
        f"{done} finished evals can be read under {folder / run_writer.PARTS}" if done else "no eval in it has finished"
    )
    return f"the run crashed or is still going; {left}, and the same command run again asks only what is missing"


def _frame(rows: Iterable[dict[str, Any]]) -> DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise UsageError(f"frames need pandas: {install_command('frames')}; .rows() works without") from error
    listed = list(rows)
    try:
        return pandas.DataFrame(listed)
    except UnicodeEncodeError:
        return pandas.DataFrame([{writable(name): writable(value) for name, value in row.items()} for row in listed])


def _item_row(item: records.ItemRecord) -> dict[str, Any]:
    nested = [name for name, value in asdict(item).items() if not isinstance(value, (str, int, float, type(None)))]
    return {
        **_without(asdict(item), *nested, "agreement", "findings", "perturbation"),
        "groups": list(item.groups),
        "top_finding": None if item.findings is None else item.findings.top_finding,
        "verdicts": ", ".join(verdict.status for verdict in item.verdicts),
        "regressions": ", ".join(line.status for line in item.regressions),
        **_prefixed("perturbation", {} if item.perturbation is None else asdict(item.perturbation)),
        **_prefixed("coverage", asdict(item.scorers[0].coverage) if item.scorers else {}),
        **_prefixed("asking", asdict(item.asking)),
        **_prefixed("hashes", item.hashes),
        **_prefixed("speed", {figure.name: figure.value for figure in item.speed}),
        **{
            f"judges.{alias}.{name}": value
            for alias, asking in item.judges.items()
            for name, value in asdict(asking).items()
        },
        **_prefixed("options", {name: _option_text(value) for name, value in item.options.items()}),
    }


def _of_item(item: records.ItemRecord) -> dict[str, Any]:
    return {"eval": item.eval, "suite": item.suite, "model": item.model}


def _grouped(record: records.MetricRecord | records.RegressionRecord) -> dict[str, Any]:
    group = ",".join(f"{name}={value}" for name, value in record.group.items())
    return {**asdict(record), "group": group, **_prefixed("group", record.group)}


def _owner(suite: records.SuiteRecord, record: records.CurveRecord | records.PerturbationsRecord) -> dict[str, Any]:
    texts = {name: value for name, value in asdict(record).items() if isinstance(value, str)}
    return {"suite": suite.name, "model": suite.model, **texts}


def _perturbation_row(
    suite: records.SuiteRecord, summary: records.PerturbationsRecord, point: records.PointRecord
) -> dict[str, Any]:
    difference = next((each for each in summary.differences if each.perturbation == point.perturbation), None)
    names = [name for name in records.DifferenceRecord.__struct_fields__ if name != "perturbation"]
    return {
        **_owner(suite, summary),
        **asdict(point),
        "weight": summary.weights.get(point.perturbation),
        **_prefixed("mean", asdict(summary.mean)),
        **{
            name if name in ("reference", "drop") else f"drop.{name}": getattr(difference, name, None) for name in names
        },
    }


def _sample_rows(sample: SampleRecord) -> Iterator[dict[str, Any]]:
    values = _without(asdict(sample), "scorers", "groups", "stages")
    base = {name: writable(value) for name, value in values.items()}
    for name, answer in sample.scorers.items():
        yield {
            **base,
            "audio": plain(sample.audio),
            "scorer": name,
            "status": answer.status,
            "value": answer.value,
            **_prefixed("score", answer.scores),
            **_prefixed("group", sample.groups),
            **_prefixed("stage", sample.stages),
        }


def _option_text(value: Any) -> str:
    """An option as text: one column holds those of many families, and a column in a file has one kind."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def writable(value: Any) -> Any:
    """A data set's texts as they can be written: half of a surrogate pair, which no file holds, is replaced."""
    if isinstance(value, str):
        return repaired(value)[0]
    if isinstance(value, dict):
        return {name: writable(member) for name, member in value.items()}
    return [writable(element) for element in value] if isinstance(value, (list, tuple)) else value


def _without(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}


def _prefixed(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{name}": value for name, value in values.items()}
