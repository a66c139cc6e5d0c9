"""A program that speaks texts by espeak-ng and writes what it said to its standard output.

``python -I -S espeak_process.py LIBRARY DATA``, with one JSON object on standard input: ``voice``, ``rate_wpm`` and
``texts``. It answers a line of JSON (``release``, ``rate_hz``), and for each text a byte of its outcome
(:class:`Outcome`), four bytes of a length in bytes (big endian) and as much PCM, 16 bits little endian. It needs the
standard library only.

espeak-ng keeps state between utterances (the phase of its oscillators, libc's random numbers), and neither
``espeak_Terminate`` nor unloading the library clears all of it. Each utterance is therefore spoken by a forked child of
this process, which is initialised once and never speaks: its samples then depend on the utterance alone. It is a
process of its own because those who want speech have threads, and perhaps torch, and must not be forked.
"""

import ctypes
import json
import os
import signal
import struct
import sys
from enum import IntEnum
from typing import Any, BinaryIO

HEAD = struct.Struct(">BI")
LONGEST_S = 600
"""A text that continues for longer is not spoken: 5,000 digits in a row last for most of an hour."""
SLOWEST_S = 20
"""An utterance takes 10 to 20 ms; one that takes so long will not end."""

_AUDIO_OUTPUT_SYNCHRONOUS = 2
_CHARS_UTF8 = 1  # alone: neither SSML nor phonemes in brackets are read as such
_RATE = 1
_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


class Outcome(IntEnum):
    """The outcome of speaking a text."""

    SPOKEN = 0
    NO_VOICE = 1
    TOO_LONG = 2
    FAILED = 3


def main(library_path: str, data_path: str) -> None:
    library = ctypes.CDLL(library_path)
    rate_hz = library.espeak_Initialize(_AUDIO_OUTPUT_SYNCHRONOUS, 0, data_path.encode(), 0)
    if rate_hz <= 0:
        sys.exit(f"espeak-ng does not start from {data_path} (it answers {rate_hz})")
    library.espeak_Info.restype = ctypes.c_char_p
    info = (library.espeak_Info(None) or b"").decode(errors="replace").split()
    request = json.load(sys.stdin.buffer)
    out = sys.stdout.buffer
    out.write(json.dumps({"release": info[0] if info else "", "rate_hz": rate_hz}).encode() + b"\n")
    for text in request["texts"]:
        out.flush()  # or the child would write it again
        outcome, pcm = _in_a_child(library, text, request, rate_hz)
        out.write(HEAD.pack(outcome, len(pcm)) + pcm)


def _in_a_child(library: Any, text: str, request: Any, rate_hz: int) -> tuple[Outcome, bytes]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        outcome = Outcome.FAILED
        try:
            signal.alarm(SLOWEST_S)
            os.close(reader)
            with os.fdopen(writer, "wb") as pipe:
                outcome = _speak(library, text, request, 2 * rate_hz * LONGEST_S, pipe)
        finally:
            os._exit(outcome)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        pcm = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    outcome = Outcome(code) if code in list(Outcome) else Outcome.FAILED
    return outcome, pcm if outcome is Outcome.SPOKEN else b""


def _speak(library: Any, text: str, request: Any, most_bytes: int, pipe: BinaryIO) -> Outcome:
    if library.espeak_SetVoiceByName(request["voice"].encode()) != 0:
        return Outcome.NO_VOICE
    sound = bytearray()

    def receive(samples: Any, count: int, _events: Any) -> int:
        if samples and count > 0:
            sound.extend(ctypes.string_at(samples, 2 * count))
        return int(len(sound) > most_bytes)  # 1 ends the speech

    callback = _CALLBACK(receive)
    library.espeak_SetSynthCallback(callback)
    library.espeak_SetParameter(_RATE, request["rate_wpm"], 0)
    encoded = text.encode() + b"\0"
    library.espeak_Synth(encoded, len(encoded), 0, 0, 0, _CHARS_UTF8, None, None)
    library.espeak_Synchronize()
    if len(sound) > most_bytes:
        return Outcome.TOO_LONG
    pipe.write(sound)
    return Outcome.SPOKEN


if __name__ == "__main__":
    main(*sys.argv[1:])
