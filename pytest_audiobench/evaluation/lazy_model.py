"""A model as a run holds it: an alias, an identity, and weights only once they are needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from pytest_audiobench.identity import digest
from pytest_audiobench.models.model import Hearing, Limits, Model


class ModelHandle:
    """One model of a run. Loading is put off until the first answer that the store does not hold.

    ``make_way`` is called before one that fills a device is loaded.
    """

    def __init__(self, alias: str, model: Model, make_way: Callable[[], None] = lambda: None) -> None:
        self.alias = alias
        self._model = model
        self._make_way = make_way
        self._loaded = False
        self._peak_memory_bytes: int | None = None
        self._hearing: Hearing | None = None

    @property
    def spec(self) -> str:
        return self._model.spec

    @property
    def limits(self) -> Limits:
        return self._model.limits

    @property
    def device(self) -> str:
        return self._model.device

    @property
    def planned(self) -> bool:
        """Whether an answer may depend on the batch it sits in."""
        return self._model.batching == "planned"

    @property
    def listens(self) -> bool:
        return self._model.listens

    @property
    def in_process(self) -> bool:
        """Whether its weights fill a device of this process."""
        return bool(getattr(self._model, "in_process", False))

    def can_judge(self, judging: str) -> bool:
        """Whether it can be asked that judging's prompt: a server that only scores by a rubric knows one."""
        known: tuple[str, ...] | None = getattr(self._model, "judgings", None)
        return known is None or judging in known

    @property
    def style(self) -> str:
        """The style in which its answers were asked for, where they are a run's that told; else nothing."""
        return str(getattr(self._model, "style", ""))

    @property
    def oom_splits(self) -> int:
        return int(getattr(self._model, "oom_splits", 0))

    @property
    def hearing(self) -> Hearing | None:
        """What loading the model showed of its hearing; None before that, and where it shows nothing."""
        return getattr(self._model, "hearing", None) or self._hearing

    @property
    def peak_memory_bytes(self) -> int | None:
        """The most memory that the model has held since it was loaded here, where it tells."""
        return getattr(self._model, "peak_memory_bytes", None) if self._loaded else self._peak_memory_bytes

    @cached_property
    def fingerprint(self) -> Mapping[str, str]:
        return dict(self._model.fingerprint())

    @cached_property
    def digest(self) -> str:
        """The model's identity: its fingerprint, what it is played, and, where they matter, its batches' limits."""
        return digest(self.identity)

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """What the digest is made of: ``fingerprint``, ``heard`` (rate and window) and ``batches``."""
        limits = self.limits
        heard = f"{limits.rate_hz} Hz, {limits.max_clip_s} s"
        batches = f"{limits.max_batch} requests, {limits.max_batch_s} s" if self.planned else ""
        return {"fingerprint": self.fingerprint, "heard": heard, "batches": batches}

    def ready(self) -> Model:
        """The model, loaded."""
        if not self._loaded:
            if self.in_process:
                self._make_way()
            self._model.load()
            self._loaded = True
        return self._model

    def close(self) -> None:
        if self._loaded:
            # A model that made way for a judge is still to be told of.
            self._peak_memory_bytes, self._hearing = self.peak_memory_bytes, self.hearing
            self._model.close()
            self._loaded = False
