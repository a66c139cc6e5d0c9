"""What changed against the baseline, as a browser shows it."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)


def held(runs: Any, *lines: Any, **changes: Any) -> Path:
    items = [runs.item(number, f"eval-{number}", [RIGHT, WRONG], regressions=[one]) for number, one in enumerate(lines)]
    path: Path = runs.page(*items, baseline=runs.baseline, **changes)
    return path


def four(runs: Any) -> list[Any]:
    line = partial(runs.regression, lines=4)
    missing = {"left_out": {"audio": 40, "only_here": 3}, "examples": {"audio": ["s1", "s2"], "only_here": ["s9"]}}
    return [line("pass", -0.01), line("inconclusive", 0.02), line("not_comparable", **missing), line("regressed", 0.05)]


def test_the_overall_verdict_stands_above_all_tables(runs: Any, opened: Any) -> None:
    page = opened(held(runs, *four(runs), exit_status=1)).page
    assert page.locator("main > section:visible").nth(1).get_attribute("id") == "changes"
    said = page.locator("#heading .overall").inner_text()
    assert said == (
        "✗ Regressed. 1 of 4 comparisons regressed, 1 not comparable, 1 inconclusive, 1 pass. "
        "Hear the samples that flipped (audiobench inspect 2026-11-20-nightly --changed) before anything is merged."
    )
    assert "baselines/main.json · of listener = hf:checkpoints/step-1000" in page.locator("#heading").inner_text()


def test_the_foot_names_every_file_that_lies_beside_the_page(runs: Any, opened: Any) -> None:
    page = opened(held(runs, *four(runs))).page
    assert "scored_predictions.jsonl, compared_predictions.jsonl (every sample)" in page.locator("#footer").inner_text()


def test_lines_are_in_a_table_the_worst_first_with_every_number(runs: Any, opened: Any) -> None:
    page = opened(held(runs, *four(runs)))
    rows = [re.sub(r"\s+", " ", row) for row in page.page.locator("#changes tbody tr.joined").all_inner_texts()]
    assert [row.split(" eval")[0] for row in rows] == ["✗ regressed", "≠ not comparable", "? inconclusive", "✓ pass"]
    for text in ("80.0 % → 75.0 %", "−5.0 pp", "−7.0 to −3.0", "6.7 pp", "margin 1.0 pp", "0.0004"):
        assert text in rows[0]
    for text in ("level 0.013", "Holm 0.0016", "21 worse 9 better of 300 pairs 120 clusters", "5.0 pp"):
        assert text in rows[0]
    heads = page.page.locator("#changes th[scope=col]")
    assert "At most worse by\none-sided 95 %" in heads.all_inner_texts()
    assert str(heads.last.get_attribute("title")).startswith("minimum detectable effect: the smallest drop")
    assert page.complaints == []


def test_a_line_tells_why_and_names_what_is_in_no_pair(runs: Any, opened: Any) -> None:
    page = opened(held(runs, *four(runs))).page
    told = page.locator("#changes tbody tr.details").all_inner_texts()
    assert "regressed because of its numbers" in told[0]
    assert "the data set is another" in told[1]
    assert "40 have other audio than in the baseline: s1, s2, …" in told[1]
    assert "3 are not in the baseline: s9, …" in told[1]


def test_drops_are_drawn_against_their_margin(runs: Any, opened: Any) -> None:
    page = opened(held(runs, *four(runs))).page
    drawing = page.locator("#changes svg[role=img]")
    drawing.wait_for()
    assert drawing.count() == 1
    assert drawing.locator("title", has_text="regressed because of its numbers").count() == 2
    left, margin, right = page.evaluate(
        """(() => {
          const all = document.querySelector("#changes svg[role=img]");
          const middle = (one) => one.getBoundingClientRect().left + one.getBoundingClientRect().width / 2;
          const signs = [...all.querySelectorAll("path[transform]")].filter((one) => one.querySelector("title"));
          const at = signs.map(middle).sort((one, other) => one - other);
          return [at[0], middle(all.querySelector("[stroke-dasharray] path")), at[at.length - 1]];
        })()"""
    )
    assert left < margin < right


def test_an_eval_without_a_line_is_named(runs: Any, opened: Any) -> None:
    items = [
        runs.item(0, "held", [RIGHT], regressions=[runs.regression("pass", 0.0)]),
        runs.item(1, "new", [RIGHT]),
        runs.item(2, "silence", [RIGHT], control=True),
    ]
    page = opened(runs.page(*items, baseline=runs.baseline)).page
    assert "Measured, not compared with the baseline: new." in page.locator("#changes").inner_text()


def test_a_run_without_a_baseline_has_no_such_section(runs: Any, opened: Any) -> None:
    page = opened(runs.page(runs.item(0, "a", [RIGHT]))).page
    assert not page.locator("#changes").is_visible()
    assert "Baseline" not in page.locator("#heading").inner_text()


@pytest.mark.parametrize(
    ("status", "q", "said"),
    [("regressed", None, "✗ regressed"), ("inconclusive", None, "? inconclusive"), ("pass", 0.001, "▲ improved")],
)
def test_the_table_of_evals_has_the_verdict_too(runs: Any, opened: Any, status: str, q: float, said: str) -> None:
    page = opened(held(runs, runs.regression(status, 0.02, q_better=q))).page
    assert said in page.locator("#results tbody tr").first.inner_text()
    assert said in page.locator("#verdicts tbody tr").first.inner_text()


def test_of_many_lines_those_that_pass_are_folded(runs: Any, opened: Any) -> None:
    lines = [runs.regression("pass", -0.01) for _ in range(24)] + [runs.regression("regressed", 0.05)]
    page = opened(runs.page(runs.item(0, "a", [RIGHT], regressions=lines), baseline=runs.baseline)).page
    rows = page.locator("#changes tbody tr.joined")
    assert rows.count() == 1
    page.get_by_text("24 lines pass").click()
    rows.nth(24).wait_for()
    assert rows.count() == 25


def test_flips_lead_to_the_samples_that_flipped(runs: Any, opened: Any) -> None:
    items = [runs.item(number, f"eval-{number}", [RIGHT] * 3 + [WRONG] * 2) for number in range(2)]
    items[0].regressions = [runs.regression("regressed", 0.05, worse=2, better=0)]
    changes = ["same"] * 3 + ["worse"] * 2
    compared = [runs.compared_row(*pair, text=None) for pair in zip(items[0].lines.scored, changes, strict=True)]
    page = opened(runs.page(*items, baseline=runs.baseline, compared=compared))
    page.page.locator("#changes").get_by_role("link", name="2 worse").click()
    page.page.get_by_text("2 of 10 samples").wait_for()
    assert page.complaints == []


@pytest.mark.parametrize("width", [360, 700, 800, 1200, 1280])
def test_the_table_fits_a_phone_a_tablet_and_a_laptop(runs: Any, browser: Any, width: int) -> None:
    path = held(runs, *four(runs))
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(path.as_uri())
    page.locator("#changes svg[role=img]").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate(
        "[...document.querySelectorAll('#changes .scroll')].every((one) => one.scrollWidth <= one.clientWidth)"
    )
    page.close()
