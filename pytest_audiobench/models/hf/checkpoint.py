"""A transformers checkpoint as files: where it lies, what its front end is, and the digests that identify it.

Nothing here imports torch or transformers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.datasets.remote_places import is_remote, local_copy
from pytest_audiobench.errors import FatalError, UsageError, install_command
from pytest_audiobench.identity import digest, file_digest
from pytest_audiobench.models.remote.api_keys import hub_token

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
_READ = ["*.json", "*.txt", "*.model", "*.jinja", "*.spm", "*.bpe", "*.codes", "*.tiktoken", "*.tokenizer", "*.vocab"]
"""What libraries read next to weights and code. Nothing else is fetched, so that a digest is the same everywhere."""
NEEDED = [*_READ, "*.safetensors"]
CODE = "*.py"
_ADAPTER = "adapter_model.safetensors"
"""Put on the weights by transformers of itself, where it is next to them."""
_NEVER_READ = re.compile(r"trainer_state\.json|(all|train|eval|test|predict)_results\.json|README.*|LICENSE.*|\..*")
_NEVER_ENTERED = re.compile(r"checkpoint-.*|\..*")
_TEMPLATES = "additional_chat_templates"
_FRAMES_OF_10_MS = "ASTFeatureExtractor"
"""Its window, ``max_length``, counts frames; for other extractors that name means something else."""
_INDEX = "model.safetensors.index.json"

_PARTS = {
    "config": ("config.json",),
    "generation": ("generation_config.json",),
    "tokenizer": (
        "tokenizer.json",
        "tokenizer_config.json",
        "tokenizer.model",
        "tekken.json",
        "vocab.json",
        "merges.txt",
        "added_tokens.json",
        "special_tokens_map.json",
    ),
    "processor": ("processor_config.json", "preprocessor_config.json"),
    "template": ("chat_template.jinja", "chat_template.json"),
}


class FrontEnd(NamedTuple):
    """How a model takes audio: its sampling rate, and the window beyond which a clip is cut (None: no window)."""

    rate_hz: int
    window_s: float | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder with safetensors weights, a config, a tokenizer and a processor."""

    folder: Path

    @classmethod
    def find(
        cls, target: str, revision: str | None = None, download: bool = False, with_code: bool = False
    ) -> Checkpoint:
        """A local folder, or a name on the Hugging Face hub as the local cache holds it.

        With ``download`` a name is fetched when the cache lacks it, its code only ``with_code``.
        Raises UsageError when it is nowhere.
        """
        folder = folder_of(target, revision, download, [*NEEDED, CODE] if with_code else NEEDED)
        for entry in (*folder.glob("*"), *folder.glob("*/*")):
            if entry.exists() and not (entry.is_file() or entry.is_dir()):
                # Opening a pipe waits for its writer, and a device may have no end.
                raise UsageError(f"{entry} is a pipe or a device, which no checkpoint holds; remove it")
        return cls(folder)

    def config(self) -> dict[str, Any]:
        """``config.json``. Raises UsageError when it is absent or no JSON."""
        return self._json("config.json", "is this a transformers checkpoint?")

    def front_end(self, usual_rate_hz: int | None = None) -> FrontEnd:
        """Rate and window from the feature extractor's own configuration.

        ``usual_rate_hz`` is that of a family whose configurations do not tell it. Raises FatalError when there is
        no configuration: transformers would load a bare tokenizer instead and drop the audio.
        """
        for name in _PARTS["processor"]:
            if not (self.folder / name).is_file():
                continue
            try:
                if (front_end := _front_end(self._json(name), usual_rate_hz)) is not None:
                    return front_end
            except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
                place = self.folder / name
                raise UsageError(
                    f"the rate and window in {place} are none ({error}); save the processor again"
                ) from None
        raise FatalError(
            f"{self.folder} has no processor configuration with a sampling rate ({' or '.join(_PARTS['processor'])}), "
            "so the model would be asked without its audio; save the processor beside the weights"
        )

    def weights(self) -> list[Path]:
        """The safetensors files, sorted by name. Raises UsageError when the weights are absent or pickled."""
        single = self.folder / "model.safetensors"
        names = {single.name}
        if not single.is_file() and (self.folder / _INDEX).is_file():
            weight_map = self._json(_INDEX).get("weight_map")
            if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
                raise UsageError(f"{self.folder / _INDEX} names no files by weight; is the checkpoint complete?")
            names = set(weight_map.values())
        files = [self.folder / name for name in sorted(names)]
        if files and all(file.parent == self.folder and file.is_file() for file in files):
            return files
        if any(self.folder.glob("*.bin")) or any(self.folder.glob("*.pt*")):
            raise UsageError(
                f"{self.folder} has pickled weights only, which could run any code when read; "
                "save them as safetensors (model.save_pretrained(…))"
            )
        raise UsageError(
            f"{self.folder} lacks {sorted(names)[0] if names else single.name}; is the checkpoint complete?"
        )

    def digests(self, digest_of: Callable[[Path], str] = file_digest, code: bool = False) -> dict[str, str]:
        """One digest for the weights and one for each other part of the checkpoint that has files; ``others`` is that
        of whatever else a library may read.

        ``code``: that of its Python files too, where they are run.
        """
        parts = {"weights": self.weights()}
        for part, names in _PARTS.items():
            parts[part] = [self.folder / name for name in names if (self.folder / name).is_file()]
        named = {file for files in parts.values() for file in files}
        parts["others"] = [file for file in self._files_read() if file not in named]
        if code:
            places = ((file, file.relative_to(self.folder).parts) for file in self.folder.rglob(CODE))
            parts["code"] = sorted(file for file, names in places if not any(map(_NEVER_ENTERED.fullmatch, names)))
        return {
            part: digest({file.relative_to(self.folder).as_posix(): digest_of(file) for file in files})
            for part, files in parts.items()
            if files
        }

    def _files_read(self) -> list[Path]:
        """The files that libraries may read: the folder's own, and those of the parts that have a folder of theirs."""
        inside = [entry for entry in self.folder.iterdir() if not _NEVER_ENTERED.fullmatch(entry.name)]
        folders = [entry for entry in inside if entry.name == _TEMPLATES or next(entry.glob("*config.json"), None)]
        top = [file for pattern in (*_READ, _ADAPTER) for file in self.folder.glob(pattern)]
        below = [file for folder in folders for pattern in NEEDED for file in folder.glob(pattern)]
        return sorted({file for file in (*top, *below) if file.is_file() and not _NEVER_READ.fullmatch(file.name)})

    def has_code(self) -> bool:
        """Whether its configurations name classes of its own, for transformers to run."""
        return bool(self._own_classes())

    def code_repositories(self) -> list[str]:
        """The repositories on the hub, other than its own folder, whose code its configurations name."""
        return sorted({name.partition("--")[0] for name in self._own_classes() if "--" in name})

    def _own_classes(self) -> list[str]:
        files = ("config.json", "tokenizer_config.json", *_PARTS["processor"])
        maps = [self._json(name).get("auto_map") for name in files if (self.folder / name).is_file()]
        values = [value for auto_map in maps if isinstance(auto_map, dict) for value in auto_map.values()]
        return [str(name) for value in values for name in (value if isinstance(value, list) else [value]) if name]

    def _json(self, name: str, hint: str = "save the checkpoint again") -> dict[str, Any]:
        try:
            content = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UsageError(f"{self.folder} has no {name}; {hint}") from None
        except OSError as error:
            raise UsageError(f"{self.folder / name} cannot be read ({error.strerror}); {hint}") from None
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{self.folder / name} is not JSON ({error}); {hint}") from None
        if not isinstance(content, dict):
            raise UsageError(f"{self.folder / name} does not hold a JSON object; {hint}")
        return content


def _front_end(configuration: dict[str, Any], usual_rate_hz: int | None) -> FrontEnd | None:
    """What a processor's ``configuration`` says; None where it says nothing. Raises any error for what is no number."""
    extractor = configuration.get("feature_extractor") or configuration.get("audio_processor") or configuration
    rate_hz = extractor.get("sampling_rate", usual_rate_hz)
    if not rate_hz:
        return None
    samples = extractor.get("n_samples") or extractor.get("chunk_length", 0) * rate_hz
    window_s = samples / rate_hz if samples else extractor.get("max_length_s")
    if extractor.get("feature_extractor_type") == _FRAMES_OF_10_MS:
        window_s = extractor.get("max_length", 1024) / 100
    return FrontEnd(int(rate_hz), None if window_s is None else float(window_s))


def chat_template(folder: Path) -> tuple[Path, str]:
    """The checkpoint's chat template, and the file that transformers takes it from; "" where no file has one."""
    for name in (*_PARTS["template"], *_PARTS["processor"], "tokenizer_config.json"):
        file = folder / name
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        if file.suffix != ".json":
            template: Any = text
        elif template := _object(text).get("chat_template"):
            if isinstance(template, list):
                template = {entry.get("name"): entry.get("template") for entry in map(_mapping, template)}
            template = template if isinstance(template, str) else _mapping(template).get("default")
        if template:
            return file, str(template)
    return folder / _PARTS["template"][0], ""


def special_tokens(folder: Path) -> dict[str, str]:
    """The texts of the tokenizer's special tokens by name, which a chat template may use."""
    tokens: dict[str, str] = {}
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        file = folder / name
        for key, token in _object(file.read_text(encoding="utf-8") if file.is_file() else "").items():
            text = token.get("content") if isinstance(token, dict) else token
            if key.endswith("_token") and isinstance(text, str):
                tokens[key] = text
    return tokens


def _object(text: str) -> dict[str, Any]:
    """The JSON object that ``text`` is, empty for anything else: the reader of the file reports its error."""
    try:
        return _mapping(json.loads(text))
    except ValueError:
        return {}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def folder_of(target: str, revision: str | None, download: bool, patterns: Sequence[str]) -> Path:
    """The folder that ``target`` is, a copy of what is behind its address, or where the local cache holds its name.

    With ``download`` the files that match ``patterns`` are fetched. Raises UsageError when it is nowhere.
    """
    if is_remote(target):
        return local_copy(target, patterns)
    folder = Path(target).expanduser()
    if folder.is_dir():
        return folder.resolve()
    if not _HUB_NAME.fullmatch(target):
        raise UsageError(f"the model folder {target} does not exist; give a folder, or a name on the hub (owner/name)")
    return _from_hub(target, revision, download, patterns)


def _from_hub(name: str, revision: str | None, download: bool, patterns: Sequence[str]) -> Path:
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise UsageError(
            f"{name} is not a path, and names on the hub need huggingface_hub: {install_command('hf')}"
        ) from None
    try:
        path = snapshot_download(
            name,
            revision=revision,
            local_files_only=not download,
            allow_patterns=list(patterns),
            token=hub_token() if download else None,
        )
    except (OSError, ValueError) as error:
        if download:
            raise UsageError(f"{name} could not be fetched from the hub: {first_line(error)}") from error
        raise UsageError(
            f"{name} is neither a path nor in the local Hugging Face cache; give a path, or add ,download=yes"
        ) from None
    return Path(path)


def first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
