from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.gate.thresholds import Threshold, check_threshold, parse_threshold
from pytest_audiobench.metrics.registry import metric_kind, names
from pytest_audiobench.metrics.value import Metric

words = st.text(max_size=12)
groups = st.dictionaries(words, words, max_size=3).map(lambda pairs: tuple(pairs.items()))


@st.composite
def thresholds(draw):
    metric = draw(st.sampled_from(["accuracy", "wer", "coverage", "out_of_range"]))
    shares = st.floats(0, 1)
    limits = st.floats(allow_nan=False, allow_infinity=False) if metric == "wer" else shares
    bound = draw(st.sampled_from(["value", "lower", "upper"]))
    return Threshold(metric, draw(groups), bound, draw(st.sampled_from([">=", ">", "<=", "<"])), draw(limits))


@given(thresholds())
def test_the_canonical_text_reads_back_as_the_same_threshold(threshold):
    assert parse_threshold(str(threshold)) == threshold


ALPHABET = 'acuryw er[]=.,"\\<>%0159-+e\n'


@given(st.text() | st.text(alphabet=ALPHABET) | st.builds("accuracy{}".format, st.text(alphabet=ALPHABET)))
@example("accuracy >= 1" + "0" * 5000)
@example("accuracy >= 0.5" + " " * 5000)
@example("wer <= ٣")
@example('accuracy["\\')
def test_any_text_is_a_threshold_or_a_usage_error(text):
    try:
        found = parse_threshold(text)
    except UsageError:
        return
    assert parse_threshold(str(found)) == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("accuracy >= 0.55", Threshold("accuracy", (), "value", ">=", 0.55)),
        ("wer<=0.12", Threshold("wer", (), "value", "<=", 0.12)),
        ("wer <= 12.3%", Threshold("wer", (), "value", "<=", 0.123)),
        ("wer < 150 %", Threshold("wer", (), "value", "<", 1.5)),
        ("accuracy >= 55%", Threshold("accuracy", (), "value", ">=", 0.55)),
        ("lift >= 10pp", Threshold("lift", (), "value", ">=", 0.1)),
        ("lift.lower > -2.5 pp", Threshold("lift", (), "lower", ">", -0.025)),
        ("order_bias <= 20%", Threshold("order_bias", (), "value", "<=", 0.2)),
        ("accuracy.lower > .5", Threshold("accuracy", (), "lower", ">", 0.5)),
        ("wer.upper <= 2e-1", Threshold("wer", (), "upper", "<=", 0.2)),
        ("accuracy[hop=multi] >= 0.3", Threshold("accuracy", (("hop", "multi"),), "value", ">=", 0.3)),
        (
            "accuracy[hop=multi, label=dog bark].lower >= 0.3",
            Threshold("accuracy", (("hop", "multi"), ("label", "dog bark")), "lower", ">=", 0.3),
        ),
        (
            'accuracy[label="a, \\"b\\" ]"] >= 0.3',
            Threshold("accuracy", (("label", 'a, "b" ]'),), "value", ">=", 0.3),
        ),
        (
            "accuracy[scorer=mmau-string] >= 0.4",
            Threshold("accuracy", (("scorer", "mmau-string"),), "value", ">=", 0.4),
        ),
    ],
)
def test_the_forms_of_a_threshold(text, expected):
    found = parse_threshold(text)
    assert found == expected
    assert found.text == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the name of a metric at its end"),
        ("   ", "the name of a metric at its end"),
        ("0.5 <= accuracy", "the name of a metric at character 1"),
        ("accuracy", "one of >=, >, <=, < at its end"),
        ("accuracy = 0.5", "one of >=, >, <=, < at character 10"),
        ("accuracy == 0.5", "one of >=, >, <=, < at character 10"),
        ("accuracy != 0.5", "one of >=, >, <=, < at character 10"),
        ("accuracy >== 0.5", "a number, .* at character 12"),
        ("accuracy <> 0.5", "one of >=, >, <=, < at character 10"),
        ("accuracy >=", "a number, .* at its end"),
        ("accuracy >= nan", "a number, .* at character 13"),
        ("accuracy >= inf", "a number, .* at character 13"),
        ("accuracy >= 1e999", "a finite number at character 13"),
        ("accuracy >= 0.5.5", "a number, .* at character 13"),
        ("accuracy >= 0,5", "nothing more at character 14"),
        ("accuracy >= 1e1%", "a percentage without an exponent at character 13"),
        ("lift >= 1e1pp", "a percentage without an exponent at character 9"),
        ("lift >= 10ppp", "nothing more at character 13"),
        ("lift >= 10p", "a number, .* at character 9"),
        ("accuracy >= 0.5 and wer <= 0.1", "nothing more at character 17"),
        ("accuracy.median >= 0.5", "lower, upper or drop at character 10"),
        ("accuracy.lower[hop=multi] >= 0.5", "one of >=, >, <=, < at character 15"),
        ("accuracy[] >= 0.5", "a field, such as hop at character 10"),
        ("accuracy[hop] >= 0.5", "= and a value at character 13"),
        ("accuracy[hop=] >= 0.5", "a value .* at character 14"),
        ("accuracy[hop=multi >= 0.5", ", or ] at character"),
        ("accuracy[hop=a,hop=b] >= 0.5", "each field once, and 'hop' is there twice at character 16"),
    ],
)
def test_what_is_no_threshold_is_told_with_its_place_and_the_form(text, message):
    with pytest.raises(UsageError, match=message) as caught:
        parse_threshold(text)
    assert "write it as accuracy >= 0.55" in str(caught.value)


def test_an_unknown_metric_names_the_nearest():
    with pytest.raises(UsageError, match="no metric is called 'acuracy'; did you mean 'accuracy'"):
        parse_threshold("acuracy >= 0.5")


@pytest.mark.parametrize("text", ["accuracy >= 55pp", "wer <= 5 pp", "order_worst >= 90pp"])
def test_points_are_of_differences_alone(text):
    with pytest.raises(UsageError, match="has pp for its limit, which differences such as lift are in"):
        parse_threshold(text)


@pytest.mark.parametrize(("text", "limit"), [("lift >= -100pp", -1.0), ("lift <= 100pp", 1.0), ("lift >= -5pp", -0.05)])
def test_points_of_a_difference_may_be_any_that_it_can_be(text, limit):
    threshold = parse_threshold(text)
    assert threshold.limit == limit
    assert parse_threshold(str(threshold)) == threshold


def test_a_limit_beyond_all_points_is_told_how_points_are_written_where_it_has_none():
    with pytest.raises(UsageError, match=r"limit above 100 pp, between which lift lies$"):
        parse_threshold("lift >= -101pp")
    with pytest.raises(UsageError, match=r"points are fractions of one; write -1pp for -1 points$"):
        parse_threshold("lift >= -1")


def test_a_limit_that_a_share_cannot_reach_is_a_usage_error():
    with pytest.raises(UsageError, match="outside 0 to 1, where accuracy lies; write 55% for a percentage"):
        parse_threshold("accuracy >= 55")
    with pytest.raises(UsageError, match="outside 0 to 1"):
        parse_threshold("refused <= -0.1")


def test_text_beyond_reason_is_refused_in_few_words():
    with pytest.raises(UsageError) as caught:
        parse_threshold("accuracy" * 10_000)
    assert len(str(caught.value)) < 300


def test_a_threshold_that_is_not_text_is_refused():
    with pytest.raises(UsageError, match="a threshold is text, not float"):
        parse_threshold(0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "caution"),
    [
        ("accuracy >= 0.5", ""),
        ("accuracy.lower >= 0.5", ""),
        ("wer.upper <= 0.2", ""),
        ("accuracy <= 0.4", "accuracy <= 0.4 asks for a poor result: accuracy is better when higher"),
        ("refused >= 0.9", "refused >= 0.9 asks for a poor result: refused is better when lower"),
        (
            "accuracy.upper >= 0.5",
            "accuracy.upper >= 0.5 passes the more easily the fewer samples there are; "
            "the other bound is the strict one",
        ),
        ("wer <= 12", "wer <= 12.0 is more than one error per word; write 12% for a percentage"),
        ("cer_mean <= 5", "cer_mean <= 5.0 is more than one error per character; write 5% for a percentage"),
    ],
)
def test_an_unusual_requirement_is_allowed_with_a_caution(text, caution):
    assert parse_threshold(text).caution == caution


def finder(value, lower=0.4, upper=0.6, method="Wilson 95 %"):
    def find(name, group):
        assert (name, dict(group)) == ("accuracy", {})
        return Metric(value, name=name, lower=lower, upper=upper, n=30, unit="share", method=method)

    return find


@pytest.mark.parametrize(
    ("requirement", "status"),
    [
        ("accuracy >= 0.5", "pass"),
        ("accuracy > 0.5", "fail"),
        ("accuracy <= 0.5", "pass"),
        ("accuracy < 0.5", "fail"),
        ("accuracy.lower >= 0.4", "pass"),
        ("accuracy.lower > 0.4", "fail"),
        ("accuracy.upper <= 0.6", "pass"),
        ("accuracy.upper < 0.6", "fail"),
    ],
)
def test_value_and_bounds_are_held_against_the_limit(requirement, status):
    verdict = check_threshold(parse_threshold(requirement), finder(0.5))
    assert verdict.status == status
    assert verdict.threshold == requirement
    assert "[40.0 to 60.0], n=30" in verdict.detail


def test_a_verdict_says_how_far_a_number_was_from_its_limit():
    verdict = check_threshold(parse_threshold("accuracy >= 55%"), finder(0.5))
    assert verdict == ("fail", "accuracy >= 55%", 0.5, "50.0 % is not >= 55.0 % ([40.0 to 60.0], n=30)")


def test_a_near_miss_is_shown_in_full():
    assert (
        "54.99999 % is not >= 55.0 %" in check_threshold(parse_threshold("accuracy >= 0.55"), finder(0.5499999)).detail
    )


OPERATORS = [">=", ">", "<=", "<"]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("bound", ["", ".lower", ".upper"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_finite_number_never_passes(operator, bound, value):
    verdict = check_threshold(
        parse_threshold(f"accuracy{bound} {operator} 0.5"), finder(value, method="no interval: no samples")
    )
    assert verdict.status == "fail"
    assert verdict.value is None
    assert "not a finite number: no interval: no samples" in verdict.detail


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("bound", ["lower", "upper"])
@pytest.mark.parametrize("missing", [None, math.nan, math.inf, -math.inf])
def test_a_bound_that_is_not_there_never_passes(operator, bound, missing):
    find = finder(0.5, lower=missing, upper=missing, method="no interval: fewer than 2 clusters")
    verdict = check_threshold(parse_threshold(f"accuracy.{bound} {operator} 0.5"), find)
    assert verdict[:3] == ("fail", f"accuracy.{bound} {operator} 0.5", None)
    assert verdict.detail == f"accuracy has no {bound} bound: no interval: fewer than 2 clusters"


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", sorted({"accuracy", "wer", "coverage", "errors"}))
@pytest.mark.parametrize("group", ["", "[hop=mutli]", "[scorer=nope]"])
def test_a_metric_or_group_that_is_not_there_never_passes(operator, name, group):
    verdict = check_threshold(parse_threshold(f"{name}{group} {operator} 0.5"), lambda metric, wanted: None)
    assert verdict.status == "fail"
    assert verdict.value is None
    assert f"there is no {name}{group}" in verdict.detail


@pytest.mark.parametrize(
    ("requirement", "says"),
    [
        ("accuracy[hop=mutli] >= 0.5", "; there are [hop=multi], [hop=single]"),
        ("accuracy[colour=blue] >= 0.5", "; there are [hop=multi], [hop=single]"),
        ("lift[hop=multi] >= 5pp", "lift is measured over all samples, and of no group"),
    ],
)
def test_a_group_that_is_not_there_is_told_which_there_are(requirement, says):
    keys = ["accuracy", "accuracy[hop=multi]", "accuracy[hop=single]", "wer[hop=other]", "lift"]
    assert says in check_threshold(parse_threshold(requirement), lambda metric, wanted: None, keys).detail


@given(st.floats(), st.floats(0, 1), st.sampled_from(OPERATORS), st.none() | st.floats(), st.none() | st.floats())
def test_only_a_finite_number_on_the_right_side_passes(value, limit, operator, lower, upper):
    verdict = check_threshold(Threshold("accuracy", (), "value", operator, limit), finder(value, lower, upper))
    right = {">=": value >= limit, ">": value > limit, "<=": value <= limit, "<": value < limit}[operator]
    assert (verdict.status == "pass") == (math.isfinite(value) and right)


@pytest.mark.parametrize(
    ("requirement", "unit", "mistake"),
    [
        ("wording_worst <= 20", "errors per word", "is more than one error per word; write 20%"),
        ("wording_mean <= 90", "share", "has a limit outside 0 to 1, where wording_mean lies here"),
        ("wording_worst >= 10%", "BLEU", "has a percentage for its limit, and wording_worst is in BLEU here"),
        ("wording_worst <= 20%", "errors per word", ""),
        ("wording_worst <= 120%", "errors per word", ""),
        ("wording_worst <= 50", "BLEU", ""),
    ],
)
def test_a_limit_that_is_none_in_the_unit_that_a_result_has_never_passes(requirement, unit, mistake):
    metric = Metric(0.2, name="wording_worst", n=50, unit=unit, direction="lower")
    verdict = check_threshold(parse_threshold(requirement), lambda name, group: metric)
    assert verdict.status == ("fail" if mistake else "pass")
    assert mistake in verdict.detail


def test_the_group_is_what_is_looked_for():
    asked = []
    check_threshold(
        parse_threshold("accuracy[hop=multi,label=cat] >= 0.5"), lambda name, group: asked.append((name, dict(group)))
    )
    assert asked == [("accuracy", {"hop": "multi", "label": "cat"})]


def test_every_metric_of_the_registry_can_be_named():
    for name in names():
        assert parse_threshold(f"{name} >= 0.5").metric == metric_kind(name).name


@pytest.mark.parametrize("text", ["bleu >= 30%", "chrf.lower >= 50 %", "cider_d >= 50%", "cohen_kappa >= 60%"])
def test_a_percentage_of_what_is_no_fraction_is_refused(text):
    with pytest.raises(UsageError, match=r"no fraction of one: write the number as it is reported"):
        parse_threshold(text)


@pytest.mark.parametrize(
    ("text", "lies"),
    [("bleu >= 101", "0 to 100, where bleu"), ("mcc <= 5", "-1 to 1, where mcc"), ("judge_kappa >= 55", "-1 to 1")],
)
def test_a_limit_that_the_metric_cannot_reach_is_refused(text, lies):
    with pytest.raises(UsageError, match=lies):
        parse_threshold(text)


def test_a_limit_below_one_of_a_hundred_is_cautioned():
    assert "less than one of 100" in parse_threshold("bleu >= 0.3").caution
    assert parse_threshold("bleu >= 30").caution == ""
    assert parse_threshold("bleu <= 0").caution != ""
