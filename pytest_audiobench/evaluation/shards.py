"""One machine's share of a run: whole windows, so that its batches are those of a run on one machine.

A shard notes in its store what each of its evals was made of, once that is asked. The run over all shards' answers asks
nothing: it takes them where every shard asked about the same data, by the same model and code, and says whose are
missing.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

import msgspec

from pytest_audiobench.errors import InfrastructureError, UsageError
from pytest_audiobench.evaluation.answer_store import Store
from pytest_audiobench.evaluation.batch_executor import MissingAnswers
from pytest_audiobench.evaluation.hashes import audio_payload, sample_payload, settings_hash
from pytest_audiobench.evaluation.model_handle import ModelHandle
from pytest_audiobench.evaluation.selection import Selection
from pytest_audiobench.identity import ListDigest
from pytest_audiobench.protocols.protocol import Protocol
from pytest_audiobench.records.run import ShardRecord

_NOTE = "shard:"
_STAMP = 20
"""Characters of the time that begins a note, so that the later of two is the greater text."""
_PORTION = 1024
_ORDER = ("code", "model", "settings", "epochs", "data", "audio")
"""What an eval is made of. The first that differs is named: the others may differ because of it."""
_IN_WORDS = ("code", "epochs")
"""Of these the ones that are not digests."""


class ShardedEval:
    """One eval by one model in a shard, or over all shards' answers where ``shard`` is None."""

    def __init__(
        self,
        store: Store,
        shard: ShardRecord | None,
        count: int,
        eval_: str,
        handle: ModelHandle,
        code: str,
        epochs: int,
    ) -> None:
        """``code`` is who asks: the package's version and the project's commit."""
        self._store, self._shard, self._count, self._eval, self._handle = store, shard, count, eval_, handle
        self._shared = {"code": code, "epochs": str(epochs)}
        self._selected: tuple[Selection, Protocol] | None = None
        self.samples: int | None = None
        """How many the eval wants; None for all."""

    def begin(self, selection: Selection, protocol: Protocol) -> None:
        """Before the first request: note that a shard is at it. Over all shards raises InfrastructureError where one
        has not answered, UsageError where one was asked otherwise than ``selection`` would be here.
        """
        self._selected = selection, protocol
        if self._shard is not None:
            # What an earlier run left counts no longer.
            self._keep("")
            return
        missing = []
        taken = {selection.shard_of(selected.window, self._count) for selected in selection.samples}
        for index, here in enumerate(self._makeups(), start=1):
            if index not in taken:
                continue
            there = self._noted(index)
            if there is None:
                missing.append(index)
            elif other := next((name for name in _ORDER if there.get(name) != here[name]), None):
                values = f" ({there.get(other)} there, {here[other]} here)" if other in _IN_WORDS else ""
                raise UsageError(
                    f"{self._name} is of other {other} in shard {index} of {self._count} than here{values}, so that "
                    "no answer counts: ask that shard again as the others, or merge where the same lies"
                )
        if missing:
            raise InfrastructureError(
                f"{self._name} was not asked to its end by {shards_text(missing, self._count)}: merge again once it was"
            )

    def end(self) -> None:
        """Once all is asked: note of a shard that it is, and of what."""
        if self._shard is not None:
            self._keep(json.dumps(self._makeups()[self._shard.index - 1]))

    def owner(self, whole: Selection) -> int:
        """The shard that asks what cannot be parted: it has the first sample."""
        return whole.shard_of(whole.samples[0].window, self._count)

    @contextmanager
    def missing_answers(self, whole: bool) -> Iterator[None]:
        """Says whose answers are missing, where some are: of what one shard asks as a ``whole``, the owner's."""
        try:
            yield
        except MissingAnswers as error:
            if self._selected is None:
                raise
            selection = self._selected[0]
            owner = self.owner(selection) if whole else None
            lacking = Counter(owner or selection.shard_of(window, self._count) for window in error.windows)
            shards = ", ".join(f"{number} of shard {index}" for index, number in sorted(lacking.items()))
            raise InfrastructureError(
                f"{self._name} lacks {len(error.windows)} of {error.total} answers ({shards}): give all stores of "
                "these shards, or ask the rest by the same command with the merged store and without --ab-shard"
            ) from error

    @property
    def _name(self) -> str:
        return f"{self._eval} ({self._handle.alias})"

    def _makeups(self) -> list[Mapping[str, str]]:
        """What each shard's part is made of, the first shard's first."""
        if self._selected is None:
            return []
        selection, protocol = self._selected
        shared = {**self._shared, "model": self._handle.digest, "settings": settings_hash(protocol)}
        parts = [_Part() for _ in range(self._count)]
        for selected in selection.samples:
            shard = selection.shard_of(selected.window, self._count)
            audio = audio_payload(selected.clip_keys, (selected.unchanged or selected).clip_keys)
            parts[shard - 1].add(sample_payload(selected.sample), audio)
        return [{**shared, **part.digests()} for part in parts]

    def _note(self, index: int) -> str:
        return f"{_NOTE}{index}/{self._count}:{self._handle.alias}:{self._eval}"

    def _keep(self, text: str) -> None:
        if self._shard is not None:
            self._store.keep_note(self._note(self._shard.index), f"{time.time():0{_STAMP}.6f}{text}")

    def _noted(self, index: int) -> Mapping[str, str] | None:
        text = dict(self._store.notes(self._note(index))).get(self._note(index), "")
        with suppress(msgspec.MsgspecError):
            return msgspec.json.decode(text[_STAMP:], type=dict[str, str])
        return None


class _Part:
    """The digests of one shard's samples, which are not kept."""

    def __init__(self) -> None:
        self._data, self._audio = ListDigest(), ListDigest()
        self._samples: list[object] = []
        self._clips: list[object] = []

    def add(self, sample: object, clips: object) -> None:
        self._samples.append(sample)
        self._clips.append(clips)
        if len(self._samples) >= _PORTION:
            self._flush()

    def _flush(self) -> None:
        self._data.extend(self._samples)
        self._audio.extend(self._clips)
        self._samples, self._clips = [], []

    def digests(self) -> Mapping[str, str]:
        self._flush()
        return {"data": self._data.hexdigest(), "audio": self._audio.hexdigest()}


def shards_text(indices: Iterable[int], count: int) -> str:
    """``shard 3 of 8``, or ``shards 3 and 5 of 8``."""
    *first, last = map(str, indices)
    return f"shards {', '.join(first)} and {last} of {count}" if first else f"shard {last} of {count}"


def note_end(store: Store, shard: ShardRecord) -> None:
    """Say that a shard was asked all that it collected."""
    store.keep_note(f"{_NOTE}{shard.index}/{shard.count}:", f"{time.time():0{_STAMP}.6f}")


def shards_ended(store: Store) -> dict[int, set[int]]:
    """The shards that came to their end, by the number of shards; nothing behind one of which only evals are known."""
    ended: dict[int, set[int]] = {}
    for name, _ in store.notes(_NOTE):
        shard, _, eval_ = name.removeprefix(_NOTE).partition(":")
        index, _, count = shard.partition("/")
        if index.isdecimal() and count.isdecimal():
            ended.setdefault(int(count), set()).update(() if eval_ else (int(index),))
    return ended
