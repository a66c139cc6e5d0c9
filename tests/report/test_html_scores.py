"""Scores by eval and by group: plots with the numbers beside them, and tables of labels, as a browser shows them."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from msgspec import structs

from pytest_audiobench.metrics.label_statistics import label_statistics
from pytest_audiobench.records.lines import BaselineAnswer
from pytest_audiobench.report.page.html import write_page
from tests.browser import new_context, reload_until, wait_until

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)
LOOP, REFUSED = ("b b b b b", "parsed", False), ("I cannot", "refused", False)
MIDDLES = """(all) => all.map((one) => {
  const box = one.getBoundingClientRect(), whole = one.ownerSVGElement.getBoundingClientRect();
  return [(box.left + box.right) / 2 - whole.left, whole.width];
})"""


def drawn(page: Any, section: str) -> Any:
    found = page.page.locator(f"{section} svg[role=img]").first
    found.wait_for()
    return found


def dots(page: Any, section: str) -> list[float]:
    """Where the signs of the first drawing stand, from its left edge, in the order of its rows."""
    found = drawn(page, section).locator("path[transform]:has(title)")
    places = found.evaluate_all(MIDDLES)
    assert all(0 < place < width for place, width in places)
    return [place for place, _ in places]


def by_two(number: int) -> dict[str, str]:
    return {"speaker": f"sp{number % 2}"}


def test_one_number_alone_is_not_drawn_and_brings_no_library(runs: Any, opened: Any) -> None:
    path = runs.page(runs.item(0, "a", [RIGHT, WRONG]))
    page = opened(path)
    assert page.page.locator("svg[role=img]").count() == 0
    assert not page.page.locator("#scores").is_visible()
    assert b"@observablehq/plot" not in path.read_bytes()


def test_evals_stand_side_by_side_in_one_plot_in_the_order_of_their_values(runs: Any, opened: Any) -> None:
    items = [runs.item(n, f"eval-{n}", [RIGHT] * n + [WRONG] * (6 - n), suite=f"s{n}") for n in (2, 3, 5)]
    page = opened(runs.page(*items))
    at = dots(page, "#scores")
    assert len(at) == 3
    assert at == sorted(at)
    assert drawn(page, "#scores").get_attribute("aria-label") == "accuracy by eval; the table holds the numbers"
    assert page.complaints == []


def test_a_plot_says_value_interval_and_n_in_words_too(runs: Any, opened: Any) -> None:
    items = [runs.item(n, f"eval-{n}", [RIGHT] * 3 + [WRONG], suite=f"s{n}") for n in range(2)]
    page = opened(runs.page(*items))
    said = drawn(page, "#scores").text_content() or ""
    assert "eval-0" in said
    assert "75.0 %" in said
    assert re.search(r"19\.\d to 99\.\d", said)
    assert re.search(r"75\.0 %, [\d.]+ to [\d.]+, n 4", said)


def test_a_suite_is_a_row_of_its_own(runs: Any, opened: Any) -> None:
    items = [runs.item(n, f"eval-{n}", [RIGHT] * 3 + [WRONG]) for n in range(2)]
    page = opened(runs.page(*items))
    assert "sakura (pooled)" in (drawn(page, "#scores").text_content() or "")
    assert len(dots(page, "#scores")) == 3
    # A diamond is a baseline, and here there is none.
    signs = drawn(page, "#scores").locator("path[transform]:has(title)")
    assert len(set(signs.evaluate_all("all => all.map((one) => one.getAttribute('d'))"))) == 1
    about = page.page.locator("#scores summary").first.inner_text()
    assert about.endswith("a plot for each metric of several evals: accuracy")


def test_a_suites_number_has_the_count_of_the_evals_that_it_is_of(runs: Any, opened: Any) -> None:
    evals = [runs.item(n, f"eval-{n}", [RIGHT] * 3 + [WRONG]) for n in range(3)]
    folder, record = runs.collected(*evals)
    (suite,) = record.suites
    scorers, metrics = record.items[0].scorers, record.items[0].metrics
    alone = structs.replace(
        record.items[0],
        eval="eval-3",
        scorers=[structs.replace(one, name="other") for one in scorers],
        metrics=[structs.replace(one, scorer="other") for one in metrics],
    )
    more = structs.replace(record, items=[*record.items, alone], suites=[structs.replace(suite, evals=4)])
    row = opened(write_page(folder, more)).page.locator("#suites tbody tr").first
    assert row.locator("td").first.inner_text() == "3"


def test_a_declared_average_is_its_suites_result_and_the_evals_are_folded(runs: Any, opened: Any) -> None:
    items = [runs.item(n, f"task-{n}", [RIGHT, WRONG], averages={"whole": 17}) for n in range(17)]
    page = opened(runs.page(*items), folded=True).page
    assert page.locator("#results td.value").all_inner_texts() == ["50.0 %"]
    page.locator("#averages summary").click()
    page.locator("#averages td.value").first.wait_for()
    assert page.locator("#averages td.value").all_inner_texts() == ["50.0 %"]
    assert page.locator("#averages th[scope=row]").inner_text() == "sakura, whole"
    assert page.get_by_role("rowheader", name="task-3").count() == 0
    page.get_by_role("link", name="sakura").click()
    page.locator("#verdicts").get_by_role("rowheader", name="task-3").wait_for()


def test_several_models_share_a_plot_and_have_a_legend(runs: Any, opened: Any) -> None:
    items = [runs.item(n, "a", [RIGHT] * (n + 1) + [WRONG], model=name) for n, name in enumerate(["old", "new"])]
    page = opened(runs.page(*items))
    assert len(dots(page, "#scores")) == 2
    assert page.page.locator("#scores .legend li").all_inner_texts() == ["old", "new"]


@pytest.mark.parametrize("width", [400, 760, 1280])
def test_a_long_alias_is_read_in_a_few_lines_at_any_width(runs: Any, opened: Any, width: int) -> None:
    long = "qwen2-audio-7b-instruct-finetuned-checkpoint-000450"
    items = [runs.item(number, "digits", [RIGHT] * 40, model=alias) for number, alias in enumerate((long, "b" * 40))]
    page = opened(runs.page(*items))
    page.page.set_viewport_size({"width": width, "height": 800})
    heights = page.page.locator("#verdicts td.model").evaluate_all("cells => cells.map((cell) => cell.clientHeight)")
    assert len(heights) == 2
    assert all(0 < height <= 120 for height in heights)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width


def test_groups_are_drawn_and_listed(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [RIGHT, RIGHT, RIGHT, WRONG], group_of=by_two)))
    assert len(dots(page, "#groups")) == 2
    page.page.get_by_text("The numbers as a table").click()
    page.page.locator("#groups tbody tr").nth(1).wait_for()
    rows = page.page.locator("#groups tbody tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == ["speaker=sp0", "speaker=sp1"]
    assert "100.0 %" in rows[0]
    assert "50.0 %" in rows[1]


def test_where_there_is_no_interval_the_reason_stands_in_its_place(runs: Any, opened: Any) -> None:
    folder, record = runs.collected(runs.item(0, "a", [RIGHT, WRONG]))
    (item,) = record.items
    method = "no interval: fewer than 10 clusters"
    metrics = [structs.replace(metric, lower=None, upper=None, method=method) for metric in item.metrics]
    page = opened(write_page(folder, structs.replace(record, items=[structs.replace(item, metrics=metrics)])))
    row = page.page.locator("#verdicts tbody tr").first
    assert "none: fewer than 10 clusters" in row.locator("td").all_inner_texts()


def test_how_answers_failed_stands_beside_the_score(runs: Any, opened: Any) -> None:
    item = runs.item(0, "a", [RIGHT] * 6 + [LOOP] * 2 + [REFUSED], wording={"b b b b b": ("loop",)})
    page = opened(runs.page(item))
    cell = page.page.locator("#verdicts td.parse-rate").first
    assert "1 refused" in cell.inner_text()
    cell.get_by_role("link", name="2 loop").click()
    page.page.locator("#failures .body details[open]").wait_for()


def labelled(runs: Any, said: list[str | None], **changes: Any) -> Any:
    answers = [RIGHT if one == "cat" else WRONG for one in said]
    return runs.item(0, "a", answers, truths=["cat"] * len(said), said=said, **changes)


def test_labels_are_a_table_with_heads_and_shares(runs: Any, opened: Any) -> None:
    page = opened(runs.page(labelled(runs, ["cat"] * 9 + ["dog"] * 2 + [None])))
    table = page.page.locator("#labels table")
    assert table.locator("thead th[scope=col]").all_inner_texts() == [
        "true ↓ answered →",
        "cat",
        "cow",
        "dog",
        "hen",
        "(unparsed)",
        "n",
        "right",
    ]
    row = table.locator("tbody tr").first
    assert row.locator("th[scope=row]").inner_text() == "cat"
    assert row.locator("td").all_inner_texts() == ["9", "0", "2", "0", "1", "12", "75.0 %"]
    assert row.locator("td").nth(2).get_attribute("title") == "cat answered as dog: 2 of 12"
    for name, label in (("2: cat answered as dog", "dog (2)"), ("1: cat answered as (unparsed)", "(unparsed) (1)")):
        table.get_by_role("link", name=name).press("Enter")
        page.page.locator("#place", has_text=f"{name[0]} of 12 samples").wait_for()
        assert page.page.get_by_label("Parsed as").locator("option:checked").inner_text() == label
    page.page.wait_for_url("**parsed=%28unparsed%29**")
    page.page.reload()
    page.page.locator("#place", has_text="1 of 12 samples").wait_for()
    assert page.complaints == []


def test_on_a_narrow_page_a_table_of_labels_scrolls_to_its_last_column_by_keys(runs: Any, opened: Any) -> None:
    page = opened(runs.page(labelled(runs, ["cat"] * 9 + ["dog"] * 3))).page
    page.set_viewport_size({"width": 300, "height": 800})
    box = page.get_by_role("group", name="A table that scrolls sideways")
    box.focus()
    last = "[...document.querySelectorAll('#labels td:last-child')].every((one) => one.getBoundingClientRect().right"
    assert not page.evaluate(f"{last} <= innerWidth)")
    for _ in range(20):
        box.press("ArrowRight")
    wait_until(page, f"{last} <= innerWidth)")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_labels_show_what_moved_since_the_baseline(runs: Any, opened: Any) -> None:
    said = ["cat"] * 9 + ["dog"] * 3
    scores = label_statistics(["cat", "cow", "dog", "hen"], ["cat"], ["cat"])
    before = BaselineAnswer("parsed", scores, None, [])
    item = labelled(runs, said)
    compared = [structs.replace(runs.compared_row(row, "same"), before=before) for row in item.lines.scored]
    page = opened(runs.page(item, baseline=runs.baseline, compared=compared))
    cells = page.page.locator("#labels tbody tr").first.locator("td").all_inner_texts()
    assert [cell.split() for cell in cells[:4]] == [["9", "−3"], ["0"], ["3", "+3"], ["0"]]
    assert "change over 12 pairs" in page.page.locator("#labels .body summary").first.inner_text()


def test_questions_without_labels_have_no_table(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [RIGHT, WRONG])))
    assert not page.page.locator("#labels").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_reader_chooses_light_or_dark_and_the_page_keeps_it(runs: Any, browser: Any, scheme: Any) -> None:
    path = runs.page(runs.item(0, "a", [RIGHT]))
    context = new_context(browser, color_scheme=scheme)
    page = context.new_page()
    paper = "getComputedStyle(document.body).backgroundColor"
    page.goto(path.as_uri())
    assert (page.evaluate(paper) == "rgb(255, 255, 255)") == (scheme == "light")
    button = page.get_by_role("button", name=re.compile("Theme"))
    for name, is_light in (("light", True), ("dark", False)):
        button.click()
        page.get_by_role("button", name=f"Theme: {name}").wait_for()
        wait_until(page, f"({paper} === 'rgb(255, 255, 255)') === {str(is_light).lower()}")
    reload_until(page, page.get_by_role("button", name="Theme: dark"))
    context.close()


def test_the_theme_can_be_chosen_where_nothing_may_be_stored(runs: Any, opened: Any) -> None:
    path = runs.page(runs.item(0, "a", [RIGHT]))
    page = opened(path)
    page.page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })")
    page.page.reload()
    button = page.page.get_by_role("button", name=re.compile("Theme"))
    button.click()
    assert button.inner_text() == "Theme: light"
    assert page.complaints == []


def test_on_paper_there_are_the_results_and_open_parts_and_no_controls(runs: Any, opened: Any) -> None:
    items = [labelled(runs, ["cat"] * 9 + ["dog"] * 3), runs.item(1, "eval-1", [RIGHT] * 3 + [WRONG])]
    folder, record = runs.collected(*items)
    told = structs.replace(record.items[0], warnings=["alarm: 3 of 4 answers could not be read: it said “dog”"])
    page = opened(write_page(folder, structs.replace(record, items=[told, record.items[1]])), folded=True)
    page.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.page.emulate_media(media="print", color_scheme="dark")
    assert page.page.locator("#results svg[role=img]").is_visible()
    assert page.page.locator("main > section:visible").evaluate_all("(all) => all.map((one) => one.id)") == [
        "results",
        "labels",
        "samples",
    ]
    assert page.page.get_by_text("it said “dog”").is_visible()
    assert page.page.locator("#labels table").is_visible()
    assert page.page.locator("article.sample:visible").count() == 3
    assert not page.page.locator("#verdicts h2").is_visible()
    assert not page.page.get_by_role("button", name=re.compile("Theme")).is_visible()
    assert not page.page.locator("#contents").is_visible()
    assert page.page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    assert page.page.evaluate(
        "[...document.querySelectorAll('.scroll')].every((one) => getComputedStyle(one).overflowX === 'visible')"
    )
    page.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.page.locator("details.banner[open], #labels > details[open], #printed article").count() == 0


def test_the_keyboard_reaches_results_and_every_section(runs: Any, opened: Any) -> None:
    items = [runs.item(n, f"eval-{n}", [RIGHT] * 3 + [WRONG]) for n in range(2)]
    page = opened(runs.page(*items)).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the results"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    links = page.get_by_role("navigation", name="On this page").get_by_role("link")
    assert links.all_inner_texts() == ["All numbers", "Samples"]
    links.first.press("Enter")
    page.get_by_role("rowheader", name="eval-1").last.wait_for()
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map((one) => Number(one.tagName[1]))")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
