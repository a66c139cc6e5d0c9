"""Samples per second of the transformers adapter, against the loops that most published harnesses run.

The trained tiny Qwen2-Audio on 300 recorded digits, the audio decoded beforehand for all ways alike::

    python benchmarks/hf_batches.py --data ../shared/data

An architecture with random weights, 5-second clips and 64 new tokens each, against batch 1 and batch 8 (17 GB of
disk for the weights of qwen2-audio-7b)::

    python benchmarks/hf_batches.py --device cuda --architecture qwen2-audio-7b --clips 128
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measure import Spent, here, yardstick

from pytest_audiobench.audio.clip import ArraySource, Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.evaluation import batch_plan
from pytest_audiobench.evaluation.garbage_collection import collector_paused
from pytest_audiobench.models.hf.model import HfModel
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request, Settings

TIMES = 7.0
"""How many times as fast as the loop at batch 1 the adapter has to be, on the trained checkpoint."""
QUESTION = "Which digit?"
ARCHITECTURES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "qwen2-audio-7b": (
        {"d_model": 1280, "encoder_layers": 32, "encoder_attention_heads": 20, "encoder_ffn_dim": 5120},
        {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32},
    ),
    "tiny": (
        {"d_model": 32, "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 64},
        {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2},
    ),
}


class Work(NamedTuple):
    """What is asked: a checkpoint, clips at 16 kHz as a run would play them, and how an answer is generated."""

    folder: Path
    asks: list[Ask]
    pad_s: float
    device: str
    dtype: str


def digits(data: Path, device: str) -> Work:
    """Takes 0 to 4 of every digit and speaker, asked of the checkpoint of epoch 20; training filled up half seconds."""
    root = DataRoot("fsdd", data / "fsdd" / "recordings")
    names = sorted(path.name for path in root.folder.glob("*.wav") if int(path.stem.split("_")[-1]) < 5)
    clips = {name: Clip(FileSource(root, name)) for name in names}
    folder = data / "checkpoints" / "fsdd-qwen2audio-epoch20"
    return Work(folder, _asks(clips, 1.0, 6), 0.5, device, "float32")


def random_weights(name: str, count: int, device: str, folder: Path) -> Work:
    """``count`` clips of five seconds, asked of random weights that never end an answer by themselves."""
    dtype = "bfloat16" if device.startswith("cuda") else "float32"
    build(folder, *ARCHITECTURES[name], device, dtype)
    random = np.random.default_rng(0)
    sounds = [random.normal(0, 0.1, 80_000).astype(np.float32) for _ in range(count)]
    clips = {f"clip-{i}": Clip(ArraySource.of(sound, 16_000)) for i, sound in enumerate(sounds)}
    return Work(folder, _asks(clips, 30.0, 64), 0.1, device, dtype)


def _asks(clips: dict[str, Clip], window_s: float, tokens: int) -> list[Ask]:
    made = []
    for name, clip in clips.items():
        heard = decode(clip, 16_000, window_s)
        messages = (Message("user", (AudioSlot(0), QUESTION)),)
        settings = Settings(max_new_tokens=tokens)
        key = batch_plan.sample_hash(name).hex()
        made.append(Ask(Request(key, "benchmark", name, "answer", "open", messages, (clip,), (), settings), (heard,)))
    return made


def ours(work: Work, batch: int) -> tuple[Callable[[], list[str]], str]:
    """The adapter on the batches that a run would plan."""
    options = {"device": work.device, "dtype": work.dtype, "pad_s": str(work.pad_s), "batch": str(batch)}
    model = HfModel(str(work.folder), options)
    model.load()
    bits = batch_plan.window_bits(len(work.asks))
    planned = [
        batch_plan.PlannedRequest(
            bytes.fromhex(ask.request.key),
            batch_plan.duration_bucket(ask.audio[0].duration_s),
            batch_plan.window_of(batch_plan.sample_hash(ask.request.sample_id), bits),
            ask.audio[0].duration_s,
            batch_plan.sample_hash(ask.request.sample_id),
        )
        for ask in work.asks
    ]
    batches = batch_plan.planned_batches(planned, model.limits)

    def run() -> list[str]:
        texts = [""] * len(work.asks)
        with collector_paused():
            for positions in batches:
                for i, response in zip(positions, model.ask([work.asks[i] for i in positions]), strict=True):
                    assert response.error is None, response.error
                    texts[i] = response.text
        return texts

    return run, f"adapter, batch={batch}, {len(batches)} planned batches"


def loop(work: Work, batch: int) -> tuple[Callable[[], list[str]], str]:
    """What most published harnesses run: template, processor, generate, decode, in the data's own order."""
    import torch
    import transformers

    processor = transformers.AutoProcessor.from_pretrained(work.folder)
    processor.tokenizer.padding_side = "left"
    model = transformers.AutoModelForMultimodalLM.from_pretrained(work.folder, dtype=getattr(torch, work.dtype))
    model = model.eval().to(work.device)
    turns = [{"role": "user", "content": [{"type": "audio"}, {"type": "text", "text": QUESTION}]}]
    least = round(work.pad_s * 16_000)

    def answer(asks: Sequence[Ask]) -> list[str]:
        text = processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        clips = [ask.audio[0].samples for ask in asks]
        clips = [np.pad(clip, (0, max(0, least - len(clip)))) for clip in clips]
        inputs = processor(
            text=[text] * len(asks), audio=clips, sampling_rate=16_000, return_tensors="pt", padding=True
        ).to(work.device, model.dtype)
        with torch.inference_mode():
            tokens = model.generate(**inputs, max_new_tokens=asks[0].request.settings.max_new_tokens, do_sample=False)
        decoded = processor.batch_decode(tokens[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        return [str(text) for text in decoded]

    def run() -> list[str]:
        return [text for k in range(0, len(work.asks), batch) for text in answer(work.asks[k : k + batch])]

    return run, f"plain loop, batch {batch}"


def build(folder: Path, audio: dict[str, Any], text: dict[str, Any], device: str, dtype: str) -> None:
    """A Qwen2-Audio checkpoint of that shape in ``folder``: random weights made on ``device``, whose answers never end.

    Every answer takes all the tokens it may.
    """
    import torch
    import transformers

    processor = _processor()
    processor.save_pretrained(folder)
    torch.manual_seed(0)
    model = _model(audio, text, len(processor.tokenizer), device, dtype)
    model.generation_config = transformers.GenerationConfig(pad_token_id=0)
    model.save_pretrained(folder)
    del model
    if device.startswith("cuda"):
        torch.cuda.empty_cache()


def size_bytes(name: str, dtype: str) -> int:
    """What the weights of an architecture take, on a disk or in memory."""
    weights = _model(*ARCHITECTURES[name], len(_processor().tokenizer), "meta", dtype).parameters()
    return sum(weight.numel() * weight.element_size() for weight in weights)


def _processor() -> Any:
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    pieces.train_from_iterator([QUESTION], trainers.BpeTrainer(special_tokens=special, initial_alphabet=alphabet))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=pieces, pad_token="<|endoftext|>")
    extractor = transformers.WhisperFeatureExtractor(feature_size=128)
    return transformers.Qwen2AudioProcessor(feature_extractor=extractor, tokenizer=tokenizer)


def _model(audio: dict[str, Any], text: dict[str, Any], vocabulary: int, device: str, dtype: str) -> Any:
    import torch
    import transformers

    config = transformers.Qwen2AudioConfig(
        audio_config={"model_type": "qwen2_audio_encoder", "num_mel_bins": 128, "max_source_positions": 1500, **audio},
        text_config={
            "model_type": "qwen2",
            "vocab_size": 156_032 if text["hidden_size"] == 4096 else vocabulary,
            "num_key_value_heads": text["num_attention_heads"],
            "max_position_embeddings": 8192,
            **text,
        },
        audio_token_index=3,
    )
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, dtype))
    try:
        with torch.device(device):
            return transformers.Qwen2AudioForConditionalGeneration(config)
    finally:
        torch.set_default_dtype(before)


@contextmanager
def busy(device: str) -> Iterator[list[float]]:
    """The card's busy share in per cent, sampled five times a second by its driver; nothing on a CPU."""
    shares: list[float] = []
    if not device.startswith("cuda"):
        yield shares
        return
    command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits", "-lms", "200"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = process.stdout
        reader = threading.Thread(target=lambda: shares.extend(float(line) for line in lines), daemon=True)
        reader.start()
        try:
            yield shares
        finally:
            process.terminate()
            reader.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="holds fsdd and checkpoints")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--architecture", choices=ARCHITECTURES, help="random weights instead of the trained digits")
    parser.add_argument("--clips", type=int, default=64, help="how many clips the architecture is asked about")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, help="torch's threads (default: torch's own choice)")
    chosen = parser.parse_args()

    import torch

    if chosen.threads:
        torch.set_num_threads(chosen.threads)
    with tempfile.TemporaryDirectory() as folder:
        if chosen.architecture:
            work = random_weights(chosen.architecture, chosen.clips, chosen.device, Path(folder))
            ways = [lambda: loop(work, 1), lambda: loop(work, 8), lambda: ours(work, 16), lambda: ours(work, 32)]
        else:
            work = digits(chosen.data, chosen.device)
            ways = [lambda: loop(work, 1), lambda: ours(work, 16), lambda: ours(work, 64)]
        print(f"{len(work.asks)} clips, torch {torch.__version__}, {torch.get_num_threads()} threads, {work.device}")
        print(f"yardstick {yardstick().wall_s:.3f} s")
        _compare(ways, work, chosen.repeat, against_limit=not chosen.architecture)


def _compare(ways: Sequence[Callable[[], Any]], work: Work, repeat: int, against_limit: bool) -> None:
    made = [way() for way in ways]
    texts = [run() for run, _ in made]  # warm
    found: list[list[Spent]] = [[] for _ in made]
    shares: list[list[float]] = [[] for _ in made]
    for _ in range(repeat):  # in turns, so that a busy moment of the machine falls on all of them
        for number, (run, _) in enumerate(made):
            with busy(work.device) as share:
                found[number].append(here(run))
            shares[number] += share
    first = statistics.median(one.wall_s for one in found[0])
    best = 0.0
    for (_, name), said, spent, share in zip(made, texts, found, shares, strict=True):
        walls = sorted(one.wall_s for one in spent)
        times = first / statistics.median(walls)
        best = max(best, times)
        same = sum(a == b for a, b in zip(texts[0], said, strict=True))
        cpu_s = statistics.median(one.cpu_s for one in spent)
        used = f"card busy {statistics.mean(share):.0f} %" if share else f"{cpu_s:.2f} s of the processor"
        rates = [len(work.asks) / wall for wall in (statistics.median(walls), walls[-1], walls[0])]
        print(
            f"{name:40} {rates[0]:7.1f} samples/s ({rates[1]:.1f} to {rates[2]:.1f}), {times:5.2f} x, "
            f"{same} equal answers, {used}"
        )
    if against_limit:
        print(f"wanted: at least {TIMES:g} x the plain loop at batch 1; found {best:.1f} x")


if __name__ == "__main__":
    main()
