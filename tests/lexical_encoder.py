"""A text encoder without weights: hashed runs of three to five characters."""

import zlib

import numpy as np

from pytest_audiobench.protocols.text_encoders import ENCODERS, TextEncoder

WIDTH = 1_024


def lexical(_target=""):
    return TextEncoder("lexical", lambda: f"lexical(crc32,width:{WIDTH})", lambda: encode, decimals=6)


def encode(texts):
    vectors = np.zeros((len(texts), WIDTH))
    for row, text in enumerate(texts):
        text = f" {' '.join(text.lower().split())} "
        for length in (3, 4, 5):
            for start in range(len(text) - length + 1):
                code = zlib.crc32(text[start : start + length].encode())
                vectors[row, code % WIDTH] += 1 if code >> 16 & 1 else -1
    return vectors


def register():
    """Make ``lexical`` a spec like any other."""
    ENCODERS["lexical"] = lexical
