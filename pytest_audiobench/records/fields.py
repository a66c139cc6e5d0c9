"""The base of all records, and the types of their fields."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

_LARGEST = sys.float_info.max

Name: TypeAlias = Annotated[str, Meta(max_length=10_000)]
Sentence: TypeAlias = Annotated[str, Meta(max_length=100_000)]
"""A text for people, which may name samples."""
Count: TypeAlias = Annotated[int, Meta(ge=0, lt=2**53)]
Positive: TypeAlias = Annotated[int, Meta(ge=1, lt=2**53)]
Number: TypeAlias = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]
"""A finite float. Where there is no number a field is None, and its ``method`` says why."""

DIGEST = "^[0-9a-f]{64}$"
TIME = "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"
DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"

Digest: TypeAlias = Annotated[str, Meta(pattern=DIGEST)]
Time: TypeAlias = Annotated[str, Meta(pattern=TIME)]
"""ISO 8601, in UTC, in whole seconds."""
Day: TypeAlias = Annotated[str, Meta(pattern=DAY)]
"""A day of UTC."""

Direction: TypeAlias = Literal["higher", "lower"]
"""Which way is better."""
Harder: TypeAlias = Literal["", "higher", "lower"]
"""Which way a dose makes the task harder; empty where it is not known."""

Status: TypeAlias = Literal["parsed", "unparsed", "refused", "empty", "out_of_range", "truncated", "error"]
"""What became of an answer; "error" where the asking failed."""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a file: frozen, and without members that are not named here."""


def plain(record: Any) -> Any:
    """``record`` as JSON values: dicts, lists, texts, numbers and None."""
    return msgspec.to_builtins(record, enc_hook=builtin)


def builtin(value: Any) -> str | int | float:
    """A text or a number of its own class, such as numpy's ``float64``, as Python's; TypeError for all else."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, (int, float)):
        return int(value) if isinstance(value, int) else float(value)
    raise TypeError(f"{type(value).__name__} is not text, number, list or object of JSON")
