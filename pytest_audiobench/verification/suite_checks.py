"""A suite's record held against what its evals' scored lines come to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from pytest_audiobench.evaluation.curves import TREND
from pytest_audiobench.verification.checks import Check, fails, ok, unknown
from pytest_audiobench.verification.score_checks import Numbers

Json: TypeAlias = Mapping[str, Any]


def counts(recorded: Json, found: Json, sound: bool, numbers: Numbers) -> Iterator[Check]:
    """How many samples and evals there are, and how they were answered; ``sound`` where the evals' counts hold."""
    if not sound:
        yield unknown("counts", "they rest on an eval's counts, which fail")
        return
    odd = [name for name in ("n", "evals", "limited", "scorers") if numbers.differ(recorded.get(name), found[name])]
    yield fails("counts", f"{', '.join(odd)} are not those of the suite's evals") if odd else ok("counts")


def perturbations(recorded: Json, found: Json, sound: bool, numbers: Numbers) -> Iterator[Check]:
    """What a suite says of its perturbations, where it has any; ``sound`` where the evals' metrics hold."""
    for name in ("curves", "perturbations"):
        if name in recorded and (recorded[name] or found[name]):
            if not sound:
                yield unknown(name, "they rest on an eval's metrics, which fail")
            elif numbers.differ(recorded[name], _known_then(recorded[name], found[name])):
                yield fails(name, f"they are others recomputed than in run.json{numbers.but}")
            else:
                yield ok(name)


def _known_then(recorded: Any, found: Any) -> Any:
    """``found`` without the tests of trend that runs did not record before there were any."""
    slopes = [one.get("slope") for one in recorded if isinstance(one, dict)] if isinstance(recorded, list) else []
    if any(not isinstance(slope, dict) or "p" in slope for slope in slopes) or not slopes:
        return found
    return [{**one, "slope": _untested(one["slope"])} for one in found]


def _untested(slope: Json) -> Json:
    kept = {name: value for name, value in slope.items() if name not in ("p", "p_holm")}
    return {**kept, "method": slope["method"].partition(TREND)[0]}


def pooled_metrics(recorded: Json, found: Json, numbers: Numbers) -> Iterator[Check]:
    """The pooled metrics; those that only a test registers are not known here."""
    own = [one for one in recorded["metrics"] if one["scorer"] is not None]
    known = {one["name"] for one in found["metrics"]}
    told = numbers.metrics([one for one in own if one["name"] in known], found["metrics"])
    yield fails("metrics", told) if told else ok("metrics")
    if left := sorted({one["name"] for one in own} - known):
        yield unknown("further metrics", f"{', '.join(left)}: they are registered by a test, or not pooled")
