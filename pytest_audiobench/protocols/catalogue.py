"""The families of protocols there are, a way of asking each, with all their scorers."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pytest_audiobench.protocols.protocol import Protocol

FAMILIES: Mapping[str, str] = MappingProxyType(
    {
        "bioacoustic": "One label of animal sounds",
        "bioacoustic_captioning": "A sentence about animal sounds",
        "bioacoustic_detection": "All labels of animal sounds that apply",
        "captioning": "What is heard, in a sentence",
        "classification": "One label of the task's list, in words",
        "conditioned_choice": "One option of a list, with the model's own reasoning put back",
        "judged": "Answers in words, weighed by another model",
        "keyphrases": "The phrases that say what a talk is about",
        "multiple_choice": "One option of a list",
        "overlapped_speech": "The words of each of several talkers",
        "phonemes": "The phones of speech",
        "presence": "Whether a sound is there, yes or no",
        "reasoned_choice": "One option of a list, after reasoning; alone or held against the clean clip's",
        "slot_filling": "The value of a spoken command's slot",
        "spoken_questions": "The answer to a spoken question",
        "story": "A story about the audio",
        "tagging": "Every label of the task's list that applies to a clip, or none",
        "transcription": "The words of speech",
        "translation": "The words of speech, in another language",
        "understanding": "What a spoken request wants: intent and entities",
        "hallucination": "The words made up where nobody speaks",
        "verification": "Whether it is one and the same speaker",
    }
)
"""A family's name, which is also its function's, and what it asks for."""

_MODULES: Mapping[str, str] = MappingProxyType(
    {
        "bioacoustic_captioning": "bioacoustic.family",
        "bioacoustic_detection": "bioacoustic.family",
        "conditioned_choice": "reasoned_choice.conditioned",
        "tagging": "classification.tagging",
    }
)
"""Where families lie that share a folder with another; any other has a module, or a folder with a ``family.py``."""


def family(name: str, **options: Any) -> Protocol:
    """The family's protocol as it comes, or called with ``options``; every scorer it has is among ``available``."""
    return function_of(name)(**options)


def function_of(name: str) -> Callable[..., Protocol]:
    """What is called for the family ``name``, a name in ``FAMILIES``."""
    function: Callable[..., Protocol] = getattr(importlib.import_module(module_of(name)), name)
    return function


def module_of(name: str) -> str:
    """The module that holds the function of the family ``name``."""
    module = f"{__package__}.{_MODULES.get(name, name)}"
    return f"{module}.family" if hasattr(importlib.import_module(module), "__path__") else module


def scorer_names() -> frozenset[str]:
    """The names of all scorers of all families."""
    return frozenset(name for one in FAMILIES for name in family(one).available)
