"""The documentation's site: what ``docs/conf.py`` makes of links, and a built site that is searched from a folder."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import new_context

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def conf():
    pytest.importorskip("sphinx")
    spec = importlib.util.spec_from_file_location("conf", ROOT / "docs" / "conf.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("target", "written"),
    [
        ("docs/judges.md", "../judges.md"),
        ("docs/README.md", "../index.md"),
        ("CHANGELOG.md", "../_repository/CHANGELOG.md"),
        ("examples/servers", "../_repository/examples/servers/README.md"),
        ("examples/ci/audiobench.yml", "../../examples/ci/audiobench.yml"),
        ("examples/pipelines", None),
    ],
)
def test_a_linked_file_has_a_place_in_the_site(conf, target, written):
    assert conf.place(ROOT / target, ROOT / "docs" / "models") == written


def test_links_are_changed_outside_of_code_and_keep_their_headings(conf):
    text = "[a](b.md#c) [`x`](y.md), `[a](b.md)`\n```\n[a](b.md)\n```\n[d](https://e.org/f.md)"
    changed = conf.relinked(text, lambda target: f"to/{target.name}", Path("docs"))
    assert changed == "[a](to/b.md#c) [`x`](to/y.md), `[a](b.md)`\n```\n[a](b.md)\n```\n[d](https://e.org/f.md)"


@pytest.mark.parametrize(
    ("html", "loads"),
    [
        ('<script src="https://cdn.example.org/a.js">', True),
        ('<link rel="stylesheet" href="//fonts.example.org/b.css">', True),
        ('<img alt="" src="http://example.org/c.png">', True),
        ('<a href="https://example.org">', False),
        ('<script src="_static/a.js">', False),
    ],
)
def test_what_a_page_would_load_from_another_host_is_seen(conf, html, loads):
    assert bool(conf.FOREIGN.search(html)) == loads


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_searched_without_a_server(conf, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Chromium")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "auto", "-b", "html", "docs"]
    subprocess.run([*command, str(tmp_path)], cwd=ROOT, env=dict(os.environ), check=True)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"], timeout=120_000)
        page = new_context(browser).new_page()
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{(tmp_path / 'search.html').as_uri()}?q=inferiority+margin")
        page.wait_for_selector("#search-results li")
        found = page.inner_text("#search-results")
        browser.close()
    assert "Glossary" in found
    assert [url for url in asked if not url.startswith("file:")] == []
