"""Canonical JSON, digests, and seeds made from identities.

A hashed payload holds strings, integers below 2^53 in magnitude, booleans, None, lists and
ASCII-keyed objects. Within these bounds ``json.dumps`` and RFC 8785 write the same bytes, so a
digest can be recomputed in any language. Floats are refused: their text differs between writers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Payload: TypeAlias = "str | int | bool | Sequence[Payload] | Mapping[str, Payload] | None"

_LARGEST = 2**53 - 1


def canonical(payload: Payload) -> bytes:
    """The one way to write ``payload`` as bytes. Raises TypeError for anything outside the bounds above, ValueError for
    an integer beyond 2^53 and UnicodeEncodeError for a lone surrogate.
    """
    _check(payload)
    return _dumps(payload)


def digest(payload: Payload) -> str:
    """SHA-256 of the canonical bytes, as 64 hex digits."""
    return hashlib.sha256(canonical(payload)).hexdigest()


def digest_of_trusted(payload: Any) -> str:
    """As :func:`digest`, for payloads whose types the caller has fixed: hot paths skip the check."""
    return hashlib.sha256(_dumps(payload)).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file's bytes, as 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class ListDigest:
    """:func:`digest_of_trusted` of a list whose elements come in pieces and are not kept."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._before = b"["

    def extend(self, payloads: Sequence[Any]) -> None:
        """Add the next elements: many at once cost much less than one by one."""
        if payloads:
            self._hash.update(self._before + _dumps(payloads)[1:-1])
            self._before = b","

    def hexdigest(self) -> str:
        """The digest of the elements so far, as 64 hex digits."""
        whole = self._hash.copy()
        whole.update(b"]" if self._before == b"," else b"[]")
        return whole.hexdigest()


def seed(*identity: str | int) -> int:
    """A seed in [0, 2^63) that depends on the given identity alone."""
    return int.from_bytes(hashlib.sha256(canonical(list(identity))).digest()[:8], "big") >> 1


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def _dumps(payload: Any) -> bytes:
    return _encode(payload).encode()


def _check(payload: Any) -> None:
    if payload is None or isinstance(payload, (str, bool)):
        return
    if isinstance(payload, int):
        if abs(payload) > _LARGEST:
            raise ValueError(f"{payload} is above 2^53: write it as a string")
    elif isinstance(payload, Mapping):
        for key, value in payload.items():
            if not isinstance(key, str) or not key.isascii():
                raise TypeError(f"the key {key!r} of a hashed object is not an ASCII string")
            _check(value)
    elif isinstance(payload, (list, tuple)):
        for value in payload:
            _check(value)
    else:
        raise TypeError(f"a hashed payload cannot hold {type(payload).__name__}: {payload!r}")
