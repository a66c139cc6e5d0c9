"""Answers of earlier runs by servers whose weights change behind one name, under a gate and without one."""

import contextlib
import datetime
import importlib.util
import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="needs httpx (pip install 'pytest-audiobench[openai]')")

SERVER = Path(__file__).parent / "weights_server.py"
RULE = '[[threshold]]\neval = "tones"\nrequire = ["accuracy >= 0.9"]\n'
REQUIRES = """
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
    evaluate.require("accuracy >= 0.9")
"""
REQUIRES_BY_A_HELPER = """
from pytest_audiobench import manifest, multiple_choice

def demand(evaluate):
    evaluate.require("accuracy >= 0.9")

def test_tones(evaluate):
    evaluate(manifest("data/tones.jsonl"), multiple_choice())
    demand(evaluate)
"""

DECLARED = """
protocol = "multiple_choice"
parameters.tone = ["tone-0", "tone-1"]
[data]
rows = "tones.jsonl"
where = { id = "{tone}" }
[sample]
id = "{id}"
audio = "{audio}"
question = "{question}"
choices = "{choices}"
answer = "{answer}"
"""


def _weights_server():
    spec = importlib.util.spec_from_file_location("weights_server", SERVER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Loaded before any test, as the laboratory is.
SERVERS = _weights_server()


class Lab:
    """The evals of forty tones, and a server for them."""

    def __init__(self, suite, server):
        self.suite, self.server, self.path = suite, server, suite.path

    def load(self, weights):
        self.server.weights.write_text(weights)

    def spec(self, kind="openai", **options):
        server = f"{sys.executable} {SERVER} --port {{port}} --weights {self.server.weights}"
        openai = {"probe": "no", "concurrency": "1"}
        target, own = {
            "openai": ("openai:m", {"base_url": f"{self.server.url}/v1", **openai}),
            "http": (f"http:{self.server.url}", {}),
            "served openai": ("openai:m", {"serve": server, **openai}),
            "served http": ("http:m", {"serve": server}),
        }[kind]
        return ",".join([f"m={target}", *(f"{key}={value}" for key, value in {**own, **options}.items())])

    def run(self, *args, kind="openai", **options):
        """The exit code, and how many questions a server in this process was asked."""
        before = self.server.count
        self.ran = self.suite.run(*args, model=self.spec(kind, **options))
        return self.ran.ret, self.server.count - before

    @property
    def last_line(self):
        """The last line of the run's own, which tells where the answers came from."""
        return next(line for line in reversed(self.ran.outlines) if line.startswith("answers:"))

    @property
    def record(self):
        return self.suite.last()[0]

    def keep_baseline(self):
        assert self.suite.audiobench("baseline", "update", self.suite.last()[1]).returncode == 0
        (file,) = (self.path / "baselines").iterdir()
        return f"--ab-baseline={file}"

    def stored(self):
        """How many answers the store holds."""
        with contextlib.closing(sqlite3.connect(self.path / ".audiobench" / "store.sqlite")) as store:
            return store.execute("SELECT count(*) FROM answer").fetchone()[0]

    def date(self, *days):
        """Write as if the stored answers were of these days in turn, with the digests that they would have."""
        from pytest_audiobench.evaluation import answer_store

        store = sqlite3.connect(self.path / ".audiobench" / "store.sqlite")
        store.create_function("row_digest", 5, answer_store._digest)
        with store:
            for place, (row,) in enumerate(store.execute("SELECT id FROM answer ORDER BY id").fetchall()):
                day = datetime.datetime.fromisoformat(f"{days[place % len(days)]}T12:00:00+00:00").timestamp()
                store.execute("UPDATE answer SET created = ? WHERE id = ?", (day, row))
            values = answer_store._VALUES["answer"]
            store.execute(f"UPDATE answer SET digest = row_digest({values})")
        store.close()


@pytest.fixture
def lab(tones):
    server = SERVERS.WeightsServer(tones.path / "weights.txt").start()
    lab = Lab(tones, server)
    lab.load("hearing")
    yield lab
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("kind", "workers"),
    [
        ("served openai", "-n0"),
        ("http", "-n2"),
        pytest.param("openai", "-n0", marks=pytest.mark.slow),
        pytest.param("served http", "-n0", marks=pytest.mark.slow),
    ],
)
def test_new_weights_behind_one_name_regress_against_the_baseline(lab, kind, workers):
    assert lab.run(workers, kind=kind)[0] == 0
    baseline = lab.keep_baseline()
    lab.load("deaf")
    assert lab.run(workers, baseline, kind=kind)[0] == 1
    assert lab.record["items"][0]["regressions"][0]["status"] == "regressed"
    assert lab.record["items"][0]["asking"]["asked"] == 40
    assert lab.last_line == "answers: 40 asked now, 0 from the store"


def test_new_weights_behind_one_name_fail_a_declared_threshold(lab):
    (lab.path / "audiobench.toml").write_text(RULE)
    assert lab.run() == (0, 40)
    lab.load("deaf")
    assert lab.run() == (1, 40)


@pytest.mark.parametrize("kept", [REQUIRES, REQUIRES_BY_A_HELPER])
def test_new_weights_behind_one_name_are_no_green_where_the_tests_code_requires(lab, kept):
    lab.suite.write(test_tones=kept)
    assert lab.run() == (0, 40)
    lab.load("deaf")
    assert lab.run()[0] == 1


def test_what_code_out_of_sight_requires_of_earlier_answers_is_not_checked_on_them(lab):
    lab.suite.write(test_tones=REQUIRES_BY_A_HELPER)
    lab.run()
    assert lab.run() == (1, 0)
    shown = " ".join(lab.ran.stdout.str().split())
    assert "accuracy >= 0.9 cannot be checked on answers from" in shown
    assert lab.run("--ab-refresh") == (0, 40)


def test_without_a_gate_earlier_answers_count_and_the_last_line_gives_their_days(lab):
    lab.run()
    lab.date("2026-11-20", "2026-11-22")
    lab.load("deaf")
    assert lab.run() == (0, 0)
    assert lab.last_line == "answers: 0 asked now, 40 from the store (of 2026-11-20 to 2026-11-22)"
    assert lab.record["answers"] == {
        "asked": 0,
        "stored": 40,
        "oldest": "2026-11-20",
        "newest": "2026-11-22",
        "canaries": [],
    }


def test_of_declared_evals_with_cases_earlier_answers_count_where_their_table_requires_nothing(lab):
    (lab.path / "test_tones.py").unlink()
    (lab.path / "data").rename(lab.path / "tones")
    declared = lab.path / "tones.audiobench.toml"
    declared.write_text(DECLARED)
    assert lab.run("--ab-data=tones=tones")[1] == 2
    assert lab.run("--ab-data=tones=tones") == (0, 0)
    declared.write_text(DECLARED.replace("[data]", 'require = ["accuracy >= 0.1"]\n[data]', 1))
    assert lab.run("--ab-data=tones=tones")[1] == 2


def test_workers_say_the_same_of_where_the_answers_came_from(lab):
    lab.run()
    lab.date("2026-11-20")
    lab.run("-n2")
    assert lab.last_line == "answers: 0 asked now, 40 from the store (of 2026-11-20)"


def test_the_page_and_the_comment_end_with_the_same_line(lab):
    lab.run()
    lab.date("2026-11-20")
    lab.run()
    folder = lab.suite.last()[1]
    assert lab.suite.audiobench("comment", folder, "--out", "comment.md").returncode == 0
    *_, answers, marker = (lab.path / "comment.md").read_text().strip().splitlines()
    assert marker.startswith("<!--")
    assert answers.replace("\\", "") == lab.last_line == "answers: 0 asked now, 40 from the store (of 2026-11-20)"
    assert f'"answers":"{lab.last_line}"' in (folder / "report.html").read_text()


def test_a_pinned_revision_counts_earlier_answers_and_another_one_asks_anew(lab):
    lab.run(revision="one")
    baseline = lab.keep_baseline()
    assert lab.run(baseline, revision="one") == (0, 0)
    assert lab.run(baseline, revision="two") == (0, 40)
    fingerprint = lab.record["models"][0]["fingerprint"]
    assert fingerprint["revision"] == "two"


@pytest.mark.parametrize("workers", ["-n0", "-n2"])
def test_reused_answers_pass_where_canaries_are_answered_alike(lab, workers):
    lab.run()
    hashes, baseline = lab.record["hashes"], lab.keep_baseline()
    lab.date("2026-11-20")
    assert lab.run(workers, baseline, "--ab-reuse") == (0, 40)
    (canary,) = lab.record["answers"]["canaries"]
    assert (canary["model"], canary["asked"], canary["differing"], canary["allowed"]) == ("m", 40, 0, 3)
    assert lab.last_line == ("answers: 0 asked now, 40 from the store (of 2026-11-20); 40 asked again: 0 differ, 3 may")
    assert lab.record["hashes"] == hashes


@pytest.mark.parametrize("weights", ["wordy", pytest.param("deaf", marks=pytest.mark.slow)])
def test_reused_answers_fail_the_gate_where_canaries_are_answered_otherwise(lab, weights):
    lab.run()
    baseline = lab.keep_baseline()
    lab.load(weights)
    assert lab.run(baseline, "--ab-reuse") == (1, 40)
    assert lab.record["answers"]["canaries"][0]["differing"] == {"deaf": 30, "wordy": 40}[weights]
    assert "the stored answers of m are not what it answers now" in lab.record["unmeasured"][0]
    shown = " ".join(lab.ran.stdout.str().split())
    assert "ask again with --ab-refresh" in shown
    # The command that the message names is the way out.
    assert lab.run(baseline, "--ab-reuse", "--ab-refresh") == (1 if weights == "deaf" else 0, 40)


def test_canaries_are_some_sixty_over_all_evals_of_a_run(lab):
    lab.suite.tones(120)
    lab.run("--ab-epochs=2")
    baseline = lab.keep_baseline()
    assert lab.run(baseline, "--ab-epochs=2", "--ab-reuse") == (0, 60)


def test_canaries_that_cannot_be_asked_are_the_instruments_failure(lab):
    lab.run(patience_s="0.1")
    baseline = lab.keep_baseline()
    lab.server.before_chat = lambda: lab.server.chats < 78
    assert lab.run(baseline, "--ab-reuse", patience_s="0.1") == (6, 38)


def kill_after(lab, answers, *args):
    """Run the evals; the process dies by kill -9 once its server is to give one answer more than so many, and these are
    written: the next request is on its way before they are.
    """
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--ab-model={lab.spec()}", *args]
    process = subprocess.Popen(command, cwd=lab.path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def before_chat():
        if lab.server.chats >= answers:
            while lab.stored() < answers:
                assert process.poll() is None
                time.sleep(0.02)
            os.kill(process.pid, signal.SIGKILL)
            return False
        return True

    lab.server.before_chat = before_chat
    assert process.wait() == -signal.SIGKILL
    lab.server.before_chat = lambda: True


def test_a_gated_run_that_was_killed_goes_on_and_asks_nothing_twice(lab):
    (lab.path / "audiobench.toml").write_text(RULE)
    kill_after(lab, 20)
    assert lab.run() == (0, 20)
    assert lab.last_line.startswith("answers: 20 asked now, 20 from the store (of ")
    resumed = lab.record["hashes"]
    # It has ended: what it and the killed one were answered is of earlier runs by now.
    assert lab.run() == (0, 40)
    assert lab.record["hashes"] == resumed


def test_a_gated_run_that_was_killed_goes_on_with_workers(lab):
    (lab.path / "audiobench.toml").write_text(RULE)
    kill_after(lab, 20)
    assert lab.run("-n2") == (0, 20)


def test_a_run_that_was_killed_at_another_commit_is_not_resumed(lab):
    (lab.path / "audiobench.toml").write_text(RULE)
    git = ["git", "-C", str(lab.path), "-c", "user.name=lab", "-c", "user.email=lab@example.org"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "one"], check=True)
    kill_after(lab, 20)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "two"], check=True)
    assert lab.run() == (0, 40)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    record = max((lab.path / "reports").glob("*/run.json"), key=lambda path: path.stat().st_mtime_ns)
    assert json.loads(record.read_text())["commit"] == head


def test_a_run_that_was_killed_days_ago_is_not_resumed(lab):
    (lab.path / "audiobench.toml").write_text(RULE)
    kill_after(lab, 20)
    lab.date("2026-11-01")
    assert lab.run() == (0, 40)


def test_a_gated_run_whose_server_broke_asks_only_what_is_missing_when_it_is_run_again(lab):
    (lab.path / "audiobench.toml").write_text(RULE)
    lab.server.before_chat = lambda: lab.server.chats < 38
    assert lab.run(patience_s="0.1") == (6, 38)
    lab.server.before_chat = lambda: True
    assert lab.run(patience_s="0.1") == (0, 2)


@pytest.mark.parametrize("option", [(), ("--ab-refresh",)])
def test_a_run_of_last_week_by_the_same_name_is_another_run(lab, option):
    (lab.path / "audiobench.toml").write_text(RULE)
    assert lab.run("--ab-run=gate", "--ab-reports=one") == (0, 40)
    lab.load("deaf")
    assert lab.run("--ab-run=gate", "--ab-reports=two", *option) == (1, 40)


@pytest.mark.parametrize(("passes_on", "asked_anew"), [(False, 0), (True, 40)])
def test_a_server_that_fingerprints_its_weights_and_not_a_name_needs_no_asking_anew(lab, passes_on, asked_anew):
    lab.server.info |= {"fingerprint": {"weights": "1234"}, "is_mere_name": passes_on}
    (lab.path / "audiobench.toml").write_text(RULE)
    assert lab.run(kind="http") == (0, 40)
    assert lab.run(kind="http") == (0, asked_anew)
    assert lab.record["models"][0]["is_mere_name"] is passes_on


@pytest.mark.parametrize("spec", ["openai:m", "http:http://127.0.0.1:9", "judge-scores:http://127.0.0.1:9/judge"])
def test_an_empty_revision_pins_nothing_and_is_a_usage_error(lab, spec):
    option = "--ab-judge" if spec.startswith("judge") else "--ab-model"
    ran = lab.suite.run(f"{option}={spec},revision=", model=None)
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    assert "revision= of an" in ran.stderr.str()


def test_a_server_is_asked_anew_by_shards_and_never_by_their_merge(lab):
    assert lab.run()[0] == 0
    baseline, places = lab.keep_baseline(), [lab.path / "shards" / f"{number}.sqlite" for number in (1, 2)]
    places[0].parent.mkdir()

    def ask():
        for place in places:
            shutil.copy(lab.path / ".audiobench" / "store.sqlite", place)
        return [lab.run(f"--ab-shard={number}/2", f"--ab-store=shards/{number}.sqlite", baseline) for number in (1, 2)]

    def merge(name):
        before = lab.server.count
        words = shlex.join([f"--ab-model={lab.spec()}", baseline, "-p", "no:cacheprovider"])
        done = lab.suite.audiobench("merge", "shards", "--run", name, "--pytest", words)
        assert lab.server.count == before
        return done.returncode

    statuses, asked = zip(*ask(), strict=True)
    assert statuses == (0, 0)
    assert sorted(asked) == [0, 40]
    assert merge("all") == 0
    # What was answered before the shards does not stand for one that is lost.
    shutil.copy(lab.path / ".audiobench" / "store.sqlite", places[asked.index(40)])
    assert merge("lost") == 6
