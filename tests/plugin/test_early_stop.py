"""Runs that stop an eval early: what is asked, what is said, what they are never compared with."""

import json
import shutil
from types import SimpleNamespace

import pytest

EVALS = """
from pytest_audiobench import manifest, multiple_choice

TONES = manifest("data/tones.jsonl", cluster="own")

def test_plain(evaluate):
    evaluate(TONES, multiple_choice())

def test_clustered(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())

def test_named(evaluate):
    evaluate(TONES, multiple_choice(), name="twice")

def test_bounded(evaluate):
    evaluate.require("accuracy >= 0.5")
    evaluate(TONES, multiple_choice())
"""
SAMPLES = 200
COMPARED = "--ab-baseline=main", "--ab-max-drop=10pp"
GATE = (*COMPARED, "--ab-early-stop")
PLAIN = (*GATE, "-k", "plain")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A suite with a run ``main`` of all evals, once it is made."""
    return SimpleNamespace(path=tmp_path_factory.mktemp("made") / "suite")


@pytest.fixture
def based(suite, made):
    """Two hundred tones, some of one recording, and four evals of them that a run called ``main`` hears."""
    if made.path.exists():
        shutil.copytree(made.path, suite.path, dirs_exist_ok=True)
        return suite
    manifest = suite.tones(SAMPLES)
    rows = [json.loads(line) for line in manifest.read_text().splitlines()]
    for row in rows:
        row["metadata"]["own"] = row["id"]
        row["question"] += f" ({row['id']})"
    manifest.write_text("".join(json.dumps(row) + "\n" for row in rows))
    suite.write(test_tones=EVALS)
    assert suite.run("--ab-run=main").ret == 0
    shutil.copytree(suite.path, made.path)
    return suite


def items(suite):
    return {item["eval"].rpartition("/")[2]: item for item in suite.last()[0]["items"]}


def asked(log):
    return len([line for line in log.read_text().splitlines() if line.startswith("tone-")]) if log.exists() else 0


def decision(suite):
    item = items(suite)["plain"]
    return item["n"], item["size"], item["stopped"], item["hashes"], item["regressions"]


def test_a_broken_model_is_stopped_red_and_never_compared_with_anything(based):
    log = based.path / "asked.txt"
    result = based.run(*GATE, deaf="yes", log=log)
    assert result.ret == 1
    found = items(based)
    assert {name: item["stopped"] for name, item in found.items()} == {
        "plain": "regressed",
        "clustered": "regressed",
        "named:twice": None,
        "bounded": "regressed",
    }
    stopped = found["plain"]
    assert (stopped["size"], stopped["limited"]) == (SAMPLES, True)
    assert stopped["n"] < SAMPLES / 2
    (line,) = stopped["regressions"]
    assert (line["status"], line["alpha"], line["lines"], line["pairs"]) == ("regressed", 0.025, 4, stopped["n"])
    assert line["p"] <= 0.025 / 4
    assert "capital process" in line["method"]
    (of_clusters,) = found["clustered"]["regressions"]
    assert of_clusters["p"] <= 0.025 / 4
    assert "tests at the looks' levels" in of_clusters["method"]
    assert "regressed" in {one["status"] for one in found["named:twice"]["regressions"]}
    assert found["named:twice"]["n"] == SAMPLES
    assert "not stopped early: its test makes several evaluations" in found["named:twice"]["warnings"]
    # What is not measured of all samples passes no threshold.
    assert [one["status"] for one in found["bounded"]["verdicts"]] == ["incomplete"]
    n = stopped["n"]
    all_ = sum(item["n"] for item in found.values() if item["stopped"])
    text = f"3 evals stopped early after {all_} of 600 samples: 3 regressed"
    result.stdout.fnmatch_lines([f"regressed (*{text}*"])
    assert text in (based.last()[1] / "report.html").read_text()
    run = based.last()[1].name
    for verb in (["compare", "main", run], ["baseline", "update", run, "--allow-partial"]):
        done = based.audiobench(*verb)
        assert done.returncode == 4
        assert f"the run {run} is never compared with anything: tones/plain stopped early after {n} of" in (
            " ".join(done.stderr.split())
        )


def test_an_equal_model_passes_early_and_the_rest_is_all_that_a_full_run_asks(based):
    log = based.path / "asked.txt"
    result = based.run(*PLAIN, moody=99, log=log)
    assert result.ret == 0
    n, size, stopped, _, (line,) = decision(based)
    assert (size, stopped, line["status"]) == (SAMPLES, "passes", "pass")
    assert line["bound"] < line["margin"] == 0.1
    assert asked(log) == n < SAMPLES
    result.stdout.fnmatch_lines([f"passed (*stopped early after {n} of {SAMPLES} samples: passes)*"])
    # A baseline is the last whole run, which the stopped one is not one of.
    result = based.run("--ab-baseline=last", "-k", "plain", moody=99, log=log)
    assert result.ret == 0
    assert based.last()[0]["baseline"]["source"] == "the run main"
    full = items(based)["plain"]
    assert (full["n"], full["limited"], full["stopped"]) == (SAMPLES, False, None)
    assert full["asking"]["asked"] == SAMPLES - n
    assert asked(log) == SAMPLES


def test_workers_and_a_run_that_was_killed_decide_the_same_as_one_process(based):
    assert based.run(*PLAIN, "--ab-store=one.sqlite", moody=99).ret == 0
    serial = decision(based)
    assert based.run(*PLAIN, "--ab-store=two.sqlite", "-n2", moody=99).ret == 0
    assert decision(based) == serial
    ids = [json.loads(line)["sample_id"] for line in (based.last()[1] / "predictions.jsonl").open()]
    killed = based.run(*PLAIN, "--ab-store=three.sqlite", moody=99, die=ids[-1], how="kill")
    assert killed.ret not in (0, 1)
    assert based.run(*PLAIN, "--ab-store=three.sqlite", moody=99).ret == 0
    assert decision(based) == serial
    assert items(based)["plain"]["asking"]["known"] > 0


def test_an_eval_whose_asking_fails_is_asked_to_its_end_and_is_no_pass(based):
    result = based.run(*PLAIN, moody=99, unheard="tone-7", log=based.path / "asked.txt")
    assert result.ret == 6
    assert (items(based)["plain"]["n"], items(based)["plain"]["stopped"]) == (SAMPLES, None)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--ab-early-stop",), "name what to compare with by --ab-baseline"),
        ((*GATE, "--ab-epochs=2"), "--ab-epochs is about all samples of an eval"),
        ((*GATE, "--ab-shard=1/2"), "--ab-shard is about all samples of an eval"),
    ],
)
def test_what_needs_all_samples_and_a_missing_baseline_are_refused(based, args, said):
    result = based.run(*args)
    assert result.ret == 4
    assert said in result.stderr.str()


def test_an_early_stop_is_asked_for_on_the_command_line_alone(based):
    (based.path / "pytest.ini").write_text("[pytest]\nab_early_stop = true\n")
    result = based.run(*COMPARED)
    assert result.ret == 4
    assert "--ab-early-stop is of the command line only" in result.stderr.str()
