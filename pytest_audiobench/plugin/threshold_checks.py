"""A result held to its thresholds, with what its test recorded beside it; and whether enough of its asking worked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_audiobench.evaluation.record import MetricRecord
from pytest_audiobench.evaluation.result import Result, as_metric
from pytest_audiobench.gate.thresholds import MetricLookup, Threshold, Verdict, check_threshold
from pytest_audiobench.metrics.value import Metric


def asking_failed(result: Result, allowed: int) -> str:
    """Why a result cannot be compared with anything: more samples failed than are ``allowed``. Else nothing."""
    record = result.record
    more = {
        "when asked again": record.asking.get("failed_again", 0),
        "when judged": sum(counts["errors"] for counts in record.judges.values()),
    }
    failed = result.errors + sum(more.values())
    if failed <= allowed:
        return ""
    further = "".join(f", and {count} more {when}," for when, count in more.items() if count)
    return (
        f"{result.errors} of {result.n * record.epochs} samples{further} could not be asked "
        f"({record.errors[0]['sample_id']}: {record.errors[0]['message']}); "
        f"mend them, or allow them with --ab-max-errors {failed}"
    )


def verdicts_on(
    result: Result, declared: Sequence[Threshold], recorded: Sequence[MetricRecord], failed: str
) -> list[Verdict]:
    """The verdicts; where too much of the asking ``failed``, each says that it cannot be compared."""
    if failed:
        texts = [threshold.text for threshold in declared] or ["every sample asked"]
        return [Verdict("not_comparable", text, None, failed) for text in texts]
    return [check_threshold(threshold, _finder(result, recorded)) for threshold in declared]


def _finder(result: Result, recorded: Sequence[MetricRecord]) -> MetricLookup:
    """A result's numbers, and those that the test recorded beside all its results."""
    own = {(metric.name, *sorted(metric.group.items())): as_metric(metric, {}) for metric in recorded}

    def find(name: str, group: Mapping[str, str]) -> Metric | None:
        found = own.get((name, *sorted(group.items())))
        return result.find(name, group) if found is None else found

    return find
