"""The table at the end of a run, as lines and the style of each; the printing code adds the colours."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from pytest_audiobench.evaluation.garbage_collection import collector_paused
from pytest_audiobench.records.run import ItemRecord, RunRecord
from pytest_audiobench.report import summary_footer, view_model
from pytest_audiobench.report.formatting import Tone, counted, cut_in_the_middle, eval_name, printable
from pytest_audiobench.report.scene_columns import published_lines
from pytest_audiobench.report.scorer_comparison import table_lines, table_title
from pytest_audiobench.report.suite_rows import SuiteRows, alarm_lines, fitted, skip_lines, suite_rows
from pytest_audiobench.report.verdict import (
    PASS,
    alarms,
    baseline_changes,
    failed_checks,
    failed_thresholds,
    is_alarm,
    parse_rate_hint,
    regression_lines,
    run_verdict,
)
from pytest_audiobench.report.view_model import Block

if TYPE_CHECKING:
    from pytest_audiobench.report.changes import Change

Style: TypeAlias = Literal["", "bold", "green", "red", "yellow", "light"]
"""A keyword of pytest's TerminalWriter, or nothing."""

Line: TypeAlias = tuple[str, Style]

_STYLES: Mapping[Tone, Style] = {"good": "green", "bad": "red", "warn": "yellow", "plain": ""}
_HEAD = ("eval", "model", "metric", "value", "interval", "n", "parse rate", "verdict")
_RIGHT = (3, 4, 5, 6)
_REGRESSIONS = ("verdict", "line", "before", "now", "change", "interval", "flips", "n")
_RIGHT_OF_REGRESSIONS = range(2, 8)

_FEW = 8
"""Evals up to which each is shown in full: their figures are what such a run is for."""

_MOST_FIGURES = 20
"""Rows of a few evals' figures beyond which each scorer's first metric is shown alone: more fill screens."""

_MOST = 10
_MOST_PUBLISHED = 24
"""Lines on what failed, beyond which the page has the others."""

_FEW_NAMES = 3
_MANY_SKIPS = 3
"""Reasons to skip evals beyond which data that is not here is one line: a catalogue would fill screens."""

_LONG = 22
"""A metric's name beyond which it stands above its numbers in a narrow table: one would take the columns from all.

Where the numbers are wide a shorter one does.
"""

_NO_BREAK = "\N{NO-BREAK SPACE}"
"""Stands for the spaces within a cell while a row is broken between its cells."""


class _Entry(NamedTuple):
    cells: tuple[str, ...]
    style: Style


@collector_paused()
def summary_lines(run: RunRecord, width: int, verbosity: int = 0) -> list[Line]:
    """The run as lines of at most ``width`` columns, without colours.

    Of more than :data:`_FEW` evals a row for each suite; of few, or with ``verbosity``, each eval's figures and the
    tables of perturbations, of scorers and of what else was compared. Then what failed, regression lines, what bears on
    whether the numbers may be believed, notes, and what is known of the models; signatures and where the time went with
    ``verbosity``. Where ``width`` is too small for a table, names stand on lines of their own; texts are wrapped.
    """
    several = len(view_model.aliases(run)) > 1
    # What is asked in addition is in the differences that were recorded against it; the page shows it in full.
    beside = view_model.CONTROL, view_model.PERTURBED
    evals = [item for item in view_model.evals(run) if item.verdict not in beside]
    measured = [item for item in evals if item.blocks or item.verdict != "skipped"]
    is_overview = not verbosity and len(measured) > _FEW
    lines: list[Line] = []
    if is_overview:
        lines += [(text, _STYLES[tone]) for text, tone in fitted(suite_rows(run), width, several)]
        lines[0] = (lines[0][0], "bold")
        if len({item.suite for item in measured}) == 1:  # whose tables are what the run is for
            lines += [(text, "bold" if is_head else "") for text, is_head in _special_tables(run, width, _MOST)]
        elif len(published := list(_published(run))) <= _MOST_PUBLISHED:
            lines += [(text, "bold" if is_head else "") for text, is_head in published]
        lines.append(("", ""))
    elif measured:
        rows = sum(len(block.figures) for item in measured for block in view_model.unfolded(item.blocks))
        if is_folded := not verbosity and len(measured) > 1 and rows > _MOST_FIGURES:
            measured = [replace(item, blocks=tuple(map(view_model.leading, item.blocks))) for item in measured]
        lines += _numbers(run, measured, width, several, is_whole=verbosity > 1 or len(measured) <= _FEW)
        lines += [("all metrics of each eval: pytest -v, or report.html", "light")] * is_folded
    lines += _failures(run, several, is_overview)
    lines += _regressions(run, width, is_overview)
    lines += [(banner.text, _STYLES[banner.tone]) for banner in view_model.cautions(run)]
    raised = alarms(run.items) if not is_overview else alarm_lines(run.items)
    lines += [(text, "red") for text in raised]
    lines += [(text, "yellow") for text in parse_rate_hint(run.items)]
    lines += [(printable(text), "yellow") for text in _notes(run, verbosity, is_overview)]
    if verbosity:
        rules = summary_footer.signatures(run)
        lines += [(printable(f"{name}: {'; '.join(texts)}"), "light") for name, texts in rules.items()]
    models = summary_footer.model_lines(run, "judge", is_brief=not verbosity)
    lines += [(printable(f"{subject} {text}"), "light") for subject, text in models]
    return [line for text, style in lines for line in _fitted(text, style, width)]


def verdict_lines(run: RunRecord, width: int) -> list[Line]:
    """The run's verdict, how it came about, what a reader should do; at last where the answers came from."""
    verdict = run_verdict(run, counts_absent=False)
    # No brackets within brackets: the counts may name what is inconclusive in theirs.
    counts = verdict.counts and (f": {verdict.counts}" if "(" in verdict.counts else f" ({verdict.counts})")
    lines = list(_fitted(printable(f"{verdict.word}{counts}. {verdict.advice}"), _STYLES[verdict.tone], width))
    answers = summary_footer.answers_line(run)
    return [*lines, *(_fitted(printable(answers), "", width) if answers else ())]


def _numbers(
    run: RunRecord, measured: Sequence[view_model.Eval], width: int, several: bool, is_whole: bool
) -> list[Line]:
    """The figures of each eval that was ``measured``, then of suites pooled, then all special tables; of a run that is
    not to be shown ``is_whole`` without what scorers lie apart and what has no interval.
    """
    rows, places = SuiteRows(run), {(item.eval, item.model): place for place, item in enumerate(run.items)}
    entries: list[_Entry] = []
    for item in measured:
        entries += _entries(item)
        for row in rows.beside(places[item.name, item.model]):
            entries.append(_Entry((f"  {row.name}", *row.cells[2:8], view_model.NOT_GATED), ""))
    pooled = [entry for suite in view_model.suites(run) for entry in _suite(suite)]
    # What a card prints of many tasks stands before them.
    if averages := [entry for suite in view_model.suites(run) for entry in _averages(suite)]:
        entries = [*averages, _Entry(("",) * len(_HEAD), ""), *entries]
    lines = _table([_Entry(_HEAD, "bold"), *entries], pooled, several, width)
    # Of the headline scorer alone: the page has the others.
    of_scenes = {
        eval_name(item.name, item.model, several): {figure.metric: figure.value for figure in item.blocks[0].columns}
        for item in measured
        if item.blocks and item.blocks[0].columns
    }
    if of_scenes:
        lines += [("", ""), ("scenes in the columns of the published table; shares in %", "bold")]
        lines += [(printable(text), "") for text in published_lines(of_scenes)]
        lines.append(("of scenes the main metrics; all of them, with what each tells: report.html", "light"))
    for owner, table, marks in summary_footer.scorer_tables(run) if is_whole else ():
        lines += [("", ""), (table_title(owner, table), "bold")]
        lines += [(text, "") for text in table_lines(table, marks)]
    lines += [(text, "bold" if is_head else "") for text, is_head in _special_tables(run, width)]
    if is_whole:
        lines += [(printable(text), "") for text in summary_footer.scorer_lines(run)]
        lines += [(printable(text), "") for text in summary_footer.interval_lines(run)]
    lines += [(printable(text), "yellow") for text in summary_footer.failure_lines(run)]
    return lines


def _failures(run: RunRecord, several: bool, is_overview: bool) -> Iterator[Line]:
    """What failed, a line each: thresholds, and where the tests' own lines are far above also the other reasons."""
    checks = failed_checks(run) if is_overview else failed_thresholds(run)
    for check in checks[:_MOST]:
        yield (
            printable(f"{check.mark} {eval_name(check.eval, check.model, several)}: {check.text}"),
            _STYLES[check.tone],
        )
    yield from _more(len(checks))


def _more(count: int) -> Iterator[Line]:
    if count > _MOST:
        yield f"and {count - _MOST} more: report.html", "light"


def _special_tables(run: RunRecord, width: int, most: int | None = None) -> Iterator[tuple[str, bool]]:
    """Tables of what only some runs have, whose modules only these import; with each line whether it is a head."""
    if view_model.has_perturbations(run):
        from pytest_audiobench.report import perturbation_tables

        yield from perturbation_tables.lines(run, width, most)
    if view_model.has_comparisons(run):
        from pytest_audiobench.report import answer_comparison

        yield from answer_comparison.lines(run, width)
    if view_model.has_perturbations(run):
        yield "", False
    if view_model.has_conditions(run):
        from pytest_audiobench.report import noise_tables

        yield from noise_tables.lines(run)
    if view_model.has_findings(run):
        from pytest_audiobench.report import findings_tables

        yield from findings_tables.lines(run)
    yield from _published(run)


def _published(run: RunRecord) -> Iterator[tuple[str, bool]]:
    if any(item.published for item in run.items):
        from pytest_audiobench.report import published_values

        yield from published_values.lines(run, len(view_model.aliases(run)) > 1)


def _regressions(run: RunRecord, width: int, is_overview: bool) -> Iterator[Line]:
    """A table of the regression lines, the worst last; beneath each that is no pass the formula that it follows from.

    Of many evals the worst alone that are no pass. The verdict stands in the first column, so that nothing before it
    can push it off the line.
    """
    changes, passed = regression_lines(run.items), 0
    if is_overview:
        open_ = [change for change in changes if change.status != PASS]
        changes, passed = open_[:_MOST], len(changes) - len(open_)
    compared = baseline_changes(run)
    if compared is None:
        return
    from pytest_audiobench.report.changes import baseline_text

    yield "", ""
    passing = f"; {counted(passed, 'comparison')} passed" * bool(passed)
    yield printable(f"compared with {baseline_text(run)}{passing}"), "bold"
    several = len(view_model.aliases(run)) > 1
    if others := [eval_name(*owner, several) for owner in compared.without_line]:
        some = f"{', '.join(others[:_FEW_NAMES])}{', …' if len(others) > _FEW_NAMES else ''}"
        yield printable(f"measured, not compared: {counted(len(others), 'eval')} ({some})"), "light"
    if not changes:
        return
    rows = [_regression_row(change, several) for change in reversed(changes)]
    widths = [max(map(len, column)) for column in zip(_REGRESSIONS, *rows, strict=True)]
    wide = _total(widths) <= width
    if not wide:
        widths = _aligned(rows, width)
    yield from ((line, "bold") for line in _lines(_REGRESSIONS, widths, width, _RIGHT_OF_REGRESSIONS))
    for change, row in zip(reversed(changes), rows, strict=True):
        style = _STYLES[change.tone]
        if not wide:
            yield cut_in_the_middle(row[1], width), style
        yield from ((line, style) for line in _lines(row, widths, width, _RIGHT_OF_REGRESSIONS))
        if change.status != PASS:
            yield f"    {printable(change.detail)}", style


def _aligned(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """Widths without the lines' names, of as many rows as fit below one another: one long unit moves no other row."""
    widths = list(map(len, _REGRESSIONS))
    widths[1] = 0
    for lengths in sorted(([len(row[0]), 0, *map(len, row[2:])] for row in rows), key=sum):
        if _total(wider := list(map(max, widths, lengths))) - 2 <= width:
            widths = wider
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _regression_row(change: Change, several: bool) -> tuple[str, ...]:
    name = eval_name(change.eval, change.model, several)
    interval = f"[{change.interval}]" if change.interval else ""
    is_measured = change.at is not None
    numbers = (change.before, change.now, change.change) if is_measured else ("", "", "")
    flips = f"\N{MINUS SIGN}{change.worse} +{change.better}" if is_measured else ""
    cells = (change.status, f"{name}: {change.line}", *numbers, interval, flips, str(change.pairs))
    return tuple(map(printable, cells))


def _fitted(text: str, style: Style, width: int) -> Iterator[Line]:
    if len(text) <= width:
        yield text, style
        return
    indent = " " * (len(text) - len(text.lstrip()))
    # A number stays with its unit.
    wrapped = textwrap.wrap(
        re.sub(r"(?<=\d) (?=[%×]|MB\b|pp\b)", _NO_BREAK, text.strip()),
        max(width, 20),
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_on_hyphens=False,
    )
    yield from ((line.replace(_NO_BREAK, " "), style) for line in wrapped)


def _notes(run: RunRecord, verbosity: int, is_overview: bool) -> list[str]:
    """What the evals warn of, agreement over epochs, skips and the run's own notes; what several say is said once."""
    evals_by_text: dict[str, list[str]] = {}
    reasons = {item.message for item in run.items if item.outcome == "skipped"}
    is_folded = verbosity < 2 and len(reasons) > _MANY_SKIPS
    for item in run.items:
        skipped = [f"skipped: {item.message}"] if item.outcome == "skipped" and not is_folded else []
        # Alarms stand where the verdict does.
        warnings = [text for text in item.warnings if not is_alarm(text)]
        for text in (*warnings, *_agreement(item), *skipped):
            evals_by_text.setdefault(text, []).append(item.eval)
    of_evals = [
        f"note: {evals[0] if len(evals) == 1 else f'{len(evals)} evals'}: {text}"
        for text, evals in evals_by_text.items()
    ]
    if is_overview and len(of_evals) > 1:
        of_evals = [f"note: {len(of_evals)} notes on evals: pytest -v, or report.html"]
    notes = [*of_evals, *(f"note: {note}" for note in run.notes)]
    return [*notes, *(skip_lines(run, each=bool(verbosity)) if is_folded else ())]


def _agreement(item: ItemRecord) -> list[str]:
    over = item.agreement
    if over is None or over.mean is None:
        return []
    mean, spread, low, high, same = (
        "–" if number is None else f"{100 * number:.1f}"
        for number in (over.mean, over.spread, over.min, over.max, over.agreement)
    )
    return [
        f"{over.metric} over {over.epochs} epochs: mean {mean} %, spread {spread} pp ({low} to {high}); "
        f"the same answer in all epochs for {same} % of {over.n} samples"
    ]


def _entries(item: view_model.Eval) -> Iterator[_Entry]:
    tail, style = item.verdict, _STYLES[item.tone]
    name, model = item.name, item.model
    for number, block in enumerate(view_model.unfolded(item.blocks)):
        for cells in _figures(block, headline=number == 0):
            yield _Entry((name, model, *cells, tail), style)
            name = model = tail = ""
            style = ""
    if tail:
        yield _Entry((name, model, "", "", "", "", "", tail), style)


def _suite(suite: view_model.Suite) -> Iterator[_Entry]:
    name, model = f"{suite.name} (pooled)", suite.model
    for number, block in enumerate(map(view_model.leading, view_model.unfolded(suite.blocks))):
        for cells in _figures(block, headline=number == 0 and suite.leads):
            yield _Entry((name, model, *cells, ""), "bold" if name else "")
            name = model = ""
        fields = suite.fields - {view_model.AVERAGE}
        groups = tuple(figure for figure in block.groups if figure.group.partition("=")[0] in fields)
        rows = _figures(replace(block, figures=groups, parse_rate="", skipped=""), headline=number == 0 and suite.leads)
        for figure, cells in zip(groups, rows, strict=True):
            yield _Entry((f"  {figure.group}", "", *cells, ""), "")


def _averages(suite: view_model.Suite) -> Iterator[_Entry]:
    for place, (average, figures) in enumerate(suite.averages.items()):
        name, model = f"{suite.name}, {average}", suite.model
        for number, (block, figure) in enumerate(figures):
            own = replace(block, figures=(figure,), parse_rate="", skipped="")
            for cells in _figures(own, headline=number == 0):
                yield _Entry((name, model, *cells, ""), "" if place or number else "bold")
            name = model = ""


def _figures(block: Block, headline: bool) -> Iterator[tuple[str, ...]]:
    parse_rate = block.parse_rate_and_skipped
    for figure in block.figures:
        is_plain = (headline and not block.variant) or not block.title
        metric = figure.metric if is_plain else f"{figure.metric} [{block.title}]"
        interval = f"[{figure.interval}]" if figure.interval else ""
        yield metric, figure.value, interval, str(figure.n), parse_rate
        parse_rate = ""


def _table(evals: Sequence[_Entry], suites: Sequence[_Entry], several: bool, width: int) -> list[Line]:
    """The evals below their head, then the suites; models are named where there are ``several``."""
    entries = [*evals, *([_Entry(("",) * len(_HEAD), ""), *suites] if suites else ())]
    rows = [((name, model if several else "", *cells), style) for (name, model, *cells), style in entries]
    entries = [_Entry(tuple(map(printable, cells)), style) for cells, style in rows]
    widths = _widths(entries)
    if _total(widths) > width:
        # A shorter word for a column may be enough.
        head = _Entry(tuple(cell.replace("parse rate", "parsed") for cell in entries[0].cells), entries[0].style)
        if _total(narrower := _widths([head, *entries[1:]])) <= width:
            entries, widths = [head, *entries[1:]], narrower
    if _total(widths) > width:
        # A stacked table has its indent in place of names, and no column of models.
        rest = width - sum(widths[3:]) - 2 * (len(_HEAD) - 2) - 1
        longest = min(_LONG, max(rest, len(_HEAD[2])))
        entries = [part for entry in entries for part in _stacked(entry, longest, width)]
        widths = _widths(entries)
    return [(line, entry.style) for entry in entries for line in _lines(entry.cells, widths, width)]


def _widths(entries: Sequence[_Entry]) -> list[int]:
    # A name that stands alone on its line may run over the columns next to it.
    return [max(len(entry.cells[column]) for entry in entries if any(entry.cells[1:])) for column in range(len(_HEAD))]


def _stacked(entry: _Entry, longest: int, width: int) -> Iterator[_Entry]:
    name = " · ".join(filter(None, entry.cells[:2]))
    if name and name != _HEAD[0]:
        yield _Entry((cut_in_the_middle(name, width), *("",) * (len(_HEAD) - 1)), entry.style)
    metric, *numbers = entry.cells[2:]
    if len(metric) > longest and any(numbers):
        yield _Entry((f"   {metric}", *("",) * (len(_HEAD) - 1)), entry.style)
        metric = ""
    if metric or any(numbers) or not name:
        yield _Entry((" ", "", metric, *numbers), entry.style)


def _lines(row: Sequence[str], widths: Sequence[int], width: int, right: Sequence[int] = _RIGHT) -> list[str]:
    """A row as one line; as several where it is too wide, broken between its cells only."""
    if not any(row[1:]):
        return [row[0].rstrip()]
    cells = [
        text.rjust(room) if column in right else text.ljust(room)
        for column, (text, room) in enumerate(zip(row, widths, strict=True))
        if room
    ]
    line = "  ".join(cells).rstrip()
    if len(line) <= width:
        return [line]
    whole = "  ".join(
        text.replace(" ", _NO_BREAK) for text, room in zip(row, widths, strict=True) if room and text.strip()
    )
    return [line.replace(_NO_BREAK, " ") for line in textwrap.wrap(whole, width, subsequent_indent="    ")]
