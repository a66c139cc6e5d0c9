"""The families of protocols there are, a way of asking each, with all their scorers."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pytest_audiobench import extensions
from pytest_audiobench.errors import UsageError
from pytest_audiobench.protocols.protocol import Protocol, with_recorded_options

OWN_FAMILIES: Mapping[str, str] = {
    "bioacoustic": "One label of animal sounds",
    "bioacoustic_captioning": "A sentence about animal sounds",
    "bioacoustic_counts": "How often each species calls",
    "bioacoustic_detection": "All labels of animal sounds that apply",
    "bioacoustic_list": "The species that can be heard",
    "bioacoustic_number": "A frequency, a level or a count of animal sounds",
    "bioacoustic_open_ended": "What animal is heard, in the answer's own words",
    "captioning": "What is heard, in a sentence",
    "classification": "One label of the task's list, in words",
    "conditioned_choice": "One option of a list, with the model's own reasoning put back",
    "judged": "Answers in words, weighed by another model",
    "keyphrases": "The phrases that say what a talk is about",
    "multiple_choice": "One option of a list",
    "overlapped_speech": "The words of each of several talkers",
    "phonemes": "The phones of speech",
    "presence": "Whether a sound is there, yes or no",
    "reasoned_choice": "One option of a list, after reasoning; alone or compared with the clean clip's",
    "slot_filling": "The value of a spoken command's slot",
    "soundscape": "Everything that is heard, and when",
    "spoken_answer": "An answer in speech",
    "spoken_questions": "The answer to a spoken question",
    "story": "A story about the audio",
    "tagging": "Every label of the task's list that applies to a clip, or none",
    "transcription": "The words of speech",
    "translation": "The words of speech, in another language",
    "understanding": "What a spoken request wants: intent and entities",
    "hallucination": "The words made up where nobody speaks",
    "verification": "Whether it is one and the same speaker",
}
"""The families of this package: a family's name, which is also its function's, and what it asks for."""

ENCODER = "encoder"
"""The option of a family that takes the spec of a text encoder."""

FAMILIES: dict[str, str] = dict(OWN_FAMILIES)
"""These and the registered ones."""

_REGISTERED: dict[str, Callable[..., Protocol]] = {}

_MODULES: Mapping[str, str] = {
    "bioacoustic_captioning": "bioacoustic.task",
    "bioacoustic_counts": "bioacoustic.task",
    "bioacoustic_detection": "bioacoustic.task",
    "bioacoustic_list": "bioacoustic.task",
    "bioacoustic_number": "bioacoustic.task",
    "bioacoustic_open_ended": "bioacoustic.task",
    "conditioned_choice": "reasoned_choice.task",
    "hallucination": "transcription.non_speech",
    "tagging": "classification.tagging",
    "verification": "speaker_verification",
}
"""Where families lie that share a folder with another; any other has a module, or a folder with a ``task.py``."""


def protocol(name: str, *scorers: Any, **options: Any) -> Protocol:
    """The protocol ``name``, read by ``scorers``, the first as the headline: ``protocol("captioning", "spider")``.

    The names, what each asks for, its options and its scorers are those of ``audiobench describe``. Without scorers it
    is read by its default. (``judged`` takes the protocol that it adds a judge to before them.) Raises UsageError for a
    name that is not there, an option that the protocol does not have, and an unknown scorer.
    """
    extensions.lookup(FAMILIES, name, "protocol")
    return extensions.call_named(name, function_of(name), scorers, options)


def register_family(function: Callable[..., Protocol], about: str) -> None:
    """Make ``function`` known by its own name. Raises UsageError for a name that means another family."""
    name = function.__name__
    known = _REGISTERED.get(name, function)
    # A conftest.py that is loaded again, by a second session in one process, brings the same family again.
    if name in OWN_FAMILIES or (known.__module__, known.__qualname__) != (function.__module__, function.__qualname__):
        raise UsageError(f"the protocol {name!r} already exists: register yours under another name")
    FAMILIES[name], _REGISTERED[name] = about, with_recorded_options(function)


def family(name: str, **options: Any) -> Protocol:
    """The family's protocol as it comes, or called with ``options``; every scorer it has is among ``available``."""
    return function_of(name)(**options)


def function_of(name: str) -> Callable[..., Protocol]:
    """What is called for the family ``name``, a name in ``FAMILIES``."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    function: Callable[..., Protocol] = getattr(importlib.import_module(module_of(name)), name)
    return function


def module_of(name: str) -> str:
    """The module that holds the function of the family ``name``."""
    module = f"{__package__}.{_MODULES.get(name, name)}"
    return f"{module}.task" if hasattr(importlib.import_module(module), "__path__") else module


def scorer_names() -> frozenset[str]:
    """The names of all scorers of all families."""
    return frozenset(name for family_name in FAMILIES for name in family(family_name).available)


def check_options(name: str, options: Mapping[str, object]) -> None:
    """Raises UsageError for a family that there is not, and for options written down that it does not take."""
    extensions.lookup(FAMILIES, name, "family of protocols")
    known = options_of(name)
    for option, value in options.items():
        if option not in known:
            raise UsageError(f"{name} has no option {option!r}; it has {', '.join(known)}")
        if not any(_has_kind(value, kind) for kind in known[option]):
            wanted = " or ".join(dict.fromkeys(map(_in_words, known[option])))
            raise UsageError(f"{name} takes {wanted} as its {option}, not {value!r}")


def options_of(name: str) -> dict[str, tuple[Any, ...]]:
    """The family's options that can be written down, each with the types or literals that it takes."""
    return _options(inspect.unwrap(function_of(name)))


def takes_encoder(name: str) -> bool:
    """Whether the protocols of a family compare meanings by a text encoder that can be exchanged."""
    return name in FAMILIES and ENCODER in options_of(name)


@cache
def _options(function: Callable[..., Protocol]) -> dict[str, tuple[Any, ...]]:
    hints = get_type_hints(function)
    named = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    kinds = {option: tuple(kind for kind in _kinds(hints[option]) if _in_words(kind)) for option in named}
    return {option: types for option, types in kinds.items() if types != () and set(types) != {type(None)}}


def _kinds(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in (Union, UnionType):
        return tuple(kind for part in get_args(hint) for kind in _kinds(part))
    return get_args(hint) if get_origin(hint) is Literal else (hint,)


def _in_words(kind: Any) -> str:
    known = {str: "a string", int: "a whole number", bool: "true or false", type(None): "none"}
    if isinstance(kind, str):
        return repr(kind)
    return "a list of strings" if kind == Sequence[str] else known.get(kind, "")


def _has_kind(value: object, kind: Any) -> bool:
    if isinstance(kind, str):
        return value == kind
    if kind == Sequence[str]:
        return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)
    return type(value) is kind
