import hashlib
import importlib.util
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from packaging.version import Version

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource, PlayedAudio
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.models.hf.families import SINCE
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request, Settings


@pytest.fixture(scope="session")
def heard():
    """Makes a waveform at 16 kHz what a model was played."""

    def make(samples, rate_hz=16_000):
        samples = np.ascontiguousarray(samples, dtype=np.float32)
        digest = hashlib.sha256(samples.tobytes()).hexdigest()
        return PlayedAudio(samples, rate_hz, digest, rate_hz, len(samples), "test")

    return make


@pytest.fixture(scope="session")
def ask_about():
    """Makes an element of a batch: a question, its clips before it, perhaps choices."""

    def make(question, *audio, choices=(), task="choice", key=None, **settings):
        parts = (*(AudioSlot(i) for i in range(len(audio))), question)
        name = key or hashlib.sha256(repr((question, [h.pcm_digest for h in audio], choices)).encode()).hexdigest()
        request = Request(
            key=name,
            dataset="test",
            sample_id=f"sample-{name[:8]}",
            stage="answer",
            task=task,
            messages=(Message("user", parts),),
            clips=(),
            choices=tuple(choices),
            settings=Settings(**settings),
        )
        return Ask(request, tuple(audio))

    return make


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Makes a tiny checkpoint of a family (a function of tiny.py), once a session; it is not to be changed."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    spec = importlib.util.spec_from_file_location("tiny", Path(__file__).with_name("tiny.py"))
    tiny = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tiny)
    made = {}

    def build(name, **options):
        type_ = name.replace("qwen25", "qwen2_5").replace("qwen3_omni", "qwen3_omni_moe")
        if Version(version("transformers")) < Version(since := SINCE.get(type_, "0")):
            pytest.skip(f"{name} needs transformers {since}")
        key = (name, *sorted(options.items()))
        if key not in made:
            if name == "voxtral":
                pytest.importorskip("mistral_common")
            made[key] = tmp_path_factory.mktemp(name)
            getattr(tiny, name)(made[key], **options)
        return made[key]

    return build


@pytest.fixture(scope="session")
def recordings():
    """The first bundled clips of several kinds, decoded at a rate and cut to a window, as a run would play them."""
    root = DataRoot("bundled", Path(__file__).parents[2] / "fixtures" / "bundled" / "audio")
    kinds = ("delivery", "digit", "language", "sound")
    names = sorted(path.name for kind in kinds for path in sorted(root.folder.glob(f"{kind}-*.flac"))[:2])

    def play(rate_hz=16_000, window_s=None):
        return [decode(Clip(FileSource(root, name)), rate_hz, window_s) for name in names]

    return play


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory):
    """A folder with a Qwen2-Audio of random weights that hears one second."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("tiny-qwen2audio")
    _build_tiny_qwen2audio(folder)
    return folder


def _build_tiny_qwen2audio(folder: Path) -> None:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import (
        PreTrainedTokenizerFast,
        Qwen2AudioConfig,
        Qwen2AudioForConditionalGeneration,
        Qwen2AudioProcessor,
        WhisperFeatureExtractor,
    )

    torch.manual_seed(0)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"]
    pieces = Tokenizer(models.BPE(unk_token=None))
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    pieces.train_from_iterator(["Which digit is spoken? one two three"], trainer)
    # Right padding, so that the tests show that the adapter pads on the left whatever a checkpoint says.
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        pad_token="<|endoftext|>",
        eos_token="<|im_end|>",
        padding_side="right",
        model_input_names=["input_ids", "attention_mask"],
    )
    processor = Qwen2AudioProcessor(WhisperFeatureExtractor(feature_size=32, chunk_length=1), tokenizer)
    processor.chat_template = (
        "{% for m in messages %}<|im_start|>{% for c in m['content'] %}"
        "{% if c['type'] == 'audio' %}<|audio_bos|><|AUDIO|><|audio_eos|>{% else %}{{ c['text'] }}{% endif %}"
        "{% endfor %}<|im_end|>{% endfor %}"
    )
    encoder = {
        "model_type": "qwen2_audio_encoder",
        "d_model": 16,
        "encoder_layers": 1,
        "encoder_attention_heads": 2,
        "encoder_ffn_dim": 32,
        "num_mel_bins": 32,
        "max_source_positions": 50,
    }
    text = {
        "model_type": "qwen2",
        "vocab_size": len(tokenizer),
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "pad_token_id": 0,
        "initializer_range": 1.0,
    }
    config = Qwen2AudioConfig(audio_config=encoder, text_config=text, audio_token_index=3)
    model = Qwen2AudioForConditionalGeneration(config)
    model.generation_config.eos_token_id = 2
    model.generation_config.pad_token_id = 0
    model.save_pretrained(folder)
    processor.save_pretrained(folder)


@pytest.fixture(scope="session")
def stranger_module():
    spec = importlib.util.spec_from_file_location("stranger", Path(__file__).with_name("stranger.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def stranger(stranger_module):
    """Starts predictions_v1 servers that share no code with this package; keywords go into their ``/info``."""
    started = []

    def start(**info):
        started.append(stranger_module.Stranger(**info).start())
        return started[-1]

    yield start
    for server in started:
        server.shutdown()
        server.server_close()


@pytest.fixture
def http_model():
    """Makes ``http:`` models with little patience, and closes them."""
    from pytest_audiobench.models.predictions_v1.model import PredictionsModel

    made = []

    def make(target, **options):
        url = getattr(target, "url", target)
        made.append(PredictionsModel(url, {"retry_s": "5", "timeout_s": "60", "wait_s": "5", **options}))
        return made[-1]

    yield make
    for model in made:
        model.close()


@pytest.fixture(scope="session")
def tone_asks(heard, ask_about):
    """``count`` questions about tones of 300 Hz, 400 Hz and so on, 0.2 s each."""

    def make(count, question="What frequency is heard?"):
        asks = []
        for number in range(count):
            time_s = np.arange(3200) / 16_000
            asks.append(
                ask_about(question, heard(0.3 * np.sin(2 * np.pi * (300 + 100 * number) * time_s)), task="open")
            )
        return asks

    return make
