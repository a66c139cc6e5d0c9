import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.spec import check_options, parse_spec, parse_specs, written


@pytest.mark.parametrize(
    ("text", "alias", "kind", "target", "options"),
    [
        (
            "hf:Qwen/Qwen2-Audio-7B-Instruct,dtype=bfloat16,device=cuda:0",
            "Qwen2-Audio-7B-Instruct",
            "hf",
            "Qwen/Qwen2-Audio-7B-Instruct",
            {"dtype": "bfloat16", "device": "cuda:0"},
        ),
        ("a=hf:checkpoints/step-2000", "a", "hf", "checkpoints/step-2000", {}),
        ("baseline:listener", "listener", "baseline", "listener", {}),
        (
            "replay:../shared/data/recorded/af3,answers=no_reas",
            "af3",
            "replay",
            "../shared/data/recorded/af3",
            {"answers": "no_reas"},
        ),
        ("hf:/models/a,b=c,d/step 1", "step-1", "hf", "/models/a,b=c,d/step 1", {}),
        ("hf:runs/lr=0.1,v2,device=cpu", "lr-0.1-v2", "hf", "runs/lr=0.1,v2", {"device": "cpu"}),
        ("replay:..", "replay-..", "replay", "..", {}),
        ("hf:C:\\models\\good", "good", "hf", "C:\\models\\good", {}),
        ("x=baseline:chance,note=", "x", "baseline", "chance", {"note": ""}),
        (
            'm=openai:m,style=qwen,serve="vllm serve m --limit audio=1,image=0 --port {port}"',
            "m",
            "openai",
            "m",
            {"style": "qwen", "serve": "vllm serve m --limit audio=1,image=0 --port {port}"},
        ),
        (
            """openai:m,serve='serve --set \'\'{"audio": 1, "image": 0}\'\' --port {port}',stream=yes""",
            "m",
            "openai",
            "m",
            {"serve": """serve --set '{"audio": 1, "image": 0}' --port {port}""", "stream": "yes"},
        ),
        ('hf:m,template="a ""dry"", loud {}"', "m", "hf", "m", {"template": 'a "dry", loud {}'}),
        (
            "openai:m,base_url='http://127.0.0.1:8000/a,b=c/v1'",
            "m",
            "openai",
            "m",
            {
                "base_url": "http://127.0.0.1:8000/a,b=c/v1",
            },
        ),
    ],
)
def test_a_spec_is_read_as_alias_kind_target_and_options(text, alias, kind, target, options):
    spec = parse_spec(text)
    assert (spec.alias, spec.kind, spec.target, spec.options, spec.text) == (alias, kind, target, options, text)


@pytest.mark.parametrize(
    "text", ["", "listener", "hf:", "=hf:x", ":x", "a b=hf:x", "my model:x", "a=b=hf:x", "hf:,device=cpu"]
)
def test_a_text_that_names_no_model_says_what_does(text):
    with pytest.raises(UsageError) as error:
        parse_spec(text)
    assert repr(text) in str(error.value)


def test_an_option_given_twice_is_refused():
    with pytest.raises(UsageError, match="'dtype' stands twice"):
        parse_spec("hf:x,dtype=float32,dtype=bfloat16")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("http:lab,serve=vllm serve m --limit audio=1,image --port {port}", "serve"),
        ("openai:m,base_url=http://127.0.0.1:8000/a,b/v1", "base_url"),
        ('openai:m,serve="vllm serve m', "serve"),
        ('openai:m,serve="vllm serve m" --port {port}', "serve"),
        ("openai:m,note='it's'", "note"),
    ],
)
def test_a_value_whose_comma_or_quote_cannot_be_read_says_how_it_is_written(text, key):
    with pytest.raises(UsageError, match=f'write one that holds a comma in quotes, {key}="…", and a quote in it twice'):
        parse_spec(text)


def test_two_models_of_one_alias_are_refused_by_both_their_texts():
    with pytest.raises(UsageError, match=r"'hf:a/x' and 'hf:b/x'"):
        parse_specs(["hf:a/x", "hf:b/x"])
    assert [spec.alias for spec in parse_specs(["hf:a/x", "y=hf:b/x"])] == ["x", "y"]


def test_an_unknown_option_is_answered_with_the_known_ones():
    with pytest.raises(UsageError, match=r"'hf' has no option 'colour'; it has batch, device"):
        check_options("hf", {"colour": "red"}, ("device", "batch"))
    with pytest.raises(UsageError, match=r"'hf' has no option 'devise'; did you mean 'device'\?"):
        check_options("hf", {"devise": "cpu"}, ("device", "batch"))


identifiers = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
values = st.text(st.characters(blacklist_categories=("Cs",)) | st.sampled_from(",=\"'"), max_size=8)
targets = st.text(
    st.characters(whitelist_categories=("L", "N"), whitelist_characters="/.=:- "), min_size=1, max_size=20
)


@given(targets.filter(lambda t: t == t.strip()), st.dictionaries(identifiers, values.filter(lambda v: v == v.strip())))
def test_what_is_written_reads_back(target, options):
    spec = parse_spec(written("hf", target, options))
    assert (spec.kind, spec.target, dict(spec.options)) == ("hf", target, options)
    assert all(c.isascii() and (c.isalnum() or c in "._-") for c in spec.alias)
    assert spec.alias
