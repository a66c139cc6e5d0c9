"""LoRA adapters on top of a checkpoint: ``hf:BASE+ADAPTER``."""

import importlib.util
import json
import shutil

import pytest

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.hf.model import HfModel

# Looked for and not imported: who only collects need not wait for it.
pytestmark = pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="needs the extra lora")


@pytest.fixture
def base(built):
    return built("qwen25_omni_thinker")


@pytest.fixture
def adapter(built, base, tmp_path):
    return shutil.copytree(built("lora", base=base), tmp_path / "adapter")


def _texts(model, ask_about, recordings):
    asks = [ask_about("What is it?", heard, task="open", max_new_tokens=8) for heard in recordings()[:4]]
    texts = [response.text for response in model.ask(asks)]
    model.close()
    return texts


def _told(base, adapter):
    return HfModel(f"{base}+{adapter}", {"device": "cpu"})


def test_an_adapter_changes_answers_and_the_fingerprint_alone_by_itself(base, adapter, ask_about, recordings):
    plain, adapted = HfModel(str(base), {"device": "cpu"}), _told(base, adapter)
    assert _texts(adapted, ask_about, recordings) != _texts(plain, ask_about, recordings)
    more = adapted.fingerprint().items() - plain.fingerprint().items()
    assert [name for name, _ in more] == ["lora"]


def test_an_adapter_of_zeros_changes_no_answer(built, base, ask_about, recordings):
    zeros = built("lora", base=base, scale=0.0)
    plain = _texts(HfModel(str(base), {"device": "cpu"}), ask_about, recordings)
    assert _texts(_told(base, zeros), ask_about, recordings) == plain


def test_answers_are_those_of_peft_itself(base, adapter, ask_about, recordings):
    import torch
    from peft import PeftModel
    from transformers import AutoModelForMultimodalLM

    from pytest_audiobench.models.hf.processors import qwen25_omni

    model = PeftModel.from_pretrained(AutoModelForMultimodalLM.from_pretrained(base), adapter).eval()
    processor = qwen25_omni(base, False)
    turns = [{"role": "user", "content": [{"type": "audio"}, {"type": "text", "text": "What is it?"}]}]
    text = processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    expected = []
    for heard in recordings()[:4]:
        inputs = processor([text], audio=[heard.samples])
        with torch.inference_mode():
            tokens = model.generate(**inputs, max_new_tokens=8, do_sample=False)[0, inputs["input_ids"].shape[1] :]
        expected.append(processor.tokenizer.decode(tokens, skip_special_tokens=True))
    assert _texts(_told(base, adapter), ask_about, recordings) == expected


def test_an_adapter_of_another_base_is_noted_and_used(base, adapter):
    config = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(json.dumps(config | {"base_model_name_or_path": "lab/other"}))
    with pytest.warns(UserWarning, match="was trained on lab/other, and is put on"):
        assert "lora" in _told(base, adapter).fingerprint()


def test_a_pickled_adapter_is_refused(base, adapter):
    (adapter / "adapter_model.safetensors").rename(adapter / "adapter_model.bin")
    with pytest.raises(UsageError, match=r"no adapter_model.safetensors; a pickled adapter"):
        _told(base, adapter).fingerprint()


@pytest.mark.parametrize(
    ("config", "said"),
    [(None, "has no adapter_config.json"), ("{", "is not JSON"), ('{"peft_type": "IA3"}', "of type 'IA3'; only LoRA")],
)
def test_a_folder_that_is_no_lora_adapter_is_refused(base, adapter, config, said):
    (adapter / "adapter_config.json").unlink()
    if config is not None:
        (adapter / "adapter_config.json").write_text(config)
    with pytest.raises(UsageError, match=said):
        _told(base, adapter).fingerprint()


def test_an_adapter_that_would_import_a_library_is_refused(base, adapter):
    config = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(json.dumps(config | {"megatron_config": {}, "megatron_core": "this"}))
    assert "lora" in _told(base, adapter).fingerprint()
    (adapter / "adapter_config.json").write_text(json.dumps(config | {"megatron_config": {"a": 1}}))
    with pytest.raises(UsageError, match="names a library to be imported"):
        _told(base, adapter).fingerprint()


def test_an_adapter_that_does_not_fit_is_refused(base, adapter):
    from safetensors.numpy import load_file, save_file

    weights = load_file(adapter / "adapter_model.safetensors")
    save_file(dict(list(weights.items())[1:]), adapter / "adapter_model.safetensors", {"format": "pt"})
    with pytest.raises(FatalError, match="does not fit the model"):
        _told(base, adapter).load()


def test_a_plus_in_a_folders_name_is_no_adapter(base, tmp_path):
    folder = shutil.copytree(base, tmp_path / "step+100")
    assert "lora" not in HfModel(str(folder), {"device": "cpu"}).fingerprint()


def test_an_adapter_that_is_nowhere_is_named(base, tmp_path):
    with pytest.raises(UsageError, match=r"the model folder .*gone/away does not exist"):
        HfModel(f"{base}+{tmp_path}/gone/away").fingerprint()
