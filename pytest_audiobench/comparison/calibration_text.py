"""What ``audiobench calibrate`` prints, in at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_audiobench.comparison.calibration_file import Calibration
from pytest_audiobench.comparison.table_cells import table_lines
from pytest_audiobench.gate.calibration import CalibratedLine, Moved
from pytest_audiobench.metrics.metric import FRACTIONS
from pytest_audiobench.metrics.value import difference_text, digits_text
from pytest_audiobench.report.formatting import counted, printable, value_text, wrapped

_HEAD = ("", "mean", "sd", "n", "requires", "MDE")
OLD_DAYS = 90
"""Days after which a calibration is called old: drivers, kernels and servers are others by then."""


def calibration_lines(calibration: Calibration) -> Iterator[str]:
    """The table of the lines, what they promise, and notes."""
    terms, lines = calibration.terms, calibration.lines
    judged = [line for line in lines if line.require]
    runs = counted(len(calibration.runs), "run")
    yield from wrapped(
        f"{counted(len(judged), 'line')} from {runs} of {calibration.model}: of 100 runs of the unchanged model "
        f"{100.0 * terms.false_alarms:.3g} at most alarm in any line; MDE: the loss that is detected "
        f"{100.0 * terms.power:.3g} times in 100"
        + (", besides what the baseline's own run is off" if terms.margins else ""),
        "",
    )
    yield ""
    blocks = [(f"{line.eval} {line.metric}", [_cells(line)]) for line in lines]
    yield from table_lines(_HEAD, (), blocks)
    notes: dict[str, list[str]] = {}
    for line in lines:
        if line.note:
            notes.setdefault(line.note, []).append(line.eval)
    yield from ([""] if notes else [])
    for note, evals in notes.items():
        yield from wrapped(printable(f"{evals[0] if len(evals) == 1 else f'{len(evals)} evals'}: {note}"))


def _cells(line: CalibratedLine) -> tuple[str, ...]:
    in_pp = line.unit in FRACTIONS
    known = line.sd == line.sd
    spread = "–" if not known else f"{100.0 * line.sd:.2f} pp" if in_pp else digits_text(line.sd, 3)
    sees = "–" if line.sees is None else difference_text(line.sees, line.unit).lstrip("+")
    mean = "–" if line.mean != line.mean else value_text(line.mean, line.unit)
    return "", mean, spread, f"{line.n:,}", line.require.partition(" ")[2] or "–", sees


def moved_lines(moved: Sequence[Moved], earlier: Calibration, units: dict[str, str]) -> Iterator[str]:
    """What has become worse or better since the earlier calibration, a line each."""
    since = earlier.day.isoformat()
    for each in moved:
        if each.verdict:
            unit = units[each.metric]
            yield from wrapped(
                printable(
                    f"{each.verdict} since {since}: {each.eval} {each.metric} was {value_text(each.before, unit)} and "
                    f"is {value_text(each.now, unit)}"
                )
            )
    same = sum(not each.verdict for each in moved)
    if same:
        yield f"{counted(same, 'line')} moved by no more than noise since {since}"
