"""A finished run read back: its record, its samples one by one, and pandas frames for those who want them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.confusion import confusion, gives_letters
from pytest_audiobench.evaluation.record import SCHEMA
from pytest_audiobench.evaluation.store import repaired
from pytest_audiobench.gate.regression_records import check_regressions
from pytest_audiobench.gate.strict_json import FieldError
from pytest_audiobench.report import run_parts
from pytest_audiobench.report.joined_samples import joined, plain
from pytest_audiobench.report.run_files import LINE_FILES, RECORD

if TYPE_CHECKING:
    from pandas import DataFrame

_SIDES = ("discovery", "holdout")
"""The halves of the samples that a finding is held against."""


@dataclass(frozen=True)
class Run:
    """A finished run. ``record`` is run.json; its schema is docs/run.schema.json.

    A column of the frames holds values of one kind, so that Parquet and databases take them as they are.
    """

    folder: Path
    record: Mapping[str, Any] = field(repr=False)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One mapping per sample and epoch, in the run's order, with at most one in memory; needs no pandas."""
        return map(plain, joined(self.folder))

    def confusion(self, eval: str, model: str | None = None) -> DataFrame:
        """What was said for what was true in one eval, by its headline protocol.

        ``model`` is needed where several did it. Raises UsageError where there is no such eval or no one model, and
        where its samples have no list of labels with one true.
        """
        found = [item for item in self.record["items"] if item["eval"] == eval and model in (None, item["model"])]
        if len(found) != 1 or not found[0]["scorers"]:
            listed = ", ".join(f"{item['eval']} by {item['model']}" for item in self.record["items"])
            wanted = eval if model is None else f"{eval} by {model}"
            raise UsageError(f"{len(found)} measured evals of this run are {wanted!r}; it holds {listed}")
        item = found[0]
        scorer = item["scorers"][0]
        rows = (row for row in self.rows() if (row["eval"], row["model"]) == (item["eval"], item["model"]))
        samples = ({**row, "value": row["scorers"].get(scorer["name"], {}).get("value")} for row in rows)
        return cast("DataFrame", confusion(samples, gives_letters(scorer["signature"])))

    @cached_property
    def items(self) -> DataFrame:
        """One row per eval × model; columns such as ``hashes.input_hash``, ``asking.asked``, ``coverage.parsed``."""
        return _frame([_item_row(item) for item in self.record["items"]])

    @cached_property
    def metrics(self) -> DataFrame:
        """One row per number: an eval's, a group's where ``group`` is not empty, a suite's where ``eval`` is None."""
        of_items = [
            _metric_row(item["eval"], item["suite"], item, m) for item in self.record["items"] for m in item["metrics"]
        ]
        of_suites = [
            _metric_row(None, suite["name"], suite, m) for suite in self.record["suites"] for m in suite["metrics"]
        ]
        return _frame(of_items + of_suites)

    @cached_property
    def regressions(self) -> DataFrame:
        """One row per line that was held against the baseline; columns as :class:`RegressionRecord` has them."""
        return _frame(
            [_regression_row(item, one) for item in self.record["items"] for one in item.get("regressions", ())]
        )

    @cached_property
    def findings(self) -> DataFrame:
        """One row per part of an eval that was held against all others; columns such as ``holdout.effect_size``.

        ``top`` marks the eval's top finding; ``domain`` (or what the eval's findings are by) says which part it is.
        """
        return _frame([_finding_row(item, one) for item in self.record["items"] for one in _findings(item)])

    @cached_property
    def curves(self) -> DataFrame:
        """One row per point of a curve; ``slope.value``, ``area.lower`` and their like are the whole curve's."""
        return _frame(
            [
                {
                    **_owned(suite, curve),
                    **point,
                    **_prefixed("slope", curve["slope"]),
                    **_prefixed("area", curve["area"]),
                }
                for suite in self.record["suites"]
                for curve in suite.get("curves", ())
                for point in curve["points"]
            ]
        )

    @cached_property
    def perturbations(self) -> DataFrame:
        """One row per perturbation and metric, with its ``weight`` in ``mean.value`` and, where it is held against
        another, the ``drop`` from its ``reference``; what says how is in ``drop.method`` and its like.
        """
        return _frame(
            [
                _perturbation_row(suite, one, point)
                for suite in self.record["suites"]
                for one in suite.get("perturbations", ())
                for point in one["points"]
            ]
        )

    @cached_property
    def samples(self) -> DataFrame:
        """One row per sample × epoch × scorer; statistics as ``score.correct``, group fields as ``group.hop``.

        A stage's outputs are in ``stage.answer``. Beside texts and numbers there are lists of texts and, in ``audio``,
        of objects with the same keys: ``run.samples.to_parquet("samples.parquet")`` holds them all (with pyarrow).
        """
        return _frame([row for one in self.rows() for row in _sample_rows(one)])


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
    done = len(list((folder / run_parts.FOLDER).glob("*.item.json")))
    merged = [name for name in LINE_FILES.values() if (folder / name).exists()]
    if not done and not merged and not (folder / run_parts.FOLDER).is_dir():
        return "it is not the folder of a run"
    left = (
        f"{done} finished evals can be read under {folder / run_parts.FOLDER}" if done else "no eval in it has finished"
    )
    return f"the run crashed or is still going; {left}, and the same command run again asks only what is missing"


def _frame(rows: list[dict[str, Any]]) -> DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise UsageError(
            "frames need pandas: pip install 'pytest-audiobench[frames]'; .rows() works without"
        ) from error
    return pandas.DataFrame(rows)


def _item_row(item: Mapping[str, Any]) -> dict[str, Any]:
    nested = (
        "scorers",
        "metrics",
        "hashes",
        "asking",
        "errors",
        "warnings",
        "agreement",
        "verdicts",
        "regressions",
        "taken",
        "speed",
        "judges",
        "options",
        "findings",
        "perturbation",
        "stages",
    )
    coverage = item["scorers"][0]["coverage"] if item["scorers"] else {}
    return {
        **{name: value for name, value in item.items() if name not in nested},
        "top_finding": (item.get("findings") or {}).get("top_finding"),
        "verdicts": ", ".join(verdict["status"] for verdict in item["verdicts"]),
        "regressions": ", ".join(one["status"] for one in item.get("regressions", ())),
        **_prefixed("perturbation", item.get("perturbation") or {}),
        **_prefixed("coverage", coverage),
        **_prefixed("asking", item["asking"]),
        **_prefixed("hashes", item["hashes"]),
        **_prefixed("speed", {figure["name"]: figure["value"] for figure in item.get("speed", ())}),
        **{
            name: value
            for alias, one in item["judges"].items()
            for name, value in _prefixed(f"judges.{alias}", one).items()
        },
        **_prefixed("options", {name: _told(value) for name, value in item["options"].items()}),
    }


def _metric_row(eval_: str | None, suite: str, owner: Mapping[str, Any], metric: Mapping[str, Any]) -> dict[str, Any]:
    group = ",".join(f"{name}={value}" for name, value in metric["group"].items())
    return {
        "eval": eval_,
        "suite": suite,
        "model": owner["model"],
        **metric,
        "group": group,
        **_prefixed("group", metric["group"]),
    }


def _owned(suite: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
    """What a curve, or a summary of perturbations, is of: its plain values."""
    plain_ = {name: value for name, value in found.items() if isinstance(value, str)}
    return {"suite": suite["name"], "model": suite["model"], **plain_}


def _perturbation_row(suite: Mapping[str, Any], one: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    held: Mapping[str, Any] = next(
        (each for each in one["differences"] if each["perturbation"] == point["perturbation"]), {}
    )
    names = ("reference", "drop", "lower", "upper", "p", "p_holm", "pairs", "worse", "better", "method")
    return {
        **_owned(suite, one),
        **point,
        "weight": one["weights"][point["perturbation"]],
        **_prefixed("mean", one["mean"]),
        **{name if name in ("reference", "drop") else f"drop.{name}": held.get(name) for name in names},
    }


def _regression_row(item: Mapping[str, Any], one: Mapping[str, Any]) -> dict[str, Any]:
    nested = ("group", "left_out", "examples")
    return {
        "eval": item["eval"],
        "suite": item["suite"],
        "model": item["model"],
        **{name: value for name, value in one.items() if name not in nested},
        "group": ",".join(f"{name}={value}" for name, value in one["group"].items()),
        **_prefixed("group", one["group"]),
        **_prefixed("left_out", one["left_out"]),
    }


def _findings(item: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return item["findings"]["findings"] if item.get("findings") else ()


def _finding_row(item: Mapping[str, Any], one: Mapping[str, Any]) -> dict[str, Any]:
    sides = {
        name: {key: _told(value) if key == "clips" else value for key, value in one[name].items()} for name in _SIDES
    }
    return {
        "eval": item["eval"],
        "suite": item["suite"],
        "model": item["model"],
        "top": one["id"] == item["findings"]["top_finding"],
        **{name: value for name, value in one.items() if name not in ("slice", *_SIDES)},
        **one["slice"],
        **{name: value for side in _SIDES for name, value in _prefixed(side, sides[side]).items()},
    }


def _sample_rows(one: dict[str, Any]) -> Iterator[dict[str, Any]]:
    base = {name: _valid(value) for name, value in one.items() if name not in ("scorers", "groups", "stages")}
    for name, scorer in one["scorers"].items():
        yield {
            **base,
            "scorer": name,
            "status": scorer["status"],
            "value": scorer["value"],
            **_prefixed("score", scorer["scores"]),
            **_prefixed("group", one["groups"]),
            **_prefixed("stage", one["stages"]),
        }


def _told(value: Any) -> str:
    """An option as text: one column holds those of many families, and a column in a file has one kind."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _valid(value: Any) -> Any:
    """A data set's texts as they can be written: half of a surrogate pair, which no file holds, is replaced."""
    if isinstance(value, str):
        return repaired(value)[0]
    return [_valid(one) for one in value] if isinstance(value, list) else value


def _prefixed(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{name}": value for name, value in values.items()}
