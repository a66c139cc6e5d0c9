"""The table at the end of a run, as lines and the style of each; whoever prints them adds the colours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from pytest_audiobench.report import view
from pytest_audiobench.report.figures import printable
from pytest_audiobench.report.view import Block

Style: TypeAlias = Literal["", "bold", "green", "red", "yellow", "light"]
"""A keyword of pytest's TerminalWriter, or nothing."""

Line: TypeAlias = tuple[str, Style]

_STYLES: Mapping[view.Tone, Style] = {"good": "green", "bad": "red", "warn": "yellow", "plain": ""}
_HEAD = ("eval", "model", "metric", "value", "interval", "n", "answered", "verdict")
_RIGHT = (3, 4, 5, 6)
_NARROWEST = 12


class _Entry(NamedTuple):
    cells: tuple[str, ...]
    style: Style


def summary_lines(run: Mapping[str, Any], width: int) -> list[Line]:
    """The run in a table of at most ``width`` columns where names can be shortened to fit, without colours.

    Evals first, then suites pooled, failed checks, the protocols' signatures, and the run's notes.
    """
    several = len(view.aliases(run)) > 1
    evals = [_without_model(entry, several) for one in view.evals(run) for entry in _entries(one)]
    suites = [
        _without_model(entry, several) for suite in run["suites"] if suite["evals"] > 1 for entry in _suite(suite)
    ]
    if not evals:
        return [(banner.text, "red") for banner in view.banners(run)]
    lines = _table(_without_model(_Entry(_HEAD, "bold"), several), evals, suites, width)
    lines += list(_failures(run))
    lines += [(f"{name}: {signature}", "light") for name, signature in _signatures(run).items()]
    lines += [(banner.text, _STYLES[banner.tone]) for banner in view.banners(run)]
    lines += [(f"note: {printable(note)}", "yellow") for note in run["notes"]]
    return lines


def _entries(one: view.Eval) -> Iterator[_Entry]:
    tail, style = one.verdict, _STYLES[one.tone]
    name, model = one.name, one.model
    for number, block in enumerate(one.blocks):
        for cells in _figures(block, headline=number == 0):
            yield _Entry((name, model, *cells, tail), style)
            name = model = tail = ""
            style = ""
    if tail:
        yield _Entry((name, model, "", "", "", "", "", tail), style)


def _suite(suite: Mapping[str, Any]) -> Iterator[_Entry]:
    name, model = f"{suite['name']} (pooled)", suite["model"]
    for number, block in enumerate(view.blocks(suite)):
        for cells in _figures(block, headline=number == 0):
            yield _Entry((name, model, *cells, ""), "bold" if name else "")
            name = model = ""


def _figures(block: Block, headline: bool) -> Iterator[tuple[str, ...]]:
    answered = block.answered
    for figure in block.figures:
        metric = figure.metric if headline or not block.reading else f"{figure.metric} [{block.reading}]"
        interval = f"[{figure.interval}]" if figure.interval else ""
        yield metric, figure.value, interval, str(figure.n), answered
        answered = ""


def _without_model(entry: _Entry, several: bool) -> _Entry:
    return entry if several else _Entry((entry.cells[0], "", *entry.cells[2:]), entry.style)


def _table(head: _Entry, evals: Sequence[_Entry], suites: Sequence[_Entry], width: int) -> list[Line]:
    entries = [head, *evals, *suites]
    cells = [tuple(printable(cell) for cell in entry.cells) for entry in entries]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEAD))]
    gaps = 2 * (sum(1 for one in widths if one) - 1)
    for column in (0, 1):
        excess = sum(widths) + gaps - width
        if excess > 0 and widths[column]:
            widths[column] = max(min(widths[column], _NARROWEST), widths[column] - excess)
    lines = [(_line(row, widths), entry.style) for row, entry in zip(cells, entries, strict=True)]
    if suites:
        lines.insert(1 + len(evals), ("", ""))
    return lines


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = []
    for column, (text, width) in enumerate(zip(row, widths, strict=True)):
        if width:
            text = text if len(text) <= width else text[: width - 1] + "…"
            cells.append(text.rjust(width) if column in _RIGHT else text.ljust(width))
    return "  ".join(cells).rstrip()


def _failures(run: Mapping[str, Any]) -> Iterator[Line]:
    several = len(view.aliases(run)) > 1
    for one in view.evals(run):
        name = f"{one.name} · {one.model}" if several else one.name
        for check in one.checks:
            if check.tone != "good":
                detail = f": {check.detail}" if check.detail else ""
                yield printable(f"{check.mark} {name}: {check.threshold}: {check.status}{detail}"), _STYLES[check.tone]


def _signatures(run: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in run["items"]:
        for reading in item["readings"]:
            name, signature = printable(reading["name"]), printable(reading["signature"])
            if signature not in found.setdefault(name, signature).split("; "):
                found[name] += f"; {signature}"
    return found
