"""The smoke test of bioacoustics, run as a user runs it: what it lets through, and what it does not."""

import json

import pytest

from tests.benchmarks.miniatures import EVALS


@pytest.fixture(scope="module")
def smoke_run(tmp_path_factory, forks):
    """Runs the smoke test with a model: what was printed, and the run's folder."""

    def run(model):
        folder = tmp_path_factory.mktemp("smoke")
        (folder / "test_beans_smoke.py").write_bytes((EVALS / "test_beans_smoke.py").read_bytes())
        done = forks.pytest(["-p", "no:cacheprovider", "--rootdir=.", f"--ab-model={model}", "--ab-run=all"], folder)
        return done.stdout, folder / "reports" / "all"

    return run


def test_the_listener_passes_it_and_its_page_says_that_it_is_a_smoke_test(smoke_run):
    output, folder = smoke_run("baseline:listener")
    assert "3 passed" in output, output
    items = json.loads((folder / "run.json").read_text(encoding="utf-8"))["items"]
    tasks = ("captioning", "classification", "detection")
    assert sorted(item["dataset"] for item in items) == [f"beans_smoke/{task}" for task in tasks]
    for item in items:
        assert not item.get("published")
        assert any(warning.startswith("a smoke test: synthetic calls") for warning in item["warnings"])
    assert "a smoke test: synthetic calls" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_model_that_says_the_same_of_every_clip_fails_it(smoke_run):
    output, _ = smoke_run("baseline:majority")
    assert "2 failed, 1 passed" in output, output
