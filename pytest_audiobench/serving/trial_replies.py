"""Judging what a server sent back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from pytest_audiobench.serving.probe import Exchange

_SHOWN = 100


class Broken(Exception):
    """A rule is broken; the message says how."""


def expect(answer: Exchange, status: int) -> None:
    """Raises Broken for another status."""
    if answer.status != status:
        raise Broken(f"expected {status}, got {answer.status} ({shown(answer.body[:200].decode(errors='replace'))})")


def json_object(answer: Exchange) -> dict[str, Any]:
    """The body. Raises Broken when it is no JSON object."""
    try:
        value = answer.json
    except ValueError as error:
        raise Broken(f"the answer is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise Broken(f"the answer is {shown(value)}, not an object")
    return value


def must_be_answered(row: Mapping[str, Any]) -> None:
    """Raises Broken unless a response has predictions and no error."""
    error, predictions = row.get("error"), row.get("predictions")
    if error is not None and not isinstance(error, str):
        raise Broken(f"error is {shown(error)}, neither a text nor null")
    if error is not None and error.strip():
        raise Broken(f"a good request came back with the error {shown(error)}")
    if not are_texts(predictions) or not predictions:
        raise Broken(f"predictions is {shown(predictions)}, not a list of texts with something in it")


def are_texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
