"""In-process audio language models of the transformers library.

Weights come from safetensors only and no code of a checkpoint is ever run. torch and transformers are
imported by :meth:`HfModel.load` alone.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pytest_audiobench.errors import FatalError, UsageError
from pytest_audiobench.models.checkpoint import Checkpoint, FrontEnd, sha256_of
from pytest_audiobench.models.messages import Ask, AudioSlot, Response, Settings
from pytest_audiobench.models.model import Limits
from pytest_audiobench.models.spec import check_options, written

ADAPTER = "hf/1"
OPTIONS = ("attn", "batch", "device", "download", "dtype", "max_s", "pad_s", "revision")
DTYPES = ("float32", "bfloat16", "float16")


class Family(NamedTuple):
    """What differs between model types: clips in one request, and the shortest clip that yields audio tokens."""

    max_clips: int = 1
    shortest_s: float = 0.1


FAMILIES = {
    # 750 audio tokens per 30 s window and a context of 8192. A clip under 0.07 s becomes one audio token
    # or none, which transformers 5 mistakes for an unexpanded prompt and fails on.
    "qwen2_audio": Family(max_clips=8, shortest_s=0.1),
}


class HfModel:
    """``hf:FOLDER`` or ``hf:owner/name``.

    Options: ``device`` (default cuda where there is one, else cpu), ``dtype`` (bfloat16 on cuda, float32 on
    cpu), ``batch`` (most requests in a batch, 16), ``max_s`` (most audio in a batch, 480 s), ``attn`` (attention
    implementation), ``pad_s`` (shorter clips are filled up with silence to this length, as some models
    were trained), ``revision`` and ``download=yes`` for names on the hub.
    """

    batching: Literal["planned", "opaque"] = "planned"
    listens = True
    in_process = True

    def __init__(
        self, target: str, options: Mapping[str, str] | None = None, digest_of: Callable[[Path], str] = sha256_of
    ) -> None:
        """``digest_of`` hashes a file; a run replaces it by one that remembers, since weights are large.

        Raises UsageError for an unknown option or a value that none can have.
        """
        self._options = dict(options or {})
        check_options("hf", self._options, OPTIONS)
        self.spec = written("hf", target, self._options)
        self._target = target
        self.digest_of = digest_of
        self._batch = _number(self._options, "batch", 16, whole=True)
        self._max_s = _number(self._options, "max_s", 480.0)
        self._dtype = _one_of(self._options, "dtype", DTYPES)
        self._download = _one_of(self._options, "download", ("yes", "no")) == "yes"
        self._generator: Any = None

    @cached_property
    def device(self) -> str:
        """Where the model runs, told from the machine without importing torch."""
        return self._options.get("device") or ("cuda" if _has_cuda() else "cpu")

    @property
    def dtype(self) -> str:
        return self._dtype or ("bfloat16" if self.device.startswith("cuda") else "float32")

    @cached_property
    def limits(self) -> Limits:
        """Rate and window of the checkpoint's front end, and the batch limits."""
        front_end = self._front_end
        return Limits(int(self._batch), self._max_s, front_end.rate_hz, front_end.window_s, self._family.max_clips)

    @cached_property
    def pad_s(self) -> float:
        """Shorter clips are filled up with silence at their end to this length."""
        return max(_number(self._options, "pad_s", 0.0, least=0.0), self._family.shortest_s)

    def fingerprint(self) -> Mapping[str, str]:
        """Digests of the checkpoint's parts, and everything of this adapter that may change an answer.

        Raises UsageError when the checkpoint is missing, incomplete or pickled, FatalError when it has no processor.
        """
        limits = self.limits
        return {
            **self._checkpoint.digests(self.digest_of),
            "adapter": ADAPTER,
            "dtype": self.dtype,
            "attention": self._options.get("attn", "default"),
            "front_end": f"{limits.rate_hz} Hz|window {limits.max_clip_s} s|pad {self.pad_s} s",
            "batch": f"{limits.max_batch} items|{limits.max_batch_s} s",
        }

    @property
    def oom_splits(self) -> int:
        """How often a batch was halved because memory ran out."""
        return self._generator.oom_splits if self._generator else 0

    def load(self) -> None:
        """Raises FatalError when the library, the device or the checkpoint will not do."""
        if self._generator is not None:
            return
        self._checkpoint.weights()
        try:
            from pytest_audiobench.models.generation import Generator
        except ImportError as error:
            raise FatalError(f"{self.spec} needs {error.name}: pip install 'pytest-audiobench[hf]'") from None
        self._generator = Generator(
            self._checkpoint.folder,
            device=self.device,
            dtype=self.dtype,
            attention=self._options.get("attn"),
            rate_hz=self.limits.rate_hz,
            shortest=round(self.pad_s * self.limits.rate_hz),
            threads=os.environ.get("AUDIOBENCH_THREADS"),
        )

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        """Greedy unless a request's temperature is not "0"; then seeded by the keys of the batch."""
        self.load()
        answers = [Response(error=why) if (why := self._refusal(ask)) else None for ask in batch]
        groups: dict[Settings, list[int]] = {}
        for position, ask in enumerate(batch):
            if answers[position] is None:
                groups.setdefault(ask.request.settings, []).append(position)
        for settings, positions in groups.items():
            replies = self._generator.answer([batch[position] for position in positions], settings)
            for position, reply in zip(positions, replies, strict=True):
                answers[position] = reply
        return [answer for answer in answers if answer is not None]

    def close(self) -> None:
        if self._generator is not None:
            self._generator.close()
            self._generator = None

    def _refusal(self, ask: Ask) -> str | None:
        """Why this element cannot be asked; clips are never dropped and never cut here."""
        slots = sum(isinstance(part, AudioSlot) for message in ask.request.messages for part in message.parts)
        if slots > self.limits.max_clips:
            return f"{ask.request.sample_id} plays {slots} clips, and {self.spec} takes {self.limits.max_clips} at most"
        window_s = self.limits.max_clip_s
        for heard in ask.audio:
            if heard.rate_hz != self.limits.rate_hz:
                return (
                    f"{ask.request.sample_id} is at {heard.rate_hz} Hz, and {self.spec} hears {self.limits.rate_hz} Hz"
                )
            if window_s is not None and heard.duration_s > window_s:
                return f"{ask.request.sample_id} lasts {heard.duration_s:.2f} s, and {self.spec} hears {window_s:g} s"
        return None

    @cached_property
    def _checkpoint(self) -> Checkpoint:
        return Checkpoint.find(self._target, self._options.get("revision"), self._download)

    @cached_property
    def _front_end(self) -> FrontEnd:
        return self._checkpoint.front_end()

    @cached_property
    def _family(self) -> Family:
        return FAMILIES.get(str(self._checkpoint.config().get("model_type")), Family())


def _has_cuda() -> bool:
    """A CUDA build of torch and a visible NVIDIA device; :meth:`HfModel.load` finds out whether they work."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1") or sys.platform == "darwin":
        return False
    try:
        build = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return False
    devices = (Path("/dev/nvidia0"), Path("/dev/nvidiactl"), Path("/dev/dxg"))
    return not build.endswith("+cpu") and (sys.platform == "win32" or any(device.exists() for device in devices))


def _number(options: Mapping[str, str], key: str, default: float, least: float = 1.0, whole: bool = False) -> float:
    text = options.get(key, str(default))
    try:
        value = float(int(text) if whole else float(text))
    except ValueError:
        value = float("nan")
    if least <= value < float("inf"):
        return value
    raise UsageError(
        f"{key}={text} of an hf model is not {'a whole number' if whole else 'a number'} from {least:g} up"
    )


def _one_of(options: Mapping[str, str], key: str, values: Sequence[str]) -> str | None:
    value = options.get(key)
    if value is None or value in values:
        return value
    raise UsageError(f"{key}={value} of an hf model is unknown; give one of {', '.join(values)}")
