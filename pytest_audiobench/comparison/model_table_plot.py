"""A table of models by benchmarks drawn as SVG: bars, or a radar, with the intervals.

The files are self-contained and work on white and on black: the ground is clear, texts are of a grey that is
read on both. Colours are those of Okabe and Ito, which people with any colour vision tell apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from pytest_audiobench.comparison.model_table import Cell, ModelTable, TableLine
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.value import PERCENT_UNITS
from pytest_audiobench.report.formatting import printable

_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
_DASHES = ("", "7 4", "2 3", "9 3 2 3", "12 4", "4 2")
_GREY, _FAINT = "#767676", "#8c8c8c"
_WIDTH, _LEFT, _RIGHT = 720, 190, 560
_BAR, _STEP, _HEAD, _FOOT = 14, 20, 24, 30
_LONGEST = 28
_RADIUS, _CENTRE, _FEWEST_AXES = 190.0, (360.0, 250.0), 3


def bar_plot(table: ModelTable) -> str:
    """A block of horizontal bars for each benchmark, on an axis of its own; a share's has 0 to 100 %."""
    parts, top = list[str](), 8.0
    for line in table.lines:
        block, height = _block(table, line, top)
        parts += block
        top += height
    return _svg(table, parts, top + _FOOT, _note(table, "Lines: 95 % confidence intervals."))


def radar_plot(table: ModelTable) -> str:
    """An axis for each benchmark whose metric is a share, outwards better.

    Raises UsageError where fewer than three are.
    """
    lines = [line for line in table.lines if line.kind.unit in PERCENT_UNITS]
    if len(lines) < _FEWEST_AXES:
        raise UsageError(
            f"a radar needs {_FEWEST_AXES} benchmarks whose metric is a share, and here are {len(lines)}: --plot bar"
        )
    parts = [*_rings(len(lines)), *(part for at, line in enumerate(lines) for part in _axis(line, at, len(lines)))]
    for number, model in enumerate(table.models):
        parts += _polygon(model, number, [_shown(line.cells[number]) for line in lines], lines)
        x, y = 30 + (number % 3) * 225, 500 + (number // 3) * 18
        parts.append(f'<path d="M{x} {y - 4}h26" {_stroke(number)}/>{_text(x + 32, y, _short(model), "start")}')
    inverted = "; of an error rate 1 minus it" if any(line.kind.direction == "lower" for line in lines) else ""
    note = f"Outwards is better, from 0 to 100 %{inverted}. Lines along the axes: 95 % confidence intervals."
    return _svg(table, parts, 510 + 18 * math.ceil(len(table.models) / 3) + _FOOT, _note(table, note))


def _shown(cell: Cell | None) -> Cell | None:
    return cell if cell is not None and not cell.mismatch else None


def _note(table: ModelTable, text: str) -> str:
    has_others = any(cell and cell.mismatch for line in table.lines for cell in line.cells)
    return text + " Not comparable with the first of their benchmark: empty bars, or left out." * has_others


def _svg(table: ModelTable, parts: Sequence[str], height: float, note: str) -> str:
    title = f"{', '.join(table.models)} in {', '.join(dict.fromkeys(line.name for line in table.lines))}"
    said = "; ".join(_said(table, line) for line in table.lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}" '
        f'height="{height:.0f}" role="img" aria-labelledby="title said" font-family="system-ui, sans-serif" '
        f'font-size="12">\n<title id="title">{_safe(title)}</title>\n<desc id="said">{_safe(said)}</desc>\n'
        + "\n".join(parts)
        + f"\n{_text(10, height - 10, note, 'start', size=11)}\n</svg>\n"
    )


def _said(table: ModelTable, line: TableLine) -> str:
    values = (f"{model} {_figures(line, cell)}" for model, cell in zip(table.models, line.cells, strict=True) if cell)
    return f"{line.name} {line.metric}: {', '.join(values)}"


def _figures(line: TableLine, cell: Cell) -> str:
    interval = cell.interval(line.kind.unit)
    return cell.value(line.kind.unit) + f" ({interval})" * bool(interval)


def _block(table: ModelTable, line: TableLine, top: float) -> tuple[list[str], float]:
    """The bars of a line from ``top`` on, and how high they are together."""
    least, most, ticks = _scale(line)

    def x(value: float) -> float:
        return _LEFT + (min(max(value, least), most) - least) / (most - least) * (_RIGHT - _LEFT)

    bottom = top + _HEAD + _STEP * len(line.cells)
    better = "higher" if line.kind.direction == "higher" else "lower"
    parts = [_text(10, top + 14, f"{line.name}: {line.metric}, {better} is better, n = {line.n:,}", "start", bold=True)]
    for tick, label in ticks:
        parts.append(f'<path d="M{x(tick):.1f} {top + _HEAD - 2:.0f}V{bottom:.0f}" stroke="{_FAINT}" opacity=".45"/>')
        parts.append(_text(x(tick), bottom + 12, label, "middle", size=10))
    for number, (model, cell) in enumerate(zip(table.models, line.cells, strict=True)):
        y = top + _HEAD + number * _STEP
        parts.append(_text(_LEFT - 8, y + 11, _short(model), "end"))
        if cell is None:
            parts.append(_text(_LEFT + 6, y + 11, "–", "start"))
            continue
        colour = _COLOURS[number % len(_COLOURS)]
        fill = f'fill="none" stroke="{colour}"' if cell.mismatch else f'fill="{colour}"'
        start, end = sorted((x(0.0), x(cell.estimate.value)))
        hint = f"<title>{_safe(cell.mismatch or _figures(line, cell))}</title>"
        parts.append(f'<rect x="{start:.1f}" y="{y}" width="{end - start:.1f}" height="{_BAR}" {fill}>{hint}</rect>')
        if cell.estimate.lower is not None and cell.estimate.upper is not None:
            path = f"M{x(cell.estimate.lower):.1f} {y + _BAR / 2}H{x(cell.estimate.upper):.1f}"
            parts += _whisker(path)
        parts.append(_text(_RIGHT + 12, y + 11, _figures(line, cell), "start", bold=cell.is_best))
    return parts, bottom - top + 28


def _scale(line: TableLine) -> tuple[float, float, list[tuple[float, str]]]:
    """Both ends of an axis, and its ticks."""
    figures = [cell.estimate for cell in line.cells if cell]
    ends = [end for each in figures for end in (each.value, each.lower, each.upper) if end is not None]
    if line.kind.unit in PERCENT_UNITS and all(0.0 <= end <= 1.0 for end in ends):
        return 0.0, 1.0, [(tick / 100, f"{tick}") for tick in (0, 25, 50, 75, 100)]
    least, most = min(0.0, *ends, 0.0), max(0.0, *ends, 0.0)
    step = 10.0 ** math.floor(math.log10((most - least) or 1.0))
    step = next(part * step for part in (0.2, 0.5, 1.0, 2.0, 5.0) if (most - least) / (part * step) <= 5.5)
    first, last = math.floor(least / step), max(1, math.ceil(most / step))
    scale = 100.0 if line.kind.unit in PERCENT_UNITS else 1.0
    return first * step, last * step, [(at * step, f"{at * step * scale:.4g}") for at in range(first, last + 1)]


def _point(share: float, at: int, of: int) -> tuple[float, float]:
    angle = 2.0 * math.pi * at / of - math.pi / 2.0
    return _CENTRE[0] + share * _RADIUS * math.cos(angle), _CENTRE[1] + share * _RADIUS * math.sin(angle)


def _rings(axes: int) -> Iterator[str]:
    for share in (0.25, 0.5, 0.75, 1.0):
        points = " ".join("{:.1f},{:.1f}".format(*_point(share, at, axes)) for at in range(axes))
        yield f'<polygon points="{points}" fill="none" stroke="{_FAINT}" opacity=".45"/>'
        if share < 1.0:
            yield _text(_CENTRE[0] + 4, _CENTRE[1] - share * _RADIUS - 2, f"{100 * share:.0f}", "start", size=10)


def _axis(line: TableLine, at: int, of: int) -> Iterator[str]:
    x, y = _point(1.0, at, of)
    yield f'<path d="M{_CENTRE[0]} {_CENTRE[1]}L{x:.1f} {y:.1f}" stroke="{_FAINT}" opacity=".45"/>'
    x, y = _point(1.06, at, of)
    anchor = "middle" if abs(x - _CENTRE[0]) < 20 else "start" if x > _CENTRE[0] else "end"
    name = f"1 - {line.kind.name}" if line.kind.direction == "lower" else line.kind.name
    top = y - (12 if y < _CENTRE[1] - 150 else 0) + (8 if y >= _CENTRE[1] else 0)
    yield _text(x, top, _short(line.name), anchor)
    yield _text(x, top + 13, name, anchor, size=10)


def _polygon(model: str, number: int, cells: Sequence[Cell | None], lines: Sequence[TableLine]) -> Iterator[str]:
    """The values of a model joined, with a gap where one is lacking, and their intervals along the axes."""
    count = len(lines)
    points = [
        None if cell is None else _point(_outwards(cell.estimate.value, line), at, count)
        for at, (cell, line) in enumerate(zip(cells, lines, strict=True))
    ]
    path = ""
    for at, point in enumerate([*points, points[0]]):
        if point is not None:
            joined = at > 0 and points[at - 1] is not None
            path += f"{'L' if joined else 'M'}{point[0]:.1f} {point[1]:.1f}"
    for at, (cell, line, point) in enumerate(zip(cells, lines, points, strict=True)):
        if cell is None or point is None:
            continue
        if cell.estimate.lower is not None and cell.estimate.upper is not None:
            ends = [_point(_outwards(end, line), at, count) for end in (cell.estimate.lower, cell.estimate.upper)]
            d = "M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*ends[0], *ends[1])
            yield f'<path d="{d}" stroke="{_COLOURS[number % len(_COLOURS)]}" stroke-width="3" opacity=".55"/>'
        hint = f"<title>{_safe(f'{model}, {line.name}: {_figures(line, cell)}')}</title>"
        yield f'<circle cx="{point[0]:.1f}" cy="{point[1]:.1f}" r="3.5" fill="{_COLOURS[number % 6]}">{hint}</circle>'
    yield f'<path d="{path}" {_stroke(number)}/>'


def _outwards(value: float, line: TableLine) -> float:
    return min(1.0, max(0.0, 1.0 - value if line.kind.direction == "lower" else value))


def _stroke(number: int) -> str:
    dashes = _DASHES[number // len(_COLOURS) % len(_DASHES) or number % len(_DASHES)]
    return f'fill="none" stroke="{_COLOURS[number % len(_COLOURS)]}" stroke-width="2" stroke-dasharray="{dashes}"'


def _whisker(path: str) -> Iterator[str]:
    """An interval that is seen on its bar and on any ground."""
    yield f'<path d="{path}" stroke="#fff" stroke-width="4" opacity=".85"/>'
    yield f'<path d="{path}" stroke="#1f1f1f" stroke-width="1.6"/>'


def _text(x: float, y: float, text: str, anchor: str, *, bold: bool = False, size: int = 12) -> str:
    weight = ' font-weight="600"' * bold
    style = f'text-anchor="{anchor}" fill="{_GREY}" font-size="{size}"{weight}'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{_safe(text)}</text>'


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _safe(text: str) -> str:
    return escape(printable(text), {'"': "&quot;"})
