"""What was decoded lately, kept while there is room: perturbations, evals and models that follow ask for it again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar

import numpy as np


class _Held(Protocol):
    """Anything with samples."""

    @property
    def samples(self) -> np.ndarray[tuple[int], np.dtype[np.float32]]: ...


Sound = TypeVar("Sound", bound=_Held)


class SoundMemory(Generic[Sound]):
    """Sounds by key, at most ``most_bytes`` of their samples; what was asked for longest ago is forgotten first.

    Threads may share it, and what one of them is making the others wait for. A sound of more than a quarter of the
    room is made and not kept. A set that does not fit and is asked for in rounds is made anew each time, as it would be
    without a memory.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._held: OrderedDict[Hashable, Sound] = OrderedDict()
        self._turns: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Sound], serves: Callable[[Sound], bool]) -> Sound:
        """What is held under ``key`` if it ``serves``, else what ``make`` makes, whose errors are the caller's.

        Its samples cannot be written to: they are everybody's.
        """
        with self._lock:
            if (held := self._recall(key, serves)) is not None:
                return held
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            with self._lock:
                if (held := self._recall(key, serves)) is not None:
                    return held
            try:
                made = make()
                made.samples.flags.writeable = False
                with self._lock:
                    self._keep(key, made)
                return made
            finally:
                with self._lock:
                    self._turns.pop(key, None)

    def holds(self, key: Hashable, serves: Callable[[Sound], bool]) -> bool:
        """Whether what is held under ``key`` would be given without being made."""
        with self._lock:
            held = self._held.get(key)
            return held is not None and serves(held)

    def _recall(self, key: Hashable, serves: Callable[[Sound], bool]) -> Sound | None:
        held = self._held.get(key)
        if held is None or not serves(held):
            return None
        self._held.move_to_end(key)
        return held

    def _keep(self, key: Hashable, sound: Sound) -> None:
        self._forget(self._held.pop(key, None))
        if 4 * sound.samples.nbytes > self._most_bytes:
            return
        self._held[key] = sound
        self._bytes += sound.samples.nbytes
        while self._bytes > self._most_bytes:
            self._forget(self._held.popitem(last=False)[1])

    def _forget(self, sound: Sound | None) -> None:
        self._bytes -= 0 if sound is None else sound.samples.nbytes
