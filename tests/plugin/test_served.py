"""Which models the run's server is for."""

from types import SimpleNamespace

import pytest

from pytest_audiobench.models.openai.model import OpenAIModel
from pytest_audiobench.models.run_server.process import Served, ServedModel
from pytest_audiobench.models.spec import parse_spec
from pytest_audiobench.plugin import model_server

RUN = {"serve_command": "serve {port}", "url_file": None, "base_url": ""}


@pytest.fixture
def server(tmp_path):
    def make(**options):
        config = SimpleNamespace(workerinput={model_server.PORT: options.pop("port", 4321)})
        return model_server.RunServer(config, SimpleNamespace(**{**RUN, **options}), tmp_path)

    return make


def test_models_without_a_url_get_the_servers(server):
    placed = server().placed(parse_spec("http:lab,rate=8000"))
    assert (placed.target, dict(placed.options)) == ("http://127.0.0.1:4321", {"rate": "8000"})
    placed = server().placed(parse_spec("openai:tiny"))
    assert (placed.target, dict(placed.options)) == ("tiny", {"base_url": "http://127.0.0.1:4321/v1"})


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("http:http://other:1", {}),
        ("http:lab,url_file=job.url", {}),
        ("http:lab", {"url_file": "job.url"}),
        ("http:lab", {"serve_command": ""}),
        ("openai:tiny,base_url=http://other/v1", {}),
        ("openai:tiny", {"base_url": "http://other/v1"}),
        ("hf:folder", {}),
    ],
)
def test_models_with_a_server_of_their_own_keep_it(server, spec, options):
    given = parse_spec(spec)
    assert server(**options).placed(given) is given
    assert server(**options).behind(given, given) is given


def test_a_model_behind_the_server_is_named_as_the_user_named_it(server, tmp_path):
    inner = SimpleNamespace(limits="limits", hearing=None)
    model = server().behind(parse_spec("a=http:lab,rate=8000"), inner)
    assert isinstance(model, ServedModel)
    assert (model.spec, model.limits) == ("http:lab,rate=8000", "limits")
    assert not hasattr(model, "oom_splits")
    assert model._served == Served("http://127.0.0.1:4321", tmp_path)


def test_a_model_behind_the_server_is_known_by_the_servers_command_and_not_by_its_port(server):
    def fingerprint(**options):
        run, given = server(**options), parse_spec("openai:tiny")
        placed = run.placed(given)
        model = run.behind(given, OpenAIModel(placed.target, placed.options))
        return model._inner.fingerprint()

    first = fingerprint(serve_command="serve --weights one --port {port}", port=4321)
    assert first == fingerprint(serve_command="serve --weights one --port {port}", port=5432)
    assert first != fingerprint(serve_command="serve --weights two --port {port}")
    assert "4321" not in str(first)
