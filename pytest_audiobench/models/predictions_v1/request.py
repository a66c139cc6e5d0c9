"""A batch as the bytes of a predictions_v1 request.

The audio's base64 text is put between hand-written JSON: it holds no character that JSON would escape, and
a JSON writer would go through megabytes of it once more.
"""

from __future__ import annotations

import binascii
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from pytest_audiobench.audio.clip import Clip, FileSource, PlayedAudio
from pytest_audiobench.audio.location import Locator
from pytest_audiobench.audio.wav import Pcm, sent_wav, wav_bytes
from pytest_audiobench.datasets.sample import PLACEHOLDER as PLACEHOLDER
from pytest_audiobench.errors import SampleError
from pytest_audiobench.models.messages import Ask, AudioSlot, Message, Request

SCHEMA = "predictions_v1"

Payload: TypeAlias = Literal["base64_wav", "file_path", "file_url"]
PAYLOADS: tuple[Payload, ...] = ("base64_wav", "file_path", "file_url")

_HEAD = b'{"schema_version":"predictions_v1","requests":['
_TAIL = b"]}"

_CLOSING, _OPENING = frozenset(".,;:!?)]}"), frozenset("([{")
"""Signs that a question has directly behind and before the place of a clip."""


class Item(NamedTuple):
    """One request of a batch as JSON, in pieces; ``wire_id`` is its ``sample_id`` there."""

    wire_id: str
    pieces: tuple[bytes, ...]


class Form(NamedTuple):
    """How audio travels: the payload, the samples' type, the text that stands for a clip within a message, the
    folder for files that have to be written (None: there is none), the window in seconds (None: no window).
    """

    payload: Payload = "base64_wav"
    pcm: Pcm = "int16"
    placeholder: str = PLACEHOLDER
    folder: Path | None = None
    max_s: float | None = None
    hints: bool = False
    generation: tuple[tuple[str, str], ...] = ()
    """What else ``generation_config`` says, by key, each value as JSON."""


def item(wire_id: str, ask: Ask, form: Form) -> Item:
    """One element of a batch. Raises SampleError where its audio cannot travel in this form."""
    request = ask.request
    texts = [part for message in request.messages for part in message.parts if isinstance(part, str)]
    if form.placeholder and slots(request) and any(form.placeholder in text for text in texts):
        quoted = repr(form.placeholder)
        raise SampleError(
            f"the question holds {quoted} itself, so its clips cannot be distinguished; give another placeholder="
        )
    opening = {"sample_id": wire_id, "messages": [_message(message, form.placeholder) for message in request.messages]}
    pieces = [_json(opening)[:-1], b',"audio_inputs":[']
    for position, clip in enumerate(slots(request)):
        pieces += [b"," if position else b"", *_audio(ask, clip, form)]
    pieces += [b'],"generation_config":', _json(_generation(request, form)), b"}"]
    return Item(wire_id, tuple(pieces))


def body(items: Sequence[Item]) -> bytes:
    """The whole request."""
    return b"".join(_body_pieces(items))


def slots(request: Request) -> list[int]:
    """The clips' numbers in the order of their places within the messages: the order in which they are sent."""
    return [part.clip for message in request.messages for part in message.parts if isinstance(part, AudioSlot)]


def _body_pieces(items: Sequence[Item]) -> Iterator[bytes]:
    yield _HEAD
    for position, element in enumerate(items):
        if position:
            yield b","
        yield from element.pieces
    yield _TAIL


def _message(message: Message, placeholder: str) -> dict[str, str]:
    """Parts with a space between two of them, where neither has white space or a sign that needs none there itself."""
    content, opening = "", True
    for part in message.parts:
        text = placeholder if isinstance(part, AudioSlot) else part
        # A space that opens the text behind the first clips was never the separator: the server takes one off.
        is_apart = content[-1:].isspace() or (text[:1].isspace() and not (opening and text[0] == " "))
        is_apart = is_apart or text[:1] in _CLOSING or content[-1:] in _OPENING
        content += f" {text}" if content and text and not is_apart else text
        opening = opening and (isinstance(part, AudioSlot) or not part.strip())
    return {"role": message.role, "content": content}


def _generation(request: Request, form: Form) -> dict[str, Any]:
    settings = request.settings
    config: dict[str, Any] = {"max_tokens": settings.max_new_tokens, "temperature": float(settings.temperature)}
    if settings.top_p != "1":
        config["top_p"] = float(settings.top_p)
    if form.max_s is not None:
        config["max_length_seconds"] = int(form.max_s) if form.max_s == int(form.max_s) else form.max_s
    if form.hints:
        config["task"] = request.task
        if request.choices:
            config["choices"] = list(request.choices)
    return {**config, **{name: json.loads(value) for name, value in form.generation}}


def _audio(ask: Ask, number: int, form: Form) -> tuple[bytes, ...]:
    played = ask.audio[number]
    if form.payload == "base64_wav":
        text = binascii.b2a_base64(sent_wav(played.samples, played.rate_hz, form.pcm), newline=False)
        return b'{"payload_type":"base64_wav","data":"', text, b'","sample_rate":%d}' % played.rate_hz
    clips = ask.request.clips
    path, rate_hz = _file(clips[number] if number < len(clips) else None, played, form)
    data = path.as_uri() if form.payload == "file_url" else str(path)
    return (_json({"payload_type": form.payload, "data": data, "sample_rate": rate_hz}),)


def _file(clip: Clip | None, played: PlayedAudio, form: Form) -> tuple[Path, int]:
    """The original file at its own rate where it is played whole and unedited, else a WAV file in the folder."""
    if clip is not None and isinstance(clip.source, FileSource) and not clip.edits and not played.truncated_s:
        return Path(Locator().find(clip.source).path).resolve(), played.source_rate_hz
    if form.folder is None:
        raise SampleError(
            f"{clip or 'this clip'} is not a whole file as it lies on the disk, so payload={form.payload} "
            "has to write it: name a folder that the server can read with folder=, or use payload=base64_wav"
        )
    return _wav_file(played, form.folder, form.pcm), played.rate_hz


def _wav_file(played: PlayedAudio, folder: Path, pcm: Pcm) -> Path:
    """The clip as a WAV file named by its content, so that workers may share it."""
    path = folder.resolve() / f"{played.pcm_digest[:32]}-{played.rate_hz}-{pcm}.wav"
    if not path.exists():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as aside:
                aside.write(wav_bytes(played.samples, played.rate_hz, pcm))
            Path(aside.name).chmod(0o644)  # the server may run as somebody else
            os.replace(aside.name, path)
        except OSError as error:
            raise SampleError(f"{folder} cannot be written ({error.strerror}); name another folder=") from None
    return path


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
