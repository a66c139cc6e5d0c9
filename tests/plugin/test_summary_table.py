"""The table of a run of several models: every eval of each, as run.json has it."""

import csv

import pytest

EVALS = """
import pytest
from pytest_audiobench import dataset, multiple_choice, transcription

def test_digits(evaluate):
    evaluate(dataset("bundled", "digits"), multiple_choice(), samples=12)
    evaluate.require("accuracy >= 0.99")

def test_words(evaluate):
    evaluate(dataset("bundled", "transcription"), transcription(), samples=8)

def test_absent(evaluate):
    evaluate(dataset("mmau"), multiple_choice())
"""
TWO = ("--ab-model=baseline:listener", "--ab-model=baseline:chance")


@pytest.fixture
def calls(suite):
    (suite.path / "conftest.py").write_text("")
    suite.write(test_calls=EVALS)
    return suite


def table(folder):
    with (folder / "summary.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_eval_of_every_model_has_a_row_with_the_figures_of_the_record(calls):
    calls.run(*TWO, model=None)
    record, folder = calls.last()
    rows = {(row["model"], row["eval"]): row for row in table(folder) if row["eval"]}
    assert set(rows) == {(item["model"], item["eval"]) for item in record["items"]}
    assert {model for model, _ in rows} == {"listener", "chance"}
    for item in record["items"]:
        row = rows[item["model"], item["eval"]]
        assert row["n"] == str(item["n"])
        if not item["metrics"]:
            assert (row["value"], row["verdict"]) == ("", "skipped")
            assert "is not on this machine" in row["why"]
            continue
        headline, figures = item["metrics"][0], {each["name"]: each["value"] for each in item["metrics"]}
        assert (row["metric"], row["scorer"], row["unit"]) == (headline["name"], headline["scorer"], headline["unit"])
        for name in ("value", "lower", "upper"):
            assert float(row[name]) == headline[name]
        assert float(row["coverage"]) == figures["coverage"]
    digits = {model: rows[model, "calls/digits"]["verdict"] for model in ("listener", "chance")}
    assert digits == {"listener": "pass", "chance": "FAIL"}
    assert rows["listener", "calls/digits"]["spec"] == "baseline:listener"


def test_pooled_suites_come_behind_the_evals_and_a_limited_run_says_so(calls):
    calls.run(*TWO, "--ab-limit=4", "-k", "digits", model=None)
    record, folder = calls.last()
    rows = table(folder)
    assert {row["limited"] for row in rows} == {"True"}
    pooled = {row["model"]: row for row in rows if not row["eval"]}
    assert set(pooled) == {suite["model"] for suite in record["suites"]}
    for suite in record["suites"]:
        assert float(pooled[suite["model"]]["value"]) == suite["metrics"][0]["value"]


def test_workers_write_the_same_table_and_one_model_needs_none(calls):
    calls.run(*TWO, model=None)
    alone = table(calls.last()[1])
    calls.run(*TWO, "-n2", model=None)
    assert table(calls.last()[1]) == alone
    calls.run(model="baseline:listener")
    assert not (calls.last()[1] / "summary.csv").exists()
