"""The page of a comparison: one self-contained HTML file, on the frame of the page of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_audiobench.comparison.comparison import Comparison
from pytest_audiobench.comparison.comparison_lines import ComparedLine
from pytest_audiobench.comparison.comparison_text import (
    answers,
    flips_command,
    line_name,
    rules_text,
    sample_remarks,
    sentences,
)
from pytest_audiobench.comparison.curve_comparison import curve_cells
from pytest_audiobench.comparison.finding_comparison import finding_cells
from pytest_audiobench.comparison.table_cells import MARKS, amount, change_cells, interval_cell, value_cell
from pytest_audiobench.gate.regression_text import change_of, open_drop, verdict_text
from pytest_audiobench.metrics.value import PERCENT_UNITS
from pytest_audiobench.records.run import RegressionRecord
from pytest_audiobench.report.atomic_files import write_chunks
from pytest_audiobench.report.formatting import axis_value, group_text, unit_text
from pytest_audiobench.report.page.frame import FIGURE_SCRIPTS, PLOT, Layout, whole_page

LAYOUT = Layout(
    "compare.html",
    ("base.css", "numbers.css", "samples.css", "track.css"),
    (*FIGURE_SCRIPTS, "compare.js"),
)


def write_page(path: Path, comparison: Comparison) -> None:
    """Write the page of a comparison, whole or not at all."""
    write_chunks(path, page(comparison))


def page(comparison: Comparison) -> list[bytes]:
    """The page in pieces."""
    names = " and ".join(contender.source for contender in comparison.contenders[:3])
    return [*whole_page(f"{names} compared", _content(comparison), LAYOUT, [PLOT])]


def _content(comparison: Comparison) -> dict[str, Any]:
    verdicts = {test.verdict for line in comparison.lines for test in line.regressions if test is not None}
    return {
        "contenders": [
            {"letter": each.letter, "source": each.source, "model": each.model, "spec": each.spec}
            for each in comparison.contenders
        ],
        "warnings": list(comparison.heading),
        "rules": rules_text(comparison),
        "answers": answers(comparison),
        "tone": next((tone for verdict, tone in _TONES.items() if verdict in verdicts), "good"),
        "sentences": [f"{mark} {sentence}" for mark, sentence in sentences(comparison)],
        "flips": flips_command(comparison),
        "lines": [_line(comparison, line) for line in comparison.lines],
        "curves": curve_cells(comparison.contenders, comparison.curves),
        "findings": finding_cells(comparison.contenders, comparison.findings),
        "notes": [*sample_remarks(comparison), *comparison.notes],
    }


_TONES: Mapping[str, str] = {"regressed": "bad", "not_comparable": "warn", "inconclusive": "warn"}
"""The page's own, by the worst verdict on it."""


def _line(comparison: Comparison, line: ComparedLine) -> dict[str, Any]:
    plan = line.plan
    return {
        **{"name": line_name(line), "owner": plan.name, "metric": plan.kind.name, "scorer": plan.scorer},
        **{"group": group_text(plan.group), "unit": unit_text(plan.kind.unit), "direction": plan.kind.direction},
        "sides": list(_sides(comparison, line)),
    }


def _sides(comparison: Comparison, line: ComparedLine) -> Iterator[dict[str, Any]]:
    unit = line.plan.kind.unit
    for at, (estimate, regression) in enumerate(zip(line.estimates, line.regressions, strict=True)):
        if estimate is None:
            continue
        share = line.parse_rates[at]
        yield {
            **{"letter": comparison.contenders[at].letter, "n": estimate.n, "value": value_cell(estimate, unit)},
            **{"interval": interval_cell(estimate, unit), "method": estimate.method},
            "parseRate": "" if share is None else f"{100.0 * share:.1f} %",
            "test": None if regression is None else _test(regression),
        }


def _test(regression: RegressionRecord) -> dict[str, Any]:
    change, interval, flips = change_cells(regression)
    unit = regression.drop_unit
    sign = -1.0 if regression.direction == "higher" else 1.0
    margin = None if regression.margin is None else sign * regression.margin
    places = dict(zip(("change", "lower", "upper", "margin"), (*change_of(regression), margin), strict=True))
    return {
        **{"change": change, "interval": interval, "flips": flips, "pairs": regression.pairs},
        **{"status": regression.verdict.replace("_", " "), "mark": MARKS[regression.verdict]},
        "unit": "pp" if regression.unit in PERCENT_UNITS and unit != "%" else unit_text(unit),
        "at": {name: axis_value(place, unit) for name, place in places.items()},
        "sees": amount(open_drop(regression), regression.unit),
        "detail": verdict_text(regression),
    }
