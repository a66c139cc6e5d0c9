"""The servers of a run's models and judges (``serve=COMMAND``), shared by all workers; imported by such runs only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_audiobench.identity import digest
from pytest_audiobench.models.model import Model
from pytest_audiobench.models.run_server.process import Served, ServedModel, ServerProcess, check_command, free_port
from pytest_audiobench.models.run_server.url import SERVE, is_url
from pytest_audiobench.models.spec import STYLE, ModelSpec, parse_specs, written
from pytest_audiobench.plugin.options import read_options
from pytest_audiobench.plugin.run_folder import RunFolder
from pytest_audiobench.plugin.workers import worker_input

PORTS = "audiobench_serve_ports"
"""The key in ``workerinput`` under which the controller names the port of every server, by its command."""

_PORTS: pytest.StashKey[dict[str, int]] = pytest.StashKey()
_STARTED: pytest.StashKey[bool] = pytest.StashKey()


def configure_node(node: Any) -> None:
    """Tell a new worker the ports of the servers that the controller will have started by the time it runs an eval."""
    node.workerinput[PORTS] = _ports(node.config)


def start(config: pytest.Config, place: RunFolder) -> None:
    """Start every server once, when evals are to run; they end with this process's run."""
    if _STARTED in config.stash:
        return
    config.stash[_STARTED] = True
    for command, port in _ports(config).items():
        place.open()
        config.add_cleanup(ServerProcess(command, port, _folder(config, place.folder, command)).end)


class RunServers:
    """The run's servers, as the models of one process see them. Models of one command share its server."""

    def __init__(self, config: pytest.Config, folder: Path) -> None:
        self._config, self._folder = config, folder

    def placed(self, spec: ModelSpec) -> ModelSpec:
        """``spec`` with its server's URL in place of the command. UsageError for a command that cannot start one."""
        if (command := _command(spec)) is None:
            return spec
        check_command(command)
        url, options = self._client(command).url, _without(spec, SERVE)
        if spec.kind == "http":
            return replace(spec, target=url, options=options)
        return replace(spec, options={**options, "base_url": f"{url}/v1"})

    def behind(self, spec: ModelSpec, model: Model) -> Model:
        """``model``, waiting for its server where the run starts one; the server's end is reported."""
        if (command := _command(spec)) is None:
            return model
        # A model that cannot ask what its server is made of is given the digest of the command, as the user wrote it.
        if hasattr(model, "served_by"):
            model.served_by = digest(command)
        name = written(spec.kind, spec.target, _without(spec, SERVE, STYLE))
        return cast("Model", ServedModel(model, self._client(command), name))

    def _client(self, command: str) -> Served:
        port = _ports(self._config)[command]
        return Served(f"http://127.0.0.1:{port}", _folder(self._config, self._folder, command))


def _command(spec: ModelSpec) -> str | None:
    """The command of the server that the run starts for ``spec``; None where it needs none, or names one itself too."""
    elsewhere = is_url(spec.target) or "url_file" in spec.options or "base_url" in spec.options
    return None if elsewhere or spec.kind not in ("http", "openai") else spec.options.get(SERVE)


def _without(spec: ModelSpec, *keys: str) -> dict[str, str]:
    return {key: value for key, value in spec.options.items() if key not in keys}


def _ports(config: pytest.Config) -> dict[str, int]:
    """The port of every server by its command, in the order of the specs."""
    if values := worker_input(config):
        return dict(values[PORTS])
    if _PORTS not in config.stash:
        options = read_options(config)
        config.stash[_PORTS] = _free_ports((*parse_specs(options.models), *parse_specs(options.judges)))
    return config.stash[_PORTS]


def _free_ports(specs: Iterable[ModelSpec]) -> dict[str, int]:
    ports: dict[str, int] = {}
    for spec in specs:
        command = _command(spec)
        if command is None or command in ports:
            continue
        port = free_port()
        while port in ports.values():
            port = free_port()
        ports[command] = port
    return ports


def _folder(config: pytest.Config, run: Path, command: str) -> Path:
    return run / "servers" / str(list(_ports(config)).index(command))
