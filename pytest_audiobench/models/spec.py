"""The spec of a model on the command line: ``alias=kind:target,option=value,…``."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import near, nearest
from pytest_audiobench.io.user_documents import toml_tables

C = TypeVar("C", bound=str)

FORM = "[alias=]kind:target[,option=value …], for example hf:checkpoints/step-2000,device=cpu"

_ALIAS = re.compile(r"[A-Za-z0-9._-]+")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_VALUE = r"""(?:"(?:[^"]|"")*"|'(?:[^']|'')*'|(?!["'])[^,]*)"""
_PRESET = re.compile(r"(?:(?P<alias>[A-Za-z0-9._-]+)=)?(?P<name>[A-Za-z0-9_]+)(?P<options>,.*)?", re.DOTALL)
_URL = re.compile(r"(?:(?P<alias>[A-Za-z0-9._-]+)=)?(?P<url>(?i:https?)://[^,]*)(?P<options>,.*)?", re.DOTALL)
_OPTION = re.compile(rf",(?P<key>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>{_VALUE})")
_OPTIONS = re.compile(rf"(?:,[A-Za-z_][A-Za-z0-9_]*={_VALUE})*")
_UNREAD = re.compile(r""",(?:(?P<quoted>[A-Za-z_][A-Za-z0-9_]*)=["']|(?P<key>base_url|serve|url_file)=)""")
"""An option in a target: its quote is not closed, or its value, which is not part of any path, holds a comma."""

STYLE = "style"
"""The key of every kind that says how the model is asked to reason; :func:`registry.make` takes it out."""

NOTE = "note"
"""The key of every kind that says in words what was asked, such as a checkpoint; only the run's record has it."""


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as a user names it."""

    alias: str
    """Safe in a pytest id."""
    kind: str
    target: str
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    text: str = ""
    """What the user wrote."""


def parse_spec(text: str) -> ModelSpec:
    """Read one spec.

    Only trailing segments of the form ``,identifier=value`` are options, so a path may hold commas and
    equals signs. A value with commas is in quotes, ``"…"`` or ``'…'``, in which that quote itself is written
    twice. Without an alias, the target's last path component stands for one. A preset's name stands for its spec, under
    that alias, with further options or without; a server's URL alone for a server of predictions_v1, or of
    judge_scores_v1 where it ends with ``/judge``.

    Raises UsageError when the text has not the form.
    """
    given, text = text, _written_out(text.strip())
    head, colon, rest = text.strip().partition(":")
    alias, equals, kind = head.rpartition("=")
    target, options = split_options(rest, text)
    if not (colon and target and _KIND.fullmatch(kind)):
        alias, mark, path = given.rpartition("=")
        names = [f"{alias}{mark}hf:{path}"] if os.path.isdir(path) else near(text.partition(",")[0], presets())
        likely = f"; did you mean {names[0]!r}?" if names else ""
        raise UsageError(f"{text!r} names no model; write {FORM}{likely}")
    if equals and not _ALIAS.fullmatch(alias):
        raise UsageError(f"the alias {alias!r} in {text!r} may hold letters, digits, '.', '_' and '-' only")
    last = re.split(r"[/\\]", target.rstrip("/\\"))[-1]
    named = last if _ALIAS.search(last.replace(".", "")) else f"{kind}:{target}"
    default_alias = re.sub(r"[^A-Za-z0-9._-]+", "-", named).strip("-") or kind
    return ModelSpec(alias or default_alias, kind, target, options, given)


@cache
def presets() -> Mapping[str, Mapping[str, str]]:
    """The specs that have a name, with what each is of."""
    return toml_tables(Path(__file__).with_name("presets.toml").read_bytes())


def _written_out(text: str) -> str:
    """The spec in place of a preset's name or of a server's URL; any other text as it is."""
    if server := _URL.fullmatch(text):
        url, alias = server["url"].rstrip("/"), f"{server['alias']}=" if server["alias"] else ""
        kind = "judge-scores" if url.endswith("/judge") else "http"
        return f"{alias}{kind}:{url.removesuffix('/predict')}{server['options'] or ''}"
    match = _PRESET.fullmatch(text)
    if match is None or match["name"] not in presets():
        return text
    return f"{match['alias'] or match['name']}={presets()[match['name']]['spec']}{match['options'] or ''}"


def parse_specs(texts: Iterable[str]) -> tuple[ModelSpec, ...]:
    """Read several specs, in order. Raises UsageError when one has not the form, or when two have one alias."""
    specs: dict[str, ModelSpec] = {}
    for spec in map(parse_spec, texts):
        if other := specs.get(spec.alias):
            raise UsageError(
                f"two models are named {spec.alias!r}: {other.text!r} and {spec.text!r}; "
                f"give one another alias, such as other={spec.kind}:{spec.target}"
            )
        specs[spec.alias] = spec
    return tuple(specs.values())


def check_options(kind: str, options: Mapping[str, str], known: Collection[str]) -> None:
    """Raise UsageError for the first option that ``kind`` does not know, naming those it does."""
    for key in options:
        if key not in (*known, STYLE, NOTE):
            names = sorted({*known, STYLE, NOTE})
            there = nearest(key, names, f"it has {', '.join(names)}")
            raise UsageError(f"{kind!r} has no option {key!r}; {there}")


def number(
    kind: str, options: Mapping[str, str], key: str, default: float, least: float = 1.0, whole: bool = False
) -> float:
    """An option's value for a model of ``kind``. Raises UsageError when it is not a finite number from ``least`` up."""
    text = options.get(key, str(default))
    try:
        value = float(int(text) if whole else float(text))
    except (ValueError, OverflowError):
        value = math.nan
    if least <= value < math.inf:
        return value
    what = "a whole number" if whole else "a number"
    raise UsageError(f"{key}={text[:80]} of an {kind} model is not {what} from {least:g} up")


def one_of(kind: str, options: Mapping[str, str], key: str, values: Sequence[C]) -> C | None:
    """An option's value, None when it is not given. Raises UsageError when it is not among ``values``."""
    if (value := options.get(key)) is None:
        return None
    if value in values:
        return cast(C, value)
    there = nearest(value, values, f"give one of {', '.join(values)}")
    raise UsageError(f"{key}={value[:80]} of an {kind} model is unknown; {there}")


def pinned_revision(kind: str, options: Mapping[str, str]) -> str | None:
    """What the user calls the weights behind a server's name (``revision``), None where nothing is said.

    Raises UsageError for an empty one, as of a variable that is not set: it would pin nothing.
    """
    revision = options.get("revision")
    if revision is not None and not revision.strip():
        raise UsageError(
            f"revision= of an {kind} model is empty: name its weights, as revision=step-2000, or leave it out"
        )
    return revision


def written(kind: str, target: str, options: Mapping[str, str]) -> str:
    """A spec as text again, options in alphabetical order: equal for equal models."""
    return ",".join([f"{kind}:{target}", *(f"{key}={quoted(options[key])}" for key in sorted(options))])


def quoted(value: str) -> str:
    """An option's value as a spec holds it: in quotes where it would else be read as another."""
    return '"' + value.replace('"', '""') + '"' if "," in value or value.startswith(('"', "'")) else value


def split_options(rest: str, text: str) -> tuple[str, dict[str, str]]:
    """What stands before the trailing ``,key=value`` of a text, and these. Raises UsageError for an open quote."""
    commas = (place for place, character in enumerate(rest) if character == ",")
    end = next((place for place in commas if _OPTIONS.fullmatch(rest, place)), len(rest))
    if unread := _UNREAD.search(rest, 0, end):
        key = unread["quoted"] or unread["key"]
        raise UsageError(
            f"the value of {key} in {text!r} does not end where it should: write one that holds a comma in quotes, "
            f'{key}="…", and a quote in it twice'
        )
    options: dict[str, str] = {}
    for option in _OPTION.finditer(rest, end):
        key, value = option["key"], option["value"]
        if key in options:
            raise UsageError(f"the option {key!r} stands twice in {text!r}; keep one")
        quote = value[:1]
        options[key] = value[1:-1].replace(2 * quote, quote) if quote in ('"', "'") else value
    return rest[:end], options
