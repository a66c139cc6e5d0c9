"""What a run did not meet beside its regression lines: thresholds, and evals that failed for another reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pytest_audiobench.report.formatting import VERDICTS, Tone

Json = Mapping[str, Any]


class FailedChecks(NamedTuple):
    """One threshold, or the reason why a test failed for something else, as a sentence."""

    eval: str
    model: str
    mark: str
    tone: Tone
    text: str


def failed_checks(record: Json) -> list[FailedChecks]:
    """Thresholds that were not met, then evals that failed by an assertion, an error or a lost worker."""
    sign = VERDICTS["fail"]
    reasons = [
        FailedChecks(item["eval"], item["model"], sign.mark, sign.tone, _first_line(item["message"]) or item["outcome"])
        for item in failed_otherwise(record)
    ]
    return [*unmet_thresholds(record), *reasons]


def unmet_thresholds(record: Json) -> list[FailedChecks]:
    return [
        FailedChecks(item["eval"], item["model"], sign.mark, sign.tone, _sentence(one, sign.words))
        for item in record["items"]
        for one in item["verdicts"]
        if (sign := VERDICTS[one["status"]]).tone != "good"
    ]


def failed_otherwise(record: Json) -> list[Json]:
    """The items that failed by no threshold and no regression line; of a test with several the first one."""
    tests: dict[str, list[Json]] = {}
    for item in record["items"]:
        tests.setdefault(item["nodeid"], []).append(item)
    return [items[0] for items in tests.values() if _failed(items[0]) and not any(map(fails_by_numbers, items))]


def fails_by_numbers(item: Json) -> bool:
    """Whether a threshold or a regression line of this item is what failed its test, alone or among others.

    A test that failed for something else has its own message. An inconclusive line fails only where that is asked for.
    """
    found = list(_wrong(item)) if _failed(item) else []
    if not item["message"]:
        return any(status != "inconclusive" for status, _ in found)
    return any(sentence in item["message"] for _, sentence in found)


def _first_line(message: str) -> str:
    # An assertion's own words come before what pytest and the eval's table add.
    return message.strip().partition("\n")[0]


def _failed(item: Json) -> bool:
    return item["outcome"] in ("failed", "lost")


def _wrong(item: Json) -> Iterator[tuple[str, str]]:
    """The status and the sentence of each threshold and line that did not pass, as a test's message holds it."""
    for one in item["verdicts"]:
        if one["status"] != "pass":
            yield one["status"], f"{one['threshold']}: {one['detail']}"
    for one in item.get("regressions", ()):
        if one["status"] != "pass":
            yield one["status"], one["detail"]


def _sentence(verdict: Json, words: str) -> str:
    return ": ".join(filter(None, (verdict["threshold"], words, verdict["detail"])))
