"""Transcripts of the bundled vocabulary: pocketsphinx with a grammar.

Its open language model is useless on synthetic speech (word error rates near 0.9); with the grammar of the
sentences and digits that can occur it is a real, modest recogniser.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from pytest_audiobench.audio.clip import Samples
from pytest_audiobench.errors import FatalError
from pytest_audiobench.models.hf.checkpoint import sha256_of

_LEVEL = 0.1
_MARGIN_S = 0.25
_NOISE = 0.001
"""Clips are brought to one level (root mean square of full scale) and get margins and a faint noise under them.
Without these the recogniser's estimate of the channel fails on digital silence: on the bundled test split
its word error rate falls from 0.50 to 0.07."""


class Sphinx:
    """A recogniser that is loaded by the first clip."""

    def __init__(self) -> None:
        self._decoder: Any = None

    def fingerprint(self) -> Mapping[str, str]:
        """The recogniser's version and the grammar's digest; "absent" where it is not installed."""
        try:
            version = metadata.version("pocketsphinx")
        except metadata.PackageNotFoundError:
            version = "absent"
        return {"pocketsphinx": version, "vocabulary": sha256_of(_vocabulary_file())}

    def transcript(self, samples: Samples) -> str:
        """What is said in a clip at 16 kHz, or "" when nothing fits the grammar.

        Raises FatalError when pocketsphinx is not installed.
        """
        if self._decoder is None:
            self._decoder = _load()
        # Its front end remembers earlier clips: unless it is made anew, 3 of 70 transcripts depend on the order.
        self._decoder.reinit_feat()
        self._decoder.start_utt()
        # The whole utterance at once: the channel is then estimated from this clip alone.
        self._decoder.process_raw(_pcm16(samples), no_search=False, full_utt=True)
        self._decoder.end_utt()
        heard = self._decoder.hyp()
        return str(heard.hypstr) if heard else ""

    def close(self) -> None:
        self._decoder = None


def grammar(vocabulary: Mapping[str, Any]) -> str:
    """The vocabulary as a JSGF grammar: a sentence, or one digit up to the longest string of them."""
    words = [_alternatives(vocabulary["slots"].get(word, [word])) for word in vocabulary["sentence"]]
    digits = "<digit>"
    for _ in range(max(vocabulary["digit_string_lengths"]) - 1):
        digits = f"<digit> [{digits}]"
    return (
        "#JSGF V1.0;\ngrammar bundled;\n"
        "public <utterance> = <sentence> | <digits>;\n"
        f"<sentence> = {' '.join(words)};\n"
        f"<digits> = {digits};\n"
        f"<digit> = {_alternatives(vocabulary['digits'])};\n"
    )


def _load() -> Any:
    try:
        from pocketsphinx import Decoder, get_model_path
    except ImportError:
        raise FatalError(
            "baseline:listener transcribes with pocketsphinx, which is not installed: "
            "pip install 'pytest-audiobench[baseline]', or leave transcription out"
        ) from None
    rules = grammar(json.loads(_vocabulary_file().read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder:
        # Scorer the whole dictionary takes most of a second; the grammar needs thirty words of it.
        words = Path(folder) / "words.dict"
        words.write_text(_pronunciations(Path(get_model_path("en-us/cmudict-en-us.dict")), rules), encoding="utf-8")
        decoder = Decoder(lm=None, dict=str(words), cmn="batch", loglevel="FATAL")
    decoder.add_jsgf_string("bundled", rules)
    decoder.activate_search("bundled")
    return decoder


def _pronunciations(dictionary: Path, rules: str) -> str:
    """The dictionary's lines for the words of a grammar, with their variants (``the(2)``)."""
    words = set(rules.replace("(", " ").replace(")", " ").replace(";", " ").split())
    lines = dictionary.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if line.split(maxsplit=1)[0].partition("(")[0] in words)


def _pcm16(samples: Samples) -> bytes:
    """The clip at one level, between margins, over a faint noise that is the same for every clip."""
    level = float(np.sqrt(np.mean(samples.astype(np.float64) ** 2)))
    margin = int(_MARGIN_S * 16_000)
    wave = np.pad(samples * (_LEVEL / max(level, 1e-4)), margin)
    wave += np.resize(_noise(), len(wave))
    pcm: bytes = np.rint(np.clip(wave, -1, 1) * 32_767).astype("<i2").tobytes()
    return pcm


@cache
def _noise() -> Samples:
    """Four seconds of it; numpy promises that RandomState's stream never changes."""
    return np.random.RandomState(0).standard_normal(64_000).astype(np.float32) * np.float32(_NOISE)


def _alternatives(words: list[str]) -> str:
    return f"({' | '.join(words)})"


def _vocabulary_file() -> Path:
    from pytest_audiobench.datasets.bundled import fixtures_folder

    return fixtures_folder() / "bundled" / "vocabulary.json"
