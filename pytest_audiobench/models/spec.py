"""The spec of a model on the command line: ``alias=kind:target,option=value,…``."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from pytest_audiobench.errors import UsageError

C = TypeVar("C", bound=str)

FORM = "[alias=]kind:target[,option=value …], for example hf:checkpoints/step-2000,device=cpu"

_ALIAS = re.compile(r"[A-Za-z0-9._-]+")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_OPTION = re.compile(r"(?P<key>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>.*)", re.DOTALL)


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
    equals signs. Without an alias, the target's last path component stands for one.

    Raises UsageError when the text has not the form.
    """
    head, colon, rest = text.strip().partition(":")
    alias, equals, kind = head.rpartition("=")
    target, options = _split_options(rest, text)
    if not (colon and target and _KIND.fullmatch(kind)):
        raise UsageError(f"{text!r} names no model; write {FORM}")
    if equals and not _ALIAS.fullmatch(alias):
        raise UsageError(f"the alias {alias!r} in {text!r} may hold letters, digits, '.', '_' and '-' only")
    last = re.split(r"[/\\]", target.rstrip("/\\"))[-1]
    named = last if _ALIAS.search(last.replace(".", "")) else f"{kind}:{target}"
    default_alias = re.sub(r"[^A-Za-z0-9._-]+", "-", named).strip("-") or kind
    return ModelSpec(alias or default_alias, kind, target, options, text)


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
        if key not in known:
            listed = f"it has {', '.join(sorted(known))}" if known else "it has none"
            raise UsageError(f"{kind!r} has no option {key!r}; {listed}")


def number(
    kind: str, options: Mapping[str, str], key: str, default: float, least: float = 1.0, whole: bool = False
) -> float:
    """An option's value for a model of ``kind``. Raises UsageError when it is no finite number from ``least`` up."""
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
    value = options.get(key)
    if value is None:
        return None
    if value in values:
        return cast(C, value)
    raise UsageError(f"{key}={value[:80]} of an {kind} model is unknown; give one of {', '.join(values)}")


def written(kind: str, target: str, options: Mapping[str, str]) -> str:
    """A spec as text again, options in alphabetical order: equal for equal models."""
    return ",".join([f"{kind}:{target}", *(f"{key}={options[key]}" for key in sorted(options))])


def _split_options(rest: str, text: str) -> tuple[str, dict[str, str]]:
    segments = rest.split(",")
    options: dict[str, str] = {}
    while len(segments) > 1 and (match := _OPTION.fullmatch(segments[-1])):
        if match["key"] in options:
            raise UsageError(f"the option {match['key']!r} stands twice in {text!r}; keep one")
        options[match["key"]] = match["value"]
        segments.pop()
    return ",".join(segments), dict(reversed(options.items()))
