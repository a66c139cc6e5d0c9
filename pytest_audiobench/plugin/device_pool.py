"""The controller's side of shared models: one process for each device, started before the first worker."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from pytest_audiobench.errors import FatalError
from pytest_audiobench.models.device.client import Address
from pytest_audiobench.plugin.run_folder import RunFolder
from pytest_audiobench.plugin.workers import environment_of

_ENDS_WITHIN_S = 10.0
_STARTS_WITHIN_S = 60.0


class DevicePool:
    """The processes that hold in-process models, by device. Each ends with the controller, however that ends."""

    def __init__(self, devices: Sequence[str], place: RunFolder) -> None:
        """Choose their addresses. Nothing is started yet: the workers may have no eval to run."""
        # A socket's path may hold about 100 bytes, which a run's folder can exceed.
        self._folder = Path(tempfile.mkdtemp(prefix="audiobench-"))
        self._place = place
        self._processes: list[tuple[subprocess.Popen[bytes], int]] = []
        """Each with the end of a pipe on which it says that it is ready."""
        self.addresses = [
            Address(str(self._folder / str(number)), secrets.token_hex(32), device, str(self._log(number)))
            for number, device in enumerate(devices)
        ]

    def start(self, config: pytest.Config, files: Iterable[Path]) -> None:
        """Start all of them, once; none loads a model before it is asked to. Raises FatalError for one that fails.

        ``files`` are the evals': kinds of models may be registered in the conftest.py of any of their folders.
        """
        if self._processes:
            return
        self._log(0).parent.mkdir(parents=True, exist_ok=True)
        command = _command(config, files)
        deadline = time.monotonic() + _STARTS_WITHIN_S
        for address in self.addresses:
            self._processes.append(self._start(command, config.invocation_params.dir, address))
        for (_, ready), address in zip(self._processes, self.addresses, strict=True):
            readable, _, _ = select.select([ready], [], [], max(0.0, deadline - time.monotonic()))
            if not (readable and os.read(ready, 1)):
                output = Path(address.log).read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
                self.close(patience_s=0.0)
                when = "" if readable else f" within {_STARTS_WITHIN_S:g} s"
                raise FatalError(
                    f"the process for device {address.device} did not start{when}: "
                    f"{' / '.join(output) or 'it printed nothing'}"
                )

    def _start(self, command: Sequence[str], folder: Path, address: Address) -> tuple[subprocess.Popen[bytes], int]:
        # Standard output is everyone's, also a conftest.py's: "ready" has its own pipe.
        ready, notify = os.pipe()
        with open(address.log, "wb") as log:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env={**os.environ, **environment_of(address.device)},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=[notify],
                start_new_session=True,  # Ctrl-C is the controller's; this one ends by its standard input
            )
        os.close(notify)
        assert process.stdin is not None
        start = {"socket": address.socket, "key": address.key, "run": self._place.run, "ready": notify}
        process.stdin.write(json.dumps(start).encode() + b"\n")
        process.stdin.flush()
        return process, ready

    def _log(self, number: int) -> Path:
        return self._place.folder / "devices" / f"{number}.log"

    def close(self, patience_s: float = _ENDS_WITHIN_S) -> None:
        """End all of them and what they started: by the end of standard input, after ``patience_s`` by force."""
        for process, _ in self._processes:
            if process.stdin is not None:
                process.stdin.close()
        for process, ready in self._processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience_s)
            # Also when it has ended: one that crashed leaves what its model started in its group.
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(ready)
        self._processes.clear()
        shutil.rmtree(self._folder, ignore_errors=True)


def _command(config: pytest.Config, files: Iterable[Path]) -> list[str]:
    """This run's own command line, with all that pytest would infer explicit: files named next to it (pytest reads the
    conftest.py of their folders before anything is collected) must change neither its root nor its ini file.
    """
    arguments = [str(argument) for argument in config.invocation_params.args]
    end = arguments.index("--") if "--" in arguments else len(arguments)  # behind it all are names of files
    explicit = ["-n0", "-s", f"--rootdir={config.rootpath}", "-c", str(config.inipath or os.devnull)]
    if config.getoption("confcutdir") is None:
        explicit.append(f"--confcutdir={config.inipath.parent if config.inipath else config.rootpath}")
    by_folder = {path.parent: str(path) for path in files if path.exists()}
    process = ["-p", "pytest_audiobench.plugin.device_process"]
    options = [*arguments[:end], *explicit, *arguments[end:]]
    return [sys.executable, "-m", "pytest", *process, *options, *by_folder.values()]
