"""One set of answers read by every protocol: a table for each metric, and how far the protocols lie apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_audiobench.evaluation.scoring import SHARES, is_of_wording
from pytest_audiobench.report.formatting import PERCENT_UNITS, interval_text, unanswered_text, value_text

MANY = 3
"""Where an eval was read by more protocols than this, or in several wordings, a table of their own shows them."""

Json = Mapping[str, Any]


@dataclass(frozen=True)
class SweepRow:
    """What one protocol made of the answers. Values are in the metric's own unit (shares are fractions of one).

    ``n`` samples were scored, ``skipped`` left out by the protocol; ``unanswered`` of all could not be read as an
    answer, ``why`` says how; ``failed`` were never asked.
    """

    protocol: str
    signature: str
    value: float | None
    lower: float | None
    upper: float | None
    n: int
    skipped: int
    unanswered: int
    failed: int
    why: str
    value_text: str
    interval_text: str


@dataclass(frozen=True)
class Sweep:
    """A metric over the same answers by each protocol that yields it, in the eval's order.

    ``spread`` is the largest value less the smallest: in points of a percentage for shares and error rates, else in the
    metric's own unit; None for fewer than two numbers.
    """

    metric: str
    unit: str
    direction: str
    rows: tuple[SweepRow, ...]
    spread: float | None
    spread_text: str


def sweeps(owner: Json) -> list[Sweep]:
    """The tables of an item's (or a suite's) record: one for each metric, groups left out."""
    coverages = {(scorer["name"], scorer["signature"]): scorer["coverage"] for scorer in owner["scorers"]}
    by_metric: dict[str, list[Json]] = {}
    for metric in owner["metrics"]:
        if metric["scorer"] is not None and not metric["group"] and metric["name"] not in SHARES:
            by_metric.setdefault(metric["name"], []).append(metric)
    return [_sweep(name, metrics, coverages) for name, metrics in by_metric.items()]


def is_many(owner: Json) -> bool:
    """Whether an item or a suite was read by so many rules that a table of their own shows them."""
    signatures = [scorer["signature"] for scorer in owner["scorers"]]
    return sum(not of_judge(one) for one in signatures) > MANY or any(map(is_of_wording, signatures))


def of_judge(signature: str) -> bool:
    """Whether a scorer is of what a judge said, or of how far one agrees: no further rule for the same answers."""
    return signature.startswith(("judge:", "agreement|")) or "|judge:" in signature


def scale(unit: str) -> float:
    """By what a value of this unit is multiplied to be read: 100 for those that are read as percentages."""
    return 100.0 if unit in PERCENT_UNITS else 1.0


def _sweep(name: str, metrics: Sequence[Json], coverages: Mapping[tuple[str, str], Json]) -> Sweep:
    unit = metrics[0]["unit"]
    rows = tuple(_row(metric, coverages.get((metric["scorer"], metric["signature"]), {})) for metric in metrics)
    values = [row.value for row in rows if row.value is not None]
    spread = scale(unit) * (max(values) - min(values)) if len(values) > 1 else None
    return Sweep(name, unit, metrics[0]["direction"], rows, spread, _spread_text(spread, unit))


def _spread_text(spread: float | None, unit: str) -> str:
    if spread is None:
        return ""
    if unit not in PERCENT_UNITS:
        return f"{spread:.4g} {unit}".rstrip()
    return "under 0.1 points" if 0.0 < spread < 0.05 else f"{spread:.1f} points"


def _row(metric: Json, coverage: Json) -> SweepRow:
    failed = coverage.get("errors", 0)
    return SweepRow(
        protocol=metric["scorer"],
        signature=metric["signature"],
        value=metric["value"],
        lower=metric["lower"],
        upper=metric["upper"],
        n=metric["n"],
        skipped=coverage.get("skipped", 0),
        unanswered=coverage.get("n", 0) - coverage.get("parsed", 0) - failed,
        failed=failed,
        why=unanswered_text({name: count for name, count in coverage.items() if name != "skipped"}),
        value_text=value_text(metric["value"], metric["unit"]),
        interval_text=interval_text(metric),
    )
