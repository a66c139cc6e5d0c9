"""Alarms of evals: where a reader cannot miss them, each once."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from pytest_audiobench.records.run import VerdictRecord
from pytest_audiobench.report.markdown import summary
from pytest_audiobench.report.page import html
from pytest_audiobench.report.terminal import summary_lines
from pytest_audiobench.report.verdict import alarms, run_verdict

DEAF = "alarm: the audio adds nothing that could be shown <b>|"


def alarmed(runs: Any, *names: str) -> Any:
    _, record = runs.collected(*(runs.item(k, name, [("(a) cat", "parsed", True)] * 3) for k, name in enumerate(names)))
    return runs.with_items(record, warnings=[DEAF, "a plain warning"])


def test_an_alarm_stands_at_the_end_in_red_and_among_no_notes(runs: Any) -> None:
    lines = summary_lines(alarmed(runs, "silence", "swapped"), 200)
    assert lines[-2] == ("Alarm: the audio adds nothing that could be shown <b>| (silence, swapped)", "red")
    notes = [text for text, _ in lines if text.startswith("note:")]
    assert notes == ["note: 2 evals: a plain warning"]


def test_an_alarm_is_in_the_summary_of_a_job_before_its_table_and_escaped(runs: Any) -> None:
    told = summary(alarmed(runs, "silence"))
    assert "> **Alarm: the audio adds nothing" in told
    assert told.index("Alarm:") < told.index("| Eval |")
    assert "<b>" not in told


def test_an_alarm_is_at_the_top_of_the_page(runs: Any, opened: Any) -> None:
    folder, record = runs.collected(runs.item(0, "silence", [("(a) cat", "parsed", True)] * 3))
    page = opened(html.write_page(folder, runs.with_items(record, warnings=[DEAF])))
    banner = page.page.locator("#heading .banner.bad")
    assert banner.inner_text() == "✗ Alarm in silence: the audio adds nothing that could be shown <b>|"
    assert page.complaints == []


def test_many_alarms_are_counted(runs: Any) -> None:
    items = [
        replace(runs.item(k, f"e{k}", []).record, warnings=[f"alarm: number {k}", "alarm: all"]) for k in range(30)
    ]
    found = alarms(items)
    assert found[0] == "Alarm: number 0 (e0)"
    assert found[1] == "Alarm: all (e0, e1, e2, e3, e4 and 25 more)"
    assert found[-1] == "Alarm: 11 more; run.json has them."
    assert len(found) == 21


def test_a_summary_says_alarms_that_differ_in_numbers_once_with_the_first_whole_and_no_more_than_twenty(
    runs: Any,
) -> None:
    texts = ["alarm: 3 of 9 unparsed: a, b", "alarm: 4 of 9 unparsed: a, b", "alarm: 3 of 9 unparsed: a, b"]
    record = alarmed(runs, "e0", "e1", "e2")
    items = [replace(item, warnings=[text]) for item, text in zip(record.items, texts, strict=True)]
    told = summary(replace(record, items=items))
    assert told.count("Alarm:") == 1
    assert "> **Alarm: 3 of 9 unparsed: a, b (e0, e2; with other numbers e1)**" in told.replace("\\", "")
    many = [f"alarm: {chr(ord('a') + k)}" for k in range(25)]
    told = summary(replace(record, items=[replace(items[0], warnings=many)]))
    assert told.count("Alarm:") == 21
    assert "Alarm: 5 more; run.json has them." in told.replace("\\", "")


def test_a_verdict_with_an_alarm_is_in_doubt_and_says_to_read_it(runs: Any) -> None:
    record = runs.with_items(alarmed(runs, "silence"), verdicts=[VerdictRecord("pass", "accuracy >= 0.3", 1.0, "")])
    verdict = run_verdict(record)
    assert (verdict.mark, verdict.tone, verdict.word) == ("!", "warn", "passed")
    assert verdict.advice == "See the alarm before the numbers. All that is required was met."
    quiet = run_verdict(runs.with_items(record, warnings=[]))
    assert (quiet.mark, quiet.advice) == ("✓", "All that is required was met.")
