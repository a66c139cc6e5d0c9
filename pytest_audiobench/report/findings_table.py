"""What a reader should see of a run's findings, drawn once from its record: for terminal, summary and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pytest_audiobench.metrics.metric import POINTS, SHARE
from pytest_audiobench.report.formatting import Sign, drawn, value_text

Json: TypeAlias = Mapping[str, Any]

SIGNS: Mapping[str, Sign] = {
    "validated": Sign("●", "warn", "validated"),
    "candidate": Sign("○", "warn", "candidate"),
    "rejected": Sign("·", "plain", "rejected"),
    "untested": Sign("–", "plain", "untested"),
}
"""A finding is no verdict: nothing fails by it."""

_SHOWN_PHRASES = 10
_MOST_DOMAINS = 6


@dataclass(frozen=True)
class Half:
    """One half of the clips: the uplift in points with its interval, both rates, p, and where they are drawn."""

    uplift: str
    interval: str
    rates: str
    clips: str
    p: str
    at: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Row:
    """One domain's finding as texts."""

    part: str
    mark: str
    tone: str
    status: str
    why: str
    q: str
    discovery: Half
    holdout: Half


@dataclass(frozen=True)
class Phrase:
    """What was answered, how often, and in which domains."""

    text: str
    count: int
    where: str


@dataclass(frozen=True)
class FindingsView:
    """The findings of one eval; ``rule`` says what its statuses mean."""

    eval: str
    model: str
    metric: str
    by: str
    summary: str
    rule: str
    rows: Sequence[Row]
    phrases: Sequence[Phrase]


def findings_view(record: Json) -> list[FindingsView]:
    """The findings of each eval that has some, in their order."""
    return [_found(item, item["findings"]) for item in record["items"] if (item.get("findings") or {}).get("findings")]


def title(one: FindingsView, several: bool) -> str:
    """``findings of suite/eval: hallucination_rate by domain: 1 validated, 3 rejected``."""
    name = f"{one.eval} · {one.model}" if several else one.eval
    return f"findings of {name}, {one.metric} by {one.by}: {one.summary}"


def phrase_text(one: Phrase) -> str:
    """``“thank you” 12 times (hum 9, cafe 3)``."""
    return f"“{one.text}” {one.count} times ({one.where})" if one.count > 1 else f"“{one.text}” once ({one.where})"


def _found(item: Json, findings: Json) -> FindingsView:
    methods = findings["findings_methods"]
    # A record's objects are in the order of their names.
    counts = {status: findings["validation_summary"].get(status, 0) for status in SIGNS}
    return FindingsView(
        eval=item["eval"],
        model=item["model"],
        metric=findings["findings"][0]["metric"],
        by=methods["by"],
        summary=", ".join(f"{count} {status}" for status, count in counts.items() if count),
        rule=_rule(methods, counts),
        rows=[_row(one, methods["by"]) for one in findings["findings"]],
        phrases=[_phrase(one) for one in findings.get("phrases", ())[:_SHOWN_PHRASES]],
    )


def _rule(methods: Json, counts: Mapping[str, int]) -> str:
    aside, split = methods["holdout_fraction"], methods["split"]
    few = (
        f"untested: fewer than {methods['fewest_clusters']} recordings of a {methods['by']}, or of all others, on "
        "either side of the split"
    )
    if not methods["tested"]:
        return few
    told = (
        f"validated: a higher rate than all others together on {100 * (1 - aside):.0f} % of the clips (q at most "
        f"{methods['discovery_alpha']:g}), seen again on the {100 * aside:.0f} % kept aside (p at most "
        f"{methods['holdout_alpha']:.3g}, split by seed {split['seed']}); the probability of any false one among "
        f"{methods['tested']} tested is at most {methods['alpha']:g}. candidate: not seen again clearly enough"
    )
    return f"{told}. {few}" if counts["untested"] else told


def _row(one: Json, by: str) -> Row:
    sign = SIGNS.get(one["status"], Sign("", "plain", str(one["status"])))
    discovery = {**one["discovery"], **{name: one[name] for name in ("effect_size", "ci_lower", "ci_upper")}}
    return Row(
        part=str(one["slice"][by]),
        mark=sign.mark,
        tone=sign.tone,
        status=sign.words,
        why=one["validation_notes"],
        q=_p(one["adjusted_p_value"]),
        discovery=_half(discovery),
        holdout=_half(one["holdout"]),
    )


def _half(side: Json) -> Half:
    at, low, high = (side[name] for name in ("effect_size", "ci_lower", "ci_upper"))
    own, others = (value_text(side[name], SHARE) for name in ("domain_rate", "other_rate"))
    return Half(
        uplift="–" if at is None else f"{100 * at:+.1f}",
        interval="" if low is None or high is None else f"{100 * low:+.1f} to {100 * high:+.1f}",
        rates=f"{own} and {others}",
        clips=f"{side['clip_count_domain']} and {side['clip_count_other']}",
        p=_p(side["p_value"]),
        at=drawn(at, POINTS),
        low=drawn(low, POINTS),
        high=drawn(high, POINTS),
    )


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _phrase(one: Json) -> Phrase:
    ordered = sorted(one["domains"].items(), key=lambda domain: (-domain[1], domain[0]))
    domains = [f"{name} {count}" for name, count in ordered[:_MOST_DOMAINS]]
    more = len(one["domains"]) - len(domains)
    return Phrase(one["phrase"], one["count"], ", ".join([*domains, *([f"{more} more"] if more else [])]))
