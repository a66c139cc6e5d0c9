"""axe-core finds nothing serious on the page. Skipped where axe-playwright-python, which carries it, is absent."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.browser import new_context

RIGHT, WRONG = ("(a) cat", "parsed", True), ("(b) dog", "parsed", False)
LOOP, REFUSED = ("b b b b b", "parsed", False), ("I cannot", "refused", False)


@pytest.fixture(scope="module")
def axe() -> str:
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def lenient(_: str, status: str, right: bool) -> tuple[str, bool | None]:
    return "parsed", right or status == "refused"


def full_page(runs: Any, with_baseline: bool) -> Path:
    """A page with every section."""
    line = runs.regression
    lines = [line("regressed", 0.05, 0.0), line("inconclusive", 0.02), line("pass", -0.01), line("not_comparable")]
    answers = [RIGHT] * 9 + [WRONG] * 3 + [LOOP] * 2 + [REFUSED]
    said = ["cat" if right else "dog" for _, _, right in answers]
    items = [
        runs.item(
            number,
            f"eval-{number // 2}",
            answers,
            model=f"model-{number % 2}",
            others=dict.fromkeys(("lenient", "third", "fourth", "fifth"), lenient),
            wording={"b b b b b": ("loop",)},
            truths=["cat"] * len(answers),
            said=said,
            group_of=lambda number: {"speaker": f"sp{number % 3}"},
            regressions=[lines[number]] if with_baseline else [],
        )
        for number in range(4)
    ]
    for model in ("model-0", "model-1"):
        ladder = runs.ladder((22, 14, 5), model=model, others=dict.fromkeys(("lenient",), lenient))
        ladder[2].flipped = (1, 20)
        items += ladder
    baseline = runs.baseline if with_baseline else None
    path: Path = runs.page(*items, baseline=baseline, notes=["a note"], exit_status=1, limit=15)
    return path


def serious(page: Any, axe: str) -> list[str]:
    # What observes sizes is told with a frame.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    told = [
        f"{one['impact']} {one['id']}: {one['nodes'][0]['html'][:200]} {one['nodes'][0]['failureSummary']}"
        for one in found["violations"]
    ]
    return [text for text in told if text.startswith(("serious", "critical"))]


@pytest.mark.parametrize("with_baseline", [False, True])
def test_axe_finds_nothing_serious(runs: Any, browser: Any, axe: str, with_baseline: bool) -> None:
    context = new_context(browser, offline=True)
    page = context.new_page()
    page.goto(full_page(runs, with_baseline).as_uri())
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.locator("#groups svg[role=img]").first.wait_for()
    page.locator("#perturbations svg[role=img]").first.wait_for()
    # Each scheme and each width, with a baseline and without.
    for scheme, width in (("light", 360), ("dark", 1280)) if with_baseline else (("dark", 360), ("light", 1280)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        assert not serious(page, axe), (scheme, width)
    context.close()


def test_axe_finds_nothing_serious_in_lists_that_are_cut(runs: Any, opened: Any, axe: str) -> None:
    page = opened(runs.page(*(runs.item(number, f"eval-{number}", [RIGHT, WRONG]) for number in range(70)))).page
    page.locator("#verdicts .finder").wait_for()
    assert not serious(page, axe)
