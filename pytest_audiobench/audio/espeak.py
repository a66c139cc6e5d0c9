"""Speech by espeak-ng, from the library inside the wheel ``espeakng-loader``: the same samples whenever it is asked.

It is GPL-3 software: it comes with an extra, and runs in its own process (:mod:`.espeak_process`), many texts
at a time.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pytest_audiobench.audio import espeak_process
from pytest_audiobench.audio.espeak_process import Outcome
from pytest_audiobench.errors import DataNotFound, FatalError, UsageError, install_command

Pcm: TypeAlias = npt.NDArray[np.int16]
"""Samples at :data:`RATE_HZ`, shape (frames,)."""

RATE_HZ = 22_050
"""The rate of all voices that come with espeak-ng."""

LONGEST_TEXT = 5_000
SLOWEST_WPM, FASTEST_WPM = 80, 450
"""The bounds of espeak-ng's own parameter."""

_EXTRA = install_command("tts")
_VOICE = re.compile(r"[A-Za-z0-9][\w-]{0,30}(?:\+([\w-]{1,30}))?", re.ASCII)
_UNSPEAKABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LOUD, _MARGIN = 131, round(0.03 * RATE_HZ)
"""What is softer than 0.4 % of full scale (-48 dB) at both ends is cut off, but for 30 ms."""


class UnknownVoice(UsageError):
    """A voice that espeak-ng does not have."""


class Voice(NamedTuple):
    """Who speaks and how fast, in words a minute; ``release`` is that of espeak-ng, such as "1.52.0"."""

    name: str
    rate_wpm: int
    release: str


def voice(name: str, rate_wpm: int) -> Voice:
    """A voice of the espeak-ng on this machine, by its own name for it: "en-us", or "en-us+f4" for a variant.

    Raises UsageError for a name or a rate that it does not know; DataNotFound where it is not installed or broken.
    """
    if not SLOWEST_WPM <= rate_wpm <= FASTEST_WPM:
        raise UsageError(f"rate_wpm={rate_wpm} is none that espeak-ng speaks at; give {SLOWEST_WPM} to {FASTEST_WPM}")
    match = _VOICE.fullmatch(name)
    variants = _places()[1] / "voices" / "!v"
    # An unknown variant would be skipped silently: the voice would be another than its name says.
    if match is None or (match[1] and not (variants / match[1]).is_file()):
        raise _no_voice(name)
    return Voice(name, rate_wpm, release())


def validated_text(text: str) -> str:
    """``text`` with single spaces. Raises UsageError where it is empty, too long or holds control characters."""
    spaced = " ".join(text.split())
    if not spaced:
        raise UsageError("an empty text cannot be spoken; give it words")
    if len(spaced) > LONGEST_TEXT:
        raise UsageError(
            f"{spaced[:80]!r}… has {len(spaced)} characters, and {LONGEST_TEXT} is the most that is spoken; shorten it"
        )
    if _UNSPEAKABLE.search(spaced):
        raise UsageError(f"{spaced[:80]!r} holds a control character, which cannot be spoken; remove it")
    return spaced


@cache
def release() -> str:
    """The release of espeak-ng on this machine. Raises DataNotFound where it is not installed or does not run."""
    version, _ = _espeak_outcomes("en-us", SLOWEST_WPM, [])
    if not version:
        raise DataNotFound(f"espeak-ng reports no version, so that its speech could not be named; {_EXTRA}")
    return version


def speak(voice: Voice, texts: Sequence[str]) -> list[Pcm]:
    """What ``voice`` says for each of ``texts``, without the silence around it.

    Takes about 10 ms a text. Raises UsageError, with the text, for one that cannot be spoken or in which nothing is
    heard; DataNotFound where that release is not on this machine; FatalError where it is ended or does not end.
    """
    if voice.release != release():
        raise DataNotFound(
            f"espeak-ng {voice.release} is not on this machine, which has {release()}; install it: {_EXTRA}"
        )
    _, answers = _espeak_outcomes(voice.name, voice.rate_wpm, texts)
    return [_without_silence(voice, text, outcome, pcm) for text, (outcome, pcm) in zip(texts, answers, strict=True)]


def _without_silence(voice: Voice, text: str, outcome: Outcome, pcm: bytes) -> Pcm:
    if outcome is Outcome.NO_VOICE:
        raise _no_voice(voice.name)
    if outcome is Outcome.TOO_LONG:
        raise UsageError(f"{text[:80]!r} takes more than {espeak_process.LONGEST_S} s to say; shorten it")
    if outcome is Outcome.FAILED:
        raise UsageError(f"espeak-ng broke off at {text[:80]!r}; say it in other words")
    samples = np.frombuffer(pcm, "<i2").astype(np.int16)
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > _LOUD)
    if not len(loud):
        raise UsageError(f"nothing is heard when espeak-ng says {text[:80]!r}; say it in words")
    return samples[max(0, loud[0] - _MARGIN) : loud[-1] + _MARGIN]


@cache
def _places() -> tuple[Path, Path]:
    """The library and its folder of data."""
    try:
        import espeakng_loader
    except ImportError:
        raise DataNotFound(f"espeak-ng is not installed: {_EXTRA}") from None
    return Path(espeakng_loader.get_library_path()), Path(espeakng_loader.get_data_path())


def _espeak_outcomes(name: str, rate_wpm: int, texts: Sequence[str]) -> tuple[str, list[tuple[Outcome, bytes]]]:
    command = [sys.executable, "-I", "-S", espeak_process.__file__, *map(str, _places())]
    request = json.dumps({"voice": name, "rate_wpm": rate_wpm, "texts": list(texts)}).encode()
    environment = {**os.environ, "LC_ALL": "C"}
    patience_s = espeak_process.SLOWEST_S * (1 + len(texts))
    try:
        process = subprocess.run(
            command, input=request, env=environment, capture_output=True, timeout=patience_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise FatalError(f"espeak-ng did not say {len(texts)} texts within {patience_s} s; try again") from None
    if process.returncode < 0 and texts:
        # It ran when it told its release: what a signal ended now is not an absence, for which an eval is skipped.
        raise FatalError(f"espeak-ng was ended by signal {-process.returncode} while it spoke; run again")
    if process.returncode:
        *_, last_line = ["", *process.stderr.decode(errors="replace").strip().splitlines()]
        raise DataNotFound(
            f"espeak-ng does not run on this machine ({last_line or f'exit code {process.returncode}'}); {_EXTRA}"
        )
    first_line, _, rest = process.stdout.partition(b"\n")
    facts = json.loads(first_line)
    if facts["rate_hz"] != RATE_HZ:
        raise DataNotFound(f"espeak-ng {facts['release']} speaks at {facts['rate_hz']} Hz, not at {RATE_HZ}; {_EXTRA}")
    answers = []
    while rest:
        outcome, length = espeak_process.HEAD.unpack_from(rest)
        answers.append((Outcome(outcome), rest[espeak_process.HEAD.size : espeak_process.HEAD.size + length]))
        rest = rest[espeak_process.HEAD.size + length :]
    return facts["release"], answers


def _no_voice(name: str) -> UnknownVoice:
    return UnknownVoice(f"espeak-ng has no voice named {name!r}; give one such as 'en-us', 'de' or 'en-gb-scotland+f4'")
