"""Spoken texts as WAV files: no text is spoken twice, and one can listen to what was injected.

Where several processes want speech at once, one of them speaks and the others wait for it.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path

import numpy as np

from pytest_audiobench.audio.espeak import RATE_HZ, Pcm, Voice, speak
from pytest_audiobench.audio.wav import PlainWav, plain_wav, wav_bytes
from pytest_audiobench.errors import FatalError
from pytest_audiobench.identity import digest

_FOLDERS: list[Path] = []
_BATCH = 32
_MOST_PROCESSES = 4


def store_in(folder: Path) -> None:
    """Store in ``folder`` what is said from now on, where that can be written; else it lasts as long as the process."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            _FOLDERS[:] = [folder]


def frames_of(voice: Voice, texts: Sequence[str]) -> list[int]:
    """How long ``voice`` takes for each of ``texts``, in frames at 22.05 kHz; those that were not said yet are spoken.

    Raises as :func:`pytest_audiobench.audio.espeak.speak` does.
    """
    folder = _folder()
    paths = {text: _path(folder, voice, text) for text in texts}
    frames = {text: _frames(path) for text, path in paths.items()}
    if None in frames.values():
        try:
            with _folder_lock(folder):
                _speak(voice, {text: path for text, path in paths.items() if _frames(path) is None})
        except OSError as error:
            raise FatalError(
                f"what espeak-ng says cannot be stored in {folder} ({error.strerror}); make room there, or delete it"
            ) from None
        frames = {text: _frames(path) for text, path in paths.items()}
    return [frames[text] or 0 for text in texts]


def pcm_of(voice: Voice, text: str) -> Pcm:
    """What ``voice`` says, shape (frames,) at 22.05 kHz. Raises as :func:`frames_of` does."""
    wav = _stored_speech(_path(_folder(), voice, text))
    if wav is None:
        return speak(voice, [text])[0]
    pcm: Pcm = np.rint(wav.samples(wav.frames) * np.float32(32768)).astype(np.int16)
    return pcm


def _stored_speech(path: Path) -> PlainWav | None:
    """The speech at ``path``, unless something happened to it."""
    try:
        wav = plain_wav(path.read_bytes())
    except OSError:
        return None
    return wav if wav is not None and wav.rate_hz == RATE_HZ else None


def _frames(path: Path) -> int | None:
    wav = _stored_speech(path)
    return None if wav is None else wav.frames


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="audiobench-speech-")


def _folder() -> Path:
    return _FOLDERS[0] if _FOLDERS else Path(_temporary().name)


def _path(folder: Path, voice: Voice, text: str) -> Path:
    return folder / f"{digest(['speech', 1, voice.name, voice.rate_wpm, voice.release, text])[:32]}.wav"


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    """No other process speaks into ``folder``; where files cannot be locked, some texts are spoken twice."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "wb") as file:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _speak(voice: Voice, missing: dict[str, Path]) -> None:
    texts = list(missing)
    portions = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
    with ThreadPoolExecutor(min(_MOST_PROCESSES, os.cpu_count() or 1)) as pool:
        for portion, spoken in zip(portions, pool.map(partial(speak, voice), portions), strict=True):
            for text, pcm in zip(portion, spoken, strict=True):
                _store(pcm, missing[text])


def _store(pcm: Pcm, path: Path) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        try:
            file.write(wav_bytes(pcm.astype(np.float32) / np.float32(32768), RATE_HZ))
            file.flush()
        except OSError:
            os.unlink(file.name)
            raise
    os.replace(file.name, path)
