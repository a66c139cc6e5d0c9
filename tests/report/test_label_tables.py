"""What was said for what was true: the tables of a page."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.records.lines import BaselineAnswer, ComparedRow, PredictionRow, ProcessedRow
from pytest_audiobench.records.run import CoverageRecord, ItemRecord, ScorerRecord
from pytest_audiobench.report.joined_samples import Joined
from pytest_audiobench.report.label_tables import MOST_LABELS, LabelCounts

PLACES = ["cat", "dog", "hen"]


NO_COVERAGE = CoverageRecord(*[0] * 9)


def item(signature: str = "label|v:1") -> ItemRecord:
    scorers = [ScorerRecord("label", signature, NO_COVERAGE)]
    return ItemRecord(index=0, nodeid="n", eval="animals", suite="s", model="m", scorers=scorers)


def sample(
    number: int,
    true: str,
    said: str | None,
    before: BaselineAnswer | None = None,
    choices: Any = PLACES,
    references: Any = (),
    error: str | None = None,
) -> Joined:
    owner: dict[str, Any] = {"eval": "animals", "model": "m", "sample_id": f"s{number}", "epoch": 0}
    prediction = PredictionRow(
        **owner,
        dataset="d",
        question="",
        choices=choices,
        reference=true,
        references=references,
        metadata={},
        stage="answer",
        key=None,
        prompt=None,
        outputs=[],
        usage={},
        error=error,
        audio=[],
    )
    processed = ProcessedRow(**owner, dataset="d", scorer="label", status="parsed", value=said)
    compared = None if before is None else ComparedRow(**owner, scorer="label", change="same", before=before)
    return Joined([prediction], [processed], [], compared)


def table(samples: list[Joined], **changes: Any) -> Any:
    counts = LabelCounts([item(**changes)])
    assert list(counts.watch(samples)) == samples
    return counts.tables()


def test_rows_are_what_was_true_and_columns_what_was_said() -> None:
    pairs = [("cat", "cat"), ("cat", "dog"), ("dog", "dog"), ("hen", None), ("hen", "an egg")] * 3
    (found,) = table([sample(number, *pair) for number, pair in enumerate(pairs)])
    assert found.labels == ("cat", "dog", "hen")
    assert found.columns == ("cat", "dog", "hen", "(other)", "(unparsed)")
    assert found.counts == ((3, 3, 0, 0, 0), (0, 3, 0, 0, 0), (0, 0, 0, 3, 3))
    assert found.change is None


def test_letters_are_read_by_each_questions_own_options() -> None:
    samples = [sample(number, "cat", "B", choices=["dog", "cat"]) for number in range(6)]
    (found,) = table(samples, signature="mcq:letters|v:1")
    assert found.counts == ((6, 0), (0, 0))


def test_samples_that_were_not_asked_are_in_no_cell() -> None:
    samples = [sample(number, "cat", "cat") for number in range(9)] + [sample(9, "cat", None, error="timed out")]
    (found,) = table(samples)
    assert found.counts[0] == (9, 0, 0)


@pytest.mark.parametrize("changes", [{"choices": []}, {"references": ["cat", "dog"]}])
def test_an_eval_whose_samples_have_no_one_true_label_has_no_table(changes: Any) -> None:
    assert table([sample(number, "cat", "cat", **changes) for number in range(20)]) == []


def test_questions_with_options_of_their_own_have_no_table() -> None:
    samples = [sample(n, f"{n} a", f"{n} a", choices=[f"{n} a", f"{n} b", f"{n} c"]) for n in range(50)]
    assert table(samples) == []


def test_the_rarest_of_many_labels_share_a_row_and_a_column() -> None:
    labels = [f"label {number:02d}" for number in range(50)]
    said = [label for number, label in enumerate(labels) for _ in range(3 + (number < 20))]
    (found,) = table([sample(number, label, label, choices=labels) for number, label in enumerate(said)])
    assert len(found.labels) == len(found.columns) == MOST_LABELS
    assert found.labels[-1] == "(11 other labels)"
    assert found.folded == 11
    assert sum(map(sum, found.counts)) == len(said)
    assert found.counts[-1][-1] == 33


def test_the_change_is_over_the_samples_that_both_sides_answered() -> None:
    def before(said: list[str]) -> BaselineAnswer:
        return BaselineAnswer("parsed", label_statistics(PLACES, ["cat"], said), None, [])

    skipped = BaselineAnswer("truncated", None, None, [])
    olds = [before(["cat"]), before(["dog"]), before([]), skipped, None]
    samples = [sample(number, "cat", "cat", old) for number, old in enumerate(olds * 3)]
    (found,) = table(samples)
    assert found.pairs == 9
    assert found.columns == ("cat", "dog", "hen", "(unparsed)")
    assert found.counts[0] == (15, 0, 0, 0)
    assert found.change[0] == (6, -3, 0, -3)


def test_a_baseline_with_another_list_of_labels_is_not_compared() -> None:
    scores = label_statistics([*PLACES, "owl"], ["cat"], ["owl"])
    old = BaselineAnswer("parsed", scores, None, [])
    (found,) = table([sample(number, "cat", "cat", old) for number in range(9)])
    assert (found.change, found.pairs) == (None, 0)


def test_long_labels_are_cut() -> None:
    long = "x" * 10_000
    (found,) = table([sample(number, long, "cat", choices=[long, "cat"]) for number in range(6)])
    assert max(map(len, found.labels)) < 100
