"""The transformers adapter on a checkpoint that the tests build themselves."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.hf.model import HfModel


@pytest.fixture(scope="module")
def model(tiny_checkpoint):
    model = HfModel(str(tiny_checkpoint), {"device": "cpu"})
    yield model
    model.close()


@pytest.fixture
def copied(tiny_checkpoint, tmp_path):
    return shutil.copytree(tiny_checkpoint, tmp_path / "copy")


@pytest.fixture(scope="module")
def noises(heard):
    random = np.random.default_rng(7)
    return [heard(random.normal(0, 0.1, size=n)) for n in (16_000, 4_000, 9_000, 12_345, 2_000)]


def test_limits_come_from_the_checkpoints_own_front_end(model):
    assert (model.limits.rate_hz, model.limits.max_clip_s, model.limits.max_batch) == (16_000, 1.0, 64)
    assert model.batching == "planned"
    assert model.listens


def test_batches_and_single_requests_give_the_same_texts(model, ask_about, noises):
    asks = [ask_about("Which digit?", noise, max_new_tokens=8) for noise in noises]
    together = [response.text for response in model.ask(asks)]
    assert together == [model.ask([ask])[0].text for ask in asks]
    assert all(together)


def test_an_answer_cut_by_the_limit_of_tokens_says_so(model, ask_about, noises):
    response = model.ask([ask_about("Which digit?", noises[0], max_new_tokens=1)])[0]
    assert response.finish == "length"
    assert response.usage["completion_tokens"] == 1
    assert response.usage["prompt_tokens"] > 25


def test_clips_stand_where_the_message_puts_them(model, ask_about, noises):
    two = ask_about("Which of them?", noises[0], noises[1], max_new_tokens=3)
    none = ask_about("Which digit?", max_new_tokens=3)
    one = ask_about("Which digit?", noises[0], max_new_tokens=3)
    asked = [response.usage["prompt_tokens"] for response in model.ask([two, none, one])]
    assert asked[0] > asked[2] > asked[1]


def test_without_any_audio_a_batch_is_asked_too(model, ask_about):
    assert model.ask([ask_about("Which digit?", max_new_tokens=2)])[0].error is None


def test_a_very_short_clip_is_heard(model, ask_about, heard):
    for frames in (1, 160, 800):
        assert model.ask([ask_about("Which digit?", heard(np.ones(frames) / 2), max_new_tokens=2)])[0].error is None


def test_more_clips_than_the_family_takes_are_an_error_of_that_sample_alone(model, ask_about, noises):
    many = ask_about("Which?", *[noises[0]] * 9, max_new_tokens=2)
    one = ask_about("Which?", noises[0], max_new_tokens=2)
    refused, told = model.ask([many, one])
    assert "plays 9 clips" in refused.error
    assert told.error is None


def test_a_clip_is_never_cut_and_never_played_at_a_wrong_rate(model, ask_about, heard):
    long, slow = heard(np.zeros(16_001)), heard(np.zeros(8_000), rate_hz=8_000)
    errors = [response.error for response in model.ask([ask_about("Which?", long), ask_about("Which?", slow)])]
    assert "hears 1 s" in errors[0]
    assert "8000 Hz" in errors[1]


def test_a_question_with_the_models_own_audio_token_is_an_error(model, ask_about, noises):
    smuggled = ask_about("Which <|AUDIO|> digit?", noises[0], max_new_tokens=2)
    plain = ask_about("Which digit?", noises[0], max_new_tokens=2)
    responses = model.ask([smuggled, plain])
    assert "audio token" in responses[0].error
    assert responses[1].error is None


def test_sampling_is_seeded_by_the_requests_and_leaves_other_randomness_alone(model, ask_about, noises):
    import torch

    torch.manual_seed(3)
    untouched = torch.rand(1)
    torch.manual_seed(3)
    hot = [
        ask_about("Which?", noise, max_new_tokens=8, temperature="1.5", key=f"{i}") for i, noise in enumerate(noises)
    ]
    first = [response.text for response in model.ask(hot)]
    assert torch.equal(torch.rand(1), untouched)
    assert first == [response.text for response in model.ask(hot)]
    renamed = [ask._replace(request=replace(ask.request, key=f"other-{ask.request.key}")) for ask in hot]
    assert first != [response.text for response in model.ask(renamed)]


def test_a_fingerprint_tells_weights_and_front_end_apart_and_holds_no_place(model, copied):
    assert HfModel(str(copied), {"device": "cpu"}).fingerprint() == model.fingerprint()
    assert str(copied) not in json.dumps(HfModel(str(copied)).fingerprint())
    padded = HfModel(str(copied), {"device": "cpu", "pad_s": "0.5"}).fingerprint()
    assert {part for part in padded if padded[part] != model.fingerprint()[part]} == {"front_end"}
    config = copied / "config.json"
    config.write_text(config.read_text().replace('"audio_token_index": 3', '"audio_token_index": 4'))
    changed = HfModel(str(copied), {"device": "cpu"}).fingerprint()
    assert {part for part in changed if changed[part] != model.fingerprint()[part]} == {"config"}


@pytest.mark.parametrize("option", [{"attn": "eager"}, {"attn": "sdpa"}, {"dtype": "float16"}, {"padding": "right"}])
def test_kernel_dtype_and_side_of_padding_make_another_model(tiny_checkpoint, option):
    plain, other = (HfModel(str(tiny_checkpoint), {"device": "cpu", **more}).fingerprint() for more in ({}, option))
    assert plain != other


def test_the_side_that_is_padded_anyway_may_be_named(tiny_checkpoint):
    plain, named = (HfModel(str(tiny_checkpoint), {"device": "cpu", **more}) for more in ({}, {"padding": "left"}))
    assert plain.fingerprint() == named.fingerprint()


def test_digests_may_be_remembered_by_the_caller(copied):
    seen = []

    def remember(path):
        seen.append(path.name)
        return "0" * 64

    HfModel(str(copied), digest_of=remember).fingerprint()
    assert {"model.safetensors", "tokenizer.json", "processor_config.json", "chat_template.jinja"} <= set(seen)


def test_a_fingerprint_is_taken_without_torch(tiny_checkpoint):
    code = (
        "import sys; from pytest_audiobench.models.hf.model import HfModel; "
        f"m = HfModel({str(tiny_checkpoint)!r}); m.fingerprint(), m.limits, m.device; "
        "print([n for n in ('torch', 'transformers', 'huggingface_hub') if n in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def _without_processor(folder):
    for path in folder.glob("*processor_config.json"):  # transformers 4 writes two
        path.unlink()


def test_a_checkpoint_without_a_processor_would_drop_the_audio_and_is_refused(copied):
    _without_processor(copied)
    with pytest.raises(FatalError, match="asked without its audio"):
        HfModel(str(copied)).fingerprint()


def test_a_processor_that_comes_back_as_a_bare_tokenizer_is_refused(copied):
    from pytest_audiobench.models.hf.engine import Setup
    from pytest_audiobench.models.hf.families import Family
    from pytest_audiobench.models.hf.generation import Generator
    from pytest_audiobench.models.hf.loading import Load

    _without_processor(copied)
    (copied / "config.json").write_text('{"model_type": "qwen2"}')
    tokenizer = json.loads((copied / "tokenizer_config.json").read_text())
    del tokenizer["processor_class"]
    (copied / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    with pytest.raises(FatalError, match="would drop the audio"):
        Generator(Setup(Load(copied, Family()), 16_000))


def test_a_template_that_forgets_the_audio_is_refused(copied):
    (copied / "chat_template.jinja").write_text("{% for m in messages %}{{ m['content'][-1]['text'] }}{% endfor %}")
    with pytest.raises(FatalError, match="does not grow with the audio"):
        HfModel(str(copied), {"device": "cpu"}).load()


def test_pickled_weights_are_refused(copied):
    (copied / "model.safetensors").rename(copied / "pytorch_model.bin")
    with pytest.raises(UsageError, match=r"pickled weights only.*safetensors"):
        HfModel(str(copied)).fingerprint()


def test_weights_that_are_missing_would_be_random_and_are_refused(copied):
    from safetensors.numpy import load_file, save_file

    weights = load_file(copied / "model.safetensors")
    dropped = next(name for name in sorted(weights) if "projector" in name)
    save_file({n: w for n, w in weights.items() if n != dropped}, copied / "model.safetensors", {"format": "pt"})
    with pytest.raises(FatalError, match="missing or misshapen"):
        HfModel(str(copied), {"device": "cpu"}).load()


def test_an_index_cannot_point_out_of_the_folder(copied):
    (copied / "model.safetensors").rename(copied.parent / "elsewhere.safetensors")
    (copied / "model.safetensors.index.json").write_text('{"weight_map": {"w": "../elsewhere.safetensors"}}')
    with pytest.raises(UsageError, match="is the checkpoint complete"):
        HfModel(str(copied)).fingerprint()


def test_a_folder_that_is_not_there_says_what_would_be(tmp_path):
    with pytest.raises(UsageError, match="does not exist; give a folder"):
        HfModel(str(tmp_path / "gone" / "away")).fingerprint()


def test_a_name_that_is_not_in_the_local_cache_says_so():
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    with pytest.raises(UsageError, match="neither a path nor in the local Hugging Face cache"):
        HfModel("nobody/nothing-of-the-kind").fingerprint()


@pytest.mark.parametrize(
    "options",
    [
        {"device": "cpu", "device_map": "auto"},
        {"device_map": "gpu"},
        {"beams": "0"},
        {"repetition_penalty": "x"},
        {"batch": "0"},
        {"batch": "1.5"},
        {"max_s": "nan"},
        {"dtype": "int8"},
        {"download": "1"},
        {"colour": "red"},
    ],
)
def test_an_option_that_cannot_be_is_refused_at_once(options):
    with pytest.raises(UsageError):
        HfModel("anything", options)


def test_a_device_that_is_not_there_is_named(tiny_checkpoint):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    with pytest.raises(FatalError, match="add ,device=cpu"):
        HfModel(str(tiny_checkpoint), {"device": "cuda:0"}).load()


def test_a_batch_too_large_for_memory_is_halved_until_it_fits():
    pytest.importorskip("torch")
    from pytest_audiobench.models.hf.engine import OutOfMemory, halving

    def holds_three(part):
        if len(part) > 3 or "huge" in part:
            raise OutOfMemory
        return [item.upper() for item in part]

    assert halving(["a", "b"], holds_three) == (["A", "B"], 0)
    assert halving([*"abcdefgh"], holds_three) == ([*"ABCDEFGH"], 3)
    assert halving(["a", "huge"], holds_three) == (["A", None], 1)


def test_answers_of_a_batch_that_was_halved_say_so(model, ask_about, noises, monkeypatch):
    import torch

    asks = [ask_about("Which digit?", noise, max_new_tokens=8) for noise in noises]
    whole = model.ask(asks)
    reply = model._engine.reply

    def holds_two(batch, settings):
        if len(batch) > 2:
            raise torch.OutOfMemoryError
        return reply(batch, settings)

    monkeypatch.setattr(model._engine, "reply", holds_two)
    before = model.oom_splits
    halved = model.ask(asks)
    assert [response.text for response in halved] == [response.text for response in whole]
    assert {response.usage["oom_splits"] for response in halved} == {2}
    assert model.oom_splits == before + 2
    assert "oom_splits" not in model.ask(asks[:2])[0].usage
