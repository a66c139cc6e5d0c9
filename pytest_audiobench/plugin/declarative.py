"""Evals without code: ``*.audiobench.toml`` files, which name a manifest, a protocol and thresholds."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import Mistakes, near
from pytest_audiobench.plugin.eval_items import DECLARED, DECLARED_LINES

_DEFAULT_PROTOCOL = "multiple_choice"
_TEXT, _TEXTS = "a string", "a list of strings"
_OF_ROWS = {
    **dict.fromkeys(("question", "id", "audio", "answer", "references"), _TEXT),
    "choices": f"{_TEXT} or {_TEXTS}",
}
"""Keys that only a manifest takes."""
_KEYS = {
    "manifest": _TEXT,
    "dataset": _TEXT,
    "protocol": _TEXT,
    "scorers": f"{_TEXT} or {_TEXTS}",
    "cluster": _TEXT,
    "groups": _TEXTS,
    **_OF_ROWS,
    "require": _TEXTS,
}
"""The file's own keys, and what each takes."""


class DeclarativeFile(pytest.Module):
    """Collected as a module with one test function, so that fixtures, models and ``-k`` work as for any eval."""

    def _getobj(self) -> ModuleType:
        try:
            table, lines = read_declaration(self.path, self.config)
        except UsageError as error:
            raise self.CollectError(str(error)) from None
        name = self.path.name.split(".")[0]
        module = ModuleType(name)
        setattr(module, f"test_{name}".replace("-", "_"), _test(table, lines))
        return module


def _test(table: Mapping[str, Any], lines: int) -> Callable[..., None]:
    def test(evaluate: Any) -> None:
        from pytest_audiobench.datasets.manifest import manifest
        from pytest_audiobench.protocols.catalogue import protocol

        dataset = table.get("dataset") or manifest(
            table["manifest"],
            cluster=table.get("cluster"),
            groups=tuple(table["groups"]) if "groups" in table else None,
            **{key: table[key] for key in _OF_ROWS if key in table},
        )
        evaluate.require(*table.get("require", ()))
        name, options = _protocol(table)
        evaluate(dataset, protocol(name, **options), scorers=table.get("scorers"))

    setattr(test, DECLARED, len(table.get("require", ())))
    setattr(test, DECLARED_LINES, lines)
    return test


def _protocol(table: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The family's name and its options: every key that is not the file's own."""
    options = {key: value for key, value in table.items() if key not in _KEYS}
    return table.get("protocol", _DEFAULT_PROTOCOL), options


def read_declaration(path: Path, config: pytest.Config | None = None) -> tuple[Mapping[str, Any], int]:
    """The file's table, and how many regression lines it declares. Raises UsageError with all that is wrong with it."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error
    from pytest_audiobench.gate.thresholds import Line, parse_threshold

    mistakes = Mistakes()
    typed = dict(table)
    for key in filter(table.__contains__, _KEYS):
        value = table[key]
        texts, kind = (value, _TEXTS) if isinstance(value, list) else ([value], _TEXT)
        if kind not in _KEYS[key] or not all(isinstance(text, str) for text in texts):
            mistakes.add(f"{path}: {key} must be {_KEYS[key]}, not {value!r}")
            del typed[key]
    named = ("protocol" in table) == ("protocol" in typed)
    likely_keys = _check_protocol(path, typed, config, mistakes) if named else set()
    sources = [key for key in ("manifest", "dataset") if key in table]
    if len(sources) == 2 or not (sources or likely_keys & {"manifest", "dataset"}):
        mistakes.add(f"{path}: name either a manifest or a dataset")
    elif sources == ["dataset"] and (keys := [key for key in _OF_ROWS if key in table]):
        mistakes.add(f"{path}: {', '.join(keys)} say how a manifest is read; a dataset has its own")
    lines = 0
    for text in typed.get("require", ()):
        with mistakes.catching(f"{path}: "):
            lines += isinstance(parse_threshold(text), Line)
    mistakes.check()
    return table, lines


def _check_protocol(path: Path, table: Mapping[str, Any], config: pytest.Config | None, mistakes: Mistakes) -> set[str]:
    """Adds what is wrong with the protocol and its options; the keys that unknown ones seem to mean."""
    from pytest_audiobench.extensions import load, suggestion
    from pytest_audiobench.plugin.hookspecs import call_register_hooks
    from pytest_audiobench.protocols.catalogue import FAMILIES, check_options, options_of

    name, options = _protocol(table)
    if name not in FAMILIES:
        load()
    if name not in FAMILIES and config is not None:
        call_register_hooks(config)  # those of the conftest.py files above this file, which are loaded by now
    if name not in FAMILIES:
        mistakes.add(f"{path}: unknown protocol {name[:80]!r}; {suggestion(name, FAMILIES)}")
        # Which options there are depends on the protocol; a key of the file's own can be misspelled all the same.
        return mistakes.check_keys(str(path), {key: value for key, value in options.items() if near(key, _KEYS)}, _KEYS)
    allowed = options_of(name)
    keys = f"allowed: {', '.join(_KEYS)}, and for {name} {', '.join(allowed)}"
    likely_keys = mistakes.check_keys(str(path), table, [*_KEYS, *allowed], keys)
    for key in filter(allowed.__contains__, options):
        with mistakes.catching(f"{path}: "):
            check_options(name, {key: options[key]})
    return likely_keys
