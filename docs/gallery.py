"""Makes the gallery of the documentation: ``python docs/gallery.py [NAME …]``.

The commands of ``gallery.md`` are run in ``build/gallery/work``, a folder that looks like the clone. What the last one
of a section wrote, a run's page or the file behind ``--out``, becomes ``build/gallery/NAME.html``, with a picture of it
where Chromium and playwright are there. The next build of the site takes them along. Answers are kept between calls.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "build" / "gallery"
WORK = GALLERY / "work"
OF_THE_CLONE = ("evals", "fixtures", "conftest.py", "pyproject.toml")
CHROMIUM = Path("/usr/bin/chromium")


def sections(page: str) -> Iterator[tuple[str, str]]:
    """Of each section with commands what the file is called that they end with, and the commands."""
    for commands in re.findall(r"^```bash\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        *_, name = re.findall(r"--ab-run=([\w-]+)$|--out ([\w-]+)\.html$", commands, re.MULTILINE)
        yield name[0] or name[1], commands


def make(name: str, commands: str) -> None:
    """Runs the commands and keeps the page that they wrote; raises where they wrote none."""
    for run in re.findall(r"--ab-run=([\w-]+)", commands):
        shutil.rmtree(WORK / "reports" / run, ignore_errors=True)
    (WORK / f"{name}.html").unlink(missing_ok=True)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    # A gate that fails is one of the pages, so that no command's exit status stops the others.
    subprocess.run(["bash", "-c", commands], cwd=WORK, env=environment, check=False)
    written = [path for path in (WORK / f"{name}.html", WORK / "reports" / name / "report.html") if path.is_file()]
    if not written:
        raise SystemExit(f"no page was written by\n{commands}")
    shutil.copyfile(written[0], GALLERY / f"{name}.html")


def draw(pages: list[Path]) -> None:
    """A picture of the first screen of each page, beside it."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return
    if not CHROMIUM.exists():
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        view = browser.new_page(viewport={"width": 1400, "height": 900})
        for page in pages:
            view.goto(page.as_uri())
            view.wait_for_timeout(1000)
            view.screenshot(path=page.with_suffix(".png"))
        browser.close()


def main() -> None:
    WORK.mkdir(parents=True, exist_ok=True)
    for each in OF_THE_CLONE:
        if not (WORK / each).exists():
            (WORK / each).symlink_to(ROOT / each)
    wanted = dict(sections((ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")))
    for name in sys.argv[1:] or wanted:
        make(name, wanted[name])
    draw(sorted(GALLERY.glob("*.html")))


if __name__ == "__main__":
    main()
