"""The verdict of a whole run in a word, how it came about, and what a reader should do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_audiobench.report.changes import Change, changes
from pytest_audiobench.report.failed_checks import failed_otherwise
from pytest_audiobench.report.formatting import VERDICTS, Sign, Tone, counted

Json = Mapping[str, Any]

PASS = VERDICTS["pass"].words
_NO_VERDICT = {
    2: "interrupted",
    3: "stopped by an internal error",
    4: "stopped by a usage error",
    5: "nothing was selected",
}
_FAILED, _PASSED = Sign("✗", "bad", "failed"), Sign("✓", "good", "passed")
INSTRUMENT_FAILED = 6
"""The exit code of a run in which everything that failed did so for its instruments' sake: retry just that."""


class RunVerdict(NamedTuple):
    """A word with its mark and its colour, how it came about, and what a reader should do."""

    mark: str
    tone: Tone
    word: str
    counts: str
    advice: str


def regression_lines(record: Json) -> Sequence[Change]:
    """All regression lines of a run, the worst first; none where it was held against no baseline."""
    found = changes(record)
    return found.lines if found else ()


def run_verdict(record: Json) -> RunVerdict:
    """The run's verdict, worst first: it did not end, regressed, failed, not comparable, inconclusive, passed."""
    held = changes(record)
    statuses = {item["status"] for item in _all(record, "regressions")}
    thresholds = Counter(verdict["status"] for verdict in _all(record, "verdicts"))
    failed = len(failed_otherwise(record))
    more = [f"{counted(thresholds['fail'], 'threshold')} failed"] if thresholds["fail"] else []
    more += [f"{counted(failed, 'eval')} failed otherwise"] if failed else []
    counts = "; ".join(filter(None, (held.counts if held else "", *more)))
    sign, advice = _verdict(record, statuses, thresholds, failed)
    if sign is _PASSED and held is not None and held.unchecked:
        sign = sign._replace(mark="!", tone="warn")
        advice = "Not every line was checked: see which evals were skipped."
    return RunVerdict(*sign, counts, advice)


def _verdict(record: Json, lines: set[str], thresholds: Mapping[str, int], failed: int) -> tuple[Sign, str]:
    status = record["exit_status"]
    if status in _NO_VERDICT:
        return _FAILED._replace(words=_NO_VERDICT[status]), "No verdict: run it again."
    if "regressed" in lines:
        return VERDICTS["regressed"], "Hear the samples that flipped before anything is merged."
    if thresholds["fail"] or (failed and status == 1):
        return _FAILED, "See what failed and which answers were wrong."
    if status == INSTRUMENT_FAILED or "not_comparable" in {*lines, *thresholds}:
        advice = "Nothing was shown either way: mend what is named, or run again where only the asking failed."
        return VERDICTS["not_comparable"], advice
    if "inconclusive" in lines:
        advice = "Too few samples to tell: audiobench power says how many would do."
        undecided = [one for one in _all(record, "regressions") if one["status"] == "inconclusive"]
        if not any(one["pairs"] for one in undecided):
            # More samples are no remedy where the baseline holds nothing to pair them with.
            advice = "The baseline does not know what is inconclusive: renew it, or check its name."
        return VERDICTS["inconclusive"]._replace(tone="bad" if status else "warn"), advice
    if status:
        return _FAILED, "See what failed."
    if all(item["outcome"] == "skipped" for item in record["items"]):
        return _FAILED._replace(words="nothing measured"), "See why: pytest -rs gives the reasons."
    if not lines and not thresholds:
        advice = "Nothing was required: declare thresholds, or hold it against a baseline."
        return _PASSED._replace(mark="", tone="plain"), advice
    return _PASSED, "Nothing to do."


def _all(record: Json, what: str) -> Iterator[Json]:
    return (one for item in record["items"] for one in item.get(what, ()))
