"""What a reader should see of a run's findings: as data for the page, as tables for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_audiobench.metrics.metric import POINTS, SHARE
from pytest_audiobench.metrics.value import bounds_text
from pytest_audiobench.records import run as records
from pytest_audiobench.report import formatting
from pytest_audiobench.report.safe_text import escaped, table_row
from pytest_audiobench.report.view_model import aliases

SIGNS: Mapping[str, formatting.Sign] = {
    "validated": formatting.Sign("●", "warn", "validated"),
    "candidate": formatting.Sign("○", "warn", "candidate"),
    "rejected": formatting.Sign("·", "plain", "rejected"),
    "untested": formatting.Sign("–", "plain", "untested"),
}
"""A finding is not a verdict: nothing fails by it."""

_MOST_PHRASES = 10
_MOST_DOMAINS = 6
_LONGEST_NAME = 24
_HEAD = ("Rate", "Interval", "Uplift, pp", "Interval", "q", "Uplift on holdout", "Interval", "p", "Status")


@dataclass(frozen=True)
class Half:
    """One half of the clips, discovery or holdout."""

    uplift: str
    """In pp."""
    interval: str
    rates: str
    clips: str
    p: str
    at: float | None
    """Where the uplift is drawn, as ``low`` and ``high`` for its interval."""
    low: float | None
    high: float | None


class Rate(NamedTuple):
    """How often the model failed at all, as texts; a dash where it is not on record."""

    value: str
    interval: str
    n: str
    """Clips, times epochs."""

    @property
    def text(self) -> str:
        """``87.5 % (61.7 to 98.4) of 16``."""
        return " ".join(filter(None, (self.value, self.interval and f"({self.interval})", self.n and f"of {self.n}")))


_UNKNOWN = Rate("–", "", "")


@dataclass(frozen=True)
class Row:
    """One domain's finding as texts."""

    part: str
    rate: Rate
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
    """The findings of one eval."""

    eval: str
    model: str
    metric: str
    by: str
    rate: Rate
    """Of all domains together."""
    summary: str
    rule: str
    rows: Sequence[Row]
    phrases: Sequence[Phrase]


def findings_view(record: records.RunRecord) -> list[FindingsView]:
    """The findings of each eval that has some, in their order."""
    views = (_view(item, item.findings) for item in record.items if item.findings is not None)
    return [view for view in views if view is not None]


def lines(record: records.RunRecord) -> Iterator[tuple[str, bool]]:
    """A table for each eval that has findings, its rule and most frequent phrases; and which lines are heads."""
    several = len(aliases(record)) > 1
    for view in findings_view(record):
        yield "", False
        yield formatting.printable(title(view, several)), True
        yield f"  {formatting.printable(rates_text(view))}", False
        yield from ((text, False) for text in _table(view))
        yield f"  {formatting.printable(view.rule)}", False
        if view.phrases:
            yield formatting.printable(f"  most frequent phrases: {'; '.join(map(phrase_text, view.phrases))}"), False
        yield "", False


def markdown(record: records.RunRecord) -> Iterator[tuple[str, list[str]]]:
    """The same as Markdown: a title and the lines of each table; what came from outside is escaped."""
    several = len(aliases(record)) > 1
    for view in findings_view(record):
        rows = [table_row((escaped(view.by), *_HEAD)), table_row((":--", *("--:",) * (len(_HEAD) - 1), ":--"))]
        for row in view.rows:
            first, second = row.discovery, row.holdout
            halves = (first.uplift, first.interval, row.q, second.uplift, second.interval, second.p)
            cells = (row.part, row.rate.value, row.rate.interval, *halves)
            rows.append(table_row((*map(escaped, cells), f"{row.mark} {escaped(row.status)}")))
        rows += ["", f"- {view.metric} of all: {escaped(view.rate.text)}", f"- {escaped(view.rule, 600)}"]
        rows += [f"- frequent phrase: {escaped(phrase_text(phrase))}" for phrase in view.phrases]
        yield title(view, several), rows


def title(view: FindingsView, several: bool) -> str:
    """``findings of suite/eval, hallucination_rate by domain: 1 validated, 3 rejected``."""
    name = formatting.eval_name(view.eval, view.model, several)
    return f"findings of {name}, {view.metric} by {view.by}: {view.summary}"


def rates_text(view: FindingsView) -> str:
    """``hallucination_rate 33.3 % (20.8 to 48.6) of 42; hum 100.0 % (76.8 to 100.0) of 14; …``, whatever differs."""
    parts = [f"{row.part} {row.rate.text}" for row in view.rows if row.rate.n]
    return "; ".join([f"{view.metric} {view.rate.text}", *parts])


def phrase_text(phrase: Phrase) -> str:
    """``“thank you” 12 times (hum 9, cafe 3)``."""
    often = f"{phrase.count} times" if phrase.count > 1 else "once"
    return f"“{phrase.text}” {often} ({phrase.where})"


def _table(view: FindingsView) -> list[str]:
    rows = [(view.by, "uplift", "interval", "q", "holdout", "p", "status")]
    for row in view.rows:
        name = row.part if len(row.part) <= _LONGEST_NAME else f"{row.part[: _LONGEST_NAME - 1]}…"
        first, second = row.discovery, row.holdout
        rows.append((name, first.uplift, first.interval, row.q, second.uplift, second.p, f"{row.mark} {row.status}"))
    return formatting.aligned(rows, left=(0, 6))


def _view(item: records.ItemRecord, findings: records.FindingsRecord) -> FindingsView | None:
    methods = findings.findings_methods
    if methods is None or not findings.findings:
        return None
    # A record's objects are in the order of their names.
    counts = {status: findings.validation_summary.get(status, 0) for status in SIGNS}
    metric = findings.findings[0].metric
    rates = _rates(item, metric, methods.by)
    return FindingsView(
        eval=item.eval,
        model=item.model,
        metric=metric,
        by=methods.by,
        rate=rates.get(None, _UNKNOWN),
        summary=", ".join(f"{count} {status}" for status, count in counts.items() if count),
        rule=_rule(methods, counts),
        rows=[_row(finding, methods.by, rates) for finding in findings.findings],
        phrases=[_phrase(record) for record in findings.phrases[:_MOST_PHRASES]],
    )


def _rule(methods: records.FindingMethodsRecord, counts: Mapping[str, int]) -> str:
    holdout = methods.holdout_fraction
    untested = (
        f"untested: fewer than {methods.fewest_clusters} recordings of a {methods.by}, or of all others, on "
        "either side of the split"
    )
    if not methods.tested:
        return untested
    rule = (
        f"validated: a higher rate than all others together on {100 * (1 - holdout):.0f} % of the clips (q at most "
        f"{methods.discovery_alpha:g}), confirmed on the holdout of {100 * holdout:.0f} % (p at most "
        f"{methods.holdout_alpha:.3g}, split by seed {methods.split.seed}); the probability of any false one among "
        f"{methods.tested} tested is at most {methods.alpha:g}. candidate: not confirmed clearly enough"
    )
    return f"{rule}. {untested}" if counts["untested"] else rule


def _rates(item: records.ItemRecord, name: str, by: str) -> dict[str | None, Rate]:
    rates: dict[str | None, Rate] = {}
    for metric in item.metrics:
        if metric.name == name and metric.group.keys() <= {by}:
            rate = Rate(
                formatting.value_text(metric.value, metric.unit),
                formatting.interval_text(metric, metric.unit),
                str(metric.n),
            )
            rates.setdefault(metric.group.get(by), rate)
    return rates


def _row(finding: records.FindingRecord, by: str, rates: Mapping[str | None, Rate]) -> Row:
    sign = SIGNS[finding.status]
    return Row(
        part=finding.slice[by],
        rate=rates.get(finding.slice[by], _UNKNOWN),
        mark=sign.mark,
        tone=sign.tone,
        status=sign.words,
        why=finding.validation_notes,
        q=p_text(finding.adjusted_p_value),
        discovery=_half(finding.discovery, finding),
        holdout=_half(finding.holdout, finding.holdout),
    )


def _half(side: records.FindingSideRecord, uplift: records.FindingRecord | records.HoldoutRecord) -> Half:
    at, low, high = uplift.effect_size, uplift.ci_lower, uplift.ci_upper
    rate, others = formatting.value_text(side.domain_rate, SHARE), formatting.value_text(side.other_rate, SHARE)
    return Half(
        uplift=formatting.value_text(at, POINTS).removesuffix(" pp"),
        interval=bounds_text(low, high, POINTS),
        rates=f"{rate} and {others}",
        clips=f"{side.clip_count_domain} and {side.clip_count_other}",
        p=p_text(side.p_value),
        at=formatting.axis_value(at, POINTS),
        low=formatting.axis_value(low, POINTS),
        high=formatting.axis_value(high, POINTS),
    )


def p_text(value: float | None) -> str:
    """``0.0012``, ``<0.0001``, or a dash for none."""
    if value is None:
        return "–"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _phrase(record: records.PhraseRecord) -> Phrase:
    ordered = sorted(record.domains.items(), key=lambda domain: (-domain[1], domain[0]))
    domains = [f"{name} {count}" for name, count in ordered[:_MOST_DOMAINS]]
    more = len(ordered) - len(domains)
    return Phrase(record.phrase, record.count, ", ".join([*domains, *([f"{more} more"] if more else [])]))
