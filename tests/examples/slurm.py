"""A stand-in for Slurm's commands, which really starts jobs as processes: sbatch, scancel, squeue and scontrol.

It is put on PATH under these names. Jobs lie in the folder $SLURM_STAND_IN, a folder each: the script as it was when
it was submitted, and its state. It knows the options that the examples use and refuses all others.
"""

import argparse
import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

JOBS = Path(os.environ["SLURM_STAND_IN"])
ENDED = ("COMPLETED", "FAILED", "CANCELLED")
KILL_WAIT_S = 30


def read(job, name, default=""):
    file = JOBS / str(job) / name
    return file.read_text() if file.exists() else default


def write(job, name, text):
    part = JOBS / str(job) / f"{name}.part"
    part.write_text(str(text))
    part.replace(JOBS / str(job) / name)


def sbatch(arguments):
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--parsable", action="store_true")
    for option in (
        "output",
        "dependency",
        "job-name",
        "gpus",
        "time",
        "signal",
        "open-mode",
        "wrap",
        "partition",
        "array",
    ):
        parser.add_argument(f"--{option}")
    parser.add_argument("--requeue", action="store_true")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    asked = parser.parse_args(arguments)
    text = f"#!/bin/sh\n{asked.wrap}\n" if asked.wrap else Path(asked.script[0]).read_text()
    directives = re.findall(r"^#SBATCH (.*)$", text, re.MULTILINE)
    in_script, strange = parser.parse_known_args(directives)
    assert not strange + in_script.script, f"unknown directives: {strange}"
    with (JOBS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        job = 101 + sum("_" not in place.name for place in JOBS.glob("[0-9]*"))
        (JOBS / str(job)).mkdir()
    first, _, last = (asked.array or "").partition("-")
    tasks = [f"{job}_{index}" for index in range(int(first), int(last or first) + 1)] if asked.array else []
    # A job runs a copy of its script, which lies in none of the user's folders.
    script = JOBS / str(job) / "slurm_script"
    script.write_text(text)
    script.chmod(0o755)
    write(job, "state", "PENDING")
    output = asked.output or in_script.output or "slurm-%j.out"
    for each in tasks:
        (JOBS / each).mkdir()
        shutil.copy(script, JOBS / each / "slurm_script")
        write(each, "state", "PENDING")
    write(job, "tasks", " ".join(tasks))
    for each in tasks or [str(job)]:
        array, _, index = each.partition("_")
        job_file = {
            "arguments": asked.script[1:],
            "dependency": asked.dependency or "",
            "output": output.replace("%j", each).replace("%A", array).replace("%a", index),
        }
        write(each, "job.json", json.dumps(job_file))
    for each in tasks or [str(job)]:
        with open(os.devnull, "r+") as nothing:
            subprocess.Popen(
                [sys.executable, __file__, "run", each],
                stdin=nothing,
                stdout=nothing,
                stderr=nothing,
                start_new_session=True,
            )
    print(job if asked.parsable else f"Submitted batch job {job}")


def may_start(dependency):
    kind, _, jobs = dependency.partition(":")
    states = [read(job, "state") for job in filter(None, jobs.split(":"))]
    return {
        "": True,
        "after": all(state != "PENDING" for state in states),
        "afterany": all(state in ENDED for state in states),
        "afterok": all(state == "COMPLETED" for state in states),
    }[kind]


def run(job):
    """What slurmd does: the script in a process group of its own, of which nothing outlives it."""
    # A shell starts what it puts in the background with SIGINT ignored; Slurm's jobs begin with no signal ignored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asked = json.loads(read(job, "job.json"))
    restarts, (array, _, index) = 0, job.partition("_")
    while read(job, "state") == "PENDING":
        if not may_start(asked["dependency"]):
            time.sleep(0.05)
            continue
        environ = {
            **os.environ,
            "SLURM_JOB_ID": job.replace("_", "00"),
            **({"SLURM_ARRAY_JOB_ID": array, "SLURM_ARRAY_TASK_ID": index} if index else {}),
            "SLURM_SUBMIT_DIR": os.getcwd(),
            "SLURMD_NODENAME": "localhost",
            **({"SLURM_RESTART_COUNT": str(restarts)} if restarts else {}),
        }
        with open(asked["output"], "ab") as output:
            process = subprocess.Popen(
                [JOBS / str(job) / "slurm_script", *asked["arguments"]],
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            write(job, "pid", process.pid)
            write(job, "state", "RUNNING")
            code = process.wait()
            sweep(process.pid)
        requeued = JOBS / str(job) / "requeue"
        if requeued.exists():
            requeued.unlink()
            restarts += 1
            write(job, "state", "PENDING")
            continue
        write(job, "code", code)
        cancelled = (JOBS / str(job) / "cancel").exists()
        write(job, "state", "CANCELLED" if cancelled else "FAILED" if code else "COMPLETED")
        # Of an array the job has ended when all its tasks have.
        states = {read(task, "state") for task in read(array, "tasks").split()}
        if states and states <= set(ENDED):
            write(array, "state", "COMPLETED" if states == {"COMPLETED"} else "FAILED")


def members(session):
    """The processes of a job, in whatever groups they are."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            fields = (place / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            yield int(place.name)


def sweep(session, sig=signal.SIGKILL):
    for member in members(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(member, sig)


def end(job, why):
    """SIGTERM to all of a job's processes, and SIGKILL to those that are still there KILL_WAIT_S later."""
    write(job, why, "")
    if tasks := read(job, "tasks").split():
        for task in tasks:
            if read(task, "state") not in ENDED:
                end(task, why)
        return
    if read(job, "state") == "PENDING":
        write(job, "state", "CANCELLED")
        return
    session, deadline = int(read(job, "pid")), time.monotonic() + KILL_WAIT_S
    sweep(session, signal.SIGTERM)
    while any(members(session)):
        if time.monotonic() > deadline:
            sweep(session)
        time.sleep(0.05)


def main(name, arguments):
    if name == "sbatch":
        sbatch(arguments)
    elif name == "scancel" and arguments[0] == "--batch":
        os.kill(int(read(arguments[2], "pid")), signal.Signals["SIG" + arguments[1].removeprefix("--signal=")])
    elif name == "scancel":
        for job in arguments:
            end(job, "cancel")
    elif name == "scontrol":
        assert arguments[0] == "requeue"
        end(arguments[1], "requeue")
    elif name == "squeue":
        for job in sorted(JOBS.glob("[0-9]*")):
            if (state := read(job.name, "state")) not in ENDED:
                print(job.name, state)
    else:
        run(arguments[1])


def install(folder):
    """Put the commands into ``folder``."""
    for name in ("sbatch", "scancel", "squeue", "scontrol"):
        script = folder / name
        script.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
            f"import slurm\nslurm.main({name!r}, sys.argv[1:])\n"
        )
        script.chmod(0o755)


if __name__ == "__main__":
    main("run", sys.argv[1:])
