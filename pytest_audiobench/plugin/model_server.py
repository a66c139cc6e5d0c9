"""The server of a run's models (``--ab-serve-command``), one for all workers; imported by such runs only."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_audiobench.identity import digest
from pytest_audiobench.models.model import Model
from pytest_audiobench.models.run_server.process import Served, ServedModel, ServerProcess, check_command, free_port
from pytest_audiobench.models.run_server.url import is_url
from pytest_audiobench.models.spec import ModelSpec, parse_specs, written
from pytest_audiobench.plugin.options import Options, read_options
from pytest_audiobench.plugin.run_folder import RunFolder
from pytest_audiobench.plugin.workers import worker_input

PORT = "audiobench_serve_port"
"""The key in ``workerinput`` under which the controller names the server's port."""

_PORT: pytest.StashKey[int] = pytest.StashKey()
_PROCESS: pytest.StashKey[ServerProcess] = pytest.StashKey()


def configure_node(node: Any) -> None:
    """Tell a new worker the port of the server that the controller will have started by the time it runs an eval."""
    node.workerinput[PORT] = _port(node.config)


def start(config: pytest.Config, place: RunFolder) -> None:
    """Start the server once, when evals are to run and a model waits for it; it ends with this process's run."""
    options = read_options(config)
    if _PROCESS in config.stash or not any(_waits_for_server(options, spec) for spec in parse_specs(options.models)):
        return
    place.open()
    process = ServerProcess(options.serve_command, _port(config), place.folder)
    config.stash[_PROCESS] = process
    config.add_cleanup(process.end)


class RunServer:
    """The run's server, as the models of one process see it."""

    def __init__(self, config: pytest.Config, options: Options, folder: Path) -> None:
        self._config, self._options, self._folder = config, options, folder

    def placed(self, spec: ModelSpec) -> ModelSpec:
        """``spec`` with the run's server, where it names none. UsageError for a command that cannot start one."""
        if not _waits_for_server(self._options, spec):
            return spec
        check_command(self._options.serve_command)
        url = self._client.url
        if spec.kind == "http":
            return replace(spec, target=url)
        return replace(spec, options={**spec.options, "base_url": f"{url}/v1"})

    def behind(self, spec: ModelSpec, model: Model) -> Model:
        """``model``, waiting for the run's server where it asks that one; its end is reported."""
        if not _waits_for_server(self._options, spec):
            return model
        # A model that cannot ask what its server is made of is given the digest of the command, as the user wrote it.
        if hasattr(model, "served_by"):
            model.served_by = digest(self._options.serve_command)
        return cast("Model", ServedModel(model, self._client, written(spec.kind, spec.target, spec.options)))

    @property
    def _client(self) -> Served:
        return Served(f"http://127.0.0.1:{_port(self._config)}", self._folder)


def _waits_for_server(options: Options, spec: ModelSpec) -> bool:
    if not options.serve_command:
        return False
    if spec.kind == "http":
        return not (is_url(spec.target) or "url_file" in spec.options or options.url_file)
    return spec.kind == "openai" and not ("base_url" in spec.options or options.base_url)


def _port(config: pytest.Config) -> int:
    values = worker_input(config)
    if values:
        return int(values[PORT])
    if _PORT not in config.stash:
        config.stash[_PORT] = free_port()
    return config.stash[_PORT]
