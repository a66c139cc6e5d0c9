"""A loaded transformers model of any family: what all engines share. Imports torch and transformers."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from pytest_audiobench.audio.clip import PlayedAudio, Samples
from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.hf.checkpoint import first_line
from pytest_audiobench.models.hf.families import Family
from pytest_audiobench.models.hf.loading import Load, load_model, load_processor
from pytest_audiobench.models.hf.options import NO_ROOM
from pytest_audiobench.models.hf.template_limits import process_peak_bytes
from pytest_audiobench.models.messages import Ask, Response, Settings
from pytest_audiobench.models.model import Hearing

S = TypeVar("S")
T = TypeVar("T")
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # the names in malloc.h
_KEPT_BYTES = 256 << 20
_CACHE_STEP = 256
"""Caches of fixed size are as long as a multiple of so many tokens: each length is recorded again by a card."""
_LARGEST_BYTES = 32 << 20
"""The most that glibc takes; larger tensors still go back to the system when they are freed."""


class OutOfMemory(Exception):
    """The device or the machine could not hold a batch."""


@dataclass(frozen=True)
class Setup:
    """How a checkpoint is made an engine of. ``shortest`` is the least number of samples a clip is filled up to.

    ``options`` are those of the spec that the family takes, as written; ``padding`` is the side of prompts in a batch;
    ``compiled`` has the steps of an answer compiled, over a cache of fixed size.
    """

    load: Load
    rate_hz: int
    window_s: float | None = None
    shortest: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    padding: str = "left"
    compiled: bool = False
    threads: str | None = None

    @property
    def family(self) -> Family:
        return self.load.family

    @property
    def folder(self) -> Path:
        return self.load.folder


class Engine:
    """Model and processor, ready to answer. A family's engine says how in :meth:`reply` and :meth:`prove`."""

    processor_class = "AutoProcessor"

    def __init__(self, setup: Setup) -> None:
        """Raises FatalError when the device, the processor or the weights will not do, or no audio arrives."""
        if setup.threads:
            torch.set_num_threads(int(setup.threads))
        keep_freed_memory()
        if setup.load.device.startswith("cuda") and not torch.cuda.is_available():
            device = setup.load.device
            raise FatalError(f"torch finds no usable device {device!r} on this machine; add ,device=cpu to the model")
        self.setup = setup
        self.oom_splits = 0
        self.seconds = {"features_s": 0.0, "generate_s": 0.0}
        self.processor = load_processor(setup.load, self.processor_class)
        self.model = self.load_model()
        if setup.compiled:
            self._compile_config = compile_config(self.model, setup)
        with torch.inference_mode():
            self.hearing = self.prove()

    def load_model(self) -> Any:
        """The model with its weights. Raises FatalError."""
        return load_model(self.setup.load)

    def answer(self, batch: Sequence[Ask], settings: Settings) -> list[Response]:
        """One response per element. The batch is halved as often as memory demands; its answers then say so."""
        replies, splits = halving(batch, lambda part: self._reply_or_out_of_memory(part, settings))
        self.oom_splits += splits
        alone = Response(error=f"{self.setup.load.device} {NO_ROOM}")
        answers = [alone if reply is None else reply for reply in replies]
        if not splits:
            return answers
        return [replace(answer, usage={**answer.usage, "oom_splits": splits}) for answer in answers]

    def reply(self, batch: Sequence[Ask], settings: Settings) -> list[Response]:
        """One response per element, asked together."""
        raise NotImplementedError

    def prepare_audio(self, audio: Sequence[PlayedAudio]) -> None:
        """Compute the clips' features ahead, on any thread, where the family can."""
        window = round((self.setup.window_s or 0.0) * self.setup.rate_hz)
        played = [one for one in audio if one.pcm_digest and len(one.samples) <= window]
        if (ahead := self.setup.family.hook("ahead")) and played:
            # Whatever is wrong with it, asking finds out too, and says so.
            with suppress(Exception):
                ahead(self.processor, [self.filled_up(one.samples) for one in played], [p.pcm_digest for p in played])

    def prove(self) -> Hearing:
        """Ask with audio and without: whether audio reaches the model. Raises FatalError when it does not."""
        raise NotImplementedError

    def close(self) -> None:
        """Free the weights and the device's memory."""
        del self.model, self.processor
        if self.setup.load.device.startswith("cuda"):
            torch.cuda.empty_cache()

    def hearing_by(self, what: str, scores: Callable[[Sequence[Samples]], Any]) -> Hearing:
        """Whether ``scores`` (a row for each clip) of noise differ from those of silence by more than rounding does."""
        silence = np.zeros(self.setup.rate_hz, dtype=np.float32)
        noise = np.random.default_rng(0).uniform(-0.3, 0.3, len(silence)).astype(np.float32)
        before, heard, after = scores([silence, noise, silence]).float()
        if (heard - before).abs().max() > 10 * (after - before).abs().max():
            return Hearing("proven", f"{what} for a second of noise are others than for silence")
        return Hearing("unproven", f"{what} for a second of noise are those for silence")

    def forget_peak_memory(self) -> None:
        """Let :func:`peak_memory_bytes` begin again on CUDA devices."""
        if self.setup.load.device.startswith("cuda"):
            torch.cuda.empty_cache()
            for index in range(torch.cuda.device_count()):
                torch.cuda.reset_peak_memory_stats(index)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the block's seconds to :attr:`seconds`; of a card's work those that something waited for."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - started

    def steps(self, tokens: int) -> dict[str, Any]:
        """Options of ``generate`` for an answer's steps, of at most ``tokens`` with the prompt."""
        if not self.setup.compiled:
            return {}
        # The length that earlier calls needed is remembered here, and an answer must not depend on these.
        vars(self.model).pop("_previous_max_cache_length", None)
        length = {"max_cache_len": -(-tokens // _CACHE_STEP) * _CACHE_STEP}
        known = length if hasattr(self.model.generation_config, "max_cache_len") else {}
        return {"cache_implementation": "static", "compile_config": self._compile_config, **known}

    def filled_up(self, clip: Samples) -> Samples:
        """The clip, with silence at its end where it is shorter than the model can take."""
        if len(clip) >= self.setup.shortest:
            return clip
        filled = np.zeros(self.setup.shortest, dtype=clip.dtype)  # np.pad takes ten times as long
        filled[: len(clip)] = clip
        return filled

    def on_device(self, inputs: Any) -> dict[str, Any]:
        """Tensors by name on the model's device, floats in its dtype."""
        device, dtype = self.model.device, self.model.dtype
        ahead = device.type == "cuda"  # what is copied while the processor continues has to lie in pinned memory
        moved = {}
        for name, value in inputs.items():
            if isinstance(value, torch.Tensor):
                value = value.to(dtype) if value.is_floating_point() else value
                value = (value.pin_memory() if ahead else value).to(device, non_blocking=ahead)
            moved[name] = value
        return moved

    def _reply_or_out_of_memory(self, part: Sequence[Ask], settings: Settings) -> list[Response]:
        try:
            with torch.inference_mode():
                return self.reply(part, settings)
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in str(error):
                raise OutOfMemory from None
            if type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
                raise FatalError(
                    f"torch cannot compile the steps of {self.setup.folder} ({first_line(error)}); it needs a C++ "
                    "compiler such as g++, and on a card triton: install them, or leave compile=yes out"
                ) from error
            raise


def compile_config(model: Any, setup: Setup) -> Any:
    """How the steps of an answer are compiled: once for all sizes, so that no answer depends on which came first.

    Raises UsageError where neither the model's class nor that of its text decoder says that it can be.
    """
    from transformers import CompileConfig

    decoder = model.get_decoder() if hasattr(model, "get_decoder") else model
    if not any(getattr(type(part), "_can_compile_fullgraph", False) for part in (model, decoder)):
        raise UsageError(
            f"compile=yes does not apply to {setup.folder}: transformers does not say of {type(model).__name__} that "
            "it can be compiled"
        )
    config: Any = CompileConfig(dynamic=True)
    config._compile_all_devices = True  # else it is left out on the processor, without a word
    return config


def halving(batch: Sequence[S], ask: Callable[[Sequence[S]], list[T]]) -> tuple[list[T | None], int]:
    """``ask`` the batch, or its halves when it raises OutOfMemory, and so on down to single elements.

    Returns one reply per element, None where it did not fit alone, and how many times a batch was split.
    """
    if not batch:
        return [], 0
    try:
        return list(ask(batch)), 0
    except OutOfMemory:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    if len(batch) == 1:
        return [None], 0
    middle = (len(batch) + 1) // 2
    (first, splits), (second, more) = halving(batch[:middle], ask), halving(batch[middle:], ask)
    return first + second, 1 + splits + more


def peak_memory_bytes(device: str) -> int:
    """The most memory that was in use so far: of the CUDA devices by torch, else of this process."""
    if device.startswith("cuda"):
        return sum(torch.cuda.max_memory_allocated(index) for index in range(torch.cuda.device_count()))
    return process_peak_bytes()


def keep_freed_memory() -> None:
    """Let the process keep up to 256 MiB that tensors freed, where the C library is glibc.

    Without it glibc gives the top of the heap back to the system after each batch and asks for it again in the
    next: with small models a fifth of the time goes into having the pages zeroed.
    """
    if sys.platform != "linux":
        return
    if (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST_BYTES)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
