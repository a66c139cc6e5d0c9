"""The verdict of a whole run in a word, how it came about, and what a reader should do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_audiobench.report import view
from pytest_audiobench.report.changes import Change, changes

Json = Mapping[str, Any]

PASS = "pass"
_REGRESSED, _INCONCLUSIVE, _NOT_COMPARABLE = "regressed", "inconclusive", "not comparable"
_IN_ORDER = (_REGRESSED, _INCONCLUSIVE, _NOT_COMPARABLE, PASS)
_NO_VERDICT = (2, 3, 4, 5)
INSTRUMENT_FAILED = 6
"""The exit code of a run in which everything that failed did so for its instruments' sake: retry just that."""


class Overall(NamedTuple):
    """A word, its colour, how it came about, and what a reader should do."""

    word: str
    tone: view.Tone
    counts: str
    advice: str


def regression_lines(record: Json) -> Sequence[Change]:
    """All regression lines of a run, the worst first; none where it was held against no baseline."""
    found = changes(record)
    return found.lines if found else ()


def baseline_text(record: Json) -> str:
    """What the run was held against: ``baselines/main.json (good = hf:checkpoints/good)``; empty without a baseline."""
    baseline = record.get("baseline")
    if not baseline:
        return ""
    model = " = ".join(dict.fromkeys(str(baseline[name]) for name in ("model", "spec") if baseline.get(name)))
    return f"{baseline['source']} ({model})" if model else str(baseline["source"])


def overall(record: Json) -> Overall:
    """The run's verdict, worst first: it did not end, regressed, failed, not comparable, inconclusive, passed."""
    lines = regression_lines(record)
    counts = Counter(one.status for one in lines)
    verdicts = Counter(verdict["status"] for item in record["items"] for verdict in item["verdicts"])
    failed = len(failed_otherwise(record))
    status = record["exit_status"]
    told = _told(counts, verdicts["fail"], failed)
    if status in _NO_VERDICT:
        return Overall(view.exit_text(record), "bad", told, "No verdict: run it again.")
    if counts[_REGRESSED]:
        return Overall("regressed", "bad", told, "Hear the samples that flipped before anything is merged.")
    if verdicts["fail"] or (failed and status == 1):
        return Overall("failed", "bad", told, "See what failed and which answers were wrong.")
    if status == INSTRUMENT_FAILED or counts[_NOT_COMPARABLE] or verdicts["not_comparable"]:
        advice = "Nothing was shown either way: mend what is named, or run again where only the asking failed."
        return Overall("not comparable", "warn", told, advice)
    if counts[_INCONCLUSIVE]:
        advice = "Too few samples to tell: audiobench power says how many would do."
        if not any(one.pairs for one in lines if one.status == _INCONCLUSIVE):
            # More samples are no remedy where the baseline holds nothing to pair them with.
            advice = "The baseline does not know what is inconclusive: renew it, or check its name."
        return Overall("inconclusive", "bad" if status else "warn", told, advice)
    if status:
        return Overall("failed", "bad", told, "See what failed.")
    if all(item["outcome"] == "skipped" for item in record["items"]):
        return Overall("nothing measured", "bad", told, "See why: pytest -rs gives the reasons.")
    if not counts and not verdicts:
        advice = "Nothing was required: declare thresholds, or hold it against a baseline."
        return Overall("passed", "plain", told, advice)
    return Overall("passed", "good", told, "Nothing to do.")


def _told(counts: Mapping[str, int], thresholds: int, failed: int) -> str:
    """``2 of 7 lines regressed, 1 inconclusive, 4 pass; 1 threshold failed``."""
    found = [f"{counts[one]} {one}" for one in _IN_ORDER if counts[one]]
    if found:
        first, _, word = found[0].partition(" ")
        found[0] = f"{first} of {_count(sum(counts.values()), 'line')} {word}"
    more = [f"{_count(thresholds, 'threshold')} failed"] if thresholds else []
    more += [f"{_count(failed, 'eval')} failed otherwise"] if failed else []
    return "; ".join(filter(None, (", ".join(found), *more)))


def failed_otherwise(record: Json) -> list[Json]:
    """The tests that failed by neither a regression line nor a threshold: an assertion, an error, a lost worker.

    Of a test's several evaluations, which share its outcome, the first stands for it.
    """
    told = {_test(item) for item in record["items"] if _told_why(item)}
    tests = {_test(item): item for item in reversed(record["items"]) if item["outcome"] in ("failed", "lost")}
    return [item for test, item in reversed(tests.items()) if test not in told]


def _test(item: Json) -> tuple[str, str]:
    return item["nodeid"], item["model"]


def _told_why(item: Json) -> bool:
    """Whether a line or threshold of an eval failed it; what is inconclusive does where the failure says so."""
    lines = [one for one in item.get("regressions", ()) if one["status"] != PASS]
    return any(one["status"] != "inconclusive" or one["detail"] in item["message"] for one in lines) or any(
        one["status"] != PASS for one in item["verdicts"]
    )


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
