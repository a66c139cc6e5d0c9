"""The page of a run of many evals: what it holds before anything is opened, and how every eval is found."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest

from pytest_audiobench.report.page import html

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)
MANY = 150


@pytest.fixture
def many(runs: Any) -> Path:
    """A run of 150 evals by group and by two scorers, of which the last fails."""
    loop = ("b b b b b", "parsed", False)
    items = [
        runs.item(
            number,
            f"eval-{number:03}",
            [RIGHT, RIGHT, RIGHT, WRONG, loop],
            others={"lenient": lambda _, status, right: (status, right)},
            wording={"b b b b b": ("loop",)},
            group_of=lambda number: {"speaker": f"sp{number % 2}"},
            outcome="failed" if number == MANY - 1 else "passed",
            message="it failed" if number == MANY - 1 else "",
        )
        for number in range(MANY)
    ]
    path: Path = runs.page(*items, exit_status=1, notes=[f"note {number}" for number in range(MANY)])
    return path


def names(page: Any, section: str) -> list[str]:
    return re.findall(r"eval-\d{3}", page.locator(section).inner_text())


def test_a_long_list_holds_its_first_entries_and_counts_all(many: Path, opened: Any) -> None:
    page = opened(many, folded=True).page
    assert page.evaluate("document.querySelectorAll('*').length") < 1_000
    page.evaluate("for (const fold of document.querySelectorAll('details.fold')) fold.open = true")
    page.locator("#scorers output").wait_for()
    assert page.evaluate("document.querySelectorAll('*').length") < 6_000
    assert len(set(names(page, "#verdicts"))) == 60
    for section in ("#verdicts", "#groups", "#details", "#failures", "#scorers"):
        assert re.search(r"60 of 15[01] ", page.locator(f"{section} output").inner_text())


def test_much_data_is_deflated_and_the_page_inflates_it(runs: Any, opened: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(html, "_MOST_PLAIN", 1_000)
    path = runs.page(runs.item(0, "eval-000", [RIGHT, WRONG]))
    data = path.read_text().partition('id="data" type="application/json">')[2].partition("</script>")[0]
    assert json.loads(zlib.decompress(base64.b64decode(data)))["evals"][0]["name"] == "eval-000"
    one = opened(path, folded=True)
    one.page.locator("#samples", has_text="eval-000").wait_for()
    assert one.complaints == []


def test_what_failed_stands_first_in_a_long_list(many: Path, opened: Any) -> None:
    page = opened(many).page
    assert names(page, "#verdicts")[:2] == ["eval-149", "eval-000"]


def test_warnings_of_one_reason_are_one_box(many: Path, opened: Any) -> None:
    page = opened(many).page
    assert page.locator("#troubles ul.troubles > li").count() == 2
    page.get_by_text("150 of one reason").click()
    page.locator("#troubles output", has_text="60 of 150").wait_for()


def test_an_eval_is_found_by_its_name_in_every_list(many: Path, opened: Any) -> None:
    page = opened(many).page
    for section in ("#verdicts", "#groups", "#details", "#failures", "#scorers"):
        page.locator(f"{section} input[type=search]").fill("EVAL-123")
        page.locator(f"{section} output", has_text="that match, of").wait_for()
        assert set(names(page, section)) == {"eval-123"}


def test_a_button_shows_the_rest_of_a_list(many: Path, opened: Any) -> None:
    page = opened(many).page
    page.locator("#verdicts").get_by_role("button", name="Show all 150").click()
    assert len(set(names(page, "#verdicts"))) == MANY
    assert not page.locator("#verdicts").get_by_role("button", name="Show all").is_visible()


def test_a_link_leads_to_a_box_that_the_list_did_not_hold(many: Path, opened: Any) -> None:
    page = opened(many).page
    page.locator("#verdicts input[type=search]").fill("eval-123")
    row = page.locator("#verdicts tr", has_text="eval-123")
    page.locator("#verdicts output", has_text="that match").wait_for()
    row.get_by_role("link", name="1 loop").click()
    box = page.locator("#failures .body details[open]", has_text="eval-123")
    box.locator("table").wait_for()
    assert "loop" in box.inner_text()


def test_a_print_has_every_suite_and_the_page_is_short_again_after_it(runs: Any, opened: Any) -> None:
    page = opened(runs.page(*(runs.item(n, f"eval-{n:03}", [RIGHT, WRONG], suite=f"s{n}") for n in range(MANY)))).page
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert len(set(names(page, "#results table"))) == MANY
    assert len(set(names(page, "#verdicts"))) == 60
    assert not page.locator("#results .finder").is_visible()
    page.emulate_media(media="screen")
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert len(set(names(page, "#results table"))) == 60


def test_a_short_list_has_no_search(runs: Any, opened: Any) -> None:
    page = opened(runs.page(*(runs.item(number, f"eval-{number:03}", [RIGHT, WRONG]) for number in range(5)))).page
    assert page.locator(".finder").count() == 0
    assert names(page, "#verdicts") == [f"eval-{number:03}" for number in range(5)]
