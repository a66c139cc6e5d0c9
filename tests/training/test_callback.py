"""transformers' own Trainer saves a real Qwen2-Audio three times, and each is asked."""

import warnings
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra hf")
transformers = pytest.importorskip("transformers", reason="needs the extra hf")
pytest.importorskip("accelerate", reason="transformers' Trainer needs accelerate")

from pytest_audiobench.ext import AudiobenchCallback  # noqa: E402

ROOT = Path(__file__).parents[2]
EVALS = """
from pytest_audiobench import dataset, multiple_choice


def test_digits(evaluate):
    evaluate(dataset("bundled", "digits"), multiple_choice())
"""


class Spoil(transformers.TrainerCallback):
    """Puts noise on the weights before a step, as a training that diverges does."""

    def __init__(self, step):
        self.step = step

    def on_step_begin(self, args, state, control, model=None, **kwargs):
        if state.global_step == self.step - 1:
            torch.manual_seed(0)
            with torch.no_grad():
                for weights in model.parameters():
                    weights.add_(3.0 * weights.std(correction=0) * torch.randn_like(weights))


def train(folder, spoiled, callback, steps):
    """Train for some steps at a rate of zero: what changes is what ``Spoil`` does."""
    checkpoint = ROOT / "fixtures" / "checkpoints" / "good"
    processor = transformers.AutoProcessor.from_pretrained(checkpoint)
    model = transformers.Qwen2AudioForConditionalGeneration.from_pretrained(checkpoint, dtype="float32")
    text = processor.apply_chat_template(
        [{"role": "user", "content": [{"type": "audio"}, {"type": "text", "text": "Which digit is spoken?"}]}],
        tokenize=False,
        add_generation_prompt=True,
    )
    item = dict(processor(text=text, audio=[np.zeros(16_000, np.float32)], sampling_rate=16_000, return_tensors="pt"))
    row = {name: values[0] for name, values in item.items()} | {"labels": item["input_ids"][0]}
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        max_steps=steps,
        save_steps=1,
        learning_rate=0.0,
        per_device_train_batch_size=1,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        save_only_model=True,
    )
    trainer = transformers.Trainer(
        model=model,
        args=arguments,
        train_dataset=[row] * steps,
        processing_class=processor,
        callbacks=[Spoil(spoiled), callback],
    )
    trainer.train()
    return trainer


def test_a_trainer_asks_at_each_save_and_stops_at_a_regression(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_digits.py").write_text(EVALS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    asked = ("test_digits.py", "-q", "-p", "no:cacheprovider", "--ab-limit=24")
    callback = AudiobenchCallback(*asked, name="digits", stop=True)
    trainer = train(tmp_path / "out", 3, callback, steps=4)
    assert trainer.state.global_step == 3
    assert [bool(look.regressed) for look in callback.looks] == [False, False, True]
    logged = [
        entry["audiobench/digits/accuracy"]
        for entry in trainer.state.log_history
        if "audiobench/digits/accuracy" in entry
    ]
    assert len(logged) == 3
    assert logged[0] == logged[1] > 0.9 > logged[2]
    assert (tmp_path / "reports" / "digits.html").is_file()
    assert "✗ worse" in capfd.readouterr().out


def test_an_eval_that_fails_ends_no_training(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        trainer = train(tmp_path / "out", 0, AudiobenchCallback("nowhere", "-q"), steps=1)
    assert trainer.state.global_step == 1
    assert any("was not measured: pytest ended with exit code 4" in str(each.message) for each in said)
