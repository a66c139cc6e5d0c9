"""``--ab-perturbations``: any eval asked under further perturbations, compared with itself, gated as it is."""

import json

import pytest

EVALS = """
import pytest
from pytest_audiobench import dataset, listening, multiple_choice, perturb, perturbations, transcription

def test_digits(evaluate):
    evaluate(dataset("bundled", "digits"), multiple_choice())
    evaluate.require("accuracy >= 0.9")

def test_noisy(evaluate):
    evaluate(perturb(dataset("bundled", "digits"), *perturbations("named", "white-20dB")), multiple_choice())

def test_listening(evaluate):
    listening(evaluate, dataset("bundled", "digits"), multiple_choice(), samples=20)

def test_words(evaluate):
    evaluate(dataset("bundled", "transcription"), transcription())
"""
"""Of a plain eval, one with a perturbation of its own, one that compares evaluations, and one without options."""


@pytest.fixture
def run(pytester, monkeypatch):
    def ask(*arguments):
        result = pytester.runpytest("-q", "--ab-run=r", "--ab-refresh", *arguments)
        record = pytester.path / "reports" / "r" / "run.json"
        return result, json.loads(record.read_text()) if record.exists() else None

    pytester.makepyfile(test_questions=EVALS)
    return ask


def test_an_eval_is_compared_with_itself_under_each_and_its_thresholds_hold_of_it_as_it_is(run):
    result, record = run("-k", "digits", "--ab-perturbations=order,text", "--ab-limit=20")
    assert result.ret == 0, result.outlines
    names = ["clean", "order-1", "order-2", "order-3", "text"]
    assert [item["eval"] for item in record["items"]] == [f"questions/digits[{name}]" for name in names]
    assert [len(item["verdicts"]) for item in record["items"]] == [1, 0, 0, 0, 0]
    (summary,) = [each for each in record["suites"][0]["perturbations"] if each["metric"] == "accuracy"]
    drops = {each["perturbation"]: each["drop"] for each in summary["differences"]}
    assert drops["text"] > 0.9
    assert all(drops[name] == 0.0 for name in names[1:-1])


def test_an_eval_with_perturbations_or_comparisons_of_its_own_is_asked_as_it_is(run):
    result, record = run("-k", "noisy or listening", "--ab-perturbations=text", "--ab-limit=20")
    assert result.ret == 0, result.outlines
    assert {item["dataset"] for item in record["items"] if "noisy" in item["eval"] and item["metrics"]} == {
        "bundled/digits+white-20dB"
    }
    result.assert_outcomes(passed=2, skipped=2)


def test_an_order_of_nothing_and_an_unknown_name_are_mistakes(run):
    result, _ = run("-k", "words", "--ab-perturbations=order")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*no sample has options to put in another order*"])
    result, _ = run("-k", "digits", "--ab-perturbations=oder")
    assert result.ret == 4
    (result.stdout if "oder" in result.stdout.str() else result.stderr).fnmatch_lines(
        ["*no perturbation is named 'oder'*"]
    )


def orders_of(suite):
    (orders,) = suite.last()[0]["suites"][0]["orders"]
    return orders


def test_who_always_says_the_first_option_is_right_by_chance_in_every_order_and_leans_to_its_place(tones):
    result = tones.run("--ab-perturbations=order", deaf="yes")
    assert result.ret == 0, result.outlines
    orders = orders_of(tones)
    assert (orders["n"], orders["mean"]["value"], orders["worst"]["value"]) == (40, 0.25, 0.25)
    assert (orders["every"]["value"], orders["same"]["value"], orders["bias"]) == (0.0, 0.0, 0.75)
    assert {place["letter"]: (place["said"], place["true"]) for place in orders["places"]} == {
        "A": (1.0, 0.25),
        **dict.fromkeys("BCD", (0.0, 0.25)),
    }
    result.stdout.fnmatch_lines(["*bias to a place: 0.750, said A 100.0 %, B 0.0 %, C 0.0 %, D 0.0 %;*"])


def test_who_hears_says_the_same_in_every_order_and_a_sample_that_fails_in_one_is_in_none(tones):
    assert tones.run("--ab-perturbations=order").ret == 0
    orders = orders_of(tones)
    assert (orders["n"], orders["every"]["value"], orders["same"]["value"], orders["bias"]) == (40, 1.0, 1.0, 0.0)
    tones.run("--ab-perturbations=order", "--ab-refresh", unheard="tone-3")
    assert orders_of(tones)["n"] == 39
