"""Which models the run's servers are for."""

from types import SimpleNamespace

import pytest

from pytest_audiobench.models.openai.model import OpenAIModel
from pytest_audiobench.models.run_server.process import Served, ServedModel
from pytest_audiobench.models.spec import parse_spec
from pytest_audiobench.plugin import model_server


@pytest.fixture
def servers(tmp_path):
    def make(ports):
        return model_server.RunServers(SimpleNamespace(workerinput={model_server.PORTS: ports}), tmp_path)

    return make


def test_a_model_with_a_command_gets_the_url_of_its_server(servers):
    run = servers({"one {port}": 4321, "two {port}": 4322})
    placed = run.placed(parse_spec("http:lab,rate=8000,serve=one {port}"))
    assert (placed.target, dict(placed.options)) == ("http://127.0.0.1:4321", {"rate": "8000"})
    placed = run.placed(parse_spec("openai:tiny,serve=two {port}"))
    assert (placed.target, dict(placed.options)) == ("tiny", {"base_url": "http://127.0.0.1:4322/v1"})


@pytest.mark.parametrize(
    "spec",
    [
        *("http:http://other:1", "http:lab,url_file=job.url", "http:lab", "openai:tiny,base_url=http://other/v1"),
        *("openai:tiny", "hf:folder", "parrot:polly,serve=crackers"),
    ],
)
def test_models_without_a_command_are_left_as_they_are(servers, spec):
    given = parse_spec(spec)
    assert servers({}).placed(given) is given
    assert servers({}).behind(given, given) is given


def test_a_model_behind_a_server_is_named_without_its_command(servers, tmp_path):
    inner = SimpleNamespace(limits="limits", hearing=None)
    spec = parse_spec("a=http:lab,rate=8000,style=qwen,serve=two --password sesame {port}")
    model = servers({"one {port}": 4321, spec.options["serve"]: 4322}).behind(spec, inner)
    assert isinstance(model, ServedModel)
    assert (model.spec, model.limits) == ("http:lab,rate=8000", "limits")
    assert not hasattr(model, "oom_splits")
    assert model._served == Served("http://127.0.0.1:4322", tmp_path / "servers" / "1")


def test_a_model_behind_a_server_is_known_by_the_servers_command_and_not_by_its_port(servers):
    def fingerprint(command, port=4321):
        run, given = servers({command: port}), parse_spec(f"openai:tiny,serve={command}")
        placed = run.placed(given)
        return run.behind(given, OpenAIModel(placed.target, placed.options))._inner.fingerprint()

    first = fingerprint("serve --weights one --port {port}")
    assert first == fingerprint("serve --weights one --port {port}", port=5432)
    assert first != fingerprint("serve --weights two --port {port}")
    assert "4321" not in str(first)
    assert first["endpoint"] == "served by a1f028aa659e5ea97821ce91727e34643d6e5547e4f1be41cae605f1b1c1b2d5"
