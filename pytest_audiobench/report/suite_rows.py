"""A run of many evals on one screen: a row for each suite of each model, and what several evals have in common once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from pytest_audiobench.records.run import ALARM, ItemRecord, RunRecord
from pytest_audiobench.report import view_model
from pytest_audiobench.report.formatting import (
    VERDICTS,
    Tone,
    counted,
    cut_in_the_middle,
    interval_text,
    parse_rate_text,
    printable,
    value_text,
)
from pytest_audiobench.report.verdict import is_alarm

HEAD = ("", "suite", "model", "metric", "score", "interval", "n", "parsed", "verdict")
_RIGHT = (4, 5, 6, 7)
_NAME, _MODEL, _METRIC, _VERDICT = 1, 2, 3, 8
_SHORTEST = ((_NAME, 18), (_METRIC, 10), (_NAME, 12), (_MODEL, 6))
_WORST = ("lost", "FAIL", *(sign.words for sign in VERDICTS.values()))
_NUMBER = re.compile(r"\d+")
_MOST_NAMES = 6
_MOST_EVALS = 24
_ABSENT = " is not on this machine"
_FETCHED = re.compile(r"audiobench fetch ([^\s,;]+)")


class SuiteRow(NamedTuple):
    """The cells of a row, and how it is coloured."""

    cells: tuple[str, ...]
    tone: Tone = "plain"


def suite_rows(run: RunRecord) -> list[SuiteRow]:
    """A row for each metric that leads evals of a suite: of all their samples, of the clean clips and of the mean over
    perturbations where it has any, or the range of the evals where neither is; with the first the worst of their
    verdicts. Of one suite alone a row for each eval goes before, where no table of perturbations has them.
    """
    pooled = {(suite.name, suite.model): view_model.leading(suite.blocks[0]) for suite in view_model.suites(run)}
    perturbed = {
        (suite.name, suite.model): {each.metric: each for each in reversed(suite.perturbations)}
        for suite in run.suites
        if suite.perturbations
    }
    clean = {
        (item.eval, item.model) for item in run.items if not item.perturbation or item.perturbation.name == "clean"
    }
    coverages = {(item.eval, item.model): item.scorers[0].coverage for item in run.items if item.scorers}
    members: dict[tuple[str, str], list[view_model.Eval]] = {}
    beside = view_model.CONTROL, view_model.PERTURBED, "skipped"
    shown = [item for item in view_model.evals(run) if item.verdict not in beside]
    if len({item.suite for item in shown}) == 1 and not perturbed and len(shown) <= _MOST_EVALS:
        members = {(item.name, item.model): [item] for item in shown}
    for item in shown:
        members.setdefault((item.suite, item.model), []).append(item)
    rows: list[SuiteRow] = []
    for (suite, model), evals in members.items():
        by_metric: dict[str, list[view_model.Eval]] = {}
        for item in evals:
            measured = item.blocks and item.blocks[0].figures
            by_metric.setdefault(item.blocks[0].figures[0].metric if measured else "", []).append(item)
        head, tone = _head(suite, evals)
        for metric, own in by_metric.items():
            as_it_is = [item for item in own if (item.name, item.model) in clean]
            one = len(own) == 1 or ((suite, model) in perturbed and len(as_it_is) == 1)
            own = as_it_is if one and len(own) > 1 else own
            block = own[0].blocks[0] if one and metric else pooled.get((suite, model))
            known = [coverages[key] for item in own if (key := (item.name, item.model)) in coverages]
            parse_rate = parse_rate_text(reduce(add, known)) if known else ""
            numbers = ("", "", "", "", "")
            if metric and block and block.figures and block.figures[0].metric == metric:
                first = block.figures[0]
                name = f"{metric} (clean)" if one and len(evals) > 1 and (suite, model) in perturbed else metric
                numbers = (name, first.value, _bracketed(first.interval), str(first.n), parse_rate)
            elif metric:
                figures = sorted((item.blocks[0].figures[0] for item in own), key=lambda figure: figure.at or 0.0)
                n = sum(figure.n for figure in figures)
                numbers = (metric, "", f"{figures[0].value} to {figures[-1].value}", str(n), parse_rate)
            mark, name, alias, verdict = head
            rows.append(SuiteRow((mark, name, alias, *numbers, verdict), tone))
            head, tone = ("", "", "", ""), "plain"
            if summary := perturbed.get((suite, model), {}).get(metric):
                value = value_text(summary.mean.value, summary.unit)
                interval = _bracketed(interval_text(summary.mean, summary.unit))
                rows.append(SuiteRow(("", "", "", f"{metric} (mean)", value, interval, "", "", ""), "plain"))
    return rows


def _head(suite: str, evals: Sequence[view_model.Eval]) -> tuple[tuple[str, str, str, str], Tone]:
    """The mark, the name, the model and the verdict of a suite's evals, the worst first, and its tone."""
    verdicts = Counter(item.verdict for item in evals)
    worst = next((item for word in _WORST for item in evals if item.verdict == word), evals[0])
    count = verdicts[worst.verdict]
    verdict = worst.verdict if count == len(evals) else f"{count} of {len(evals)} {worst.verdict}"
    name = evals[0].name if len(evals) == 1 else suite
    return (worst.mark, name, worst.model, "" if worst.verdict == view_model.NOT_GATED else verdict), worst.tone


def _bracketed(interval: str) -> str:
    return f"[{interval}]" if interval else ""


def fitted(rows: Sequence[SuiteRow], width: int, several: bool) -> Iterator[tuple[str, Tone]]:
    """The rows below their head as lines of at most ``width`` columns, each one; the model where there are ``several``.

    Where they are too wide the mark stands for the verdict, and names are cut in their middle.
    """
    table = [HEAD, *(tuple(map(printable, row.cells)) for row in rows)]
    kept = [k for k in range(len(HEAD)) if (k != _MODEL or several) and any(row[k] for row in table[1:])]
    widths = {k: max(len(row[k]) for row in table) for k in kept}

    def excess() -> int:
        return sum(widths.values()) + 2 * (len(widths) - 1) - width

    if excess() > 0:
        widths.pop(_VERDICT, None)
    for column, least in _SHORTEST:
        if column in widths and excess() > 0:
            widths[column] = max(min(least, widths[column]), widths[column] - excess())
    for row, tone in zip(table, ("plain", *(row.tone for row in rows)), strict=True):
        cells = [(cut_in_the_middle(row[k], room), room, k in _RIGHT) for k, room in widths.items()]
        yield "  ".join(text.rjust(room) if right else text.ljust(room) for text, room, right in cells).rstrip(), tone


def alarm_lines(items: Sequence[ItemRecord]) -> list[str]:
    """Alarms that differ in their numbers alone as one, with how many evals of which suites raise it."""
    by_reason: dict[str, list[tuple[str, ItemRecord]]] = {}
    for item in items:
        for warning in filter(is_alarm, item.warnings):
            text = warning.removeprefix(ALARM).strip()
            by_reason.setdefault(_NUMBER.sub("#", text), []).append((text, item))
    lines = []
    for raised in by_reason.values():
        reason = raised[0][0].partition(": ")[0]
        evals = list(dict.fromkeys(item.eval for _, item in raised))
        suites = ", ".join(dict.fromkeys(item.suite for _, item in raised))
        where = evals[0] if len(evals) == 1 else f"{len(evals)} evals of {suites}, such as {evals[0]}"
        lines.append(printable(f"Alarm: {reason} ({where})"))
    return lines


def skip_lines(run: RunRecord, each: bool) -> Iterator[str]:
    """What was skipped: how many data sets are not here, with the command that fetches those that can be, or of
    ``each`` of them a line; then how many evals for something else, and the first reason, or ``each``.
    """
    reasons = list(dict.fromkeys(item.message for item in run.items if item.outcome == "skipped"))
    others = [reason for reason in reasons if _ABSENT not in reason]
    commands: dict[str, str] = {}
    for reason in reasons:
        if _ABSENT in reason:
            found = _FETCHED.search(reason)
            commands.setdefault(reason.partition(_ABSENT)[0], found[1] if found else "")
    if each:
        yield from (
            f"{name} is not here: {f'audiobench fetch {fetched}' if fetched else 'pytest -rs says where it is had'}"
            for name, fetched in commands.items()
        )
        yield from (f"skipped: {reason}" for reason in others)
        return
    names = list(dict.fromkeys(filter(None, commands.values())))
    fetch = f": audiobench fetch {' '.join(names[:_MOST_NAMES])}{' …' * (len(names) > _MOST_NAMES)}" if names else ""
    if count := len(run.unavailable) or len(commands):
        are = "data set is" if count == 1 else "data sets are"
        yield f"{count} {are} not here{fetch} (each: pytest -rs, or audiobench list benchmarks)"
    if others:
        more = counted(sum(item.outcome == "skipped" and _ABSENT not in item.message for item in run.items), "eval")
        yield f"{more} skipped otherwise, the first since {others[0]}"
