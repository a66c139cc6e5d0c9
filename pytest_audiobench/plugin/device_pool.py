"""The controller's side of shared models: one process for each device, started before the first worker."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_audiobench.errors import FatalError
from pytest_audiobench.models.shared import Address
from pytest_audiobench.plugin.devices import environment_of
from pytest_audiobench.plugin.place import RunPlace

_PATIENCE_S = 10.0


class DevicePool:
    """The processes that hold in-process models, by device. Each ends with the controller, however that ends."""

    def __init__(self, devices: Sequence[str], place: RunPlace) -> None:
        """Choose their addresses. Nothing is started yet: the workers may have no eval to run."""
        # A socket's path may hold about 100 bytes, which a run's folder can exceed.
        self._folder = Path(tempfile.mkdtemp(prefix="audiobench-"))
        self._place = place
        self._processes: list[subprocess.Popen[bytes]] = []
        self.addresses = [
            Address(str(self._folder / str(number)), secrets.token_hex(32), device, str(self._log(number)))
            for number, device in enumerate(devices)
        ]

    def start(self, config: pytest.Config) -> None:
        """Start all of them, once; none loads a model before it is asked to. Raises FatalError for one that fails."""
        if self._processes:
            return
        self._log(0).parent.mkdir(parents=True, exist_ok=True)
        self._processes = [self._started(config, address) for address in self.addresses]
        for process, address in zip(self._processes, self.addresses, strict=True):
            assert process.stdout is not None
            if b"ready\n" not in process.stdout:
                said = Path(address.log).read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
                self.close()
                raise FatalError(
                    f"the process for device {address.device} did not start: {' / '.join(said) or 'it said nothing'}"
                )

    def _started(self, config: pytest.Config, address: Address) -> subprocess.Popen[bytes]:
        given = [str(one) for one in config.invocation_params.args]
        command = [sys.executable, "-m", "pytest", "-p", "pytest_audiobench.plugin.device_process", *given, "-n0", "-s"]
        with open(address.log, "wb") as said:
            process = subprocess.Popen(
                command,
                cwd=config.invocation_params.dir,
                env={**os.environ, **environment_of(address.device)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                start_new_session=True,  # Ctrl-C is the controller's; this one ends by its standard input
            )
        assert process.stdin is not None
        told = {"socket": address.socket, "key": address.key, "run": self._place.run}
        process.stdin.write(json.dumps(told).encode() + b"\n")
        process.stdin.flush()
        return process

    def _log(self, number: int) -> Path:
        return self._place.folder / "devices" / f"{number}.log"

    def close(self) -> None:
        for process in self._processes:
            if process.stdin is not None:
                process.stdin.close()
        for process in self._processes:
            try:
                process.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        self._processes.clear()
        shutil.rmtree(self._folder, ignore_errors=True)
