from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pytest_audiobench.records.run import MetricRecord, RunRecord, VerdictRecord
from pytest_audiobench.report.junit import properties
from pytest_audiobench.report.markdown import append_summary, escaped, summary
from pytest_audiobench.report.terminal import summary_lines

RIGHT, WRONG, FAILED = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False), ("no audio", "error", False)
REFUSED = ("I cannot hear", "refused", False)
FAIL = VerdictRecord("fail", "accuracy >= 0.9", 0.75, "75.0 % is below 90.0 %")
PASS = VerdictRecord("pass", "accuracy[hop=multi] >= 0.3", 0.75, "")


def lines_of(record: RunRecord, width: int = 100, verbosity: int = 0) -> list[str]:
    return [text for text, _ in summary_lines(record, width, verbosity)]


def test_a_number_in_the_terminal_comes_with_interval_n_coverage_verdict_and_signature(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "single", [RIGHT] * 3 + [REFUSED], verdicts=[FAIL], outcome="failed"))
    table = lines_of(record, verbosity=1)
    assert re.match(r"single +accuracy +75\.0 % +\[\d+\.\d to \d+\.\d\] +4 +75\.0 % +FAIL", table[1])
    assert any("accuracy >= 0.9: 75.0 % is below 90.0 %" in line for line in table)
    assert any("letters|v:1" in line for line in table)


def test_models_are_named_only_when_there_are_several(runs: Any) -> None:
    _, one = runs.collected(runs.item(0, "a", [RIGHT], model="only"), name="one")
    _, two = runs.collected(runs.item(0, "a", [RIGHT], model="x"), runs.item(1, "a", [RIGHT], model="y"), name="two")
    assert not any("only" in line for line in lines_of(one))
    assert [line.split()[:2] for line in lines_of(two)[:3]] == [["eval", "model"], ["a", "x"], ["a", "y"]]


def test_a_suite_of_several_evals_has_a_pooled_line(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [RIGHT] * 3), runs.item(1, "b", [WRONG]))
    pooled = next(line for line in lines_of(record) if "pooled" in line)
    assert re.match(r"sakura \(pooled\) +accuracy +75\.0 %", pooled)


def test_a_pooled_figure_of_another_scorer_than_the_evals_first_is_named_by_it(runs: Any) -> None:
    def judged(text: str, status: str, right: bool) -> tuple[str, bool]:
        return status, right

    items = [runs.item(n, name, [RIGHT], others={"judged": judged}) for n, name in enumerate("ab")]
    _, record = runs.collected(*items)
    (suite,) = record.suites
    metrics = [metric for metric in suite.metrics if metric.scorer == "judged"]
    scorers = [scorer for scorer in suite.scorers if scorer.name == "judged"]
    suites = [replace(suite, metrics=metrics, scorers=scorers)]
    pooled = next(line for line in lines_of(replace(record, suites=suites)) if "pooled" in line)
    assert re.match(r"sakura \(pooled\) +accuracy \[judged\] +100\.0 %", pooled)


def test_in_a_narrow_terminal_names_get_lines_of_their_own_and_stay_whole(runs: Any) -> None:
    names = ["a-long-name-of-an-eval-that-needs-space", "another-long-name"]
    _, record = runs.collected(*(runs.item(n, name, [RIGHT], model="m") for n, name in enumerate(names)))
    wide, narrow = lines_of(record, width=120), lines_of(record, width=80)
    assert wide[1].startswith(f"{names[0]}  accuracy")
    assert max(map(len, narrow)) <= 80
    assert narrow[1] == names[0]
    assert re.match(r" +accuracy +100\.0 %", narrow[2])
    assert narrow[3] == names[1]


def test_a_rule_that_read_one_eval_alone_has_no_pooled_line(runs: Any) -> None:
    def strict(text: str, status: str, right: bool) -> tuple[str, bool]:
        return status, False

    items = [runs.item(0, "a", [RIGHT], others={"strict": strict}), runs.item(1, "b", [WRONG])]
    _, record = runs.collected(*items)
    lines = lines_of(record)
    (start,) = (number for number, line in enumerate(lines) if "(pooled)" in line)
    assert any("strict" in line for line in lines[1:start])
    assert re.match(r"sakura \(pooled\) +accuracy +50\.0 %", lines[start])
    assert not any("[strict]" in line for line in lines[start:])


def test_declared_averages_stand_before_the_evals_that_they_are_of_the_outermost_first(runs: Any) -> None:
    items = [
        runs.item(0, "a", [RIGHT], averages={"whole": 2, "speech": 2}),
        runs.item(1, "b", [WRONG], averages={"whole": 2, "speech": 2}),
        runs.item(2, "c", [RIGHT], averages={"whole": 2, "sound": 1}),
    ]
    _, record = runs.collected(*items)
    lines = lines_of(record)
    names = [line.split("  ")[0] for line in lines[1:9]]
    assert names == ["sakura, whole", "sakura, sound", "sakura, speech", "", "a", "b", "c", ""]
    assert "75.0 %" in lines[1]
    assert not any("average=" in line for line in lines)


def test_in_a_narrow_terminal_wide_numbers_stand_in_columns_too(runs: Any) -> None:
    def strict(text: str, status: str, right: bool) -> tuple[str, bool | None]:
        return status, (None if status == "refused" else right)

    others = {"reads-letters-strictly": strict}
    _, record = runs.collected(runs.item(0, "a-long-name", [RIGHT] * 20 + [REFUSED] * 12, others=others))
    (item,) = record.items
    numbers = {"value": 6.00812, "lower": 4.58112, "upper": 7.21934, "unit": "CIDEr-D"}
    wide = replace(item.metrics[0], name="keyphrase_f1_at_5", **numbers)
    table = lines_of(replace(record, items=[replace(item, metrics=[wide, *item.metrics])]), width=80)
    assert max(map(len, table)) <= 80
    end = table[0].index("parse rate") + len("parse rate")
    rates = [line[:end] for line in table[1:] if line.endswith(("skipped", "not gated"))]
    assert [rate.split()[-2:] for rate in rates] == [["62.5", "%"], ["12", "skipped"]], table


def test_styles_say_what_the_words_say(runs: Any) -> None:
    items = [
        runs.item(0, "good", [RIGHT], verdicts=[PASS]),
        runs.item(1, "poor", [WRONG], verdicts=[FAIL], outcome="failed"),
        runs.item(2, "plain", [WRONG]),
        runs.item(3, "gone", [], outcome="lost"),
    ]
    _, record = runs.collected(*items, exit_status=1)
    styles = {text.split()[0]: (text.split()[-1], style) for text, style in summary_lines(record, 100)[1:5]}
    assert styles["good"] == ("pass", "green")
    assert styles["poor"] == ("FAIL", "red")
    assert styles["plain"] == ("gated", "")
    assert styles["gone"] == ("lost", "red")


def test_more_figures_than_a_screen_holds_are_under_v(runs: Any) -> None:
    _, record = runs.collected(*(runs.item(n, f"eval-{n}", [RIGHT, WRONG]) for n in range(3)))
    items = []
    for item in record.items:
        first = next(metric for metric in item.metrics if not metric.group)
        further = [replace(first, name=f"further_{number}") for number in range(8)]
        items.append(replace(item, metrics=[*item.metrics, *further]))
    record = replace(record, items=items)
    assert not any("further_" in line for line in lines_of(record))
    assert "all metrics of each eval: pytest -v, or report.html" in lines_of(record)
    assert sum("further_7" in line for line in lines_of(record, verbosity=1)) == 3


def test_a_run_that_measured_nothing_says_so_in_red(runs: Any) -> None:
    _, record = runs.collected(exit_status=5)
    assert ("Nothing was measured: every eval was skipped or none was selected.", "red") in summary_lines(record, 80)


def test_limits_and_failed_askings_are_said_beside_the_table(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [RIGHT, FAILED], limited=True), limit=2)
    text = "\n".join(lines_of(record))
    assert "Never comparable with a full run" in text
    assert "asking failed for 1 sample" in text


def test_why_a_number_has_no_interval_is_said_beneath_the_table_and_in_the_summary(runs: Any) -> None:
    _, record = runs.collected(*(runs.item(n, f"eval-{n}", [RIGHT, WRONG]) for n in range(2)))
    few = "no interval: a label is true of 3 samples, 5 needed"
    first, *others = record.items[0].metrics
    record = runs.with_items(record, metrics=[replace(first, lower=None, upper=None, method=few), *others])
    said = "2 evals: no interval of accuracy: a label is true of 3 samples, 5 needed"
    assert said in lines_of(record)
    assert "a label is true of 3 samples, 5 needed" in summary(record)


def test_who_is_not_shown_to_listen_is_said_beneath_the_table(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "eval-0", [RIGHT, WRONG]))
    first, *others = record.items[0].metrics
    added = replace(first, name="adds_over_other", method="not shown to listen; bootstrap 95 %, 24 samples")
    said = "eval-0: not shown to listen: no interval of adds_over_other is above 0"
    assert said in lines_of(runs.with_items(record, metrics=[added, *others]))
    few = replace(added, method="not shown to listen; no interval: 12 samples, 20 needed")
    lines = lines_of(runs.with_items(record, metrics=[few, *others]))
    assert {said, "eval-0: no interval of adds_over_other: 12 samples, 20 needed"} <= set(lines)
    undefined = replace(added, value=None)
    assert said not in lines_of(runs.with_items(record, metrics=[undefined, *others]))


def test_names_cannot_command_the_terminal(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "evil\x1b[2J\nname", [RIGHT]), notes=["\x1b]0;title\x07"])
    assert all(line.isprintable() for line in lines_of(record))


def test_the_markdown_table_has_equal_rows_whatever_the_names(runs: Any) -> None:
    items = [
        runs.item(0, "a|b", [RIGHT], model="<img src=x>", verdicts=[FAIL]),
        runs.item(1, "[x](http://y) @z `c` *d*\nnew", [WRONG], model="m"),
    ]
    _, record = runs.collected(*items, notes=["<script>alert(1)</script>"])
    text = summary(record)
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {10}
    assert not re.search(r"(?<!\\)[`*\[\]]|<|@", "\n".join(line.lstrip("> *") for line in rows if "http" in line))
    assert "<script" not in text


def test_a_summary_is_appended_to_what_other_steps_wrote(runs: Any, tmp_path: Path) -> None:
    _, record = runs.collected(runs.item(0, "a", [RIGHT]), exit_status=1)
    path = tmp_path / "step.md"
    path.write_text("# earlier\n")
    append_summary(path, record)
    append_summary(path, record)
    text = path.read_text()
    assert text.startswith("# earlier\n")
    assert text.count("100.0 %") >= 2
    assert "## ✗ 2026\\-11\\-20\\-nightly: failed\n" in text


def test_a_very_large_run_stays_within_the_summarys_bound(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "a", [RIGHT]))
    text = summary(replace(record, items=[*record.items] * 5000))
    assert len(text.encode()) < 2**20
    assert "more rows are in run.json" in text


@pytest.mark.parametrize("text", ["a|b", "<b>", "![x](y)", "# h", "line\u2028break", "~~s~~", "\\|"])
def test_escaped_text_is_one_line_without_live_markup(text: str) -> None:
    shown = escaped(text)
    assert len(shown.splitlines()) == 1
    assert not re.search(r"(?<!\\)[|!#~]", re.sub(r"&#\d+;", "", shown.replace("\\\\", "")))


def test_junit_properties_are_strings_with_score_bounds_threshold_and_hashes(runs: Any) -> None:
    item = runs.item(0, "a", [RIGHT] * 3 + [WRONG], verdicts=[FAIL, PASS]).record
    latency = MetricRecord("latency", None, None, None, 0, "s", "lower", "none")
    found = properties(replace(item, metrics=[*item.metrics, latency]))
    assert all(isinstance(name, str) and isinstance(value, str) for name, value in found)
    values = dict(found)
    assert values["eval.accuracy.score"] == "0.75"
    assert float(values["eval.accuracy.lower"]) < 0.75 < float(values["eval.accuracy.upper"])
    assert (values["eval.accuracy.threshold"], values["eval.accuracy.passed"]) == ("accuracy >= 0.9", "false")
    assert values["eval.accuracy[hop=multi].passed"] == "true"
    assert len(values["eval.input_hash"]) == len(values["eval.run_hash"]) == 64
    assert "eval.latency.score" not in values
