"""A run's summary in Markdown, for the page of a CI job: verdicts first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_audiobench.io.mistakes import listed
from pytest_audiobench.records.run import RunRecord
from pytest_audiobench.report import (
    answer_comparison,
    findings_tables,
    noise_tables,
    perturbation_tables,
    published_values,
    scorer_comparison,
    summary_footer,
    view_model,
)
from pytest_audiobench.report.changes import Change, baseline_text
from pytest_audiobench.report.formatting import counted, eval_name
from pytest_audiobench.report.safe_text import escaped, table_row
from pytest_audiobench.report.verdict import (
    PASS,
    FailedCheck,
    RunVerdict,
    alarms,
    baseline_changes,
    failed_checks,
    regression_lines,
    run_verdict,
)

_MOST_ROWS = 200
"""GitHub refuses a step's summary beyond 1 MiB; a row is under a kilobyte or so."""
_MOST_TABLES = 20
_MOST_NAMES = 20
_HEAD = ("Eval", "Model", "Metric", "Value", "Interval", "n", "Parse rate", "Verdict")
_ALIGNED = (":--", ":--", ":--", "--:", "--:", "--:", "--:", ":--")
_REGRESSIONS = ("Verdict", "Eval", "Baseline → now", "Change<br>(95 % interval)", "Flips")
_MDE = "minimum detectable effect: the smallest drop that is called regressed four times in five"
_TOGETHER = "&nbsp;"
"""A space at which no line is broken."""
LONGEST_NAME, LONGEST_DETAIL = 120, 800
"""Characters of a name and of a sentence, before they are escaped."""


def append_summary(path: Path, run: RunRecord) -> None:
    """Append the run's summary to the file that ``$GITHUB_STEP_SUMMARY`` names."""
    with path.open("a", encoding="utf-8", errors="replace") as file:
        file.write(summary(run))


def summary(run: RunRecord) -> str:
    """The run as Markdown. Everything that came from outside is escaped: no pipe, tag, link or mention survives."""
    return "\n".join([*_lines(run), ""])


def _lines(run: RunRecord) -> Iterator[str]:
    yield from (headline(run.run, run_verdict(run)), "")
    yield from _regressions(run)
    without_line = without_line_sentence(run, len(view_model.aliases(run)) > 1)
    yield from (without_line, "") if without_line else ()
    yield from cautions(run)
    head, rows = eval_table(run)
    if rows:
        yield from (*head, *rows[:_MOST_ROWS], "")
    if len(rows) > _MOST_ROWS:
        yield from (f"{len(rows) - _MOST_ROWS} more rows are in run.json.", "")
    for owner, table, marks in summary_footer.scorer_tables(run)[:_MOST_TABLES]:
        title = escaped(scorer_comparison.table_title(owner, table))
        yield from (f"**{title}**", "", *scorer_comparison.table_markdown(table, marks), "")
    tables = [*answer_comparison.markdown(run), *perturbation_tables.markdown(run), *findings_tables.markdown(run)]
    tables += noise_tables.markdown(run)
    tables += published_values.markdown(run, len(view_model.aliases(run)) > 1)
    for name, rows in tables[:_MOST_TABLES]:
        yield from (f"**{escaped(name)}**", "", *rows[:_MOST_ROWS], "")
    if len(tables) > _MOST_TABLES:
        yield from (f"{counted(len(tables) - _MOST_TABLES, 'more table')} of perturbations and findings: run.json.", "")
    yield from _bullets(run)


def _regressions(run: RunRecord) -> Iterator[str]:
    lines = regression_lines(run.items)
    if not lines:
        return
    several = len(view_model.aliases(run)) > 1
    yield from (f"Compared with {escaped(baseline_text(run))}. {escaped(run_verdict(run).advice, LONGEST_DETAIL)}", "")
    yield from regression_head()
    yield from (regression_row(change, several) for change in lines[:_MOST_ROWS])
    yield ""
    if len(lines) > _MOST_ROWS:
        yield from (f"{len(lines) - _MOST_ROWS} more lines are in run.json.", "")
    doubtful = [change for change in lines[:_MOST_ROWS] if change.status != PASS]
    yield from (f"- {regression_sentence(change, several)}" for change in doubtful)
    if doubtful:
        yield ""


def hash_line(run: RunRecord) -> Iterator[str]:
    """A line with the run's first hashes; none where an eval that measured nothing leaves them unknown."""
    hashes = run.hashes
    if hashes.input_hash and hashes.run_hash:
        yield f"- input hash {hashes.input_hash[:16]}, run hash {hashes.run_hash[:16]}"


def cautions(run: RunRecord) -> Iterator[str]:
    """All that bears on whether the numbers may be believed."""
    for text in (*(banner.text for banner in view_model.cautions(run)), *alarms(run.items, is_brief=True)):
        yield from (f"> **{escaped(text, LONGEST_DETAIL)}**", "")


def headline(name: str, verdict: RunVerdict) -> str:
    """The first line, which says what became of the run."""
    counts = f" – {escaped(verdict.counts, LONGEST_DETAIL)}" if verdict.counts else ""
    return " ".join(filter(None, ("##", verdict.mark, f"{escaped(name)}: {verdict.word}{counts}")))


def without_line_sentence(run: RunRecord, several: bool) -> str:
    """The evals that were not compared, the first of them by name; empty without a baseline."""
    changes = baseline_changes(run)
    if changes is None or not changes.without_line:
        return ""
    names = [escaped(eval_name(*owner, several), LONGEST_NAME) for owner in changes.without_line]
    return f"Measured, not compared with the baseline: {listed(names, _MOST_NAMES)}."


def failed_check_sentence(check: FailedCheck, several: bool) -> str:
    """A threshold that was not met, or why a test failed for something else."""
    name = escaped(eval_name(check.eval, check.model, several), LONGEST_NAME)
    return f"{check.mark} **{name}** {escaped(check.text, LONGEST_DETAIL)}"


def regression_head() -> tuple[str, str]:
    """The first two lines of a table of regression lines."""
    head = (*(text.replace(" ", _TOGETHER) for text in _REGRESSIONS), f'<abbr title="{_MDE}">MDE</abbr>')
    return table_row(head), table_row((*_ALIGNED[:2], *("--:",) * 4))


def regression_row(line: Change, several: bool) -> str:
    """A regression line's row; its model is named where there are ``several``."""
    verdict = f"{line.mark}{_TOGETHER}**{line.status.replace(' ', _TOGETHER)}**"
    owner = escaped(eval_name(line.eval, line.model, several), LONGEST_NAME)
    values = "–" if line.at is None else f"{line.before} → {line.now}"
    change = (line.change, f"({line.interval})") if line.interval else (line.change,)
    flips = (f"{line.worse} worse", f"{line.better} better", f"of {line.pairs}") if line.at is not None else ("–",)
    cells = (
        "<br>".join(escaped(text, LONGEST_NAME).replace(" ", _TOGETHER) for text in texts)
        for texts in ((values,), change, flips, (line.detectable,))
    )
    return table_row((verdict, f"{owner}<br>{escaped(line.subject, LONGEST_NAME)}", *cells))


def regression_sentence(line: Change, several: bool) -> str:
    """The line, its verdict and the formula that it follows from."""
    name = escaped(eval_name(line.eval, line.model, several), LONGEST_NAME)
    return f"{line.mark} **{name}** {escaped(f'{line.line}: {line.status}: {line.detail}', LONGEST_DETAIL)}"


def eval_table(run: RunRecord) -> tuple[tuple[str, str], list[str]]:
    """The first two lines of the table of all numbers, and its rows: evals, then suites pooled."""
    rows: list[tuple[str, ...]] = []
    for item in view_model.evals(run):
        verdict = f"{item.mark} {item.verdict}"
        for block in view_model.unfolded(item.blocks):
            for figure in block.figures:
                rows.append(_cells(item.name, item.model, block, figure, verdict))
                verdict = ""
        if verdict:
            rows.append((escaped(item.name), escaped(item.model), "", "", "", "", "", verdict))
    for suite in view_model.suites(run):
        for block in map(view_model.leading, view_model.unfolded(suite.blocks)):
            rows += [_cells(f"{suite.name} (pooled)", suite.model, block, figure, "") for figure in block.figures]
    return (table_row(_HEAD), table_row(_ALIGNED)), list(map(table_row, rows))


def _cells(name: str, model: str, block: view_model.Block, figure: view_model.Figure, verdict: str) -> tuple[str, ...]:
    metric = f"{figure.metric} [{block.title}]" if block.title else figure.metric
    texts = (name, model, metric, figure.value, figure.interval, str(figure.n), block.parse_rate_and_skipped)
    return (*map(escaped, texts), verdict)


def _bullets(run: RunRecord) -> Iterator[str]:
    yield from (f"- {failed_check_sentence(check, several=True)}" for check in failed_checks(run)[:_MOST_ROWS])
    texts = (summary_footer.scorer_lines(run), summary_footer.interval_lines(run), summary_footer.failure_lines(run))
    for text in (line for lines in texts for line in lines[:_MOST_ROWS]):
        yield f"- {escaped(text)}"
    for name, signatures in sorted(summary_footer.signatures(run).items()):
        yield from (f"- scorer {escaped(name)}: {escaped(signature)}" for signature in signatures)
    yield from (f"- {subject} {escaped(text)}" for subject, text in summary_footer.model_lines(run, "judging of"))
    yield from (f"- {escaped(note)}" for note in run.notes)
    yield from hash_line(run)
    if answers := summary_footer.answers_line(run):
        yield from ("", escaped(answers))
