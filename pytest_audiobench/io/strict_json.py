"""JSON that anyone may have edited, read strictly: what is none is said in a sentence with its place."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from pytest_audiobench.errors import UsageError

_LONGEST_REPR = 60


class _Repeated(Exception):
    """An object that has one name twice."""


def short_repr(value: object) -> str:
    """``value`` on one line, cut short."""
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    start = value[: _LONGEST_REPR + 1] if isinstance(value, str) else value
    try:
        text_ = ascii(start)
    except ValueError:
        return "a number of thousands of digits"
    return text_ if len(text_) <= _LONGEST_REPR else f"{text_[: _LONGEST_REPR - 1]}…"


_CONSTANT = re.compile(rb"[\[,:]\s*(-?Infinity|NaN)")
_MARK = b"\xef\xbb\xbf"
_LFS = b"version https://git-lfs"


class FileKind(NamedTuple):
    """What a file should be, for messages: ``made_by`` is the command that writes one, ``remedy`` what to do."""

    what: str
    made_by: str
    remedy: str


def strict_json(content: bytes, name: str, kind: FileKind) -> Any:
    """The JSON value in the file called ``name``. Raises UsageError for NaN, repeated names and endless nesting."""
    if not content.strip():
        raise UsageError(f"{name} is empty: {kind.remedy}")
    if content.startswith(_LFS):
        raise UsageError(f"{name} is a pointer of git-lfs and not the file: fetch it (git lfs pull)")
    try:
        return json.loads(
            content.decode("utf-8-sig"), parse_constant=_refuse_constant, object_pairs_hook=_unique_members
        )
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name}, line {line} is not UTF-8, so this is not a {kind.what}: {kind.remedy}") from None
    except json.JSONDecodeError as error:
        if not content.removeprefix(_MARK).lstrip().startswith(b"{"):
            raise UsageError(f"{name} is not a {kind.what}: write one with {kind.made_by}") from None
        raise UsageError(
            f"{name}, line {error.lineno} is not JSON ({_json_error_text(content, error)}): {kind.remedy}"
        ) from None
    except _Constant as error:
        match = _CONSTANT.search(content)
        line = content.count(b"\n", 0, match.start(1) if match else 0) + 1
        raise UsageError(f"{name}, line {line} holds {error}, which is not a number: {kind.remedy}") from None
    except _Repeated as error:
        raise UsageError(f"{name}: {error}: {kind.remedy}") from None
    except (ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else "a number has too many digits"
        raise UsageError(f"{name} cannot be read, since {why}: {kind.remedy}") from None


class _Constant(Exception):
    """NaN or an infinity, which are not JSON and no statistic."""


def _refuse_constant(name: str) -> None:
    raise _Constant(name)


def _unique_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        begins = f"{short_repr(names[0])}: {short_repr(pairs[0][1])}"
        raise _Repeated(f"the object that begins with {begins} has {short_repr(repeated)} twice")
    return members


def _json_error_text(content: bytes, error: json.JSONDecodeError) -> str:
    if any(content.find(mark) >= 0 for mark in (b"\n<<<<<<< ", b"\n>>>>>>> ")):
        return "it has both versions of a merge conflict"
    if not content.rstrip().endswith(b"}"):
        return "it ends too early: the file was cut"
    return error.msg
