"""The page of a track: one self-contained HTML file with its curves, on the frame of the page of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_audiobench.comparison.table_cells import MARKS, drop, interval, value
from pytest_audiobench.comparison.track import Curve, Track
from pytest_audiobench.comparison.track_text import heading, name, sentences, summary
from pytest_audiobench.evaluation.record import RegressionRecord
from pytest_audiobench.metrics.metric import Estimate
from pytest_audiobench.report.atomic_files import write_chunks
from pytest_audiobench.report.formatting import PERCENT_UNITS
from pytest_audiobench.report.page.frame import PLOT, Layout, encoded, page_frame
from pytest_audiobench.report.page.html import escaped_json

LAYOUT = Layout(
    "track.html",
    ("base.css", "numbers.css", "samples.css", "track.css"),
    ("elements.js", "plots.js", "theme.js", "track.js"),
)

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def write_page(path: Path, one: Track) -> None:
    """Write the page of a track, whole or not at all."""
    before, after = page_frame(f"{one.model} · pytest-audiobench", [PLOT], LAYOUT)
    write_chunks(path, [before, encoded(escaped_json(_encode(_content(one)))), after])


def _content(one: Track) -> dict[str, Any]:
    range_, rules = heading(one)
    return {
        "model": one.model,
        "range": range_,
        "rules": rules,
        "summary": summary(one),
        "worse": any(status == "regressed" for status, _ in sentences(one)),
        "sentences": [f"{MARKS[status]} {sentence}" for status, sentence in sentences(one)],
        "notes": list(one.notes),
        "points": [
            {
                "label": point.label,
                "step": point.step,
                "finished": point.finished,
                "run": point.names.run,
                "model": point.names.alias,
                "spec": point.names.spec,
            }
            for point in one.points
        ],
        "curves": [_curve(curve) for curve in one.curves],
    }


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "name": name(curve),
        "owner": curve.key.name,
        "metric": curve.key.metric,
        "scorer": curve.key.scorer,
        "unit": "%" if curve.unit in PERCENT_UNITS else curve.unit,
        "direction": curve.direction,
        "best": curve.best,
        "last": curve.last,
        "signature": curve.signature,
        "values": [
            None if own is None else _value(own, curve.unit, curve.answered.get(at))
            for at, own in enumerate(curve.values)
        ],
        "drops": [None if held is None else _held(held) for held in curve.drops],
        "since": None if curve.since_best is None else _held(curve.since_best),
    }


def _value(own: Estimate, unit: str, answered: float | None) -> dict[str, Any]:
    """``at``, ``low`` and ``high`` are where it is drawn, in the unit in which it is read."""
    times = 100.0 if unit in PERCENT_UNITS else 1.0
    places = (None if own.value != own.value else own.value, own.lower, own.upper)
    at, low, high = (None if place is None else times * place for place in places)
    return {
        "at": at,
        "low": low,
        "high": high,
        "n": own.n,
        "value": value(own, unit),
        "interval": interval(own, unit),
        "answered": "" if answered is None else f"{100.0 * answered:.1f} %",
        "method": own.method,
    }


def _held(held: RegressionRecord) -> dict[str, Any]:
    amount, between, flips = drop(held)
    status = held.status.replace("_", " ")
    told = {"status": status, "mark": MARKS[held.status], "drop": amount, "interval": between, "flips": flips}
    return {**told, "detail": held.detail}
