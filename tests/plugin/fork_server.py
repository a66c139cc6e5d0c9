"""A server of pytest runs: it imports pytest and the package once, and forks a process for every run.

A line of standard input is a run: {"args", "folder", "environment", "streams", "limit_s"}. A line of standard output
is its exit status, negative for a signal: -14 for a run that took longer than its limit, where that is not 0. What a
run imports, registers or changes ends with its process.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import signal
import sys
import tempfile
import threading
import time

import pytest

PRELOADED = (
    "pytest_audiobench.datasets.manifest",
    "pytest_audiobench.plugin.collection",
    "pytest_audiobench.plugin.evaluate_fixture",
    "pytest_audiobench.plugin.run_end",
    "pytest_audiobench.plugin.regression_gate",
    "pytest_audiobench.evaluation.evaluate",
    "soundfile",
)


def main():
    requests = os.fdopen(os.dup(0))
    replies = os.fdopen(os.dup(1), "w")
    _onto(os.devnull, os.O_RDWR, 0, 1)
    # Plugins as pytest loads them: what was imported by other means draws a warning that it cannot be rewritten.
    with tempfile.TemporaryDirectory() as empty:
        pytest.main(["--collect-only", "-p", "no:cacheprovider", f"--rootdir={empty}", empty])
    for name in PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    replies.write(f"{len(os.listdir('/proc/self/task')) if os.path.exists('/proc/self/task') else 1}\n")
    replies.flush()
    for line in requests:
        request = json.loads(line)
        process = os.fork()
        if not process:
            requests.close()
            os.close(replies.fileno())
            _become(request)
            _end(pytest.console_main())
        _, status = os.waitpid(process, 0)
        replies.write(f"{os.waitstatus_to_exitcode(status)}\n")
        replies.flush()


def _become(request):
    """Takes a fresh interpreter's place, for ``python -m pytest`` in the request's folder and environment."""
    for number, path in enumerate(request["streams"], start=1):
        _onto(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, number)
    signal.alarm(request["limit_s"])
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    tempfile.tempdir = None
    sys.argv = [pytest.__file__, *request["args"]]
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[0:1] = [request["folder"], *filter(None, named)]
    importlib.invalidate_caches()


def _end(status):
    """Ends as an interpreter does, but leaves memory to the system: freeing what was preloaded would first copy it."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def _onto(path, flags, *numbers):
    opened = os.open(path, flags, 0o666)
    for number in numbers:
        os.dup2(opened, number)
    os.close(opened)


if __name__ == "__main__":
    main()
