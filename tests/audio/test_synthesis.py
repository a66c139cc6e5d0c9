"""Sounds from recipes: what they are, and that they are the same wherever they are rendered."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pytest_audiobench.audio import signals, synthesis
from pytest_audiobench.audio.clip import Clip, SynthesisSource
from pytest_audiobench.audio.decode import decode
from pytest_audiobench.audio.index import AudioIndex, ClipFacts
from pytest_audiobench.errors import AudioError, UsageError


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 44_100])
def test_a_tone_has_its_frequency_level_and_length_at_every_rate(rate_hz: int) -> None:
    samples = synthesis.render(synthesis.tone(1000, 1.0, level_db=-6), rate_hz)
    assert samples.shape == (rate_hz,)
    assert np.argmax(np.abs(np.fft.rfft(samples))) == 1000
    assert np.max(np.abs(samples)) == pytest.approx(10 ** (-6 / 20), rel=1e-2)


def test_a_chirp_goes_from_one_frequency_to_the_other() -> None:
    samples = synthesis.render(synthesis.chirp(500, 3000, 2.0), 16_000)
    starts, ends = samples[:1600], samples[-1600:]
    assert np.argmax(np.abs(np.fft.rfft(starts))) * 10 == pytest.approx(560, abs=70)
    assert np.argmax(np.abs(np.fft.rfft(ends))) * 10 == pytest.approx(2940, abs=70)


@pytest.mark.parametrize("recipe", [synthesis.white_noise, synthesis.pink_noise])
def test_noise_depends_on_its_seed_alone(recipe: Callable[..., SynthesisSource]) -> None:
    first, again, other = (synthesis.render(recipe(1.0, seed), 16_000) for seed in ("a", "a", "b"))
    assert np.array_equal(first, again)
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.3
    assert 20 * np.log10(signals.rms(first)) == pytest.approx(-26, abs=0.01)


def test_pink_noise_falls_by_three_decibels_an_octave() -> None:
    power = np.abs(np.fft.rfft(synthesis.render(synthesis.pink_noise(20.0, 0), 16_000))) ** 2
    octaves = [power[low * 20 : low * 40].mean() for low in (125, 250, 500, 1000, 2000)]
    assert np.allclose(np.diff(10 * np.log10(octaves)), -3.01, atol=0.3)


def test_a_recipe_is_known_without_rendering() -> None:
    clip = Clip(synthesis.silence(2.5))
    with AudioIndex(None) as index:
        assert index.facts_of([clip]) == [ClipFacts(clip.source.digest, 2.5)]  # type: ignore[union-attr]
    assert not decode(clip, 16_000, None).samples.any()


def test_every_parameter_is_part_of_the_digest() -> None:
    recipes = [
        synthesis.tone(440, 1),
        synthesis.tone(441, 1),
        synthesis.tone(440, 2),
        synthesis.tone(440, 1, -13),
        synthesis.white_noise(1, 1),
        synthesis.white_noise(1, 2),
        synthesis.pink_noise(1, 1),
    ]
    assert len({recipe.digest for recipe in recipes}) == len(recipes)
    assert synthesis.tone(440, 1).digest == synthesis.tone(440.0, 1.0).digest


def test_a_tone_too_high_for_the_listener_is_refused() -> None:
    with pytest.raises(AudioError, match="stay below 4000 Hz"):
        decode(Clip(synthesis.tone(5000, 1)), 8_000, None)


def test_an_unknown_recipe_names_the_known_ones() -> None:
    with pytest.raises(
        UsageError, match=r"no recipe is named 'thunder' in version 1; there are arpeggio version 1, cafe version 1, "
    ):
        decode(Clip(SynthesisSource("thunder", 1, (("duration_s", "1"),))), 8_000, None)


def test_a_sound_of_no_length_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="duration_s=0"):
        synthesis.silence(0)


SCENES = [
    synthesis.silence_floor,
    synthesis.room_tone,
    synthesis.hum,
    synthesis.cafe,
    synthesis.music_bed,
    synthesis.events,
]


@pytest.mark.parametrize("recipe", SCENES)
def test_a_scene_depends_on_its_seed_alone(recipe: Callable[..., SynthesisSource]) -> None:
    first, again, other = (synthesis.render(recipe(2.0, seed), 16_000) for seed in ("a", "a", "b"))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert recipe(2.0, 1).digest == recipe(2.0, "1").digest != recipe(2.0, 2).digest


def loudest_hz(samples: np.ndarray, rate_hz: int = 16_000) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(np.argmax(spectrum) * rate_hz / len(samples))


def test_scenes_sound_where_they_say() -> None:
    assert loudest_hz(synthesis.render(synthesis.hum(2.0, 1, mains_hz=50), 16_000)) == pytest.approx(50, abs=1)
    assert loudest_hz(synthesis.render(synthesis.room_tone(2.0, 1), 16_000)) == pytest.approx(60, abs=1)
    assert loudest_hz(synthesis.render(synthesis.music_bed(4.0, 1), 16_000)) == pytest.approx(220, abs=10)
    assert 120 < loudest_hz(synthesis.render(synthesis.cafe(4.0, 1), 16_000)) < 3500


@pytest.mark.parametrize(("duration_s", "number"), [(0.2, 1), (4.0, 5), (12.0, 15)])
def test_events_are_apart_and_as_many_as_their_time_gives(duration_s: float, number: int) -> None:
    """Onsets: sound after a tenth of a second of digital silence, less where a part's event reaches the next."""
    for seed in range(20):
        samples = synthesis.render(synthesis.events(duration_s, seed), 16_000)
        loud = np.flatnonzero(samples)
        onsets = 1 + np.count_nonzero(np.diff(loud) > 1600)
        assert number - 2 <= onsets <= number
        assert len(loud) < 0.6 * len(samples) or number == 1


def test_every_kind_of_event_is_heard() -> None:
    draw = signals.stream("kinds")
    lengths_s = [len(make(16_000, draw)) / 16_000 for make in synthesis.scenes._MAKERS]
    assert [0.24 <= lengths_s[0] <= 0.36, 0.08 <= lengths_s[1] <= 0.25, lengths_s[2] == 0.015] == [True] * 3


@pytest.mark.parametrize(("recipe", "least_hz"), [(synthesis.events, 4000), (synthesis.music_bed, 880)])
def test_a_scene_too_high_for_the_listener_is_refused(recipe: Callable[..., SynthesisSource], least_hz: int) -> None:
    with pytest.raises(ValueError, match=f"cannot be played at {least_hz} Hz"):
        synthesis.render(recipe(1.0, 1), least_hz)
