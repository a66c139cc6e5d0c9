"""A track as a table of 80 columns, as Markdown, CSV or JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_audiobench.comparison import table_cells
from pytest_audiobench.comparison.track import Curve, Track
from pytest_audiobench.gate.regression_text import RUNAWAYS, change_rule, limits_text
from pytest_audiobench.metrics.metric import Estimate
from pytest_audiobench.records.run import RegressionRecord
from pytest_audiobench.report.formatting import counted, wrapped
from pytest_audiobench.report.safe_text import csv_text, escaped, json_text, table_row

_HEAD = ("", "value", "interval", "change", "interval", "flips", "pairs")
_INTERVALS = (2, 4)


def text(track: Track, format_: str) -> str:
    """``track`` as table, markdown, csv or json."""
    if format_ == "json":
        return json_text(_as_json(track))
    if format_ == "csv":
        return csv_text(rows(track))
    return "\n".join(_markdown_lines(track) if format_ == "markdown" else _table(track)) + "\n"


def rows(track: Track) -> list[dict[str, Any]]:
    """One flat mapping for each curve and run; raw numbers in the metric's unit, drops against the run before.

    The row of a curve's last run has its comparison with the best too, as ``best_…``.
    """
    places = [(curve, at, estimate) for curve in track.curves for at, estimate in enumerate(curve.values)]
    return [_row(track, curve, at, estimate) for curve, at, estimate in places if estimate is not None]


def _row(track: Track, curve: Curve, at: int, estimate: Estimate) -> dict[str, Any]:
    point, key = track.points[at], curve.key
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
        "value": None if estimate.value != estimate.value else estimate.value,
        "lower": estimate.lower,
        "upper": estimate.upper,
        "n": estimate.n,
        "answered": curve.parse_rates.get(at),
        "is_best": at == curve.best,
        "is_last": at == curve.last,
        **_regression_fields("", curve.drops[at]),
        **_regression_fields("best_", since),
        "alpha": track.alpha,
        "lines": track.comparisons,
    }


def _regression_fields(prefix: str, regression: RegressionRecord | None) -> dict[str, Any]:
    names = (
        "status",
        "drop",
        "lower",
        "upper",
        "p",
        "p_better",
        "q_better",
        "pairs",
        "worse",
        "better",
        "detectable",
        "detail",
    )
    columns = {f"drop_{name}" if name in ("lower", "upper") else name: name for name in names}
    return {f"{prefix}{column}": regression and getattr(regression, name) for column, name in columns.items()}


def _as_json(track: Track) -> dict[str, Any]:
    return {
        "model": track.model,
        "runs": [{"step": point.step, "finished": point.finished, **point.names._asdict()} for point in track.points],
        "alpha": track.alpha,
        "max_drop": track.max_drop,
        "comparisons": track.comparisons,
        "notes": list(track.notes),
        "values": rows(track),
    }


def name(curve: Curve) -> str:
    """``bundled/digits accuracy by letters``."""
    return f"{curve.key.name} {table_cells.metric_label(curve.key.metric, curve.unit)} by {curve.key.scorer}"


def heading(track: Track) -> list[str]:
    """The range of the runs, and the rules by which they are compared."""
    by = "time" if track.points[0].step is None else "step"
    limits = limits_text(track.alpha, max(1, track.comparisons))
    return [
        f"{counted(len(track.points), 'run')} by {by}, {track.points[0].place} to {track.points[-1].place}",
        f"{change_rule('each minus the run before', {curve.unit for curve in track.curves})}; margin {track.max_drop}, "
        f"{limits}; flips: samples that became worse / better",
    ]


def sentences(track: Track) -> list[tuple[str, str]]:
    """Each significant drop, and what became of each last run that is not the best, with its verdict."""
    lines: list[tuple[str, str]] = []
    for curve in track.curves:
        for at, regression in enumerate(curve.drops):
            said = regression is not None and (
                regression.status in ("regressed", "not_comparable") or RUNAWAYS in regression.detail
            )
            if regression is not None and said:
                between = f"{track.points[at].label} after {track.points[curve.before(at) or 0].label}"
                lines.append((regression.status, f"{name(curve)}, {between}: {regression.detail}"))
        if curve.since_best is not None and curve.best != curve.before(curve.last):
            between = f"last ({track.points[curve.last].label}) against best ({track.points[curve.best].label})"
            lines.append((curve.since_best.status, f"{name(curve)}, {between}: {curve.since_best.detail}"))
    return lines


def _cells(track: Track, curve: Curve) -> Iterator[tuple[str, ...]]:
    for at, estimate in enumerate(curve.values):
        if estimate is not None:
            regression = curve.drops[at]
            verdict = regression.verdict if regression else ""
            mark = table_cells.MARKS[verdict] if verdict in table_cells.SAID else " "
            cells = ("",) * 4 if regression is None else (*table_cells.change_cells(regression), str(regression.pairs))
            figures = (table_cells.value_cell(estimate, curve.unit), table_cells.interval_cell(estimate, curve.unit))
            remarks = [word for word, place in (("best", curve.best), ("last", curve.last)) if place == at]
            label = " ".join(filter(None, (track.points[at].label, *remarks)))
            yield (f"  {mark} {label}", *figures, *cells)


def _table(track: Track) -> Iterator[str]:
    range_, rules = heading(track)
    yield from wrapped(f"{track.model}: {range_}")
    yield from wrapped(rules)
    yield ""
    yield from table_cells.table_lines(
        _HEAD, _INTERVALS, [(name(curve), list(_cells(track, curve))) for curve in track.curves]
    )
    yield ""
    for status, sentence in sentences(track):
        yield from wrapped(f"{table_cells.MARKS[status]} {sentence}", "  ")
    yield from wrapped(summary(track))
    for line in perturbations(track):
        yield from wrapped(line)
    for note in track.notes:
        yield from wrapped(f"note: {note}", "  ")


def drops(track: Track) -> int:
    """How many runs are significantly worse than the one before, over all curves."""
    return _verdicts(track).count("regressed")


def _verdicts(track: Track) -> list[str]:
    return [regression.verdict for curve in track.curves for regression in curve.drops if regression is not None]


def summary(track: Track) -> str:
    """How many significant drops and gains there are, and how many curves end below their best."""
    count, gains = drops(track), _verdicts(track).count("improved")
    below = sum(curve.since_best is not None and curve.since_best.status == "regressed" for curve in track.curves)
    ends = "ends significantly below its best" if below == 1 else "end significantly below their best"
    gained = f" and {gains} significant gain{'s' * (gains != 1)}" if gains else ""
    return (
        f"{count or 'no'} significant drop{'s' * (count != 1)}{gained} between neighbours; {below or 'none'} of "
        f"{len(track.curves)} curves {ends}"
    )


def perturbations(track: Track) -> list[str]:
    """What was not answered, and the rule behind each scorer's name; each once."""
    lines: dict[str, None] = {}
    for curve in track.curves:
        shares = {track.points[at].label: share for at, share in curve.parse_rates.items()}
        lines[table_cells.parse_rates_text(f"{curve.key.name} by {curve.key.scorer}", shares, in_order=True)] = None
    signatures = {f"{curve.key.scorer}: {curve.signature}": None for curve in track.curves if curve.signature}
    return [text for text in (*table_cells.falls_first(lines), *signatures) if text]


def _markdown_lines(track: Track) -> Iterator[str]:
    yield from (f"- {escaped(line)}" for line in (track.model, *heading(track)))
    yield ""
    yield "| eval | metric | run | value | interval | change | interval | flips | pairs |"
    yield "| :-- | :-- | --: | --: | --: | --: | --: | --: | --: |"
    for curve in track.curves:
        names: tuple[str, str] = (
            curve.key.name,
            f"{table_cells.metric_label(curve.key.metric, curve.unit)} by {curve.key.scorer}",
        )
        for cells in _cells(track, curve):
            yield table_row(map(escaped, (*names, *(cell.strip() for cell in cells))))
            names = ("", "")
    yield ""
    yield from (
        f"- {table_cells.MARKS[status]} {escaped(sentence, table_cells.LONGEST)}"
        for status, sentence in sentences(track)
    )
    yield f"- {escaped(summary(track))}"
    yield from (f"- {escaped(line, table_cells.LONGEST)}" for line in (*perturbations(track), *track.notes))
