"""The pages of ``audiobench view`` as a reader meets them."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from pytest_audiobench.viewer.server import Viewer
from tests.browser import new_context, wait_until
from tests.viewer.conftest import HABITS, HOSTILE, serving


def names(tab: Any) -> list[str]:
    return [text.strip() for text in tab.locator("tr.run th a").all_inner_texts()]


def test_the_list_has_each_run_with_its_model_its_verdict_and_its_scores(viewer: Viewer, tab: Any) -> None:
    tab.goto(viewer.address)
    row = tab.locator("tr.run", has=tab.get_by_role("link", name="poor", exact=True))
    for text in ("chance", "measured", "calls", "150", "accuracy", "wer", "--ab-model=baseline:chance"):
        assert text in row.inner_text()
    assert tab.get_by_role("status").first.inner_text() == "3 runs"
    assert tab.complaints == []


def test_a_run_opens_as_its_report_with_its_sounds(viewer: Viewer, tab: Any) -> None:
    tab.goto(viewer.address)
    tab.get_by_role("link", name="poor", exact=True).click()
    tab.locator("audio").first.wait_for(state="attached")
    assert tab.title() == "chance: calls · poor · pytest-audiobench"
    wait_until(tab, "document.querySelector('audio').readyState > 0")
    assert tab.complaints == []


@pytest.mark.parametrize(
    ("search", "found"),
    [("chance", ["poor"]), ("calls/words --ab-limit=8", ["short"]), ("20", ["good", "poor", "short"]), ("nothing", [])],
)
def test_words_find_runs_by_model_eval_date_and_command(
    viewer: Viewer, tab: Any, search: str, found: list[str]
) -> None:
    tab.goto(viewer.address)
    tab.keyboard.press("/")
    tab.keyboard.type(search)
    wait_until(tab, f"document.querySelectorAll('tr.run').length === {len(found)}")
    assert sorted(names(tab)) == found


def test_the_list_is_sorted_and_filtered_and_the_way_back_leads_to_the_same(viewer: Viewer, tab: Any) -> None:
    tab.goto(viewer.address)
    tab.get_by_role("button", name="Samples").click()
    assert names(tab)[-1] == "short"
    tab.get_by_role("button", name="Samples").click()
    assert names(tab)[0] == "short"
    tab.get_by_label("Model", exact=True).first.select_option("listener")
    assert names(tab) == ["short", "good"]
    tab.get_by_role("link", name="good", exact=True).click()
    tab.wait_for_url("**/run/good/")
    tab.go_back()
    tab.locator("tr.run").first.wait_for()
    assert names(tab) == ["short", "good"]


def test_two_runs_are_compared_with_a_click(viewer: Viewer, tab: Any) -> None:
    tab.goto(viewer.address)
    tab.get_by_label("Choose poor").check()  # the newest is on top, so it is ticked first
    tab.get_by_label("Choose good").check()
    assert "Baseline good, compared with it: poor" in tab.locator("#chosen").inner_text()
    tab.get_by_role("link", name="Compare").click()
    tab.locator("#differences figure svg").first.wait_for()
    assert tab.locator("h1").inner_text() == "poor compared with good"
    assert "worse (✗) than good on 2 of 2 evals" in tab.locator(".overall").inner_text()
    assert "78.8" in tab.locator("#numbers").inner_text()
    assert tab.complaints == []


def test_runs_that_cannot_be_compared_are_a_sentence(folder: Path, tab: Any) -> None:
    record = json.loads((folder / "poor" / "run.json").read_text())
    for item in record["items"]:
        item["eval"] += "-other"
    (folder / "poor" / "run.json").write_text(json.dumps(record))
    with serving(folder) as viewer:
        tab.goto(f"{viewer.address}compare?run=good&run=poor")
        assert "no eval in common" in tab.get_by_role("alert").inner_text()
        tab.get_by_role("link", name="All runs").click()
        tab.locator("tr.run").first.wait_for()
        assert len(names(tab)) == 3


def test_a_model_is_tracked_over_the_runs_that_can_be_read(folder: Path, tab: Any) -> None:
    (folder / "broken").mkdir()
    (folder / "broken" / "run.json").write_text("{")
    (folder / "again").mkdir()
    for file in (folder / "good").iterdir():
        (folder / "again" / file.name).write_bytes(file.read_bytes())
    with serving(folder) as viewer:
        tab.goto(viewer.address)
        tab.get_by_text("Track one model over all runs").click()
        tab.locator("#track-model").fill("listener")
        tab.locator("#track-order").select_option("time")
        tab.get_by_role("button", name="Track", exact=True).click()
        tab.locator("#curves figure svg").first.wait_for()
        assert "short" in tab.locator("#heading").inner_text()  # left out, since it was limited
        assert tab.complaints == []


def test_a_broken_run_is_a_row_with_its_sentence(folder: Path, tab: Any) -> None:
    (folder / "old").mkdir()
    (folder / "old" / "run.json").write_text('{"schema": "audiobench.run/1"}')
    with serving(folder) as viewer:
        tab.goto(viewer.address)
        assert "another version of pytest-audiobench wrote" in tab.locator("tr.broken").inner_text()
        assert len(names(tab)) == 3


def test_a_run_without_a_page_is_drawn_and_nothing_is_written_into_its_folder(folder: Path, tab: Any) -> None:
    (folder / "good" / "report.html").unlink()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with serving(folder) as viewer:
        tab.goto(f"{viewer.address}run/good/")
        assert tab.title() == "listener: calls · good · pytest-audiobench"
        tab.goto(viewer.address)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_names_and_texts_from_outside_run_nowhere(folder: Path, tab: Any) -> None:
    name = HOSTILE.replace("/", "_")
    (folder / name / "parts").mkdir(parents=True)
    record = json.loads((folder / "poor" / "run.json").read_text())
    record["command"] = ["pytest", HOSTILE]
    for item in (*record["items"], *record["suites"], *record["models"]):
        for key in ("eval", "suite", "alias", "model", "name"):
            if key in item:
                item[key] = f"{item[key]}{HOSTILE}"
    (folder / "poor" / "run.json").write_text(json.dumps(record))
    with serving(folder) as viewer:
        tab.goto(viewer.address)
        tab.locator("tr.run").first.wait_for()
        assert any(HOSTILE in text for text in tab.locator("tr.run").all_inner_texts())
        assert tab.locator("img").count() == 0
        tab.get_by_role("link", name=name, exact=True).click()
        tab.wait_for_url("**/run/**")
        assert tab.locator("h1").inner_text() == name
        assert tab.title().startswith(name)
        assert tab.complaints == []


def test_a_run_is_followed_while_it_goes_on_and_told_from_one_that_was_killed(
    made: Path, tab: Any, forks: Any, tmp_path: Path
) -> None:
    reports = tmp_path / "reports"

    def start(name: str) -> threading.Thread:
        arguments = [*HABITS, f"--ab-run={name}", f"--ab-reports={reports}"]
        run = threading.Thread(target=forks.pytest, args=(arguments, made, {**os.environ, "WAITS": name}))
        run.start()
        while not (made / f"begun-{name}").exists() or not (made / f"begun-{name}").read_text():
            time.sleep(0.05)
        return run

    killed = start("killed")
    os.kill(int((made / "begun-killed").read_text()), signal.SIGKILL)
    killed.join()
    going = start("going")
    try:
        with serving(reports) as viewer:
            tab.goto(viewer.address)
            assert "! interrupted\n1 of 2 evals done" in tab.locator("tr.interrupted").inner_text()
            row = tab.locator("tr.running").inner_text()
            assert "▶ running" in row
            assert "1 of 2 evals done" in row
            assert "accuracy 100.0 %" in row
            tab.get_by_role("link", name="going").click()
            tab.wait_for_url("**/run/going/")
            assert "Running: 1 of 2 evals done, 80 samples." in tab.get_by_role("status").inner_text()
            assert "calls/words" in tab.locator("#waiting").inner_text()
            (made / "go").touch()
            going.join()
            wait_until(tab, "document.title.includes(' · going · ') && document.querySelector('#results')")
            assert sorted(path.name for path in (reports / "going").glob("*.json")) == ["run.json"]
            tab.goto(f"{viewer.address}run/killed/")
            assert "Interrupted: 1 of 2 evals done." in tab.get_by_role("status").inner_text()
            assert tab.complaints == []
    finally:
        (made / "go").touch()
        going.join()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 400)])
def test_axe_finds_nothing_serious(folder: Path, browser: Any, scheme: Any, width: int) -> None:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    (folder / "begun" / "parts").mkdir(parents=True)
    (folder / "old").mkdir()
    (folder / "old" / "run.json").write_text("{")
    context = new_context(browser, color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    with serving(folder) as viewer:
        for path in ("?run=good&run=poor", "run/begun/", "compare?run=good&run=poor&run=short", "compare"):
            page.goto(viewer.address + path)
            page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            # The page's own policy lets no other script in: this one comes by the browser's tools.
            page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
            found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
            assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == [], path
    context.close()
