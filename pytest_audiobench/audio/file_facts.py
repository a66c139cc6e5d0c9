"""Scorer what identifies a file: the digest of its bytes and the duration its header claims."""

from __future__ import annotations

import hashlib
import os
import time
from typing import NamedTuple

import soundfile

from pytest_audiobench.audio.file_memory import FileFacts, FileKey


class Read(NamedTuple):
    """``key`` is the file's state before and after, None when it changed between; ``at_ns`` when reading ended."""

    facts: FileFacts
    key: FileKey | None
    at_ns: int

    def is_settled(self, settle_s: float) -> bool:
        """Whether a later change of the file is sure to show in its key."""
        return self.key is not None and self.key.age_s(self.at_ns) >= settle_s


def read_facts(path: str) -> Read:
    """Reads the file once for its bytes and a little for its header. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        before = FileKey.of(os.fstat(descriptor))
        facts = FileFacts(_digest(descriptor), _header_duration_s(descriptor))
        after = FileKey.of(os.fstat(descriptor))
    finally:
        os.close(descriptor)
    return Read(facts, before if before == after else None, time.time_ns())


def _digest(descriptor: int) -> str:
    content = hashlib.sha256()
    while block := os.read(descriptor, _BLOCK_BYTES):
        content.update(block)
    return content.hexdigest()


def _header_duration_s(descriptor: int) -> float | None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        with soundfile.SoundFile(descriptor, closefd=False) as header:
            return float(header.frames / header.samplerate)
    except (soundfile.SoundFileError, ZeroDivisionError):
        return None


_BLOCK_BYTES = 1 << 20
