"""A run as a comment on a pull request: the verdict, what changed, the samples that flipped, where to look."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from pytest_audiobench.errors import UsageError
from pytest_audiobench.report import summary_footer, view_model
from pytest_audiobench.report.changes import Change, baseline_text
from pytest_audiobench.report.escapes import escaped, quoted
from pytest_audiobench.report.failed_checks import failed_checks
from pytest_audiobench.report.flips import Flip, Flips, Owner, Said, flips_of, in_turn
from pytest_audiobench.report.formatting import called, counted
from pytest_audiobench.report.markdown import (
    LONGEST_DETAIL,
    LONGEST_NAME,
    eval_table,
    hash_line,
    headline,
    regression_head,
    regression_row,
    regression_sentence,
    unheld_sentence,
    unmet_sentence,
)
from pytest_audiobench.report.run_reader import Run
from pytest_audiobench.report.tabular import bar
from pytest_audiobench.report.verdict import PASS, RunVerdict, regression_lines, run_verdict

Json = Mapping[str, Any]

MARKER = "<!-- audiobench:comment -->"
"""By this a workflow finds the comment that it wrote before. No text from a model can hold it: ``<`` is escaped."""
MOST_BYTES = 60_000
"""GitHub refuses a comment of more than 65,536 characters."""

_FLIPS = 3
_LONGEST_TEXT = 400
_RULES = (
    "**pass**: the upper bound of the drop is below the margin. **regressed**: the test of “the drop is at most the "
    "margin” gives p at most alpha divided by the number of lines. **inconclusive**: neither; the samples are too few "
    "to tell. **not comparable**: the two sides do not match, or could not be asked."
)


class _Sheet:
    """Lines up to a number of bytes; what does not fit is left out whole."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes
        self.lines: list[str] = []

    def add(self, *lines: str) -> bool:
        size = sum(len(line.encode()) + 1 for line in lines)
        if size > self._left:
            return False
        self._left -= size
        self.lines += lines
        return True

    def add_lines(self, title: str, lines: Iterable[str]) -> None:
        """A list under its title, as far as there is room; nothing for an empty one."""
        found = list(lines)
        if found and (not title or self.add(title, "")):
            left = sum(not self.add(line) for line in found)
            self.add(*((f"- {left} more are in the report.",) if left else ()), "")

    def add_rows(self, head: Sequence[str], rows: Sequence[str]) -> None:
        """A table, as many of its rows as there is room for, and how many there was none for."""
        if not rows or not self.add(*head):
            return
        left = sum(not self.add(row) for row in rows)
        self.add("", *((f"{left} more are in the report.", "") if left else ()))


def comment(run: Run, link: str = "") -> str:
    """The comment on ``run``: under 65,536 characters whatever the run holds, the verdict in its first line.

    ``link`` is where the report can be opened or fetched; that of a page ending in .html is followed to its samples.
    Everything from a model or a data set is escaped: no mention, link, image or tag in it lives, and no table breaks.
    Raises UsageError for a link that is no http address.
    """
    _check(link)
    record = run.record
    verdict = run_verdict(record)
    lines = regression_lines(record)
    flips = flips_of(run.folder, _FLIPS)
    sheet = _Sheet(MOST_BYTES - len(MARKER) - 1)
    sheet.add(headline("audiobench", verdict), "")
    sheet.add(*_told(record, verdict, link))
    several = len(view_model.aliases(record)) > 1
    changed = [one for one in lines if one.status != PASS]
    sheet.add_rows(regression_head(), [regression_row(one, several) for one in changed])
    sheet.add_lines("", (f"- {regression_sentence(one, several)}" for one in changed))
    sheet.add_lines("", (f"- {unmet_sentence(one, several)}" for one in failed_checks(record)))
    unheld = unheld_sentence(record, several)
    if unheld:
        sheet.add(unheld, "")
    _add_flips(sheet, in_turn(flips, _owners(lines), _FLIPS), link, several)
    sheet.add_lines("### What else moved", _moved(flips, several))
    _add_details(sheet, record, [one for one in lines if one.status == PASS], several)
    return "\n".join([*sheet.lines, MARKER, ""])


def comment_without_verdict(reason: str, link: str = "") -> str:
    """The comment on a run that left no record, so that none of an earlier run stays up."""
    _check(link)
    lines = ["## ✗ audiobench: no verdict", "", escaped(reason, LONGEST_DETAIL), ""]
    return "\n".join([*lines, *([f"[Where it ran](<{link}>)", ""] if link else []), MARKER, ""])


def _check(link: str) -> None:
    if link and (urlsplit(link).scheme not in ("http", "https") or set(link) & set("<>\\ \t\r\n") or len(link) > 2000):
        raise UsageError(f"{link[:60]!r} is no link: give the http address where the report can be opened")


def _told(record: Json, verdict: RunVerdict, link: str) -> Iterator[str]:
    against = baseline_text(record)
    asked = [model for model in record["models"] if model.get("role") != "judge"]
    models = ", ".join(f"{model['alias']} = {model['spec']}" for model in asked)
    held = f" held against {quoted(against)}" if against else ", held against no baseline"
    yield f"{quoted(models)}{held}. **{verdict.advice}**"
    yield ""
    if link:
        yield from (f"[Open the report](<{link}>)", "")
    for banner in view_model.banners(record):
        yield from (f"> **{escaped(banner.text)}**", "")


def _owners(lines: Iterable[Change]) -> list[Owner]:
    """Evals in the order of their verdicts, the worst first."""
    return list(dict.fromkeys((one.eval, one.model) for one in lines))


def _called(owner: Owner, several: bool) -> str:
    return escaped(called(*owner, several), LONGEST_NAME)


def _add_flips(sheet: _Sheet, flips: Sequence[Flip], link: str, several: bool) -> None:
    if not flips or not sheet.add("### Samples that flipped", ""):
        return
    head = ("Sample", "Question", "True answer", "Baseline said", "Now")
    rows = [
        bar(
            (
                f"{_called((flip.eval, flip.model), several)}<br>{_sample(flip, link)}",
                quoted(flip.question, _LONGEST_TEXT),
                quoted(flip.truth, _LONGEST_TEXT),
                _said(flip.before),
                _said(flip.now),
            )
        )
        for flip in flips
    ]
    sheet.add_rows((bar(head), bar([":--"] * len(head))), rows)
    if not _is_page(link):
        sheet.add("They can be heard in `report.html`: search there for the name of the sample.", "")


def _anchor(flip: Flip) -> str:
    """The end of the report's address at which it opens this sample."""
    name = {"sample": flip.sample_id, "of": flip.eval, "by": flip.model, "epoch": str(flip.epoch + 1)}
    return f"#{urlencode(name, errors='replace')}"


def _sample(flip: Flip, link: str) -> str:
    shown = quoted(flip.sample_id, LONGEST_NAME)
    at = link.partition("#")[0]
    return f"[{shown}](<{at}{_anchor(flip)}>)" if _is_page(link) else shown


def _is_page(link: str) -> bool:
    """Whether the report itself opens there; an artifact is a zip file, into which no address leads."""
    return urlsplit(link).path.endswith(".html")


def _said(said: Said) -> str:
    text = "*text not kept*" if said.text is None else quoted(said.text, _LONGEST_TEXT)
    # An answer without a letter in it is shown as empty already.
    untold = said.status not in ("parsed", "empty" if said.text == "" else "parsed")
    about = [said.status.replace("_", " ")] if untold else []
    return " · ".join([text, *map(escaped, (*about, *said.failures))])


def _moved(flips: Mapping[Owner, Flips], several: bool) -> Iterator[str]:
    for owner, one in flips.items():
        if one.moved:
            told = ", ".join(f"{name.replace('_', ' ')} {before} → {now}" for name, (before, now) in one.moved.items())
            yield f"- **{_called(owner, several)}** {escaped(told)}"


def _add_details(sheet: _Sheet, record: Json, passed: Sequence[Change], several: bool) -> None:
    if passed and sheet.add(f"<details><summary>Lines that pass: {len(passed)}</summary>", ""):
        sheet.add_rows(regression_head(), [regression_row(one, several) for one in passed])
        sheet.lines.append("</details>")
    head, rows = eval_table(record)
    if rows and sheet.add("<details><summary>All numbers of this run</summary>", ""):
        sheet.add_rows(head, rows)
        sheet.lines.append("</details>")
    if sheet.add("<details><summary>Perturbations</summary>", ""):
        for text in _perturbations(record):
            sheet.add(text)
        sheet.lines += ["", "</details>"]


def _perturbations(record: Json) -> Iterator[str]:
    lines = [one for item in record["items"] for one in item.get("regressions", ())]
    if lines:
        yield f"- {_RULES}"
        yield f"- alpha {lines[0]['alpha']:g}, {counted(lines[0]['lines'], 'line')}"
    for name, found in sorted(summary_footer.signatures(record).items()):
        yield from (f"- protocol {escaped(name)}: {quoted(signature)}" for signature in found)
    yield f"- run {escaped(record['run'])}, {escaped(' '.join(record['command']))}"
    yield from hash_line(record)
    yield from (f"- {escaped(note)}" for note in record["notes"])
