"""The kinds of models by name; a kind's code is imported when a model of it is made."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from pytest_audiobench import extensions
from pytest_audiobench.errors import UsageError
from pytest_audiobench.io.mistakes import nearest
from pytest_audiobench.models.model import Model
from pytest_audiobench.models.spec import NOTE, STYLE, ModelSpec

Factory: TypeAlias = Callable[[str, Mapping[str, str]], Model]
"""Takes a spec's target and options; raises UsageError for options it does not know. Must be cheap."""

KINDS: dict[str, str | Factory] = {
    "baseline": "pytest_audiobench.models.bundled:baseline",
    "hf": "pytest_audiobench.models.hf.model:HfModel",
    "http": "pytest_audiobench.models.predictions_v1.model:PredictionsModel",
    "judge-scores": "pytest_audiobench.models.judge_scores.model:JudgeScores",
    "openai": "pytest_audiobench.models.openai.model:OpenAIModel",
    "pipeline": "pytest_audiobench.models.pipeline.model:Pipeline",
    "replay": "pytest_audiobench.models.replay.model:Replay",
    "vllm": "pytest_audiobench.models.vllm.model:VllmModel",
}


def make(spec: ModelSpec, *, kinds: Mapping[str, str | Factory] = KINDS) -> Model:
    """A handle on the model that ``spec`` names. Raises UsageError for an unknown kind, and as its factory does."""
    problems = [] if spec.kind in kinds else extensions.load()
    kinds = {**KINDS, **kinds}  # an extension adds its kinds to ours
    if spec.kind not in kinds:
        known = nearest(spec.kind, sorted(kinds), f"known are {', '.join(sorted(kinds))}")
        raise UsageError("; ".join([f"{spec.text!r} names an unknown kind of model", known, *problems]))
    # How a model is asked to reason is the evals' affair, and words about it its reader's: its identity has neither.
    options = {key: value for key, value in spec.options.items() if key not in (NOTE, STYLE)}
    try:
        return _factory_from(kinds[spec.kind])(spec.target, options)
    except ValueError as error:  # such as int("yes") of a key's value
        raise UsageError(f"the model {spec.text!r} cannot be made: {error}") from error


def fills_a_device(spec: ModelSpec, *, kinds: Mapping[str, str | Factory] = KINDS) -> bool:
    """Whether the kind's class says so of its models (``in_process = True``), told without making one."""
    if spec.kind not in kinds:
        extensions.load()
    kinds = {**KINDS, **kinds}
    return spec.kind in kinds and getattr(_factory_from(kinds[spec.kind]), "in_process", False) is True


def factory_of(kind: str) -> Factory:
    """What makes models of a kind that is there."""
    return _factory_from(KINDS[kind])


def _factory_from(factory: str | Factory) -> Factory:
    if not isinstance(factory, str):
        return factory
    module, _, attribute = factory.partition(":")
    return cast(Factory, getattr(importlib.import_module(module), attribute))
