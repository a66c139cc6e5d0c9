"""An item's numbers as JUnit properties, the form that CI dashboards read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import asdict

from pytest_audiobench.evaluation.result import metric_key
from pytest_audiobench.gate.regression_text import line_text, subject_text
from pytest_audiobench.records.run import ItemRecord, RegressionRecord
from pytest_audiobench.report.formatting import printable

_TARGET = re.compile(r"\s*([A-Za-z][\w-]*(?:\[[^\]]*\])?)")
_MOST = 400
"""Properties of an item: with every report they cross from a worker to the controller."""
_LONGEST = 500


def properties(item: ItemRecord) -> list[tuple[str, str]]:
    """Name and text pairs: verdicts and numbers, scorers' signatures, coverage and hashes.

    A metric's are ``eval.<metric>.score``, ``.lower``, ``.upper``, ``.n``, ``.threshold`` and ``.passed``, where
    ``<metric>`` is ``accuracy``, or ``accuracy[scorer=mmau-string]`` for other scorers. A regression line's are
    ``eval.<metric>.regression`` (the line), ``.verdict``, ``.baseline``, ``.drop``, ``.drop.lower``, ``.drop.upper``,
    ``.drop.bound``, ``.drop.detectable``, ``.margin``, ``.p``, ``.pairs``, ``.worse`` and ``.better``. Groups, which
    can be hundreds, have properties only where a threshold or a regression line names them.
    A number that does not exist has no property. Names and texts hold printable characters only, since pytest writes
    a property's name into the XML as it is; at most 400 properties of 500 characters.
    """
    pairs = list(_properties(item))
    if len(pairs) > _MOST:
        pairs = [*pairs[: _MOST - 1], ("eval.properties_left_out", str(len(pairs) - _MOST + 1))]
    return [(_clean(name), _clean(text)) for name, text in pairs]


def _properties(item: ItemRecord) -> Iterator[tuple[str, str]]:
    headline = item.scorers[0].name if item.scorers else ""
    yield from (("eval.name", item.eval), ("eval.model", item.model), ("eval.outcome", item.outcome))
    for name in ("input_hash", "run_hash", "score_hash"):
        if name in item.hashes:
            yield f"eval.{name}", item.hashes[name]
    for status, count in (asdict(item.scorers[0].coverage) if item.scorers else {}).items():
        # How many there are is the n of the metric called coverage.
        if status != "n":
            yield f"eval.coverage.{status}", str(count)
    for verdict in item.verdicts:
        target = _TARGET.match(verdict.threshold)
        name = f"eval.{target[1] if target else 'check'}"
        yield f"{name}.threshold", verdict.threshold
        yield f"{name}.passed", {"pass": "true", "fail": "false"}.get(verdict.status, verdict.status)
    for regression in item.regressions:
        yield from _regression(regression, headline)
    for metric in (metric for metric in item.metrics if not metric.group):
        numbers = {"score": metric.value, "lower": metric.lower, "upper": metric.upper, "n": metric.n}
        yield from _numbers(f"eval.{metric_key(metric, headline)}", numbers)
    for scorer in item.scorers:
        yield f"eval.scorer.{scorer.name}", scorer.signature


def _regression(line: RegressionRecord, headline: str) -> Iterator[tuple[str, str]]:
    name = f"eval.{subject_text(line, headline)}"
    yield f"{name}.regression", line_text(line, headline)
    yield f"{name}.verdict", line.status
    names = ("baseline", "drop", "margin", "p", "pairs", "worse", "better")
    drops = {f"drop.{bound}": getattr(line, bound) for bound in ("lower", "upper", "bound", "detectable")}
    yield from _numbers(name, {**{number: getattr(line, number) for number in names}, **drops})


def _numbers(name: str, numbers: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    # A NumPy float here would end an xdist worker and leave exit code 0.
    for what, number in numbers.items():
        if number is not None:
            yield f"{name}.{what}", repr(int(number) if isinstance(number, int) else float(number))


def _clean(text: str) -> str:
    return printable(text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…")
