"""Perturbations by data set, as a browser shows them: shaded cells, a metric to choose, details by keyboard."""

from __future__ import annotations

from typing import Any

import pytest


def shown(page: Any) -> list[list[str]]:
    """The rows of the grid as texts, each with its head."""
    rows: list[list[str]] = page.page.locator("table.grid tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.children].map((one) => one.textContent))"
    )
    return rows


def test_cells_are_the_values_of_the_chosen_metric_shaded_by_them(runs: Any, opened: Any) -> None:
    page = opened(runs.page(*runs.ladder((22, 14, 5))))
    assert page.page.locator("#grid h2").inner_text() == "Perturbations by data set"
    assert shown(page) == [
        ["clean", "95.8"],
        ["white, dB SNR"],
        ["20", "! 91.7"],
        ["10", "! 58.3"],
        ["0", "! 20.8"],
    ]
    shades = page.page.locator("table.grid td").evaluate_all(
        "(cells) => cells.map((one) => getComputedStyle(one).backgroundColor)"
    )
    assert len(set(shades)) == 4
    page.page.locator("#grid select").first.select_option(label="coverage")
    assert [row[-1] for row in shown(page)][-1] == "! 62.5"
    assert page.complaints == []


def test_keys_go_from_cell_to_cell_and_what_a_cell_stands_for_is_told_in_full(runs: Any, opened: Any) -> None:
    page = opened(runs.page(*runs.ladder((22, 14, 5))))
    cells = page.page.locator("table.grid td")
    assert page.page.locator("table.grid td[tabindex='0']").count() == 1
    cells.first.focus()
    for _ in range(5):
        page.page.keyboard.press("ArrowDown")
    assert page.page.evaluate("document.activeElement.textContent") == "! 20.8"
    told = page.page.locator("#grid .cell-text").inner_text()
    assert told.startswith("white-2 · tones: accuracy 20.8 % [")
    assert "n 24, parse rate 62.5 %; drop from clean +75.0 pp [" in told
    assert "fewer parsed: 62.5 %, clean 100.0 %" in told
    page.page.keyboard.press("ArrowUp")
    assert page.page.locator("#grid .cell-text").inner_text().startswith("white-1")
    cells.first.hover()
    assert page.page.locator("#grid .cell-text").inner_text().startswith("clean · tones: accuracy 95.8 %")


def test_every_model_of_the_run_can_be_chosen(runs: Any, opened: Any) -> None:
    items = [*runs.ladder((22, 14, 5), model="old"), *runs.ladder((23, 20, 15), model="new")]
    page = opened(runs.page(*items))
    assert shown(page)[-1] == ["0", "! 20.8"]
    page.page.locator("#grid").get_by_label("Model").select_option(label="new")
    assert shown(page)[-1][-1].endswith("62.5")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_cell_can_be_read_in_either_theme_and_a_narrow_page_does_not_scroll_sideways(
    runs: Any, opened: Any, theme: str
) -> None:
    page = opened(runs.page(*runs.prompts((22, 14, 5), (20, 12, 3), (24, 9, 0))))
    page.page.emulate_media(color_scheme=theme)
    page.page.set_viewport_size({"width": 400, "height": 800})
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 400
    contrasts = page.page.locator("table.grid td.heat").evaluate_all(
        """(cells) => cells.map((one) => {
          const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d");
          const light = (colour) => {
            pen.fillStyle = colour;
            pen.fillRect(0, 0, 1, 1);
            const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].map((one) => one / 255)
              .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const { color, backgroundColor } = getComputedStyle(one);
          const [dark, bright] = [light(color), light(backgroundColor)].sort((a, b) => a - b);
          return (bright + 0.05) / (dark + 0.05);
        })"""
    )
    assert len(contrasts) == 12
    # WCAG 2.2, success criterion 1.4.3.
    assert min(contrasts) >= 4.5


def test_names_from_outside_are_shown_and_never_run(runs: Any, opened: Any) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    items = runs.ladder((22, 14, 5), family=hostile, unit="</script><b>dB")
    for one in items:
        one.dataset = f"<i>tones</i>+{one.perturbation.name}"
    page = opened(runs.page(*items))
    assert page.page.locator("#grid img, #grid b, #grid i").count() == 0
    assert shown(page)[1] == [f"{hostile}, </script><b>dB"]
    assert "<i>tones</i>" in page.page.locator("table.grid thead").inner_text()
    assert page.complaints == []


def test_a_run_without_perturbations_has_no_such_section(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [("(a) cat", "parsed", True)])))
    assert not page.page.locator("#grid").is_visible()
