import sys

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.model import Limits
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.spec import check_options, parse_spec


class Parrot:
    """A kind as a plugin would write one."""

    batching = "opaque"
    limits = Limits()
    listens = False
    device = "cpu"

    def __init__(self, target, options):
        check_options("parrot", options, ("colour",))
        self.spec = f"parrot:{target}"

    def fingerprint(self):
        return {"parrot": self.spec}


def test_a_kind_of_a_plugin_is_made_by_its_factory():
    kinds = {"parrot": Parrot}
    assert make(parse_spec("parrot:polly,colour=green"), kinds=kinds).fingerprint() == {"parrot": "parrot:polly"}
    with pytest.raises(UsageError, match="'size'; it has colour"):
        make(parse_spec("parrot:polly,size=2"), kinds=kinds)


def test_a_style_is_no_part_of_a_model_of_any_kind():
    plain, styled = (make(parse_spec(f"openai:m{key}")) for key in ("", ",style=qwen"))
    assert (styled.spec, styled.fingerprint()) == (plain.spec, plain.fingerprint())
    assert make(parse_spec("parrot:polly,style=qwen"), kinds={"parrot": Parrot}).spec == "parrot:polly"
    assert make(parse_spec("baseline:chance,style=qwen")).spec == "baseline:chance"


@pytest.mark.parametrize("spec", ["http:lab,serve=serve {port}", "openai:m,serve=serve {port}"])
def test_a_command_for_a_server_is_refused_where_no_run_starts_it(spec):
    with pytest.raises(UsageError, match=r"serve=… of an .* model is for runs of pytest, which start the server"):
        make(parse_spec(spec))


def test_an_unknown_kind_is_answered_with_the_known_ones():
    with pytest.raises(
        UsageError, match=r"'gpt:x' names an unknown kind of model; known are baseline, hf, http, judge-scores, openai"
    ):
        make(parse_spec("gpt:x"))
    with pytest.raises(UsageError, match=r"'hff:x' names an unknown kind of model; did you mean 'hf'\?"):
        make(parse_spec("hff:x"))


def test_a_factory_that_cannot_read_its_options_is_answered_with_the_spec():
    def ear(target, options):
        return int(options["ears"])

    with pytest.raises(UsageError, match=r"the model 'ear:x,ears=two' cannot be made: invalid literal .*'two'"):
        make(parse_spec("ear:x,ears=two"), kinds={"ear": ear})


def test_making_a_transformers_model_imports_no_torch(tmp_path):
    before = "torch" in sys.modules
    model = make(parse_spec(f"hf:{tmp_path},device=cpu"))
    assert model.device == "cpu"
    assert ("torch" in sys.modules) == before
