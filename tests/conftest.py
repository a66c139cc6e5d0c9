"""What the tests share."""

import os

import pytest
from hypothesis import settings

from tests.browser import CHROMIUM, FLAGS
from tests.forks import Forks

pytest_plugins = ["pytester"]

# Models and batches here are tiny: torch's threads cost five times what they gain, and more beside other work.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# What a developer has fetched is not part of any test.
os.environ.update(AUDIOBENCH_DATA_ROOT=os.devnull)

# First imports and busy machines take longer than 200 ms; the tests time nothing.
# What gates a change draws the same examples each time; every other run looks for new ones.
settings.register_profile("unhurried", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def forks():
    """Runs of pytest in processes of their own."""
    forks = Forks()
    yield forks
    forks.close()


@pytest.fixture(scope="session")
def forks_with_torch():
    """The same, with what a run imports that loads a checkpoint."""
    pytest.importorskip("torch", reason="needs the extra hf")
    pytest.importorskip("transformers", reason="needs the extra hf")
    qwen2_audio = "transformers.models.qwen2_audio"
    own = [f"pytest_audiobench.models.hf.{name}" for name in ("loading", "generation", "processors")]
    forks = Forks(*own, f"{qwen2_audio}.modeling_qwen2_audio", f"{qwen2_audio}.processing_qwen2_audio")
    yield forks
    forks.close()


@pytest.fixture(scope="module")
def browser():
    """One for the tests of a module: of a thread one at a time, beside which no other loop of asyncio can run."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=120_000)
        yield running
        running.close()
