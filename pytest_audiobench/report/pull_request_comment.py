"""A run as a comment on a pull request: the verdict, what changed, the samples that flipped, where to look."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import urlencode, urlsplit

from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.regression_text import limits_text
from pytest_audiobench.records.run import RunRecord
from pytest_audiobench.report import markdown, summary_footer, view_model
from pytest_audiobench.report.changed_answers import Flip, Flips, Owner, SideAnswer, flips_of, in_turn
from pytest_audiobench.report.changes import Change, baseline_text
from pytest_audiobench.report.formatting import VERDICTS, eval_name
from pytest_audiobench.report.run_reader import Run
from pytest_audiobench.report.safe_text import escaped, quoted, table_row
from pytest_audiobench.report.verdict import PASS, RunVerdict, failed_checks, regression_lines, run_verdict

MARKER = "<!-- audiobench:comment -->"
"""By this a workflow finds the comment that it wrote before. No text from a model can hold it: ``<`` is escaped."""
MOST_BYTES = 60_000
"""GitHub refuses a comment of more than 65,536 characters."""

_FLIPS = 3
_LONGEST_TEXT = 400
_IN_TABLE = tuple(VERDICTS[verdict].words for verdict in ("regressed", "improved"))
"""Of these the table says it all, but for p, which is in the report, and for what is known in addition."""
_RULES = (
    "**pass**: the upper confidence bound of the drop is below the margin. **regressed**: the test of “the drop "
    "is at most the margin” gives p at most its level, alpha shared by all comparisons. **inconclusive**: neither; the "
    "samples are too few to decide. **not comparable**: the two runs do not match, or could not be asked. **improved**"
    ": a pass for which the test of “it is no better” gives p at most alpha, adjusted for all comparisons "
    "(Holm); a regression elsewhere still fails."
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
        texts = list(lines)
        if texts and (not title or self.add(title, "")):
            left = sum(not self.add(line) for line in texts)
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
    Raises UsageError for a link that is not an http address.
    """
    _check(link)
    record = run.record
    verdict = run_verdict(record)
    lines = regression_lines(record.items)
    flips = flips_of(run.folder, _FLIPS)
    answers = escaped(summary_footer.answers_line(record))
    sheet = _Sheet(MOST_BYTES - len(MARKER) - len(answers) - 3)
    sheet.add(markdown.headline("audiobench", verdict), "")
    sheet.add(*_opening(record, verdict, link))
    several = len(view_model.aliases(record)) > 1
    changed = [line for line in lines if line.status != PASS]
    sheet.add_rows(markdown.regression_head(), [markdown.regression_row(line, several) for line in changed])
    told = [line for line in changed if line.status not in _IN_TABLE or "; " in line.detail]
    sheet.add_lines("", (f"- {markdown.regression_sentence(line, several)}" for line in told))
    sheet.add_lines("", (f"- {markdown.failed_check_sentence(check, several)}" for check in failed_checks(record)))
    if without_line := markdown.without_line_sentence(record, several):
        sheet.add(without_line, "")
    owners = list(dict.fromkeys((line.eval, line.model) for line in lines))  # the worst first
    _add_flips(sheet, in_turn(flips, owners, _FLIPS), sum(each.count for each in flips.values()), link, several)
    sheet.add_lines("### Changed counts", _changed_counts(flips, several))
    sheet.add_lines("### Findings", _findings(record, several))
    _add_details(sheet, record, [line for line in lines if line.status == PASS], several)
    return "\n".join([*sheet.lines, *(["", answers] if answers else []), MARKER, ""])


def comment_without_verdict(reason: str, link: str = "") -> str:
    """The comment on a run that left no record, so that none of an earlier run stays up."""
    _check(link)
    lines = ["## ✗ audiobench: no verdict", "", escaped(reason, markdown.LONGEST_DETAIL), ""]
    return "\n".join([*lines, *([f"[Where it ran](<{link}>)", ""] if link else []), MARKER, ""])


def _check(link: str) -> None:
    if link and (urlsplit(link).scheme not in ("http", "https") or set(link) & set("<>\\ \t\r\n") or len(link) > 2000):
        raise UsageError(f"{link[:60]!r} is not a link: give the http address where the report can be opened")


def _opening(record: RunRecord, verdict: RunVerdict, link: str) -> Iterator[str]:
    against = baseline_text(record)
    models = ", ".join(f"{model.alias} = {model.spec}" for model in record.models if model.role != "judge")
    compared = f" compared with {quoted(against)}" if against else ", compared with no baseline"
    asked = quoted(models) if models else "No model that answered"
    yield from (f"{asked}{compared}. **{escaped(verdict.advice, markdown.LONGEST_DETAIL)}**", "")
    if link:
        yield from (f"[Open the report](<{link}>)", "")
    yield from markdown.cautions(record)


def _owner_name(owner: Owner, several: bool) -> str:
    return escaped(eval_name(*owner, several), markdown.LONGEST_NAME)


def _add_flips(sheet: _Sheet, flips: Sequence[Flip], count: int, link: str, several: bool) -> None:
    if not flips or not sheet.add(f"### Samples that became worse: {len(flips)} of {count:,} shown", ""):
        return
    head = ("Sample", "Question", "Reference", "Baseline", "Now")
    rows = []
    for flip in flips:
        texts = (quoted(text, _LONGEST_TEXT) for text in (flip.question, flip.reference))
        sample = f"{_owner_name((flip.eval, flip.model), several)}<br>{_sample(flip, link)}"
        rows.append(table_row((sample, *texts, _answer_cell(flip.before), _answer_cell(flip.now))))
    sheet.add_rows((table_row(head), table_row([":--"] * len(head))), rows)
    if not _is_page(link):
        sheet.add("They can be heard in `report.html`: search there for the name of the sample.", "")


def _sample(flip: Flip, link: str) -> str:
    name = quoted(flip.sample_id, markdown.LONGEST_NAME)
    place = {"sample": flip.sample_id, "of": flip.eval, "by": flip.model, "epoch": str(flip.epoch + 1)}
    address = f"{link.partition('#')[0]}#{urlencode(place, errors='replace')}"
    return f"[{name}](<{address}>)" if _is_page(link) else name


def _is_page(link: str) -> bool:
    """Whether the report itself opens there; an artifact is a zip file, into which no address leads."""
    return urlsplit(link).path.endswith(".html")


def _answer_cell(answer: SideAnswer) -> str:
    text = "*text not stored*" if answer.text is None else quoted(answer.text, _LONGEST_TEXT)
    text = f"{quoted(answer.label, _LONGEST_TEXT)} ({text})" if answer.label else text
    # An answer without a letter in it is shown as empty already.
    needs_status = answer.status not in ("parsed", "empty" if answer.text == "" else "parsed")
    status = [answer.status.replace("_", " ")] if needs_status else []
    return " · ".join([text, *map(escaped, (*status, *answer.failures))])


def _changed_counts(flips: Mapping[Owner, Flips], several: bool) -> Iterator[str]:
    for owner, changes in flips.items():
        if text := changes.counts_text:
            yield f"- **{_owner_name(owner, several)}** {escaped(text)}"


def _findings(record: RunRecord, several: bool) -> Iterator[str]:
    if not view_model.has_findings(record):
        return
    from pytest_audiobench.report import findings_tables

    for view in findings_tables.findings_view(record):
        name, rates = _owner_name((view.eval, view.model), several), findings_tables.rates_text(view)
        yield f"- **{name}** {escaped(f'{rates}. By {view.by}: {view.summary}.', markdown.LONGEST_DETAIL)}"


def _add_details(sheet: _Sheet, record: RunRecord, passed: Sequence[Change], several: bool) -> None:
    if passed and sheet.add(f"<details><summary>Lines that pass: {len(passed)}</summary>", ""):
        sheet.add_rows(markdown.regression_head(), [markdown.regression_row(line, several) for line in passed])
        sheet.lines.append("</details>")
    head, rows = markdown.eval_table(record)
    if rows and sheet.add("<details><summary>All numbers of this run</summary>", ""):
        sheet.add_rows(head, rows)
        sheet.lines.append("</details>")
    if sheet.add("<details><summary>Settings of the run</summary>", ""):
        for text in _settings(record):
            sheet.add(text)
        sheet.lines += ["", "</details>"]


def _settings(record: RunRecord) -> Iterator[str]:
    lines = [line for item in record.items for line in item.regressions]
    if lines:
        yield f"- {_RULES}"
        yield f"- {limits_text(lines[0].alpha, lines[0].lines)}"
    for name, signatures in sorted(summary_footer.signatures(record).items()):
        yield from (f"- scorer {escaped(name)}: {quoted(signature)}" for signature in signatures)
    yield f"- run {escaped(record.run)}, {escaped(' '.join(record.command))}"
    yield from markdown.hash_line(record)
    yield from (f"- {escaped(note)}" for note in record.notes)
