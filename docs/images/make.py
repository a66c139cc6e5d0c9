"""The pictures of the report and of the terminal in this folder, made of real runs of the bundled evals.

``python docs/images/make.py [FOLDER]`` runs ``pytest evals`` with the bundled listener and the gate of two bundled
checkpoints (three minutes on two cores), opens their pages in headless Chromium and takes the pictures again. The runs
stay in FOLDER, where there is one, and are not asked again.
"""

from __future__ import annotations

import html
import shutil
import subprocess
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent
ROOT = IMAGES.parent.parent
CHECKPOINTS = "hf:fixtures/checkpoints"
COLUMNS = 96
COLOURS = {"default": "#d6dae0", "red": "#ff7b72", "green": "#7ee787", "brown": "#e3b341", "cyan": "#76e3ea"}
"""Of a dark terminal, by pyte's names."""


def runs(folder: Path) -> None:
    """The runs ``all``, ``good`` and ``poor`` under ``folder``; ``poor`` is compared with ``good``, and regresses."""
    for name in ("evals", "fixtures", "conftest.py", "pyproject.toml"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    pytest, verb = [sys.executable, "-m", "pytest"], [sys.executable, "-m", "pytest_audiobench.cli"]
    bundled = [*pytest, "evals/test_bundled.py", "--ab-report-audio=flips"]
    steps = {
        "all": [*pytest, "evals", "--ab-run=all"],
        "good": [*bundled, f"--ab-model=good={CHECKPOINTS}/good", "--ab-run=good"],
        "main.json": [*verb, "baseline", "update", "good", "--text", "--out", "main.json"],
        "poor": [*bundled, f"--ab-model=poor={CHECKPOINTS}/poor", "--ab-run=poor", "--ab-baseline=main.json"],
    }
    for name, command in steps.items():
        if not (folder / name).exists() and not (folder / "reports" / name).exists():
            # The gate fails, as it should.
            subprocess.run(command, cwd=folder, check=name != "poor")


def pictures(folder: Path, browser: Any) -> None:
    def opened(run: str, height: int) -> Any:
        page = browser.new_page(viewport={"width": 1400, "height": height}, color_scheme="light")
        page.goto((folder / "reports" / run / "report.html").resolve().as_uri())
        page.locator("#results svg[role=img]").first.wait_for()
        return page

    opened("all", 900).screenshot(path=IMAGES / "results.png")
    opened("poor", 900).screenshot(path=IMAGES / "gate.png")
    page = opened("poor", 960)
    for facet, value in (("Sound", "on this page"), ("Since the baseline", "worse")):
        page.get_by_role("group", name=facet).get_by_role("button", name=value).click()
    page.locator("canvas.sound[data-drawn]").first.wait_for()
    page.locator("#samples").scroll_into_view_if_needed()
    page.evaluate("document.getElementById('samples').scrollIntoView()")
    page.screenshot(path=IMAGES / "report.png")


def terminal(folder: Path, browser: Any) -> None:
    """Two checkpoints side by side, as a terminal of :data:`COLUMNS` columns shows them."""
    sys.path.insert(0, str(ROOT))
    from tests.screen import pytest_on_a_terminal

    models = [f"--ab-model=step-1000={CHECKPOINTS}/middling", f"--ab-model=step-2000={CHECKPOINTS}/good"]
    seen = pytest_on_a_terminal(["evals/test_bundled.py", *models], folder, COLUMNS)
    rows = [*seen._screen.history.top, *(seen._screen.buffer[row] for row in range(seen._screen.lines))]
    lines = [f"<b>$ pytest evals/test_bundled.py {' '.join(models)}</b>".replace(" --ab", " \\\n      --ab")]
    for row in rows:
        cells = [row[column] for column in range(COLUMNS)]
        spans = (
            (style, "".join(cell.data for cell in same)) for style, same in groupby(cells, lambda c: (c.fg, c.bold))
        )
        lines.append(
            "".join(
                f'<span style="color:{COLOURS.get(colour, COLOURS["default"])};font-weight:{700 if bold else 400}">'
                f"{html.escape(text.replace(str(folder), '/home/ada/audio'))}</span>"
                for (colour, bold), text in spans
            )
        )
    page = browser.new_page(viewport={"width": 1000, "height": 900})
    page.set_content(
        "<body style='margin:0;background:#0d1117'><pre style='margin:0;padding:20px 24px;display:inline-block;"
        f"font:14px/1.35 DejaVu Sans Mono,monospace;color:{COLOURS['default']}'>{chr(10).join(lines).rstrip()}</pre>"
    )
    page.locator("pre").screenshot(path=IMAGES / "terminal.png")


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else made).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        runs(folder)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        pictures(folder, browser)
        terminal(folder, browser)
        for name in ("results", "gate", "report", "terminal"):
            path = IMAGES / f"{name}.png"
            Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
