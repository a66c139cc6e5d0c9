"""What changed against the baseline: the run's regression lines, the worst first, as texts and as places to draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_audiobench.gate.sentences import line_text, p_text, subject_text
from pytest_audiobench.metrics.units import FRACTIONS, POINTS
from pytest_audiobench.report.figures import drawn, group_text, interval_text, unit_text, value_text
from pytest_audiobench.runs.record import RegressionRecord

Json = Mapping[str, Any]

_STATUSES: Mapping[str, tuple[str, Literal["good", "bad", "warn"], str]] = {
    "regressed": ("✗", "bad", "regressed"),
    "inconclusive": ("?", "warn", "inconclusive"),
    "not_comparable": ("≠", "warn", "not comparable"),
    "pass": ("✓", "good", "pass"),
}
"""The sign, the tone and the words of each status, in the order in which a reader should see them."""

_REASONS = {
    "only_here": "in this run only",
    "only_in_baseline": "in the baseline only",
    "audio": "other audio than in the baseline",
    "prompt": "another prompt than in the baseline",
    "errors": "could not be asked on one side",
    "skipped": "left out by the protocol on one side",
}


@dataclass(frozen=True)
class LeftOut:
    """Samples in no pair for one reason; ``names`` are some of them."""

    reason: str
    count: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """One regression line of one eval and what became of it.

    ``subject`` is ``accuracy[hop=multi]`` and ``line`` the whole as it is declared. All texts but ``eval``, ``model``
    and those of the sample's data are ready to read. A drop is positive where this run is worse; ``at``, ``low``,
    ``high``, ``most`` (the one-sided bound) and ``limit`` (the margin) are where it is drawn, in ``unit``.
    """

    eval: str
    model: str
    mark: str
    tone: Literal["good", "bad", "warn"]
    status: str
    subject: str
    line: str
    metric: str
    reading: str
    group: str
    before: str
    now: str
    drop: str
    interval: str
    bound: str
    margin: str
    p: str
    p_holm: str
    level: str
    worse: int
    better: int
    pairs: int
    clusters: int | None
    detectable: str
    detail: str
    method: str
    left_out: tuple[LeftOut, ...]
    unit: str
    at: float | None
    low: float | None
    high: float | None
    most: float | None
    limit: float | None


@dataclass(frozen=True)
class Changes:
    """All lines of a run, the overall verdict in words, and the evals that no line held."""

    mark: str
    tone: str
    verdict: str
    sentence: str
    baseline: tuple[tuple[str, str], ...]
    digest: str
    lines: tuple[Change, ...]
    unheld: tuple[tuple[str, str], ...]


def changes(record: Json) -> Changes | None:
    """What the run's record says of its baseline; None where it was held against none."""
    held = [(item, line) for item in record["items"] for line in item.get("regressions", ())]
    baseline = record.get("baseline")
    if baseline is None and not held:
        return None
    held.sort(key=_urgency)
    counts = Counter(line["status"] for _, line in held)
    worst = next((status for status in _STATUSES if counts[status]), None)
    mark, tone, word = _STATUSES[worst] if worst else ("!", "warn", "nothing compared")
    return Changes(
        mark=mark,
        tone=tone,
        verdict="no regression" if worst == "pass" else word,
        sentence=" ".join(_sentences(counts, [line for _, line in held])),
        baseline=tuple(_facts(baseline or {})),
        digest=str((baseline or {}).get("digest") or ""),
        lines=tuple(_change(item, line) for item, line in held),
        unheld=tuple(
            (item["eval"], item["model"])
            for item in record["items"]
            if not item.get("regressions") and not item["control"]
        ),
    )


def drop_text(value: float | None, unit: str) -> str:
    """``+1.3 points`` for a drop of a share or an error rate, else four digits and the unit; a dash where unknown."""
    if value is None:
        return "–"
    return value_text(value, POINTS) if unit in FRACTIONS else f"{value:+.4g} {unit}".rstrip()


def _urgency(held: tuple[Json, Json]) -> tuple[int, float]:
    """The worst status first, and among its lines the largest drop beyond its own margin, in margins' units."""
    line = held[1]
    drop, margin = line["drop"], line["margin"]
    return list(_STATUSES).index(line["status"]), -(drop - (margin or 0.0)) if drop is not None else float("inf")


def _sentences(counts: Counter[str], lines: Sequence[Json]) -> Iterator[str]:
    total = sum(counts.values())
    if not total:
        yield "No regression line was held against the baseline."
        return
    said = ", ".join(f"{counts[status]} {words[2]}" for status, words in _STATUSES.items() if counts[status])
    yield f"Of {total} {'line' if total == 1 else 'lines'}: {said}."
    seen = [line["detectable"] for line in lines if line["detectable"] is not None and line["unit"] in FRACTIONS]
    if seen and len(seen) == total and not counts["regressed"]:
        each = "the line" if total == 1 else "every line"
        yield f"A drop of {100 * max(seen):.1f} points would be seen by {each} four times in five."


def _facts(baseline: Json) -> Iterator[tuple[str, str]]:
    """What the baseline is, in the order in which it is asked: whence, of which model, from which run."""
    model, spec = baseline.get("model"), baseline.get("spec")
    named = f"{model} ({spec})" if model and spec and model != spec else model or spec
    limit = baseline.get("limit")
    for name, value in (
        ("from", baseline.get("source")),
        ("of", named),
        ("run", baseline.get("run")),
        ("limited to", f"{limit} samples of each eval" if limit is not None else None),
    ):
        if value:
            yield name, str(value)


def _change(item: Json, line: Json) -> Change:
    mark, tone, status = _STATUSES[line["status"]]
    unit = line["unit"]
    fraction = unit in FRACTIONS
    record = RegressionRecord(**line)
    headline = item["readings"][0]["name"] if item["readings"] else None
    # The sign of a bound that a margin is held against says no more than its number does.
    bound, margin, detectable = (drop_text(line[name], unit) for name in ("bound", "margin", "detectable"))
    return Change(
        eval=item["eval"],
        model=item["model"],
        mark=mark,
        tone=tone,
        status=status,
        subject=subject_text(record, headline),
        line=line_text(record, headline),
        metric=line["metric"],
        reading=line["reading"],
        group=group_text(line["group"]),
        before=value_text(line["baseline"], unit),
        now=value_text(line["value"], unit),
        drop=drop_text(line["drop"], unit),
        interval=interval_text({**line, "unit": POINTS if fraction else unit}),
        bound=bound,
        margin=margin.removeprefix("+"),
        p="–" if line["p"] is None else p_text(line["p"]).removeprefix("= "),
        p_holm="" if line["p_holm"] is None else p_text(line["p_holm"]).removeprefix("= "),
        level=f"{line['alpha']:g}" + (f" / {line['lines']}" if line["lines"] > 1 else ""),
        worse=line["worse"],
        better=line["better"],
        pairs=line["pairs"],
        clusters=line["clusters"],
        detectable=detectable.removeprefix("+"),
        detail=line["detail"],
        method=line["method"],
        left_out=tuple(
            LeftOut(_REASONS.get(reason, reason), count, tuple(line["examples"].get(reason, ())))
            for reason, count in line["left_out"].items()
        ),
        unit=unit_text(POINTS if fraction else unit),
        at=drawn(line["drop"], unit),
        low=drawn(line["lower"], unit),
        high=drawn(line["upper"], unit),
        most=drawn(line["bound"], unit),
        limit=drawn(line["margin"], unit),
    )
