"""The documentation's site: ``sphinx-build -W --keep-going -j auto -b html docs build/site``.

The pages are plain Markdown that a Git host shows as it is; what only the site needs is done here. A page outside of
``docs`` that is linked (the README, examples) becomes a page of the site; any other file is a download.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = Path(__file__).parent
ROOT = DOCS.parent
COPIES = "_repository"
"""The folder within ``docs`` of the copies of pages that lie outside of it; git ignores it."""

project = "pytest-audiobench"
author = "The pytest-audiobench authors"
release = version = installed_version("pytest-audiobench")
html_title = f"{project} {version}"

extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design"]
exclude_patterns = ["README.md"]
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
highlight_language = "text"
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True
# Examples leave things out by "…", which no lexer knows.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False

CHILDREN = {
    "bioacoustics/README": ("bioacoustics/*",),
    "models": ("models/*",),
    "performance": ("performance/*",),
    "reference/README": ("reference/*",),
    "scorers/README": ("scorers/*",),
    "statistics": ("statistics/*",),
    "faithfulness": ("suites/faithfulness-*",),
    "suites": tuple(
        f"suites/{page}" for page in ("audio", "asr-*", "sound-id", "soundscape", "packs", "curves", "determinism")
    ),
}
"""Pages with further ones below them, as patterns."""

GALLERY = ROOT / "build" / "gallery"
"""Where ``docs/gallery.py`` leaves the pages of its runs."""

LINK = re.compile(r"(?P<text>\[[^\]\[]*\])\((?P<file>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
FOREIGN = re.compile(
    r"<(?:script|img|iframe|audio|video|source)\b[^>]*\bsrc=\"(?:https?:)?//|<link\b[^>]*\bhref=\"(?:https?:)?//"
)


def relinked(text: str, change: Callable[[Path], str | None], folder: Path) -> str:
    """``text`` with the files that it links outside of code as ``change`` has them; None leaves the words alone."""

    def link(found: re.Match[str]) -> str:
        if re.match(r"\w+:", found["file"]):
            return found[0]
        target = change(Path(os.path.normpath(folder / found["file"])))
        return found["text"][1:-1] if target is None else f"{found['text']}({target}{found['anchor'] or ''})"

    pieces = CODE.split(text)
    # A link's words may be code, which parts the link: it is put together again by a mark that no page holds.
    codes = pieces[1::2]
    marked = "".join(piece if number % 2 == 0 else f"\0{number // 2}\0" for number, piece in enumerate(pieces))
    return re.sub(r"\0(\d+)\0", lambda found: codes[int(found[1])], LINK.sub(link, marked))


def place(target: Path, folder: Path) -> str | None:
    """What a page of ``folder`` writes for ``target``, a file of the repository; None for a folder without a page."""
    if target.is_dir():
        target = target / "README.md"
        if not target.is_file():
            return None
    if target == DOCS / "README.md":
        target = DOCS / "index.md"
    elif target.suffix == ".md" and not target.is_relative_to(DOCS):
        target = DOCS / COPIES / target.relative_to(ROOT)
    return os.path.relpath(target, folder)


def copy_pages(app: Sphinx) -> None:
    """Makes pages of the Markdown files outside of ``docs`` that its pages lead to."""
    folder = DOCS / COPIES
    waiting = [path for path in DOCS.rglob("*.md") if not path.is_relative_to(folder)]
    made: dict[Path, str] = {}

    def follow(target: Path) -> str:
        target = target / "README.md" if target.is_dir() else target
        if target.suffix == ".md" and target.is_file() and not target.is_relative_to(DOCS) and target not in made:
            made[target] = ""
            waiting.append(target)
        return ""

    while waiting:
        page = waiting.pop()
        text = page.read_text(encoding="utf-8")
        relinked(text, follow, page.parent)
        if page in made:
            copy = folder / page.relative_to(ROOT)
            listed = f"{COPIES}/{page.relative_to(ROOT).with_suffix('')}\n" in (DOCS / "index.md").read_text("utf-8")
            parent = page.parent
            written = relinked(text, lambda target, at=copy.parent: place(target, at), parent)
            made[page] = written if listed else f"---\norphan: true\n---\n{written}"
    for copy in set(folder.rglob("*.md")) - {folder / page.relative_to(ROOT) for page in made}:
        copy.unlink()
    for page, text in made.items():
        copy = folder / page.relative_to(ROOT)
        if not copy.is_file() or copy.read_text(encoding="utf-8") != text:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text, encoding="utf-8")


def change_source(app: Sphinx, page: str, source: list[str]) -> None:
    """Leads what a page links to its place in the site, and hangs the pages of its folder below it."""
    folder = (DOCS / page).parent
    if not page.startswith(COPIES):
        source[0] = relinked(source[0], lambda target: place(target, folder), folder)
    if page == "gallery":
        source[0] = re.sub(r"^```bash\n.*?^```$", shown_page, source[0], flags=re.MULTILINE | re.DOTALL)
    if page.startswith("benchmarks/") and not page.endswith("README"):
        # A hundred entries would hide the others of the sidebar, and take half of the build.
        source[0] = f"---\norphan: true\n---\n{source[0]}"
    if page in CHILDREN:
        patterns = "\n".join(f"/{pattern}" for pattern in CHILDREN[page])
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n:glob:\n\n{patterns}\n```\n"


def shown_page(commands: re.Match[str]) -> str:
    """The commands of a section of the gallery, behind the page that they wrote, where it was made."""
    *_, name = re.findall(r"(?:--ab-run=|--out )([\w-]+)", commands[0])
    if not (GALLERY / f"{name}.html").is_file():
        return commands[0]
    picture = (GALLERY / f"{name}.png").is_file()
    shown = f'<img src="gallery/{name}.png" alt="The first screen of the page">' if picture else "Open the page"
    return f'<a href="gallery/{name}.html">{shown}</a>\n\n{commands[0]}'


def add_gallery(app: Sphinx, error: Exception | None) -> None:
    """Puts the pages of the gallery that were made into the site."""
    if error is None and app.builder.format == "html" and GALLERY.is_dir():
        (Path(app.outdir) / "gallery").mkdir(exist_ok=True)
        for made in (*GALLERY.glob("*.html"), *GALLERY.glob("*.png")):
            shutil.copyfile(made, Path(app.outdir) / "gallery" / made.name)


def check_pages(app: Sphinx, error: Exception | None) -> None:
    """Raises where a page of the site loads anything from another host."""
    if error is None and app.builder.format == "html":
        pages = Path(app.outdir).rglob("*.html")
        loading = [page.name for page in pages if FOREIGN.search(page.read_text(encoding="utf-8"))]
        if loading:
            raise ExtensionError(f"pages load from another host: {', '.join(loading)}")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", copy_pages)
    app.connect("source-read", change_source)
    app.connect("build-finished", add_gallery)
    app.connect("build-finished", check_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
