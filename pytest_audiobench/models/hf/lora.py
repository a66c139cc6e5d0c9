"""LoRA adapters on top of a transformers checkpoint: a folder with adapter_config.json and safetensors weights."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_audiobench.errors import FatalError, UsageError, install_command
from pytest_audiobench.identity import digest
from pytest_audiobench.models.hf.checkpoint import first_line, folder_of

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


@dataclass(frozen=True, slots=True)
class Lora:
    """A folder with an adapter."""

    folder: Path
    trained_on: str

    @classmethod
    def find(cls, target: str, download: bool = False) -> Lora:
        """A local folder, or a name on the hub. Raises UsageError when it is not a LoRA adapter in safetensors."""
        folder = folder_of(target, None, download, (CONFIG, WEIGHTS))
        try:
            config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UsageError(f"{folder} has no {CONFIG}; is this a PEFT adapter?") from None
        except ValueError as error:
            raise UsageError(f"{folder / CONFIG} is not JSON ({error}); save the adapter again") from None
        kind = config.get("peft_type") if isinstance(config, dict) else None
        if kind != "LORA":
            raise UsageError(f"{folder} holds an adapter of type {kind!r}; only LoRA is put on a model here")
        if config.get("megatron_config"):
            raise UsageError(f"{folder} names a library to be imported (megatron_config), which is not done here")
        if not (folder / WEIGHTS).is_file():
            raise UsageError(
                f"{folder} has no {WEIGHTS}; a pickled adapter (.bin) could run any code when read: "
                "save it as safetensors"
            )
        return cls(folder, str(config.get("base_model_name_or_path") or ""))

    def digest(self, digest_of: Callable[[Path], str]) -> str:
        """One digest for configuration and weights."""
        return digest({name: digest_of(self.folder / name) for name in (CONFIG, WEIGHTS)})

    def note_other_base(self, base: str) -> None:
        """Warn when the adapter says that it was trained on another model than ``base``."""
        if self.trained_on and Path(self.trained_on).name != Path(base).name:
            warnings.warn(
                f"the adapter {self.folder} was trained on {self.trained_on}, and is put on {base}", stacklevel=2
            )


def add_lora(model: Any, folder: Path) -> None:
    """Put the adapter's layers into ``model``. Raises FatalError when it does not fit the model's own layers."""
    try:
        from peft import PeftModel, get_peft_model_state_dict
        from safetensors import safe_open
    except ImportError as error:
        raise FatalError(f"LoRA adapters need {error.name}: {install_command('lora')}") from None
    try:
        adapted = PeftModel.from_pretrained(model, str(folder), is_trainable=False, local_files_only=True)
    except (ValueError, RuntimeError, KeyError, TypeError, OSError) as error:
        raise FatalError(f"the adapter {folder} does not fit the model: {first_line(error)}") from error
    with safe_open(str(folder / WEIGHTS), framework="pt") as file:
        given = set(file.keys())
    if missing := sorted(given ^ set(get_peft_model_state_dict(adapted))):
        raise FatalError(
            f"the adapter {folder} does not fit the model: {len(missing)} of its weights have no place or are missing "
            f"({missing[0]}, …)"
        )
