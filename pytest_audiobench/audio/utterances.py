"""What was said, kept as WAV files: no text is spoken twice, and one can listen to what was injected.

Where several processes want speech at once, one of them speaks and the others wait for it.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import numpy as np

from pytest_audiobench.audio.espeak import RATE_HZ, Pcm, Voice, spoken
from pytest_audiobench.audio.plain_wav import PlainWav, plain_wav
from pytest_audiobench.audio.wav import wav_bytes
from pytest_audiobench.errors import FatalError
from pytest_audiobench.identity import digest


def keep_in(folder: Path) -> None:
    """Keep in ``folder`` what is said from now on, where that can be written; else it lasts as long as the process."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            _KEPT[:] = [folder]


_KEPT: list[Path] = []


def frames_of(who: Voice, texts: Sequence[str]) -> list[int]:
    """How long ``who`` takes for each of ``texts``, in frames at 22.05 kHz; those that were not said yet are spoken.

    Raises as :func:`pytest_audiobench.audio.espeak.spoken` does.
    """
    folder = _folder()
    paths = {text: _path(folder, who, text) for text in texts}
    frames = {text: _frames(path) for text, path in paths.items()}
    if None in frames.values():
        try:
            with _alone(folder):
                _speak(who, {text: path for text, path in paths.items() if _frames(path) is None})
        except OSError as error:
            raise FatalError(
                f"what espeak-ng says cannot be kept in {folder} ({error.strerror}); make room there, or delete it"
            ) from None
        frames = {text: _frames(path) for text, path in paths.items()}
    return [frames[text] or 0 for text in texts]


def pcm_of(who: Voice, text: str) -> Pcm:
    """What ``who`` says, shape (frames,) at 22.05 kHz. Raises as :func:`frames_of` does."""
    wav = _read(_path(_folder(), who, text))
    if wav is None:
        return spoken(who, [text])[0]
    pcm: Pcm = np.rint(wav.samples(wav.frames) * np.float32(32768)).astype(np.int16)
    return pcm


def _read(path: Path) -> PlainWav | None:
    """What is kept at ``path``, unless something happened to it."""
    try:
        wav = plain_wav(path.read_bytes())
    except OSError:
        return None
    return wav if wav is not None and wav.rate_hz == RATE_HZ else None


def _frames(path: Path) -> int | None:
    wav = _read(path)
    return None if wav is None else wav.frames


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="audiobench-speech-")


def _folder() -> Path:
    return _KEPT[0] if _KEPT else Path(_temporary().name)


def _path(folder: Path, who: Voice, text: str) -> Path:
    return folder / f"{digest(['speech', 1, who.name, who.rate_wpm, who.release, text])[:32]}.wav"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other process speaks into ``folder``; where files cannot be locked, some texts are spoken twice."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "wb") as file:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _speak(who: Voice, missing: dict[str, Path]) -> None:
    texts = list(missing)
    for start in range(0, len(texts), _AT_ONCE):
        portion = texts[start : start + _AT_ONCE]
        for text, pcm in zip(portion, spoken(who, portion), strict=True):
            _write(missing[text], pcm)


_AT_ONCE = 32


def _write(path: Path, pcm: Pcm) -> None:
    """Whole or not at all."""
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        try:
            file.write(wav_bytes(pcm.astype(np.float32) / np.float32(32768), RATE_HZ))
            file.flush()
        except OSError:
            os.unlink(file.name)
            raise
    os.replace(file.name, path)
