"""A folder of real runs behind a real server on loopback, in a real browser."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_audiobench.viewer.server import Viewer
from tests.browser import new_context

EVALS = """
import os, time
from pathlib import Path

from pytest_audiobench import multiple_choice, transcription
from pytest_audiobench.datasets.bundled import bundled

def test_digits(evaluate):
    evaluate(bundled("digits"), multiple_choice())

def test_words(evaluate):
    Path(f"begun-{os.environ.get('WAITS')}").write_text(str(os.getpid()))
    while "WAITS" in os.environ and not Path("go").exists():
        time.sleep(0.05)
    evaluate(bundled("transcription"), transcription())
"""
HABITS = ["-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio"]
HOSTILE = "<img src=x onerror=\"document.title='ran'\"></script><script>document.title='ran'</script>"


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, forks: Any) -> Path:
    """The folder of three runs: good, poor and short."""
    folder = tmp_path_factory.mktemp("viewed")
    (folder / "test_calls.py").write_text(EVALS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    for name, options in {"good": [], "poor": ["--ab-model=baseline:chance"], "short": ["--ab-limit=8"]}.items():
        done = forks.pytest([*HABITS, f"--ab-run={name}", *options], folder)
        assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of them, which a test may change."""
    return Path(shutil.copytree(made / "reports", tmp_path / "reports"))


@contextmanager
def serving(folder: Path) -> Iterator[Viewer]:
    with Viewer(folder, 0) as viewer:
        viewer.runs.rows(budget_s=600.0)  # the first page has them all, however slow the machine
        thread = threading.Thread(target=viewer.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield viewer
        finally:
            viewer.shutdown()
            thread.join()


@pytest.fixture
def viewer(folder: Path) -> Iterator[Viewer]:
    with serving(folder) as one:
        yield one


@pytest.fixture
def tab(browser: Any) -> Iterator[Any]:
    """A page of the browser; ``complaints`` has what its console and its errors said."""
    context = new_context(browser)
    page = context.new_page()
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    yield page
    context.close()
