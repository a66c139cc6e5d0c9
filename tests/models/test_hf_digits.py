"""A trained Qwen2-Audio on real spoken digits: the adapter gives the accuracies that its training measured."""

from pathlib import Path

import pytest

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.errors import FatalError
from pytest_audiobench.models.hf.model import HfModel

DATA = Path(__file__).parents[2].parent / "shared" / "data"
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.skipif(
    not (DATA / "checkpoints").is_dir() or not (DATA / "fsdd").is_dir(),
    reason=f"needs the digit checkpoints and recordings in {DATA}",
)


@pytest.fixture(scope="module")
def takes():
    """Takes 0 to 4 of every digit and speaker at 16 kHz, with the word that is spoken."""
    root = DataRoot("fsdd", DATA / "fsdd" / "recordings")
    names = sorted(path.name for path in root.folder.glob("*.wav") if int(path.stem.split("_")[-1]) < 5)
    assert len(names) == 300
    return [(decode(Clip(FileSource(root, name)), 16_000, 1.0), WORDS[int(name[0])]) for name in names]


@pytest.fixture
def model_after():
    def make(epochs, **options):
        folder = DATA / "checkpoints" / f"fsdd-qwen2audio-epoch{epochs}"
        return HfModel(str(folder), {"device": "cpu", "pad_s": "0.5", **options})

    return make


def _texts(model, ask_about, takes, batch):
    asks = [ask_about("Which digit?", heard, task="open", max_new_tokens=6) for heard, _ in takes]
    return [r.text.strip() for k in range(0, len(asks), batch) for r in model.ask(asks[k : k + batch])]


def _right(texts, takes):
    return sum(text == word for text, (_, word) in zip(texts, takes, strict=True))


@pytest.mark.parametrize(("epochs", "right"), [(4, 66), (12, 234), (20, 287)])
def test_accuracy_is_what_training_measured(model_after, ask_about, takes, epochs, right):
    # Training padded clips to half a second; the earlier epochs' figures are known to whole per cents.
    assert abs(_right(_texts(model_after(epochs), ask_about, takes, 16), takes) - right) <= (0 if epochs == 20 else 2)


def test_texts_do_not_depend_on_the_batch(model_after, ask_about, takes):
    model = model_after(20)
    some = takes[::5]
    assert _texts(model, ask_about, some, 1) == _texts(model, ask_about, some, 16)


def test_without_the_padding_of_its_training_the_model_hears_worse(model_after, ask_about, takes):
    texts = _texts(model_after(20, pad_s="0"), ask_about, takes, 16)
    assert _right(texts, takes) < 0.8 * 300


def test_padding_on_the_wrong_side_would_ruin_the_answers_and_is_refused(model_after, ask_about, takes):
    import torch

    from pytest_audiobench.models.hf.generation import by_processor

    model = model_after(20)
    model.load()
    engine = model._engine
    engine._inputs_of = by_processor  # as other families do; the tensors of this one are always padded on the left
    engine.processor.tokenizer.padding_side = "right"
    asks = [ask_about("Which digit?", heard, task="open", max_new_tokens=6) for heard, _ in takes]
    with pytest.raises(FatalError, match="pads on the right"):
        model.ask(asks[:16])

    # What would have come of it, by the same model and processor without the adapter's guard.
    text = engine._prompt(asks[0]).text
    padded = [engine.filled_up(ask.audio[0].samples) for ask in asks]
    inputs = engine.processor(
        text=[text] * len(asks), audio=padded, sampling_rate=16_000, return_tensors="pt", padding=True
    )
    with torch.inference_mode():
        tokens = engine.model.generate(**inputs, max_new_tokens=6, do_sample=False)[:, inputs["input_ids"].shape[1] :]
    texts = [text.strip() for text in engine.processor.batch_decode(tokens, skip_special_tokens=True)]
    assert _right(texts, takes) < 0.5 * 300
    model.close()
