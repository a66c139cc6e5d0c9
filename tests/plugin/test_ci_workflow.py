"""The action and the ready workflows for GitHub, the component for GitLab: their very steps, run as a runner does.

A scratch repository holds an eval, a checkpoint and a baseline on its main branch; pull requests change the checkpoint.
Every ``run:`` of ``examples/ci/audiobench.yml``, of the ``action.yml`` that it uses, of ``two-servers.yml`` and of
``templates/audiobench.yml`` is executed as it is written. What GitHub, GitLab or
the network would do is stood in for: checkout by a clone, setup-python by the Python that runs this test, the cache and
the artifacts by folders, ``pip install`` by a command that checks what it is asked for, engines by servers that know
the answers, and ``gh`` by one that keeps comments in a file.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest
import yaml

from tests import release
from tests.models.openai import peer as wire
from tests.plugin import lab

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "examples" / "ci" / "audiobench.yml"
TWO_SERVERS = WORKFLOW.with_name("two-servers.yml")
ACTION = ROOT / "action.yml"
COMPONENT = ROOT / "templates" / "audiobench.yml"
GITLAB = WORKFLOW.with_name("gitlab.yml")
USED = "OWNER/pytest-audiobench@TAG"
ARTIFACT = "https://github.com/lab/models/actions/runs/7/artifacts/1"
EVAL = """
from pytest_audiobench import dataset, multiple_choice

def test_digits(evaluate):
    evaluate(dataset("bundled", "digits"), multiple_choice())"""
PIP = """#!/bin/sh
for what; do true; done
test "$1" = install && case "$what" in
  "{root}[hf]"|"pytest-audiobench[openai] @ git+https://github.com/OWNER/pytest-audiobench@TAG") true;; *) false;;
esac
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

    def __init__(self, folder, origin, workflow=WORKFLOW, package=ROOT, fresh=None):
        """``package`` is what the action installs; by pip itself where ``fresh``, an environment, takes the place of
        this process's Python.
        """
        self.folder, self.origin, self.workflow, self.package = folder, origin, workflow, package
        self.comments = folder / "comments.json"
        self.cached = folder / "cache"
        self.tools = tools = folder / "tools"
        tools.mkdir()
        texts = {"gh": GH.format(python=sys.executable, comments=str(self.comments))}
        if fresh is None:
            texts["pip"] = PIP.format(root=ROOT)
            for name, module in {"pytest": "pytest", "audiobench": "pytest_audiobench.cli"}.items():
                texts[name] = f'#!/bin/sh\nexec "{sys.executable}" -m {module} "$@"\n'
        for name, text in texts.items():
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST_", "AUDIOBENCH_", "GITHUB_"))
        }
        path = [str(tools), *([str(fresh)] if fresh else []), os.environ["PATH"]]
        self.machine = kept | {
            "PATH": os.pathsep.join(path),
            "PYTHONPATH": "" if fresh else os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "HF_HUB_OFFLINE": "1",
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": "lab/models",
        }

    def run(self, branch, **changes):
        """Run the workflow for a pull request of ``branch``; its result, output, summary and comment.

        ``changes`` are inputs of the action, or variables of a workflow that does not use it.
        """
        work = self.folder / f"work-{branch}"
        files = {
            name: self.folder / f"{branch}.{name}" for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")
        }
        for file in files.values():
            file.write_text("")
        self.known = {
            "github.action_path": str(self.package),
            "github.base_ref": "main",
            "github.event.pull_request.head.repo.full_name": "lab/models",
            "github.event.pull_request.number": "12",
            "github.repository": "lab/models",
            "github.run_attempt": "1",
            "github.run_id": "7",
            "github.token": "a-token",
        }
        workflow = yaml.safe_load(self.workflow.read_text())
        shared = {**workflow.get("env", {}), **changes}
        failed, printed = False, []
        for step in self.steps(workflow["jobs"]["gate"], changes):
            condition = step.get("if", "success()")
            if not self.holds(condition if "always()" in condition else f"success() && ({condition})", failed):
                continue
            added = dict(line.split("=", 1) for line in files["GITHUB_ENV"].read_text().splitlines())
            self.known |= {f"env.{name}": value for name, value in added.items()}
            own = {name: self.filled(str(value)) for name, value in {**shared, **step.get("env", {})}.items()}
            if "uses" in step:
                self.stand_in(step, branch, work)
                continue
            where = {name: str(file) for name, file in files.items()} | {"GITHUB_WORKSPACE": str(work)}
            script = self.folder / "step.sh"
            script.write_text(step["run"])
            assert step.get("shell", workflow.get("defaults", {}).get("run", {}).get("shell")) == "bash"
            files["GITHUB_OUTPUT"].write_text("")
            ended = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
                cwd=work,
                env=self.machine | where | own | added,
                capture_output=True,
                text=True,
                timeout=1200,
            )
            outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
            self.known |= {f"steps.{step.get('id')}.outputs.{name}": value for name, value in outputs.items()}
            printed += [ended.stdout, ended.stderr]
            failed |= ended.returncode != 0
        if (work / ".audiobench").exists():
            shutil.copytree(work / ".audiobench", self.cached, dirs_exist_ok=True)
        return Outcome(failed, "\n".join(printed), files["GITHUB_STEP_SUMMARY"].read_text())

    def steps(self, job, changes):
        """The steps of a job, those of the action in its place, with its inputs known."""
        for step in job["steps"]:
            if step.get("uses") != USED:
                yield step
                continue
            action = yaml.safe_load(ACTION.read_text())
            given = {name: one.get("default", "") for name, one in action["inputs"].items()} | step["with"] | changes
            assert set(given) == set(action["inputs"])
            self.known |= {f"inputs.{name}": self.filled(value) for name, value in given.items()}
            yield from action["runs"]["steps"]

    def value(self, name):
        """What an expression names; an output that no step gave is empty."""
        return self.known.get(name, "") if name.startswith("steps.") else self.known[name]

    def filled(self, text):
        """``text`` with its expressions put in; one that this runner does not know is an error."""
        return re.sub(r"\$\{\{\s*(.*?)\s*\}\}", lambda match: self.value(match[1]), text)

    def holds(self, condition, failed):
        """Whether the condition of a step holds."""
        text = re.sub(
            r"'[^']*'|[a-z][\w.-]*(?![\w.-]*\()",
            lambda match: match[0] if match[0][0] == "'" else repr(self.value(match[0])),
            " ".join(condition.split()),
        ).replace("&&", " and ")
        names = {"always": lambda: True, "success": lambda: not failed, "startsWith": str.startswith}
        return eval(text, {"__builtins__": {}}, names)

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
            for path in filter(None, self.filled(given["path"]).splitlines()):
                if (work / path).is_dir():
                    shutil.copytree(work / path, self.folder / f"artifact-{branch}" / path)
                    self.known[f"steps.{step['id']}.outputs.artifact-url"] = ARTIFACT
        else:
            raise AssertionError(f"no stand-in for {action}")

    def posted(self):
        return json.loads(self.comments.read_text())


class Outcome:
    def __init__(self, failed, printed, summary):
        self.failed, self.printed, self.summary = failed, printed, summary


def gitlab_job(inputs):
    """The component's only job with its inputs put in, as GitLab includes it."""
    header, _, body = COMPONENT.read_text().partition("\n---\n")
    declared = yaml.safe_load(header)["spec"]["inputs"]
    given = {name: (one or {}).get("default") for name, one in declared.items()} | inputs
    assert set(given) == set(declared)
    assert None not in given.values()
    filled = re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda match: given[match[1]], body)
    assert "[[" not in filled
    [job] = yaml.safe_load(filled).values()
    return job


def run_gitlab(job, work, environment):
    """Run the job in its folder as GitLab's runner does; its exit code, and what it printed."""
    environment = environment | {"CI_JOB_ID": "31", "CI_DEFAULT_BRANCH": "main"}
    for name, value in job["variables"].items():
        environment[name] = re.sub(r"\$(CI_\w+)", lambda match: environment[match[1]], value)
    printed, codes = "", []
    for part in ("script", "after_script"):
        script = "\n".join(job[part])
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=1200)
        codes.append(done.returncode)
        printed += done.stdout + done.stderr
    assert codes[1] == 0, printed
    return codes[0], printed


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
    assert comment["body"].startswith("## ✗ audiobench: regressed – 1 of 1 comparison regressed")
    assert f"[Open the report](<{ARTIFACT}>)" in comment["body"]
    assert comment["body"].count("<br><code>") == 3
    assert "text not stored" not in comment["body"]
    assert "::error file=evals/test_gate.py,line=4,title=gate/digits (candidate)::✗ regressed" in outcome.printed
    assert outcome.summary == comment["body"]
    assert (runner.folder / "artifact-poor" / "reports" / "gate-7-1-1" / "report.html").is_file()
    assert runner.known["steps.evaluate.outputs.exit-code"] == "1"


def test_a_checkpoint_of_equal_quality_passes_and_the_comment_is_brought_up_to_date(runner):
    outcome = runner.run("seed2")
    assert not outcome.failed, outcome.printed
    [comment] = runner.posted()
    assert "audiobench: regressed" not in comment["body"].splitlines()[0]
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
        while not ended.wait(0.05) and not (reports / "gate-7-1-1" / "run.json").exists():
            pass
        peer.start()

    thread = threading.Thread(target=come)
    thread.start()
    model = f"candidate=openai:tiny,base_url={peer.url},patience_s=0.3,probe=no"
    try:
        outcome = runner.run("away", **{"model": model, "retry-after-s": "1"})
    finally:
        ended.set()
        thread.join()
        peer.stop()
    assert outcome.failed  # The stand-in knows no digits; but it was asked, the second time.
    assert f"{peer.url} cannot be reached" in outcome.printed
    asked = Counter(json.dumps(call.body) for call in peer.asked)
    assert set(asked.values()) == {1}
    assert (reports / "gate-7-1-2" / "run.json").exists()
    assert not (reports / "gate-7-1-3").exists()


def test_a_baseline_that_is_not_there_is_told_in_the_comment(runner):
    outcome = runner.run("main", baseline="origin/main:baselines/other.json")
    assert outcome.failed
    assert runner.posted()[0]["body"].startswith("## ✗ audiobench: no verdict")
    assert outcome.summary == runner.posted()[0]["body"]


def test_the_component_compares_with_the_branch_that_is_merged_into(runner, tmp_path):
    [included] = yaml.safe_load(GITLAB.read_text())["include"]
    job = gitlab_job(included["inputs"])
    pip = runner.tools / "pip"
    kept = pip.read_text()
    pip.write_text(f'#!/bin/sh\nfor what; do true; done; test "$what" = "{job["variables"]["AB_PACKAGE"]}"\n')
    codes = {}
    for branch in ("poor", "seed2"):
        work = tmp_path / branch
        git("clone", "--quiet", "--branch", branch, "--single-branch", str(runner.origin), str(work), cwd=tmp_path)
        environment = runner.machine | {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main", "GITHUB_ACTIONS": ""}
        codes[branch], printed = run_gitlab(job, work, environment)
        assert (work / "comment.md").read_text() in printed
        assert all((work / path.replace("$CI_JOB_ID", "31")).exists() for path in job["artifacts"]["paths"])
        assert (work / job["artifacts"]["reports"]["junit"]).exists()
    pip.write_text(kept)
    assert codes == {"poor": 1, "seed2": 0}
    assert (tmp_path / "poor" / "comment.md").read_text().startswith("## ✗ audiobench: regressed")


@pytest.fixture(scope="module")
def tagged(tmp_path_factory):
    """This checkout as a repository with a tag."""
    folder = release.tracked_copy(tmp_path_factory.mktemp("repository"))
    git("init", "--quiet", cwd=folder)
    git("add", "--all", cwd=folder)
    git("commit", "--quiet", "--message", "Release", cwd=folder)
    git("tag", "v1", cwd=folder)
    return folder


@pytest.fixture
def own_evals(tmp_path):
    """A repository of somebody who has evals and the bundled model."""
    folder = tmp_path / "models"
    (folder / "evals").mkdir(parents=True)
    (folder / "evals" / "test_gate.py").write_text(EVAL)
    (folder / "pytest.ini").write_text("[pytest]\n")
    git("init", "--quiet", cwd=folder)
    git("add", "--all", cwd=folder)
    git("commit", "--quiet", "--message", "Evals", cwd=folder)
    return folder


@pytest.mark.slow
def test_the_action_installs_itself_on_a_new_machine_and_runs(tagged, own_evals, tmp_path):
    fresh = release.Environment(tmp_path / "environment").bin
    workflow = tmp_path / "own.yml"
    changed = yaml.safe_load(WORKFLOW.read_text())
    changed["jobs"]["gate"]["steps"][1]["with"] = {"args": "evals -k 'digits or nothing'", "comment": "true"}
    workflow.write_text(yaml.safe_dump(changed))
    machine = Runner(tmp_path, own_evals, workflow, tagged, fresh)
    outcome = machine.run("main")
    assert not outcome.failed, outcome.printed
    assert machine.posted()[0]["body"] == outcome.summary
    assert "| bundled/digits" in outcome.summary or "gate/digits" in outcome.summary


@pytest.mark.slow
def test_the_component_installs_from_a_tag_on_a_new_machine_and_runs(tagged, own_evals, tmp_path):
    # The pip that comes with Python 3.11 takes no file:// address behind a name.
    fresh = release.Environment(tmp_path / "environment", "pip>=24.1").bin
    machine = Runner(tmp_path, own_evals, package=tagged, fresh=fresh)
    job = gitlab_job({"repository": tagged.as_uri(), "tag": "v1"})
    code, printed = run_gitlab(job, own_evals, machine.machine | {"GITHUB_ACTIONS": ""})
    assert code == 0, printed
    assert (own_evals / "reports" / "gate-31" / "report.html").exists()


def test_the_documentation_holds_the_workflow_as_it_is():
    for page, workflow in (("ci", WORKFLOW), ("ci", GITLAB), ("two-servers", TWO_SERVERS)):
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
    assert comment["body"].startswith("## ✗ audiobench: regressed – 1 of 1 comparison regressed")
    assert "the model base" in comment["body"]


@pytest.mark.slow
def test_two_equal_engines_pass(two_servers):
    same = "checkpoints/wrong-2"
    outcome = two_servers.run("engine", ENGINE="sglang", BASE=same, CANDIDATE=same, CANDIDATE_BIN="env ")
    assert not outcome.failed, outcome.printed
    assert "audiobench: regressed" not in two_servers.posted()[0]["body"].splitlines()[0]
    assert (
        json.loads(next(two_servers.folder.glob("work-engine/reports/*/run.json")).read_text())["answers"]["asked"]
        == 80
    )
