"""A run of many evals on one screen: a row for each suite of each model, and what several evals have in common once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import NamedTuple

from pytest_audiobench.evaluation.perturbation_series import CLEAN
from pytest_audiobench.records.run import ALARM, ItemRecord, PerturbationsRecord, RunRecord
from pytest_audiobench.report import view_model
from pytest_audiobench.report.formatting import (
    VERDICTS,
    Sign,
    Tone,
    combined_verdict,
    counted,
    cut_in_the_middle,
    parse_rate_text,
    printable,
)
from pytest_audiobench.report.verdict import NUMBER, absent_set, absent_sets, is_alarm

HEAD = ("", "suite", "model", "metric", "score", "interval", "n", "parsed", "verdict")
_RIGHT = (4, 5, 6, 7)
_NAME, _MODEL, _METRIC, _VERDICT = 1, 2, 3, 8
_SHORTEST = ((_NAME, 18), (_METRIC, 10), (_NAME, 12), (_MODEL, 6))
_WORST = ("lost", "FAIL", *(sign.words for sign in VERDICTS.values()))
_UNDECIDED = VERDICTS["inconclusive"].words
_MOST_NAMES = 6
_MOST_EVALS = 24
_MOST_PERTURBATIONS = 8
_FETCHED = re.compile(r"audiobench fetch ([^\s,;]+)")


class SuiteRow(NamedTuple):
    """A number of a suite by one model, or of one of its evals: what terminal and page show of a run first."""

    name: str
    suite: str
    model: str
    sign: Sign | None = None
    """The worst verdict of its evals, and how many have it; None below the first row of a suite."""
    metric: str = ""
    of: str = ""
    """"clean" or "mean" where the suite has perturbations, or the name of its declared average."""
    figure: view_model.Figure | None = None
    spread: str = ""
    """The least and the highest value of evals that nothing pools."""
    n: int = 0
    parse_rate: str = ""
    evals: tuple[int, ...] = ()
    """The places of its evals among the run's items."""
    under: str = ""
    """The eval below whose row it stands, of what was asked of it under a perturbation."""

    @property
    def cells(self) -> tuple[str, ...]:
        """As the terminal shows it."""
        metric = f"{self.metric} ({self.of})" if self.of else self.metric
        value, interval = (self.figure.value, self.figure.interval) if self.figure else ("", "")
        numbers = (metric, value, f"[{interval}]" if interval else self.spread, str(self.n or ""), self.parse_rate)
        if self.sign is None:
            return "", "", "", *numbers, ""
        verdict = "" if self.sign.words == view_model.NOT_GATED else self.sign.words
        return self.sign.mark, self.name, self.model, *numbers, verdict

    @property
    def tone(self) -> Tone:
        return self.sign.tone if self.sign else "plain"


class SuiteRows:
    """The rows of a run: for each suite and model, and for one eval."""

    def __init__(self, run: RunRecord) -> None:
        self._run, self._evals = run, view_model.evals(run)
        self._pooled = {(suite.name, suite.model): suite for suite in view_model.suites(run)}
        self._perturbed = {
            (suite.name, suite.model): {each.metric: each for each in reversed(suite.perturbations)}
            for suite in run.suites
            if suite.perturbations
        }
        beside = view_model.CONTROL, view_model.PERTURBED, "skipped"
        self.members: dict[tuple[str, str], list[int]] = {}
        """The places of the evals of each suite and model; without what was skipped or only asked in addition."""
        for place, item in enumerate(self._evals):
            if item.verdict not in beside:
                self.members.setdefault((item.suite, item.model), []).append(place)
        places = {(item.name, item.model): place for place, item in enumerate(self._evals)}
        self._beside: dict[tuple[int, str], tuple[list[int], PerturbationsRecord]] = {}
        """By the place of an eval and a metric what was asked of it under perturbations."""
        for each, model in ((each, suite.model) for suite in run.suites for each in reversed(suite.perturbations)):
            points = {point.perturbation: places[point.eval, model] for point in each.points}
            asked = [place for place in points.values() if self._evals[place].verdict == view_model.PERTURBED]
            if asked and CLEAN in points:
                self._beside[points[CLEAN], each.metric] = asked, each

    @property
    def of_one_suite(self) -> list[SuiteRow]:
        """Of one suite alone a row for each eval, where no table of perturbations has them."""
        places = [place for own in self.members.values() for place in own]
        one = len({suite for suite, _ in self.members}) == 1 and not self._perturbed
        return [row for place in places for row in self.of_eval(place)] if one and len(places) <= _MOST_EVALS else []

    def of_eval(self, place: int) -> list[SuiteRow]:
        """The row of one eval, and those of what was asked under perturbations."""
        return [*self._rows([place]), *self.beside(place)]

    def beside(self, place: int) -> list[SuiteRow]:
        """Below the row of an eval what was asked of it under perturbations: each of a few, else their mean."""
        item = self._evals[place]
        metric = item.blocks[0].figures[0].metric if item.blocks and item.blocks[0].figures else ""
        asked, summary = self._beside.get((place, metric), ((), None))
        not_gated = Sign("", "plain", view_model.NOT_GATED)
        row = SuiteRow("", item.suite, item.model, not_gated, metric, under=item.name)
        if summary is not None and len(asked) > _MOST_PERTURBATIONS:
            mean = view_model.mean_figure(metric, summary.mean, summary.unit)
            name = f"mean of {len(asked)} perturbations{' and clean' * (CLEAN in summary.weights)}"
            return [row._replace(name=name, figure=mean, evals=tuple(asked))]
        rows = []
        for each in asked:
            perturbation, blocks = self._run.items[each].perturbation, self._evals[each].blocks
            figure = next((one for block in blocks[:1] for one in block.figures if one.metric == metric), None)
            if figure and perturbation:
                rate = self._parse_rate([each])
                own = row._replace(name=perturbation.name, figure=figure, n=figure.n, parse_rate=rate, evals=(each,))
                rows.append(own)
        return rows

    def of_suite(self, key: tuple[str, str]) -> list[SuiteRow]:
        """A row for each metric that leads evals of a suite by a model: its declared average, else all their samples,
        else the clean clips, and the mean over perturbations where it has any, else the range of its evals.
        """
        places = self.members[key]
        return [*self._rows(places), *(self.beside(places[0]) if len(places) == 1 else ())]

    def _rows(self, places: Sequence[int]) -> Iterator[SuiteRow]:
        first, whole = self._evals[places[0]], len(places) > 1
        suite, means = self._pooled.get((first.suite, first.model)), self._perturbed.get((first.suite, first.model), {})
        by_metric: dict[str, list[int]] = {}
        for place in places:
            blocks = self._evals[place].blocks
            measured = blocks and blocks[0].figures
            by_metric.setdefault(blocks[0].figures[0].metric if measured else "", []).append(place)
        sign: Sign | None = self._sign(places)
        row = SuiteRow(first.suite if whole else first.name, first.suite, first.model)
        for metric, every in by_metric.items():
            done = {place: self._run.items[place].perturbation for place in every}
            clean = [place for place, perturbation in done.items() if not perturbation or perturbation.name == "clean"]
            one = len(every) == 1 or (bool(means) and len(clean) == 1)
            own = clean if one and len(every) > 1 else every
            averages = suite.averages if suite and whole and not one else {}
            average = [(name, own[0][1]) for name, own in averages.items() if own[0][1].metric == metric][:1]
            block = self._evals[own[0]].blocks[0] if one and metric else None
            block = view_model.leading(suite.blocks[0]) if suite and not one else block
            figure = average[0][1] if average else block.figures[0] if block and block.figures else None
            figure = figure if figure and figure.metric == metric else None
            of = average[0][0] if average else "clean" if one and whole and means else ""
            figures = [self._evals[place].blocks[0].figures[0] for place in own if metric]
            figures.sort(key=lambda each: each.at or 0.0)
            yield row._replace(
                sign=sign,
                metric=metric,
                of=of if figure else "",
                figure=figure,
                spread="" if figure or not figures else f"{figures[0].value} to {figures[-1].value}",
                n=figure.n if figure else sum(each.n for each in figures),
                parse_rate=self._parse_rate(own) if metric else "",
                evals=tuple(own),
            )
            sign = None
            if whole and metric in means and len(clean) == 1:
                mean = view_model.mean_figure(metric, means[metric].mean, means[metric].unit)
                rate = self._parse_rate(every)
                yield row._replace(metric=metric, of="mean", figure=mean, parse_rate=rate, evals=tuple(every))

    def _parse_rate(self, places: Sequence[int]) -> str:
        known = [self._run.items[place].scorers[0].coverage for place in places if self._run.items[place].scorers]
        return parse_rate_text(reduce(add, known)) if known else ""

    def _sign(self, places: Sequence[int]) -> Sign:
        verdicts = Counter(self._evals[place].verdict for place in places)
        word = next((word for word in _WORST if word in verdicts), self._evals[places[0]].verdict)
        worst = next(self._evals[place] for place in places if self._evals[place].verdict == word)
        count = verdicts[word]
        words = word if count == len(places) else f"{count} of {len(places)} {word}"
        if word == _UNDECIDED and count < len(places):
            # As in the run's own counts, one that is not decided must not hide what became of the others.
            words = ", ".join(f"{verdicts[each]} {each}" for each in reversed(_WORST) if each in verdicts)
            return VERDICTS[combined_verdict(verdicts) or word]._replace(words=words)
        return Sign(worst.mark, worst.tone, words)


def suite_rows(run: RunRecord) -> list[SuiteRow]:
    """The rows of the terminal: for each suite; of one suite alone those of its evals before."""
    rows = SuiteRows(run)
    return [*rows.of_one_suite, *(row for key in rows.members for row in rows.of_suite(key))]


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
            by_reason.setdefault(NUMBER.sub("#", text), []).append((text, item))
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
    commands: dict[str, str] = {}
    others = Counter[str]()
    for item in run.items:
        if name := absent_set(item):
            found = _FETCHED.search(item.message)
            commands.setdefault(name, found[1] if found else "")
        elif item.outcome == "skipped":
            others[item.message] += 1
    if each:
        yield from (
            f"{name} is not here: {f'audiobench fetch {fetched}' if fetched else 'pytest -rs says where it is had'}"
            for name, fetched in commands.items()
        )
        yield from (f"skipped: {reason}" for reason in others)
        return
    names = list(dict.fromkeys(filter(None, commands.values())))
    fetch = f": audiobench fetch {' '.join(names[:_MOST_NAMES])}{' …' * (len(names) > _MOST_NAMES)}" if names else ""
    if count := len(absent_sets(run)):
        are = "data set is" if count == 1 else "data sets are"
        yield f"{count} {are} not here{fetch} (each: pytest -rs, or audiobench list benchmarks)"
    if others:
        yield f"{counted(others.total(), 'eval')} skipped for another reason, such as: {next(iter(others))}"
