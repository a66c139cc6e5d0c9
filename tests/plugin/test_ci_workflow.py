"""The ready workflows for GitHub Actions: their very steps, run one after the other as a runner does.

A scratch repository holds an eval, a checkpoint and a baseline on its main branch; pull requests change the checkpoint.
Every ``run:`` of ``examples/ci/audiobench.yml`` and ``two-servers.yml`` is executed as it is written. What GitHub or
the network would do is stood in for: checkout by a clone, setup-python by the Python that runs this test, the cache and
the artifacts by folders, ``pip install`` by a command that checks what it is asked for, engines by servers that know
the answers, and ``gh`` by one that keeps comments in a file.
"""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tests.models.openai import peer as wire
from tests.plugin import lab

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "examples" / "ci" / "audiobench.yml"
TWO_SERVERS = WORKFLOW.with_name("two-servers.yml")
ARTIFACT = "https://github.com/lab/models/actions/runs/7/artifacts/1"
EVAL = """
from pytest_audiobench import dataset, multiple_choice

def test_digits(evaluate):
    evaluate(dataset("bundled", "digits"), multiple_choice())"""
PIP = """#!/bin/sh
test "$1" = install && case "$2" in "pytest-audiobench[hf]"|"pytest-audiobench[openai]") true;; *) false;; esac
"""
ENGINE = """#!{python}
# The command of an engine: a server that is wrong about so many of ten tones as its model's name says.
import importlib.util, json, pathlib, re, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

spec = importlib.util.spec_from_file_location("openai_peer", {peer!r})
peer = importlib.util.module_from_spec(spec)
spec.loader.exec_module(peer)
port = int(sys.argv[sys.argv.index("--port") + 1])
wrong = next(int(one.rpartition("-")[2]) for one in sys.argv if one.startswith("checkpoints/wrong-"))
rows = map(json.loads, pathlib.Path("data/tones.jsonl").read_text().splitlines())
rows = {{(row["choices"][0], n % 10): row for n, row in enumerate(rows)}}

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        peer._send(self, peer.Reply({{}}))

    def do_POST(self):
        call = peer._call(0, self, self.rfile.read(int(self.headers["Content-Length"])))
        said = "A"
        if not call.is_probe:
            tenth = round((call.heard[0] / 16000 - 0.2) * 100)
            row = rows[re.search(r"\\(A\\) (\\d+ Hz)", json.dumps(call.body["messages"]))[1], tenth]
            said = "ABCD"[(row["choices"].index(row["answer"]) + (tenth < wrong)) % 4]
        peer._send(self, peer.Reply(peer.completion(said, prompt=10 + sum(call.heard) // 640)))

    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
TONES = """
from pytest_audiobench import manifest, multiple_choice

def test_tones(evaluate):
    evaluate(manifest("../data/tones.jsonl"), multiple_choice())
"""
GH = """#!{python}
# gh api, for the comments of one pull request: list those that are ours, add one, change one.
import json, pathlib, sys
arguments, file = sys.argv[1:], pathlib.Path({comments!r})
comments = json.loads(file.read_text()) if file.exists() else []
assert arguments.pop(0) == "api", arguments
method = arguments[arguments.index("--method") + 1] if "--method" in arguments else "GET"
path = next(one for one in arguments if one.startswith("repos/lab/models/issues/"))
if method == "GET":
    assert path.endswith("/12/comments") and "--paginate" in arguments
    marked = [one for one in comments if "<!-- audiobench:comment -->" in one["body"]]
    print(*(one["id"] for one in marked if one["user"] == "github-actions[bot]"), sep="\\n")
    sys.exit()
body = pathlib.Path(next(one for one in arguments if one.startswith("body=@"))[6:]).read_text()
assert len(body) <= 65536
if method == "POST":
    assert path.endswith("/12/comments")
    comments.append({{"id": 100 + len(comments), "user": "github-actions[bot]", "body": body}})
else:
    assert method == "PATCH"
    next(one for one in comments if path.endswith(f"/comments/{{one['id']}}"))["body"] = body
file.write_text(json.dumps(comments))
"""


class Runner:
    """A runner of GitHub's for one repository: steps in order, files for their environment, outputs and summaries."""

    def __init__(self, folder, origin, workflow=WORKFLOW):
        self.folder, self.origin, self.workflow = folder, origin, workflow
        self.comments = folder / "comments.json"
        self.cached = folder / "cache"
        self.tools = tools = folder / "tools"
        tools.mkdir()
        for name, text in {"pip": PIP, "gh": GH.format(python=sys.executable, comments=str(self.comments))}.items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        for name in ("pytest", "audiobench"):
            module = "pytest" if name == "pytest" else "pytest_audiobench.cli"
            (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n')
            (tools / name).chmod((tools / name).stat().st_mode | stat.S_IXUSR)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST_", "AUDIOBENCH_", "GITHUB_"))
        }
        self.machine = kept | {
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "HF_HUB_OFFLINE": "1",
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": "lab/models",
        }

    def run(self, branch, **changes):
        """Run the workflow for a pull request of ``branch``; its result, output, summary and comment."""
        work = self.folder / f"work-{branch}"
        files = {
            name: self.folder / f"{branch}.{name}" for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
        }
        for file in files.values():
            file.write_text("")
        self.known = {
            "github.base_ref": "main",
            "github.token": "a-token",
            "github.event.pull_request.number": "12",
            "github.run_id": "7",
            "github.run_attempt": "1",
        }
        workflow = yaml.safe_load(self.workflow.read_text())
        job = workflow["jobs"]["gate"]
        shared = {**workflow["env"], **changes}
        failed, printed, done = False, [], []
        for step in job["steps"]:
            if failed and "always()" not in step.get("if", ""):
                continue
            added = dict(line.split("=", 1) for line in files["GITHUB_ENV"].read_text().splitlines())
            self.known |= {f"env.{name}": value for name, value in added.items()}
            own = {name: self.filled(str(value)) for name, value in {**shared, **step.get("env", {})}.items()}
            done.append(step["name"])
            if "uses" in step:
                self.stand_in(step, branch, work)
                continue
            where = {name: str(file) for name, file in files.items()} | {"GITHUB_WORKSPACE": str(work)}
            script = self.folder / "step.sh"
            script.write_text(step["run"])
            assert workflow["defaults"]["run"]["shell"] == "bash"
            ended = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
                cwd=work,
                env=self.machine | where | own | added,
                capture_output=True,
                text=True,
                timeout=1200,
            )
            printed += [ended.stdout, ended.stderr]
            failed |= ended.returncode != 0
        if (work / ".audiobench").exists():
            shutil.copytree(work / ".audiobench", self.cached, dirs_exist_ok=True)
        return Outcome(failed, "\n".join(printed), files["GITHUB_STEP_SUMMARY"].read_text(), done)

    def filled(self, text):
        """``text`` with its expressions put in; one that this runner does not know is an error."""
        return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda match: self.known[match[1]], text)

    def stand_in(self, step, branch, work):
        action, given = step["uses"].partition("@")[0], step.get("with", {})
        if action == "actions/checkout":
            git("clone", "--quiet", "--branch", branch, "--single-branch", str(self.origin), str(work), cwd=self.folder)
        elif action == "actions/setup-python":
            assert given["python-version"]
        elif action == "actions/cache":
            if self.cached.exists():
                shutil.copytree(self.cached, work / given["path"])
        elif action == "actions/upload-artifact":
            self.known[f"steps.{step['id']}.outputs.artifact-url"] = ""
            if (work / self.filled(given["path"])).exists():
                shutil.copytree(work / self.filled(given["path"]), self.folder / f"artifact-{branch}")
                self.known[f"steps.{step['id']}.outputs.artifact-url"] = ARTIFACT
        else:
            raise AssertionError(f"no stand-in for {action}")

    def posted(self):
        return json.loads(self.comments.read_text())


class Outcome:
    def __init__(self, failed, printed, summary, steps):
        self.failed, self.printed, self.summary, self.steps = failed, printed, summary, steps


def git(*arguments, cwd):
    who = ("-c", "user.name=lab", "-c", "user.email=lab@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *arguments], cwd=cwd, check=True, capture_output=True)


def commit(repository, branch, checkpoint):
    """A branch on which the candidate is another of the bundled checkpoints."""
    git("checkout", "--quiet", "-B", branch, "main", cwd=repository)
    shutil.rmtree(repository / "checkpoints")
    shutil.copytree(ROOT / "fixtures" / "checkpoints" / checkpoint, repository / "checkpoints" / "candidate")
    git("add", "--all", cwd=repository)
    git("commit", "--quiet", "--message", f"Try {checkpoint}", cwd=repository)


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    pytest.importorskip("torch", reason="the checkpoints need torch")
    pytest.importorskip("transformers", reason="the checkpoints need transformers")
    folder = tmp_path_factory.mktemp("github")
    repository = folder / "models"
    (repository / "evals").mkdir(parents=True)
    (repository / "evals" / "test_gate.py").write_text(EVAL)
    (repository / "pytest.ini").write_text("[pytest]\ntestpaths = evals\n")
    (repository / ".gitignore").write_text("__pycache__/\n.pytest_cache/\n")
    shutil.copytree(ROOT / "fixtures" / "checkpoints" / "good", repository / "checkpoints" / "candidate")
    made = Runner(folder, repository)
    made.machine.pop("GITHUB_ACTIONS")
    for command in (
        "pytest evals --ab-model=main=hf:checkpoints/candidate --ab-run=main -q",
        "audiobench baseline update main --text",
    ):
        done = subprocess.run(command.split(), cwd=repository, env=made.machine, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    made.machine["GITHUB_ACTIONS"] = "true"
    shutil.rmtree(repository / "reports")
    shutil.move(repository / ".audiobench", made.cached)
    git("init", "--quiet", cwd=repository)
    git("add", "--all", cwd=repository)
    git("commit", "--quiet", "--message", "A model, its evals and its baseline", cwd=repository)
    commit(repository, "poor", "poor")
    commit(repository, "seed2", "good-seed2")
    git("checkout", "--quiet", "main", cwd=repository)
    return made


def test_a_poor_checkpoint_fails_the_job_and_is_told_in_a_comment(runner):
    outcome = runner.run("poor")
    assert outcome.failed, outcome.printed
    [comment] = runner.posted()
    assert comment["body"].startswith("## ✗ audiobench: regressed – 1 of 1 line regressed")
    assert f"[Open the report](<{ARTIFACT}>)" in comment["body"]
    assert comment["body"].count("<br><code>") == 3
    assert "text not stored" not in comment["body"]
    assert "::error file=evals/test_gate.py,line=4,title=gate/digits (candidate)::✗ regressed" in outcome.printed
    assert outcome.summary.startswith(r"## ✗ gate\-1: regressed")
    assert (runner.folder / "artifact-poor" / "report.html").is_file()


def test_a_checkpoint_of_equal_quality_passes_and_the_comment_is_brought_up_to_date(runner):
    outcome = runner.run("seed2")
    assert not outcome.failed, outcome.printed
    [comment] = runner.posted()
    assert "regressed" not in comment["body"].splitlines()[0]
    assert "::error" not in outcome.printed


def test_only_what_could_not_be_asked_is_tried_again(runner):
    """An API that is away at first: exit code 6, and the second attempt asks for what is missing."""
    pytest.importorskip("httpx", reason="needs httpx (pip install 'pytest-audiobench[openai]')")
    repository, reports = runner.origin, runner.folder / "work-away" / "reports"
    git("branch", "--force", "away", "main", cwd=repository)
    peer = wire.Peer(lambda call: wire.Reply(wire.completion("A")))
    peer.stop()
    ended = threading.Event()

    def come():
        while not ended.wait(0.05) and not (reports / "gate-1" / "run.json").exists():
            pass
        peer.start()

    thread = threading.Thread(target=come)
    thread.start()
    model = f"candidate=openai:tiny,base_url={peer.url},patience_s=0.3,probe=no"
    try:
        outcome = runner.run("away", MODEL=model, RETRY_AFTER_S="1")
    finally:
        ended.set()
        thread.join()
        peer.stop()
    assert outcome.failed  # The stand-in knows no digits; but it was asked, the second time.
    assert f"{peer.url} cannot be reached" in outcome.printed
    asked = Counter(json.dumps(call.body) for call in peer.asked)
    assert set(asked.values()) == {1}
    assert (reports / "gate-2" / "run.json").exists()
    assert not (reports / "gate-3").exists()


def test_a_baseline_that_is_not_there_is_told_in_the_comment(runner):
    outcome = runner.run("main", BASELINE="origin/main:baselines/other.json")
    assert outcome.failed
    assert runner.posted()[0]["body"].startswith("## ✗ audiobench: no verdict")


def test_the_documentation_holds_the_workflow_as_it_is():
    for page, workflow in (("ci", WORKFLOW), ("two-servers", TWO_SERVERS)):
        assert f"```yaml\n{workflow.read_text()}```" in (ROOT / "docs" / f"{page}.md").read_text()


@pytest.fixture(scope="module")
def two_servers(tmp_path_factory):
    pytest.importorskip("openai", reason="needs the openai library (pip install 'pytest-audiobench[openai]')")
    folder = tmp_path_factory.mktemp("two")
    repository = folder / "models"
    (repository / "evals").mkdir(parents=True)
    (repository / "evals" / "test_gate.py").write_text(TONES)
    (repository / "pytest.ini").write_text("[pytest]\n")
    lab.make_tones(repository / "data", 40)
    git("init", "--quiet", cwd=repository)
    git("add", "--all", cwd=repository)
    git("commit", "--quiet", "--message", "Evals", cwd=repository)
    git("branch", "engine", cwd=repository)
    made = Runner(folder, repository, TWO_SERVERS)
    engine = ENGINE.format(python=sys.executable, peer=wire.__file__)
    module = folder / "modules" / "sglang" / "launch_server.py"
    module.parent.mkdir(parents=True)
    module.write_text(engine)
    (made.tools / "vllm").write_text(engine)
    (made.tools / "vllm").chmod(0o755)
    made.machine["PYTHONPATH"] += f"{os.pathsep}{folder / 'modules'}"
    return made


def test_two_served_models_of_which_one_is_worse_fail_the_job_and_the_comment_says_so(two_servers):
    outcome = two_servers.run("main", BASE="checkpoints/wrong-1", CANDIDATE="checkpoints/wrong-6")
    assert outcome.failed, outcome.printed
    [comment] = two_servers.posted()
    assert comment["body"].startswith("## ✗ audiobench: regressed – 1 of 1 line regressed")
    assert "the model base" in comment["body"]


@pytest.mark.slow
def test_two_equal_engines_pass(two_servers):
    same = "checkpoints/wrong-2"
    outcome = two_servers.run("engine", ENGINE="sglang", BASE=same, CANDIDATE=same, CANDIDATE_BIN="env ")
    assert not outcome.failed, outcome.printed
    assert "regressed" not in two_servers.posted()[0]["body"].splitlines()[0]
    assert (
        json.loads(next(two_servers.folder.glob("work-engine/reports/*/run.json")).read_text())["answers"]["asked"]
        == 80
    )
