"""Chromium, where it is installed, and waiting for what a page comes to."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--disable-component-update", "--disable-sync"]


def new_context(browser: Any, **options: Any) -> Any:
    """One that waits for a page, or for what is to be clicked, as long as a busy machine may need."""
    context = browser.new_context(**options)
    context.set_default_timeout(120_000)
    return context


def reload_until(page: Any, shown: Any) -> None:
    """Reload until what the page had stored is shown: Chromium writes it after the script that stored it went on."""
    error = pytest.importorskip("playwright.sync_api").TimeoutError
    for _ in range(24):
        page.reload()
        with suppress(error):
            return shown.wait_for(timeout=5_000)
    raise AssertionError(f"{shown} was not shown")


def wait_until(page: Any, condition: str) -> None:
    """Wait for a condition of JavaScript. Playwright's own way evaluates a text, which the pages' policy forbids."""
    error = pytest.importorskip("playwright.sync_api").Error
    for _ in range(2400):
        with suppress(error):  # the page may be left for another in the middle of it
            if page.evaluate(condition):
                return
        page.wait_for_timeout(50)
    raise AssertionError(f"{condition} did not come true")
