"""Damage to audio files of all kinds, drawn from a seed, and what becomes of them.

Run with a folder and numbers: each is a file that is damaged so and played, and ``outcomes.jsonl`` in the folder gets a
line before it and one behind it. Its own process, since a decoder in C may end it, and may print.
"""

from __future__ import annotations

import faulthandler
import json
import random
import sys
import warnings
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import soundfile

from pytest_audiobench.audio import combining, edits
from pytest_audiobench.audio.clip import Clip, DataRoot, FileSource, PlayedAudio
from pytest_audiobench.audio.decode import decode, decode_bytes
from pytest_audiobench.errors import AudioError

LONGEST_S = 60.0
"""By the clock, before a file counts as one that hangs: the machine may be busy."""

FORMATS = [
    *[("WAV", kind) for kind in ("PCM_U8", "PCM_16", "PCM_24", "FLOAT", "DOUBLE", "ULAW", "IMA_ADPCM", "GSM610")],
    *[("WAVEX", "PCM_16"), ("WAVEX", "FLOAT"), ("RF64", "PCM_16"), ("W64", "FLOAT"), ("AIFF", "PCM_16")],
    *[("AIFF", "FLOAT"), ("AU", "PCM_16"), ("AU", "FLOAT"), ("CAF", "PCM_16"), ("CAF", "ALAC_16"), ("CAF", "DOUBLE")],
    *[("FLAC", "PCM_16"), ("FLAC", "PCM_24"), ("FLAC", "PCM_S8"), ("OGG", "VORBIS"), ("OGG", "OPUS")],
    *[("MP3", "MPEG_LAYER_III"), ("MP3", "MPEG_LAYER_III"), ("NIST", "PCM_16"), ("IRCAM", "FLOAT"), ("SVX", "PCM_16")],
    *[("VOC", "PCM_16"), ("MAT4", "DOUBLE"), ("MAT5", "FLOAT"), ("PVF", "PCM_16"), ("AVR", "PCM_16")],
    *[("HTK", "PCM_16"), ("MPC2K", "PCM_16"), ("PAF", "PCM_24"), ("WVE", "ALAW"), ("XI", "DPCM_16")],
]
_RATES_HZ = (8000, 16_000, 44_100, 48_000)
_NUMBERS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
_LEVELS = (5e37, 1e38, 2.7e38, 3.4e38, 1e-45, float("inf"), float("nan"))


def whole_file(drawn: random.Random) -> tuple[str, bytes]:
    """A sound file as some program writes it, and its format."""
    kind, subtype = drawn.choice(FORMATS)
    fixed = {"WVE": 8000, "GSM610": 8000, "MPC2K": 44_100, "XI": 44_100, "OPUS": 48_000}
    rate_hz = fixed.get(kind) or fixed.get(subtype) or drawn.choice(_RATES_HZ)
    channels = 1 if kind in ("HTK", "SVX", "WVE", "XI") or subtype == "GSM610" else drawn.choice([1, 1, 2])
    frames = drawn.choice([1, 100, 8000, 16_000, 40_000])
    samples = np.random.default_rng(drawn.getrandbits(32)).uniform(-0.5, 0.5, (frames, channels)).astype(np.float32)
    if subtype in ("FLOAT", "DOUBLE") and drawn.random() < 0.5:
        start = drawn.randrange(frames)
        samples[start : start + drawn.choice([1, 50, 5000])] *= np.float32(drawn.choice(_LEVELS))
    file = BytesIO()
    soundfile.write(file, samples, rate_hz, subtype, format=kind)
    return kind, file.getvalue()


def _bits(content: bytearray, drawn: random.Random) -> None:
    for _ in range(drawn.choice([1, 1, 4, 32])):
        content[drawn.randrange(len(content))] ^= 1 << drawn.randrange(8)


def _header_bits(content: bytearray, drawn: random.Random) -> None:
    for _ in range(drawn.choice([1, 1, 2, 4])):
        content[drawn.randrange(min(100, len(content)))] ^= 1 << drawn.randrange(8)


def _header_number(content: bytearray, drawn: random.Random) -> None:
    width = drawn.choice([2, 4, 8])
    start = drawn.randrange(min(120, len(content)))
    value = drawn.choice(_NUMBERS) & (1 << 8 * width) - 1
    content[start : start + width] = value.to_bytes(width, drawn.choice(["little", "big"]))


def _cut(content: bytearray, drawn: random.Random) -> None:
    del content[drawn.randrange(len(content)) :]


def _hole(content: bytearray, drawn: random.Random) -> None:
    start = drawn.randrange(len(content))
    end = min(len(content), start + drawn.choice([4, 100, 5000]))
    content[start:end] = bytes(end - start)


def _noise(content: bytearray, drawn: random.Random) -> None:
    start = drawn.randrange(len(content))
    end = min(len(content), start + drawn.choice([1, 4, 64, 4096]))
    content[start:end] = drawn.randbytes(end - start)


def _missing(content: bytearray, drawn: random.Random) -> None:
    start = drawn.randrange(len(content))
    del content[start : start + drawn.choice([1, 3, 100, 5000])]


def _repeated(content: bytearray, drawn: random.Random) -> None:
    start = drawn.randrange(len(content))
    content[start:start] = content[start : start + drawn.choice([4, 100, 5000])] * drawn.choice([1, 3])


def _tail(content: bytearray, drawn: random.Random) -> None:
    content.extend(drawn.randbytes(drawn.randrange(1, 5000)))


def _floats(content: bytearray, drawn: random.Random) -> None:
    with np.errstate(over="ignore"):
        value = np.array(drawn.choice(_LEVELS), drawn.choice(["<f4", ">f4", "<f8", ">f8"])).tobytes()
    start = drawn.randrange(len(content))
    content[start : start + len(value)] = value


def _other_file(content: bytearray, drawn: random.Random) -> None:
    """The beginning of another file before the rest of this."""
    other = whole_file(drawn)[1]
    content[: drawn.randrange(1, 200)] = other[: drawn.randrange(1, 200)]


_DAMAGES: list[Callable[[bytearray, random.Random], None]] = [
    *[_bits, _header_bits, _header_bits, _header_number, _header_number, _cut, _hole, _noise, _missing, _repeated],
    *[_tail, _floats, _other_file],
]


def damaged_file(seed: int) -> tuple[str, str, bytes]:
    """The file that ``seed`` draws: its format, how it was damaged, its bytes."""
    drawn = random.Random(f"damaged audio {seed}")
    kind, whole = whole_file(drawn)
    content, damages = bytearray(whole), []
    for _ in range(drawn.choice([0, 1, 1, 1, 2, 3])):
        damage = drawn.choice(_DAMAGES)
        if content:
            damage(content, drawn)
            damages.append(damage.__name__.strip("_"))
    return kind, "+".join(damages) or "whole", bytes(content)


def play(folder: Path, content: bytes, drawn: random.Random) -> PlayedAudio:
    """The file in one of the ways in which it comes to a model."""
    rate_hz, max_s = drawn.choice([8000, 16_000, 16_000, 48_000]), drawn.choice([None, None, 0.3])
    name = drawn.choice(["a.wav", "a.mp3", "a.raw", "a"])
    (folder / name).write_bytes(content)
    clip = Clip(FileSource(DataRoot("damaged", folder), name))
    ways: list[Callable[[], PlayedAudio]] = [
        lambda: decode(clip, rate_hz, max_s),
        lambda: decode_bytes("damaged:bytes", content, rate_hz, max_s),
        lambda: decode(clip.edited(edits.speed(1.1), edits.gain(drawn.choice([-6, 300, 760]))), rate_hz, max_s),
        lambda: decode(clip.edited(edits.white_noise(10, 1)), rate_hz, max_s),
        lambda: decode(clip.edited(edits.trim(0.1, 0.4)), rate_hz, max_s),
        lambda: decode(combining.mixture([clip, clip.edited(edits.pad(0.1, 0))], [0, 3]), rate_hz, max_s),
    ]
    return drawn.choice(ways[:2] * 4 + ways[2:])()


def outcome(folder: Path, seed: int) -> str:
    """What became of the file that ``seed`` draws: played, refused in a sentence, or a mistake of ours."""
    content = damaged_file(seed)[2]
    try:
        played = play(folder, content, random.Random(f"played {seed}"))
    except AudioError as error:
        is_sentence = "damaged:" in str(error) and "\n" not in str(error)
        return "refused" if is_sentence else f"no sentence: {error}"
    except Exception as error:
        return f"raw: {type(error).__name__}: {error}"
    if not len(played.samples) or not np.isfinite(played.samples).all():
        return "silent: what is no number was played"
    return "played"


def main(folder: str, first: str, last: str) -> None:
    warnings.simplefilter("error")
    with (Path(folder) / "outcomes.jsonl").open("w", buffering=1) as file:
        for seed in range(int(first), int(last)):
            faulthandler.dump_traceback_later(LONGEST_S, exit=True)
            print(json.dumps({"seed": seed}), file=file)
            kind, damage, _ = damaged_file(seed)
            result = outcome(Path(folder), seed)
            print(json.dumps({"seed": seed, "format": kind, "damage": damage, "outcome": result}), file=file)
        faulthandler.cancel_dump_traceback_later()
        status = Path("/proc/self/status")
        words = status.read_text().split() if status.exists() else ["VmHWM:", "0"]
        print(json.dumps({"peak_kib": int(words[words.index("VmHWM:") + 1])}), file=file)


if __name__ == "__main__":
    main(*sys.argv[1:])
