"""What changed against the baseline: the run's regression lines, the worst first, as texts and as places to draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_audiobench.gate.regression_text import (
    REASONS,
    amount,
    basis_text,
    certainty_text,
    change_of,
    change_texts,
    line_text,
    open_drop,
    p_text,
    subject_text,
    verdict_text,
)
from pytest_audiobench.io.mistakes import listed
from pytest_audiobench.metrics.metric import FRACTIONS
from pytest_audiobench.records.run import BaselineRecord, ItemRecord, RegressionRecord, RunRecord
from pytest_audiobench.report import formatting

_MOST_NAMES = 3
"""Evals that are inconclusive which the counts name."""


@dataclass(frozen=True)
class LeftOut:
    """Samples in no pair for one reason; ``names`` are some of them."""

    reason: str
    count: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """One regression line of one eval and what became of it, as texts that are ready to read."""

    eval: str
    model: str
    mark: str
    tone: formatting.Tone
    status: str
    subject: str
    """``accuracy[hop=multi]``."""
    line: str
    metric: str
    scorer: str
    group: str
    before: str
    before_at: float | None
    """Where the baseline's value is drawn, in the metric's own unit."""
    now: str
    change: str
    """From the baseline's value, with its sign."""
    interval: str
    bound: str
    """The drop that a pass excludes."""
    margin: str
    p: str
    p_holm: str
    p_better: str
    """Of "it is no better", as is ``q_better``; empty but for what improved."""
    q_better: str
    level: str
    worse: int
    better: int
    pairs: int
    clusters: int | None
    detectable: str
    detail: str
    method: str
    left_out: tuple[LeftOut, ...]
    axis: str
    """What it is drawn along, and where it is worse."""
    at: float | None
    """Where the change is drawn, as are its interval and the two below."""
    low: float | None
    high: float | None
    most: float | None
    """The one-sided bound."""
    limit: float | None
    """The margin."""


@dataclass(frozen=True)
class Changes:
    """All lines of a run, and what became of them in words."""

    mark: str
    tone: formatting.Tone
    verdict: str
    counts: str
    """``2 of 7 comparisons regressed, 4 pass``, or ``6 improved, 0 regressed, 1 inconclusive (digits)``."""
    detectable: str
    """How small a drop those that are undecided would have shown, where none regressed."""
    certainty: str
    """How sure the bounds of the drops are, such as ``95 %``."""
    unchecked: int
    baseline: tuple[tuple[str, str], ...]
    digest: str
    lines: tuple[Change, ...]
    without_line: tuple[tuple[str, str], ...]
    """Evals, with their models, that were measured and compared with nothing."""


def changes(record: RunRecord) -> Changes | None:
    """What the run's record says about its baseline; None where it was compared with none."""
    if record.baseline is None and not any(item.regressions for item in record.items):
        return None
    pairs = _lines(record.items)
    lines = [line for _, line in pairs]
    statuses: Counter[str] = Counter(line.verdict for line in lines)
    worst = formatting.combined_verdict(statuses)
    mark, tone, word = formatting.VERDICTS[worst] if worst else formatting.Sign("!", "warn", "nothing compared")
    # Those of evals that were skipped, or stopped before, count in the level and have no verdict.
    # A model of the same run is what others are compared with.
    base = record.baseline.model if record.baseline is not None and record.baseline.run == record.run else None
    unchecked = max(0, min([line.lines for line in lines], default=0) - len(lines))
    known = [item for item in record.items if item.scorers and not item.control and item.model != base]
    unknown = sum(any(line.is_unknown for line in item.regressions) for item in known)
    return Changes(
        mark=mark,
        tone=tone,
        verdict="no regression" if worst in ("pass", "improved") and not statuses["inconclusive"] else word,
        counts=_counts(
            statuses,
            unknown,
            unchecked,
            list(dict.fromkeys(item.eval for item, line in pairs if line.verdict == "inconclusive")),
        ),
        detectable=_detectable(pairs),
        certainty=certainty_text(lines[0]) if lines else "",
        unchecked=unchecked,
        baseline=() if record.baseline is None else tuple(_facts(record.baseline)),
        digest="" if record.baseline is None else record.baseline.digest,
        lines=changed_lines(record.items),
        without_line=tuple(
            (item.eval, item.model) for item in known if all(line.is_unknown for line in item.regressions)
        ),
    )


def changed_lines(items: Sequence[ItemRecord]) -> tuple[Change, ...]:
    """The regression lines of ``items``, the worst first."""
    return tuple(_change(item, line) for item, line in _lines(items))


def baseline_text(record: RunRecord) -> str:
    """What the run was compared with: ``baselines/main.json (good = hf:checkpoints/good)``; empty without one."""
    baseline = record.baseline
    if baseline is None:
        return ""
    model = _model_text(baseline)
    return f"{baseline.source} ({model})" if model else baseline.source


def _model_text(baseline: BaselineRecord) -> str:
    return " = ".join(dict.fromkeys(name for name in (baseline.model, baseline.spec) if name))


def _lines(items: Sequence[ItemRecord]) -> list[tuple[ItemRecord, RegressionRecord]]:
    """The worst status first, and among its lines the largest drop beyond its own margin, in margins' units."""

    def urgency(pair: tuple[ItemRecord, RegressionRecord]) -> tuple[int, float]:
        line = pair[1]
        beyond = float("-inf") if line.drop is None else line.drop - (line.margin or 0.0)
        return list(formatting.VERDICTS).index(line.verdict), -beyond

    known = ((item, line) for item in items for line in item.regressions if not line.is_unknown)
    return sorted(known, key=urgency)


def _counts(statuses: Counter[str], unknown: int, unchecked: int, undecided: Sequence[str]) -> str:
    rest = [f"{unchecked} not checked"] * bool(unchecked) + [
        f"{formatting.counted(unknown, 'eval')} not in the baseline"
    ] * bool(unknown)
    if not statuses:
        return ", ".join(["nothing was compared with the baseline", *rest])
    counts = [f"{statuses[status]} {sign.words}" for status, sign in formatting.VERDICTS.items() if statuses[status]]
    if next(status for status in formatting.VERDICTS if statuses[status]) == "inconclusive":
        # One line that is not decided must not hide what became of the others.
        names = formatting.printable(listed(undecided, _MOST_NAMES))
        return ", ".join([*counts[:0:-1], "0 regressed", f"{counts[0]} ({names})", *rest])
    first, _, words = counts[0].partition(" ")
    counts[0] = f"{first} of {formatting.counted(statuses.total() + unchecked, 'comparison')} {words}"
    return ", ".join([*counts, *rest])


def _detectable(lines: Sequence[tuple[ItemRecord, RegressionRecord]]) -> str:
    undecided = [(item.eval, line) for item, line in lines if line.verdict == "inconclusive"]
    drops = [drop for _, line in undecided if line.unit in FRACTIONS and (drop := open_drop(line)) is not None]
    if not drops or len(drops) < len(undecided) or any(line.status == "regressed" for _, line in lines):
        return ""
    name, line = undecided[0]
    where = f"in {name}" if len(drops) == 1 else "by every undecided line"
    return f"A drop of {100 * max(drops):.1f} pp would be detected {where} four times in five ({basis_text(line)})."


def _facts(baseline: BaselineRecord) -> Iterator[tuple[str, str]]:
    limit = f"{baseline.limit} samples of each eval" if baseline.limit is not None else ""
    facts = {"from": baseline.source, "of": _model_text(baseline), "run": baseline.run, "limited to": limit}
    return ((name, value) for name, value in facts.items() if value)


_AS_RECORDED = ("metric", "scorer", "worse", "better", "pairs", "clusters", "method")


def _change(item: ItemRecord, line: RegressionRecord) -> Change:
    mark, tone, status = formatting.VERDICTS[line.verdict]
    unit = line.drop_unit
    sign = -1.0 if line.direction == "higher" else 1.0
    shown = "pp" if unit in FRACTIONS else formatting.unit_text(unit)
    change, interval = change_texts(line)
    at, low, high = (formatting.axis_value(each, unit) for each in change_of(line))
    headline = item.scorers[0].name if item.scorers else None
    return Change(
        **{name: getattr(line, name) for name in _AS_RECORDED},
        eval=item.eval,
        model=item.model,
        mark=mark,
        tone=tone,
        status=status,
        detail=verdict_text(line),
        subject=subject_text(line, headline),
        line=line_text(line, headline),
        group=formatting.group_text(line.group),
        before=formatting.value_text(line.baseline, line.unit),
        before_at=formatting.axis_value(line.baseline, line.unit),
        now=formatting.value_text(line.value, line.unit),
        change=change,
        interval=interval,
        bound="–" if line.bound is None else amount(line, line.bound),
        margin="–" if line.margin is None else amount(line, line.margin),
        p="–" if line.p is None else p_text(line.p).removeprefix("= "),
        p_holm="" if line.p_holm is None else p_text(line.p_holm).removeprefix("= "),
        p_better=p_text(line.p_better).removeprefix("= ") if status == "improved" else "",
        q_better=p_text(line.q_better).removeprefix("= ") if status == "improved" else "",
        level=f"{line.alpha / line.lines:.2g}",
        detectable="–" if (seen := open_drop(line)) is None else amount(line, seen),
        left_out=tuple(
            LeftOut(REASONS.get(reason, reason), count, tuple(line.examples.get(reason, ())))
            for reason, count in line.left_out.items()
        ),
        axis=f"change{', ' * bool(shown)}{shown} (to the {'left' if sign < 0 else 'right'} is worse)",
        at=at,
        low=low,
        high=high,
        most=_signed(line.bound, sign, unit),
        limit=_signed(line.margin, sign, unit),
    )


def _signed(drop: float | None, sign: float, unit: str) -> float | None:
    return formatting.axis_value(None if drop is None else sign * drop, unit)
