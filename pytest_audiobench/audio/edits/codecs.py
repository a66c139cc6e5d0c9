"""Sound encoded and decoded again in memory, by what libsndfile can write.

libsndfile takes out the delays of Vorbis, Opus and MP3 itself (their files say how much is padding); the others have
none, and only fill up their last block, which is cut off again.
"""

from __future__ import annotations

from io import BytesIO
from typing import NamedTuple

import numpy as np
import soundfile
import soxr

from pytest_audiobench.audio.clip import Samples
from pytest_audiobench.errors import UsageError

_TELEPHONE = (8_000,)
_BLOCK_FRAMES = 1 << 16
"""libsndfile's Vorbis encoder takes what it is given at once, and long sounds overflowed its stack."""


class _Codec(NamedTuple):
    container: str
    coding: str
    rates_hz: tuple[int, ...] = ()
    """The rates it takes; any where there are none."""


_CODECS = {
    "vorbis": _Codec("OGG", "VORBIS", (8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000)),
    "opus": _Codec("OGG", "OPUS", (8_000, 12_000, 16_000, 24_000, 48_000)),
    "mp3": _Codec("MP3", "MPEG_LAYER_III", (8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)),
    "gsm": _Codec("WAV", "GSM610", _TELEPHONE),
    "ulaw": _Codec("WAV", "ULAW", _TELEPHONE),
    "alaw": _Codec("WAV", "ALAW", _TELEPHONE),
    "g721": _Codec("AU", "G721_32", _TELEPHONE),
    "ima_adpcm": _Codec("WAV", "IMA_ADPCM"),
    "ms_adpcm": _Codec("WAV", "MS_ADPCM"),
}

NAMES = tuple(_CODECS)
"""The codecs that an edit may name."""


def encoded_and_decoded(name: str, samples: Samples, rate_hz: int) -> Samples:
    """``samples``, shape (frames,), through the codec ``name`` and back: as many, none of them later.

    A codec that does not take the rate is given the lowest that it takes and that is no lower, or its highest; soxr
    brings the sound there and back. Samples beyond full scale are clipped, as encoders do. Raises UsageError where this
    machine's libsndfile lacks the codec.
    """
    codec = _CODECS.get(name)
    if codec is None:
        raise UsageError(f"no codec is named {name!r}; there are {', '.join(NAMES)}")
    codec_hz = next((rate for rate in codec.rates_hz if rate >= rate_hz), max(codec.rates_hz, default=rate_hz))
    resampled = samples if codec_hz == rate_hz else soxr.resample(samples, rate_hz, codec_hz, quality="HQ")
    if not len(resampled):
        raise ValueError(f"nothing is left of the clip at the {codec_hz} Hz that {name} takes")
    decoded = _round_trip(name, codec, np.clip(resampled, -1.0, 1.0), codec_hz)
    back = decoded if codec_hz == rate_hz else soxr.resample(decoded, codec_hz, rate_hz, quality="HQ")
    return _of_length(back, len(samples))


def _round_trip(name: str, codec: _Codec, samples: Samples, rate_hz: int) -> Samples:
    encoded = BytesIO()
    try:
        with soundfile.SoundFile(
            encoded, "w", samplerate=rate_hz, channels=1, format=codec.container, subtype=codec.coding
        ) as file:
            for start in range(0, len(samples), _BLOCK_FRAMES):
                file.write(samples[start : start + _BLOCK_FRAMES])
        encoded.seek(0)
        decoded, _ = soundfile.read(encoded, dtype="float32")
    except (soundfile.SoundFileError, ValueError) as error:
        raise UsageError(
            f"the libsndfile of this machine ({soundfile.__libsndfile_version__}) cannot write {name} at {rate_hz} Hz "
            f"({str(error).rpartition(': ')[2].rstrip('.')}); install a newer soundfile, or leave the codec out"
        ) from None
    return _of_length(decoded, len(samples))


def _of_length(samples: Samples, frames: int) -> Samples:
    return samples[:frames] if len(samples) >= frames else np.pad(samples, (0, frames - len(samples)))
