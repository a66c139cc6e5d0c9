"""What changed against the baseline: the run's regression lines, the worst first, as texts and as places to draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_audiobench.evaluation.record import RegressionRecord
from pytest_audiobench.gate.regression_text import REASONS, line_text, p_text, subject_text
from pytest_audiobench.metrics.metric import FRACTIONS, POINTS
from pytest_audiobench.report.formatting import (
    VERDICTS,
    Sign,
    Tone,
    counted,
    difference_text,
    drawn,
    group_text,
    interval_text,
    unit_text,
    value_text,
)

Json = Mapping[str, Any]


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
    tone: Tone
    status: str
    subject: str
    line: str
    metric: str
    scorer: str
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
    """All lines of a run, what became of them in words, and the evals that no line held.

    ``counts`` is ``2 of 7 lines regressed, 4 pass, 1 not checked``, ``seen`` how small a drop all of them would have
    seen, where none regressed.
    """

    mark: str
    tone: Tone
    verdict: str
    counts: str
    seen: str
    unchecked: int
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
    found = Counter(line["status"] for _, line in held)
    worst = next((status for status in VERDICTS if found[status]), None)
    mark, tone, word = VERDICTS[worst] if worst else Sign("!", "warn", "nothing compared")
    # Lines of evals that were skipped, or stopped before, count in the level and have no verdict.
    unchecked = max([line["lines"] for _, line in held], default=len(held)) - len(held)
    return Changes(
        mark=mark,
        tone=tone,
        verdict="no regression" if worst == "pass" else word,
        counts=_counts(found, max(unchecked, 0)),
        seen=_seen([line for _, line in held]),
        unchecked=max(unchecked, 0),
        baseline=tuple(_facts(baseline or {})),
        digest=str((baseline or {}).get("digest") or ""),
        lines=tuple(_change(item, line) for item, line in held),
        unheld=tuple(
            (item["eval"], item["model"])
            for item in record["items"]
            if not item.get("regressions") and not item["control"]
        ),
    )


def baseline_text(record: Json) -> str:
    """What the run was held against: ``baselines/main.json (good = hf:checkpoints/good)``; empty without a baseline."""
    baseline = record.get("baseline")
    if not baseline:
        return ""
    model = _model_text(baseline)
    return f"{baseline['source']} ({model})" if model else str(baseline["source"])


def _model_text(baseline: Json) -> str:
    return " = ".join(dict.fromkeys(str(baseline[name]) for name in ("model", "spec") if baseline.get(name)))


def _urgency(held: tuple[Json, Json]) -> tuple[int, float]:
    """The worst status first, and among its lines the largest drop beyond its own margin, in margins' units."""
    line = held[1]
    drop, margin = line["drop"], line["margin"]
    return list(VERDICTS).index(line["status"]), -(drop - (margin or 0.0)) if drop is not None else float("inf")


def _counts(found: Counter[str], unchecked: int) -> str:
    if not found:
        return "no regression line was held against the baseline"
    said = [f"{found[status]} {sign.words}" for status, sign in VERDICTS.items() if found[status]]
    first, _, words = said[0].partition(" ")
    said[0] = f"{first} of {counted(found.total() + unchecked, 'line')} {words}"
    return ", ".join([*said, *([f"{unchecked} not checked"] if unchecked else [])])


def _seen(lines: Sequence[Json]) -> str:
    seen = [line["detectable"] for line in lines if line["detectable"] is not None and line["unit"] in FRACTIONS]
    if not seen or len(seen) < len(lines) or any(line["status"] == "regressed" for line in lines):
        return ""
    each = "the line" if len(lines) == 1 else "every line"
    return f"A drop of {100 * max(seen):.1f} points would be seen by {each} four times in five."


def _facts(baseline: Json) -> Iterator[tuple[str, str]]:
    """What the baseline is, in the order in which it is asked: whence, of which model, from which run."""
    limit = baseline.get("limit")
    for name, value in (
        ("from", baseline.get("source")),
        ("of", _model_text(baseline)),
        ("run", baseline.get("run")),
        ("limited to", f"{limit} samples of each eval" if limit is not None else None),
    ):
        if value:
            yield name, str(value)


def _change(item: Json, line: Json) -> Change:
    mark, tone, status = VERDICTS[line["status"]]
    unit = line["unit"]
    fraction = unit in FRACTIONS
    record = RegressionRecord(**line)
    headline = item["scorers"][0]["name"] if item["scorers"] else None
    # The sign of a bound that a margin is held against says no more than its number does.
    bound, margin, detectable = (difference_text(line[name], unit) for name in ("bound", "margin", "detectable"))
    return Change(
        eval=item["eval"],
        model=item["model"],
        mark=mark,
        tone=tone,
        status=status,
        subject=subject_text(record, headline),
        line=line_text(record, headline),
        metric=line["metric"],
        scorer=line["scorer"],
        group=group_text(line["group"]),
        before=value_text(line["baseline"], unit),
        now=value_text(line["value"], unit),
        drop=difference_text(line["drop"], unit),
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
            LeftOut(REASONS.get(reason, reason), count, tuple(line["examples"].get(reason, ())))
            for reason, count in line["left_out"].items()
        ),
        unit=unit_text(POINTS if fraction else unit),
        at=drawn(line["drop"], unit),
        low=drawn(line["lower"], unit),
        high=drawn(line["upper"], unit),
        most=drawn(line["bound"], unit),
        limit=drawn(line["margin"], unit),
    )
