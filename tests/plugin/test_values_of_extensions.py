"""What users' own models, scorers and tests give is recorded, or refused where it is given: no run is lost for it."""

import json

import pytest

from pytest_audiobench import load_run

SCORING = """
from dataclasses import replace

import numpy as np
from pytest_audiobench import manifest, multiple_choice
from pytest_audiobench.ext import Answer, Scorer, letter_of

class Text(str):
    pass

def read(sample, earlier):
    return Answer({status}, {value})

def score(sample, answer):
    letter = str(answer.value)
    return {{"correct": {correct}, "length": np.float64(len(letter))}}

def test_tones(evaluate):
    own = Scorer("own", "mcq:own|v:1", read, score, ("accuracy",))
    protocol = multiple_choice()
    evaluate(manifest("data/tones.jsonl"), replace(protocol, scorers=(own,), available={{"own": own}}))
    evaluate.record("loudness", np.float64(3), unit=Text("dB"), group={{"take": 2}})
"""

MODEL = """

class Verbose(ToneModel):
    def fingerprint(self):
        return {**super().fingerprint(), "layers": 12, "seed": None}

    def _answer(self, request, audio):
        return Response.of(super()._answer(request, audio).text, finish="end_turn")

def pytest_audiobench_register(registration):
    registration.model("verbose", Verbose)
"""


def scored(suite, correct="letter == letter_of(sample)", value='Text(earlier["answer"].text)', status='"parsed"'):
    suite.tones(4)
    suite.write(test_tones=SCORING.format(correct=correct, value=value, status=status))
    return suite.run()


@pytest.mark.parametrize(
    "correct", ["letter == letter_of(sample)", "np.float64(letter == letter_of(sample))", "int(letter in 'ABCD')"]
)
def test_a_scorer_may_say_right_or_wrong_as_python_and_numpy_compare(suite, correct):
    scored(suite, correct).assert_outcomes(passed=1)
    record, folder = suite.last()
    metrics = {metric["name"]: metric for metric in record["items"][0]["metrics"]}
    assert metrics["accuracy"]["value"] == 1.0
    assert metrics["loudness"]["group"] == {"take": "2"}
    rows = list(load_run(folder).rows())
    assert [row.scorers["own"].scores for row in rows] == [{"correct": 1.0, "length": 1.0}] * 4
    lines = (folder / "scored_predictions.jsonl").read_text().splitlines()
    assert {type(json.loads(line)["scores"]["correct"]) for line in lines} <= {int, float}


@pytest.mark.parametrize(
    ("changes", "given"),
    [
        ({"status": '"perhaps"'}, "Answer(status='perhaps'*"),
        ({"value": "3"}, "Answer(status='parsed', value=3)"),
    ],
)
def test_a_scorer_that_reads_no_answer_fails_its_eval_in_a_sentence(suite, changes, given):
    result = scored(suite, **changes)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*own read an answer as {given}: a status is one of parsed, unparsed, *"])
    assert suite.last()[0]["items"][0]["outcome"] == "failed"


def test_a_models_own_word_for_an_end_and_a_number_in_its_fingerprint_are_recorded(tones):
    conftest = tones.path / "conftest.py"
    conftest.write_text(conftest.read_text() + MODEL)
    for run in ("asked", "stored"):
        tones.run(f"--ab-run={run}", model="verbose:one").assert_outcomes(passed=1)
        record = load_run(tones.path / "reports" / run).record
        assert record.models[0].fingerprint["layers"] == "12"
        assert {row.finish for row in load_run(tones.path / "reports" / run).rows()} == {"unknown"}


def test_a_hook_that_puts_a_number_among_the_notes_is_named(tones):
    conftest = tones.path / "conftest.py"
    conftest.write_text(
        conftest.read_text() + "\n\ndef pytest_audiobench_update_run(config, run):\n    run.extra['a'] = 1\n"
        "    run.notes.insert(0, 3)\n"
    )
    result = tones.run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*run.notes[[]0[]] is 3: append texts in pytest_audiobench_update_run*"])


def test_a_recorded_text_that_is_no_unicode_fails_its_eval_alone(tones):
    tones.write(
        test_odd="from pytest_audiobench import manifest, multiple_choice\n\n"
        "def test_odd(evaluate):\n    evaluate(manifest('data/tones.jsonl'), multiple_choice())\n"
        "    evaluate.record('speed', 3, unit='\\udcff')\n"
    )
    result = tones.run()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*odd.metrics[[]*].unit cannot be written as JSON *: make it a plain*"])
    assert [item["outcome"] for item in tones.last()[0]["items"]] == ["failed", "passed"]


def test_a_part_of_an_output_of_an_unknown_kind_fails_its_eval_in_a_sentence(tones):
    conftest = tones.path / "conftest.py"
    answer = '(replace(super()._answer(request, audio).outputs[0], parts=(Part("thought", "hm"),)),)'
    conftest.write_text(
        "from dataclasses import replace\nfrom pytest_audiobench.ext import Part\n\n"
        + conftest.read_text()
        + MODEL.replace('Response.of(super()._answer(request, audio).text, finish="end_turn")', f"Response({answer})")
    )
    result = tones.run(model="verbose:one")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*a model's output has a part of the kind 'thought': make it one of text, audio*"])
