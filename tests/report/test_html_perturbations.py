"""What perturbations do, as a browser shows it: curves with the parse rate beside them, and the numbers as tables."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from pytest_audiobench.report.page import html

PLACES = """(all) => all.map((one) => {
  const box = one.getBoundingClientRect(), whole = one.ownerSVGElement.getBoundingClientRect();
  return [(box.left + box.right) / 2 - whole.left, (box.top + box.bottom) / 2 - whole.top];
})"""


def drawing(page: Any) -> Any:
    """The first curve's drawing."""
    found = page.page.locator("#perturbations .curve").first.locator("svg[role=img]").first
    found.wait_for()
    return found


def signs(drawing: Any) -> list[list[float]]:
    """Where the points of the score are drawn."""
    found = drawing.locator(
        "g:not(.parse-rate-signs) > path[transform]:has(title), g:not(.parse-rate-signs) > circle:has(title)"
    )
    places: list[list[float]] = found.evaluate_all(PLACES)
    return places


def answered(drawing: Any) -> list[list[float]]:
    """Where the points of what was answered are drawn."""
    places: list[list[float]] = drawing.locator("g.parse-rate-signs > :has(title)").evaluate_all(PLACES)
    return places


def test_a_curve_is_drawn_from_easy_to_hard_with_its_interval_and_the_clean_line(runs: Any, opened: Any) -> None:
    page = opened(runs.page(*runs.ladder((22, 14, 5))))
    score = drawing(page)
    across = [x for x, _ in signs(score)]
    down = [y for _, y in signs(score)]
    assert len(across) == 3
    assert across == sorted(across)
    assert down == sorted(down)
    assert score.locator("path.band").count() == 1
    assert score.locator("g.clean").count() == 1
    text = score.text_content() or ""
    assert "dB SNR (harder to the right)" in text
    assert "clean" in text
    assert "0 dB SNR: 20.8 %" in text
    assert score.get_attribute("aria-label") == "accuracy and parse rate by white; the table below holds the numbers"
    assert page.complaints == []


def test_where_the_points_were_compared_with_a_baseline_it_is_drawn_beside_them(runs: Any, opened: Any) -> None:
    line = runs.regression("regressed", 0.1)
    items = runs.ladder((22, 14, 5), regressions=[line])
    page = opened(runs.page(*items, baseline=runs.baseline, exit_status=1))
    score = drawing(page)
    assert score.locator("g.baseline path").count() == 2
    assert score.locator("title", has_text="baseline 80").count() == 3
    assert page.page.locator("#perturbations .legend.kinds").first.inner_text().endswith("◇ baseline")
    page.page.locator("table.grid td").last.focus()
    assert "; baseline 80.0 %; drop from clean" in page.page.locator("#grid .cell-text").inner_text()
    assert page.complaints == []


def test_what_was_answered_falls_beside_a_score_that_refusals_hold_up(runs: Any, opened: Any) -> None:
    page = opened(runs.page(*runs.ladder((22, 14, 5))))
    score = drawing(page)
    places, own = answered(score), signs(score)
    assert [x for x, _ in places] == [x for x, _ in own]
    down = [y for _, y in places]
    assert down == sorted(down)
    assert down[0] < down[-1]
    # On one scale: who answers more than are right stands above them, by 62.5 less 20.8 of 100 at the hardest dose.
    lowest, highest = own[-1][1], own[0][1]
    assert (lowest - down[-1]) / (lowest - highest) == pytest.approx((62.5 - 20.8) / (91.7 - 20.8), abs=0.02)
    assert score.locator("g.parse-rate").count() == 1
    kinds = page.page.locator("#perturbations .curve .legend.kinds li").all_inner_texts()
    assert [text.strip() for text in kinds] == ["accuracy", "parse rate", "clean perturbation"]


def test_where_clearly_fewer_are_answered_than_under_the_clean_perturbation_it_is_said(runs: Any, opened: Any) -> None:
    items = runs.ladder((22, 14, 5))
    items[1].answers = [("(a) cat", "parsed", True)] * 22 + [("(b) dog", "parsed", False)] * 2
    page = opened(runs.page(*items))
    drawing(page)
    assert page.page.locator("#perturbations .curve .fewer").inner_text() == "! fewer parsed at 10, 0 dB SNR"
    page.page.locator("#perturbations .curve > details summary").click()
    rows = page.page.locator("#perturbations .curve tbody tr")
    rows.first.wait_for()
    flagged = [row.locator(".tag").inner_text() if row.locator(".tag").count() else "" for row in rows.all()]
    assert flagged == ["", "", "! fewer parsed", "! fewer parsed"]
    assert rows.last.locator(".tag").get_attribute("title") == "fewer parsed: 62.5 %, clean 100.0 %"


def test_a_metric_that_is_no_share_has_what_was_answered_beneath_it(runs: Any, opened: Any) -> None:
    folder, record = runs.collected(*runs.ladder((22, 14, 5)))
    (suite,) = record.suites
    suite = structs.replace(
        suite,
        curves=[structs.replace(curve, unit="mean") for curve in suite.curves],
        perturbations=[structs.replace(summary, unit="mean") for summary in suite.perturbations],
    )
    page = opened(html.write_page(folder, structs.replace(record, suites=[suite])))
    found = page.page.locator("#perturbations .curve").first.locator("svg[role=img]")
    found.nth(1).wait_for()
    assert found.count() == 2
    assert "parse rate, %" in (found.nth(1).text_content() or "")
    assert page.page.locator("#perturbations .curve .fewer").count() == 1


def test_models_share_a_plot_and_each_has_its_line_its_figures_and_its_table(runs: Any, opened: Any) -> None:
    items = [*runs.ladder((22, 14, 5), model="old"), *runs.ladder((23, 20, 15), model="new")]
    page = opened(runs.page(*items))
    score = drawing(page)
    assert page.page.locator("#perturbations .curve").count() == 1
    assert page.page.locator("#perturbations .curve .legend.models li").all_inner_texts() == ["old", "new"]
    assert len(signs(score)) == 6
    assert score.locator("path.band").count() == 2
    assert page.page.locator("#perturbations .curve h3").all_inner_texts() == ["old", "new"]
    page.page.locator("#perturbations .curve > details summary").click()
    page.page.locator("#perturbations .curve table").nth(1).wait_for()
    assert page.page.locator("#perturbations .curve table").count() == 2


def test_the_table_beneath_holds_every_number_of_the_picture(runs: Any, opened: Any) -> None:
    page = opened(runs.page(*runs.ladder((22, 14, 5))))
    page.page.locator("#perturbations .curve > details summary").click()
    rows = page.page.locator("#perturbations .curve tbody tr")
    rows.first.wait_for()
    assert [row.locator("th").inner_text() for row in rows.all()] == ["clean", "20", "10", "0"]
    last = [cell.inner_text() for cell in rows.last.locator("td").all()]
    assert last[0] == "20.8 %"
    assert last[2:5] == ["24", "62.5 % ! fewer parsed", "+75.0 pp"]
    assert last[6] == "<0.001"
    facts = page.page.locator("#perturbations .curve .over").inner_text()
    assert "+35.4 pp per 10 dB SNR" in facts
    assert "least squares over 3 perturbations" in facts
    assert "trend p (Holm) <0.001" in facts
    assert "area (mean from 20 to 0 dB SNR)" in facts
    means = page.page.locator("#perturbations .body > div:not(.curve)").inner_text()
    assert "mean of the 4 perturbations measured, each weighing 1/4" in means


def test_names_from_outside_are_shown_and_never_run(runs: Any, opened: Any) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    page = opened(runs.page(*runs.ladder((22, 14, 5), family=hostile, unit="</script><b>dB")))
    drawing(page)
    page.page.locator("#perturbations .curve > details summary").click()
    page.page.locator("#perturbations .curve tbody tr").first.wait_for()
    assert page.page.locator("#perturbations img, #perturbations b").count() == 0
    assert hostile in page.page.locator("#perturbations figcaption").inner_text()
    assert page.complaints == []


def test_a_run_without_perturbations_has_no_such_section(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [("(a) cat", "parsed", True)])))
    assert not page.page.locator("#perturbations").is_visible()


def test_no_band_is_drawn_over_a_dose_without_an_interval(runs: Any, opened: Any) -> None:
    folder, record = runs.collected(*runs.ladder((22, 20, 14, 10, 5)))
    (suite,) = record.suites
    first, *others = suite.curves
    points = list(first.points)
    points[2] = structs.replace(points[2], lower=None, upper=None)
    suite = structs.replace(suite, curves=[structs.replace(first, points=points), *others])
    page = opened(html.write_page(folder, structs.replace(record, suites=[suite])))
    score = drawing(page)
    assert score.locator("path.band").count() == 2


def test_prompts_of_one_data_set_have_a_plot_each_that_says_whose_it_is(runs: Any, opened: Any) -> None:
    page = opened(runs.page(*runs.prompts((22, 14, 5), (20, 12, 3))))
    drawing(page)
    titles = page.page.locator("#perturbations .curve figcaption").all_inner_texts()
    assert titles == [f"accuracy under white · noisy, tones, noisy[{name}]" for name in "ab"]
    assert page.page.locator("#perturbations .legend.models").count() == 0
