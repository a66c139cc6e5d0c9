from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_audiobench.gate.failure_table import WIDTH, failure_table
from pytest_audiobench.gate.thresholds import Verdict
from pytest_audiobench.records.run import CoverageRecord, MetricRecord, ScorerRecord, VerdictRecord

SIGNATURE = "mcq:letters|v:1"
ACCURACY = MetricRecord("accuracy", 0.5333, 0.3614, 0.6977, 30, "share", "higher", "Wilson", "letters", SIGNATURE)
COVERAGE = MetricRecord("coverage", 0.9667, 0.8, 0.99, 30, "share", "higher", "Wilson", "letters", SIGNATURE)
STRING = MetricRecord("accuracy", 0.6, 0.42, 0.75, 30, "share", "higher", "Wilson", "mmau-string", "mcq:mmau|v:1")
MULTI = MetricRecord(
    "accuracy", 0.25, 0.1, 0.5, 15, "share", "higher", "Wilson", "letters", SIGNATURE, {"hop": "multi"}
)
LATENCY = MetricRecord("latency", 1.5, None, None, 1, "s", "lower", "recorded")


def test_every_number_stands_with_its_perturbations_beside_what_was_required():
    verdicts = [
        Verdict("fail", "accuracy >= 55%", 0.5333, "0.533 is not >= 0.55"),
        Verdict("fail", "accuracy[hop=multi].lower >= 0.3", 0.1, "0.100 is not >= 0.3"),
        Verdict("pass", "accuracy[scorer=mmau-string] >= 0.4", 0.6, "0.600"),
        Verdict("pass", "latency <= 2", 1.5, "1.500"),
        Verdict("fail", "accuracy[hop=mutli] >= 0.3", None, "there is no accuracy[hop=mutli]"),
        Verdict("incomplete", "wer <= 0.1", None, "3 of 30 samples could not be asked"),
    ]
    assert failure_table([ACCURACY, COVERAGE, MULTI, STRING, LATENCY], verdicts).splitlines() == [
        "metric     value        interval   n  parse rate  threshold     verdict",
        "accuracy  53.3 %  [36.1 to 69.8]  30      96.7 %  >= 0.55       fail",
        "accuracy[hop=multi]",
        "          25.0 %  [10.0 to 50.0]  15              lower >= 0.3  fail",
        "accuracy[scorer=mmau-string]",
        "          60.0 %  [42.0 to 75.0]  30              >= 0.4        pass",
        "latency    1.5 s                   1              <= 2          pass",
        "accuracy[hop=mutli]",
        "               –                                  >= 0.3        fail",
        "wer            –                                  <= 0.1        incomplete",
        "accuracy[hop=mutli] >= 0.3: there is no accuracy[hop=mutli]",
        "wer <= 0.1: 3 of 30 samples could not be asked",
    ]


def test_overall_metrics_without_a_threshold_are_shown_too():
    table = failure_table([ACCURACY, COVERAGE, MULTI, STRING], [])
    assert "accuracy[scorer=mmau-string]" in table
    assert "hop=multi" not in table


def test_what_a_protocol_leaves_out_stands_beside_its_coverage():
    table = failure_table(
        [ACCURACY, COVERAGE], [], [ScorerRecord("letters", SIGNATURE, CoverageRecord(30, 26, 0, 0, 0, 0, 0, 0, 4))]
    )
    assert "96.7 %, 4 skipped" in table


def test_of_many_protocols_only_the_headline_and_what_a_threshold_names_are_shown():
    others = [
        MetricRecord("accuracy", 0.6, 0.42, 0.75, 30, "share", "higher", "Wilson", name, f"mcq:{name}|v:1")
        for name in ("one", "two", "three")
    ]
    verdict = Verdict("pass", "accuracy[scorer=two] >= 0.4", 0.6, "0.600")
    table = failure_table([ACCURACY, COVERAGE, *others, LATENCY], [verdict])
    assert [line.split()[0] for line in table.splitlines()[1:]] == ["accuracy[scorer=two]", "accuracy", "latency"]


def test_of_very_many_metrics_the_first_stand_below_those_with_a_verdict_and_the_others_are_counted():
    many = [replace(ACCURACY, name=f"metric_{number}") for number in range(20)]
    lines = failure_table(many, [Verdict("fail", "metric_19 >= 0.9", 0.5333, "0.533 is not >= 0.9")]).splitlines()
    shown = ["metric_19", *(f"metric_{number}" for number in range(16))]
    assert [line.split()[0] for line in lines[1:-1]] == shown
    assert lines[-1] == "… and 3 more metrics"


def test_the_records_own_verdicts_give_the_same_table():
    verdict = Verdict("fail", "accuracy >= 55%", 0.5333, "0.533 is not >= 0.55")
    assert failure_table([ACCURACY], [verdict]) == failure_table([ACCURACY], [VerdictRecord(*verdict)])


def test_a_threshold_that_cannot_be_read_is_shown_as_it_stands():
    assert "accuracy ~ 0.5" in failure_table([ACCURACY], [Verdict("fail", "accuracy ~ 0.5", 0.5, "why")])


texts = st.text(max_size=60)


@given(
    st.lists(st.tuples(texts, texts, st.none() | st.floats(allow_nan=False, allow_infinity=False)), max_size=5),
    st.lists(st.tuples(st.sampled_from(["pass", "fail", "incomplete"]), texts, texts), max_size=5),
)
def test_no_line_is_wider_than_the_terminal_or_moves_the_cursor(metrics, verdicts):
    records = [
        MetricRecord("accuracy", value, 1e-300, 1e300, 10**9, "share", "higher", "", "letters", "s", {field: label})
        for field, label, value in metrics
    ]
    table = failure_table(records, [Verdict(status, text, None, detail) for status, text, detail in verdicts])
    for line in table.split("\n"):
        assert len(line) <= WIDTH
        assert line.isprintable()
