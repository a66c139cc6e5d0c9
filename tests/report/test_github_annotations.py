"""Annotations on a GitHub runner: one for each failing eval, at its test, escaped as the runner reads them."""

import re
from pathlib import Path

import pytest

from pytest_audiobench.records.run import VerdictRecord
from pytest_audiobench.report.formatting import no_command
from pytest_audiobench.report.github_annotations import Place, commands, places

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)


def read(line):
    """A command as GitHub's runner takes it apart: level, properties, message."""
    level, given, message = re.fullmatch(r"::(\w+) ?(.*?)::(.*)", line).groups()
    pairs = [pair.split("=", 1) for pair in given.split(",") if pair]
    return level, {name: plain(value, "%3A", "%2C") for name, value in pairs}, plain(message)


def plain(text, *more):
    for code, sign in {"%3A": ":", "%2C": ",", "%0D": "\r", "%0A": "\n"}.items():
        if code in (*more, "%0D", "%0A"):
            text = text.replace(code, sign)
    return text.replace("%25", "%")


def test_a_failing_eval_is_an_error_at_its_test(runs):
    item = runs.item(0, "digits", [WRONG], regressions=[runs.dropped()], outcome="failed")
    _, record = runs.gated(item, exit_status=1)
    tests = places({item.record.nodeid: ("evals/test_sakura.py", 11)}, Path("/w/repo"), Path("/w/repo"))
    [line] = commands(record, tests)
    level, given, message = read(line)
    assert level == "error"
    assert given == {"file": "evals/test_sakura.py", "line": "12", "title": "digits (listener)"}
    assert message == ("✗ regressed: accuracy.drop <= 1pp (98.8 % → 12.5 %): the sentence of a line that is regressed")


def test_a_failed_threshold_says_what_was_required(runs):
    fail = VerdictRecord("fail", "accuracy >= 0.9", 0.5, "0.5 is not >= 0.9")
    _, record = runs.collected(runs.item(0, "a", [WRONG], verdicts=[fail], outcome="failed"), exit_status=1)
    assert read(commands(record, {})[0])[2] == "accuracy >= 0.9: 0.5 is not >= 0.9"


def test_what_passed_in_doubt_is_a_warning_and_what_passed_is_nothing(runs):
    items = [
        runs.item(0, "a", [RIGHT], regressions=[runs.dropped("inconclusive")]),
        runs.item(1, "b", [RIGHT], regressions=[runs.dropped("pass")]),
        runs.item(2, "c", [RIGHT]),
    ]
    _, record = runs.gated(*items)
    assert [read(line)[0] for line in commands(record, {})] == ["warning"]


def test_a_test_that_never_reported_is_named_by_its_file(runs):
    _, record = runs.collected(runs.item(0, "a", [], outcome="lost"), exit_status=1)
    assert read(commands(record, {})[0])[1]["file"] == "evals/test_sakura.py"


def test_a_failed_run_with_no_eval_to_blame_has_one_error(runs):
    _, record = runs.collected(runs.item(0, "a", [], outcome="skipped"), exit_status=1, notes=["not checked: a"])
    [line] = commands(record, {})
    assert read(line)[0] == "error"
    assert "not checked: a" in read(line)[2]


def test_more_than_ten_are_counted_in_the_tenth(runs):
    items = [runs.item(n, f"e{n}", [WRONG], outcome="failed") for n in range(25)]
    _, record = runs.collected(*items, exit_status=1)
    lines = commands(record, {})
    assert len(lines) == 10
    assert read(lines[-1])[2].startswith("16 more evals")


@pytest.mark.parametrize(
    "text", ["100%25 a,b:c", "two\nlines\r\n::error::forged", "%0A::add-mask::x", "\x1b[31mred", "x" * 10_000]
)
def test_no_text_ends_a_command_or_begins_another(runs, text):
    item = runs.item(0, text, [WRONG], regressions=[runs.dropped(detail=text)], outcome="failed")
    _, record = runs.gated(item, exit_status=1)
    [line] = commands(record, {item.record.nodeid: Place(text, 3)})
    assert len(line) < 20_000
    assert line.splitlines() == [line]
    level, given, message = read(line)
    assert (level, given["line"]) == ("error", "3")
    assert message.startswith("✗ regressed: accuracy.drop <= 1pp")
    assert "\x1b" not in line


def test_paths_are_those_of_the_checkout(tmp_path):
    located = {"a": ("test_a.py", 0), "b": ("../elsewhere/test_b.py", None)}
    found = places(located, tmp_path / "repo" / "evals", tmp_path / "repo")
    assert found["a"] == Place("evals/test_a.py", 1)
    assert found["b"].line is None


@pytest.mark.parametrize("text", ["::stop-commands::x", "    ::error::forged", "a sample ##[error]forged"])
def test_a_line_of_the_summary_is_no_command(text):
    shown = no_command(text)
    assert not shown.lstrip().startswith("::")
    assert "##[" not in shown
    assert no_command("bundled/digits: accuracy.drop <= 1pp") == "bundled/digits: accuracy.drop <= 1pp"
