"""One line held against a baseline: the verdict's formula, what is in no pair, and what cannot be compared."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable_eval import ComparableEval
from pytest_audiobench.evaluation.comparable_samples import ComparableSample
from pytest_audiobench.gate.failure_table import WIDTH, regression_table
from pytest_audiobench.gate.regression import Line, Terms, not_comparable, regression_of
from pytest_audiobench.gate.regression_records import with_adjusted_p_values
from pytest_audiobench.gate.regression_text import line_text, verdict_text
from pytest_audiobench.records.run import CoverageRecord, ItemRecord, NoiseMeasurement, NoiseRecord, ScorerRecord

SIGNATURE = "mcq:letters|v:1"


def row(number, correct, **more):
    given = {
        "audio": f"audio {number}",
        "prompt": "prompt",
        "cluster": None,
        "groups": {"hop": "multi" if number % 2 else "single"},
        "statuses": {"letters": "error" if correct is None else "parsed"},
        "scores": {"letters": None if correct is None else {"correct": float(correct)}},
        "truth": "cat",
    }
    return ComparableSample(f"s{number}", 0, **{**given, **more})


def side(scores, **more):
    given = {
        "source": "main",
        "eval": "tones",
        "suite": "tones",
        "model": "one",
        "spec": "tone:one",
        "dataset": "tones",
        "protocol": "multiple_choice",
        "epochs": 1,
        "limited": False,
        "cluster": None,
        "scorers": {"letters": SIGNATURE},
        "metrics": {"letters": ["accuracy", "coverage"]},
        "hashes": {"settings": "s", "run_hash": "r"},
        "rows": [row(number, correct) for number, correct in enumerate(scores)],
    }
    return ComparableEval(**{**given, **more})


HERE = {"hashes": {"settings": "s", "run_hash": "other"}}
GOOD = [1] * 280 + [0] * 20


def held(before, after, line=None, terms=None, **more):
    here = side(after, **{**HERE, **more})
    return regression_of(side(before), here, line or Line(), terms or Terms())


def flipped(worse, better=0):
    return [0] * worse + GOOD[worse : 300 - better] + [1] * better


def test_a_drop_beyond_the_margin_regresses():
    found = held(GOOD, flipped(60))
    assert (found.status, found.worse, found.better, found.pairs) == ("regressed", 60, 0, 300)
    assert found.drop == pytest.approx(0.2)
    assert found.p <= 0.05
    assert found.bound > 0.2 - 0.01
    assert found.detail.startswith("20.0 pp worse: p < 0.0001 for a drop of at most 1.0 pp, significant below 0.05")


def test_a_small_bound_passes_and_says_what_would_have_been_seen():
    found = held(GOOD, flipped(2, 2), Line(margin="5pp"))
    assert found.status == "pass"
    assert found.bound < 0.05
    assert 0.05 < found.detectable < 0.2
    assert "below the margin of 5.0 pp; a drop of" in found.detail


def test_what_is_neither_is_inconclusive():
    found = held(GOOD, flipped(6, 2))
    assert found.status == "inconclusive"
    assert found.detail.startswith("up to ")
    assert " worse is possible (one-sided 95 % bound), and p = " in found.detail
    assert found.detail.endswith(" would be seen four times in five (by the flips measured between the two runs)")


def test_more_lines_make_a_regression_harder_and_a_pass_no_easier():
    after = flipped(16, 2)
    alone, among = held(GOOD, after), held(GOOD, after, terms=Terms(lines=1000))
    assert (alone.status, among.status) == ("regressed", "inconclusive")
    assert (alone.p, alone.bound) == (among.p, among.bound)
    assert "5e-05 (0.05 shared by 1,000 comparisons)" in among.detail
    assert among.detail.endswith("(by the flips measured between the two runs, 1,000 comparisons)")
    easy = held(GOOD, flipped(2, 2), Line(margin="5pp"), Terms(lines=1000))
    assert easy.status == "pass"


def test_the_same_model_with_the_same_answers_has_not_changed():
    same = regression_of(side(GOOD), side(GOOD), Line(margin="0pp"), Terms())
    assert (same.status, same.drop, same.p) == ("pass", 0.0, None)
    judged = side(GOOD, hashes={"settings": "s", "run_hash": "r", "verdicts": "other"})
    assert regression_of(side(GOOD), judged, Line(margin="0pp"), Terms()).status != "pass"


def test_what_has_no_counterpart_is_inconclusive_by_name():
    found = regression_of(None, side(GOOD), Line(), Terms())
    assert found.status == "inconclusive"
    assert found.detail.startswith("the baseline has no eval tones")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dataset": "others"}, "the data set is tones in the baseline and others here"),
        ({"epochs": 2}, "the number of epochs is 1 in the baseline and 2 here"),
        ({"scorers": {"letters": "mcq:letters|v:2"}}, "the scorer is mcq:letters|v:1 in the baseline and"),
        ({"hashes": {"settings": "t"}}, "it is asked with other settings"),
        (
            {"scorers": {"string": "x"}, "metrics": {"string": ["accuracy"]}},
            "the baseline has no scorer string: it has letters",
        ),
    ],
)
def test_another_task_is_not_comparable(change, said):
    found = held(GOOD, GOOD, **change)
    assert found.status == "not_comparable"
    assert found.detail.startswith(said)
    assert not_comparable(side(GOOD), side(GOOD, **{**HERE, **change}), Line(), Terms()) is not None


def test_too_many_samples_without_a_counterpart_are_not_comparable_and_named():
    found = held(GOOD, [*GOOD, *[1] * 16])
    assert found.status == "not_comparable"
    assert found.detail == (
        "5.1 % of the samples are in no pair, more than the allowed 5 %: "
        "16 are not in the baseline (s300, s301, s302, s303, s304, …)"
    )
    assert found.left_out == {"only_here": 16}
    assert held(GOOD, [*GOOD, *[1] * 15]).status != "not_comparable"


def test_failed_asking_on_either_side_is_in_no_pair():
    found = held([None, *GOOD[1:]], [1, None, *GOOD[2:]])
    assert found.left_out == {"errors": 2}
    assert found.pairs == 298


def test_a_limited_run_is_held_against_what_it_took():
    found = held(GOOD, GOOD[:50], limited=True)
    assert (found.pairs, found.left_out) == (50, {})


def test_a_group_is_compared_by_itself():
    after = [0 if number % 2 else correct for number, correct in enumerate(GOOD)]
    assert held(GOOD, after, Line("accuracy", (("hop", "multi"),))).status == "regressed"
    assert held(GOOD, after, Line("accuracy", (("hop", "single"),), "5pp")).status == "pass"
    nothing = held(GOOD, after, Line("accuracy", (("hop", "none"),)))
    assert (nothing.status, nothing.detail) == (
        "not_comparable",
        "the two runs have no sample in common where hop is none",
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (Line("wer"), "tones does not measure wer by letters; it measures accuracy, coverage"),
        (Line("acuracy"), "tones does not measure acuracy"),
        (Line("accuracy", (("scorer", "string"),)), "tones has no scorer 'string'; it has letters"),
    ],
)
def test_a_line_on_what_is_not_measured_is_a_mistake(line, said):
    with pytest.raises(UsageError, match=said):
        held(GOOD, GOOD, line)


def unread(number):
    return row(number, 1, statuses={"letters": "unparsed"}, scores={"letters": None})


def test_a_share_is_of_all_samples_also_of_those_that_the_protocol_leaves_out():
    rows = [unread(number) if number < 60 else row(number, 1) for number in range(100)]
    here = side([], **HERE, rows=rows)
    for share, drop in (("coverage", 0.6), ("unparsed", 0.6), ("skipped", 0.6), ("refused", 0.0)):
        found = regression_of(side([1] * 100), here, Line(share), Terms())
        assert (found.pairs, found.drop) == (100, pytest.approx(drop))
        assert found.status == ("regressed" if drop else "inconclusive")
    assert regression_of(side([1] * 100), here, Line(), Terms()).left_out == {"skipped": 60}


def test_a_share_by_another_scorer_is_that_scorers_own():
    both = {"scorers": {"letters": "l", "words": "w"}, "metrics": {"letters": ["accuracy"], "words": ["accuracy"]}}
    read = {"scores": {"letters": {"correct": 0.0}, "words": {"correct": 1.0}}}
    before = [row(n, 1, statuses={"letters": "parsed", "words": "parsed"}, **read) for n in range(100)]
    after = [
        row(n, 1, statuses={"letters": "refused", "words": "parsed"}, failures=("refused", "loop"), **read)
        for n in range(100)
    ]
    sides = side([], rows=before, **both), side([], rows=after, **both, **HERE)
    assert regression_of(*sides, Line("refused"), Terms()).value == 1.0
    assert regression_of(*sides, Line("refused", (("scorer", "words"),)), Terms()).value == 0.0
    assert regression_of(*sides, Line("loop", (("scorer", "words"),)), Terms()).value == 1.0


def test_statistics_that_were_edited_by_hand_are_no_crash():
    broken = side(GOOD, rows=[row(n, 1, scores={"letters": {"wrong": 1.0}}) for n in range(300)])
    found = regression_of(broken, side(GOOD, **HERE), Line(), Terms())
    assert found.status == "not_comparable"
    assert found.detail.startswith("the baseline's statistics cannot be read as those of accuracy")


def test_the_worst_noise_of_both_stands_behind_the_verdict():
    here = side(flipped(60), **HERE, noise=NoiseRecord(0.97, 0.0, measured=[]))
    found = regression_of(side(GOOD, noise=NoiseRecord(0.99, 0.0, measured=[])), here, Line(), Terms())
    assert found.detail.endswith("; the model itself changes 3 % of its answers when asked again")


@pytest.mark.parametrize(("excuses", "status"), [(False, "regressed"), (True, "inconclusive")])
def test_a_regression_within_the_measured_noise_is_said_to_be_and_excused_where_that_is_asked_for(excuses, status):
    measured = NoiseMeasurement(0.8, 0.25, 0.85, dataset="tones", n=300, metric="accuracy", conditions={})
    sides = side(GOOD, noise=NoiseRecord(0.8, 0.25, 0.85, measured=[measured])), side(flipped(60), **HERE)
    found = regression_of(*sides, Line(), Terms(excuses_noise=excuses))
    assert found.status == status
    assert "pp worse: p" in found.detail
    assert (
        "; within the noise floor: accuracy moves by up to 25.0 pp when the same model is asked again (tones, "
        f"n=300, 15 % of outcomes change){', so that it is inconclusive' * excuses}"
    ) in found.detail


@pytest.mark.parametrize(
    ("whose", "dataset", "n", "line"),
    [
        ("baseline", "calls", 300, Line()),
        ("baseline", "tones", 40, Line()),
        ("here", "tones", 300, Line()),
        ("baseline", "tones", 300, Line("accuracy", (("scorer", "words"),))),
    ],
    ids=["other data", "fewer samples", "the changed model's own", "another scorer"],
)
def test_noise_that_was_not_measured_of_what_regressed_excuses_nothing(whose, dataset, n, line):
    measured = NoiseMeasurement(0.8, 0.25, 0.85, dataset=dataset, n=n, metric="accuracy", conditions={})
    noise = NoiseRecord(0.8, 0.25, 0.85, measured=[measured])
    both = {
        "scorers": {"letters": SIGNATURE, "words": "w"},
        "metrics": {"letters": ["accuracy"], "words": ["accuracy"]},
    }
    rows = [
        [
            row(
                number,
                correct,
                statuses=dict.fromkeys(("letters", "words"), "parsed"),
                scores={name: {"correct": float(correct)} for name in ("letters", "words")},
            )
            for number, correct in enumerate(scores)
        ]
        for scores in (GOOD, flipped(60))
    ]
    before = side([], rows=rows[0], **both, noise=noise if whose == "baseline" else None)
    here = side([], rows=rows[1], **both, **HERE, noise=noise if whose == "here" else None)
    assert regression_of(before, here, line, Terms(excuses_noise=True)).status == "regressed"


def test_a_regression_beyond_the_measured_noise_is_one_whatever_is_asked_for():
    measured = NoiseMeasurement(0.8, 0.19, 0.85, dataset="tones", n=50, metric="accuracy", conditions={})
    sides = side(GOOD, noise=NoiseRecord(0.8, 0.19, 0.85, measured=[measured])), side(flipped(60), **HERE)
    found = regression_of(*sides, Line(), Terms(excuses_noise=True))
    assert found.status == "regressed"
    assert "noise floor" not in found.detail


def test_nothing_is_certain_ahead_where_all_can_be_paired():
    assert not_comparable(side(GOOD), side(GOOD, **HERE), Line(), Terms()) is None
    assert not_comparable(side(GOOD), side(GOOD[:200], **HERE), Line(), Terms()).status == "not_comparable"
    # Groups are known with the answers: whether one has enough pairs is seen then.
    assert not_comparable(side(GOOD), side(GOOD[:200], **HERE), Line("accuracy", (("hop", "x"),)), Terms()) is None


def test_holms_values_agree_with_the_verdicts_whatever_the_tests_shares():
    def adjusted(lines, *tests):
        items = [item_with(structs.replace(held(GOOD, GOOD), p=p, lines=share)) for p, share in tests]
        return [line.p_holm for item in with_adjusted_p_values(items, lines) for line in item.regressions]

    assert adjusted(4, (0.01, 4), (0.02, 8), (None, 4), (0.004, 8)) == pytest.approx([0.035, 0.1, None, 0.032])
    assert adjusted(1, (0.02, 1)) == [0.02]
    assert adjusted(3) == []


def test_a_gain_beyond_chance_is_an_improvement_which_is_a_pass():
    found = held(flipped(60), GOOD)
    assert (found.status, found.verdict) == ("pass", "improved")
    assert found.p_better == held(GOOD, flipped(60), Line(margin="0")).p == found.q_better
    assert verdict_text(found) == "20.0 pp better: p < 0.0001, significant below 0.05"
    assert found.detail == "not worse at all (one-sided 95 % bound)"


def test_what_is_known_beside_an_improvement_is_said_behind_its_test():
    found = structs.replace(held(flipped(60), GOOD), detail="not worse at all; answers are 20 % shorter; see them")
    assert verdict_text(found).endswith("significant below 0.05; answers are 20 % shorter; see them")


def test_a_gain_that_chance_may_give_and_unchanged_answers_are_no_improvement():
    assert held(flipped(4), GOOD).verdict == "pass"
    same = held(GOOD, GOOD, hashes={"settings": "s", "run_hash": "r"})
    assert (same.verdict, same.p_better) == ("pass", None)


def test_an_improvement_is_held_to_all_lines_of_the_run():
    some = Line(margin="5pp")
    assert held(flipped(7), GOOD, some).verdict == "improved"
    among_many = held(flipped(7), GOOD, some, Terms(lines=20))
    assert (among_many.verdict, among_many.q_better) == ("pass", min(1.0, 20 * among_many.p_better))
    several = [held(flipped(60), GOOD, some, Terms(lines=3)), held(flipped(8), GOOD, some, Terms(lines=3))]
    (item,) = with_adjusted_p_values([item_with(*several)], 3)
    # Beside a clear one the other has to stand against two lines, no longer three.
    assert item.regressions[1].q_better == pytest.approx(2 * several[1].p_better)
    assert verdict_text(item.regressions[1]).endswith(" (3 comparisons), significant below 0.05")


def test_the_improvement_of_one_line_makes_up_for_no_regression():
    lines = [held(flipped(60), GOOD, terms=Terms(lines=2)), held(GOOD, flipped(60), terms=Terms(lines=2))]
    (item,) = with_adjusted_p_values([item_with(*lines)], 2)
    assert [line.verdict for line in item.regressions] == ["improved", "regressed"]
    assert [line.status for line in item.regressions] == ["pass", "regressed"]


def item_with(*lines):
    return ItemRecord(index=0, nodeid="", eval="tones", suite="", model="one", regressions=lines)


def test_the_table_holds_every_number_and_no_more_than_its_width():
    records = [
        held(GOOD, flipped(60)),
        held(GOOD, flipped(2, 2), Line("accuracy", (("hop", "multi\x1b[31m" + "x" * 80),), "5pp")),
        held(GOOD, [*GOOD, *[1] * 30]),
    ]
    lines = regression_table(records, [ScorerRecord("letters", SIGNATURE, CoverageRecord(*[0] * 9))]).splitlines()
    assert " ".join(lines[0].split()) == "metric before now change interval n verdict"
    assert all(len(line) <= WIDTH for line in lines)
    assert "93.3 %  73.3 %  −20.0 pp" in lines[1]
    assert lines[1].endswith("regressed")
    assert "\x1b" not in "".join(lines)
    assert "30 are not in the baseline" in " ".join("".join(lines[4:]).split())


def test_a_verdicts_line_reads_as_it_is_declared():
    found = held(GOOD, GOOD, Line("accuracy", (("hop", "multi"),), "0.5pp"))
    assert line_text(found, "letters") == "accuracy[hop=multi].drop <= 0.5pp"
    assert line_text(found, "other") == "accuracy[scorer=letters,hop=multi].drop <= 0.5pp"


def test_a_share_of_answers_counts_those_that_the_protocol_leaves_out():
    answered = [row(number, 1) for number in range(300)]
    gone = {"statuses": {"letters": "unparsed"}, "scores": {"letters": None}}
    fewer = [*answered[100:], *(row(number, 1, **gone) for number in range(100))]
    before, after = side([], rows=answered), side([], rows=fewer, **HERE)
    for name in ("coverage", "unparsed", "skipped"):
        found = regression_of(before, after, Line(name), Terms())
        assert (found.status, found.pairs, found.worse) == ("regressed", 300, 100), name
    assert regression_of(before, after, Line(), Terms()).pairs == 200


def test_a_failure_that_one_scorer_saw_is_not_anothers():
    two = {"scorers": {"letters": SIGNATURE, "other": "o"}, "metrics": {"other": ["accuracy"]}}
    told = {"statuses": {"letters": "out_of_range", "other": "parsed"}, "failures": ("out_of_range",)}
    plain = {"statuses": {"letters": "parsed", "other": "parsed"}, "scores": {"letters": {}, "other": {}}}
    before = side([], rows=[row(number, 1, **plain) for number in range(40)], **two)
    after = side([], rows=[row(number, 1, **{**plain, **told}) for number in range(40)], **two, **HERE)
    assert regression_of(before, after, Line("out_of_range"), Terms()).value == 1.0
    assert regression_of(before, after, Line("out_of_range", (("scorer", "other"),)), Terms()).value == 0.0


def test_errors_are_held_against_no_baseline():
    with pytest.raises(UsageError, match="limit them by --ab-max-errors"):
        held(GOOD, GOOD, Line("errors"))


def test_samples_that_no_side_has_a_score_of_are_not_called_missing():
    nothing = {"statuses": {"letters": "unparsed"}, "scores": {"letters": None}}
    rows = [row(number, 1, **nothing) for number in range(3)]
    found = regression_of(side([], rows=rows), side([], rows=rows, **HERE), Line(), Terms())
    assert found.status == "not_comparable"
    assert found.detail == (
        "no sample has a score in both runs: 3 are left out by the protocol on one side or both (s0, s1, s2)"
    )


def test_samples_whose_key_was_mended_since_are_in_no_pair():
    here = side(GOOD, **HERE)
    mended = [row._replace(truth="dog") if number < 3 else row for number, row in enumerate(here.rows)]
    found = regression_of(side(GOOD), replace(here, rows=mended), Line(), Terms())
    assert found.left_out == {"truth": 3}
    assert found.pairs == 297
    all_mended = [row._replace(truth="dog") for row in here.rows]
    refused = regression_of(side(GOOD), replace(here, rows=all_mended), Line(), Terms())
    assert refused.status == "not_comparable"
    assert "300 have other choices or references than in the baseline (s0, s1" in refused.detail


def test_a_line_that_is_worse_by_less_than_can_be_shown_says_so():
    found = held(GOOD, flipped(7), Line(margin="1pp"), Terms(lines=8))
    assert found.status == "inconclusive"
    assert found.lower > 0
    assert found.detail.startswith("worse, but not shown to be more than 1.0 pp worse: p = ")
    assert "(0.05 shared by 8 comparisons)" in found.detail
