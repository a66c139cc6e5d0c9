"""The page of a track: one self-contained HTML file with its curves, on the frame of the page of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_audiobench.comparison.table_cells import MARKS, change_cells, interval_cell, value_cell
from pytest_audiobench.comparison.track import Curve, Track
from pytest_audiobench.comparison.track_text import heading, name, sentences, summary
from pytest_audiobench.gate.regression_text import verdict_text
from pytest_audiobench.metrics.metric import Estimate
from pytest_audiobench.metrics.value import PERCENT_UNITS
from pytest_audiobench.records.run import RegressionRecord
from pytest_audiobench.report.atomic_files import write_chunks
from pytest_audiobench.report.page.frame import FIGURE_SCRIPTS, PLOT, Layout, whole_page

LAYOUT = Layout(
    "track.html",
    ("base.css", "numbers.css", "samples.css", "track.css"),
    (*FIGURE_SCRIPTS, "track.js"),
)


def write_page(path: Path, track: Track) -> None:
    """Write the page of a track, whole or not at all."""
    write_chunks(path, page(track))


def page(track: Track) -> list[bytes]:
    """The page in pieces."""
    return [*whole_page(track.model, _content(track), LAYOUT, [PLOT])]


def _content(track: Track) -> dict[str, Any]:
    range_, rules = heading(track)
    return {
        "model": track.model,
        "range": range_,
        "rules": rules,
        "summary": summary(track),
        "worse": any(status == "regressed" for status, _ in sentences(track)),
        "sentences": [f"{MARKS[status]} {sentence}" for status, sentence in sentences(track)],
        "notes": list(track.notes),
        "points": [
            {
                **{"label": point.label, "step": point.step, "finished": point.finished},
                **{"run": point.names.run, "model": point.names.alias, "spec": point.names.spec},
            }
            for point in track.points
        ],
        "curves": [_curve(curve) for curve in track.curves],
    }


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "name": name(curve),
        "owner": curve.key.name,
        "metric": curve.key.metric,
        "scorer": curve.key.scorer,
        "unit": "%" if curve.unit in PERCENT_UNITS else curve.unit,
        **{name: getattr(curve, name) for name in ("direction", "best", "last", "signature")},
        "values": [
            None if estimate is None else _value(estimate, curve.unit, curve.parse_rates.get(at))
            for at, estimate in enumerate(curve.values)
        ],
        "drops": [None if regression is None else _regression_content(regression) for regression in curve.drops],
        "since": None if curve.since_best is None else _regression_content(curve.since_best),
    }


def _value(estimate: Estimate, unit: str, answered: float | None) -> dict[str, Any]:
    """``at``, ``low`` and ``high`` are where it is drawn, in the unit in which it is read."""
    times = 100.0 if unit in PERCENT_UNITS else 1.0
    places = (None if estimate.value != estimate.value else estimate.value, estimate.lower, estimate.upper)
    at, low, high = (None if place is None else times * place for place in places)
    return {
        **{"at": at, "low": low, "high": high, "n": estimate.n},
        "value": value_cell(estimate, unit),
        "interval": interval_cell(estimate, unit),
        "answered": "" if answered is None else f"{100.0 * answered:.1f} %",
        "method": estimate.method,
    }


def _regression_content(regression: RegressionRecord) -> dict[str, Any]:
    amount, between, flips = change_cells(regression)
    status = regression.verdict.replace("_", " ")
    content = {
        "status": status,
        "mark": MARKS[regression.verdict],
        "change": amount,
        "interval": between,
        "flips": flips,
    }
    return {**content, "detail": verdict_text(regression)}
