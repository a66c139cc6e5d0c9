"""Code that comes with a checkpoint is run when the model says that it is trusted, and never else."""

import json
import re
import shutil
import socket

import pytest
from safetensors.numpy import load_file, save_file

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.hf.model import HfModel

CODE = """
from pathlib import Path
from transformers import Qwen2AudioConfig, Qwen2AudioForConditionalGeneration

Path({ran!r}).touch()

class LabConfig(Qwen2AudioConfig):
    model_type = "lab_audio"

class LabModel(Qwen2AudioForConditionalGeneration):
    config_class = LabConfig
"""


@pytest.fixture
def ran(tmp_path):
    return tmp_path / "the-code-ran"


@pytest.fixture
def folder(tiny_checkpoint, tmp_path, ran, monkeypatch):
    """A checkpoint of a type that transformers does not know, with the code for it beside the weights."""
    import transformers.dynamic_module_utils as modules

    monkeypatch.setattr(modules, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "lab-audio")
    _change(folder, auto_map={"AutoConfig": "lab.LabConfig", "AutoModelForMultimodalLM": "lab.LabModel"})
    (folder / "lab.py").write_text(CODE.format(ran=str(ran)))
    # transformers renames weights of the model types that it knows
    weights = load_file(folder / "model.safetensors")
    named = {name.removeprefix("language_model.") if "lm_head" in name else name: w for name, w in weights.items()}
    save_file(named, folder / "model.safetensors", {"format": "pt"})
    return folder


def _change(folder, **values):
    config = json.loads((folder / "config.json").read_text())
    changed = {**config, "model_type": "lab_audio", "architectures": ["LabModel"], **values}
    (folder / "config.json").write_text(json.dumps(changed))


@pytest.mark.filterwarnings("ignore:.*have not run")
def test_trusted_code_is_run_and_belongs_to_the_fingerprint(folder, ran, ask_about, heard):
    import numpy as np

    model = HfModel(str(folder), {"device": "cpu", "trust": "yes"})
    assert model.ask([ask_about("Which?", heard(np.ones(8000) / 2), task="open", max_new_tokens=2)])[0].error is None
    assert ran.exists()
    model.close()
    before = model.fingerprint()
    with (folder / "lab.py").open("a") as file:
        file.write("# changed\n")
    after = HfModel(str(folder), {"device": "cpu", "trust": "yes"}).fingerprint()
    assert [name for name, _ in after.items() - before.items()] == ["code"]


@pytest.mark.filterwarnings("ignore:.*have not run")
def test_code_that_nobody_trusts_is_not_run_and_the_option_is_named(folder, ran):
    with pytest.raises(FatalError, match="add ,trust=yes to the model"):
        HfModel(str(folder), {"device": "cpu"}).load()
    assert not ran.exists()


def test_trust_is_yes_or_no(folder):
    with pytest.raises(UsageError, match="trust=lab/other of an hf model is unknown; give one of yes, no"):
        HfModel(str(folder), {"trust": "lab/other"})


def test_trusted_code_cannot_call_in_another_repositorys(folder, ran):
    _change(folder, auto_map={"AutoConfig": "lab/other--lab.LabConfig"})
    with pytest.raises(FatalError, match="code of another repository, lab/other, which nobody trusted"):
        HfModel(str(folder), {"device": "cpu", "trust": "yes"}).fingerprint()
    assert not ran.exists()


def test_a_name_in_a_configuration_is_looked_up_nowhere(tiny_checkpoint, tmp_path, monkeypatch):
    folder = shutil.copytree(tiny_checkpoint, tmp_path / "copy")
    path = folder / "processor_config.json"
    elsewhere = {"audio_tokenizer_class": "AutoModel", "audio_tokenizer_name_or_path": "lab/other"}
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, "processor_class": "Qwen2AudioProcessor", "audio_tokenizer": elsewhere}))
    names = []

    def look_up(host, *options, **named):
        names.append(host)
        raise OSError("no such host")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(FatalError, match=re.escape(str(folder))):
        HfModel(str(folder), {"device": "cpu"}).load()
    assert names == []
