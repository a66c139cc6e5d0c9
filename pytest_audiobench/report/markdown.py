"""A run's summary in Markdown, for the page of a CI job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_audiobench.report import beneath, sweep_text, view
from pytest_audiobench.report.escapes import escaped as escaped

_MOST_ROWS = 200
"""GitHub refuses a step's summary beyond 1 MiB; a row is under a kilobyte or so."""
_MOST_TABLES = 20
_HEAD = ("Eval", "Model", "Metric", "Value", "Interval", "n", "Answered", "Verdict")
_ALIGNED = (":--", ":--", ":--", "--:", "--:", "--:", "--:", ":--")


def append_summary(path: Path, run: Mapping[str, Any]) -> None:
    """Append the run's summary to the file that ``$GITHUB_STEP_SUMMARY`` names."""
    with path.open("a", encoding="utf-8", errors="replace") as file:
        file.write(summary(run))


def summary(run: Mapping[str, Any]) -> str:
    """The run as Markdown. Everything that came from outside is escaped: no pipe, tag, link or mention survives."""
    return "\n".join([*_lines(run), ""])


def _lines(run: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {escaped(run['run'])}: {view.exit_text(run)}"
    yield ""
    for banner in view.banners(run):
        yield f"> **{escaped(banner.text)}**"
        yield ">"
    yield ""
    rows = [*_eval_rows(run), *_suite_rows(run)]
    if rows:
        yield _row(_HEAD)
        yield _row(_ALIGNED)
        yield from map(_row, rows[:_MOST_ROWS])
        yield ""
    if len(rows) > _MOST_ROWS:
        yield f"{len(rows) - _MOST_ROWS} more rows are in run.json."
        yield ""
    for name, sweep, marks in beneath.side_tables(run)[:_MOST_TABLES]:
        yield from (f"**{escaped(sweep_text.title(name, sweep))}**", "", *sweep_text.markdown(sweep, marks), "")
    yield from _bullets(run)


def _eval_rows(run: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for one in view.evals(run):
        first = True
        for block in view.unfolded(one.blocks):
            for figure in block.figures:
                verdict = f"{_sign(one.tone)} {one.verdict}" if first else ""
                yield _cells(one.name, one.model, block, figure, verdict)
                first = False
        if first:
            yield (escaped(one.name), escaped(one.model), "", "", "", "", "", f"{_sign(one.tone)} {one.verdict}")


def _suite_rows(run: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for suite in view.suites(run):
        for block in map(view.leading, view.unfolded(suite.blocks)):
            for figure in block.figures:
                yield _cells(f"{suite.name} (pooled)", suite.model, block, figure, "")


def _cells(name: str, model: str, block: view.Block, figure: view.Figure, verdict: str) -> tuple[str, ...]:
    metric = f"{figure.metric} [{block.reading}]" if block.reading else figure.metric
    texts = (name, model, metric, figure.value, figure.interval, str(figure.n), block.answered_and_skipped)
    return (*map(escaped, texts), verdict)


def _bullets(run: Mapping[str, Any]) -> Iterator[str]:
    for one in view.evals(run):
        for check in one.checks:
            if check.tone != "good":
                name = f"{one.name} · {one.model}"
                yield f"- {check.mark} {escaped(f'{name}: {check.threshold}: {check.status}. {check.detail}')}"
    for text in (*beneath.side_lines(run)[:_MOST_ROWS], *beneath.failure_lines(run)[:_MOST_ROWS]):
        yield f"- {escaped(text)}"
    for name, found in sorted(beneath.signatures(run).items()):
        for signature in found:
            yield f"- protocol {escaped(name)}: {escaped(signature)}"
    for facts in view.models(run):
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
    yield f"- input hash {str(run['hashes']['input_hash'])[:16]}, run hash {str(run['hashes']['run_hash'])[:16]}"


def _sign(tone: view.Tone) -> str:
    return {"good": "✓", "bad": "✗", "warn": "!", "plain": ""}[tone]


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
