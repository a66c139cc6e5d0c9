"""The ready files for runs on many machines: their very steps, what Slurm, GitHub and GitLab do is stood in for.

Each job has its own folder, as on its own machine; artifacts are folders, and ``pip install`` is a command
that checks what it is asked for.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from .test_slurm import SLURM, Cluster

ROOT = Path(__file__).parents[2]
CI = ROOT / "examples" / "ci"
EVALS = """
from pytest_audiobench import dataset, multiple_choice

def test_digits(evaluate):
    evaluate.require("accuracy >= 0.5")
    evaluate(dataset("bundled", "digits"), multiple_choice())

def test_speech_presence(evaluate):
    evaluate(dataset("bundled", "speech_presence"), multiple_choice())
"""
PIP = """#!/bin/sh
test "$1" = install && test "$2" = "pytest-audiobench[hf] @ git+https://github.com/OWNER/pytest-audiobench@TAG"
"""
ASKED = "evals --ab-model=baseline:listener -p no:cacheprovider"


class Machines:
    """Machines of a service for continuous integration; two, which are as good as many."""

    def __init__(self, folder):
        self.folder, self.artifacts = folder, folder / "artifacts"
        tools = folder / "tools"
        tools.mkdir()
        commands = {"pytest": "pytest", "audiobench": "pytest_audiobench.cli"}
        texts = {name: f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n' for name, module in commands.items()}
        for name, text in {**texts, "pip": PIP}.items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "AUDIOBENCH_", "GITHUB_"))}
        path = {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self.environ = {**clean, **path}

    def checkout(self, job):
        place = self.folder / job
        shutil.rmtree(place, ignore_errors=True)
        (place / "evals").mkdir(parents=True)
        (place / "evals" / "test_two.py").write_text(EVALS)
        (place / "pytest.ini").write_text("[pytest]\n")
        return place

    def run(self, script, place, **environ):
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=place,
            env={**self.environ, **environ},
            capture_output=True,
            text=True,
        )
        self.printed = done.stdout + done.stderr
        return done.returncode

    def keep(self, place, path, name):
        """Upload an artifact: a file, or a folder's content."""
        source, target = place / path, self.artifacts / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.exists():
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


class GitHub(Machines):
    """Runs the jobs of a workflow."""

    workflow = yaml.safe_load((CI / "shards.yml").read_text())

    def job(self, name, shard=None):
        known = {"matrix.shard": str(shard)}

        def filled(text):
            return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda match: known[match[1]], str(text))

        place, status = None, 0
        for step in self.workflow["jobs"][name]["steps"]:
            if status and "always()" not in step.get("if", ""):
                continue
            action, given = step.get("uses", "").partition("@")[0], step.get("with", {})
            if action == "actions/checkout":
                place = self.checkout(f"{name}-{shard}")
            elif action == "actions/upload-artifact":
                self.keep(place, filled(given["path"]), filled(given["name"]))
            elif action == "actions/download-artifact":
                for artifact in self.artifacts.glob(given["pattern"]):
                    shutil.copytree(artifact, place / given["path"] / artifact.name)
            elif action:
                assert action == "actions/setup-python"
            else:
                own = {key: filled(value) for key, value in {**self.workflow["env"], **step.get("env", {})}.items()}
                status = status or self.run(step["run"], place, **{**own, "EVALS": ASKED, "SHARDS": "2"})
        return status


class GitLab(Machines):
    """Runs the jobs of a pipeline."""

    pipeline = yaml.safe_load((CI / "gitlab-shards.yml").read_text())

    def job(self, name, shard=None):
        job, place = self.pipeline[name], self.checkout(f"{name}-{shard}")
        environ = {**self.pipeline["variables"], "EVALS": ASKED}
        if "parallel" in job:
            environ |= {"CI_NODE_INDEX": str(shard), "CI_NODE_TOTAL": "2"}
            assert job["parallel"] > 1
        if "needs" in job:
            assert job["needs"] == [{"job": "shard", "artifacts": True}]
            for artifact in self.artifacts.glob("shard-*"):
                shutil.copytree(artifact, place, dirs_exist_ok=True)
        status = self.run("\n".join(job["script"]), place, **environ)
        assert job["artifacts"]["when"] == "always"
        for path in job["artifacts"]["paths"]:
            path = path.replace("$CI_NODE_INDEX", str(shard))
            self.keep(place, path, f"{name}-{shard}/{Path(path).parent}")
        return status


@pytest.mark.parametrize("service", [GitHub, pytest.param(GitLab, marks=pytest.mark.slow)])
def test_the_jobs_of_a_matrix_are_judged_as_one_run(service, tmp_path):
    machines = service(tmp_path)
    for shard in (1, 2):
        assert machines.job("shard", shard) == 0, machines.printed
        assert f"shard {shard} of 2: not judged. Merge the shards." in machines.printed
    (late,) = machines.artifacts.glob("*-2")
    late.rename(tmp_path / "late")
    assert machines.job("merge") == 6
    assert "missing: shard 2 of 2" in machines.printed
    (tmp_path / "late").rename(late)
    assert machines.job("merge") == 0, machines.printed
    (run,) = machines.artifacts.glob("**/run.json")
    merged = json.loads(run.read_text())
    assert [(item["n"], item["asking"]["asked"]) for item in merged["items"]] == [(80, 0), (60, 0)]
    assert [verdict["status"] for verdict in merged["items"][0]["verdicts"]] == ["pass"]


def test_the_matrix_has_as_many_jobs_as_there_are_shards():
    numbers = GitHub.workflow["jobs"]["shard"]["strategy"]["matrix"]["shard"]
    assert numbers == list(range(1, int(GitHub.workflow["env"]["SHARDS"]) + 1))


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    monkeypatch.setenv("SLURM_STAND_IN", "")
    cluster = Cluster(tmp_path)
    (cluster.evals / "test_digits.py").unlink()
    (cluster.evals / "evals").mkdir()
    (cluster.evals / "evals" / "test_two.py").write_text(EVALS)
    cluster.environ |= {"AB_LOCAL": str(tmp_path), "AB_KEEP_S": "0.5"}
    yield cluster
    cluster.close()


def test_an_array_of_jobs_is_judged_by_the_job_behind_it(cluster):
    said = cluster.call(SLURM / "shards.sh", "3", *ASKED.split())
    array, merge = re.findall(r"job (\d+)", said)
    assert said == (
        f"3 shards: job {array}, logs {cluster.jobs}/{array}_*.log\n"
        f"merge: job {merge}, run reports/merged-{merge}, log {cluster.jobs}/{merge}.log\n"
        f"cancel: scancel {array} {merge}\n"
    )
    assert cluster.wait(merge) == 0, cluster.log(merge)
    assert [item["n"] for item in cluster.run(f"merged-{merge}")["items"]] == [80, 60]
    for task in (1, 2, 3):
        assert f"shard {task} of 3: not judged" in cluster.log(f"{array}_{task}")
    assert not list(cluster.jobs.parent.glob("audiobench-*"))


def test_a_task_that_was_cancelled_is_missed_and_asked_by_an_array_of_its_own(cluster):
    slow = cluster.evals / "conftest.py"
    slow.write_text(SLOW)
    command = (SLURM / "shards.sh", "3", "evals", "--ab-model=slow:listener", "-p", "no:cacheprovider")
    array, merge = re.findall(r"job (\d+)", cluster.call(*command))
    cluster.until(lambda: (cluster.evals / "held").exists())
    cluster.call("scancel", f"{array}_2")
    assert cluster.wait(f"{array}_2") != 0
    assert "shard 2 was stopped: what it was answered is kept" in cluster.log(f"{array}_2")
    assert cluster.wait(merge) == 6
    assert "shard 2 of 3" in cluster.log(merge)
    slow.write_text(SLOW.replace("HOLDS = True", "HOLDS = False"))
    cluster.call("sbatch", "--parsable", "--array=2", *command, AB_ARRAY=array)
    again = cluster.call("sbatch", "--parsable", *command, AB_ARRAY=array, AB_MERGE="yes").strip()
    cluster.until(lambda: cluster.file(f"{int(again) - 1}_2", "state") == "COMPLETED")
    cluster.wait(again)
    last = cluster.call("sbatch", "--parsable", *command, AB_ARRAY=array, AB_MERGE="yes").strip()
    assert cluster.wait(last) == 0, cluster.log(last)


def test_a_task_that_was_cancelled_before_pytest_made_its_store_is_missed(cluster):
    (cluster.evals / "conftest.py").write_text(EARLY)
    command = (SLURM / "shards.sh", "2", "evals", "--ab-model=baseline:listener", "-p", "no:cacheprovider")
    array, merge = re.findall(r"job (\d+)", cluster.call(*command))
    cluster.until(lambda: (cluster.evals / "imported").exists())
    cluster.call("scancel", f"{array}_2")
    assert cluster.wait(merge) == 6, cluster.log(merge)
    assert "shard 2 of 2" in cluster.log(merge)


EARLY = """
import sys
import time
from pathlib import Path

if "--ab-shard=2/2" in sys.argv:
    Path("imported").touch()
    time.sleep(600)
"""
SLOW = """
import os
import time
from dataclasses import replace
from pathlib import Path
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.spec import parse_spec

HOLDS = True

class Slow:
    batches = 0

    def __init__(self, target, options):
        self._model = make(parse_spec(f"baseline:{target}"))
        self.spec = f"slow:{target}"
        self.limits = replace(self._model.limits, max_batch=8)

    def __getattr__(self, name):
        return getattr(self._model, name)

    def ask(self, batch):
        Slow.batches += 1
        if HOLDS and Slow.batches > 1 and os.environ["SLURM_ARRAY_TASK_ID"] == "2":
            Path("held").touch()
            time.sleep(600)  # until it is cancelled, with its first batch in its store
        return self._model.ask(batch)

def pytest_audiobench_register(registration):
    registration.model("slow", Slow)
"""
