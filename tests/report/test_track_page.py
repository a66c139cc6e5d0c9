"""The page of a track in a real browser: what it shows, and that nothing from outside runs in it."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from pytest_audiobench.comparison.run_series import Names, Point
from pytest_audiobench.comparison.track import Curve, Key, Track
from pytest_audiobench.comparison.track_page import write_page
from pytest_audiobench.metrics.metric import Estimate
from pytest_audiobench.records.run import RegressionRecord
from tests.browser import new_context

HOSTILE = (
    "</script><script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">"
    "<a href=\"javascript:document.title='ran'\">x</a>{{data}} \u2028\u202e\x00\x1b[31m\ud800 "
)


def held(status: Any, drop: float, detail: str = "because") -> RegressionRecord:
    return RegressionRecord(
        status=status,
        metric="accuracy",
        scorer="letters",
        group={},
        unit="share",
        direction="higher",
        baseline=0.9,
        value=0.9 - drop,
        drop=drop,
        lower=drop - 0.05,
        upper=drop + 0.05,
        bound=drop + 0.04,
        margin=0.01,
        p=0.001,
        alpha=0.05,
        lines=3,
        detectable=0.06,
        pairs=100,
        clusters=None,
        worse=12,
        better=3,
        left_out={},
        examples={},
        method="paired t, 100 samples",
        detail=detail,
    )


def page(folder: Path, text: str = "", step: bool = True, **changes: Any) -> Path:
    """A track of three runs that ends with a significant drop; ``text`` is in every field that comes from
    outside.
    """
    points = [
        Point(
            folder / f"r{at}",
            Names(f"{text}step-{at}", f"hf:{text}step-{at}", f"{text}run-{at}"),
            f"2026-11-2{at}T09:00:00Z",
            False,
            100.0 * at if step else None,
        )
        for at in range(3)
    ]
    curve = Curve(
        Key("digits", f"{text}digits", "accuracy", f"{text}letters", False),
        "share",
        "higher",
        [Estimate(value, value - 0.05, value + 0.05, 100, "Wilson 95 %") for value in (0.5, 0.9, 0.7)],
        [None, held("pass", -0.4, text), held("regressed", 0.2, f"{text}20.0 pp worse")],
        best=1,
        last=2,
        since_best=held("regressed", 0.2, f"{text}20.0 pp worse"),
    )
    values: dict[str, Any] = {"curves": [curve], "notes": [f"{text}left out"]}
    one = Track(f"hf:{text}step-*", points, alpha=0.05, max_drop="1pp", comparisons=3, **(values | changes))
    path = folder / "track.html"
    write_page(path, one)
    return path


def test_a_track_opens_from_disk_with_its_curve_and_its_drop(opened: Any, tmp_path: Path) -> None:
    one = opened(page(tmp_path))
    assert one.page.locator("h1").inner_text() == "hf:step-*"
    assert "1 significant drop between neighbours" in one.page.locator(".overall").inner_text()
    one.page.wait_for_selector("figure.plot svg")
    plot = one.page.locator("#curves figure.plot svg[role=img]").first
    written = plot.inner_text() if plot.evaluate("node => node.innerText !== undefined") else plot.text_content()
    for text in ("best", "last", "✗", "step"):
        assert text in written
    assert "✗ regressed" in one.page.locator("#ends").inner_text()
    assert one.complaints == []


def test_the_numbers_stand_in_a_table_for_those_who_see_no_picture(opened: Any, tmp_path: Path) -> None:
    one = opened(page(tmp_path))
    one.page.locator("#numbers summary").click()
    rows = one.page.locator("#numbers tbody tr")
    rows.first.wait_for()
    assert rows.count() == 3
    assert re.search(
        r"200 last\s+70\.0 %\s+65\.0 to 75\.0\s+100\s+−20\.0\s+−25\.0 to −15\.0\s+12 / 3", rows.nth(2).inner_text()
    )


def test_a_track_by_time_has_dates_below_it(opened: Any, tmp_path: Path) -> None:
    one = opened(page(tmp_path, step=False))
    one.page.wait_for_selector("figure.plot svg")
    assert "when the run finished (UTC)" in one.page.locator("#curves svg[role=img]").first.text_content()
    assert one.complaints == []


def test_nothing_from_outside_runs_in_the_page(opened: Any, tmp_path: Path) -> None:
    path = page(tmp_path, HOSTILE)
    one = opened(path)
    one.page.wait_for_selector("figure.plot svg")
    for box in one.page.locator("summary").all():
        box.click()
    for link in one.page.locator("a").all():
        assert (link.get_attribute("href") or "").startswith("#")
    assert one.page.title() != "ran"
    assert one.page.locator("script").count() == 3
    assert one.page.locator("img").count() == 0
    assert "</script><script>document.title" in one.page.locator("h1").inner_text()
    assert one.complaints == []


def test_a_curve_without_numbers_or_intervals_is_drawn_all_the_same(opened: Any, tmp_path: Path) -> None:
    bare = [Estimate(float("nan"), None, None, 0, "no samples"), None, Estimate(0.5, None, None, 1, "no interval: 1")]
    curve = Curve(Key("s", "s/e", "accuracy", "letters", False), "share", "higher", bare, [None] * 3, best=2, last=2)
    nothing = Curve(Key("s", "s/f", "accuracy", "letters", False), "", "lower", [None] * 3, [None] * 3)
    one = opened(page(tmp_path, curves=[curve, nothing]))
    one.page.wait_for_selector("figure.plot svg")
    assert one.page.locator("#curves figure.plot").count() == 2
    assert one.complaints == []


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 360)])
def test_axe_finds_nothing_serious(browser: Any, tmp_path: Path, scheme: Any, width: int) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    context = new_context(browser, offline=True, color_scheme=scheme, viewport={"width": width, "height": 800})
    shown = context.new_page()
    shown.goto(page(tmp_path).as_uri())
    shown.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    shown.wait_for_selector("figure.plot svg")
    shown.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    found = shown.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
    context.close()


def test_the_page_is_light_enough_to_send(tmp_path: Path) -> None:
    assert page(tmp_path).stat().st_size < 400_000
