"""Audio that arrives over HTTP, decoded into what a model hears."""

from __future__ import annotations

import binascii
import os

from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource
from pytest_audiobench.audio.decode import decode, decode_bytes
from pytest_audiobench.audio.played import PlayedAudio
from pytest_audiobench.errors import AudioError, FileUnreachable, SampleError
from pytest_audiobench.models.model import Limits
from pytest_audiobench.serving.options import ServeOptions
from pytest_audiobench.serving.questions import PayloadType, Question, Sound
from pytest_audiobench.serving.url_audio import fetch

LONGEST_CALL_S = 7200.0
"""Audio that one call may hold once decoded: a kilobyte of compressed silence can promise hours."""

_VALUES_A_SECOND = 2 * 48_000
"""What one second may hold, in the mean over a call: a clip may have a higher rate, or more channels, for less time."""


class AudioIn:
    """Decodes one call's audio: clips are cut at the model's window for their task, and all together are bounded.

    ``until`` is when fetching must have ended, on the monotonic clock.
    """

    def __init__(self, limits: Limits, options: ServeOptions, until: float) -> None:
        self._limits, self._options, self._until = limits, options, until
        self._left_s = LONGEST_CALL_S

    def heard(self, question: Question) -> tuple[PlayedAudio, ...]:
        """The question's clips. Raises SampleError, naming the clip by its place."""
        if len(question.sounds) > self._limits.max_clips:
            raise SampleError(f"{len(question.sounds)} clips, and the model takes {self._limits.max_clips} at most")
        if len(question.sounds) < self._limits.min_clips:
            raise SampleError(f"{len(question.sounds)} clips, and the model needs {self._limits.min_clips} at least")
        return tuple(self._heard(f"audio {i}", sound, question) for i, sound in enumerate(question.sounds))

    def _heard(self, name: str, sound: Sound, question: Question) -> PlayedAudio:
        windows_s = (self._limits.window_s(question.task), question.longest_s, self._left_s)
        window_s = min(window for window in windows_s if window is not None)
        heard = self._decoded(name, sound, window_s)
        if heard.truncated_s and window_s == self._left_s:
            raise SampleError(
                f"{name}: the call holds more than {LONGEST_CALL_S:g} s of audio; send it in several calls"
            )
        self._left_s = max(0.001, self._left_s - heard.duration_s)
        return heard

    def _decoded(self, name: str, sound: Sound, window_s: float) -> PlayedAudio:
        # Somewhat more than what is left, so that a clip which is only too long is refused for its length.
        rate_hz, most_values = self._limits.rate_hz, round((self._left_s + 2) * _VALUES_A_SECOND)
        if isinstance(sound.data, bytes):
            return decode_bytes(name, sound.data, rate_hz, window_s, most_values)
        if sound.kind == "base64_wav":
            return decode_bytes(name, unpacked(name, sound.data), rate_hz, window_s, most_values)
        if sound.kind == "file_url":
            if not self._options.url_hosts:
                raise AudioError(f"{name}: this server fetches no URLs; send base64_wav")
            data = fetch(sound.data, self._options.url_hosts, self._options.max_body_bytes, self._until)
            return decode_bytes(name, data, rate_hz, window_s, most_values)
        try:
            return decode(Clip(self._file(name, sound.data)), rate_hz, window_s, most_values)
        except FileUnreachable:  # its message tells where the folder lies, and what is beside it
            raise AudioError(
                f"{name}: no readable audio file of that name in the folder that this server reads"
            ) from None

    def _file(self, name: str, path: str) -> FileSource:
        folder = self._options.files
        if folder is None:
            raise AudioError(f"{name}: this server reads no files; send base64_wav")
        root = folder.resolve()
        relative = path
        if os.path.isabs(path):
            homes = (f"{home}{os.sep}" for home in (os.path.abspath(folder), str(root)))
            relative = next((path.removeprefix(home) for home in homes if path.startswith(home)), path)
        return FileSource(DataRoot("files", root), relative)


def unpacked(name: str, data: str) -> bytes:
    """The bytes that base64 text stands for. Raises AudioError."""
    try:
        return binascii.a2b_base64(data, strict_mode=True)
    except ValueError as error:
        raise AudioError(
            f"{name}: not base64 ({error}); send the bytes of a WAV file as base64, without a prefix"
        ) from None


def payload_types(options: ServeOptions) -> list[PayloadType]:
    """The ways in which a server with these options takes audio."""
    kinds: list[PayloadType] = ["base64_wav"]
    if options.files is not None:
        kinds.append("file_path")
    if options.url_hosts:
        kinds.append("file_url")
    return kinds
