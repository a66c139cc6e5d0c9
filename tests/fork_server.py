"""A server of runs of pytest and audiobench: it imports both once, and forks a process for every run.

A line of standard input is a run: {"module", "args", "folder", "environment", "streams", "limit_s"}. A line of
standard output is its exit status, negative for a signal: -14 for a run that took longer than its limit, where that is
not 0. What a run imports, registers or changes ends with its process. The workers of a run (``-n``) are forked too, by
a process that stood before the run began: xdist and execnet speak to them as to any other, but nothing is imported
again in each.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback

import pytest
from execnet import gateway_io

PRELOADED = (
    "pytest_audiobench.cli",
    "pytest_audiobench.datasets.declared",
    "pytest_audiobench.datasets.manifest",
    "pytest_audiobench.evaluation.evaluate",
    "pytest_audiobench.evaluation.judging",
    "pytest_audiobench.models.device.client",
    "pytest_audiobench.models.openai.model",
    "pytest_audiobench.models.openai.requests_loop",
    "pytest_audiobench.models.predictions_v1.audio_check",
    "pytest_audiobench.models.run_server",
    "pytest_audiobench.plugin.collection",
    "pytest_audiobench.plugin.earlier_answers",
    "pytest_audiobench.plugin.evaluate_fixture",
    "pytest_audiobench.plugin.regression_gate",
    "pytest_audiobench.plugin.root_folder",
    "pytest_audiobench.plugin.run_end",
    "pytest_audiobench.protocols.judged.task",
    "pytest_audiobench.protocols.multiple_choice.task",
    "pytest_audiobench.studies.evaluate",
    "scipy.special",
    "soundfile",
    "xdist.dsession",
    "xdist.remote",
)
OF_EXTRAS = ("openai.resources.chat.completions.completions",)


def main():
    requests = os.fdopen(os.dup(0))
    replies = os.fdopen(os.dup(1), "w")
    _onto(os.devnull, os.O_RDWR, 0, 1)
    # Plugins as pytest loads them: what was imported by other means draws a warning that it cannot be rewritten.
    with tempfile.TemporaryDirectory() as empty:
        pytest.main(["--collect-only", "-p", "no:cacheprovider", f"--rootdir={empty}", empty])
    for name in (*PRELOADED, *sys.argv[1:]):
        importlib.import_module(name)
    for name in OF_EXTRAS:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    sys.stdout.flush()  # or each run would print what waits here
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
            if any(arg.startswith("-n") for arg in request["args"]):
                gateway_io.Popen2IOMaster = ForkedWorkerIO
                ForkedWorkerIO.nursery = Nursery()
            _end(_run_module(request["module"]))
        _, status = os.waitpid(process, 0)
        replies.write(f"{os.waitstatus_to_exitcode(status)}\n")
        replies.flush()


class Nursery:
    """A process of one thread that forks a run's workers: the run itself has threads by then.

    A message to it is the folder and environment of a worker, with three ends of pipes: the standard input and output
    of the worker, and one that it alone has, so that it closes when the worker ends.
    """

    def __init__(self):
        self._socket, workers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._pid = os.fork()
        if not self._pid:
            self._socket.close()
            _fork_workers(workers)
        workers.close()
        atexit.register(self._close)

    def fork(self, *ends):
        """The number of a new worker's process."""
        socket.send_fds(self._socket, [json.dumps([os.getcwd(), dict(os.environ)]).encode()], ends)
        return int(self._socket.recv(100))

    def _close(self):
        self._socket.close()
        os.waitpid(self._pid, 0)


def _fork_workers(requests):
    while True:
        message, ends, *_ = socket.recv_fds(requests, 1 << 20, 3)
        if not message:
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            os._exit(0)
        pid = os.fork()
        if not pid:
            requests.close()
            _become_worker(*json.loads(message), *ends)
        for end in ends:
            os.close(end)
        requests.send(f"{pid}".encode())


def _become_worker(folder, environment, stdin, stdout, _):
    """Takes the place of the interpreter that execnet starts, and obeys the first line that it is sent."""
    for number, end in enumerate((stdin, stdout)):
        os.dup2(end, number)
        os.close(end)
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c"]
    exec(eval(sys.stdin.readline()), {"__name__": "__main__"})
    _end(0)


class ForkedWorkerIO(gateway_io.Popen2IO):
    """What execnet has of a worker that was forked: its pipes, and how to wait for its end."""

    nursery = None

    def __init__(self, args, execmodel):
        pipes = [os.pipe() for _ in range(3)]
        (stdin, to_worker), (from_worker, stdout), (self._life, life) = pipes
        self._pid = self.nursery.fork(stdin, stdout, life)
        for end in (stdin, stdout, life):
            os.close(end)
        super().__init__(os.fdopen(to_worker, "wb"), os.fdopen(from_worker, "rb"), execmodel)

    def wait(self):
        os.read(self._life, 1)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)


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


def _run_module(name):
    """The exit status of ``python -m name``."""
    if name == "pytest":
        return int(pytest.main())
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return 1 if isinstance(end.code, str) else end.code or 0
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


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
