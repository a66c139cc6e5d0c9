"""Processor and weights of a transformers checkpoint, loaded without running untrusted code."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transformers as untyped_transformers
from huggingface_hub import constants

from pytest_audiobench.errors import FatalError
from pytest_audiobench.models.hf.checkpoint import first_line
from pytest_audiobench.models.hf.families import Family

transformers: Any = untyped_transformers  # parts of it are typed and parts are not

_OF_AUDIO = ("feature_extractor", "audio_processor")


@dataclass(frozen=True)
class Load:
    """What to load and where to. ``trust`` runs the checkpoint's own code; ``lora`` is a folder with an adapter.

    ``trust_hint`` is what to say when a checkpoint that has code of its own cannot be loaded without it.
    """

    folder: Path
    family: Family
    device: str = "cpu"
    dtype: str = "float32"
    attention: str | None = None
    device_map: str | None = None
    lora: Path | None = None
    trust: bool = False
    trust_hint: str = ""

    def failed(self, what: str, error: BaseException) -> FatalError:
        why = "" if self.trust_hint and "trust_remote_code" in str(error) else f": {first_line(error)}"
        return FatalError(f"the {what} in {self.folder} cannot be loaded{why}{self.trust_hint}")


@contextmanager
def sealed(trust: bool) -> Iterator[None]:
    """Within it nothing is fetched unless ``trust``, and a library in Rust that panics raises an ordinary error.

    transformers looks some names in a configuration up on the hub, whatever it was told of local files.
    """
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not trust
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise RuntimeError(f"a library that it is read with broke: {first_line(error)}") from None
    finally:
        constants.HF_HUB_OFFLINE = before


def load_processor(load: Load, auto: str) -> Any:
    """The family's own processor, or what the auto class named ``auto`` makes of the folder.

    Raises FatalError when there is none, or when it would take no audio.
    """
    family_processor = load.family.hook("processor")
    try:
        with sealed(load.trust):
            if family_processor is not None:
                processor = family_processor(load.folder, load.trust)
            else:
                kind = getattr(transformers, auto)
                processor = kind.from_pretrained(load.folder, local_files_only=True, trust_remote_code=load.trust)
    except FatalError:
        raise
    except Exception as error:  # a checkpoint's files say what is called, and how: it may raise anything
        raise load.failed("processor", error) from error
    hears = any(getattr(processor, name, None) is not None for name in _OF_AUDIO)
    if auto == "AutoProcessor" and not (hears and getattr(processor, "tokenizer", None) is not None):
        raise FatalError(
            f"transformers makes a bare {type(processor).__name__} of {load.folder}, which would drop the audio; "
            "save the whole processor beside the weights"
        )
    return processor


def load_model(load: Load, from_pretrained: Callable[..., Any] | None = None) -> Any:
    """The model with all its weights, from safetensors, in evaluation mode and where it shall run; the whole of it
    where ``from_pretrained`` makes it, in place of an auto class and of the part that the family asks.

    Raises FatalError when it cannot be loaded or a weight is missing, which transformers would make up.
    """
    transformers.utils.logging.disable_progress_bar()
    placed = {"device_map": load.device_map} if load.device_map else {}
    chosen = {"attn_implementation": load.attention} if load.attention else {}
    try:
        with sealed(load.trust):
            config = transformers.AutoConfig.from_pretrained(
                load.folder, local_files_only=True, trust_remote_code=load.trust
            )
            if load.family.part and from_pretrained is None:
                config = getattr(config, load.family.part)
            make = from_pretrained or _class_for(config, load).from_pretrained
            model, loading_info = make(
                load.folder,
                config=config,
                dtype=getattr(torch, load.dtype),
                use_safetensors=True,
                local_files_only=True,
                trust_remote_code=load.trust,
                output_loading_info=True,
                **placed,
                **chosen,
            )
    except FatalError:
        raise
    except Exception as error:  # as above
        raise load.failed("model", error) from error
    if absent := sorted(loading_info["missing_keys"]) + sorted(map(str, loading_info["mismatched_keys"])):
        raise FatalError(
            f"{len(absent)} weights of {load.folder} are missing or misshapen ({absent[0]}, …); they would be random"
        )
    if load.lora is not None:
        from pytest_audiobench.models.hf.lora import add_lora

        add_lora(model, load.lora)
    return model.eval() if load.device_map else model.eval().to(load.device)


def _class_for(config: Any, load: Load) -> Any:
    auto_map = getattr(config, "auto_map", None) or {}
    for name in load.family.classes:
        kind = getattr(transformers, name, None)
        if kind is not None and type(config) in kind._model_mapping:
            return kind
    if load.trust:
        for name in (*load.family.classes, "AutoModelForCausalLM", "AutoModel"):
            if name in auto_map:
                return getattr(transformers, name)
    raise FatalError(
        f"{load.folder} holds a {config.model_type!r} model, which transformers cannot ask with audio and text"
        f"{load.trust_hint}"
    )
