"""A real listener in numpy: trained on the bundled training split, without torch.

It answers questions of choice whose options it was trained on (digits, delivery, language, sounds and how
many of them, whether one of them is there, whether anyone speaks), transcribes the bundled vocabulary, lists the events
of a scene, and says of all else that it cannot tell.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import numpy as np

from pytest_audiobench.audio.clip import Samples
from pytest_audiobench.errors import FatalError, install_command
from pytest_audiobench.identity import file_digest
from pytest_audiobench.models.bundled.features import RATE_HZ, VERSION, Array, features
from pytest_audiobench.models.bundled.trained import Trained, listener_folder
from pytest_audiobench.models.messages import SOMETHING_ELSE, Ask, Message, PlayedAudio, Response, choice_text
from pytest_audiobench.models.model import Limits

UNKNOWN = "I cannot tell."

LONGEST_S = 30.0
"""Longer clips are cut, and the cut is counted; the listener was trained on clips of up to three seconds."""

_LEVEL = 0.1
_MARGIN_S = 0.25
_NOISE = 0.001
"""Clips are brought to one level (root mean square of full scale) and get margins and a faint noise under them.
Without these the recogniser's estimate of the channel fails on digital silence: on the bundled test split
its word error rate falls from 0.50 to 0.07."""


class Listener:
    """``baseline:listener``, the model that a run asks by default."""

    spec = "baseline:listener"
    batching: Literal["planned", "opaque"] = "opaque"
    limits = Limits(max_batch=64, max_batch_s=600.0, rate_hz=RATE_HZ, max_clip_s=LONGEST_S, max_clips=1)
    listens = True
    device = "cpu"

    def __init__(self) -> None:
        self._trained: Trained | None = None
        self._sphinx = Sphinx()

    def fingerprint(self) -> Mapping[str, str]:
        folder = listener_folder()
        return {
            "baseline": "listener/2",
            "features": VERSION,
            "scenes": "1",
            "weights": file_digest(folder / "listener.safetensors"),
            "description": file_digest(folder / "listener.json"),
            **self._sphinx.fingerprint(),
        }

    def load(self) -> None:
        """Read the weights; the recogniser is loaded by the first request for a transcript."""
        self._trained = Trained.read()

    def ask(self, batch: Sequence[Ask]) -> list[Response]:
        """One response for each element. Raises FatalError for a transcript without pocketsphinx."""
        trained = self._trained or Trained.read()
        # A clip that is asked about several times, one sound after the other, is analysed once.
        features_by_clip: dict[str, Array] = {}
        return [self._answer(ask, trained, features_by_clip) for ask in batch]

    def close(self) -> None:
        self._trained = None
        self._sphinx.close()

    def _answer(self, ask: Ask, trained: Trained, features_by_clip: dict[str, Array]) -> Response:
        if len(ask.audio) > 1:
            return Response(error=f"{ask.request.sample_id} plays {len(ask.audio)} clips, and {self.spec} takes one")
        if not ask.audio:
            return Response.of(UNKNOWN)
        if ask.request.task == "transcription":
            return Response.of(self._sphinx.transcript(ask.audio[0].samples))
        if ask.request.task == "events":
            from pytest_audiobench.models.bundled.scenes import SceneListener

            return Response.of(SceneListener(trained, self._sphinx.transcript).answer(ask.audio[0].samples))
        choices = ask.request.choices
        if len(choices) == 2 and choices[1] == SOMETHING_ELSE:
            if not trained.knows(choices[0]):
                return Response.of(UNKNOWN)
            hears = trained.hears(choices[0], _features_of(ask.audio[0], features_by_clip))
            return Response.of(choice_text(choices, 0 if hears else 1))
        head = trained.head_for(choices, _text_of(ask.request.messages))
        if head is None:
            return Response.of(UNKNOWN)
        position = trained.choose(head, choices, _features_of(ask.audio[0], features_by_clip))
        return Response.of(choice_text(choices, position, ask.request.task))


def _features_of(clip: PlayedAudio, features_by_clip: dict[str, Array]) -> Array:
    if clip.pcm_digest not in features_by_clip:
        features_by_clip[clip.pcm_digest] = features(clip.samples)
    return features_by_clip[clip.pcm_digest]


def _text_of(messages: Sequence[Message]) -> str:
    return " ".join(part for message in messages for part in message.parts if isinstance(part, str))


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
        return {"pocketsphinx": version, "vocabulary": file_digest(_vocabulary_file())}

    def transcript(self, samples: Samples) -> str:
        """What is said in a clip at 16 kHz, "" where no sentence fits. Raises FatalError without pocketsphinx."""
        if self._decoder is None:
            self._decoder = _load()
        # Its front end remembers earlier clips: unless it is made again, 3 of 70 transcripts depend on the order.
        self._decoder.reinit_feat()
        self._decoder.start_utt()
        # The whole utterance at once: the channel is then estimated from this clip alone.
        self._decoder.process_raw(_pcm16(samples), no_search=False, full_utt=True)
        self._decoder.end_utt()
        hypothesis = self._decoder.hyp()
        return str(hypothesis.hypstr) if hypothesis else ""

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
            f"{install_command('baseline')}, or leave transcription out"
        ) from None
    rules = grammar(json.loads(_vocabulary_file().read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder:
        # Reading the whole dictionary takes most of a second; the grammar needs thirty words of it.
        words = Path(folder) / "words.dict"
        spoken = set(rules.replace("(", " ").replace(")", " ").replace(";", " ").split())
        dictionary = Path(get_model_path("en-us/cmudict-en-us.dict")).read_text(encoding="utf-8")
        lines = dictionary.splitlines(keepends=True)  # variants are written the(2)
        needed = (line for line in lines if line.split(maxsplit=1)[0].partition("(")[0] in spoken)
        words.write_text("".join(needed), encoding="utf-8")
        decoder = Decoder(lm=None, dict=str(words), cmn="batch", loglevel="FATAL")
    decoder.add_jsgf_string("bundled", rules)
    decoder.activate_search("bundled")
    return decoder


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
