"""``pytest --ab-update-baseline``: the file that ``audiobench baseline update`` writes, of whole runs alone."""

import json

import pytest

from .conftest import EVAL

TWO = EVAL + "\ndef test_again(evaluate):\n    evaluate(manifest('data/tones.jsonl'), multiple_choice(), samples=20)\n"


@pytest.fixture
def here(tones, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("BUILD_NUMBER", raising=False)
    return tones


def test_a_run_writes_the_baseline_that_the_verb_writes_and_says_what_it_changes(here):
    here.write(test_tones=TWO)
    first = here.run("--ab-update-baseline", "--ab-run=first")
    assert first.ret == 0
    first.stdout.fnmatch_lines(["baseline written: baselines/main.json, * samples; commit it"])
    written = (here.path / "baselines/main.json").read_bytes()
    here.audiobench("baseline", "update", "first", "--out", "verb.json")
    assert (here.path / "verb.json").read_bytes() == written
    second = here.run("--ab-update-baseline=baselines/main.json", "--ab-run=second", deaf="yes")
    assert second.ret == 0
    second.stdout.fnmatch_lines(["tones *accuracy *100.0 % *25.0 %*"])
    compared = here.run("--ab-baseline=baselines/main.json", "--ab-run=third", deaf="yes")
    compared.stdout.fnmatch_lines(["passed (2 of 2 comparisons pass). * All that is required was met."])
    # A run that did not measure what the file holds leaves it alone, and is not green.
    before = (here.path / "baselines/main.json").read_bytes()
    part = here.run("--ab-update-baseline", "--ab-run=part", "-k", "again")
    assert part.ret == 1
    assert "baseline not written: main.json holds tones, which this run did not measure" in part.stdout.str().replace(
        "\n  ", " "
    )
    assert (here.path / "baselines/main.json").read_bytes() == before
    assert json.loads((here.path / "reports/part/run.json").read_text())["exit_status"] == 1


def test_nothing_is_written_of_a_run_that_stopped_early_and_what_it_lacks_is_said(here):
    here.write(test_tones=TWO.replace("multiple_choice())", "multiple_choice())\n    assert 0", 1))
    ran = here.run("--ab-update-baseline=new.json", "-x")
    assert ran.ret == 1
    ran.stdout.fnmatch_lines(["baseline not written: *", "*stopped early: 1 eval was not run*"])
    assert not (here.path / "new.json").exists()


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--ab-baseline=last"], "--ab-update-baseline and --ab-baseline do not go together*"),
        (["--ab-shard=1/2"], "--ab-update-baseline and --ab-shard do not go together*"),
        (["--ab-model=other=tone:two"], "--ab-update-baseline is of one model, and --ab-model names 2"),
    ],
)
def test_what_makes_no_baseline_is_refused_before_anything_is_asked(here, args, why):
    ran = here.run("--ab-update-baseline", *args, log="asked.txt")
    assert ran.ret == 4
    ran.stderr.fnmatch_lines([f"ERROR: {why}"])
    assert not (here.path / "asked.txt").exists()


def test_it_is_refused_in_ci_and_of_other_places_and_a_path_of_tests_is_no_file(here, monkeypatch):
    ran = here.run("--ab-update-baseline", "test_tones.py")
    assert ran.ret == 4
    ran.stderr.fnmatch_lines(["ERROR: *test_tones.py is no name of a baseline, which ends in .json*"])
    (here.path / "pytest.ini").write_text("[pytest]\nab_update_baseline = main.json\n")
    assert here.run().ret == 4
    (here.path / "pytest.ini").write_text("[pytest]\n")
    monkeypatch.setenv("CI", "true")
    ran = here.run("--ab-update-baseline")
    assert ran.ret == 4
    ran.stderr.fnmatch_lines(["ERROR: --ab-update-baseline is not for CI*"])
