"""A run's summary in Markdown, for the page of a CI job: verdicts first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_audiobench.report import (
    answer_comparison_text,
    findings_text,
    perturbation_text,
    scorer_sweep_text,
    summary_footer,
    view_model,
)
from pytest_audiobench.report.changes import Change, baseline_text, changes
from pytest_audiobench.report.escapes import escaped as escaped
from pytest_audiobench.report.failed_checks import FailedChecks, failed_checks
from pytest_audiobench.report.formatting import called, counted
from pytest_audiobench.report.tabular import bar
from pytest_audiobench.report.verdict import PASS, RunVerdict, regression_lines, run_verdict

_MOST_ROWS = 200
"""GitHub refuses a step's summary beyond 1 MiB; a row is under a kilobyte or so."""
_MOST_TABLES = 20
_MOST_NAMES = 20
_HEAD = ("Eval", "Model", "Metric", "Value", "Interval", "n", "Answered", "Verdict")
_ALIGNED = (":--", ":--", ":--", "--:", "--:", "--:", "--:", ":--")
_REGRESSIONS = (
    "Verdict",
    "Eval",
    "Baseline → now",
    "Drop<br>(95 % interval)",
    "Flips",
    "Smallest<br>drop seen<br>4 times in 5",
)
_TOGETHER = "&nbsp;"
"""A space at which no line is broken."""
LONGEST_NAME, LONGEST_DETAIL = 120, 600
"""Characters of a name and of a sentence, before they are escaped."""


def append_summary(path: Path, run: Mapping[str, Any]) -> None:
    """Append the run's summary to the file that ``$GITHUB_STEP_SUMMARY`` names."""
    with path.open("a", encoding="utf-8", errors="replace") as file:
        file.write(summary(run))


def summary(run: Mapping[str, Any]) -> str:
    """The run as Markdown. Everything that came from outside is escaped: no pipe, tag, link or mention survives."""
    return "\n".join([*_lines(run), ""])


def _lines(run: Mapping[str, Any]) -> Iterator[str]:
    yield headline(run["run"], run_verdict(run))
    yield ""
    yield from _regressions(run)
    unheld = unheld_sentence(run, len(view_model.aliases(run)) > 1)
    yield from (unheld, "") if unheld else ()
    for banner in view_model.banners(run):
        yield f"> **{escaped(banner.text)}**"
        yield ">"
    yield ""
    head, rows = eval_table(run)
    if rows:
        yield from (*head, *rows[:_MOST_ROWS], "")
    if len(rows) > _MOST_ROWS:
        yield f"{len(rows) - _MOST_ROWS} more rows are in run.json."
        yield ""
    for name, sweep, marks in summary_footer.side_tables(run)[:_MOST_TABLES]:
        yield from (
            f"**{escaped(scorer_sweep_text.title(name, sweep))}**",
            "",
            *scorer_sweep_text.markdown(sweep, marks),
            "",
        )
    tables = [*answer_comparison_text.markdown(run), *perturbation_text.markdown(run), *findings_text.markdown(run)]
    for name, rows in tables[:_MOST_TABLES]:
        yield from (f"**{escaped(name)}**", "", *rows[:_MOST_ROWS], "")
    if len(tables) > _MOST_TABLES:
        yield f"{counted(len(tables) - _MOST_TABLES, 'more table')} of perturbations and findings: run.json."
        yield ""
    yield from _bullets(run)


def _regressions(run: Mapping[str, Any]) -> Iterator[str]:
    """What became of the regression lines: a table, the worst first, and a sentence for each that is no pass."""
    lines = regression_lines(run)
    if not lines:
        return
    several = len(view_model.aliases(run)) > 1
    yield f"Held against {escaped(baseline_text(run))}. {run_verdict(run).advice}"
    yield ""
    yield from regression_head()
    yield from (regression_row(one, several) for one in lines[:_MOST_ROWS])
    yield ""
    if len(lines) > _MOST_ROWS:
        yield from (f"{len(lines) - _MOST_ROWS} more lines are in run.json.", "")
    doubtful = [one for one in lines[:_MOST_ROWS] if one.status != PASS]
    yield from (f"- {regression_sentence(one, several)}" for one in doubtful)
    if doubtful:
        yield ""


def hash_line(run: Mapping[str, Any]) -> Iterator[str]:
    """A line with the run's first hashes; none where an eval that measured nothing leaves them unknown."""
    names = ("input_hash", "run_hash")
    if all(run["hashes"][name] for name in names):
        yield "- " + ", ".join(f"{name.replace('_', ' ')} {run['hashes'][name][:16]}" for name in names)


def headline(name: str, verdict: RunVerdict) -> str:
    """The first line, which says what became of the run."""
    told = f" – {verdict.counts}" if verdict.counts else ""
    return " ".join(filter(None, ("##", verdict.mark, f"{escaped(name)}: {verdict.word}{told}")))


def unheld_sentence(run: Mapping[str, Any], several: bool) -> str:
    """The evals that no regression line held, the first of them by name; empty without a baseline."""
    found = changes(run)
    if found is None or not found.unheld:
        return ""
    names = [called(*one, several) for one in found.unheld[:_MOST_NAMES]]
    more = f" and {len(found.unheld) - len(names)} more" if len(found.unheld) > len(names) else ""
    return f"Held against nothing: {', '.join(escaped(name, LONGEST_NAME) for name in names)}{more}."


def unmet_sentence(one: FailedChecks, several: bool) -> str:
    """A threshold that was not met, or why a test failed for something else."""
    name = escaped(called(one.eval, one.model, several), LONGEST_NAME)
    return f"{one.mark} **{name}** {escaped(one.text, LONGEST_DETAIL)}"


def regression_head() -> tuple[str, str]:
    """The first two lines of a table of regression lines."""
    return bar(tuple(head.replace(" ", _TOGETHER) for head in _REGRESSIONS)), bar((*_ALIGNED[:2], *("--:",) * 4))


def regression_row(one: Change, several: bool) -> str:
    """A regression line's row; its model is named where there are ``several``."""
    verdict = f"{one.mark}{_TOGETHER}**{one.status.replace(' ', _TOGETHER)}**"
    name = f"{escaped(called(one.eval, one.model, several), LONGEST_NAME)}<br>{escaped(one.subject, LONGEST_NAME)}"
    change = "–" if one.at is None else f"{one.before} → {one.now}"
    drop = (one.drop, f"({one.interval})") if one.interval else (one.drop,)
    flips = (f"{one.worse} worse", f"{one.better} better", f"of {one.pairs}") if one.at is not None else ("–",)
    return bar((verdict, name, *map(_cell, ((change,), drop, flips, (one.detectable,)))))


def _cell(lines: Sequence[str]) -> str:
    """Short lines of a narrow cell, none of which is broken."""
    return "<br>".join(escaped(line, LONGEST_NAME).replace(" ", _TOGETHER) for line in lines)


def regression_sentence(one: Change, several: bool) -> str:
    """The line, its verdict and the formula that it follows from."""
    name = escaped(called(one.eval, one.model, several), LONGEST_NAME)
    return f"{one.mark} **{name}** {escaped(f'{one.line}: {one.status}: {one.detail}', LONGEST_DETAIL)}"


def eval_table(run: Mapping[str, Any]) -> tuple[tuple[str, str], list[str]]:
    """The first two lines of the table of all numbers, and its rows: evals, then suites pooled."""
    return (bar(_HEAD), bar(_ALIGNED)), [bar(cells) for cells in (*_eval_rows(run), *_suite_rows(run))]


def _eval_rows(run: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for one in view_model.evals(run):
        first = True
        for block in view_model.unfolded(one.blocks):
            for figure in block.figures:
                verdict = f"{one.mark} {one.verdict}" if first else ""
                yield _cells(one.name, one.model, block, figure, verdict)
                first = False
        if first:
            yield (escaped(one.name), escaped(one.model), "", "", "", "", "", f"{one.mark} {one.verdict}")


def _suite_rows(run: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for suite in view_model.suites(run):
        for block in map(view_model.leading, view_model.unfolded(suite.blocks)):
            for figure in block.figures:
                yield _cells(f"{suite.name} (pooled)", suite.model, block, figure, "")


def _cells(name: str, model: str, block: view_model.Block, figure: view_model.Figure, verdict: str) -> tuple[str, ...]:
    metric = f"{figure.metric} [{block.title}]" if block.title else figure.metric
    texts = (name, model, metric, figure.value, figure.interval, str(figure.n), block.answered_and_skipped)
    return (*map(escaped, texts), verdict)


def _bullets(run: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"- {unmet_sentence(one, several=True)}" for one in failed_checks(run)[:_MOST_ROWS])
    beside = (summary_footer.side_lines(run), summary_footer.interval_lines(run), summary_footer.failure_lines(run))
    for text in (text for texts in beside for text in texts[:_MOST_ROWS]):
        yield f"- {escaped(text)}"
    for name, found in sorted(summary_footer.signatures(run).items()):
        for signature in found:
            yield f"- protocol {escaped(name)}: {escaped(signature)}"
    for facts in view_model.models(run):
        for what, text in (
            ("judging", facts.judging),
            ("speed", facts.speed),
            ("device", facts.device),
            ("hearing", facts.hearing),
        ):
            if text:
                yield f"- {what} of {escaped(f'{facts.alias}: {text}')}"
    for note in run["notes"]:
        yield f"- {escaped(note)}"
    yield from hash_line(run)
