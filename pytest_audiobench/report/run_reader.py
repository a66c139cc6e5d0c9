"""A finished run read back: its record, its samples one by one, and pandas frames for those who want them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.answer_store import repaired
from pytest_audiobench.evaluation.confusion import confusion, gives_letters
from pytest_audiobench.records.run import SCHEMA
from pytest_audiobench.gate.regression_records import check_regressions
from pytest_audiobench.io.strict_json import FieldError
from pytest_audiobench.report import run_writer
from pytest_audiobench.report.joined_samples import flat, joined
from pytest_audiobench.report.run_writer import LINE_FILES, RECORD

if TYPE_CHECKING:
    from pandas import DataFrame

_OF_ITEM = ("eval", "suite", "model")
_SIDES = ("discovery", "holdout")
_NESTED = (
    *("scorers", "metrics", "hashes", "asking", "errors", "warnings", "agreement", "verdicts", "regressions"),
    *("taken", "speed", "judges", "options", "findings", "perturbation", "stages"),
)
"""An item's members that are no column of their own."""


@dataclass(frozen=True)
class Run:
    """A finished run. ``record`` is run.json; its schema is docs/run.schema.json.

    A column of the frames holds values of one kind, so that Parquet and databases take them as they are.
    """

    folder: Path
    record: Mapping[str, Any] = field(repr=False)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One mapping per sample and epoch, in the run's order, with at most one in memory; needs no pandas."""
        return map(flat, joined(self.folder))

    def confusion(self, eval: str, model: str | None = None) -> DataFrame:
        """Answers by true label in one eval, as its headline scorer parsed them.

        ``model`` is needed where several did it. Raises UsageError where there is no such eval or no one model, and
        where its samples have no list of labels with one true.
        """
        matches = [item for item in self.record["items"] if item["eval"] == eval and model in (None, item["model"])]
        if len(matches) != 1 or not matches[0]["scorers"]:
            listed = ", ".join(f"{item['eval']} by {item['model']}" for item in self.record["items"])
            wanted = eval if model is None else f"{eval} by {model}"
            raise UsageError(f"{len(matches)} measured evals of this run are {wanted!r}; it holds {listed}")
        item = matches[0]
        scorer = item["scorers"][0]
        rows = (row for row in self.rows() if (row["eval"], row["model"]) == (item["eval"], item["model"]))
        samples = ({**row, "value": row["scorers"].get(scorer["name"], {}).get("value")} for row in rows)
        return cast("DataFrame", confusion(samples, gives_letters(scorer["signature"])))

    @cached_property
    def items(self) -> DataFrame:
        """One row per eval × model; columns such as ``hashes.input_hash``, ``asking.asked``, ``coverage.parsed``."""
        return _frame(_item_row(item) for item in self.record["items"])

    @cached_property
    def metrics(self) -> DataFrame:
        """One row per number: an eval's, a group's where ``group`` is not empty, a suite's where ``eval`` is None."""
        owners = [(item["eval"], item["suite"], item) for item in self.record["items"]]
        owners += [(None, suite["name"], suite) for suite in self.record["suites"]]
        return _frame(_metric_row(*owner, metric) for owner in owners for metric in owner[2]["metrics"])

    @cached_property
    def regressions(self) -> DataFrame:
        """One row per line that was compared with the baseline; columns as :class:`RegressionRecord` has them."""
        return _frame(
            _regression_row(item, line) for item in self.record["items"] for line in item.get("regressions", ())
        )

    @cached_property
    def findings(self) -> DataFrame:
        """One row per part of an eval that was compared with all others; columns such as ``holdout.effect_size``.

        ``top`` marks the eval's top finding; ``domain`` (or what the eval's findings are by) says which part it is.
        """
        with_findings = [item for item in self.record["items"] if item.get("findings")]
        return _frame(_finding_row(item, finding) for item in with_findings for finding in item["findings"]["findings"])

    @cached_property
    def curves(self) -> DataFrame:
        """One row per point of a curve; ``slope.value``, ``area.lower`` and their like are the whole curve's."""
        return _frame(
            {**_owner(suite, curve), **point, **_prefixed("slope", curve["slope"]), **_prefixed("area", curve["area"])}
            for suite in self.record["suites"]
            for curve in suite.get("curves", ())
            for point in curve["points"]
        )

    @cached_property
    def perturbations(self) -> DataFrame:
        """One row per perturbation and metric, with its ``weight`` in ``mean.value`` and, where it is compared with
        another, the ``drop`` from its ``reference``; what says how is in ``drop.method`` and its like.
        """
        return _frame(
            _perturbation_row(suite, summary, point)
            for suite in self.record["suites"]
            for summary in suite.get("perturbations", ())
            for point in summary["points"]
        )

    @cached_property
    def samples(self) -> DataFrame:
        """One row per sample × epoch × scorer; statistics as ``score.correct``, group fields as ``group.hop``.

        A stage's outputs are in ``stage.answer``. Beside texts and numbers there are lists of texts and, in ``audio``,
        of objects with the same keys: ``run.samples.to_parquet("samples.parquet")`` holds them all (with pyarrow).
        """
        return _frame(row for sample in self.rows() for row in _sample_rows(sample))


def load_run(run: str | Path, reports: str | Path = "reports") -> Run:
    """The run in the folder ``run``, or of that name under ``reports``.

    Raises UsageError when there is none, when it never finished, or when another version wrote it.
    """
    folder = next((path for path in (Path(run), Path(reports) / run) if path.is_dir()), None)
    if folder is None:
        raise UsageError(f"there is no run {str(run)!r}: neither the folder {run} nor {Path(reports) / run} exists")
    path = folder / RECORD
    try:
        record = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise UsageError(f"{folder} has no {RECORD}: {_unfinished(folder)}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is not JSON ({error}): it was edited or cut; run again, which asks no model"
        ) from error
    schema = record.get("schema") if isinstance(record, dict) else None
    if schema != SCHEMA:
        raise UsageError(
            f"{path} has the schema {schema!r} but this version reads {SCHEMA!r}: read it with the one that wrote it"
        )
    try:
        check_regressions(record)
    except FieldError as error:
        raise UsageError(
            f"{path}: {error}: it was edited, or another version wrote it; run again, which asks no model"
        ) from error
    return Run(folder, record)


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
        raise UsageError(
            "frames need pandas: pip install 'pytest-audiobench[frames]'; .rows() works without"
        ) from error
    return pandas.DataFrame(list(rows))


def _item_row(item: Mapping[str, Any]) -> dict[str, Any]:
    coverage = item["scorers"][0]["coverage"] if item["scorers"] else {}
    return {
        **{name: value for name, value in item.items() if name not in _NESTED},
        "top_finding": (item.get("findings") or {}).get("top_finding"),
        "verdicts": ", ".join(verdict["status"] for verdict in item["verdicts"]),
        "regressions": ", ".join(line["status"] for line in item.get("regressions", ())),
        **_prefixed("perturbation", item.get("perturbation") or {}),
        **_prefixed("coverage", coverage),
        **_prefixed("asking", item["asking"]),
        **_prefixed("hashes", item["hashes"]),
        **_prefixed("speed", {figure["name"]: figure["value"] for figure in item.get("speed", ())}),
        **{
            name: value
            for alias, counts in item["judges"].items()
            for name, value in _prefixed(f"judges.{alias}", counts).items()
        },
        **_prefixed("options", {name: _option_text(value) for name, value in item["options"].items()}),
    }


def _metric_row(eval_: str | None, suite: str, owner: Mapping[str, Any], metric: Mapping[str, Any]) -> dict[str, Any]:
    group = ",".join(f"{name}={value}" for name, value in metric["group"].items())
    names = {"eval": eval_, "suite": suite, "model": owner["model"]}
    return {**names, **metric, "group": group, **_prefixed("group", metric["group"])}


def _owner(suite: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: value for name, value in record.items() if isinstance(value, str)}
    return {"suite": suite["name"], "model": suite["model"], **texts}


def _perturbation_row(suite: Mapping[str, Any], summary: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    difference: Mapping[str, Any] = next(
        (each for each in summary["differences"] if each["perturbation"] == point["perturbation"]), {}
    )
    names = ("reference", "drop", "lower", "upper", "p", "p_holm", "pairs", "worse", "better", "method")
    return {
        **_owner(suite, summary),
        **point,
        "weight": summary["weights"][point["perturbation"]],
        **_prefixed("mean", summary["mean"]),
        **{name if name in ("reference", "drop") else f"drop.{name}": difference.get(name) for name in names},
    }


def _regression_row(item: Mapping[str, Any], line: Mapping[str, Any]) -> dict[str, Any]:
    nested = ("group", "left_out", "examples")
    return {
        **{name: item[name] for name in _OF_ITEM},
        **{name: value for name, value in line.items() if name not in nested},
        "group": ",".join(f"{name}={value}" for name, value in line["group"].items()),
        **_prefixed("group", line["group"]),
        **_prefixed("left_out", line["left_out"]),
    }


def _finding_row(item: Mapping[str, Any], finding: Mapping[str, Any]) -> dict[str, Any]:
    sides = {
        name: {key: _option_text(value) if key == "clips" else value for key, value in finding[name].items()}
        for name in _SIDES
    }
    return {
        **{name: item[name] for name in _OF_ITEM},
        "top": finding["id"] == item["findings"]["top_finding"],
        **{name: value for name, value in finding.items() if name not in ("slice", *_SIDES)},
        **finding["slice"],
        **{name: value for side in _SIDES for name, value in _prefixed(side, sides[side]).items()},
    }


def _sample_rows(sample: dict[str, Any]) -> Iterator[dict[str, Any]]:
    base = {name: _writable(value) for name, value in sample.items() if name not in ("scorers", "groups", "stages")}
    for name, scorer in sample["scorers"].items():
        yield {
            **base,
            "scorer": name,
            "status": scorer["status"],
            "value": scorer["value"],
            **_prefixed("score", scorer["scores"]),
            **_prefixed("group", sample["groups"]),
            **_prefixed("stage", sample["stages"]),
        }


def _option_text(value: Any) -> str:
    """An option as text: one column holds those of many families, and a column in a file has one kind."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _writable(value: Any) -> Any:
    """A data set's texts as they can be written: half of a surrogate pair, which no file holds, is replaced."""
    if isinstance(value, str):
        return repaired(value)[0]
    return [_writable(element) for element in value] if isinstance(value, list) else value


def _prefixed(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{name}": value for name, value in values.items()}
