"""Speech by espeak-ng, from the library inside the wheel ``espeakng-loader``: the same samples whenever it is asked.

It is GPL-3 software: it comes with an extra, and runs in a process of its own (:mod:`.speaking`), many texts at a time.
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
from pytest_audiobench.audio.espeak_process import How
from pytest_audiobench.errors import DataNotFound, FatalError, UsageError

Pcm: TypeAlias = npt.NDArray[np.int16]
"""Samples at :data:`RATE_HZ`, shape (frames,)."""

RATE_HZ = 22_050
"""The rate of all voices that come with espeak-ng."""

LONGEST_TEXT = 500
SLOWEST_WPM, FASTEST_WPM = 80, 450
"""The bounds of espeak-ng's own parameter."""

_EXTRA = "pip install 'pytest-audiobench[tts]'"


class Voice(NamedTuple):
    """Who speaks and how fast, in words a minute; ``release`` is that of espeak-ng, such as "1.52.0"."""

    name: str
    rate_wpm: int
    release: str


def voice(name: str, rate_wpm: int) -> Voice:
    """A voice of the espeak-ng on this machine, by its own name for it: "en-us", or "en-us+f4" for a variant.

    Raises UsageError for an unknown name or rate; DataNotFound where it is not installed or does not run.
    """
    if not SLOWEST_WPM <= rate_wpm <= FASTEST_WPM:
        raise UsageError(f"rate_wpm={rate_wpm} is none that espeak-ng speaks at; give {SLOWEST_WPM} to {FASTEST_WPM}")
    named = _VOICE.fullmatch(name)
    variants = _places().data / "voices" / "!v"
    # An unknown variant would be passed over in silence: the voice would be another than its name says.
    if named is None or (named[1] and not (variants / named[1]).is_file()):
        raise _no_voice(name)
    return Voice(name, rate_wpm, release())


_VOICE = re.compile(r"[A-Za-z0-9][\w-]{0,30}(?:\+([\w-]{1,30}))?", re.ASCII)


def sayable(text: str) -> str:
    """``text`` with single spaces for all white space.

    Raises UsageError for one that is empty, longer than :data:`LONGEST_TEXT` or holds control characters.
    """
    said = " ".join(text.split())
    if not said:
        raise UsageError("an empty text cannot be spoken; give it words")
    if len(said) > LONGEST_TEXT:
        raise UsageError(
            f"{said[:80]!r}… has {len(said)} characters, and {LONGEST_TEXT} is the most that is spoken; shorten it"
        )
    if _UNSPEAKABLE.search(said):
        raise UsageError(f"{said[:80]!r} holds a control character, which cannot be spoken; remove it")
    return said


_UNSPEAKABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


@cache
def release() -> str:
    """The release of espeak-ng on this machine. Raises DataNotFound where it is not installed or does not run."""
    told, _ = _asked("en-us", SLOWEST_WPM, [])
    if not told:
        raise DataNotFound(f"espeak-ng tells no release, so that its speech could not be named; {_EXTRA}")
    return told


def spoken(who: Voice, texts: Sequence[str]) -> list[Pcm]:
    """What ``who`` says for each of ``texts``, without the silence around it.

    Takes about 10 ms a text. Raises UsageError, with the text, for one that cannot be spoken or in which nothing is
    heard; DataNotFound where that release is not on this machine; FatalError where it is ended or does not end.
    """
    if who.release != release():
        raise DataNotFound(
            f"espeak-ng {who.release} is not on this machine, which has {release()}; install it: {_EXTRA}"
        )
    _, answers = _asked(who.name, who.rate_wpm, texts)
    return [_heard(who, text, how, pcm) for text, (how, pcm) in zip(texts, answers, strict=True)]


def _heard(who: Voice, text: str, how: How, pcm: bytes) -> Pcm:
    if how is How.NO_VOICE:
        raise _no_voice(who.name)
    if how is How.TOO_LONG:
        raise UsageError(f"{text[:80]!r} takes more than {espeak_process.LONGEST_S} s to say; shorten it")
    if how is How.FAILED:
        raise UsageError(f"espeak-ng broke off at {text[:80]!r}; say it in other words")
    samples = np.frombuffer(pcm, "<i2").astype(np.int16)
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > _LOUD)
    if not len(loud):
        raise UsageError(f"nothing is heard when espeak-ng says {text[:80]!r}; say it in words")
    return samples[max(0, loud[0] - _MARGIN) : loud[-1] + _MARGIN]


_LOUD, _MARGIN = 131, round(0.03 * RATE_HZ)
"""What is softer than 0.4 % of full scale (-48 dB) at both ends is cut off, but for 30 ms."""


class _Places(NamedTuple):
    library: Path
    data: Path


@cache
def _places() -> _Places:
    try:
        import espeakng_loader
    except ImportError:
        raise DataNotFound(f"espeak-ng is not installed: {_EXTRA}") from None
    return _Places(Path(espeakng_loader.get_library_path()), Path(espeakng_loader.get_data_path()))


def _asked(name: str, rate_wpm: int, texts: Sequence[str]) -> tuple[str, list[tuple[How, bytes]]]:
    """The release, and how each text went with its PCM."""
    command = [sys.executable, "-I", "-S", espeak_process.__file__, *map(str, _places())]
    wanted = json.dumps({"voice": name, "rate_wpm": rate_wpm, "texts": list(texts)}).encode()
    environment = {**os.environ, "LC_ALL": "C"}
    patience_s = espeak_process.SLOWEST_S * (1 + len(texts))
    try:
        done = subprocess.run(
            command, input=wanted, env=environment, capture_output=True, timeout=patience_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise FatalError(f"espeak-ng did not say {len(texts)} texts within {patience_s} s; try again") from None
    if done.returncode < 0 and texts:
        # It ran when it told its release: what a signal ended now is no absence, for which an eval is skipped.
        raise FatalError(f"espeak-ng was ended by signal {-done.returncode} while it spoke; run again")
    if done.returncode:
        *_, said = ["", *done.stderr.decode(errors="replace").strip().splitlines()]
        raise DataNotFound(
            f"espeak-ng does not run on this machine ({said or f'exit code {done.returncode}'}); {_EXTRA}"
        )
    told, _, rest = done.stdout.partition(b"\n")
    about = json.loads(told)
    if about["rate_hz"] != RATE_HZ:
        raise DataNotFound(f"espeak-ng {about['release']} speaks at {about['rate_hz']} Hz, not at {RATE_HZ}; {_EXTRA}")
    answers = []
    while rest:
        how, length = espeak_process.HEAD.unpack_from(rest)
        answers.append((How(how), rest[espeak_process.HEAD.size : espeak_process.HEAD.size + length]))
        rest = rest[espeak_process.HEAD.size + length :]
    return about["release"], answers


def _no_voice(name: str) -> UsageError:
    return UsageError(f"espeak-ng has no voice named {name!r}; give one such as 'en-us', 'de' or 'en-gb-scotland+f4'")
