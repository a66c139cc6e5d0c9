"""What each condition of a determinism eval changed, as a terminal, a summary and the page show it."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from pytest_audiobench.records.run import MetricRecord, RunRecord
from pytest_audiobench.report import noise_tables
from pytest_audiobench.report.markdown import summary
from pytest_audiobench.report.page.html import write_page
from pytest_audiobench.report.terminal import summary_lines

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)
HOSTILE = "<b>bold</b>"


def figures(condition: str, texts: float, outcomes: float, shift: float, unit: str = "points") -> list[MetricRecord]:
    group = {"condition": condition}
    return [
        MetricRecord("same_answers", texts, texts - 0.1, 1.0, 80, "share", "higher", "", group=group),
        MetricRecord("same_outcomes", outcomes, None, None, 80, "share", "higher", "", group=group),
        MetricRecord("score_shift", shift, 0.0, 2 * shift, 80, unit, "lower", "", group=group),
    ]


ASKED_AGAIN = [*figures("again", 1.0, 1.0, 0.0), *figures(HOSTILE, 0.875, 0.9, 0.0125)]


@pytest.fixture
def record(runs: Any) -> tuple[Any, RunRecord]:
    folder, record = runs.collected(runs.item(0, "digits", [RIGHT, WRONG]))
    items = [structs.replace(item, metrics=[*item.metrics, *ASKED_AGAIN]) for item in record.items]
    return folder, structs.replace(record, items=items)


def test_a_terminal_has_a_line_for_each_condition_within_its_columns(record: tuple[Any, RunRecord]) -> None:
    lines = [text for text, _ in summary_lines(record[1], 80)]
    start = next(number for number, text in enumerate(lines) if "asked again" in text)
    assert lines[start] == "digits asked again (n=2): % of answers changed, and by how much accuracy moves"
    assert [line.split() for line in lines[start + 1 : start + 3]] == [
        ["condition", "text", "interval", "outcome", "interval", "score", "interval"],
        ["again", "0.0", "0.0–10.0", "0.0", "0.0", "0.0–0.0"],
    ]
    assert lines[start + 3].removeprefix(f"  {HOSTILE}").split() == ["12.5", "0.0–22.5", "10.0", "1.2", "0.0–2.5"]
    assert max(map(len, lines)) <= 80


def test_a_summary_has_the_same_table_with_what_came_from_outside_escaped(record: tuple[Any, RunRecord]) -> None:
    text = summary(record[1])
    assert "asked again" in text
    assert "| again | 0.0 | 0.0–10.0 | 0.0 |  | 0.0 | 0.0–0.0 |" in text
    assert "<b>" not in text


def test_a_score_without_points_moves_in_its_own_unit(runs: Any) -> None:
    _, record = runs.collected(runs.item(0, "digits", [RIGHT]))
    metrics = [*record.items[0].metrics, *figures("batch-2", 1.0, 0.5, 3.25, "of 100")]
    tables = noise_tables.noise_tables(
        structs.replace(record, items=[structs.replace(record.items[0], metrics=metrics)])
    )
    assert [table.rows[0][5:] for table in tables] == [("3.2", "0.0–6.5")]


def test_the_page_has_a_section_with_the_table(record: tuple[Any, RunRecord], opened: Any) -> None:
    page = opened(write_page(*record))
    section = page.page.locator("#noise")
    assert section.is_visible()
    rows = section.locator("tbody tr")
    cells = [cell.strip() for cell in rows.nth(1).locator("td").all_inner_texts()]
    assert cells == ["12.5", "0.0–22.5", "10.0", "", "1.2", "0.0–2.5"]
    assert rows.nth(1).locator("th").inner_text() == HOSTILE
    assert section.locator("b").count() == 0
    assert page.complaints == []


def test_a_run_that_asked_nothing_again_has_no_such_section(runs: Any, opened: Any) -> None:
    page = opened(write_page(*runs.collected(runs.item(0, "digits", [RIGHT, WRONG]))))
    assert not page.page.locator("#noise").is_visible()
