"""The jobs of examples/slurm under a stand-in for Slurm that really starts them."""

import importlib.util
import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SLURM, DUMMY = ROOT / "examples" / "slurm", ROOT / "examples" / "servers" / "dummy"
DIGITS = """
from pytest_audiobench import dataset, multiple_choice

def test_digits(evaluate):
    evaluate(dataset("bundled", "digits"), multiple_choice())
"""
LONGEST_S = 300


class Cluster:
    """A cluster of this machine: jobs, their shared folder, and the folder with the user's evals."""

    def __init__(self, folder):
        self.jobs, self.evals = folder / "jobs, it's mine", folder / "my evals"
        commands, self._states = folder / "commands", folder / "states"
        for place in (self.jobs, self.evals, commands, self._states):
            place.mkdir()
        (self.evals / "test_digits.py").write_text(DIGITS)
        (self.evals / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
        spec = importlib.util.spec_from_file_location("slurm", Path(__file__).with_name("slurm.py"))
        os.environ["SLURM_STAND_IN"] = str(self._states)
        slurm = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(slurm)
        slurm.install(commands)
        self.environ = {
            **os.environ,
            "PATH": f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "AB_JOBS": str(self.jobs),
            "AB_POLL_S": "0.1",
            "COLUMNS": "200",
        }

    def call(self, *command, **environ):
        """What a command printed that the user types in the folder with the evals."""
        return subprocess.run(
            command, cwd=self.evals, env={**self.environ, **environ}, check=True, capture_output=True, text=True
        ).stdout

    def submit(self, *arguments, **environ):
        return self.call(SLURM / "submit.sh", *arguments, **environ)

    def file(self, job, name):
        file = self._states / str(job) / name
        return file.read_text() if file.exists() else ""

    def wait(self, job, *states):
        """The job's exit code, once it has ended or is in one of ``states``."""
        self.until(lambda: self.file(job, "state") in (states or ("COMPLETED", "FAILED", "CANCELLED")))
        return int(self.file(job, "code") or 0)

    def until(self, holds):
        deadline = time.monotonic() + LONGEST_S
        while not holds():
            assert time.monotonic() < deadline, "\n".join(log.read_text() for log in self.jobs.glob("*.log"))
            time.sleep(0.05)

    def log(self, job):
        file = self.jobs / f"{job}.log"
        return file.read_text() if file.exists() else ""

    def run(self, name):
        return json.loads((self.evals / "reports" / name / "run.json").read_text())

    def close(self):
        for job in sorted(path.name for path in self._states.glob("[0-9]*")):
            if self.file(job, "state") in ("PENDING", "RUNNING"):
                self.call("scancel", job)
                self.wait(job)


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_STAND_IN", "")
    cluster = Cluster(tmp_path)
    yield cluster
    cluster.close()


def test_a_client_job_asks_the_serving_job_which_then_ends(cluster):
    said = cluster.submit(f"dummy={DUMMY}", "--", "-k", "digits", "--ab-limit=10")
    assert "serving job 101, client job 102, run reports/dummy-102" in said
    assert cluster.wait(102) == 0, cluster.log(102) + cluster.log(101)
    (item,) = cluster.run("dummy-102")["items"]
    assert (item["n"], item["errors"]) == (10, [])
    assert cluster.wait(101) == 0
    assert re.search(
        r"^job 101 serves at http://localhost:\d+\njob 101 ends: its client is done$", cluster.log(101), re.M
    )
    assert sorted(path.name for path in cluster.jobs.iterdir()) == ["101.log", "102.log", "token"]


def test_a_client_is_not_started_before_its_serving_job(cluster):
    busy = cluster.call("sbatch", "--parsable", "--wrap", "sleep 600").strip()
    waiting = ("--parsable", f"--dependency=afterany:{busy}")
    job = cluster.call("sbatch", *waiting, SLURM / "serve.sh", str(DUMMY)).strip()
    client = cluster.call("sbatch", "--parsable", f"--dependency=after:{job}", "--wrap", "true").strip()
    cluster.wait(busy, "RUNNING")
    assert [cluster.file(each, "state") for each in (job, client)] == ["PENDING", "PENDING"]
    cluster.call("scancel", busy)
    assert cluster.wait(client) == 0
    assert cluster.file(job, "state") == "RUNNING"


def test_two_models_are_served_beside_each_other_and_compared(cluster):
    cluster.submit(f"first={DUMMY}", f"second={DUMMY}", "--max-batch=4", "--", "-k", "digits", "--ab-limit=6")
    for job in range(101, 106):
        assert cluster.wait(job) == 0, cluster.log(job)
    addresses = [re.search(r"http://localhost:\d+", cluster.log(job))[0] for job in (101, 102)]
    assert len(set(addresses)) == 2
    assert re.search(r"^A  first, .* reports/first-103\nB  second, ", cluster.log(105), re.M), cluster.log(105)
    said = " ".join(cluster.log(105).split())
    assert "not worse (✓)" in said or "undecided (?)" in said


def test_one_client_may_ask_several_serving_jobs(cluster):
    jobs = [cluster.call("sbatch", "--parsable", SLURM / "serve.sh", str(DUMMY)).strip() for _ in range(2)]
    names = [f"{name}={job}" for name, job in zip(("first", "second"), jobs, strict=True)]
    after = f"--dependency=after:{':'.join(jobs)}"
    client = cluster.call("sbatch", "--parsable", after, SLURM / "client.sh", *names, "--", "--ab-limit=4").strip()
    cluster.until(lambda: cluster.file(client, "state") == "COMPLETED")
    assert [item["model"] for item in cluster.run(f"first-second-{client}")["items"]] == ["first", "second"]
    assert [cluster.wait(job) for job in jobs] == [0, 0]


def test_a_launcher_that_dies_before_it_serves_ends_the_client_in_one_sentence(cluster, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "serve.py").write_text("raise SystemExit('CUDA is not available')\n")
    cluster.submit(f"lab={broken}", "--", "-k", "digits")
    assert cluster.wait(101) == 1
    assert "CUDA is not available" in cluster.log(101)
    assert cluster.wait(102) == 6, cluster.log(102)
    sentence = (
        f"101.url has no URL: the launcher {broken} of job 101 on localhost ended with exit code 1; its log says why"
    )
    assert sentence in " ".join(cluster.log(102).split())


def test_a_serving_job_that_is_cancelled_ends_its_launcher_and_takes_its_address_back(cluster):
    job = cluster.call("sbatch", "--parsable", SLURM / "serve.sh", str(DUMMY)).strip()
    url = cluster.jobs / f"{job}.url"
    cluster.until(url.exists)
    token = cluster.jobs / "token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    cluster.call("scancel", job)
    assert cluster.wait(job) == 0
    assert sorted(path.name for path in cluster.jobs.iterdir()) == ["token"]


def test_a_command_is_a_launcher_too(cluster):
    command = ["python3", str(DUMMY / "serve.py"), "--host={host}", "--port={port}"]
    job = cluster.call("sbatch", "--parsable", SLURM / "serve.sh", *command).strip()
    cluster.until((cluster.jobs / f"{job}.url").exists)


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_launcher_is_told_of_the_file_with_the_hubs_token_where_only_its_user_can_read_it(cluster, tmp_path, mode):
    file = tmp_path / "config" / "huggingface" / "hf_token"
    file.parent.mkdir(parents=True)
    file.write_text("hf_secret")
    file.chmod(mode)
    cluster.environ |= {"XDG_CONFIG_HOME": str(tmp_path / "config"), "HF_HOME": str(tmp_path / "no-login")}
    for name in ("HF_TOKEN", "HF_TOKEN_PATH"):
        cluster.environ.pop(name, None)
    output = f"--output={cluster.jobs}/%j.log"
    job = cluster.call("sbatch", "--parsable", output, SLURM / "serve.sh", "sh", "-c", 'echo "told of $HF_TOKEN_PATH"')
    assert cluster.wait(job.strip()) != 0
    said = cluster.log(job.strip()) + (cluster.jobs / f"{job.strip()}.url").read_text()
    assert (f"told of {file}\n" in said) == (mode == 0o600)
    assert (f"failed: the key file {file} is not yours alone" in said) == (mode == 0o644)
    assert "hf_secret" not in said


def test_the_token_of_a_serving_job_stands_in_no_log_and_no_record(cluster):
    job = cluster.call(
        "sbatch", "--parsable", f"--output={cluster.jobs}/%j.log", SLURM / "serve.sh", str(DUMMY)
    ).strip()
    cluster.until((cluster.jobs / f"{job}.url").exists)
    token = (cluster.jobs / "token").read_text().strip()
    output = f"--output={cluster.jobs}/%j.log"
    client = cluster.call("sbatch", "--parsable", output, SLURM / "client.sh", f"a={job}", "--", "--ab-limit=4").strip()
    assert cluster.wait(client) == 0, cluster.log(client)
    files = [path for place in (cluster.jobs, cluster.evals) for path in place.rglob("*") if path.is_file()]
    assert len(files) > 4
    assert [path.name for path in files if token.encode() in path.read_bytes()] == ["token"]


WAITING = """
import sys
from pathlib import Path
sys.path.insert(0, {servers!r})
from template_server import Dummy, main

class Waiting(Dummy):
    max_batch = 8
    asked = 0

    def answer(self, questions):
        with open({log!r}, "a") as log:
            log.writelines(repr(question["messages"])[-60:] + "\\n" for question in questions)
        self.asked += len(questions)
        while self.asked > 68 and not Path({go!r}).exists():
            __import__("time").sleep(0.05)
        return super().answer(questions)

main(Waiting)
"""


@pytest.fixture
def halfway(cluster, tmp_path):
    """A client job, 102, 64 of whose questions are answered; the launcher of job 101 answers no other until there is
    the second file given. The first has a line for each question.
    """
    launcher, log, go = tmp_path / "launcher", tmp_path / "asked", tmp_path / "go"
    launcher.mkdir()
    (launcher / "serve.py").write_text(WAITING.format(servers=str(DUMMY.parent), log=str(log), go=str(go)))
    cluster.submit(f"lab={launcher}", "--", "-k", "digits")
    store = cluster.evals / ".audiobench" / "lab.sqlite"
    cluster.until(lambda: store.exists() and stored(store) >= 64)
    yield log, go
    go.touch()


def test_a_client_near_its_time_limit_reports_what_it_has_and_leaves_the_serving_job(cluster, halfway):
    _, go = halfway
    cluster.call("scancel", "--batch", "--signal=TERM", "102")
    assert cluster.wait(102) == 2, cluster.log(102)
    go.touch()
    assert cluster.run("lab-102")["exit_status"] == 2
    assert cluster.file(101, "state") == "RUNNING"
    again = cluster.call("sbatch", "--parsable", SLURM / "client.sh", "lab=101", "--", "-k", "digits").strip()
    assert cluster.wait(again) == 0
    assert cluster.run(f"lab-{again}")["items"][0]["n"] == 80
    assert cluster.wait(101) == 0


def test_a_client_that_is_requeued_asks_only_what_is_missing(cluster, halfway):
    log, go = halfway
    cluster.call("scontrol", "requeue", "102")
    go.touch()
    assert cluster.wait(102) == 0, cluster.log(102)
    (item,) = cluster.run("lab-102")["items"]
    assert (item["n"], item["errors"]) == (80, [])
    # Only what was on its way when the job was stopped is asked twice.
    assert len(log.read_text().splitlines()) < 80 + 64
    assert cluster.wait(101) == 0


def stored(store):
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
            return connection.execute("SELECT count(*) FROM answer").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


@pytest.mark.parametrize("words", [[], ["--"], ["examples/servers/dummy", "--", "-k", "digits"]])
def test_without_a_named_launcher_nothing_is_submitted(cluster, words):
    with pytest.raises(subprocess.CalledProcessError) as refused:
        cluster.submit(*words)
    assert refused.value.returncode == 2
    assert "submit.sh NAME=LAUNCHER" in refused.value.stderr
    assert cluster.call("squeue") == ""
