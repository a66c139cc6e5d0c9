"""Runs held against a baseline: verdicts, exit codes and records, by real pytest runs on small evals."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from pytest_audiobench import load_run
from pytest_audiobench.records.lines import ComparedRow
from pytest_audiobench.records.reading import read_lines

FOUR = """
import pytest
from pytest_audiobench import manifest, multiple_choice

@pytest.mark.parametrize("n", range(4))
def test_tones(evaluate, n):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""
ONE = """
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""
DEAF = {"deaf": "yes"}


@pytest.fixture(scope="module")
def heard(tmp_path_factory):
    """Suites over the same forty tones, one eval and four, with a run of them called ``main``; made once."""
    made = {}

    def of(suite, text):
        if text not in made:
            suite.tones()
            suite.write(test_tones=text)
            assert suite.run("--ab-run=main").ret == 0
            made[text] = tmp_path_factory.mktemp("heard") / "suite"
            shutil.copytree(suite.path, made[text])
        else:
            shutil.copytree(made[text], suite.path, dirs_exist_ok=True)
        return suite

    return of


@pytest.fixture
def based(suite, heard):
    """Forty tones, and a run called ``main`` that hears them all."""
    return heard(suite, ONE)


@pytest.fixture
def four(suite, heard):
    """Four evals over the same tones, and a run of them called ``main``."""
    return heard(suite, FOUR)


def regressions(suite):
    return {
        item["eval"]: [(one["metric"], one["status"], one["lines"]) for one in item["regressions"]]
        for item in suite.last()[0]["items"]
    }


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_gated_run_says_before_it_asks_what_it_will_be_able_to_see(based, workers):
    result = based.run("--ab-baseline=main", workers)
    head = "smallest drop called regressed four times in five, with flips assumed:"
    at = result.outlines.index(head)
    number, *rest = result.outlines[at + 1].split()
    assert (float(number) > 5.0, rest) == (True, ["pp", "in", "tones"])
    assert not any(line.endswith("%]") for line in result.outlines[:at])
    assert head not in based.run(workers).outlines


def test_an_improvement_is_said_in_the_terminal_and_leaves_the_exit_code_alone(based):
    assert based.run("--ab-run=worse", **DEAF).ret == 0
    result = based.run("--ab-baseline=worse")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["improved *", "*pp better: p < 0.0001, significant below 0.05*"])
    (line,) = based.last()[0]["items"][0]["regressions"]
    assert (line["status"], line["q_better"]) == ("pass", line["p_better"])


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_a_worse_model_regresses_with_its_table_and_no_traceback(based, workers):
    result = based.run("--ab-baseline=main", workers, **DEAF)
    assert result.ret == 1
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "metric*before*now*change*interval*n*verdict",
            "accuracy*100.0 %*25.0 %*−75.0 pp*40 in 36*regressed",
            "accuracy.drop <= 1pp: 75.0 pp worse: p < 0.0001 for a drop of at most 1.0*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    run, folder = based.last()
    assert run["baseline"]["source"] == "the run main"
    assert run["baseline"]["lines"] == 1
    assert run["exit_status"] == 1
    (found,) = run["items"][0]["regressions"]
    assert found["p_holm"] == found["p"] <= 0.05
    rows = list(read_lines(folder / "compared_predictions.jsonl", ComparedRow))
    assert [row.change for row in rows].count("worse") == 30
    assert rows[0].before.status == "parsed"
    assert rows[0].before.text in "ABCD"
    assert [row.sample_id for row in rows] == [row.sample_id for row in load_run(folder).rows()]
    listed = based.audiobench("inspect", folder, "--changed").stdout
    assert "\n30 became worse and 0 better than in the baseline, of 40 answers of tones" in listed
    assert listed.count("  worse  ") == 20
    (command,) = re.findall(r"\nsee all: audiobench (.*)\n", listed)
    everything = based.audiobench(*shlex.split(command)).stdout
    assert everything.count("  worse  ") == 30
    assert "see all" not in everything
    # The baseline keeps texts alone, such as "A".
    _, _, reference, before, now = re.split(r"  +", listed.splitlines()[1].strip())
    assert reference == before != now
    assert all(re.fullmatch("[A-D] .+", text) for text in (reference, before, now))
    assert f"--clip {next(row.sample_id for row in rows if row.change == 'worse')}\n" in listed
    frame = load_run(folder).regressions
    assert list(frame["status"]) == ["regressed"]
    assert list(frame["eval"]) == ["tones"]
    assert list(load_run(folder).items["regressions"]) == ["regressed"]


def test_the_same_model_with_the_same_answers_passes_by_identity(based):
    result = based.run("--ab-baseline=main", "--ab-max-drop=0pp")
    assert result.ret == 0
    found = based.last()[0]["items"][0]["regressions"][0]
    assert (found["status"], found["drop"], found["p"]) == ("pass", 0.0, None)
    assert found["detail"] == "the same model gave the same answers: it has not changed"


def test_identical_answers_of_another_model_are_bounded_by_statistics(based):
    result = based.run("--ab-baseline=main", "--ab-inconclusive=fail", model="tone:other")
    assert result.ret == 1
    found = based.last()[0]["items"][0]["regressions"][0]
    assert (found["status"], found["worse"], found["better"]) == ("inconclusive", 0, 0)


@pytest.mark.parametrize(("policy", "outcome"), [("pass", 0), ("warn", 0), ("fail", 1)])
def test_what_is_inconclusive_does_what_the_option_says(based, policy, outcome):
    result = based.run("--ab-baseline=main", f"--ab-inconclusive={policy}", model="tone:other")
    assert result.ret == outcome
    result.assert_outcomes(**{("failed" if outcome else "passed"): 1, "warnings": int(policy == "warn")})
    assert regressions(based)["tones"] == [("accuracy", "inconclusive", 1)]


@pytest.mark.parametrize(
    ("floor", "option", "status"),
    [
        (0.8, (), "regressed"),
        (0.8, ("--ab-within-noise=regressed",), "regressed"),
        (0.8, ("--ab-within-noise=inconclusive",), "inconclusive"),
        (0.5, ("--ab-within-noise=inconclusive",), "regressed"),
    ],
)
def test_a_drop_within_the_noise_that_the_baseline_keeps_is_said_to_be_and_excused_by_an_option(
    based, floor, option, status
):
    assert based.audiobench("baseline", "update", "main", "--out", "main.json").returncode == 0
    file = based.path / "main.json"
    content = json.loads(file.read_text())
    measured = {"dataset": "tones", "n": 40, "metric": "accuracy", "conditions": {}}
    measured |= {"same_answers": 0.9, "same_outcomes": 0.95, "score_shift": floor}
    content["model"]["noise"] = {"same_answers": 0.9, "score_shift": floor, "measured": [measured]}
    file.write_text(json.dumps(content))
    result = based.run("--ab-baseline=main.json", *option, **DEAF)
    assert regressions(based)["tones"] == [("accuracy", status, 1)]
    assert result.ret == (status == "regressed")
    within = "within the noise floor: accuracy moves by up to 80.0 pp when the same model is asked again"
    detail = based.last()[0]["items"][0]["regressions"][0]["detail"]
    assert (within in detail) is (floor == 0.8)
    assert ("so that it is inconclusive" in detail) is (status == "inconclusive")
    told = any("Worse by no more than the model's own noise" in line for line in result.stdout.lines)
    assert told is (status == "inconclusive")


def test_without_a_baseline_there_is_no_word_of_one(based):
    run, folder = based.last()
    assert run["baseline"] is None
    assert run["items"][0]["regressions"] == []
    assert not (folder / "compared_predictions.jsonl").exists()


def test_declared_lines_without_a_baseline_are_noted_as_not_checked(tones):
    (tones.path / "audiobench.toml").write_text(
        '[[threshold]]\neval = "tones"\nrequire = ["accuracy.drop <= 2pp"]\nmax_drop = "1pp"\n'
    )
    tones.write(
        test_tones=(tones.path / "test_tones.py").read_text() + "    evaluate.require('accuracy.drop <= 3pp')\n"
    )
    result = tones.run()
    assert result.ret == 0
    result.stdout.fnmatch_lines_random(
        [
            "*not checked: audiobench.toml, * number 1: accuracy.drop <= 2pp, max_drop = 1pp, for there "
            "is no --ab-baseline or --ab-gate*",
            "*not checked: accuracy.drop <= 3pp, for there is no --ab-baseline or --ab-gate*",
        ]
    )


def test_lines_are_counted_alike_whoever_runs_them(four):
    for workers in (["-n0"], ["-n4", "--dist=worksteal"]):
        four.run("--ab-baseline=main", *workers, **DEAF)
        assert regressions(four) == {f"tones[{n}]": [("accuracy", "regressed", 4)] for n in range(4)}
    four.run("--ab-baseline=main", "-k", "1 or 2", **DEAF)
    assert regressions(four) == {f"tones[{n}]": [("accuracy", "regressed", 2)] for n in (1, 2)}
    assert four.last()[0]["baseline"]["lines"] == 2


def test_declared_lines_join_the_headlines(four, monkeypatch):
    monkeypatch.setenv("CI", "true")
    (four.path / "audiobench.toml").write_text(
        '[[threshold]]\neval = "tones[1]"\nrequire = ["accuracy[parity=even].drop <= 2pp", "coverage.drop <= 1pp"]\n'
        '[[threshold]]\neval = "tones[2]"\nmax_drop = "95pp"\n'
        '[[threshold]]\neval = "tones[3]"\nmax_drop = "none"\n'
    )
    result = four.run("--ab-baseline=main", **DEAF)
    result.assert_outcomes(failed=2, passed=2)
    # pytest cuts no message in its short summary where CI is set: ours is a line that says why.
    short = result.stdout.str().partition("short test summary info")[2].splitlines()[1:-1]
    assert [text.partition(" - ")[2].partition(" <= ")[0] for text in short] == [
        "Failed: tones[0] (one): accuracy.drop",
        "Failed: tones[1] (one): accuracy.drop",
    ]
    found = regressions(four)
    assert [(metric, status) for metric, status, _ in found["tones[1]"]] == [
        ("accuracy", "regressed"),
        ("accuracy", "regressed"),
        ("coverage", "inconclusive"),
    ]
    assert [status for _, status, _ in found["tones[2]"]] == ["pass"]
    assert found["tones[3]"] == []
    assert {lines for of in found.values() for _, _, lines in of} == {6}


def test_a_test_of_several_evaluations_shares_its_own_part_of_alpha(suite):
    suite.tones()
    suite.write(
        test_two="""
from pytest_audiobench import manifest, multiple_choice

def test_two(evaluate):
    evaluate.require("accuracy[parity=even].drop <= 1pp")
    evaluate(manifest("data/tones.jsonl"), multiple_choice(), name="a")
    evaluate(manifest("data/tones.jsonl"), multiple_choice(), name="b")
    evaluate(manifest("data/tones.jsonl"), multiple_choice(), name="silent", control=True)

def test_one(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""
    )
    suite.run("--ab-run=main")
    suite.run("--ab-baseline=main", **DEAF)
    found = regressions(suite)
    assert found["two:silent"] == []
    assert {lines for name in ("two:a", "two:b") for _, _, lines in found[name]} == {6}
    assert len(found["two:a"]) == 2
    assert found["two/one"] == [("accuracy", "regressed", 3)]


def test_lines_of_a_file_without_code_are_counted_and_held(suite):
    suite.tones()
    (suite.path / "beeps.audiobench.toml").write_text(
        'manifest = "data/tones.jsonl"\nrequire = ["accuracy >= 0.1", "coverage.drop <= 1pp"]\n'
    )
    assert suite.run("beeps.audiobench.toml", "--ab-run=main").ret == 0
    result = suite.run("beeps.audiobench.toml", "--ab-baseline=main", **DEAF)
    assert result.ret == 1
    assert regressions(suite)["beeps"] == [("accuracy", "regressed", 2), ("coverage", "inconclusive", 2)]


def test_a_test_without_a_counterpart_is_named_and_inconclusive(based):
    based.write(test_new=(based.path / "test_tones.py").read_text().replace("test_tones", "test_new"))
    result = based.run("--ab-baseline=main", "--ab-inconclusive=fail")
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*accuracy.drop <= 1pp: the baseline has no eval new*"])
    assert regressions(based)["new"] == [("accuracy", "inconclusive", 1)]


def test_what_the_baseline_holds_and_nobody_collects_fails_the_run(four):
    four.write(test_tones=FOUR.replace("range(4)", "range(3)"))
    result = four.run("--ab-baseline=main")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["not measured *Tones[[]3[]], which the run main holds, was not collected: renamed*"])
    result = four.run("--ab-baseline=main", "-k", "1")
    result.stdout.fnmatch_lines(["note: 3 evals of the run main were not selected: tones[[]0[]], *"])


def test_a_limited_run_works_on_what_it_took(based):
    result = based.run("--ab-baseline=main", "--ab-limit=10", batching="opaque", **DEAF)
    assert result.ret == 1
    found = based.last()[0]["items"][0]["regressions"][0]
    assert (found["status"], found["pairs"], found["left_out"]) == ("regressed", 10, {})


@pytest.mark.parametrize(
    ("what", "arguments", "said"),
    [
        ("multiple_choice(prompt='Which? {question} {options}')", (), "*asked with another prompt*"),
        ("transcription()", (), "*the baseline has no scorer wer-basic: it has letters*"),
        ("multiple_choice()", ("--ab-epochs=2", "-n2"), "*the number of epochs is 1 in the baseline and 2 here*"),
    ],
)
def test_a_baseline_of_another_task_is_told_before_the_first_request(based, what, arguments, said):
    based.write(
        test_tones="from pytest_audiobench import manifest, multiple_choice, transcription\n"
        f"def test_tones(evaluate):\n    evaluate(manifest('data/tones.jsonl'), {what})\n"
    )
    result = based.run("--ab-baseline=main", *arguments, log="log")
    assert result.ret == 6
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["tones is not comparable with the run main, and nothing was asked: *"])
    result.stdout.fnmatch_lines([said])
    assert not (based.path / "log").exists()
    run, _ = based.last()
    assert run["exit_status"] == 6
    assert run["items"][0]["outcome"] == "failed"
    assert [one["status"] for one in run["items"][0]["regressions"]] == ["not_comparable"]


def test_samples_that_are_not_in_the_baseline_are_named_before_they_are_asked(based):
    based.tones(50)
    result = based.run("--ab-baseline=main", log="log")
    assert result.ret == 6
    result.stdout.fnmatch_lines(["*20.0 % of the samples are in no pair*10 are not in the baseline (tone-4*"])
    assert not (based.path / "log").exists()
    assert based.run("--ab-baseline=main", "--ab-max-unmatched=20%").ret == 0


def test_changed_audio_is_no_pair(based):
    for number in range(4):
        other = based.path / "data" / f"tone{number}.wav"
        other.write_bytes((based.path / "data" / f"tone{number + 20}.wav").read_bytes())
    result = based.run("--ab-baseline=main")
    assert result.ret == 6
    result.stdout.fnmatch_lines(["*10.0 % of the samples are in no pair*4 have other audio than in the baseline*"])


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_failed_asking_is_not_comparable_and_no_regression(based, workers):
    (based.path / "data" / "tone7.wav").write_bytes(b"")
    result = based.run("--ab-baseline=main", "--ab-max-unmatched=50%", workers)
    assert result.ret == 1  # the same bytes fail again: another try is of no use
    result.assert_outcomes(failed=1)
    assert regressions(based)["tones"] == [("accuracy", "not_comparable", 1)]
    allowed = based.run("--ab-baseline=main", "--ab-max-errors=1", "--ab-max-unmatched=50%", workers)
    assert allowed.ret == 0
    found = based.last()[0]["items"][0]["regressions"][0]
    assert (found["pairs"], found["left_out"]) == (39, {"errors": 1})


def test_a_regression_beside_an_instrument_failure_is_an_ordinary_failure(four):
    four.write(
        test_tones=FOUR.replace(
            "multiple_choice())", "multiple_choice(prompt='{question} {options}') if n == 0 else multiple_choice())"
        )
    )
    assert four.run("--ab-baseline=main").ret == 6
    assert four.run("--ab-baseline=main", **DEAF).ret == 1
    four.write(test_plain="def test_plain():\n    assert False\n")
    assert four.run("--ab-baseline=main").ret == 1
    assert four.run("--ab-baseline=main", "-n2").ret == 1


def test_the_models_own_noise_stands_beside_the_verdict(tones):
    tones.write(
        test_tones="""
from pytest_audiobench import manifest, multiple_choice
from pytest_audiobench.records.run import NoiseMeasurement
from pytest_audiobench.studies.evaluate import evaluator_of

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
    noise = NoiseMeasurement(0.98, 0.01, dataset="tones", n=40, metric="accuracy", conditions={})
    evaluator_of(evaluate).note_noise(noise)
"""
    )
    tones.run("--ab-run=main")
    tones.run("--ab-baseline=main", **DEAF)
    detail = tones.last()[0]["items"][0]["regressions"][0]["detail"]
    assert detail.endswith("; the model itself changes 2 % of its answers when asked again")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--ab-baseline=nothing",), "*there is no baseline or run 'nothing'*"),
        (("--ab-baseline=nothing", "-n2"), "*there is no baseline or run 'nothing'*"),
        (("--ab-baseline=maim",), "*there is no baseline or run 'maim'*; did you mean 'main'[?]"),
        (("--ab-baseline=main", "--ab-max-drop=1%", "-n2"), "*--ab-max-drop: '1%' is not a margin*"),
        (("--ab-baseline=main", "-k", "other", "-n2"), "*holds none of the 1 selected evals*"),
        (("--ab-baseline=last#two",), "*has no model 'two'*"),
        (("--ab-baseline=main", "--ab-max-drop=1%"), "*--ab-max-drop: '1%' is not a margin: write a margin as 1pp*"),
        (("--ab-baseline=main", "--ab-max-drop=-1pp"), "*--ab-max-drop: '-1pp' is not a margin*"),
        (("--ab-baseline=main", "--ab-alpha=5"), "*--ab-alpha takes a number above 0 up to 0.5, not '5'*"),
        (("--ab-baseline=main", "--ab-alpha=0"), "*--ab-alpha takes a number above 0*"),
        (
            ("--ab-baseline=main", "--ab-inconclusive=maybe"),
            "*--ab-inconclusive takes pass, warn or fail, not 'maybe'*",
        ),
        (
            ("--ab-baseline=main", "--ab-within-noise=pass"),
            "*--ab-within-noise takes inconclusive or regressed, not 'pass'*",
        ),
        (("--ab-baseline=main", "--ab-max-unmatched=5pp"), "*--ab-max-unmatched takes a number from 0 to 1*"),
        (("--ab-baseline=cut.json",), "*cut.json*cut*"),
        (("--ab-baseline=newer.json",), "*newer.json*audiobench.baseline/3*"),
        (("--ab-baseline=main", "-k", "other"), "*holds none of the 1 selected evals (other): it holds tones*"),
    ],
)
def test_what_cannot_be_a_gate_is_a_usage_error_before_the_first_request(based, arguments, said):
    (based.path / "cut.json").write_text('{"schema": "audiobench.baseline/2", "evals": [')
    (based.path / "newer.json").write_text('{"schema": "audiobench.baseline/3"}')
    based.write(test_other=(based.path / "test_tones.py").read_text().replace("test_tones", "test_other"))
    result = based.run(*arguments, log="log")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR:*{said}"])
    assert not (based.path / "log").exists()
    assert len(based.runs()) == 1


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            'require = ["accuracy.drop <= 1%"]',
            "*'1%' is not a margin*1% could be a percentage of the score or a point of it*",
        ),
        ('require = ["accuracy.drop >= 1pp"]', "*should have <= after a drop*"),
        ('require = ["acuracy.drop <= 1pp"]', "*no metric is called 'acuracy'*"),
        ('require = ["minDCF.drop <= 1pp"]', "*"),
        ("max_drop = 1", "*max_drop*1*"),
        ('max_drop = "1%"', "*max_drop: '1%' is not a margin*"),
        ('max_drop = "a lot"', "*max_drop: 'a lot' is not a margin*"),
    ],
)
def test_a_bad_line_is_a_usage_error_with_its_place(tones, rule, said):
    (tones.path / "audiobench.toml").write_text(f'[[threshold]]\neval = "tones"\n{rule}\n')
    result = tones.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: audiobench.toml, * number 1: {said}"])


def test_a_line_on_what_the_eval_does_not_measure_fails_it_before_asking(based):
    (based.path / "audiobench.toml").write_text('[[threshold]]\neval = "tones"\nrequire = ["wer.drop <= 1pp"]\n')
    result = based.run("--ab-baseline=main", log="log")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*tones does not measure wer by letters*"])
    assert not (based.path / "log").exists()


def test_the_environment_and_the_ini_file_name_baselines_too(based, monkeypatch):
    monkeypatch.setenv("AUDIOBENCH_BASELINE", "main")
    assert based.run(**DEAF).ret == 1
    monkeypatch.delenv("AUDIOBENCH_BASELINE")
    (based.path / "pytest.ini").write_text("[pytest]\nab_baseline = main\nab_max_drop = 90pp\n")
    assert based.run(**DEAF).ret == 0
    assert based.last()[0]["items"][0]["regressions"][0]["margin"] == 0.9


def test_records_are_as_the_schema_says(based):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((Path(__file__).parents[2] / "docs/run.schema.json").read_text())
    based.run("--ab-baseline=main", **DEAF)
    jsonschema.validate(based.last()[0], schema)
