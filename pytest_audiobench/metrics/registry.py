"""The metrics by name: those that thresholds may name and scorers may yield.

The project's own lie in ``metrics/definitions/``, a module for each group, which lists its metrics as ``KINDS``.
"""

from __future__ import annotations

import importlib
import pkgutil
import re

from pytest_audiobench import extensions
from pytest_audiobench.errors import UsageError
from pytest_audiobench.metrics import definitions
from pytest_audiobench.metrics.metric import MetricKind

NAME = r"[a-z][A-Za-z0-9_-]*"
"""What a metric's name may be, so that a threshold can name it."""

_kinds: dict[str, MetricKind] = {}


def register(kind: MetricKind) -> None:
    """Make ``kind`` known by its name. Raises UsageError for an unusable name, or one that means another metric."""
    if not re.fullmatch(NAME, kind.name):
        raise UsageError(f"{kind.name!r} cannot name a metric: use a small letter, then letters, digits, - and _")
    known = _kinds.get(kind.name, kind)
    # A conftest.py that is loaded again, by a second session in one process, brings the same metric again.
    if _definition(known) != _definition(kind):
        raise UsageError(f"two metrics are registered as {kind.name!r}: {known} and {kind}; rename one")
    _kinds[kind.name] = kind


def _definition(kind: MetricKind) -> tuple[str, ...]:
    code = kind.estimate
    name = getattr(code, "__qualname__", repr(code))
    return kind.direction, kind.unit, kind.about, getattr(code, "__module__", ""), name


def is_known(name: str) -> bool:
    if name not in _kinds:
        extensions.load()
    return name in _kinds


def metric_kind(name: str) -> MetricKind:
    """The metric called ``name``. Raises UsageError that names the nearest, when there is none."""
    return extensions.lookup(_kinds, name, "metric")


def names() -> tuple[str, ...]:
    """The names of all metrics, sorted."""
    return tuple(sorted(_kinds))


for _module in pkgutil.iter_modules(definitions.__path__):
    for _kind in importlib.import_module(f"{definitions.__name__}.{_module.name}").KINDS:
        register(_kind)

OWN = frozenset(_kinds)
"""The names of this package's metrics."""
