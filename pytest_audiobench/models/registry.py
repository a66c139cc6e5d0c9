"""The kinds of models by name; a kind's code is imported when a model of it is made."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from pytest_audiobench.errors import UsageError
from pytest_audiobench.models.model import Model
from pytest_audiobench.models.spec import ModelSpec

Factory: TypeAlias = Callable[[str, Mapping[str, str]], Model]
"""Takes a spec's target and options; raises UsageError for options it does not know. Must be cheap."""

KINDS: dict[str, str | Factory] = {
    "baseline": "pytest_audiobench.models.baseline.named:baseline",
    "hf": "pytest_audiobench.models.hf:HfModel",
    "replay": "pytest_audiobench.models.replay:Replay",
}


def make(spec: ModelSpec, *, kinds: Mapping[str, str | Factory] = KINDS) -> Model:
    """A handle on the model that ``spec`` names; nothing is loaded.

    Raises UsageError for an unknown kind, and as the kind's factory does.
    """
    if spec.kind not in kinds:
        raise UsageError(f"{spec.text!r} names an unknown kind of model; known are {', '.join(sorted(kinds))}")
    return _imported(kinds[spec.kind])(spec.target, spec.options)


def _imported(factory: str | Factory) -> Factory:
    if not isinstance(factory, str):
        return factory
    module, _, attribute = factory.partition(":")
    return cast(Factory, getattr(importlib.import_module(module), attribute))
