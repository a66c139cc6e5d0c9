"""A pytest process that runs no test: it holds one device's models for the workers of another run.

Started by the controller with that run's own arguments and a file of every folder that holds evals, so that every kind
of model that a conftest.py or a plugin registers is known here too. Of their hooks only ``pytest_audiobench_register``
is called besides those of pytest's start: no ``pytest_configure``, which may set up what only a run of tests needs.
It ends when its standard input does, that is with the controller, however that dies.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

import pytest

from pytest_audiobench.models.device.host import Host
from pytest_audiobench.plugin.options import read_options
from pytest_audiobench.plugin.progress import silent
from pytest_audiobench.plugin.run_folder import RunFolder
from pytest_audiobench.plugin.session import EvalSession

CLOSES_WITHIN_S = 5.0


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int:
    start = json.loads(sys.stdin.readline())
    options = read_options(config)
    host = Host(EvalSession(config, options, RunFolder(options.reports, start["run"]), silent()).model_of)
    threading.Thread(target=_end_with_the_controller, args=(host,), daemon=True).start()

    def say_ready() -> None:
        os.write(start["ready"], b"r")
        os.close(start["ready"])

    host.serve(start["socket"], bytes.fromhex(start["key"]), say_ready)
    return 0


def _end_with_the_controller(host: Host) -> None:
    sys.stdin.read()
    closing = threading.Thread(target=host.close, daemon=True)
    closing.start()
    closing.join(CLOSES_WITHIN_S)
    # The processes that a model started (the controller gave this one its own group) must not outlive the run.
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)
