import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.registry import make
from pytest_audiobench.models.spec import check_options, parse_spec, parse_specs, presets, written


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
        ("http://node17:8000/predict", "node17-8000", "http", "http://node17:8000", {}),
        ("a=https://lab.example/", "a", "http", "https://lab.example", {}),
        ("http://[::1]:8000,retry_s=3", "1-8000", "http", "http://[::1]:8000", {"retry_s": "3"}),
        ("http://node17:8010/judge", "judge", "judge-scores", "http://node17:8010/judge", {}),
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


BEANS_NEXT = (
    *("af_next_local_8000", "dummy_local_8000", "gemini_openai_api", "gpt4o_audio_openai_api"),
    *("naturelm_v1_0_local_8000", "naturelm_v1_1_local_8001", "openai_proxy_local_8000"),
    *("qwen3_omni_vllm_local_8000", "vllm_local_8000"),
)


def test_a_presets_name_is_its_spec_under_its_own_alias():
    assert tuple(presets()) == BEANS_NEXT
    for name in BEANS_NEXT:
        spec = parse_spec(name)
        port = 8001 if name.endswith("8001") else 8000
        assert (spec.alias, spec.kind, spec.target) == (name, "http", f"http://127.0.0.1:{port}")
        assert make(spec).limits.rate_hz == 16_000


def test_a_preset_takes_an_alias_and_further_keys():
    spec = parse_spec('base=naturelm_v1_1_local_8001,batch=4,note="step 2000: the long one, again"')
    assert (spec.alias, spec.target) == ("base", "http://127.0.0.1:8001")
    assert spec.options == {"batch": "4", "note": "step 2000: the long one, again"}
    assert spec.text.startswith("base=naturelm_v1_1")


def test_a_name_that_is_nearly_a_presets_is_said_with_it():
    with pytest.raises(UsageError, match=r"names no model; .*did you mean 'dummy_local_8000'"):
        parse_spec("dumy_local_8000")
    with pytest.raises(UsageError, match="'gemini' names no model") as refused:
        parse_spec("gemini")
    assert "did you mean" not in str(refused.value)


def test_a_folder_without_a_kind_is_said_as_a_checkpoint_and_nothing_else_is(tmp_path):
    for alias in ("", "step-1="):
        with pytest.raises(UsageError, match="names no model") as refused:
            parse_spec(f"{alias}{tmp_path}")
        assert str(refused.value).endswith(f"; did you mean '{alias}hf:{tmp_path}'?")
    for text in ("", "step-1=", "a" * 5000, "a\0b"):
        with pytest.raises(UsageError, match="names no model") as refused:
            parse_spec(text)
        assert "did you mean" not in str(refused.value)


def test_a_note_is_no_part_of_a_model_and_every_kind_takes_one():
    spec = parse_spec('baseline:chance,note="of Tuesday"')
    assert make(spec).fingerprint() == make(parse_spec("baseline:chance")).fingerprint()
    assert make(spec).spec == "baseline:chance"
