"""What a test's own body may do to a gate: skip, expect to fail, swallow a refusal, make controls, assert."""

import json
import shutil
from pathlib import Path

import pytest

TONES = """
import pytest
from pytest_audiobench import manifest, multiple_choice

TONES = manifest("data/tones.jsonl")

{decorator}
def test_tones(evaluate):
    {body}
"""
EVALUATE = "evaluate(TONES, multiple_choice())"
DEAF = {"deaf": "yes"}


def eval_of(*body, decorator=""):
    return TONES.format(decorator=decorator, body="\n    ".join(body))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return tmp_path_factory.mktemp("made") / "suite"


@pytest.fixture
def based(suite, made):
    """Forty tones, an eval of them and of silence beside them, and a run called ``main``, made once."""
    if made.exists():
        shutil.copytree(made, suite.path, dirs_exist_ok=True)
        return suite
    suite.tones()
    suite.write(test_tones=eval_of(EVALUATE, "evaluate(TONES, multiple_choice(), name='silent', control=True)"))
    assert suite.run("--ab-run=main").ret == 0
    suite.write(test_tones=eval_of(EVALUATE))
    shutil.copytree(suite.path, made)
    return suite


def lines(suite):
    return {item["eval"]: [one["status"] for one in item["regressions"]] for item in suite.last()[0]["items"]}


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_skip_behind_an_evaluation_hides_neither_its_verdict_nor_that_it_was_made(based, workers):
    based.write(test_tones=eval_of(EVALUATE, "pytest.skip('later')"))
    result = based.run("--ab-baseline=main", workers)
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*nothing was measured*")
    result.stdout.no_fnmatch_line("*not checked*")
    assert lines(based) == {"tones": ["pass"]}
    assert based.run("--ab-baseline=main", workers, **DEAF).ret == 1
    assert lines(based) == {"tones": ["regressed"]}


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_an_expected_failure_is_told_beside_the_verdict_that_its_exit_code_does_not_show(based, workers):
    based.write(test_tones=eval_of(EVALUATE, decorator="@pytest.mark.xfail"))
    result = based.run("--ab-baseline=main", workers, **DEAF)
    assert result.ret == 0
    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(["note: failed as expected (xfail), which the exit code does not show: tones"])
    assert lines(based) == {"tones": ["regressed"]}
    based.write(test_tones=eval_of(EVALUATE, decorator="@pytest.mark.xfail(strict=True)"))
    assert based.run("--ab-baseline=main", workers).ret == 1


def test_an_eval_that_xfail_never_runs_is_held_by_nothing_and_no_green(based):
    based.write(test_tones=eval_of(EVALUATE, decorator="@pytest.mark.xfail(run=False)"))
    result = based.run("--ab-baseline=main")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*nothing was measured*", "*so this run fails*"])


@pytest.mark.parametrize("then", [EVALUATE.replace("())", "(), name='b')"), "pass", "pytest.skip('no')"])
def test_a_refusal_that_the_test_swallows_fails_it_all_the_same(based, then):
    other = EVALUATE.replace("())", "(prompt='{question}? {options}'))")
    based.write(test_tones=eval_of("with pytest.raises(BaseException):", f"    {other}", then))
    result = based.run("--ab-baseline=main")
    assert result.ret == 6
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*40 were asked with another prompt than in the baseline*"])
    assert lines(based)["tones"] == ["not_comparable"]


def test_a_line_for_a_control_is_a_mistake_since_no_baseline_keeps_controls(based):
    based.write(test_tones=eval_of(EVALUATE, "evaluate(TONES, multiple_choice(), name='silent', control=True)"))
    rule = '[[threshold]]\neval = "{}"\nrequire = ["accuracy.drop <= 3pp"]\n'
    (based.path / "audiobench.toml").write_text(rule.format("tones:silent"))
    result = based.run("--ab-baseline=main")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "audiobench.toml, * number 1: accuracy.drop <= 3pp has no effect: tones:silent names a control, "
            "which no baseline keeps"
        ]
    )
    (based.path / "audiobench.toml").write_text(rule.format("tones"))
    assert based.run("--ab-baseline=main").ret == 0
    assert lines(based) == {"tones": ["pass"], "tones:silent": []}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("accuracy[parity=oddly].drop <= 3pp", "no sample of tones is in this group; * by parity: *odd*"),
        ("accuracy[colour=red].drop <= 3pp", "no sample of tones is in this group; * by parity: *odd*"),
        ("accuracy[without=lop].drop <= 3pp", "leaves out 'lop', which is not one of wrong_task, "),
        ("wer.drop <= 3pp", "tones does not measure wer"),
    ],
)
def test_a_line_that_an_eval_cannot_have_is_a_mistake_and_costs_no_other(based, line, said):
    based.write(test_tones=eval_of(EVALUATE, f"evaluate.require('{line}')"))
    result = based.run("--ab-baseline=main", **DEAF)
    assert result.ret == 1
    result.stdout.fnmatch_lines([f"*{said.replace('[', '[[]')}*"])
    assert lines(based) == {"tones": ["regressed"]}
    assert based.run("--ab-baseline=main").ret == 1


def test_a_rules_margin_is_held_beside_a_looser_line(based):
    (based.path / "audiobench.toml").write_text('[[threshold]]\neval = "tones"\nmax_drop = "0.5pp"\n')
    based.write(test_tones=eval_of("evaluate.require('accuracy.drop <= 90pp')", EVALUATE))
    assert based.run("--ab-baseline=main", **DEAF).ret == 1
    assert lines(based) == {"tones": ["regressed", "pass"]}


@pytest.mark.parametrize("arguments", [("--ab-max-drop=1",), ("--ab-max-drop=200pp", "-n2")])
def test_a_margin_that_nothing_could_miss_fails_the_eval_before_it_is_asked(based, arguments):
    result = based.run("--ab-baseline=main", *arguments, log="log")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*is all that accuracy can drop by (1), so that nothing could miss it*"])
    assert not (based.path / "log").exists()


def test_an_assertion_on_a_number_without_all_samples_is_an_instruments_failure(based):
    based.write(test_tones=eval_of(f"assert {EVALUATE}['accuracy'] > 1"))
    assert based.run().ret == 1
    result = based.run("--ab-store=new.sqlite", unheard="tone-7")
    assert result.ret == 6
    result.assert_outcomes(failed=1)
    based.write(test_tones=eval_of(EVALUATE, "raise ValueError('mine')"))
    assert based.run().ret == 1


def test_what_is_inconclusive_is_warned_of_in_short_and_explained_once(based):
    result = based.run("--ab-baseline=main", model="tone:other")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["*InconclusiveWarning: tones: accuracy.drop <= 1pp: inconclusive against the baseline"]
    )
    detail = based.last()[0]["items"][0]["regressions"][0]["detail"]
    assert result.stdout.str().count(detail) == 1


def test_no_regression_line_is_noted_where_none_is_declared(based):
    based.write(test_more=eval_of(EVALUATE).replace("_tones", "_more"))
    result = based.run("--ab-baseline=main", "--ab-max-drop=none")
    assert result.ret == 0
    result.stdout.no_fnmatch_line("*not checked*")
    based.write(test_tones=eval_of("pytest.skip('today')"))
    result = based.run("--ab-baseline=main", "--ab-max-drop=none")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*tones (one), which the baseline holds, was not measured: today*"])


def test_what_a_sample_is_called_is_no_command_to_a_runner(based, monkeypatch):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    path = based.path / "data" / "tones.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for number, row in enumerate(rows):
        row["id"] = f"{'x' * (60 + number)} ::stop-commands::token-{number} ##[error]no"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = based.run("--ab-baseline=main")
    assert result.ret == 6
    table = [line for line in result.outlines if "stop-commands" in line and not line.startswith("::error ")]
    assert table
    assert not [line for line in table if line.lstrip().startswith("::") or "##[" in line]
    (based.path / "data" / "tone7.wav").unlink()
    result = based.run()
    table = [line for line in result.outlines if "stop-commands" in line and not line.startswith("::error ")]
    assert table
    assert not [line for line in table if line.lstrip().startswith("::") or "##[" in line]


def test_records_of_what_was_refused_and_mistaken_are_as_the_schema_says(based):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((Path(__file__).parents[2] / "docs/run.schema.json").read_text())
    refused = EVALUATE.replace("())", "(prompt='{question}? {options}'))")
    based.write(test_tones=eval_of("evaluate.require('wer.drop <= 3pp')", refused))
    based.run("--ab-baseline=main")
    jsonschema.validate(based.last()[0], schema)
    based.write(test_tones=eval_of(EVALUATE, "evaluate.require('coverage.drop <= 3pp', 'refused.drop <= 3pp')"))
    based.run("--ab-baseline=main", "--ab-limit=9", **DEAF)
    jsonschema.validate(based.last()[0], schema)
    assert len(lines(based)["tones"]) == 3
