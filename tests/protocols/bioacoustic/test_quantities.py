"""The one number of an answer: units, words, ranges and bounds; and how far from the truth it may be."""

import json
import math
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_audiobench.datasets.sample import Sample
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics.registry import metric_kind
from pytest_audiobench.models.messages import Response
from pytest_audiobench.protocols.bioacoustic.quantities import Tolerance, number_in
from pytest_audiobench.protocols.bioacoustic.task import bioacoustic_number
from pytest_audiobench.protocols.protocol import Answer

READ = [
    ("1.2 kHz", "Hz", "1200"),
    ("The mean fundamental frequency is approximately **1.2 kHz**.", "Hz", "1200"),
    ("2461-4448 Hz", "Hz", "3454.5"),
    ("1.5 kHz to 4.5 kHz", "Hz", "3000"),
    ("500 to 1.5 kHz", "Hz", "1000"),
    ("between 280 Hz and 320 Hz", "Hz", "300"),
    ("1,654.75 Hz", "Hz", "1654.75"),
    ("1 654 Hz", "Hz", "1654"),
    ("1,5 kHz", "Hz", "1500"),
    ("105 Hertz (Hz)", "Hz", "105"),
    ("#0.00s - 10.00s#: 1231.4190063476562\n", "Hz", "1231.41900635"),
    ("The frequency is 120 Hz. Harmonics lie at 240 Hz and 360 Hz.", "Hz", "120"),
    ("f0 is 200 Hz", "Hz", "200"),
    ("3 calls at 2 kHz within 10 s", "Hz", "2000"),
    ("12 dB", "dB", "12"),
    ("−3 dB", "dB", "-3"),
    ("-10 to -5 dB", "dB", "-7.5"),
    ("5 ± 1 dB", "dB", "5"),
    ("SNR = 10 (poor)", "dB", "10"),
    ("three", "", "3"),
    ("There are twenty-one calls.", "", "21"),
    ("about 5", "", "5"),
    ("None", "", "0"),
    ("2-3", "", "2.5"),
    ("5 calls in 10 seconds", "", "5"),
    ("There are 2 species.\n1. Sparrow\n2. Robin", "", "2"),
    ("1,200", "", "1200"),
    ("1.2k", "Hz", "1200"),
    ("1.2 (kHz)", "Hz", "1200"),
    ("1.2 × 10^3 Hz", "Hz", "1200"),
    ("2'400 Hz", "Hz", "2400"),
    (".5 kHz", "Hz", "500"),
    ("2300 Hz (2.3 kHz)", "Hz", "2300"),
    ("A 1200-Hz tone", "Hz", "1200"),
    ("The fundamental frequency is 1600 Hz, with harmonics at 3200 Hz and 4800 Hz.", "Hz", "1600"),
    ("The mean frequency is 1600 Hz (range 1000 to 2000 Hz).", "Hz", "1600"),
    ("mean f0: 1.2 kHz, max f0: 2 kHz", "Hz", "1200"),
    ("The sampling rate is 44.1 kHz. The f0 is 440 Hz.", "Hz", "440"),
    ("440 Hz at a 44.1 kHz sample rate", "Hz", "440"),
    ("minus 3 dB", "dB", "-3"),
    ("negative 3 dB", "dB", "-3"),
    ("–3 dB", "dB", "-3"),
    ("The SNR is –3 dB", "dB", "-3"),
    ("I can't measure that, but I'd say 10 dB.", "dB", "10"),
    ("I count 12 vocalizations in this 10-second clip", "", "12"),
    ("The bird calls 5 times", "", "5"),
    ("There are no calls.", "", "0"),
    ("No birds can be heard", "", "0"),
    ("nothing", "", "0"),
    ("I do not hear any calls.", "", "0"),
    ("There is one species.", "", "1"),
    ("I hear one that calls 4 times", "", "4"),
    ("5\n\nExplanation: there are 2 calls, then 3 more", "", "5"),
    ("2 by one bird and 1 by another.\n\n3", "", "3"),
    ("<think>2 or 3, hard to say</think>3", "", "3"),
    ("Counting: 2, then 1. <answer>3</answer>", "", "3"),
]


@pytest.mark.parametrize(("text", "unit", "value"), READ)
def test_a_number_is_read_in_the_task_s_unit(text, unit, value):
    assert number_in(text, unit) == Answer("parsed", value)


UNREAD = [
    ("at least 3", "", "unparsed"),
    ("more than 10 dB", "dB", "unparsed"),
    ("2 species and 7 calls", "", "unparsed"),
    ("1 or 2", "", "unparsed"),
    ("10 seconds", "", "unparsed"),
    ("80 %", "dB", "unparsed"),
    ("12 dB", "Hz", "unparsed"),
    ("2 kHz", "dB", "unparsed"),
    ("high", "dB", "unparsed"),
    ("F0", "Hz", "unparsed"),
    ("", "", "empty"),
    ("…", "", "empty"),
    ("-5", "", "out_of_range"),
    ("-5 Hz", "Hz", "out_of_range"),
    ("I cannot hear the audio.", "Hz", "refused"),
    ("I'm sorry, I can't listen to audio. A typical frog calls at 1200 Hz.", "Hz", "refused"),
    ("I cannot determine the SNR without the audio; typical values are 10 to 20 dB", "dB", "refused"),
    ("3 or more calls", "", "unparsed"),
    ("3+ calls", "", "unparsed"),
    ("One or more species", "", "unparsed"),
    ("one hundred", "", "unparsed"),
    ("There are three calls of 2 species", "", "unparsed"),
    ("2.400,5 Hz", "Hz", "unparsed"),
    ("No idea", "", "unparsed"),
    ("I do not hear any audio.", "", "refused"),
]


@pytest.mark.parametrize(("text", "unit", "status"), UNREAD)
def test_what_is_no_number_is_told_apart_and_never_guessed(text, unit, status):
    assert number_in(text, unit) == Answer(status)


def test_a_number_that_the_limit_of_tokens_may_have_cut_is_none():
    assert number_in("There are 12", "", "length") == Answer("truncated")
    assert number_in("There are 12 calls, of", "", "length") == Answer("parsed", "12")
    assert number_in("1200 Hz", "Hz", "length") == Answer("parsed", "1200")
    assert number_in("The frequency lies between 1000 Hz and", "Hz", "length") == Answer("truncated")
    assert number_in("1000 Hz -", "Hz", "length") == Answer("truncated")
    assert number_in("There are 1.", "", "length") == Answer("truncated")


def test_a_hostile_text_is_read_in_linear_time():
    assert number_in("123 " * 6_000, "Hz") == Answer("parsed", "123")
    assert number_in("5" + "-" * 24_000 + "x", "", "length").status == "parsed"


NUMBERS = st.integers(0, 99_999)


@given(NUMBERS, st.sampled_from(["{} Hz", "{:,} Hz", "about {} Hz", "The answer is {} hertz.", "{}", "({} Hz)"]))
def test_however_a_frequency_is_written_it_is_the_same(number, wording):
    assert number_in(wording.format(number), "Hz") == Answer("parsed", str(number))


@given(st.decimals(0, 99, places=3, allow_nan=False))
def test_a_frequency_in_khz_is_a_thousand_times_as_many_hz(number):
    assert float(number_in(f"{number} kHz", "Hz").value) == pytest.approx(float(number) * 1000)


@given(NUMBERS, NUMBERS, st.sampled_from(["{}-{} Hz", "{} to {} Hz", "{} Hz – {} Hz", "between {} and {} Hz"]))
def test_a_range_stands_for_its_middle(one, other, wording):
    low, high = sorted((one, other))
    assert float(number_in(wording.format(low, high), "Hz").value) == pytest.approx((low + high) / 2)


@settings(deadline=None)
@given(st.text(max_size=300), st.sampled_from(["", "Hz", "dB"]))
def test_any_text_is_read_as_a_finite_number_or_not_at_all(text, unit):
    answer = number_in(text, unit)
    assert (answer.value is None) == (answer.status != "parsed")
    assert answer.value is None or math.isfinite(float(answer.value))


@given(NUMBERS, NUMBERS)
def test_an_answer_is_read_without_the_truth(number, truth):
    scorer = bioacoustic_number(unit="Hz").scorers[0]
    earlier = {"answer": Response.of(f"{number} Hz")}
    assert scorer.parse(Sample("a", (), "", (), f"{truth} Hz"), earlier).value == str(number)


# --- the score


def values(protocol, pairs):
    scorer = protocol.scorers[0]
    samples = [Sample(str(number), (), "", (), truth) for number, (truth, _) in enumerate(pairs)]
    rows = [
        scorer.score(sample, scorer.parse(sample, {"answer": Response.of(text)}))
        for sample, (_, text) in zip(samples, pairs, strict=True)
    ]
    return [metric_kind(name).estimate(rows, None).value for name in scorer.metrics]


def test_within_a_share_of_the_truth_is_right_and_the_mean_distance_stands_beside():
    pairs = [("1000 Hz", "1.1 kHz"), ("1000 Hz", "1101 Hz"), ("1000 Hz", "900")]
    assert values(bioacoustic_number(unit="Hz", tolerance="10%"), pairs) == pytest.approx([2 / 3, 301 / 3])


def test_within_so_many_decibels_is_right():
    assert values(bioacoustic_number(unit="dB", tolerance="3"), [("39 dB", "36"), ("39 dB", "43 dB")]) == [0.5, 3.5]


def test_of_counts_only_the_very_number_is_right():
    assert values(bioacoustic_number(), [("3", "three"), ("3", "4"), ("3", "2")]) == pytest.approx([1 / 3, 2 / 3])


def test_an_answer_without_a_number_is_wrong_and_has_no_distance():
    assert values(bioacoustic_number(), [("3", "5"), ("3", "many"), ("3", "")]) == [0.0, 2.0]


def test_without_any_number_there_is_no_mean_distance():
    within, distance = values(bioacoustic_number(), [("3", "many")])
    assert within == 0.0
    assert math.isnan(distance)


@given(st.integers(0, 10_000), st.integers(0, 100))
def test_the_truth_itself_and_the_edge_of_a_tolerance_are_within_it(truth, percent):
    near = Tolerance.of(f"{percent}%")
    assert near.covers(truth, truth)
    assert near.covers(truth * (1 + percent / 100), truth)
    assert Tolerance.of(str(percent)).covers(truth - percent, truth)


def test_a_truth_without_a_number_is_named():
    with pytest.raises(UsageError, match="sample '0': its truth 'high' is not a number in dB"):
        values(bioacoustic_number(unit="dB"), [("high", "12 dB")])


@pytest.mark.parametrize("tolerance", ["ten", "-1", "10 percent", ""])
def test_what_is_no_tolerance_is_refused(tolerance):
    with pytest.raises(UsageError, match="a tolerance is a number, such as 3, or a percentage, such as 10%"):
        bioacoustic_number(tolerance=tolerance)


def test_the_published_rule_compares_texts_by_the_labels_of_all_samples():
    samples = [Sample(id_, (), "", (), truth) for id_, truth in (("a", "1200 Hz"), ("b", "3100 Hz"))]
    scorer = bioacoustic_number("beans-run", unit="Hz").scorers[0]
    rows = [
        (sample, scorer.parse(sample, {"answer": Response.of(text)}))
        for sample, text in zip(samples, ("1.2 kHz", "3000"), strict=True)
    ]
    # 1.2 is nearest to 1200 in Hz, as is 3000 to 3100.
    assert [row["correct"] for row in scorer.together(rows)] == [1.0, 1.0]


def test_recorded_frequencies_of_six_models_are_the_numbers_that_they_show(shared):
    lines = (shared / "beans_next" / "pairs.jsonl").read_text().splitlines()
    statuses = Counter()
    for row in map(json.loads, lines):
        if row["subset"] != "f0-mean-seen-taxa":
            continue
        text = row["raw_predictions"][0]
        answer = number_in(text, "Hz")
        statuses[row["model_tag"], answer.status] += 1
        shown = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", re.sub(r"#.*#|,", "", text))]
        if answer.value is not None:
            expected = sum(shown) / len(shown) * (1000 if "kHz" in text else 1)
            assert float(answer.value) == pytest.approx(expected), text
    assert statuses == {
        ("naturelm_v1_0", "parsed"): 100,
        ("naturelm_v1_1", "parsed"): 100,
        ("af3", "unparsed"): 100,
        ("qwen3_omni_30b_a3b_instruct_lean", "parsed"): 100,
        ("openai_gpt_4o_audio_preview", "unparsed"): 10,
        ("gemini_3_1_pro_preview", "parsed"): 10,
    }
