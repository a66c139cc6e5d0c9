"""The digests of a checkpoint's files: they change with every file that a library reads, and with no other."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import digest
from pytest_audiobench.models.hf.checkpoint import Checkpoint

GOOD = Path(__file__).parents[2] / "fixtures" / "checkpoints" / "good"

READ = [
    "added_tokens.json",
    "adapter_config.json",
    "adapter_model.safetensors",
    "additional_chat_templates/tools.jinja",
    "audio_tokenizer_config.json",
    "bpe.codes",
    "chat_template.jinja",
    "chat_template.json",
    "config.4.30.0.json",
    "config.json",
    "dict.txt",
    "generation_config.json",
    "merges.txt",
    "model.safetensors.index.json",
    "normalizer.json",
    "preprocessor_config.json",
    "processor_config.json",
    "qwen.tiktoken",
    "sentencepiece.bpe.model",
    "source.spm",
    "special_tokens_map.json",
    "spiece.model",
    "tekken.json",
    "tiktoken.model",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "video_preprocessor_config.json",
    "vocab.json",
    "vocab.txt",
    "speech_tokenizer/config.json",
    "speech_tokenizer/model.safetensors",
]


@pytest.fixture
def copied(tmp_path):
    return shutil.copytree(GOOD, tmp_path / "copy")


def digests_with(folder, name, content, **options):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(content)
    return Checkpoint(folder).digests(**options)


@pytest.mark.parametrize("name", READ)
def test_a_change_of_a_file_that_is_read_changes_the_digests(copied, name):
    if "/" in name:
        digests_with(copied, f"{Path(name).parent}/config.json", "{}")
    with_it = digests_with(copied, name, "one")
    assert with_it != Checkpoint(GOOD).digests()
    assert with_it != digests_with(copied, name, "two")


def test_every_file_that_a_tokenizer_of_transformers_names_is_covered(copied):
    transformers = pytest.importorskip("transformers")
    names = set()
    for source in (Path(transformers.__file__).parent / "models").glob("*/tokenization_*.py"):
        for table in re.findall(r"VOCAB_FILES_NAMES *= *\{(.*?)\}", source.read_text(encoding="utf-8"), re.DOTALL):
            names.update(re.findall(r":\s*\"([\w.]+)\"", table))
    assert {"vocab.txt", "merges.txt", "spiece.model"} <= names
    before = Checkpoint(copied).digests()
    uncovered = []
    for name in sorted(names):
        after = digests_with(copied, name, "changed")
        uncovered += [name] if after == before else []
        before = after
    assert uncovered == []


def test_code_counts_where_it_is_run_and_only_there(copied):
    for name in ("model.py", "layers/attention.py"):
        bare, trusted = Checkpoint(copied).digests(), Checkpoint(copied).digests(code=True)
        assert digests_with(copied, name, "pass") == bare
        assert Checkpoint(copied).digests(code=True) != trusted


@pytest.mark.parametrize(
    "name",
    ["README.md", "README.txt", "trainer_state.json", "eval_results.json", "checkpoint-500/config.json", "a.log"],
)
def test_what_training_leaves_behind_changes_nothing(copied, name):
    assert digests_with(copied, name, "{}") == Checkpoint(GOOD).digests()


def test_a_plain_checkpoint_has_the_digests_that_it_always_had():
    assert digest(Checkpoint(GOOD).digests()) == "eb41171461cafd34f227c8a62d0a85608086cdd241d138b23d08601b18aaac65"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
@pytest.mark.parametrize("name", ["config.json", "additional_chat_templates/tools.jinja"])
def test_a_pipe_is_refused_before_anything_waits_for_it(copied, name):
    (copied / name).parent.mkdir(exist_ok=True)
    (copied / name).unlink(missing_ok=True)
    os.mkfifo(copied / name)
    with pytest.raises(UsageError, match=re.escape(f"{copied / name} is a pipe or a device")):
        Checkpoint.find(str(copied))


@pytest.mark.parametrize("weights", [None, [], {"lm_head": {"file": 1}}, {"lm_head": 7}])
def test_an_index_that_names_no_files_is_refused_in_a_sentence(copied, weights):
    (copied / "model.safetensors").unlink()
    (copied / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))
    with pytest.raises(UsageError, match=r"index\.json names no files by weight"):
        Checkpoint.find(str(copied)).digests()


@pytest.mark.parametrize("value", ["16000", [1], {"a": 1}])
def test_a_front_end_that_is_no_number_is_refused_with_its_file(copied, value):
    path = copied / "processor_config.json"
    path.write_text(
        json.dumps({"feature_extractor": {"sampling_rate": 16_000, "n_samples": value, "chunk_length": value}})
    )
    with pytest.raises(UsageError, match=re.escape(f"the rate and window in {path} are none")):
        Checkpoint(copied).front_end()


@pytest.mark.parametrize("spoil", ["deep", "folder", "loop"])
def test_a_configuration_that_cannot_be_read_is_named(copied, spoil):
    path = copied / "config.json"
    path.unlink()
    if spoil == "deep":
        path.write_text('{"a":' * 100_000)
    elif spoil == "folder":
        path.mkdir()
    else:
        path.symlink_to(path)
    with pytest.raises(UsageError, match=re.escape(str(path))):
        Checkpoint(copied).config()
