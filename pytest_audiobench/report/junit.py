"""An item's numbers as JUnit properties, the form that CI dashboards read."""

from __future__ import annotations

import re

from pytest_audiobench.runs.record import ItemRecord
from pytest_audiobench.runs.result import metric_key

_TARGET = re.compile(r"\s*([A-Za-z][\w-]*(?:\[[^\]]*\])?)")


def properties(item: ItemRecord) -> list[tuple[str, str]]:
    """Name and text pairs: numbers, thresholds with their verdicts, protocols' signatures, coverage and hashes.

    A metric's are ``eval.<metric>.score``, ``.lower``, ``.upper``, ``.n``, ``.threshold`` and ``.passed``, where
    ``<metric>`` is ``accuracy``, or ``accuracy[protocol=mmau-string]`` beside the headline. Groups, which can be
    hundreds, have properties only where a threshold names them.
    A number that does not exist has no property.
    """
    headline = item.readings[0].name if item.readings else ""
    found = [("eval.name", item.eval), ("eval.model", item.model), ("eval.outcome", item.outcome)]
    for metric in (metric for metric in item.metrics if not metric.group):
        name = f"eval.{metric_key(metric, headline)}"
        numbers = {"score": metric.value, "lower": metric.lower, "upper": metric.upper, "n": metric.n}
        found += [(f"{name}.{what}", repr(number)) for what, number in numbers.items() if number is not None]
    for verdict in item.verdicts:
        target = _TARGET.match(verdict.threshold)
        name = f"eval.{target[1] if target else 'check'}"
        found.append((f"{name}.threshold", verdict.threshold))
        found.append((f"{name}.passed", {"pass": "true", "fail": "false"}.get(verdict.status, verdict.status)))
    for reading in item.readings:
        found.append((f"eval.protocol.{reading.name}", reading.signature))
    for status, count in (item.readings[0].coverage if item.readings else {}).items():
        found.append((f"eval.coverage.{status}", str(count)))
    hashes = ("input_hash", "run_hash", "score_hash")
    return found + [(f"eval.{name}", item.hashes[name]) for name in hashes if name in item.hashes]
