"""The pictures in this folder, made of real runs of the bundled evals.

``python docs/images/make.py [FOLDER]`` runs ``pytest evals`` with the bundled listener, the faithfulness study of two
data sets, the gate of two bundled checkpoints and a track of four (ten minutes on two cores), opens their pages in
headless Chromium and takes the pictures again. The runs stay in FOLDER, where there is one, and are not asked again.
``scorers.png`` needs the recorded answers of ../shared; where they are absent it stays as it is.
"""

from __future__ import annotations

import html
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from markdown_it import MarkdownIt
from PIL import Image
from playwright.sync_api import sync_playwright
from safetensors.numpy import load_file, save_file

IMAGES = Path(__file__).parent
ROOT = IMAGES.parent.parent
CHECKPOINTS = "hf:fixtures/checkpoints"
STEPS = {100: "poor", 450: "middling", 2250: "good"}
"""The bundled checkpoints of one training; docs/comparing.md has a fourth, with noise in its weights."""
NOISY = 3000
RECORDED = ROOT.parent / "shared" / "data" / "recorded" / "af3" / "baseline_emotion_REAS.jsonl"
COLUMNS = 96
COLOURS = {"default": "#d6dae0", "red": "#ff7b72", "green": "#7ee787", "brown": "#e3b341", "cyan": "#76e3ea"}
"""Of a dark terminal, by pyte's names."""


PYTEST, VERB = [sys.executable, "-m", "pytest"], [sys.executable, "-m", "pytest_audiobench.cli"]
BUNDLED = [*PYTEST, "evals/test_bundled.py", "--ab-report-audio=flips"]
STUDY = "(digits or sounds) and (test_mask or test_noise or test_control)"


LIKE_GITHUB = """
body { font: 15px/1.5 Liberation Sans, Arial, sans-serif; color: #1f2328; margin: 24px }
h2 { border-bottom: 1px solid #d1d9e0; padding-bottom: .3em }
table { border-collapse: collapse }
td, th { border: 1px solid #d1d9e0; padding: 5px 11px }
tr:nth-child(2n) { background: #f6f8fa }
code { background: #eff1f3; border-radius: 5px; padding: .15em .35em; font-size: 85% }
"""


def clone(folder: Path) -> Path:
    """The folder, which looks like a clone of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("evals", "fixtures", "conftest.py", "pyproject.toml"):
        if not (folder / name).exists():
            (folder / name).symlink_to(ROOT / name)
    return folder


def runs(folder: Path) -> None:
    """The runs and pages under ``folder`` that are not there yet."""
    (folder / "checkpoints").mkdir(exist_ok=True)
    for step, name in STEPS.items():
        if not (place := folder / "checkpoints" / f"step-{step}").exists():
            place.symlink_to(ROOT / "fixtures" / "checkpoints" / name)
    noisy(ROOT / "fixtures" / "checkpoints" / "good", folder / "checkpoints" / f"step-{NOISY}")
    evals = ["-k", "digits or emotion or sound or transcription"]
    steps = {
        "all": [*PYTEST, "evals"],
        "faithfulness": [*PYTEST, "evals/test_faithfulness.py", "-k", STUDY],
        "good": [*BUNDLED, f"--ab-model=good={CHECKPOINTS}/good"],
        "main.json": [*VERB, "baseline", "update", "good", "--text", "--out", "main.json"],
        "gate": [*BUNDLED, f"--ab-model=middling={CHECKPOINTS}/middling", "--ab-baseline=main.json"],
        "poor": [*BUNDLED, f"--ab-model=poor={CHECKPOINTS}/poor", "--ab-baseline=main.json"],
        **{f"step-{n}": [*BUNDLED, *evals, f"--ab-model=hf:checkpoints/step-{n}"] for n in (*STEPS, NOISY)},
        "comment.md": [*VERB, "comment", "gate", "--out", "comment.md"],
        "track.html": [*VERB, "track", *(f"step-{n}" for n in (*STEPS, NOISY)), "--out", "track.html"],
    }
    if RECORDED.exists():
        steps["scorers"] = [*VERB, "score", str(RECORDED), "--published", "faithfulness/af3/emotion/repaired"]
        steps["scorers"] += ["--out", "scorers"]
    for name, command in steps.items():
        if not (folder / name).exists() and not (folder / "reports" / name).exists():
            named = [f"--ab-run={name}"] if command[: len(PYTEST)] == PYTEST else []
            # The gates fail, as they should.
            subprocess.run([*command, *named], cwd=folder, check=name not in ("gate", "poor"))


def noisy(checkpoint: Path, made: Path) -> None:
    """The checkpoint with noise of 0.6 times the standard deviation of each of its tensors."""
    if made.exists():
        return
    shutil.copytree(checkpoint, made)
    rng = np.random.default_rng(NOISY)
    tensors = load_file(made / "model.safetensors")
    for name in sorted(tensors):
        noise = rng.normal(0, 0.6 * tensors[name].std(), tensors[name].shape)
        tensors[name] = (tensors[name] + noise).astype(tensors[name].dtype)
    save_file(tensors, made / "model.safetensors", {"format": "pt"})


def shot(folder: Path, browser: Any, run: str, name: str, height: int = 900) -> None:
    """The first screen of a run's page."""
    opened(folder / "reports" / run / "report.html", browser, 1400, height).screenshot(path=IMAGES / name)


def opened(path: Path, browser: Any, width: int, height: int) -> Any:
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
    page.goto(path.resolve().as_uri())
    page.locator("h1").first.wait_for()
    return page


def unfolded(page: Any, section: str) -> Any:
    """A folded part of a report's page, opened."""
    page.locator(f"#{section} > details > summary, #{section} summary").first.click()
    return page.locator(f"#{section}")


def pictures(folder: Path, browser: Any) -> None:
    """Of reports: their first screens, a sample, and parts that are folded at first."""
    shot(folder, browser, "all", "results.png")
    shot(folder, browser, "poor", "gate.png")
    page = opened(folder / "reports" / "poor" / "report.html", browser, 1400, 960)
    for facet, value in (("Sound", "on this page"), ("Since the baseline", "worse")):
        page.get_by_role("group", name=facet).get_by_role("button", name=value).click()
    page.locator("canvas.sound[data-drawn]").first.wait_for()
    page.evaluate("document.getElementById('samples').scrollIntoView()")
    page.screenshot(path=IMAGES / "report.png")

    page = opened(folder / "reports" / "all" / "report.html", browser, 1200, 900)
    curve = unfolded(page, "perturbations").locator("figure", has_text="wer under white").first
    curve.screenshot(path=IMAGES / "perturbations.png")
    unfolded(page, "findings").locator("figure").first.screenshot(path=IMAGES / "findings.png")

    page = opened(folder / "reports" / "faithfulness" / "report.html", browser, 1100, 900)
    unfolded(page, "grid").locator(".grid").first.wait_for()
    box = page.locator("#grid").bounding_box()
    page.screenshot(path=IMAGES / "grid.png", clip={**box, "height": 800}, full_page=True)
    flips = unfolded(page, "flips")
    flips.locator(".flip canvas.sound[data-drawn]").first.wait_for()
    flips.locator(".flip").first.screenshot(path=IMAGES / "flipped.png")

    opened(folder / "track.html", browser, 1180, 1285).screenshot(path=IMAGES / "track.png")
    if (folder / "scorers").exists():
        page = opened(folder / "scorers" / "report.html", browser, 1200, 1100)
        unfolded(page, "scorers").screenshot(path=IMAGES / "scorers.png")


def comment(folder: Path, browser: Any) -> None:
    """The gate's comment, much as GitHub shows it."""
    text = MarkdownIt("gfm-like", {"linkify": False, "html": True}).render((folder / "comment.md").read_text())
    page = browser.new_page(viewport={"width": 930, "height": 900})
    page.set_content(f"<style>{LIKE_GITHUB}</style>{text}")
    page.screenshot(path=IMAGES / "comment.png", full_page=True)


def view(folder: Path, browser: Any) -> None:
    """The list of runs, two of them chosen, while one is running."""
    shown = clone(folder / "view")
    shutil.rmtree(shown / "reports", ignore_errors=True)
    for run in ("good", "gate"):
        shutil.copytree(folder / "reports" / run, shown / "reports" / run)
    (shown / "asked.sqlite").unlink(missing_ok=True)
    command = [*VERB, "view", "reports", "--port", "0"]
    running = [*BUNDLED, f"--ab-model=seed2={CHECKPOINTS}/good-seed2", "--ab-run=seed2", "--ab-store=asked.sqlite"]
    server = subprocess.Popen(command, cwd=shown, stdout=subprocess.PIPE, text=True)
    measured = subprocess.Popen(running, cwd=shown, stdout=subprocess.DEVNULL)
    try:
        address = next(word for line in server.stdout or () for word in line.split() if word.startswith("http://"))
        page = browser.new_page(viewport={"width": 1240, "height": 600})
        page.goto(address)
        running_now = page.get_by_text(re.compile("[1-6] of 7 evals done"))
        while measured.poll() is None and not running_now.count():
            page.wait_for_timeout(300)
            page.reload()
        for run in ("good", "gate"):
            link = page.get_by_role("link", name=run, exact=True)
            page.locator("tr", has=link).get_by_role("checkbox").check()
        page.evaluate("scrollTo(0, 0)")
        page.screenshot(path=IMAGES / "view.png")
    finally:
        for process in (measured, server):
            process.terminate()
            process.wait()


def terminal(folder: Path, browser: Any) -> None:
    """Two checkpoints side by side, as a terminal of :data:`COLUMNS` columns shows them."""
    sys.path.insert(0, str(ROOT))
    from tests.screen import pytest_on_a_terminal

    models = [f"--ab-model=step-1000={CHECKPOINTS}/middling", f"--ab-model=step-2000={CHECKPOINTS}/good"]
    # Nothing is known of them there.
    shown = clone(folder / "terminal")
    shutil.rmtree(shown / ".audiobench", ignore_errors=True)
    seen = pytest_on_a_terminal(["evals/test_bundled.py", *models], shown, COLUMNS)
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
                f"{html.escape(text.replace(str(shown), '/home/ada/audio'))}</span>"
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
        runs(clone(folder))
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        pictures(folder, browser)
        terminal(folder, browser)
        comment(folder, browser)
        view(folder, browser)
        for path in IMAGES.glob("*.png"):
            Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
