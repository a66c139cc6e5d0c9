"""Samples per second of the transformers adapter, against the loops that most published harnesses run.

The trained tiny Qwen2-Audio of fixtures/checkpoints on the bundled multiple-choice questions, then (with ``--data``)
another on 300 recorded digits, the audio decoded beforehand for all ways alike::

    python benchmarks/hf_batches.py --data ../shared/data

An architecture with random weights, 5-second clips and 64 new tokens each, against batch 1 and batch 8 (17 GB of
disk for the weights of qwen2-audio-7b)::

    python benchmarks/hf_batches.py --device cuda --architecture qwen2-audio-7b --clips 128
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from measure import Spent, here, yardstick

from pytest_audiobench.audio.clip import ArraySource, Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.datasets.bundled import bundled as bundled_data
from pytest_audiobench.datasets.places import Places
from pytest_audiobench.evaluation import batch_plan
from pytest_audiobench.evaluation.garbage_collection import collector_paused
from pytest_audiobench.models.hf.model import HfModel
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request, Settings
from pytest_audiobench.models.model import Limits
from pytest_audiobench.protocols.multiple_choice.task import multiple_choice

BUNDLED_TIMES, DIGITS_TIMES = 7.0, 10.0
"""How many times as fast as the loop at batch 1 the adapter has to be as it comes, on the trained checkpoints."""
BUNDLED = ("digits", "emotion", "language", "mixtures", "sounds", "speech_presence")
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
    least: float | None = None
    """How many times as fast as the plain loop the adapter has to be."""


def bundled(device: str) -> Work:
    """The bundled questions with options, as a run puts them to the checkpoint that was trained on such."""
    folder = Path(__file__).parents[1] / "fixtures" / "checkpoints" / "good"
    limits, stage = HfModel(str(folder)).limits, multiple_choice().stages[0]
    asks = []
    for name in BUNDLED:
        for sample in bundled_data(name).read(Places(Path())):
            played = tuple(decode(clip, limits.rate_hz, limits.window_s(stage.task)) for clip in sample.clips)
            request = Request(
                key=batch_plan.sample_hash(f"{name}/{sample.id}").hex(),
                dataset=name,
                sample_id=sample.id,
                stage=stage.name,
                task=stage.task,
                messages=stage.messages(sample, {}),
                clips=sample.clips,
                choices=stage.choices(sample),
                settings=Settings(max_new_tokens=6),
            )
            asks.append(Ask(request, played))
    return Work(folder, asks, 0.1, device, "float32", BUNDLED_TIMES)


def digits(data: Path, device: str) -> Work:
    """Takes 0 to 4 of every digit and speaker, asked of the checkpoint of epoch 20; training filled up half seconds."""
    root = DataRoot("fsdd", data / "fsdd" / "recordings")
    names = sorted(path.name for path in root.folder.glob("*.wav") if int(path.stem.split("_")[-1]) < 5)
    clips = {name: Clip(FileSource(root, name)) for name in names}
    folder = data / "checkpoints" / "fsdd-qwen2audio-epoch20"
    return Work(folder, _asks(clips, 1.0, 6), 0.5, device, "float32", DIGITS_TIMES)


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


def ours(
    work: Work, options: Mapping[str, str] = MappingProxyType({}), again: bool = False
) -> tuple[Callable[[], list[str]], str]:
    """The adapter on the batches that a run would plan, as new or, ``again``, as in a second epoch."""
    model = HfModel(str(work.folder), {"device": work.device, "dtype": work.dtype, "pad_s": str(work.pad_s), **options})
    model.load()
    batches = [
        [part[i] for i in batch]
        for part in _slices(work.asks)
        for batch in batch_plan.planned_batches(_planned(part, model.limits), model.limits)
    ]

    def run() -> list[str]:
        texts = {}
        if not again:
            forget(model)
        with collector_paused():
            for batch in batches:
                for ask, response in zip(batch, model.ask(batch), strict=True):
                    assert response.error is None, response.error
                    texts[ask.request.key] = response.text
        return [texts[ask.request.key] for ask in work.asks]

    said = ",".join(f"{name}={value}" for name, value in options.items()) or "as it comes"
    said += ", again" if again else ""
    return run, f"adapter, {said}, {len(batches)} batches of {len(work.asks) / len(batches):.0f}"


def forget(model: HfModel) -> None:
    """Whatever of prompts and features an earlier round left behind."""
    from pytest_audiobench.models.hf import features

    model._engine._rendered.clear()
    features.MEMORIES.pop(model._engine.processor.feature_extractor, None)


def _slices(asks: Sequence[Ask]) -> list[list[Ask]]:
    """A slice for each data set: what a run plans together."""
    parts: dict[str, list[Ask]] = {}
    for ask in asks:
        parts.setdefault(ask.request.dataset, []).append(ask)
    return list(parts.values())


def _planned(asks: Sequence[Ask], limits: Limits) -> list[batch_plan.PlannedRequest]:
    bits = batch_plan.window_bits(len(asks))
    return [
        batch_plan.planned_request(
            ask.request,
            [heard.duration_s for heard in ask.audio],
            batch_plan.window_of(batch_plan.sample_hash(ask.request.sample_id), bits),
            limits,
        )
        for ask in asks
    ]


def loop(work: Work, batch: int) -> tuple[Callable[[], list[str]], str]:
    """What most published harnesses run: template, processor, generate, decode, in the data's own order."""
    import torch
    import transformers

    processor = transformers.AutoProcessor.from_pretrained(work.folder)
    processor.tokenizer.padding_side = "left"
    model = transformers.AutoModelForMultimodalLM.from_pretrained(work.folder, dtype=getattr(torch, work.dtype))
    model = model.eval().to(work.device)
    least = round(work.pad_s * 16_000)

    def answer(asks: Sequence[Ask]) -> list[str]:
        texts = [processor.apply_chat_template(_turns(ask), tokenize=False, add_generation_prompt=True) for ask in asks]
        clips = [ask.audio[0].samples for ask in asks]
        clips = [np.pad(clip, (0, max(0, least - len(clip)))) for clip in clips]
        inputs = processor(text=texts, audio=clips, sampling_rate=16_000, return_tensors="pt", padding=True).to(
            work.device, model.dtype
        )
        with torch.inference_mode():
            tokens = model.generate(**inputs, max_new_tokens=asks[0].request.settings.max_new_tokens, do_sample=False)
        decoded = processor.batch_decode(tokens[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        return [str(text) for text in decoded]

    def run() -> list[str]:
        return [text for k in range(0, len(work.asks), batch) for text in answer(work.asks[k : k + batch])]

    return run, f"plain loop, batch {batch}"


def _turns(ask: Ask) -> list[dict[str, Any]]:
    return [
        {
            "role": message.role,
            "content": [
                {"type": "text", "text": part} if isinstance(part, str) else {"type": "audio"} for part in message.parts
            ],
        }
        for message in ask.request.messages
    ]


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
    parser.add_argument("--data", type=Path, help="holds fsdd and checkpoints")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--architecture", choices=ARCHITECTURES, help="random weights instead of the trained digits")
    parser.add_argument("--clips", type=int, default=64, help="how many clips the architecture is asked about")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--threads", type=int, help="torch's threads (default: torch's own choice)")
    chosen = parser.parse_args()

    import torch

    if chosen.threads:
        torch.set_num_threads(chosen.threads)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {chosen.device}")
    print(f"yardstick {yardstick().wall_s:.3f} s, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        if chosen.architecture:
            works = [random_weights(chosen.architecture, chosen.clips, chosen.device, Path(folder))]
        else:
            works = [bundled(chosen.device), *([digits(chosen.data, chosen.device)] if chosen.data else [])]
        for work in works:
            print(f"{work.folder.name}, {len(work.asks)} questions")
            _compare(work, chosen.repeat)


def _compare(work: Work, repeat: int) -> None:
    made = [loop(work, 1), loop(work, 32), ours(work), ours(work, again=True), ours(work, {"batch": "16"})]
    texts = [run() for run, _ in made]  # warm
    found: list[list[Spent]] = [[] for _ in made]
    shares: list[list[float]] = [[] for _ in made]
    for _ in range(repeat):  # in turns, so that a busy moment of the machine falls on all of them
        for number, (run, _) in enumerate(made):
            with busy(work.device) as share:
                found[number].append(here(run))
            shares[number] += share
    first = statistics.median(one.wall_s for one in found[0])
    cpus = [statistics.median(one.cpu_s for one in spent) for spent in found]
    for (_, name), said, spent, share in zip(made, texts, found, shares, strict=True):
        walls = sorted(one.wall_s for one in spent)
        times = first / statistics.median(walls)
        same = sum(a == b for a, b in zip(texts[0], said, strict=True))
        cpu_s = statistics.median(one.cpu_s for one in spent)
        used = f"card busy {statistics.mean(share):.0f} %" if share else f"{cpu_s:.2f} s of CPU time"
        rates = [len(work.asks) / wall for wall in (statistics.median(walls), walls[-1], walls[0])]
        print(
            f"{name:44} {rates[0]:7.1f} samples/s ({rates[1]:.1f} to {rates[2]:.1f}), {times:5.2f} x "
            f"({cpus[0] / cpu_s:.2f} by CPU time), {same} equal answers, {used}"
        )
    if work.least is not None:
        print(f"wanted: the adapter as it comes at least {work.least:g} x the plain loop at batch 1")


if __name__ == "__main__":
    main()
