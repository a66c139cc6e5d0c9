"""A server that is not ours, with a model that was trained: over HTTP it answers as it does in this process."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.models.hf.model import HfModel
from pytest_audiobench.models.openai.model import OpenAIModel

ROOT = Path(__file__).parents[3]
BUNDLED = ROOT / "fixtures" / "bundled"
CHECKPOINT = ROOT / "fixtures" / "checkpoints" / "good"
NEEDED = ("torch", "transformers", "httpx", "fastapi", "uvicorn", "multipart")
MISSING = [name for name in NEEDED if importlib.util.find_spec(name) is None]

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"`transformers serve` needs {', '.join(MISSING)}")


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    """The base URL of `transformers serve`, started for the tests and ended with them."""
    folder, port = tmp_path_factory.mktemp("serve"), free_port()
    # Without a cache folder some of the server's pages fail.
    (folder / "cache").mkdir()
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", "--device=cpu", "--host=127.0.0.1"]
    environment = {**os.environ, "HF_HUB_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, f"--port={port}"], env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        give_up = time.monotonic() + 300
        while not answers(f"http://127.0.0.1:{port}/health"):
            if process.poll() is not None or time.monotonic() > give_up:
                pytest.fail((folder / "log").read_text()[-2000:])
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def answers(url):
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5):
            return True
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False


@pytest.fixture(scope="module")
def spoken(ask_about):
    """Two dozen questions about bundled recordings: digits, and emotions in longer clips."""
    root = DataRoot("bundled", BUNDLED)
    asks = []
    for name in ("digits", "emotion"):
        for line in (BUNDLED / f"{name}.jsonl").read_text().splitlines()[:12]:
            row = json.loads(line)
            options = "\n".join(f"({letter}) {choice}" for letter, choice in zip("ABCD", row["choices"], strict=False))
            question = f"{row['question']}\n{options}\nAnswer with the letter of the correct option."
            heard = decode(Clip(FileSource(root, row["audio"])), 16_000, 3.0)
            asks.append(ask_about(question, heard, choices=row["choices"], max_new_tokens=16))
    return asks


@pytest.fixture(scope="module")
def in_process(spoken):
    model = HfModel(str(CHECKPOINT), {"device": "cpu", "dtype": "float32"})
    yield model.ask(spoken)
    model.close()


@pytest.mark.parametrize(
    "options", [{}, {"stream": "yes"}, {"format": "wav-float32"}], ids=["plain", "stream", "float"]
)
def test_the_same_answers_as_in_this_process(served, spoken, in_process, options):
    model = OpenAIModel(str(CHECKPOINT), {"base_url": served, "concurrency": "4", **options})
    try:
        responses = model.ask(spoken)
    finally:
        model.close()
    assert model.hearing.status == "proven"
    assert [(r.text, r.finish, r.error) for r in responses] == [(r.text, r.finish, r.error) for r in in_process]
    assert len({response.text for response in responses}) > 5
    assert [r.usage["prompt_tokens"] for r in responses] == [r.usage["prompt_tokens"] for r in in_process]
    if options.get("stream"):
        assert all(0 < response.first_token_s <= response.latency_s for response in responses)


@pytest.mark.slow
def test_a_whole_run_against_the_server_reaches_what_the_checkpoint_is_known_for(served, pytester):
    (pytester.path / "audiobench.toml").write_text('[[threshold]]\neval = "digits"\nrequire = ["accuracy >= 0.95"]\n')
    pytester.makepyfile(
        test_digits="""
        from pytest_audiobench import multiple_choice
        from pytest_audiobench.datasets.bundled import bundled

        def test_digits(evaluate):
            evaluate(bundled("digits"), multiple_choice())
        """
    )
    model = f"--ab-model=served=openai:{CHECKPOINT},revision=fixture,base_url={served}"
    quiet = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-p", "no:anyio")
    ran = pytester.runpytest_subprocess(model, "--ab-run=first", *quiet)
    ran.assert_outcomes(passed=1)
    ran.stdout.fnmatch_lines(["*note: 82 requests were sent to servers"])
    record = json.loads((pytester.path / "reports" / "first" / "run.json").read_text())
    accuracy = next(metric for metric in record["items"][0]["metrics"] if metric["name"] == "accuracy")
    assert (round(accuracy["value"] * accuracy["n"]), accuracy["n"]) == (79, 80)
    assert record["models"][0]["fingerprint"]["endpoint"] == served.replace("http://127.0.0.1", "loopback")
    assert record["notes"] == ["82 requests were sent to servers"]

    # Known answers are asked of nobody, not even to prove the hearing.
    again = pytester.runpytest_subprocess(model, "--ab-run=second", *quiet)
    again.assert_outcomes(passed=1)
    second = json.loads((pytester.path / "reports" / "second" / "run.json").read_text())
    assert second["notes"] == []
    assert second["hashes"]["run_hash"] == record["hashes"]["run_hash"]
