"""Where the time of a run on a GPU goes, beside a plain transformers loop over the same batches.

A checkpoint of Qwen2-Audio-7B's shape with random weights (17 GB of disk, and as much memory), asked about 2,000 clips:
bundled recordings, each repeated up to five seconds under noise of its own::

    python benchmarks/gpu.py [--folder FOLDER] [--batch 32] [--tokens 16]

The dry run that needs no GPU::

    python benchmarks/gpu.py --shape tiny --device cpu --clips 128

The run is pytest's in this process, start and report included, with nothing known before; ``--folder`` keeps the
checkpoint for the next time. Stages are timed on the thread that asks, with the device synchronised at their ends, and
each without the stages within it, so that they add up to the whole. Decoding goes on on other threads beside the
model: its stage is the waiting for it.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import io
import json
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import soundfile
import soxr
from hf_batches import ARCHITECTURES, build, busy, size_bytes
from measure import yardstick

from pytest_audiobench.audio.index import AudioIndex
from pytest_audiobench.evaluation import batch_executor as asking
from pytest_audiobench.evaluation import evaluate as evaluation
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.models.hf.engine import Engine, peak_memory_bytes
from pytest_audiobench.models.hf.generation import Generator
from pytest_audiobench.models.hf.model import HfModel
from pytest_audiobench.models.messages import Ask, Response

BUNDLED = Path(__file__).parents[1] / "fixtures" / "bundled"
RATE_HZ = 16_000
NOISE = 0.003
LIMIT_S = 600.0
STAGES = (
    ("hash", "digests of weights and clips"),
    ("load", "the model, onto the device"),
    ("decode", "waiting for decoded clips"),
    ("front end", "template, tokenizer, spectrograms"),
    ("transfer", "tensors, to the device"),
    ("prefill", "first forward pass, audio encoder included"),
    ("generate", "all other tokens"),
    ("store", "answers, read and written"),
    ("score", "answers, read, scored, estimated"),
    ("rest", "pytest, planning, answers' texts, hashes, report"),
)
BEFORE = ("hash", "load")
"""What is no part of a rate."""
EVAL = """
from pytest_audiobench import manifest, multiple_choice

def test_clips(evaluate):
    evaluate(manifest("clips.jsonl"), multiple_choice(max_new_tokens={tokens}))
"""


class Clock:
    """Seconds of each stage, less those of the stages within it; ``beside`` are seconds of other threads."""

    def __init__(self, device: str) -> None:
        self._device = device
        self._within = [0.0]
        self._lock = threading.Lock()
        self._reads_prompt = False
        self.seconds: Counter[str] = Counter()
        self.beside: Counter[str] = Counter()

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        self._within.append(0.0)
        try:
            yield
        finally:
            self._synchronise()
            took = time.perf_counter() - started
            self.seconds[name] += took - self._within.pop()
            self._within[-1] += took

    def timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """``call`` as a stage, or, on another thread than the main one, beside the stages."""

        @functools.wraps(call)
        def within(*arguments: Any, **named: Any) -> Any:
            if threading.current_thread() is threading.main_thread():
                with self.stage(name):
                    return call(*arguments, **named)
            started = time.perf_counter()
            try:
                return call(*arguments, **named)
            finally:
                with self._lock:
                    self.beside[name] += time.perf_counter() - started

        return within

    def watch(self, model: Any) -> None:
        """Time a transformers model's ``generate``, and within it the first forward pass by itself."""
        generate, forward = self.timed("generate", model.generate), model.forward

        @functools.wraps(model.generate)
        def all_tokens(*arguments: Any, **named: Any) -> Any:
            self._reads_prompt = True
            return generate(*arguments, **named)

        @functools.wraps(forward)
        def step(*arguments: Any, **named: Any) -> Any:
            if not self._reads_prompt:
                return forward(*arguments, **named)
            self._reads_prompt = False
            with self.stage("prefill"):
                return forward(*arguments, **named)

        model.generate, model.forward = all_tokens, step

    def _synchronise(self) -> None:
        if self._device.startswith("cuda"):
            import torch

            torch.cuda.synchronize()


class Question(NamedTuple):
    """What was asked about a clip, as a chat template wants it, and what was answered."""

    sample_id: str
    turns: list[dict[str, Any]]
    answer: str


class Way(NamedTuple):
    """One way of asking all clips: seconds by stage, tokens that were generated, memory.

    ``busy`` are the device's busy shares in per cent from the first question to the last answer.
    """

    name: str
    clock: Clock
    tokens: int
    peak_bytes: int
    busy: list[float]

    @property
    def rated_s(self) -> float:
        return sum(seconds for name, seconds in self.clock.seconds.items() if name not in BEFORE)


def write_clips(folder: Path, count: int, seconds: float) -> None:
    """``count`` bundled questions with a file of noise and the recording over and over for each."""
    rows = [
        json.loads(line)
        for name in ("digits", "emotion", "language", "sounds")
        for line in (BUNDLED / f"{name}.jsonl").read_text().splitlines()
    ]
    random, length = np.random.default_rng(0), round(seconds * RATE_HZ)
    lines = []
    for number in range(count):
        row = rows[number % len(rows)]
        recording, rate_hz = soundfile.read(BUNDLED / row["audio"], dtype="float32")
        wave = np.resize(soxr.resample(recording, rate_hz, RATE_HZ), length) + random.normal(0, NOISE, length)
        name = f"clip-{number:05}"
        soundfile.write(folder / f"{name}.wav", wave, RATE_HZ)
        own = {name: row[name] for name in ("question", "choices", "answer")}
        lines.append(json.dumps({"id": name, "audio": f"{name}.wav", **own}))
    (folder / "clips.jsonl").write_text("\n".join(lines) + "\n")


def ours(folder: Path, checkpoint: Path, device: str, batch: int, tokens: int) -> tuple[Way, list[list[Question]]]:
    """A run of pytest over the clips, and the batches that it asked."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_clips.py").write_text(EVAL.format(tokens=tokens))
    clock, batches = Clock(device), []
    generated, first, last = 0, 0, 0
    load, ask = HfModel.load, HfModel.ask

    def loaded(model: HfModel) -> None:
        nonlocal first
        if model._engine is None:
            with clock.stage("load"):
                load(model)
            clock.watch(model._engine.model)
            first = len(shares)

    def asked(model: HfModel, asks: Sequence[Ask]) -> list[Response]:
        nonlocal generated, last
        responses = ask(model, asks)
        last = len(shares)
        generated += sum(response.usage["completion_tokens"] for response in responses)
        batches.append([_question(one, response) for one, response in zip(asks, responses, strict=True)])
        return responses

    arguments = ["-q", "-p", "no:cacheprovider", "-p", "pytest_audiobench.plugin", "--rootdir", str(folder)]
    arguments += [
        "-c",
        str(folder / "pytest.ini"),
        "--ab-run=gpu",
        f"--ab-model=hf:{checkpoint},device={device},batch={batch},batch_s={30 * batch}",
    ]
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder), busy(device) as shares:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.setattr(HfModel, "load", loaded)
        patch.setattr(HfModel, "ask", asked)
        for owner, name, stage in (
            (AudioIndex, "digest_of", "hash"),
            (AudioIndex, "facts_of", "hash"),
            (asking._Decoding, "results", "decode"),
            (asking, "_decode_requests", "decode"),
            (Generator, "_prompt", "front end"),
            (Generator, "_inputs", "front end"),
            (Engine, "on_device", "transfer"),
            (Store, "find", "store"),
            (Store, "put_batch", "store"),
            (evaluation, "score_answers", "score"),
        ):
            patch.setattr(owner, name, clock.timed(stage, getattr(owner, name)))
        _forget_peak(device)
        with clock.stage("rest"), contextlib.redirect_stdout(said):
            status = pytest.main([*arguments, "test_clips.py"])
    if status:
        sys.exit(said.getvalue())
    return Way("pytest-audiobench", clock, generated, peak_memory_bytes(device), shares[first:last]), batches


def _question(one: Ask, response: Response) -> Question:
    turns = [
        {
            "role": message.role,
            "content": [
                {"type": "text", "text": part} if isinstance(part, str) else {"type": "audio"} for part in message.parts
            ],
        }
        for message in one.request.messages
    ]
    return Question(one.request.sample_id, turns, response.text)


def loop(
    folder: Path, checkpoint: Path, device: str, tokens: int, batches: Sequence[Sequence[Question]]
) -> tuple[Way, dict[str, str]]:
    """The same batches in the loop that a user would write, and its answers."""
    import torch
    import transformers

    clock, generated, answers = Clock(device), 0, {}
    _forget_peak(device)
    with busy(device) as shares, clock.stage("rest"):
        with clock.stage("load"):
            processor = transformers.AutoProcessor.from_pretrained(checkpoint)
            processor.tokenizer.padding_side = "left"
            dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
            model = transformers.AutoModelForMultimodalLM.from_pretrained(checkpoint, dtype=dtype).eval().to(device)
        clock.watch(model)
        first = len(shares)
        for batch in batches:
            with clock.stage("decode"):
                clips = [soundfile.read(folder / f"{one.sample_id}.wav", dtype="float32")[0] for one in batch]
            with clock.stage("front end"):
                texts = [
                    processor.apply_chat_template(one.turns, tokenize=False, add_generation_prompt=True)
                    for one in batch
                ]
                inputs = processor(text=texts, audio=clips, sampling_rate=RATE_HZ, return_tensors="pt", padding=True)
            with clock.stage("transfer"):
                inputs = inputs.to(device, dtype)
            with torch.inference_mode():
                made = model.generate(**inputs, max_new_tokens=tokens, do_sample=False)
            new = made[:, inputs["input_ids"].shape[1] :]
            generated += new.numel()
            said = processor.batch_decode(new, skip_special_tokens=True, clean_up_tokenization_spaces=False)
            answers |= {one.sample_id: text for one, text in zip(batch, said, strict=True)}
    return Way("plain loop", clock, generated, peak_memory_bytes(device), shares[first:]), answers


def _forget_peak(device: str) -> None:
    gc.collect()  # a watched model is part of a circle
    if device.startswith("cuda"):
        import torch

        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def report(ways: Sequence[Way], clips: int, seconds: float) -> None:
    """A row for each stage and each figure, a column for each way."""
    wholes = [sum(way.clock.seconds.values()) for way in ways]
    print(f"{'':12} " + " ".join(f"{way.name:>22}" for way in ways))
    for stage, what in STAGES:
        spent = [way.clock.seconds[stage] for way in ways]
        cells = [f"{took:9.2f} s  {100 * took / whole:7.1f} %" for took, whole in zip(spent, wholes, strict=True)]
        print(f"{stage:12} " + " ".join(f"{cell:>22}" for cell in cells) + f"   {what}")
    print(f"{'in all':12} " + " ".join(f"{whole:9.2f} s {'':10}" for whole in wholes))
    figures: tuple[tuple[str, Callable[[Way], float]], ...] = (
        ("samples/s", lambda way: clips / way.rated_s),
        ("audio s/s", lambda way: clips * seconds / way.rated_s),
        ("tokens/s", lambda way: way.tokens / way.rated_s),
        ("peak GB", lambda way: way.peak_bytes / 1e9),
    )
    for name, figure in figures:
        print(f"{name:12} " + " ".join(f"{figure(way):9.2f}   {'':10}" for way in ways))
    if all(way.busy for way in ways):
        print(f"{'busy %':12} " + " ".join(f"{statistics.mean(way.busy):9.0f}   {'':10}" for way in ways))
    beside = ways[0].clock.beside["decode"]
    print(
        f"rates are without {' and '.join(BEFORE)}; decoding took {beside:.2f} s of other threads beside {ways[0].name}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=ARCHITECTURES, default="qwen2-audio-7b")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--folder", type=Path, help="where the checkpoint is kept (default: a temporary folder)")
    parser.add_argument("--clips", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each clip")
    parser.add_argument("--batch", type=int, default=32, help="most clips in a batch")
    parser.add_argument("--tokens", type=int, default=16, help="of each answer, all of them generated")
    chosen = parser.parse_args()
    import torch

    if chosen.device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit("torch finds no CUDA device; the dry run is --shape tiny --device cpu --clips 128")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary).resolve()
        checkpoint = (chosen.folder or folder / "checkpoint").resolve()
        checkpoint.mkdir(parents=True, exist_ok=True)
        _made(checkpoint, chosen.shape, chosen.device)
        clips = folder / "clips"
        clips.mkdir()
        write_clips(clips, chosen.clips, chosen.seconds)
        _compare(chosen, clips, checkpoint)


def _made(checkpoint: Path, shape: str, device: str) -> None:
    dtype = "bfloat16" if device.startswith("cuda") else "float32"
    if (checkpoint / "config.json").exists():
        print(f"the checkpoint is that in {checkpoint}")
        return
    needed, free = size_bytes(shape, dtype), shutil.disk_usage(checkpoint).free
    if free < 1.1 * needed:
        sys.exit(
            f"{checkpoint} has room for {free / 1e9:.1f} GB, and the weights take {needed / 1e9:.1f}: name a --folder"
        )
    started = time.perf_counter()
    build(checkpoint, *ARCHITECTURES[shape], device, dtype)
    print(f"{shape}: {needed / 1e9:.2f} GB of weights in {dtype}, made in {time.perf_counter() - started:.1f} s")


def _compare(chosen: argparse.Namespace, clips: Path, checkpoint: Path) -> None:
    import torch
    import transformers

    name = torch.cuda.get_device_name(chosen.device) if chosen.device.startswith("cuda") else chosen.device
    started = time.perf_counter()
    our, batches = ours(clips, checkpoint, chosen.device, chosen.batch, chosen.tokens)
    plain, answers = loop(clips, checkpoint, chosen.device, chosen.tokens, batches)
    took_s = time.perf_counter() - started
    print(
        f"{name}, torch {torch.__version__}, transformers {transformers.__version__}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f}, yardstick {yardstick().wall_s:.3f} s"
    )
    print(f"{chosen.clips} clips of {chosen.seconds:g} s in {len(batches)} batches, {chosen.tokens} tokens each, n=1")
    report([our, plain], chosen.clips, chosen.seconds)
    asked = [one for batch in batches for one in batch]
    same = sum(one.answer == answers[one.sample_id] for one in asked)
    print(
        f"{same} of {len(asked)} answers are equal; samples/s, of the plain loop's: {plain.rated_s / our.rated_s:.2f}"
    )
    print(f"both took {took_s:.0f} s, {took_s / LIMIT_S:.2f} of the limit of {LIMIT_S:.0f} s")


if __name__ == "__main__":
    main()
