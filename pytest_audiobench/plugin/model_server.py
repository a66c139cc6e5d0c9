"""The server that a run starts for its models (``--ab-serve-command``): by the controlling process, for all workers.

What it needs of the package is imported once a server is wanted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_audiobench.plugin.options import Options, read_options

if TYPE_CHECKING:
    from pytest_audiobench.models.model import Model
    from pytest_audiobench.models.server.process import Served, ServerProcess
    from pytest_audiobench.models.spec import ModelSpec
    from pytest_audiobench.plugin.run_folder import RunFolder
    from pytest_audiobench.plugin.session import EvalSession

PORT = "audiobench_serve_port"
"""The key in ``workerinput`` under which the controller names the server's port."""

_PORT: pytest.StashKey[int] = pytest.StashKey()
_PROCESS: pytest.StashKey[ServerProcess] = pytest.StashKey()


def configure_node(node: Any) -> None:
    """Tell a new worker the port of the server that the controller will have started by the time it runs an eval."""
    if read_options(node.config).serve_command:
        node.workerinput[PORT] = _port(node.config)


def start(config: pytest.Config, place: RunFolder) -> None:
    """Start the server once, when evals are to run and a model waits for it; it ends with this process's run."""
    options = read_options(config)
    if not options.serve_command:
        return
    from pytest_audiobench.models.server.process import ServerProcess
    from pytest_audiobench.models.spec import parse_specs

    if _PROCESS in config.stash or not any(_wanted(options, spec) for spec in parse_specs(options.models)):
        return
    place.open()
    process = ServerProcess(options.serve_command, _port(config), place.folder)
    config.stash[_PROCESS] = process
    config.add_cleanup(process.end)


def placed(session: EvalSession, spec: ModelSpec) -> ModelSpec:
    """``spec`` with the URL of the run's server, where it leaves open which server it means.

    Raises UsageError for a command that cannot start one.
    """
    if not _wanted(session.options, spec):
        return spec
    from pytest_audiobench.models.server.process import check_command

    check_command(session.options.serve_command)
    url = _served(session).url
    if spec.kind == "http":
        return replace(spec, target=url)
    return replace(spec, options={**spec.options, "base_url": f"{url}/v1"})


def behind(session: EvalSession, spec: ModelSpec, model: Model) -> Model:
    """``model``, which waits for the run's server and tells its end where it asks that one.

    A model that cannot ask what its server is made of is told the digest of the command, as the user wrote it.
    """
    if not _wanted(session.options, spec):
        return model
    from pytest_audiobench.identity import digest
    from pytest_audiobench.models.server.process import ServedModel
    from pytest_audiobench.models.spec import written

    if hasattr(model, "served_by"):
        model.served_by = digest(session.options.serve_command)
    return cast("Model", ServedModel(model, _served(session), written(spec.kind, spec.target, spec.options)))


def _wanted(options: Options, spec: ModelSpec) -> bool:
    if not options.serve_command:
        return False
    from pytest_audiobench.models.server.url import is_url

    if spec.kind == "http":
        return not (is_url(spec.target) or "url_file" in spec.options or options.url_file)
    return spec.kind == "openai" and not ("base_url" in spec.options or options.base_url)


def _served(session: EvalSession) -> Served:
    from pytest_audiobench.models.server.process import Served

    return Served(f"http://127.0.0.1:{_port(session.config)}", session.place.folder)


def _port(config: pytest.Config) -> int:
    from pytest_audiobench.models.server.process import free_port

    given: dict[str, Any] | None = getattr(config, "workerinput", None)
    if given is not None:
        return int(given[PORT])
    if _PORT not in config.stash:
        config.stash[_PORT] = free_port()
    return config.stash[_PORT]
