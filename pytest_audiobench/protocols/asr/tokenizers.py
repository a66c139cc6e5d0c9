"""sacrebleu's tokenizers, which several published word error rates are counted in."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["none", "13a", "zh", "ja-mecab"]


@functools.cache
def tokenizer(kind: Kind) -> Callable[[str], str]:
    """The tokenizer of that name in sacrebleu: tokens with single spaces between them. ja-mecab needs the extra ja."""
    made: Callable[[], Callable[[str], str]]
    if kind == "13a":
        from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a as made
    elif kind == "zh":
        from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh as made
    elif kind == "ja-mecab":
        from sacrebleu.tokenizers.tokenizer_ja_mecab import TokenizerJaMecab as made
    else:
        from sacrebleu.tokenizers.tokenizer_none import NoneTokenizer as made
    tokenize = made()
    # MeCab takes no lone surrogates; all others leave them alone.
    return (lambda text: tokenize(text.encode(errors="replace").decode())) if kind == "ja-mecab" else tokenize
