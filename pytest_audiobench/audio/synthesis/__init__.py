"""Sounds from a recipe: name, version and string parameters; rendered at the rate they are played at.

A recipe is made by the functions of this package (``tone(440, 1)``). It is exact at every rate, so it is rendered at
the listener's and never resampled; noise therefore differs between rates, in its samples though not in its level.
Levels are in decibels of full scale: of the peak for tone, chirp and events (a sine of amplitude 1 is at 0), of the RMS
for all others (0 is an RMS of 1). Speech alone has a rate of its own, from which it is resampled.
"""

from __future__ import annotations

from pytest_audiobench.audio.clip import Samples, SynthesisSource, registered
from pytest_audiobench.audio.synthesis import scenes, text_to_speech, tones
from pytest_audiobench.audio.synthesis.scenes import cafe as cafe
from pytest_audiobench.audio.synthesis.scenes import events as events
from pytest_audiobench.audio.synthesis.scenes import hum as hum
from pytest_audiobench.audio.synthesis.scenes import music_bed as music_bed
from pytest_audiobench.audio.synthesis.scenes import room_tone as room_tone
from pytest_audiobench.audio.synthesis.scenes import silence_floor as silence_floor
from pytest_audiobench.audio.synthesis.text_to_speech import speech as speech
from pytest_audiobench.audio.synthesis.tones import chirp as chirp
from pytest_audiobench.audio.synthesis.tones import pink_noise as pink_noise
from pytest_audiobench.audio.synthesis.tones import silence as silence
from pytest_audiobench.audio.synthesis.tones import tone as tone
from pytest_audiobench.audio.synthesis.tones import white_noise as white_noise

_RECIPES = tones.RENDERS | scenes.RENDERS | text_to_speech.RENDERS


def render(source: SynthesisSource, rate_hz: int) -> Samples:
    """The sound, shape (frames,), at ``rate_hz``.

    Raises UsageError for an unknown recipe, ValueError for a frequency that the rate cannot carry.
    """
    recipe = registered("recipe", _RECIPES, source.recipe, source.version)
    return recipe(round(source.duration_s * rate_hz), rate_hz, source.parameters)
