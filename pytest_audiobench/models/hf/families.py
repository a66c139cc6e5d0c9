"""What differs between the model families of the transformers library, as a table, and how an extension adds a row.

Nothing here imports torch or transformers: hooks that do are named as ``module:attribute``.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pytest_audiobench.errors import UsageError
from pytest_audiobench.identity import digest
from pytest_audiobench.models.messages import TASKS

Hook: TypeAlias = "str | Callable[..., Any]"
"""A callable, or where it lies (``module:attribute``), so that a table of hooks costs no import."""

_HERE = "pytest_audiobench.models.hf"
GENERATOR = f"{_HERE}.generation:Generator"
FLAT = f"{_HERE}.processors:flat"
OWN_TEMPLATE = ("qwen2_audio",)
"""The types of models whose processors have a chat template where the checkpoint has none."""
_DECODING = ("beams", "repetition_penalty")
_ADDED: dict[str, Family] = {}


@dataclass(frozen=True, slots=True)
class Family:
    """A family of models; the defaults are those of a chat model with an ordinary processor."""

    engine: Hook = GENERATOR
    """Makes the loaded model (a subclass of :class:`~pytest_audiobench.models.hf.engine.Engine`)."""
    status: Literal["proven", "unproven"] = "unproven"
    """"proven" where this project's tests run the family."""
    tasks: tuple[str, ...] = TASKS
    """Those that it can do: evals of others are skipped."""
    chunked: tuple[str, ...] = ("transcription",)
    """Tasks whose audio may be cut at the window, answered piece by piece and joined."""
    max_clips: int = 1
    """How many clips one request may hold."""
    shortest_s: float = 0.1
    """Shorter clips are filled with silence up to it."""
    window_s: float | None = None
    """The longest clip, where the checkpoint's front end does not say it."""
    many_windows: bool = False
    """Whether a clip may fill several windows of the front end, ``window_s`` in all."""
    fills_window: bool = False
    """Whether the front end fills the window up for every clip, else up to the longest of a batch."""
    rate_hz: int | None = None
    """As ``window_s``."""
    even: bool = False
    """Whether all requests of one call must hold equally many clips."""
    classes: tuple[str, ...] = ("AutoModelForMultimodalLM", "AutoModelForSeq2SeqLM")
    """The auto classes of transformers that may load the model, in order."""
    part: str = ""
    """The part of a nested configuration that is loaded."""
    options: tuple[str, ...] = _DECODING
    """Those of a spec that it takes in addition to the options of every ``hf:`` model."""
    processor: Hook | None = None
    """``processor(folder, trust)`` returns the processor, where ``AutoProcessor`` will not do."""
    render: Hook | None = None
    """``render(processor, turns)`` returns the prompt of one conversation as text.

    Turns are dictionaries of "role" and "content", a list of ``{"type": "text", "text": …}`` and ``{"type": "audio"}``.
    """
    inputs: Hook | None = None
    """``inputs(processor, prompts, rate_hz)`` returns the tensors of a batch by name."""
    ahead: Hook | None = None
    """``ahead(processor, clips, digests)`` makes on any thread what ``inputs`` would make of these clips, and finds."""
    talker: Hook | None = None
    """The engine in place of ``engine`` where a ``voice`` is chosen."""
    shorten: Hook | None = None
    """``shorten(processor, model)`` makes a loaded encoder that would take whole windows alone take less."""

    def hook(self, name: str) -> Callable[..., Any] | None:
        """The hook ``name``, imported; None where the family has none. Raises UsageError when it is not there."""
        hook: Hook | None = getattr(self, name)
        if not isinstance(hook, str):
            return hook
        module, _, attribute = hook.partition(":")
        try:
            function: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise UsageError(f"the {name} of a model family, {hook}, cannot be imported: {error}") from error
        return function


_QWEN_OMNI = Family(
    part="thinker_config",
    max_clips=8,
    processor=f"{_HERE}.processors:qwen25_omni",
    inputs=f"{_HERE}.processors:audio_only_inputs",
    ahead=f"{_HERE}.processors:spectrograms_ahead",
    classes=("AutoModelForMultimodalLM",),
)
_CTC = Family(
    engine=f"{_HERE}.transcribers:CtcTranscriber",
    status="proven",
    tasks=("transcription",),
    window_s=60.0,
    classes=("AutoModelForCTC",),
    options=(),
)
_CLASSES = Family(
    engine=f"{_HERE}.classifiers:LabelClassifier",
    status="proven",
    tasks=("choice",),
    chunked=(),
    window_s=60.0,
    classes=("AutoModelForAudioClassification",),
    options=("labels",),
)

FAMILIES: Mapping[str, Family] = {
    # 750 audio tokens per 30 s window and a context of 8192. A clip under 0.07 s becomes one audio token
    # or none, which transformers 5 mistakes for an unexpanded prompt and fails on.
    "qwen2_audio": Family(
        status="proven",
        max_clips=8,
        inputs=f"{_HERE}.processors:qwen2_audio_inputs",
        ahead=f"{_HERE}.processors:spectrograms_ahead",
        shorten=f"{_HERE}.features:shorten_qwen2_audio",
    ),
    "qwen2_5_omni": replace(
        _QWEN_OMNI, status="proven", options=(*_DECODING, "voice"), talker=f"{_HERE}.talker:Talker"
    ),
    "qwen2_5_omni_thinker": replace(_QWEN_OMNI, status="proven", part=""),
    # Its encoder works on seconds, and fills up the last one of each clip only where another clip has a longer one:
    # what reaches into the last frames would depend on the neighbours of a clip shorter than a second.
    "qwen3_omni_moe": replace(_QWEN_OMNI, status="proven", shortest_s=1.0, processor=f"{_HERE}.processors:qwen3_omni"),
    # Its processor cuts a clip into windows of 30 s by itself, up to ten minutes.
    "audioflamingo3": Family(
        status="proven",
        window_s=600.0,
        many_windows=True,
        fills_window=True,
        even=True,
        classes=("AutoModelForSeq2SeqLM",),
        inputs=f"{_HERE}.processors:padded_as_it_likes",
    ),
    # Clips are padded to multiples of 30 s; half an hour is what its makers name for transcription.
    "voxtral": Family(
        status="proven",
        max_clips=8,
        window_s=1800.0,
        many_windows=True,
        fills_window=True,
        processor=f"{_HERE}.processors:voxtral",
        render=f"{_HERE}.processors:no_text",
        inputs=f"{_HERE}.processors:voxtral_inputs",
    ),
    "whisper": Family(
        engine=f"{_HERE}.transcribers:WhisperTranscriber",
        status="proven",
        fills_window=True,
        tasks=("transcription",),
        classes=("AutoModelForSpeechSeq2Seq",),
        options=(*_DECODING, "language"),
    ),
    "clap": Family(
        engine=f"{_HERE}.classifiers:ClapClassifier",
        status="proven",
        tasks=("choice",),
        chunked=(),
        classes=("AutoModel",),
        options=("template",),
    ),
    "phi4_multimodal": Family(window_s=40.0, rate_hz=16_000),
    "gemma3n": Family(window_s=30.0, classes=("AutoModelForMultimodalLM", "AutoModelForImageTextToText")),
    "gemma4": Family(window_s=30.0, classes=("AutoModelForMultimodalLM", "AutoModelForImageTextToText")),
    "granite_speech": Family(
        window_s=30.0, rate_hz=16_000, render=FLAT, classes=("AutoModelForMultimodalLM", "AutoModelForSpeechSeq2Seq")
    ),
}
"""The families by ``model_type`` of their ``config.json``."""

SINCE: Mapping[str, str] = dict.fromkeys(
    ("audioflamingo3", "qwen2_5_omni", "qwen2_5_omni_thinker", "qwen3_omni_moe", "voxtral"), "5.16"
)
"""The first release of transformers that asks a family rightly, where the oldest that the extra allows does not."""

HEADS: Mapping[str, Family] = {
    "ForCTC": _CTC,
    "ForSequenceClassification": _CLASSES,
    "ForAudioClassification": _CLASSES,
}
"""Families by the end of the architecture's name: Wav2Vec2, HuBERT and others carry one head or another."""


def register_family(name: str, family: Family) -> None:
    """Make checkpoints whose ``config.json`` has the model type or the architecture ``name`` load as ``family``.

    To be called from a conftest.py or a plugin. An added family is found before those of this package.
    Raises UsageError when another was added under the same name.
    """
    # A conftest.py that is loaded again, by a second session in one process, brings the same family again.
    if name in _ADDED and definition(_ADDED[name]) != definition(family):
        raise UsageError(f"two families of models are registered as {name!r}; register one of them")
    _ADDED[name] = family


def definition(family: Family) -> str:
    """A digest of everything that the row says, with the source of its hooks."""
    return digest({field.name: _field_identity(getattr(family, field.name)) for field in fields(family)})


def is_added(family: Family) -> bool:
    """Whether the row is an extension's, so that this adapter's version says nothing about it."""
    return any(family is added for added in _ADDED.values())


def _field_identity(value: Any) -> str:
    if isinstance(value, str) and ":" in value:
        return f"{value} {_source_of(value.partition(':')[0])}"
    if not callable(value):
        return repr(value)
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        return f"{value.__module__}:{value.__qualname__}"


def family_of(config: Mapping[str, Any]) -> Family:
    """The row for a checkpoint's configuration; for an unknown one that of an ordinary chat model, unproven."""
    model_type = str(config.get("model_type"))
    architectures = [str(name) for name in config.get("architectures") or ()]
    for name in (*architectures, model_type):
        if name in _ADDED:
            return _ADDED[name]
    for architecture in architectures:
        for head, family in HEADS.items():
            if architecture.endswith(head):
                return family
    return FAMILIES.get(model_type, Family())


def _source_of(module: str) -> str:
    try:
        spec = importlib.util.find_spec(module)
        return hashlib.sha256(Path(str(spec and spec.origin)).read_bytes()).hexdigest()
    except (ImportError, OSError, ValueError):
        return ""
