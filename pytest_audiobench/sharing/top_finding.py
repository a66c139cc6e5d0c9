"""The first finding of a suite, with the way to its evidence: the eval, the samples, and how they were split."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.baseline.contents import Contents
from pytest_audiobench.metrics.estimates import value_of
from pytest_audiobench.metrics.registry import is_known, metric_kind
from pytest_audiobench.runs.sides import Side, statistics_of
from pytest_audiobench.sharing.submission import decimals

Json = Mapping[str, Any]

_HALVES = ("discovery", "holdout")


def findings_of(items: Sequence[Json]) -> list[dict[str, Any]]:
    """What was found of each item. The phrases that a model made up are texts, and stay in the run."""
    return [
        {"eval": item["eval"], **decimals({name: one for name, one in item["findings"].items() if name != "phrases"})}
        for item in items
        if item.get("findings")
    ]


def top_of(findings: Sequence[Json], evidence: Contents) -> dict[str, Any] | None:
    """The top finding of the first item that has one, and the ids of the samples that it is about."""
    for one in findings:
        top = next((own for own in one["findings"] if own.get("id") == one["top_finding"]), None)
        if one["top_finding"] and top is not None:
            samples = _samples(top, evidence.sides[one["eval"]])
            return {"eval": one["eval"], "id": str(top["id"]), "finding": top, "samples": samples}
    return None


def wrong_of(payload: Json, evidence: Contents) -> list[str]:
    """What of the top finding does not follow from the rest of the payload and from the samples' statistics."""
    top = payload["top_finding"]
    try:
        expected = top_of(payload["findings"], evidence)
        if top is None or expected is None:
            return [] if top is expected else ["it is none of the findings"]
        if top != expected:
            return ["it is not the first of the findings, or of other samples than those of its part"]
        return list(_wrong_rates(top, evidence.sides[top["eval"]]))
    except (KeyError, TypeError, AttributeError, ValueError):
        return ["the findings are not as a run records them"]


def _samples(finding: Json, side: Side) -> list[str]:
    """The samples of the part that the finding is about: those it names, else those of its group."""
    named = [finding[half].get("clips") for half in _HALVES]
    if None not in named:
        return sorted({str(name) for own in named for name in own})
    part = {str(name): str(value) for name, value in finding["slice"].items()}
    return sorted({row.sample_id for row in side.rows if row.is_in(part)})


def _wrong_rates(top: Json, side: Side) -> Iterator[str]:
    finding = top["finding"]
    metric = str(finding["metric"])
    reading = next((name for name, own in side.metrics.items() if metric in own), None)
    if reading is None or not is_known(metric):
        return
    known = {row.sample_id for row in side.rows}
    for half in _HALVES:
        clips, told = finding[half].get("clips"), finding[half].get("domain_rate")
        if clips is None or told is None:
            continue
        if not known.issuperset(clips):
            yield f"the {half} names samples that the evidence has not"
            continue
        named = set(clips)
        rows = [row for row in side.rows if row.sample_id in named]
        found = [one for row in rows if (one := statistics_of(row, reading, metric)) is not None]
        try:
            value = value_of(metric_kind(metric), found)
        except (UsageError, ArithmeticError, LookupError, TypeError, ValueError):
            value = math.nan
        if not math.isclose(float(told), value, rel_tol=1e-9, abs_tol=1e-12):
            yield f"{metric} of the {half} is said to be {told}, and its samples give {value:.6g}"


def told(payload: Json) -> Iterator[str]:
    """The top finding of a payload that holds and the way to its evidence, a line each; nothing where there is none."""
    top = payload["top_finding"]
    if top is None:
        return
    finding, samples = top["finding"], top["samples"]
    effect = _number(finding.get("effect_size"))
    yield f"top finding: {top['id']} in {top['eval']}, {finding.get('status')}: effect {effect}"
    for half in _HALVES:
        own = finding.get(half, {})
        clips = own.get("clips")
        named = "" if clips is None else f": {', '.join(map(str, clips))}"
        rates = f"{_number(own.get('domain_rate'))} against {_number(own.get('other_rate'))} of the others"
        yield f"{half}: {rates}, p {_number(own.get('p_value'))}, {own.get('clip_count_domain')} samples{named}"
    methods = (one["findings_methods"] for one in payload["findings"] if one["eval"] == top["eval"])
    if split := next(methods).get("split"):
        yield f"split by seed {split.get('seed')}: {split.get('rule')}"
    part = ", ".join(f"{name} {value}" for name, value in finding["slice"].items())
    yield f"evidence: payload.evidence, eval {top['eval']}, the lines of the {len(samples)} samples of {part}"


def _number(value: object) -> str:
    """A decimal as people read it; what is none, as it is."""
    try:
        return f"{float(str(value)):.4g}"
    except ValueError:
        return str(value)
