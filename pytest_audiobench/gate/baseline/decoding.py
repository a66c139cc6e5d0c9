"""A baseline's bytes read back, trusting nothing: each problem is a sentence with the file, the place and a remedy."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.errors import UsageError
from pytest_audiobench.evaluation.comparable import ComparableEval
from pytest_audiobench.evaluation.suites import HASHES
from pytest_audiobench.gate.baseline.contents import MOST_BYTES, SCHEMA, Contents, Figure
from pytest_audiobench.gate.baseline.evals import Whose, side_of
from pytest_audiobench.gate.baseline.fields import Fields, Wrong, number, shown, text

_HEAD = ("schema", "version", "run", "finished", "hashes", "model", "limit", "epochs", "missing", "evals")
_MODEL = ("alias", "spec", "digest", "fingerprint", "noise")
_CONSTANT = re.compile(rb"[\[,:]\s*(-?Infinity|NaN)")
_MARK = b"\xef\xbb\xbf"
_LFS = b"version https://git-lfs"
_KIND = SCHEMA.rpartition("/")[0]


class FileKind(NamedTuple):
    """What a file should be, for messages: ``made_by`` is the command that writes one, ``remedy`` what to do."""

    what: str
    made_by: str
    remedy: str


_FILE = FileKind(
    "baseline",
    "audiobench baseline update RUN",
    "put it back from git, or write it anew with audiobench baseline update RUN",
)


def read_bounded(path: Path) -> bytes:
    """The bytes of a baseline's file. Raises UsageError where it cannot be read or is larger than a baseline may be."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read ({error.strerror}): name a baseline's file that can be") from None
    if len(content) > MOST_BYTES:
        raise UsageError(f"{path} holds more than {MOST_BYTES / 1e6:.0f} MB, which no baseline does: correct the path")
    return content


def decoded(content: bytes, name: str) -> Contents:
    """The baseline whose file, called ``name`` in messages, holds ``content``.

    Raises UsageError for whatever no ``audiobench baseline update`` of this version can have written.
    """
    value = strict_json(content, name, _FILE)
    _check_schema(value, name)
    try:
        return _contents(value, name)
    except Wrong as error:
        raise UsageError(f"{name}: {error}: {_FILE.remedy}") from None


def strict_json(content: bytes, name: str, kind: FileKind) -> Any:
    """The JSON value that the file called ``name`` holds: no NaN, no name twice in an object, no endless nesting.

    Raises UsageError, with the line where there is one, for anything else.
    """
    if not content.strip():
        raise UsageError(f"{name} is empty: {kind.remedy}")
    if content.startswith(_LFS):
        raise UsageError(f"{name} is a pointer of git-lfs and not the file: fetch it (git lfs pull)")
    try:
        return json.loads(content.decode("utf-8-sig"), parse_constant=_no_constant, object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name}, line {line} is not UTF-8, so this is no {kind.what}: {kind.remedy}") from None
    except json.JSONDecodeError as error:
        if not content.removeprefix(_MARK).lstrip().startswith(b"{"):
            raise UsageError(f"{name} is no {kind.what}: write one with {kind.made_by}") from None
        raise UsageError(f"{name}, line {error.lineno} is not JSON ({_why(content, error)}): {kind.remedy}") from None
    except _Constant as error:
        found = _CONSTANT.search(content)
        line = content.count(b"\n", 0, found.start(1) if found else 0) + 1
        raise UsageError(f"{name}, line {line} holds {error}, which is no number: {kind.remedy}") from None
    except Wrong as error:
        raise UsageError(f"{name}: {error}: {kind.remedy}") from None
    except (ValueError, RecursionError) as error:
        why = "it is nested too deep" if isinstance(error, RecursionError) else "a number has too many digits"
        raise UsageError(f"{name} cannot be read, since {why}: {kind.remedy}") from None


def _check_schema(value: object, name: str) -> None:
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema == SCHEMA:
        return
    if isinstance(schema, str) and schema.startswith("audiobench.run/"):
        raise UsageError(
            f"{name} is a run's record, not a baseline: give the run's whole folder, or write a baseline of it "
            "(audiobench baseline update FOLDER)"
        )
    if isinstance(schema, str) and schema.startswith("audiobench.submission/"):
        raise UsageError(
            f"{name} is a submission, which holds a baseline as text: write its payload.evidence into a file, and name "
            "that"
        )
    if isinstance(schema, str) and schema.startswith(f"{_KIND}/"):
        raise UsageError(
            f"{name} has the schema {shown(schema)} and this version reads {SCHEMA!r}: update pytest-audiobench, or "
            "write the baseline anew with this version (audiobench baseline update RUN)"
        )
    raise UsageError(
        f"{name} is no baseline: it has {'no schema' if schema is None else f'the schema {shown(schema)}'} where "
        f"{SCHEMA!r} is expected; write one with audiobench baseline update RUN"
    )


def _contents(value: object, source: str) -> Contents:
    head = Fields(value, "the baseline", _HEAD)
    model = Fields(head["model"], "model", _MODEL)
    alias, spec = model.text("alias"), model.text("spec")
    noise = _noise(model["noise"])
    hashes = Fields(head["hashes"], "hashes", HASHES)
    sides: dict[str, ComparableEval] = {}
    figures: dict[str, Mapping[str, Sequence[Figure]]] = {}
    for index, one in enumerate(head.items("evals"), 1):
        side, own = side_of(one, f"eval number {index}", Whose(source, alias, spec, noise))
        if side.eval in sides:
            raise Wrong(f"eval {shown(side.eval)}", "is there twice")
        sides[side.eval], figures[side.eval] = side, own
    return Contents(
        version=head.text("version"),
        run=head.text("run"),
        finished=head.text("finished"),
        hashes={name: hashes.text_or_null(name) for name in HASHES},
        alias=alias,
        spec=spec,
        digest=model.text("digest"),
        fingerprint=model.texts("fingerprint"),
        noise=noise,
        limit=None if head["limit"] is None else head.count("limit", 1),
        epochs=head.count("epochs", 1),
        sides=sides,
        figures=figures,
        missing=tuple(text(one, "missing") for one in head.items("missing")),
    )


def _noise(value: object) -> Mapping[str, Any] | None:
    if value is None:
        return None
    head = Fields(value, "model, noise", ("same_answers", "score_shift", "measured"))
    for name in ("same_answers", "score_shift"):
        number(head[name], head.at(name))
    for one in head.items("measured"):
        _check_finite(one, head.at("measured"))
    return dict(value) if isinstance(value, dict) else None


def _check_finite(value: object, place: str) -> None:
    if isinstance(value, dict):
        for name, one in value.items():
            _check_finite(one, f"{place}, {shown(name)}")
    elif isinstance(value, list):
        for one in value:
            _check_finite(one, place)
    elif isinstance(value, float):
        number(value, place)


def _no_constant(name: str) -> None:
    raise _Constant(name)


class _Constant(Exception):
    """NaN or an infinity, which are no JSON and no statistic."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Wrong(f"the object that begins with {shown(names[0])}: {shown(pairs[0][1])}", f"has {shown(twice)} twice")
    return found


def _why(content: bytes, error: json.JSONDecodeError) -> str:
    if any(content.find(mark) >= 0 for mark in (b"\n<<<<<<< ", b"\n>>>>>>> ")):
        return "it holds both sides of a merge conflict"
    if not content.rstrip().endswith(b"}"):
        return "it ends too early: the file was cut"
    return error.msg
