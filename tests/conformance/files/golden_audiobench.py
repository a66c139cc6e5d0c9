"""Answers that AudioBench recorded with the score it gave each: every row, and the set's own number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.metrics.token_errors import rate, token_errors
from pytest_audiobench.protocols.judged.published_judgings import audiobench_rating
from pytest_audiobench.protocols.multiple_choice.published_scorers import mmau_matches

from ..table import Case, same

Row: TypeAlias = Mapping[str, Any]
Found: TypeAlias = Iterator[tuple[str, Any, Any]]
"""What is compared, what was recorded, what we find."""

_OF_LISTED = len("(A) ")


def cases_of(rows: Sequence[Row]) -> Iterator[Case]:
    """A case for each recorded answer and each number of a set."""
    for row in rows:
        for what, recorded, found in _KINDS[row["metric"]](row["inputs"]["pairs"], row["expected"]):
            agrees = same(recorded, found, float(row["tolerance"]))
            detail = "" if agrees else f"expected {recorded!r}, got {found!r}"
            yield Case(f"{row['id']}/{what}", row["metric"], "agrees" if agrees else "differs", detail)


def _wer(pairs: Sequence[Row], expected: Row) -> Found:
    """The texts were stored normalised, with the word empty in place of nothing."""
    counts = [token_errors(pair["reference"].split(), pair["prediction"].split()) for pair in pairs]
    for pair, errors in zip(pairs, counts, strict=True):
        yield str(pair["index"]), pair["recorded_wer"], rate(errors)
    yield "corpus", expected["subset_corpus_wer"], metric_kind("wer").estimate(counts, None).value
    yield "mean", expected["mean_of_sample_wer"], metric_kind("wer_mean").estimate(counts, None).value
    yield "errors", expected["subset_errors"], sum(one["S"] + one["D"] + one["I"] for one in counts)
    yield "words", expected["subset_ref_words"], sum(one["N"] for one in counts)


def _string_match(pairs: Sequence[Row], expected: Row) -> Found:
    found = []
    for number, pair in enumerate(pairs):
        choices = tuple(choice[_OF_LISTED:] for choice in pair["choices"])
        found.append(float(mmau_matches(pair["prediction"], pair["reference"][_OF_LISTED:], choices)))
        yield str(number), pair["recorded_score"], found[-1]
    yield "mean", expected["subset_mean"], _accuracy(found)


def _judge(pairs: Sequence[Row], expected: Row) -> Found:
    """A judge's words without a number were recorded as 0 with success 0; ours have no score."""
    points = []
    for number, pair in enumerate(pairs):
        found = audiobench_rating(pair["judge_response"])
        points.append(found or 0.0)
        yield str(number), [pair["recorded_score"], pair["recorded_success"]], [points[-1], int(found is not None)]
    yield "mean", expected["subset_mean_rate"], sum(points) / len(points)


def _numbers(pairs: Sequence[Row], expected: Row) -> Found:
    found = []
    for number, pair in enumerate(pairs):
        found.append(float(pair["prediction"] in pair["reference"]))
        yield str(number), float(pair["exact"]), found[-1]
    yield "accuracy", expected["subset_acc_string_match"], _accuracy(found)


def _accuracy(correct: Sequence[float]) -> float:
    return metric_kind("accuracy").estimate([{"correct": one} for one in correct], None).value


_KINDS: Mapping[str, Callable[[Sequence[Row], Row], Found]] = {
    "wer_golden": _wer,
    "mmau_string_match_golden": _string_match,
    "judge_parse_golden": _judge,
    "numeric_acc_golden": _numbers,
}
