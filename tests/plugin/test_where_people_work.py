"""A run with a baseline seen from outside: a GitHub runner's log and summary, JUnit XML, the terminal's last line."""

import json
import re
from xml.etree import ElementTree

import pytest

HALF_DEAF = """
import pytest
from pytest_audiobench import manifest, multiple_choice

def test_first(evaluate):
    print("something that pytest captures")
    evaluate(manifest("data/tones.jsonl"), multiple_choice())

def test_second(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
"""


@pytest.fixture
def gated(suite, monkeypatch):
    """A suite of two evals with a finished run called main; under GitHub's runner from then on."""
    suite.tones()
    suite.write(test_tones=HALF_DEAF)
    assert suite.run("--ab-run=main").ret == 0
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(suite.path))
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(suite.path / "summary.md"))
    return suite


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_every_regression_is_annotated_summed_up_and_in_junit(gated, workers):
    result = gated.run(workers, "-q", "--junitxml=junit.xml", "--ab-baseline=main", deaf="yes")
    assert result.ret == 1
    lines = result.outlines
    errors = [line for line in lines if line.startswith("::error ")]
    assert [line.partition("::✗")[0] for line in errors] == [
        "::error file=test_tones.py,line=5,title=tones/first (one)",
        "::error file=test_tones.py,line=9,title=tones/second (one)",
    ]
    assert not any("something that pytest captures" in line for line in errors)
    assert any(line.startswith("regressed (2 of 2 comparisons regressed). See the answers") for line in lines)
    assert (gated.path / "summary.md").read_text().startswith("## ✗ ")
    cases = ElementTree.parse(gated.path / "junit.xml").findall(".//testcase")
    assert len(cases) == 2
    for case in cases:
        found = [(one.get("name"), one.get("value")) for one in case.findall(".//property")]
        assert len({name for name, _ in found}) == len(found)
        values = dict(found)
        assert values["eval.accuracy.verdict"] == "regressed"
        assert float(values["eval.accuracy.drop"]) == 0.75
        assert values["eval.accuracy.regression"] == "accuracy.drop <= 1pp"


def test_elsewhere_no_command_of_githubs_is_printed(gated, monkeypatch):
    monkeypatch.delenv("GITHUB_ACTIONS")
    result = gated.run("--ab-baseline=main", deaf="yes")
    assert not any(line.startswith("::") for line in result.outlines)


def test_a_run_that_regressed_nowhere_has_no_error_and_says_what_to_do(gated):
    result = gated.run("--ab-baseline=main")
    assert result.ret == 0
    assert not any(line.startswith("::error") for line in result.outlines)
    assert any(line.startswith(("passed (", "inconclusive (")) for line in result.outlines)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_the_terminal_summary_fits(gated, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    # On a continuous-integration machine pytest itself prints its list of failures at any width.
    for name in ("GITHUB_ACTIONS", "CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    result = gated.run("-q", "--ab-baseline=main", deaf="yes")
    lines = result.outlines
    start = next(number for number, line in enumerate(lines) if " audiobench " in line)
    # The address of the report is one word, to be copied.
    assert all(len(line) <= columns for line in lines[start:] if not line.startswith("report: "))


DIGITS = """
from pytest_audiobench.models.messages import Response
from pytest_audiobench.models.model import Limits

class Speller:
    listens = True
    device = "cpu"
    batching = "opaque"
    limits = Limits(max_batch=4, max_clip_s=2.0)

    def __init__(self, target, options):
        self.spec = f"spell:{target}"

    def fingerprint(self):
        return {"spell": self.spec}

    def load(self):
        pass

    def close(self):
        pass

    def ask(self, batch):
        worse = self.spec == "spell:worse"
        return [Response.of("three" if worse else request.choices[int(request.sample_id) % 3]) for request, _ in batch]

def pytest_audiobench_register(registration):
    registration.model("spell", Speller)
"""
LABELS = """
from pytest_audiobench import manifest, protocol

def test_digits(evaluate):
    evaluate(manifest("data/tones.jsonl"), protocol("classification"))
"""
STATISTIC = re.compile(r"\b(label_list|labels|correct|said_\d+|true_\d+)\b\s*(?:[=:]|</\w+>)\s*[-+.\d]|e\+\d\d\b")


def test_what_a_baseline_without_texts_knows_is_shown_as_an_answer_in_all_that_people_read(suite, monkeypatch):
    file = suite.tones(20)
    names = ["zero", "one", "two", "three"]
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows = [row | {"id": str(n), "choices": names, "answer": names[n % 3]} for n, row in enumerate(rows)]
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (suite.path / "conftest.py").write_text(DIGITS)
    suite.write(test_digits=LABELS)
    assert suite.run(model="one=spell:good").ret == 0
    assert suite.audiobench("baseline", "update", "last").returncode == 0
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(suite.path / "summary.md"))
    result = suite.run("-v", "-rA", "--ab-baseline=baselines/main.json", model="one=spell:worse")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    folder = suite.last()[1]
    assert suite.audiobench("comment", folder, "--out", "comment.md").returncode == 0
    comment = (suite.path / "comment.md").read_text()
    assert "<code>zero</code> (*text not stored*) | <code>three</code>" in comment
    page = (folder / "report.html").read_text()
    for text in (result.stdout.str(), comment, (suite.path / "summary.md").read_text(), page):
        assert not STATISTIC.search(text), STATISTIC.search(text)
