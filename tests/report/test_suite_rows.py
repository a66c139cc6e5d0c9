"""A run of many evals on one screen: a row a suite, what failed, alarms and missing data sets once."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from pytest_audiobench.records.run import RunRecord, VerdictRecord
from pytest_audiobench.report.suite_rows import suite_rows
from pytest_audiobench.report.terminal import summary_lines
from pytest_audiobench.report.verdict import run_verdict

RIGHT, WRONG, REFUSED = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False), ("I cannot", "refused", False)
FAIL = VerdictRecord("fail", "accuracy >= 0.9", 0.5, "50.0 % is not >= 90.0 % ([1.3 to 98.7], n=2)")
ABSENT = "{0} is not on this machine (looked for /data/{0}); run audiobench fetch {0}, or point to it"


def lines_of(record: RunRecord, width: int = 80, verbosity: int = 0) -> list[str]:
    return [text for text, _ in summary_lines(record, width, verbosity)]


def many(runs: Any, count: int = 12, **changes: Any) -> RunRecord:
    """Evals of two suites, of which each third fails."""
    items = [
        runs.item(
            number,
            f"a-long-name-of-an-eval-{number}",
            [RIGHT, RIGHT if number % 3 else REFUSED],
            suite=f"suite-{number % 2}",
            verdicts=[] if number % 3 else [FAIL],
            outcome="passed" if number % 3 else "failed",
        )
        for number in range(count)
    ]
    record: RunRecord = runs.collected(*items, exit_status=1)[1]
    return replace(record, **changes)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_of_many_evals_each_suite_has_one_row_with_score_interval_n_parse_rate_and_verdict(
    runs: Any, width: int
) -> None:
    lines = lines_of(many(runs), width)
    assert max(map(len, lines)) <= width
    rows = [line for line in lines if "suite-" in line and "accuracy >=" not in line]
    assert len(rows) == 2
    for row in rows:
        assert "83.3 %" in row
        assert " to " in row
        assert row.split()[0] == "✗"
        assert (row.endswith("2 of 6 FAIL")) == (width > 60)
    assert not any("|v:1" in line for line in lines)


def test_what_failed_is_a_line_each_and_the_rest_is_counted(runs: Any) -> None:
    lines = lines_of(many(runs, 36), 100)
    assert sum("accuracy >= 0.9: 50.0 % is not" in line for line in lines) == 10
    assert "and 2 more: report.html" in lines
    assert len(lines) <= 40


def test_one_eval_that_is_not_decided_does_not_hide_what_became_of_the_others(runs: Any) -> None:
    better = runs.regression("pass", -0.1, p_better=0.0001, q_better=0.0002)
    lines = [better, better, runs.regression("pass", 0.0), runs.regression("inconclusive", 0.02)]
    items = [runs.item(n, f"e{n}", [RIGHT], regressions=[line]) for n, line in enumerate(lines)]
    rows = {row.name: row.sign for row in suite_rows(runs.collected(*items)[1])}
    assert rows["sakura"] == ("?", "warn", "2 improved, 1 pass, 1 inconclusive")
    fewer = runs.collected(*items[:2], items[3], name="fewer")[1]
    assert {row.name: row.sign for row in suite_rows(fewer)}["sakura"] == ("▲", "good", "2 improved, 1 inconclusive")


def test_details_are_there_when_asked_for(runs: Any) -> None:
    lines = lines_of(many(runs), 120, verbosity=1)
    assert sum(line.startswith("a-long-name-of-an-eval-") for line in lines) == 12
    assert any("letters|v:1" in line for line in lines)
    assert any(line.startswith("failures in ") for line in lines)


def test_one_suite_alone_has_a_row_for_each_of_its_evals(runs: Any) -> None:
    items = [runs.item(number, f"e{number}", [RIGHT, WRONG], suite="one") for number in range(10)]
    lines = lines_of(runs.collected(*items)[1])
    names = [line.split()[0] for line in lines[1 : lines.index("")]]
    assert names == [*(f"e{number}" for number in range(10)), "one"]


def test_several_models_stand_in_rows_of_their_own(runs: Any) -> None:
    items = [
        runs.item(2 * number + k, f"e{number}", [RIGHT], suite=f"s{number}", model=model)
        for number in range(5)
        for k, model in enumerate(("old", "new"))
    ]
    lines = lines_of(runs.collected(*items)[1])
    assert [line.split()[:2] for line in lines[1:4]] == [["e0", "old"], ["e0", "new"], ["e1", "old"]]


def test_alarms_that_differ_in_their_numbers_are_one_line(runs: Any) -> None:
    record = many(runs)
    items = [
        replace(item, warnings=[f"alarm: {k} of 20 answers could not be read: mend the prompt"])
        for k, item in enumerate(record.items)
    ]
    lines = lines_of(replace(record, items=items), 200)
    assert [line for line in lines if line.startswith("Alarm")] == [
        "Alarm: 0 of 20 answers could not be read (12 evals of suite-0, suite-1, such as a-long-name-of-an-eval-0)"
    ]


def test_data_that_is_not_here_is_one_line_with_the_command_that_fetches_it(runs: Any) -> None:
    record = many(runs)
    skipped = [
        replace(record.items[0], eval=name, outcome="skipped", message=ABSENT.format(name), scorers=[], metrics=[])
        for name in ("mmau", "mmar", "esc50", "clotho", "fleurs", "ami", "meld")
    ]
    judged = replace(skipped[0], eval="judged", message="yes-no needs a judge: name one")
    record = replace(record, items=[*record.items, *skipped, judged])
    text = " ".join(" ".join(lines_of(record)).split())
    assert "7 data sets are not here: audiobench fetch mmau mmar esc50 clotho fleurs ami … (each: pytest -rs" in text
    assert "1 eval skipped for another reason, such as: yes-no needs a judge: name one" in text
    assert "looked for" not in text
    told = lines_of(record, 120, verbosity=1)
    assert "meld is not here: audiobench fetch meld" in told
    # What follows the name differs, as of a pack; what a run notes as unavailable may be skipped for something else.
    pack = replace(skipped[0], eval="solo", message="the pack core is not on this machine (there are demo, cabin)")
    record = replace(record, items=[*record.items, pack], unavailable=["core/solo", "judged"])
    assert "8 data sets are not here" in " ".join(lines_of(record))
    assert "12 evals measured, 8 data sets unavailable" in run_verdict(record).counts
    assert "skipped: yes-no needs a judge: name one" in told
    assert "looked for /data/meld" in " ".join(lines_of(record, 120, verbosity=2))


def test_names_from_outside_do_no_harm(runs: Any) -> None:
    items = [runs.item(number, f"evil\x1b[2J\n{number}", [RIGHT], suite=f"\x1b]0;{number}") for number in range(10)]
    assert all(line.isprintable() for line in lines_of(runs.collected(*items)[1]))
