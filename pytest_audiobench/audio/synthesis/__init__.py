"""Sounds from a recipe: name, version and string parameters; rendered at the rate they are played at.

A recipe is made by the functions of this package (``tone(440, 1)``). It is exact at every rate, so it is rendered at
the listener's and never resampled; noise therefore differs between rates, in its samples though not in its level.
Levels are in decibels of full scale: of the peak for tone, chirp and events (a sine of amplitude 1 is at 0), of the RMS
for all others (0 is an RMS of 1). Speech alone has its own rate, from which it is resampled.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import soxr

from pytest_audiobench.audio import espeak, signals, utterances
from pytest_audiobench.audio.clip import Parameters, Samples, SynthesisSource, number, registered
from pytest_audiobench.audio.synthesis import scenes, sounds
from pytest_audiobench.audio.synthesis.recipe import level, recipe
from pytest_audiobench.audio.synthesis.scenes import cafe as cafe
from pytest_audiobench.audio.synthesis.scenes import chirp as chirp
from pytest_audiobench.audio.synthesis.scenes import events as events
from pytest_audiobench.audio.synthesis.scenes import hum as hum
from pytest_audiobench.audio.synthesis.scenes import music_bed as music_bed
from pytest_audiobench.audio.synthesis.scenes import pink_noise as pink_noise
from pytest_audiobench.audio.synthesis.scenes import room_tone as room_tone
from pytest_audiobench.audio.synthesis.scenes import silence as silence
from pytest_audiobench.audio.synthesis.scenes import silence_floor as silence_floor
from pytest_audiobench.audio.synthesis.scenes import tone as tone
from pytest_audiobench.audio.synthesis.scenes import white_noise as white_noise
from pytest_audiobench.audio.synthesis.sounds import arpeggio as arpeggio
from pytest_audiobench.audio.synthesis.sounds import everyday as everyday
from pytest_audiobench.errors import FatalError


def render(source: SynthesisSource, rate_hz: int) -> Samples:
    """The sound, shape (frames,). Raises UsageError for an unknown recipe, ValueError for a rate that is too low."""
    render_frames = registered("recipe", _RENDERS, source.recipe, source.version)
    return render_frames(round(source.duration_s * rate_hz), rate_hz, source.parameters)


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


def _scenario(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    from pytest_audiobench.audio.synthesis.scenarios import render_scenario  # few runs play one

    return render_scenario(frames, rate_hz, parameters)


def _speech(frames: int, rate_hz: int, parameters: Parameters) -> Samples:
    """Resampled at VHQ, where soxr computes in double precision, as it did when the bundled speech was made."""
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
    return signals.scaled_to_rms(fitted, level(parameters)).astype(np.float32)


_RENDERS = {**scenes.RENDERS, **sounds.RENDERS, ("scenario", 1): _scenario, ("speech", 1): _speech}
