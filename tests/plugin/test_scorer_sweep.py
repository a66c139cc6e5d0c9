"""One set of answers scored by every scorer that the machine has the parts for."""

import pytest

READINGS = 8


def scorers(run):
    return [scorer["name"] for item in run["items"] for scorer in item["scorers"]]


def eval_by(scorers):
    return f"""
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice(), scorers={scorers})
"""


@pytest.mark.parametrize("workers", [(), ("-n2",)])
def test_all_scorers_read_the_answers_the_default_as_the_headline(suite, workers):
    suite.tones()
    suite.write(test_tones=eval_by('"all"'))
    done = suite.run(*workers)
    done.assert_outcomes(passed=1)
    run, _ = suite.last()
    names = scorers(run)
    assert names[0] == "letters"
    assert len(names) == len(set(names)) >= READINGS
    done.stdout.fnmatch_lines(["tones: accuracy by * scorers, spread * pp", "  mmau-string  *"])


def test_scorers_are_chosen_by_name_and_the_command_line_goes_before(suite):
    suite.tones()
    suite.write(test_tones=eval_by('["mmau-string", "letters"]'))
    suite.run().assert_outcomes(passed=1)
    assert scorers(suite.last()[0]) == ["mmau-string", "letters"]
    suite.run("--ab-scorer=letters").assert_outcomes(passed=1)
    assert scorers(suite.last()[0]) == ["letters"]
    suite.run("--ab-scorer=all").assert_outcomes(passed=1)
    assert len(scorers(suite.last()[0])) >= READINGS


@pytest.mark.parametrize(("scorers", "says"), [('"lettres"', "no scorer 'lettres'"), ("[]", "name one")])
def test_an_unknown_scorer_and_none_at_all_are_mistakes(suite, scorers, says):
    suite.tones()
    suite.write(test_tones=eval_by(scorers))
    done = suite.run()
    assert done.ret != 0
    done.stdout.fnmatch_lines([f"*{says}*"])


def test_a_scorer_whose_parts_are_missing_is_left_out_with_a_warning(suite):
    suite.tones()
    suite.write(
        test_tones="""
from dataclasses import replace
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    whole = multiple_choice()
    parts = "METEOR needs nltk: pip install 'pytest-audiobench[captions]'"
    missing = replace(whole.available["mmau-string"], missing_parts=lambda: parts)
    beside = replace(whole.available["faithfulness-recovered"], companions=("mmau-string",))
    available = {**whole.available, "mmau-string": missing, "faithfulness-recovered": beside}
    evaluate(manifest("data/tones.jsonl"), replace(whole, available=available), scorers="all")
"""
    )
    suite.run().assert_outcomes(passed=1)
    run, _ = suite.last()
    assert not {"mmau-string", "faithfulness-recovered"} & set(scorers(run))
    why = "was left out: METEOR needs nltk: pip install 'pytest-audiobench[captions]'"
    assert [text for text in run["items"][0]["warnings"] if "METEOR" in text] == [
        f"the scorer mmau-string {why}",
        f"the scorer faithfulness-recovered {why}",
    ]


@pytest.mark.parametrize(
    ("line", "count"), [('scorers = "all"', None), ('scorers = ["mmau-string", "letters"]', 2), ("", 1)]
)
def test_an_eval_without_code_can_be_swept(suite, line, count):
    suite.tones()
    (suite.path / "tones.audiobench.toml").write_text(f'manifest = "data/tones.jsonl"\n{line}\n')
    suite.run().assert_outcomes(passed=1)
    names = scorers(suite.last()[0])
    assert len(names) == count or (count is None and len(names) >= READINGS)


def test_a_declared_sweep_of_another_type_is_a_mistake_in_the_file(suite):
    suite.tones()
    (suite.path / "tones.audiobench.toml").write_text('manifest = "data/tones.jsonl"\nscorers = 3\n')
    suite.run().stdout.fnmatch_lines(["*scorers must be a string or a list of strings, not 3*"])
