"""``*.audiobench.toml``: an eval without code. The file names a manifest, a protocol and thresholds."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_audiobench.errors import UsageError

DECLARED = "audiobench_declared"
"""The attribute of a declarative file's test function that counts its thresholds."""

_PROTOCOLS = ("multiple_choice", "transcription")
_KEYS = {
    "manifest": str,
    "dataset": str,
    "protocol": str,
    "readings": list,
    "prompt": str,
    "cluster": str,
    "groups": list,
    "require": list,
}


class DeclarativeFile(pytest.Module):
    """Collected as a module with one test function, so that fixtures, models and ``-k`` work as for any eval."""

    def _getobj(self) -> ModuleType:
        try:
            table = _read(self.path)
        except UsageError as error:
            raise self.CollectError(str(error)) from None
        name = self.path.name.split(".")[0]
        module = ModuleType(name)
        setattr(module, f"test_{name}".replace("-", "_"), _test(table))
        return module


def _test(table: Mapping[str, Any]) -> Callable[..., None]:
    def test(evaluate: Any) -> None:
        from pytest_audiobench.datasets.manifest import manifest

        dataset = table.get("dataset") or manifest(
            table["manifest"],
            cluster=table.get("cluster"),
            groups=tuple(table["groups"]) if "groups" in table else None,
        )
        evaluate.require(*table.get("require", ()))
        evaluate(dataset, _protocol(table))

    setattr(test, DECLARED, len(table.get("require", ())))
    return test


def _protocol(table: Mapping[str, Any]) -> Any:
    from pytest_audiobench.protocols.multiple_choice import multiple_choice
    from pytest_audiobench.protocols.transcription import transcription

    make = {"multiple_choice": multiple_choice, "transcription": transcription}[table.get("protocol", _PROTOCOLS[0])]
    named = {"prompt": table["prompt"]} if "prompt" in table else {}
    return make(*table.get("readings", ()), **named)


def _read(path: Path) -> Mapping[str, Any]:
    """The file's table. Raises UsageError, naming the file and what is allowed, for anything unexpected."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error
    for key, value in table.items():
        if key not in _KEYS:
            raise UsageError(f"{path}: unknown key {key!r}; allowed are {', '.join(_KEYS)}")
        texts = value if isinstance(value, list) else [value]
        if not isinstance(value, _KEYS[key]) or not all(isinstance(text, str) for text in texts):
            kind = "a list of strings" if _KEYS[key] is list else "a string"
            raise UsageError(f"{path}: {key} must be {kind}, not {value!r}")
    if ("manifest" in table) == ("dataset" in table):
        raise UsageError(f"{path}: name either a manifest or a dataset")
    if table.get("protocol", _PROTOCOLS[0]) not in _PROTOCOLS:
        raise UsageError(f"{path}: unknown protocol {table['protocol']!r}; there are {', '.join(_PROTOCOLS)}")
    from pytest_audiobench.gate.thresholds import parse_threshold

    for text in table.get("require", ()):
        try:
            parse_threshold(text)
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from error
    return table
