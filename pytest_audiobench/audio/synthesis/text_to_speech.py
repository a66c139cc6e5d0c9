"""Speech from a text, by espeak-ng: the one recipe that is not computed here, and that needs an extra."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import soxr

from pytest_audiobench.audio import espeak, noise, utterances
from pytest_audiobench.audio.clip import Parameters, Samples, SynthesisSource, number
from pytest_audiobench.audio.synthesis.recipe import Render, level, recipe
from pytest_audiobench.errors import FatalError


def speech(
    texts: Sequence[str], voice: str = "en-us", rate_wpm: int = 165, level_db: float = -26.0
) -> list[SynthesisSource]:
    """Each of ``texts`` said by a voice of espeak-ng, at so many words a minute.

    They are spoken now, since a recipe holds its duration; about 10 ms each, once on a machine. A recipe names text,
    voice, rate and espeak-ng's release. Raises UsageError for a voice, a rate or a text that cannot be spoken,
    DataNotFound where espeak-ng is not installed (``pip install 'pytest-audiobench[tts]'``).
    """
    speaker = espeak.voice(voice, rate_wpm)
    valid = [espeak.validated_text(text) for text in texts]
    shared = (("voice", speaker.name), ("rate_wpm", str(speaker.rate_wpm)), ("espeak_ng", speaker.release))
    return [
        recipe("speech", round(frames / espeak.RATE_HZ, 6), level_db, ("text", text), *shared)
        for text, frames in zip(valid, utterances.frames_of(speaker, valid), strict=True)
    ]


def _speech(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    """Resampled at VHQ, where soxr reckons in double precision, as it did when the bundled speech was made."""
    texts = dict(parameters)
    speaker = espeak.Voice(texts.get("voice", ""), round(number(parameters, "rate_wpm")), texts.get("espeak_ng", ""))
    try:
        pcm = utterances.pcm_of(speaker, texts.get("text", ""))
    except (FatalError, OSError) as error:
        raise ValueError(str(error)) from None
    if len(pcm) != round(number(parameters, "duration_s") * espeak.RATE_HZ):
        raise ValueError(f"espeak-ng takes {len(pcm) / espeak.RATE_HZ:g} s to say it here, which is not the recipe's")
    sound = soxr.resample(pcm / 32768.0, espeak.RATE_HZ, rate_hz, quality="VHQ")
    fitted = np.zeros(frames)
    end = min(frames, len(sound))
    fitted[:end] = sound[:end]
    return noise.scaled_to_rms(fitted, level(parameters)).astype(np.float32)


RENDERS: dict[tuple[str, int], Render] = {("speech", 1): _speech}
