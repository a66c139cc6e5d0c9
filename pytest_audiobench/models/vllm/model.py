"""Checkpoints of the transformers library asked by vLLM's engine, which the run starts and ends.

vllm, torch and transformers are imported by :meth:`VllmModel.load` alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_audiobench.errors import FatalError, UsageError, install_command
from pytest_audiobench.identity import file_digest
from pytest_audiobench.models.hf.families import GENERATOR
from pytest_audiobench.models.hf.model import HfModel
from pytest_audiobench.models.hf.options import has_cuda
from pytest_audiobench.models.model import Limits, missing_library
from pytest_audiobench.models.spec import number, one_of

_YES_NO = ("no", "yes")
QUIET = {
    # Its engine counts users on a server of its makers unless it is told not to.
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    # A fork of a process with threads may find their locks taken, and one of CUDA's cannot use it.
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
}


class VllmModel(HfModel):
    """``vllm:FOLDER`` or ``vllm:owner/name``: a chat model whose prompt the checkpoint's own template makes.

    Options: ``batch`` (most requests that are handed over together, 256), ``batch_s`` (most seconds of them, 1920, as
    of ``hf:``), ``dtype`` (bfloat16 on cuda, float32 on cpu), ``context`` (most tokens of a prompt with its answer, the
    checkpoint's own number), ``devices`` (over how many the weights are spread, 1), ``memory`` (share of a device's
    memory that the engine may take, 0.9), ``eager=yes`` (nothing compiled, no CUDA graphs), ``invariant=yes`` (kernels
    whose results do not depend on the batch, on cuda), ``pad_s``, ``repetition_penalty``, ``revision``,
    ``download=yes`` and ``trust=yes`` as of ``hf:``.
    """

    kind, adapter = "vllm", "vllm/1"
    takes = (
        *("batch", "batch_s", "context", "devices", "download", "dtype", "eager", "invariant", "memory"),
        *("pad_s", "repetition_penalty", "revision", "trust"),
    )
    usual_batch, usual_batch_s = 256, 1920.0

    def __init__(
        self, target: str, options: Mapping[str, str] | None = None, digest_of: Callable[[Path], str] = file_digest
    ) -> None:
        """Raises UsageError for an unknown option, a value that none can have, and an adapter on top of a base."""
        super().__init__(target, options, digest_of)
        if self._adapter:
            raise UsageError(f"{self.spec} names a LoRA adapter, which hf: loads and vllm: does not")
        self._context = int(number(self.kind, self._options, "context", 0, least=0, whole=True)) or None
        self._devices = int(number(self.kind, self._options, "devices", 1, whole=True))
        self._memory = number(self.kind, self._options, "memory", 0.9, least=0.01)
        self._eager = one_of(self.kind, self._options, "eager", _YES_NO) == "yes"
        self._invariant = one_of(self.kind, self._options, "invariant", _YES_NO) == "yes"
        if self._invariant and not has_cuda():
            raise UsageError(f"{self.spec}: vLLM has kernels that do not depend on the batch for cuda only")

    @cached_property
    def limits(self) -> Limits:
        """As of ``hf:``. Raises UsageError for a family whose prompts are made in another way than by a template."""
        if self._family.engine != GENERATOR or self._family.render is not None:
            type_ = self._checkpoint.config().get("model_type")
            raise UsageError(
                f"{self._target} is of type {type_!r}, which vllm: cannot ask; name it as hf:{self._target}"
            )
        return super().limits

    def missing_parts(self) -> str:
        return missing_library({"vllm": "vllm"}) or self._template_error()

    def fingerprint(self) -> Mapping[str, str]:
        """That of ``hf:``, with what of the engine's settings may change an answer."""
        settings = {
            "context": f"{self._context or 'own'}",
            "devices": f"{self._devices}",
            "memory": f"{self._memory}",
            "eager": "yes" if self._eager else "no",
            "batch invariant": "yes" if self._invariant else "no",
        }
        return {**super().fingerprint(), "engine": "|".join(f"{name} {value}" for name, value in settings.items())}

    @property
    def peak_memory_bytes(self) -> int | None:
        """None: it is the engine's own process that holds the weights."""
        return None

    def engine_of(self, setup: Any) -> Any:
        """Raises FatalError without vllm."""
        for name, value in QUIET.items():
            os.environ.setdefault(name, value)
        if self._invariant:
            os.environ["VLLM_BATCH_INVARIANT"] = "1"
        try:
            from pytest_audiobench.models.vllm.engine import VllmGenerator
        except ImportError as error:
            raise FatalError(f"{self.spec} needs {error.name}: {install_command('vllm')}") from None
        chosen = {
            "max_model_len": self._context,
            "max_num_seqs": self.limits.max_batch,
            "tensor_parallel_size": self._devices,
            "gpu_memory_utilization": self._memory,
            "enforce_eager": self._eager,
            "limit_mm_per_prompt": {"audio": self.limits.max_clips},
        }
        return VllmGenerator(setup, chosen)
