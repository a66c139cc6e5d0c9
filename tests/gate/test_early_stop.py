"""Looks at an eval's lines, window by window: when each is decided, and what its record says."""

import pytest

from pytest_audiobench.datasets.dataset import Dataset
from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval, ComparableSample
from pytest_audiobench.evaluation.sample_answers import SampleAnswers
from pytest_audiobench.evaluation.scoring import ScoredSample
from pytest_audiobench.evaluation.selection import SelectedSample, Selection
from pytest_audiobench.gate.early_stop import Looks
from pytest_audiobench.gate.thresholds import Line, Terms
from pytest_audiobench.protocols.protocol import Answer

SAMPLES = 2_000
TERMS = Terms(alpha=0.025)
RIGHT, WRONG = {"correct": 1.0}, {"correct": 0.0}


def selected(number, speakers):
    sample = Sample(f"s{number}", (), "?", metadata={"speaker": str(number % speakers), "hop": str(number % 2)})
    return SelectedSample(sample, 0, None, (), None)


def side(scores, metrics, speakers):
    read = {"own": "parsed"}
    rows = [
        ComparableSample(f"s{n}", 0, None, None, str(n % speakers), {"hop": str(n % 2)}, read, {"own": one})
        for n, one in enumerate(scores)
    ]
    return ComparableEval(
        "main", "e", "e", "m", "", "d", "p", 1, False, "speaker", {"own": "v:1"}, {"own": metrics}, {}, rows
    )


def looks(before, lines, terms=TERMS, metrics=("accuracy",), speakers=SAMPLES, most_errors=0):
    chosen = [selected(number, speakers) for number in range(SAMPLES)]
    selection = Selection(
        Dataset("d", lambda places: [], cluster="speaker"), SAMPLES, chosen, ("hop",), clustered=speakers < SAMPLES
    )
    baseline = side(before, list(metrics), speakers)
    here = side([], list(metrics), speakers)
    return Looks(baseline, here, lines, terms, most_errors, selection), here


def verdicts(looking, after, speakers=SAMPLES, step=100):
    """What each look shows, until one decides."""
    shown = []
    for start in range(0, SAMPLES - step, step):
        rows = [
            ScoredSample(
                SampleAnswers(selected(number, speakers), 0, {}, {}, {}, None if after[number] else "away"),
                Answer("parsed", "A") if after[number] else None,
                after[number],
                number,
            )
            for number in range(start, start + step)
        ]
        shown.append(looking.look({"own": rows}))
        if shown[-1]:
            break
    return shown


def test_a_broken_run_regresses_at_the_first_look_and_an_equal_one_passes_at_a_later_one():
    line = Line("accuracy")
    looking, here = looks([RIGHT] * SAMPLES, [line])
    assert verdicts(looking, [WRONG] * SAMPLES) == ["regressed"]
    record = looking.record(line, TERMS, here)
    assert (record.status, record.drop, record.worse, record.pairs) == ("regressed", 1.0, 100, 100)
    assert record.p <= 0.025
    looking, here = looks([RIGHT] * SAMPLES, [line])
    assert verdicts(looking, [RIGHT] * SAMPLES) == [None] * 5 + ["passes"]
    record = looking.record(line, TERMS, here)
    assert (record.status, record.p, record.pairs) == ("pass", None, 600)
    assert record.bound < record.margin


def test_an_eval_is_not_decided_before_each_of_its_lines_is():
    lines = [Line("accuracy"), Line("accuracy", (("hop", "1"),))]
    terms = TERMS._replace(lines=2)
    looking, here = looks([RIGHT] * SAMPLES, lines, terms)
    odd_ones_wrong = [WRONG if number % 2 and number < 200 else RIGHT for number in range(SAMPLES)]
    shown = verdicts(looking, odd_ones_wrong)
    assert shown[-1] == "regressed"
    assert [looking.record(line, terms, here).status for line in lines] == ["regressed", "regressed"]
    # A share of the level that is less than that of the looks is not met by a pass of theirs.
    looking, here = looks([RIGHT] * SAMPLES, lines[:1])
    assert verdicts(looking, [RIGHT] * SAMPLES)[-1] == "passes"
    assert looking.record(lines[0], terms, here).status == "inconclusive"


def test_a_ratio_over_clusters_is_decided_by_tests_at_the_looks_levels():
    line = Line("wer")

    def words(errors):
        return {"S": errors, "D": 0.0, "I": 0.0, "N": 10.0}

    before = [words(float(number % 3 == 0)) for number in range(SAMPLES)]
    looking, here = looks(before, [line], metrics=("wer",), speakers=50)
    worse = [words(each["S"] + 2.0 * (number % 4 == 0)) for number, each in enumerate(before)]
    shown = verdicts(looking, worse, speakers=50)
    record = looking.record(line, TERMS, here)
    assert (shown[-1], record.status, record.clusters) == ("regressed", "regressed", 50)
    assert "tests at the looks' levels" in record.method
    looking, _ = looks(before, [line], metrics=("wer",), speakers=50)
    moved = [before[(number + 7) % SAMPLES] for number in range(SAMPLES)]
    assert verdicts(looking, moved, speakers=50)[-1] == "passes"


def test_failed_askings_beyond_those_that_are_allowed_leave_an_eval_undecided():
    after = [None, *[WRONG] * (SAMPLES - 1)]
    assert verdicts(looks([RIGHT] * SAMPLES, [Line("accuracy")])[0], after)[-1] is None
    assert verdicts(looks([RIGHT] * SAMPLES, [Line("accuracy")], most_errors=1)[0], after)[-1] == "regressed"


def test_a_metric_that_is_no_ratio_has_no_looks_and_a_line_that_comes_too_late_no_verdict():
    with pytest.raises(UsageError, match="bleu is neither a mean nor a ratio of sums"):
        looks([RIGHT] * SAMPLES, [Line("bleu", (), "1")], metrics=("bleu",))
    looking, here = looks([RIGHT] * SAMPLES, [Line("accuracy")])
    verdicts(looking, [WRONG] * SAMPLES)
    late = looking.record(Line("accuracy", (), "2pp"), TERMS, here)
    assert (late.status, late.detail[:15]) == ("not_comparable", "it was declared")
