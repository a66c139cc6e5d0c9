"""A track as a table of 80 columns, as Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_audiobench.comparison.table_cells import (
    LONGEST,
    MARKS,
    answers,
    drop,
    interval,
    layout,
    named,
    value,
    wrapped,
)
from pytest_audiobench.comparison.track import Curve, Track
from pytest_audiobench.evaluation.record import RegressionRecord
from pytest_audiobench.metrics.metric import Estimate
from pytest_audiobench.report.safe_text import csv_text, escaped, json_text, table_row

_HEAD = ("", "value", "interval", "drop", "interval", "flips", "pairs")
_INTERVALS = (2, 4)


def text(one: Track, format_: str) -> str:
    """``one`` as table, markdown, csv or json."""
    if format_ == "json":
        return json_text(_plain(one))
    if format_ == "csv":
        return csv_text(rows(one))
    return "\n".join(_markdown(one) if format_ == "markdown" else _table(one)) + "\n"


def rows(one: Track) -> list[dict[str, Any]]:
    """One flat mapping for each curve and run; raw numbers in the metric's unit, drops against the run before.

    The row of a curve's last run has what became of it held against the best, as ``best_…``.
    """
    return [_row(one, curve, at, own) for curve in one.curves for at, own in enumerate(curve.values) if own is not None]


def _row(one: Track, curve: Curve, at: int, own: Estimate) -> dict[str, Any]:
    point, key = one.points[at], curve.key
    since = curve.since_best if at == curve.last else None
    return {
        "suite": key.suite,
        "eval": None if key.is_pooled else key.name,
        "metric": key.metric,
        "scorer": key.scorer,
        "signature": curve.signature,
        "unit": curve.unit,
        "direction": curve.direction,
        "step": point.step,
        "finished": point.finished,
        "run": point.names.run,
        "model": point.names.alias,
        "spec": point.names.spec,
        "value": None if own.value != own.value else own.value,
        "lower": own.lower,
        "upper": own.upper,
        "n": own.n,
        "answered": curve.answered.get(at),
        "is_best": at == curve.best,
        "is_last": at == curve.last,
        **_held("", curve.drops[at]),
        **_held("best_", since),
        "alpha": one.alpha,
        "lines": one.comparisons,
    }


def _held(prefix: str, held: RegressionRecord | None) -> dict[str, Any]:
    told = {
        "status": held and held.status,
        "drop": held and held.drop,
        "drop_lower": held and held.lower,
        "drop_upper": held and held.upper,
        "p": held and held.p,
        "pairs": held and held.pairs,
        "worse": held and held.worse,
        "better": held and held.better,
        "detectable": held and held.detectable,
        "detail": held and held.detail,
    }
    return {f"{prefix}{name}": own for name, own in told.items()}


def _plain(one: Track) -> dict[str, Any]:
    return {
        "model": one.model,
        "runs": [{"step": point.step, "finished": point.finished, **point.names._asdict()} for point in one.points],
        "alpha": one.alpha,
        "max_drop": one.max_drop,
        "comparisons": one.comparisons,
        "notes": list(one.notes),
        "values": rows(one),
    }


def name(curve: Curve) -> str:
    """``bundled/digits accuracy by letters``."""
    return f"{curve.key.name} {named(curve.key.metric, curve.unit)} by {curve.key.scorer}"


def heading(one: Track) -> list[str]:
    """What the runs are, and how they are held against one another."""
    by = "time" if one.points[0].step is None else "step"
    level = f"{one.alpha:g}" + (f" / {one.comparisons}" if one.comparisons > 1 else "")
    return [
        f"{len(one.points)} runs by {by}, {one.points[0].place} to {one.points[-1].place}",
        f"drop: how much worse than the run before, on pairs, of shares in points; margin {one.max_drop}, p to be "
        f"below {level}; flips: samples that became worse / better",
    ]


def sentences(one: Track) -> list[tuple[str, str]]:
    """Each significant drop, and what became of each last run that is not the best, with the mark of its verdict."""
    told: list[tuple[str, str]] = []
    for curve in one.curves:
        for at, held in enumerate(curve.drops):
            if held is not None and held.status in ("regressed", "not_comparable"):
                between = f"{one.points[at].label} after {one.points[curve.before(at) or 0].label}"
                told.append((held.status, f"{name(curve)}, {between}: {held.detail}"))
        if curve.since_best is not None and curve.best != curve.before(curve.last):
            between = f"last ({one.points[curve.last].label}) against best ({one.points[curve.best].label})"
            told.append((curve.since_best.status, f"{name(curve)}, {between}: {curve.since_best.detail}"))
    return told


def remarks(curve: Curve, at: int) -> list[str]:
    """``best``, ``last``, both or nothing."""
    return [word for word, place in (("best", curve.best), ("last", curve.last)) if place == at]


def _cells(one: Track, curve: Curve) -> Iterator[tuple[str, ...]]:
    for at, own in enumerate(curve.values):
        if own is not None:
            held = curve.drops[at]
            mark = MARKS[held.status] if held is not None and held.status in ("regressed", "not_comparable") else " "
            told = ("",) * 4 if held is None else (*drop(held), str(held.pairs))
            figures = (value(own, curve.unit), interval(own, curve.unit))
            called = " ".join(filter(None, (one.points[at].label, *remarks(curve, at))))
            yield (f"  {mark} {called}", *figures, *told)


def _table(one: Track) -> Iterator[str]:
    range_, rules = heading(one)
    yield from wrapped(f"{one.model}: {range_}")
    yield from wrapped(rules)
    yield ""
    blocks = [(curve, list(_cells(one, curve))) for curve in one.curves]
    lay = layout(_HEAD, _INTERVALS, [cells for _, found in blocks for cells in found])
    yield from lay(_HEAD)
    for curve, found in blocks:
        yield from wrapped(name(curve))
        for cells in found:
            yield from lay(cells)
    yield ""
    for status, sentence in sentences(one):
        yield from wrapped(f"{MARKS[status]} {sentence}", "  ")
    yield from wrapped(summary(one))
    for line in perturbations(one):
        yield from wrapped(line)
    for note in one.notes:
        yield from wrapped(f"note: {note}", "  ")


def drops(one: Track) -> int:
    """How many runs are significantly worse than the one before, over all curves."""
    return sum(held is not None and held.status == "regressed" for curve in one.curves for held in curve.drops)


def summary(one: Track) -> str:
    """How many significant drops there are, and how many curves end below their best."""
    count = drops(one)
    below = sum(curve.since_best is not None and curve.since_best.status == "regressed" for curve in one.curves)
    ends = "ends significantly below its best" if below == 1 else "end significantly below their best"
    return (
        f"{count or 'no'} significant drop{'s' * (count != 1)} between neighbours; {below or 'none'} of "
        f"{len(one.curves)} curves {ends}"
    )


def perturbations(one: Track) -> list[str]:
    """What was not answered, and what each protocol's name stands for; each once."""
    told: dict[str, None] = {}
    for curve in one.curves:
        shares = {one.points[at].label: share for at, share in curve.answered.items()}
        told[answers(f"{curve.key.name} by {curve.key.scorer}", shares)] = None
    signatures = {f"{curve.key.scorer}: {curve.signature}": None for curve in one.curves if curve.signature}
    return [text for text in (*told, *signatures) if text]


def _markdown(one: Track) -> Iterator[str]:
    yield from (f"- {escaped(line)}" for line in (one.model, *heading(one)))
    yield ""
    yield "| eval | metric | run | value | interval | drop | interval | flips | pairs |"
    yield "| :-- | :-- | --: | --: | --: | --: | --: | --: | --: |"
    for curve in one.curves:
        names: tuple[str, str] = (curve.key.name, f"{named(curve.key.metric, curve.unit)} by {curve.key.scorer}")
        for cells in _cells(one, curve):
            yield table_row(map(escaped, (*names, *(cell.strip() for cell in cells))))
            names = ("", "")
    yield ""
    yield from (f"- {MARKS[status]} {escaped(sentence, LONGEST)}" for status, sentence in sentences(one))
    yield f"- {escaped(summary(one))}"
    yield from (f"- {escaped(line, LONGEST)}" for line in (*perturbations(one), *one.notes))
