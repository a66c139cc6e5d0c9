"""The audio of spoken answers: files by their digests in a folder next to the store, and what is measured of them.

What a model gives is untrusted: its size, its length and all that is read of it are bounded.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.sound_file import Amount, encoded_stream
from pytest_audiobench.audio.wav import ENCODINGS, encoding_of
from pytest_audiobench.errors import AudioError, SampleError, disk_errors
from pytest_audiobench.models.messages import Response, Sound

FOLDER = ".sounds"
"""How the name of the folder next to a store ends."""
MOST_BYTES = 1 << 26
"""Of one answer's audio: 23 minutes at 24 kHz in 16 bits."""
LONGEST_S = 1800.0

_NOTHING = hashlib.sha256(b"").hexdigest()
_MOST_VALUES = round(2 * 48_000 * LONGEST_S)
_FRAME_S = 0.02
_SILENT = 10 ** (-50 / 20)
_FULL_SCALE = 32767 / 32768


class SoundFiles:
    """The audio of the answers in some stores: written next to the first of them, looked for next to them all."""

    def __init__(self, stores: Sequence[Path]) -> None:
        self._folders = [store.with_name(store.name + FOLDER) for store in stores]
        self._read_before: dict[Path, bool] = {}
        """Whether a file was what its name says."""

    def keep(self, sounds: Iterable[Sound]) -> tuple[Sound, ...]:
        """Have a file for each sound, whose bytes need not be carried from then on. Raises as ``disk_errors`` does."""
        for sound in sounds:
            if sound.data and self._place(sound.digest) is None:
                _write(self._folders[0] / _name(sound), sound.data)
        return tuple(sound._replace(data=b"") for sound in sounds)

    def take_over(self, sounds: Iterable[Sound], store: Path) -> None:
        """Copy what another store has of these; what it lacks is missing here too."""
        other = SoundFiles([store])
        for sound in sounds:
            if (place := other._whole_place(sound.digest)) is not None:
                self.keep([sound._replace(data=place.read_bytes())])

    def has(self, sounds: Iterable[Sound]) -> bool:
        """Whether the files of all these are there."""
        return all(self._place(sound.digest) is not None for sound in sounds)

    def clip(self, digest: str) -> Clip | None:
        """The sound as a model is played it, named by its digest; None where its file is not there or damaged."""
        if (place := self._whole_place(digest)) is None:
            return None
        root = next(folder for folder in self._folders if folder in place.parents)
        return Clip(FileSource(DataRoot("answers", root), place.relative_to(root).as_posix()))

    def measured(self, response: Response) -> Response:
        """``response`` with what is measured of its audio, whose bytes may be those of a file here.

        Raises SampleError for audio that cannot be read, is too large, or is not what its digest says.
        """
        of_each = [[part.value for part in output.parts if part.kind == "audio"] for output in response.outputs]
        if not any(of_each) and not response.sounds:
            return response
        if (most := max(map(len, of_each), default=0)) > 1:
            raise SampleError(f"the answer holds {most} parts of audio, and one is heard")
        data = {sound.digest: sound.data for sound in response.sounds}
        sounds = (
            _measured(digest, data.get(digest) or self._read(digest)) for digests in of_each for digest in digests
        )
        return replace(response, sounds=tuple(filter(None, sounds)))

    def _read(self, digest: str) -> bytes:
        if (clip := self.clip(digest)) is None:
            return b""
        assert isinstance(clip.source, FileSource)
        try:
            with clip.source.location.open("rb") as file:
                return file.read(MOST_BYTES + 1)
        except OSError as error:
            raise SampleError(f"{clip}: cannot be read ({error.strerror})") from None

    def _whole_place(self, digest: str) -> Path | None:
        """Where the file is, if it is what its name says: a disk that was cut off may have left a part."""
        if (place := self._place(digest)) is None:
            return None
        if place not in self._read_before:
            try:
                with place.open("rb") as file:
                    self._read_before[place] = hashlib.file_digest(file, "sha256").hexdigest() == digest
            except OSError as error:
                raise SampleError(f"{place}: cannot be read ({error.strerror})") from None
        return place if self._read_before[place] else None

    def _place(self, digest: str) -> Path | None:
        names = [_named(digest, ending) for ending in ENCODINGS] if _is_digest(digest) else []
        return next((each for folder in self._folders for name in names if (each := folder / name).is_file()), None)


def _measured(digest: str, data: bytes) -> Sound | None:
    """The sound of these bytes; None for one of which only the digest is known, as of an answer given elsewhere."""
    if digest == _NOTHING:
        raise SampleError("the answer's audio is empty")
    if not data:
        return None
    if len(data) > MOST_BYTES:
        raise SampleError(f"the answer's audio has {len(data)} bytes, and {MOST_BYTES} are the most that is kept")
    if hashlib.sha256(data).hexdigest() != digest:
        raise SampleError(f"the answer's audio is not the one of the digest {digest[:12]}…")
    try:
        with encoded_stream("the answer's audio", data, None, Amount(_MOST_VALUES, _MOST_VALUES)) as stream:
            return _measures(stream.blocks, stream.rate_hz)._replace(digest=digest, data=data)
    except AudioError as error:
        # A model may answer otherwise when it is asked again: of its audio nothing is permanent.
        raise SampleError(str(error)) from None


def _measures(blocks: Iterable[np.ndarray], rate_hz: int) -> Sound:
    """Length, rate and shares, of samples as they come."""
    size = max(1, round(rate_hz * _FRAME_S))
    frames = silent = clipped = windows = 0
    rest = np.zeros(0, dtype=np.float32)
    for block in blocks:
        if not np.isfinite(block).all():
            raise SampleError("the answer's audio holds samples that are not numbers")
        frames += len(block)
        clipped += int((np.abs(block) >= _FULL_SCALE).sum())
        whole = np.concatenate([rest, block])
        whole, rest = whole[: len(whole) // size * size], whole[len(whole) // size * size :]
        levels = np.sqrt(np.mean(whole.reshape(-1, size).astype(np.float64) ** 2, axis=1))
        windows, silent = windows + len(levels), silent + int((levels < _SILENT).sum())
    if not frames:
        raise SampleError("the answer's audio holds no sound")
    return Sound("", frames / rate_hz, rate_hz, silent / windows if windows else 0.0, clipped / frames)


def _write(path: Path, data: bytes) -> None:
    """The whole file or none: another process may write it too."""
    with disk_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                os.chmod(file.name, 0o644)
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise


def _name(sound: Sound) -> str:
    return _named(sound.digest, encoding_of(sound.data))


def _named(digest: str, ending: str) -> str:
    return f"{digest[:2]}/{digest}.{ending}"


def _is_digest(text: str) -> bool:
    return len(text) == 64 and not set(text) - set("0123456789abcdef")
